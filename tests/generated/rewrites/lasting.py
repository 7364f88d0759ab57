"""Modules with state that outlives a call: what is in it is what earlier calls have left."""

LASTING = {
    "a mutable default": """
def _note(n, seen=[]):
    seen.append(n)
    return len(seen)

def native(heads, qlen):
    return _note(heads) == 1
""",
    "a module list": """
SEEN = []

def native(heads, qlen):
    SEEN.append(heads)
    return len(SEEN) == 1
""",
    "a module dict": """
CACHE = {}

def native(heads, qlen):
    if heads not in CACHE:
        CACHE[heads] = qlen
    return CACHE[heads] == qlen
""",
    "a global number": """
COUNT = 0

def native(heads, qlen):
    global COUNT
    COUNT += 1
    return COUNT == 1
""",
    "a class attribute": """
class Rules:
    last = 0

def native(heads, qlen):
    same = Rules.last == 0
    Rules.last = heads
    return same
""",
    "an attribute of a class by a method": """
class Rules:
    seen = ()

    @classmethod
    def note(cls, heads):
        cls.seen = cls.seen + (heads,)
        return len(cls.seen)

def native(heads, qlen):
    return Rules.note(heads) == 1
""",
    "a mutable class attribute": """
class Rules:
    seen = []

    def note(self, heads):
        self.seen.append(heads)
        return len(self.seen)

def native(heads, qlen):
    return Rules().note(heads) == 1
""",
    "an object of a module": """
class Rules:
    def __init__(self):
        self.last = 0

RULES = Rules()

def native(heads, qlen):
    same = RULES.last == 0
    RULES.last = heads
    return same
""",
    "a result that is cached": """
import functools

@functools.lru_cache(maxsize=None)
def _seen():
    return []

def native(heads, qlen):
    _seen().append(heads)
    return len(_seen()) == 1
""",
    "a result that is cached and read through another": """
import functools

@functools.cache
def _table(kind):
    return {16: 0}

def _read():
    return _table("a")

def native(heads, qlen):
    table = _read()
    table[16] += 1
    return _table("a")[16] == 1
""",
    "a closure's variable": """
def _counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count

count = _counter()

def native(heads, qlen):
    return count() == 1
""",
    "a function's attribute": """
def _note(heads):
    _note.calls += 1
    return _note.calls

_note.calls = 0

def native(heads, qlen):
    return _note(heads) == 1
""",
    "a module set": """
SEEN = {16}

def native(heads, qlen):
    known = heads in SEEN
    SEEN.add(heads)
    return known
""",
    "a set through a parameter": """
SEEN = {16}

def _note(where, heads):
    known = heads in where
    where.add(heads)
    return known

def native(heads, qlen):
    return _note(SEEN, heads)
""",
    "a set inside a dict": """
SEEN = {"a": {16}}

def native(heads, qlen):
    known = heads in SEEN["a"]
    SEEN["a"].add(heads)
    return known
""",
    "a default dict that is asked": """
from collections import defaultdict

SEEN = defaultdict(int)

def native(heads, qlen):
    before = len(SEEN)
    SEEN[heads]
    return before == 0
""",
    "an iterator of a module": """
TILES = iter((16, 32))

def native(heads, qlen):
    return next(TILES, 0) == 16
""",
    "a generator of a module": """
TILES = (t for t in (16, 32))

def native(heads, qlen):
    return heads in list(TILES)
""",
    "a partial's list": """
import functools

def _note(where, n):
    where.append(n)
    return len(where)

note = functools.partial(_note, [])

def native(heads, qlen):
    return note(heads) == 1
""",
    "a list of a module in a dataclass": """
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Rules:
    seen: list = field(default_factory=list)

RULES = Rules()

def native(heads, qlen):
    RULES.seen.append(heads)
    return len(RULES.seen) == 1
""",
    "a cached property of a module's object": """
from functools import cached_property

class Rules:
    @cached_property
    def seen(self):
        return []

RULES = Rules()

def native(heads, qlen):
    RULES.seen.append(heads)
    return len(RULES.seen) == 1
""",
    "a helper that is given a list on one path": """
_ROWS = [16]

def _add(rows, x):
    rows.append(x)

def native(heads, qlen):
    if qlen == 2:
        _add(_ROWS, heads)
    return heads in _ROWS
""",
    "an object on one path": """
class Rows:
    def __init__(self):
        self.rows = [16]

    def add(self, x):
        self.rows.append(x)

_T = Rows()

def native(heads, qlen):
    if qlen == 2:
        _T.add(heads)
    return heads in _T.rows
""",
    "a list that a function gives on one path": """
_ROWS = [16]

def _rows():
    return _ROWS

def native(heads, qlen):
    if qlen == 2:
        _rows().append(heads)
    return heads in _ROWS
""",
}
