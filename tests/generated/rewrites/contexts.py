"""Context managers of the source: what they do on the way in and out."""

_GUARD = """
class Guard:
    def __init__(self, kind=KeyError):
        self.ok = False
        self.left = 0
        self.kind = kind

    def __enter__(self):
        self.ok = True
        return self

    def __exit__(self, kind, value, trace):
        self.left += 1
        return kind is self.kind
"""
CONTEXTS = {
    "a manager that swallows": _GUARD
    + """
def native(heads, qlen):
    ok = False
    with Guard() as g:
        ok = g.ok and {16: True, 32: True}[heads]
    return ok, g.left
""",
    "a manager without a name that swallows": _GUARD
    + """
def native(heads, qlen):
    with Guard():
        return {16: True}[heads]
    return None
""",
    "a manager that lets others through": _GUARD
    + """
def native(heads, qlen):
    g = Guard(IndexError)
    try:
        with g:
            return {16: 1}[heads], g.left
    except KeyError:
        return g.left
""",
    "a manager that returns from its body": _GUARD
    + """
def native(heads, qlen):
    g = Guard()

    def inner():
        with g as h:
            return h.left

    return inner(), g.left
""",
    "managers in loops": _GUARD
    + """
def native(heads, qlen):
    g = Guard()
    seen = []
    for n in (16, 32, 64):
        with g:
            if n == heads:
                continue
            if n > heads:
                break
            seen.append(n)
    return seen, g.left
""",
    "several managers": _GUARD
    + """
def native(heads, qlen):
    with Guard(IndexError) as a, Guard() as b:
        x = {16: 1}[heads]
    return a.left, b.left, a.ok
""",
    "a manager that swallows a failed assertion": _GUARD
    + """
def native(heads, qlen):
    with Guard(AssertionError):
        assert heads == 16, "not taken"
        return 1
    return 0
""",
    "a manager that always swallows": """
class Quiet:
    def __enter__(self):
        return 7

    def __exit__(self, *error):
        return True

def native(heads, qlen):
    n = 0
    with Quiet() as n:
        n += 4 // (heads - 16)
    return n
""",
    "a manager that fails on the way in": """
class Bad:
    def __enter__(self):
        raise KeyError("in")

    def __exit__(self, *error):
        return True

def native(heads, qlen):
    with Bad():
        return 1
    return 2
""",
    "a manager that fails on the way out": """
class Bad:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            raise ValueError("out")

def native(heads, qlen):
    try:
        with Bad():
            return {16: 1}[heads]
    except ValueError:
        return 3
""",
    "a generator as a manager": """
from contextlib import contextmanager

@contextmanager
def swallow(n):
    try:
        yield n
    except KeyError:
        pass

def native(heads, qlen):
    ok = False
    with swallow(16) as n:
        ok = heads == n or {64: True}[heads]
    return ok
""",
    "a generator that cleans up": """
import contextlib

SEEN = "before"

@contextlib.contextmanager
def noted(log):
    log.append("in")
    try:
        yield
    finally:
        log.append("out")

def native(heads, qlen):
    log = []

    def inner():
        with noted(log):
            return len(log)

    first = inner()
    try:
        with noted(log):
            {16: 1}[heads]
    except KeyError:
        log.append("caught")
    return first, log
""",
    "a generator that does not catch": """
from contextlib import contextmanager

@contextmanager
def plain():
    yield 1

def native(heads, qlen):
    with plain() as one:
        return {16: one}[heads]
""",
    "a generator that turns one into another": """
from contextlib import contextmanager

@contextmanager
def turned():
    try:
        yield
    except KeyError:
        raise IndexError("other") from None

def native(heads, qlen):
    with turned():
        return {16: 1}[heads]
""",
    "a generator that chooses": """
from contextlib import contextmanager

@contextmanager
def chosen(heads):
    if heads == 16:
        yield "a"
    else:
        yield "b"

def native(heads, qlen):
    with chosen(heads) as name:
        return name
""",
    "a generator left by a break": """
from contextlib import contextmanager

@contextmanager
def noted(log):
    yield log
    log.append(0)

def native(heads, qlen):
    log = []
    for n in (16, 32):
        with noted(log) as l:
            l.append(n)
            if n == heads:
                break
    return log
""",
    "no manager at all": """
from contextlib import nullcontext

def native(heads, qlen):
    with nullcontext(64) as m, nullcontext():
        return heads == m
""",
    "a manager by condition": """
from contextlib import contextmanager, nullcontext

@contextmanager
def swallow():
    try:
        yield
    except KeyError:
        pass

def native(heads, qlen):
    with swallow() if qlen == 1 else nullcontext():
        return {16: 1}[heads]
    return 0
""",
}
ODD_CONTEXTS = {
    "no way out": """
class Bad:
    def __enter__(self):
        return self

def native(heads, qlen):
    with Bad():
        return 1
""",
    "a generator that yields twice": """
from contextlib import contextmanager

@contextmanager
def twice():
    yield 1
    yield 2

def native(heads, qlen):
    with twice() as n:
        return n
""",
    "a generator that yields nothing": """
from contextlib import contextmanager

@contextmanager
def never(heads):
    if heads == 16:
        yield 1

def native(heads, qlen):
    with never(heads) as n:
        return n
""",
}
