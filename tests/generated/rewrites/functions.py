"""Functions of functions, decorators, closures, generators."""

FUNCTIONS = {
    "a partial": """
from functools import partial
import functools

def _among(tiles, heads, *, most=1, qlen=1):
    return heads in tiles and qlen <= most

_small = partial(_among, (16, 32), most=2)
_wide = functools.partial(_small, most=1)

def native(heads, qlen):
    return _small(heads, qlen=qlen), _wide(heads, qlen=qlen), _small(heads, most=9, qlen=qlen)
""",
    "reduce": """
from functools import reduce

def native(heads, qlen):
    return reduce(lambda a, b: a or heads == b, (16, 32), False), reduce(max, [qlen, 2])
""",
    "operator": """
import operator
from operator import itemgetter, attrgetter

OPS = {"==": operator.eq, "<": operator.lt}
RULES = [("==", 16), ("<", 9)]

def native(heads, qlen):
    return any(OPS[op](heads, n) for op, n in RULES), itemgetter(1)((heads, qlen))
""",
    "a table of functions": """
RULES = {
    "fp8": lambda heads, qlen: heads in (16, 128),
    "bf16": lambda heads, qlen: heads % 16 == 0 and qlen == 1,
}

def native(heads, qlen):
    return [name for name, rule in RULES.items() if rule(heads, qlen)]
""",
    "a walrus": """
def native(heads, qlen):
    if (n := heads // 16) and n * 16 == heads:
        return n
    return [y for x in (1, 2) if (y := x * qlen) > 1], (z := qlen) + z
""",
    "a walrus in a comprehension": """
def native(heads, qlen):
    found = any((tile := t) >= heads for t in (16, 32, 128))
    return (found, tile)
""",
    "a walrus in a loop": """
def native(heads, qlen):
    n = heads
    while (half := n // 2) >= 16:
        n = half
    return n
""",
    "a closure": """
def _rule(*tiles):
    def check(heads):
        return heads in tiles
    return check

_check = _rule(16, 32)

def native(heads, qlen):
    return _check(heads)
""",
    "a closure that counts": """
def native(heads, qlen):
    seen = 0

    def note(n):
        nonlocal seen
        seen += n
        return seen

    note(heads)
    note(qlen)
    return seen == 17
""",
    "a decorator": """
import functools

def doubled(function):
    @functools.wraps(function)
    def inner(heads, *args, **kwargs):
        return function(heads * 2, *args, **kwargs)
    return inner

@doubled
def _native(heads, qlen=1):
    return heads in (32, 64) and qlen == 1

def native(heads, qlen):
    return _native(heads, qlen=qlen), _native(heads)
""",
    "a decorator with arguments": """
import functools

def scaled(by):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args):
            return function(*(a * by for a in args))
        return inner
    return decorate

@scaled(2)
def _native(heads, qlen):
    return heads == 32 and qlen == 2

@scaled(by=1)
@scaled(3)
def _other(heads, qlen):
    return heads

def native(heads, qlen):
    return _native(heads, qlen), _other(heads, qlen)
""",
    "a cached function": """
import functools

@functools.lru_cache(maxsize=None)
def _tiles(kind):
    return {16, 32} if kind == "fp8" else {16}

@functools.cache
def _most():
    return 2

def native(heads, qlen):
    return heads in _tiles("fp8") and qlen <= _most()
""",
    "a generator function": """
def _tiles(most):
    n = 16
    while n <= most:
        yield n
        n *= 2

def native(heads, qlen):
    return heads in list(_tiles(128)), heads in _tiles(64), next(_tiles(20))
""",
    "yield from": """
def _some():
    yield 16
    yield from (32, 64)

def native(heads, qlen):
    return any(heads == t for t in _some()), sum(_some()), heads in set(_some())
""",
    "keyword arguments": """
def _native(heads, /, qlen=1, *, most=(16, 32), **rest):
    return heads in most and qlen == 1 and not rest

def native(heads, qlen):
    given = {"qlen": qlen}
    return _native(heads, **given), _native(heads, **given, most=[heads]), _native(heads, other=1)
""",
    "star arguments": """
def _among(heads, *tiles, **more):
    return heads in tiles, len(tiles), sorted(more)

def native(heads, qlen):
    return _among(heads, *[16, 32], qlen, **{"a": 1})
""",
    "defaults from a table": """
TABLE = {"tiles": (16, 32)}

def _native(heads, tiles=TABLE["tiles"], most=max(TABLE["tiles"])):
    return heads in tiles and heads <= most

def native(heads, qlen):
    return _native(heads)
""",
    "recursion": """
def _pow2(n):
    return n == 1 or (n % 2 == 0 and _pow2(n // 2))

def native(heads, qlen):
    return heads >= 16 and _pow2(heads)
""",
    "isinstance of numbers": """
def native(heads, qlen):
    return (
        isinstance(heads, int), isinstance(heads, (str, float)), isinstance(heads, bool),
        isinstance([heads], list), isinstance({16}, set), isinstance(None, type(None)),
        type(heads) is int, isinstance("a", str), not isinstance(heads, str),
    )
""",
    "conversions": """
def native(heads, qlen):
    third = round(heads / 3)
    return int(heads / 16), float(heads), str(qlen), int("16") == heads, bool(qlen - 1), third
""",
    "an exception that decides": """
class NotNative(Exception):
    pass

def _check(heads):
    if heads not in (16, 32):
        raise NotNative(f"{heads}")
    return heads

def native(heads, qlen):
    try:
        return _check(heads)
    except NotNative:
        return -1
    finally:
        qlen += 1
""",
    "a key error that decides": """
TABLE = {16: 1, 32: 2}

def native(heads, qlen):
    try:
        return TABLE[heads] + [5][qlen - 1]
    except (KeyError, IndexError):
        return 0
""",
    "an assertion": """
def native(heads, qlen):
    assert heads in {16, 32}, f"{heads=} {qlen!r}"
    return True
""",
    "for and else": """
def native(heads, qlen):
    for tile in (16, 32, 64):
        if tile < heads:
            continue
        if tile == heads:
            break
    else:
        return 0
    return tile
""",
    "while and break": """
def native(heads, qlen):
    tile = 8
    while True:
        tile *= 2
        if tile >= heads or tile > 100:
            break
    return tile
""",
    "unpacking": """
RULE = (16, (1, 2), [32])

def native(heads, qlen):
    first, (a, b), [second] = RULE
    head, *rest = RULE
    return heads in (first, second) and qlen in (a, b), len(rest)
""",
    "global names": """
_TILES: tuple = (16, 32)
_A, _B = _TILES
(_C, *_D) = _TILES
_E = _F = 64

def native(heads, qlen):
    return heads in (_A, _C), heads in (_B, *_D), heads == _F
""",
    "annotations and types": """
from __future__ import annotations
from typing import Final, Optional

TILES: Final[tuple[int, ...]] = (16, 32)

def _find(heads: int) -> Optional[int]:
    value: int | None = None
    for tile in TILES:
        if tile == heads:
            value = tile
    return value

def native(heads: int, qlen: int) -> bool:
    return _find(heads) is not None
""",
    "with": """
from contextlib import suppress

def native(heads, qlen):
    found = 0
    with suppress(KeyError):
        found = {16: 1}[heads]
    return found
""",
    "try in a loop": """
def native(heads, qlen):
    total = 0
    for tile in (16, 0, 32):
        try:
            total += heads % tile == 0
        except ZeroDivisionError:
            total += 10
            continue
        else:
            total += 100
    return total
""",
    "a conditional function": """
FAST = True

if FAST:
    def _native(heads):
        return heads in (16, 32)
else:
    def _native(heads):
        return True

_alias = _native

def native(heads, qlen):
    return _alias(heads)
""",
    "any and all of generators": """
def native(heads, qlen):
    return (
        any(heads == h and qlen <= q for h, q in ((16, 4), (32, 1))),
        all(heads % n == 0 for n in (4, 8)),
        sum(1 for h in (16, 32, 64) if h <= heads),
        max((h for h in (16, 32) if h <= heads), default=0),
    )
""",
}
