"""Calls that fit their parameters, and calls that do not."""

CALLING = {
    "positional only by name": """
def _inner(a, /, b):
    return a == 16

def native(heads, qlen):
    return _inner(a=heads, b=1)
""",
    "positional only by name, with a default": """
def _inner(a=16, /, b=1):
    return a == 16 and b == 1

def native(heads, qlen):
    return _inner(a=heads) if qlen == 1 else _inner(b=qlen)
""",
    "positional only and keywords of any name": """
def _inner(a, /, **more):
    return a == 16, sorted(more.items())

def native(heads, qlen):
    return _inner(heads, a=qlen), _inner(heads)
""",
    "a lambda with positional only": """
_inner = lambda a, /, *, b=2: a == 16 and b <= 2

def native(heads, qlen):
    return _inner(heads, b=qlen)
""",
}
