"""Sets, dicts, lists and texts that say it."""

TABLES = {
    "union of sets": """
A = {16, 32}
B = frozenset((64,))

def native(heads, qlen):
    return heads in A | B, heads in (A | {128}) - {32}, heads in A & B, heads in A ^ {16, 64}
""",
    "methods of sets": """
A = {16, 32}

def native(heads, qlen):
    return (
        heads in A.union([64], (128,)),
        heads in A.difference([16]),
        heads in A.symmetric_difference({16, 64}),
        heads in A.intersection({16}),
        A.issubset({16, 32, 64}), A.issuperset([16]), A.isdisjoint({heads}),
    )
""",
    "comparison of sets": """
def native(heads, qlen):
    return {heads} <= {16, 32}, {16} < {heads, 16}, {heads, 16} == {16}, {16, 32} >= {heads, qlen}
""",
    "a set that is filled": """
def native(heads, qlen):
    tiles = {16}
    tiles.add(32)
    if qlen == 1:
        tiles |= {64, 128}
    tiles.discard(16)
    tiles.update([8], (4,))
    return heads in tiles, len(tiles)
""",
    "a set of tuples": """
KNOWN = {(16, 1), (16, 2), (32, 1)} | {(h, 1) for h in (64, 128)}

def native(heads, qlen):
    return (heads, qlen) in KNOWN
""",
    "a set comprehension": """
def native(heads, qlen):
    return heads in {2 ** n for n in range(3, 8) if n != 6} - {8}
""",
    "dicts joined": """
BASE = {16: 4, 32: 1}
MORE = BASE | {64: 1, 32: 2}
BOTH = {**BASE, **{128: qlen for qlen in (1,)}}

def native(heads, qlen):
    return qlen <= MORE.get(heads, 0), BOTH.get(heads)
""",
    "a dict updated": """
def native(heads, qlen):
    table = {16: 1}
    table |= {32: 2}
    table.update({64: 3}, )
    table.setdefault(heads, 9)
    return table[heads], table.pop(16), 16 in table, len(table)
""",
    "a dict of lists": """
def native(heads, qlen):
    table = {}
    for h, q in ((16, 1), (16, 2), (32, 1)):
        table.setdefault(h, []).append(q)
    return qlen in table.get(heads, [])
""",
    "a dict of lists by name": """
def native(heads, qlen):
    table = {}
    for h, q in (("a", 1), ("a", 2), ("b", 16)):
        table.setdefault(h, []).append(q)
    return qlen in table["a"] and heads in table["b"]
""",
    "fromkeys": """
TABLE = dict.fromkeys((16, 32), 1)

def native(heads, qlen):
    table = dict.fromkeys([64], 2) | TABLE
    return table.get(heads, 0)
""",
    "items": """
TABLE = {16: (1, 2), 32: (1,)}

def native(heads, qlen):
    for tile, lens in TABLE.items():
        if tile == heads and qlen in lens:
            return tile
    return sum(len(v) for v in TABLE.values()) + max(TABLE.keys())
""",
    "keys as sets": """
A = {16: 1, 32: 2}
B = {32: 0, 64: 0}

def native(heads, qlen):
    return heads in A.keys() & B.keys(), heads in A.keys() | B.keys(), len(A.keys() - B.keys())
""",
    "a dict turned around": """
NAMES = {"small": 16, "wide": 32}
BY_HEADS = {v: k for k, v in NAMES.items()}

def native(heads, qlen):
    return BY_HEADS.get(heads, "none"), dict(zip(BY_HEADS.values(), BY_HEADS))["wide"]
""",
    "a dict of dicts": """
RULES = {"fp8": {16: 4, 128: 1}, "bf16": {16: 1}}

def native(heads, qlen):
    kind = "fp8" if qlen < 3 else "bf16"
    return qlen <= RULES.get(kind, {}).get(heads, 0)
""",
    "a dict by formatted text": """
TABLE = {"h16_q1": 1, "h32_q2": 2, "h16_q2": 3}

def native(heads, qlen):
    return TABLE.get(f"h{heads}_q{qlen}", 0)
""",
    "a dict made by formatted text": """
TABLE = {f"h{h}_q{q}": h * q for h in (16, 32) for q in (1, 2)}

def native(heads, qlen):
    key = f"h{heads}_q{qlen}"
    return TABLE[key] if key in TABLE else -1
""",
    "text formatted in other ways": """
TABLE = {"h16": 1, "h32": 2}

def native(heads, qlen):
    return TABLE.get("h%d" % heads, 0), TABLE.get("h{}".format(heads)), TABLE.get("h" + str(heads))
""",
    "a dict filled by a loop": """
TABLE = {}
for _h in (16, 32):
    for _q in (1, 2):
        TABLE[(_h, _q)] = _h * _q
TABLE[64, 1] = 64
TABLE.update({(128, 1): 128})

def native(heads, qlen):
    return TABLE.get((heads, qlen), 0)
""",
    "a list filled by a loop": """
TILES = []
for _h in range(1, 9):
    if _h & (_h - 1) == 0:
        TILES.append(_h * 16)
TILES.remove(16)
TILES += [8]

def native(heads, qlen):
    return heads in TILES, len(TILES)
""",
    "a set filled by a loop": """
TILES = set()
for _h in (16, 32):
    TILES.add(_h)
TILES |= {64}
if len(TILES) == 3:
    TILES.add(128)

def native(heads, qlen):
    return heads in TILES
""",
    "a table filled in a branch": """
WIDE = True
TABLE = {16: 1}
if WIDE:
    TABLE[32] = 2
else:
    TABLE[48] = 2
_more = {64: 1}
TABLE.update(_more)
del TABLE[16]

def native(heads, qlen):
    return TABLE.get(heads, 0)
""",
    "a default dict": """
from collections import defaultdict

TABLE = defaultdict(int)
TABLE[16] = 2

def native(heads, qlen):
    counts = defaultdict(list)
    counts[heads].append(qlen)
    return counts[16], len(counts), TABLE[16]
""",
    "an ordered dict": """
from collections import OrderedDict

TABLE = OrderedDict([(16, 1), (32, 2)])

def native(heads, qlen):
    return TABLE.get(heads), list(TABLE)
""",
    "a mapping proxy": """
from types import MappingProxyType

TABLE = MappingProxyType({16: 4, 32: 1})

def native(heads, qlen):
    return heads in TABLE and qlen <= TABLE[heads]
""",
    "next": """
TILES = (16, 32, 128)

def native(heads, qlen):
    return next((t for t in TILES if t >= heads), None), next(iter(TILES))
""",
    "next of nothing": """
def native(heads, qlen):
    try:
        return next(t for t in (16, 32, 128) if t >= heads)
    except StopIteration:
        return 0
""",
    "bisect": """
from bisect import bisect_left
import bisect

TILES = [16, 32, 64, 128]

def native(heads, qlen):
    at = bisect_left(TILES, heads)
    return at < len(TILES) and TILES[at] == heads, bisect.bisect_right(TILES, heads)
""",
    "products": """
import itertools
from itertools import product, chain

PAIRS = set(product((16, 32), (1, 2)))
ALL = list(chain([(64, 1)], sorted(PAIRS)))

def native(heads, qlen):
    return (heads, qlen) in PAIRS, (heads, qlen) in ALL, any(
        heads == a * b for a, b in itertools.product((4, 8), repeat=2)
    )
""",
    "more of itertools": """
import itertools

def native(heads, qlen):
    first = list(itertools.islice([16, 32, 48, 64], 3))
    return (
        heads in first,
        heads in itertools.chain.from_iterable([[8], [32]]),
        heads in itertools.accumulate([16, 16, 32]),
        list(itertools.takewhile(lambda h: h < heads, [8, 16, 32])),
        (heads, 16) in itertools.combinations([64, 32, 16], 2),
    )
""",
    "map and filter": """
def native(heads, qlen):
    tiles = list(map(lambda n: n * 16, [1, 2, 4]))
    return heads in tiles, list(filter(lambda n: n > heads, tiles)), list(reversed(tiles))
""",
    "slices": """
TILES = [8, 16, 32, 64]

def native(heads, qlen):
    return heads in TILES[1:], heads in TILES[:qlen], TILES[-1] == heads, TILES[::2]
""",
    "methods of lists": """
def native(heads, qlen):
    tiles = [32, 16]
    tiles.sort()
    tiles.insert(0, 8)
    tiles.extend((64, 128))
    tiles.reverse()
    last = tiles.pop()
    copy = tiles.copy()
    copy.clear()
    return heads in tiles, last, tiles.index(16), len(copy), tiles.count(heads)
""",
    "sorted and zipped": """
TILES = sorted({128, 16, 32}, reverse=True)

def native(heads, qlen):
    table = dict(zip(TILES, (1, 2, 4), strict=True))
    nearest = min(TILES, key=lambda t: abs(t - heads))
    return table.get(heads, 0) >= qlen, sorted([qlen, 2])[0], nearest
""",
    "texts with numbers": """
TILES = "16,32, 64"

def native(heads, qlen):
    tiles = [int(t) for t in TILES.split(",")]
    return heads in tiles, str(heads) in TILES.split(","), "x".join(map(str, tiles))
""",
    "del": """
def native(heads, qlen):
    table = {16: 1, 32: 2}
    tiles = [8, 16, 32]
    if qlen == 1:
        del table[16], tiles[0]
    x = 3
    del x
    return table.get(heads), tiles
""",
    "ranges": """
def native(heads, qlen):
    small = [*range(4, 9)]
    return heads in range(16, 129, 16), len(range(0, 64, 16)), range(16)[qlen], heads in small
""",
    "a dict that is looped over": """
TABLE = {16: 1, 32: 2}

def native(heads, qlen):
    return [h for h in TABLE if h > heads], list(TABLE.items())[0], tuple(TABLE.values())
""",
    "numbers": """
import math

def native(heads, qlen):
    low, rest = divmod(heads, 16)
    same = rest == 0 and low == math.prod([1, qlen])
    return same, heads.bit_length(), bin(16).count("1"), abs(-heads)
""",
    "a chain of conditions": """
def native(heads, qlen):
    return 16 <= heads <= 64 == 64 and not heads & 15, (heads or 1) and qlen, heads if qlen else 0
""",
}
