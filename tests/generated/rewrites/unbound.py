"""Variables that have no value, or have lost it."""

UNBOUND = {
    "deleted local": """
def native(heads, qlen):
    n = heads
    if heads == 32:
        del n
    return n == 16
""",
    "local never set": """
def native(heads, qlen):
    if heads > 16:
        n = 2
    return n
""",
    "local caught": """
def native(heads, qlen):
    if heads == 16:
        n = 2
    try:
        return n
    except UnboundLocalError:
        return -1
""",
    "name error caught": """
def native(heads, qlen):
    if heads == 16:
        n = 2
    try:
        return n
    except NameError as e:
        return -1
""",
    "closure unset": """
def native(heads, qlen):
    def f():
        return n
    if heads == 16:
        n = 3
    return f()
""",
    "closure set later": """
def native(heads, qlen):
    def f():
        return n
    n = heads
    return f()
""",
    "exception name is gone": """
def native(heads, qlen):
    e = 5
    try:
        if heads == 16:
            raise ValueError("x")
    except ValueError as e:
        pass
    return e
""",
    "loop variable of an empty loop": """
def native(heads, qlen):
    for i in range(qlen - 1):
        pass
    return i
""",
    "loop var unknown rounds": """
def native(heads, qlen):
    for i in range(heads % 16):
        last = i
    return last
""",
    "while sets": """
def native(heads, qlen):
    n = heads
    while n > 16:
        n //= 2
        seen = n
    return seen
""",
    "with sets": """
from contextlib import nullcontext
def native(heads, qlen):
    with nullcontext(heads) as h:
        k = h
    return k
""",
    "with suppress": """
from contextlib import suppress
def native(heads, qlen):
    with suppress(KeyError):
        n = {16: 1}[heads]
    return n
""",
    "match capture": """
def native(heads, qlen):
    match (heads, qlen):
        case (16, q):
            pass
        case (32, 1):
            q = 7
        case _:
            pass
    return q
""",
    "import in a branch": """
def native(heads, qlen):
    if heads == 16:
        import math
    return math.sqrt(16)
""",
    "def in a branch": """
def native(heads, qlen):
    if heads == 16:
        def f(): return 1
    return f()
""",
    "global shadowed": """
N = 3
def native(heads, qlen):
    if heads == 16:
        N = 4
    return N
""",
    "try sets before it fails": """
def native(heads, qlen):
    try:
        a = 1
        b = {16: 2}[heads]
    except KeyError:
        b = a
        del a
    return (a, b) if heads == 16 else b
""",
    "finally deletes": """
def native(heads, qlen):
    n = 1
    try:
        if heads == 16:
            return n
    finally:
        del n
    return n
""",
    "del several": """
def native(heads, qlen):
    a = b = heads
    del a, b
    b = 3
    return b, a
""",
    "unbound in a class body": """
x = 5
def native(heads, qlen):
    class A:
        if heads == 16:
            x = 1
        y = x
    return A.y
""",
    "class body with a local of the function": """
x = 5
def native(heads, qlen):
    x = 6
    class A:
        y = x
    return A.y
""",
    "augmented unbound": """
def native(heads, qlen):
    if heads > 16:
        n = 1
    n += 1
    return n
""",
    "lambda unset": """
def native(heads, qlen):
    f = lambda: n
    if heads == 16:
        n = 2
    return f()
""",
    "class body conditional": """
x = 7
def native(heads, qlen):
    class C:
        if heads == 16:
            x = 1
        y = x
    return C.y
""",
    "class body in a function with a local": """
x = 7
def native(heads, qlen):
    x = 8
    class C:
        if heads == 16:
            x = 1
        y = x
    return C.y
""",
    "class body deleted": """
x = 7
def native(heads, qlen):
    class C:
        x = 1
        del x
        y = x
    return C.y
""",
    "class body nowhere": """
def native(heads, qlen):
    class C:
        if heads == 16:
            zz = 1
        y = zz
    return C.y
""",
    "class body deletes what the module has": """
x = 7
def native(heads, qlen):
    class C:
        del x
    return 1
""",
}

ODD_UNBOUND = {
    "walrus in a comprehension": """
def native(heads, qlen):
    any((hit := h) == heads for h in (16, 32) if h <= heads)
    return hit
""",
    "nonlocal deleted": """
def native(heads, qlen):
    n = 1
    def f():
        nonlocal n
        del n
    if heads == 16:
        f()
    return n
""",
    "generator local": """
def g(heads):
    if heads == 16:
        n = 1
    yield n
def native(heads, qlen):
    return next(g(heads))
""",
    "set by a nested function": """
def native(heads, qlen):
    def f():
        nonlocal n
        n = 2
    if heads == 16:
        f()
    if False:
        n = 0
    return n
""",
    "set by a sort key": """
def native(heads, qlen):
    def key(x):
        nonlocal n
        n = x
        return x
    sorted(range(heads % 3), key=key)
    if False:
        n = 0
    return n
""",
    "set by a generator that is not run": """
def native(heads, qlen):
    g = ((n := h) for h in (heads,))
    if qlen == 2:
        list(g)
    return n
""",
    "read in a comprehension": """
def native(heads, qlen):
    if qlen > 1:
        n = heads
    return [n for _ in range(1)]
""",
    "class body unset builtin": """
def native(heads, qlen):
    class C:
        if heads == 16:
            len = 1
        y = len
    return C.y == 1
""",
    "generator function": """
def native(heads, qlen):
    def g():
        if heads == 16:
            n = 1
        yield n
    return next(g())
""",
    "deleted by a closure, then again": """
def native(heads, qlen):
    n = 1
    def f():
        nonlocal n
        del n
    if heads == 16:
        f()
    del n
    return 1
""",
    "unset in the first iterable": """
def native(heads, qlen):
    if qlen > 1:
        n = [heads]
    return [k for k in n]
""",
    "unset in a comprehension, caught": """
def native(heads, qlen):
    if qlen > 1:
        n = heads
    try:
        return [n for _ in range(1)]
    except NameError:
        return -1
""",
}
"""Of these not all is followed."""
