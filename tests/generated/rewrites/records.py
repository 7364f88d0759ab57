"""Dataclasses and named tuples with methods."""

_DATACLASS = """
from dataclasses import dataclass, field, replace, asdict, astuple, fields
"""
_TUPLE = """
from typing import NamedTuple
from collections import namedtuple
"""

RECORDS = {
    "a frozen dataclass with a method": _DATACLASS
    + """
@dataclass(frozen=True)
class Tile:
    heads: int
    most: int = 1

    def takes(self, heads, qlen):
        return self.heads == heads and qlen <= self.most

TILES = (Tile(16, 99), Tile(32), Tile(heads=128, most=2))

def native(heads, qlen):
    return any(tile.takes(heads, qlen) for tile in TILES)
""",
    "a dataclass with a property": _DATACLASS
    + """
@dataclass
class Key:
    heads: int
    qlen: int

    @property
    def product(self):
        return self.heads * self.qlen

    @property
    def folded(self) -> bool:
        return self.product % 16 != 0

def native(heads, qlen):
    key = Key(heads, qlen)
    return key.product in (16, 32, 64) and not key.folded
""",
    "a dataclass compared": _DATACLASS
    + """
@dataclass(frozen=True)
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    return Key(heads, qlen) == Key(16, 1) or Key(heads, qlen) in (Key(32, 2), Key(128, 1))
""",
    "a dataclass as a key": _DATACLASS
    + """
@dataclass(frozen=True)
class Key:
    heads: int
    qlen: int

KNOWN = {Key(16, 1): 7, Key(32, 2): 8}

def native(heads, qlen):
    return KNOWN.get(Key(heads, qlen), 0)
""",
    "dataclasses in a set": _DATACLASS
    + """
@dataclass(frozen=True)
class Key:
    heads: int
    qlen: int

KNOWN = {Key(16, 1), Key(32, 2)}

def native(heads, qlen):
    return Key(heads, qlen) in KNOWN
""",
    "an ordered dataclass": _DATACLASS
    + """
@dataclass(order=True, frozen=True)
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    return Key(16, 1) <= Key(heads, qlen) < Key(32, 2)
""",
    "a dataclass that checks itself": _DATACLASS
    + """
@dataclass
class Key:
    heads: int
    qlen: int = 1

    def __post_init__(self):
        if self.heads > 64:
            raise ValueError("too many")
        self.padded = -(-self.heads // 16) * 16

def native(heads, qlen):
    try:
        key = Key(heads, qlen=qlen)
    except ValueError:
        return -1
    return key.padded == heads
""",
    "replace of a dataclass": _DATACLASS
    + """
@dataclass(frozen=True)
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    key = replace(Key(heads, qlen), qlen=1)
    return key.heads == 16 and key.qlen == 1
""",
    "asdict": _DATACLASS
    + """
@dataclass
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    given = asdict(Key(heads, qlen))
    return given["heads"] in (16, 32) and given == {"heads": heads, "qlen": 1}
""",
    "astuple and fields": _DATACLASS
    + """
@dataclass
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    a, b = astuple(Key(heads, qlen))
    return a * b in (16, 32) and len(fields(Key)) == 2
""",
    "a default factory": _DATACLASS
    + """
@dataclass
class Rules:
    heads: list = field(default_factory=lambda: [16, 32])
    most: dict = field(default_factory=dict)

def native(heads, qlen):
    one, two = Rules(), Rules()
    one.heads.append(64)
    one.most[heads] = qlen
    return heads in one.heads and (heads in two.heads or not two.most) and one.most[heads] == qlen
""",
    "a dataclass that inherits": _DATACLASS
    + """
@dataclass
class Base:
    heads: int = 16

    def fits(self, heads):
        return heads == self.heads

@dataclass
class Wide(Base):
    qlen: int = 1

    def fits(self, heads):
        return super().fits(heads) or heads == 128

def native(heads, qlen):
    return Wide(32, 2).fits(heads) and qlen == Wide().qlen
""",
    "a dataclass with class variables": """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Key:
    TILES: ClassVar[tuple] = (16, 32)
    heads: int = 1

    def native(self):
        return self.heads in self.TILES

def native(heads, qlen):
    return Key(heads).native() and Key.TILES[0] * qlen <= 32
""",
    "a frozen dataclass is written": _DATACLASS
    + """
@dataclass(frozen=True)
class Key:
    heads: int

def native(heads, qlen):
    key = Key(heads)
    try:
        key.heads = 16
    except AttributeError:
        return key.heads == 32
    return True
""",
    "a dataclass that is written": _DATACLASS
    + """
@dataclass
class Key:
    heads: int

def native(heads, qlen):
    key = Key(heads)
    other = key
    other.heads += qlen
    return key.heads == 17
""",
    "slots and keywords": _DATACLASS
    + """
@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    heads: int
    qlen: int = 1

    @classmethod
    def of(cls, heads, qlen):
        return cls(heads=heads, qlen=qlen)

    @staticmethod
    def known(heads):
        return heads in (16, 128)

def native(heads, qlen):
    key = Key.of(heads, qlen)
    return Key.known(key.heads) and key.known(key.heads) and key.qlen < 3
""",
    "a named tuple with a method": _TUPLE
    + """
class Tile(NamedTuple):
    heads: int
    most: int = 1

    def takes(self, heads, qlen):
        return heads == self.heads and qlen <= self.most

    @property
    def bytes(self):
        return self.heads * 576

TILES = [Tile(16, 4), Tile(32), Tile(most=8, heads=128)]

def native(heads, qlen):
    return any(t.takes(heads, qlen) and t.bytes > 576 for t in TILES)
""",
    "a named tuple replaced": _TUPLE
    + """
class Tile(NamedTuple):
    heads: int
    most: int = 1

BASE = Tile(16)

def native(heads, qlen):
    wide = BASE._replace(most=4)
    return heads == wide.heads and qlen <= wide.most or Tile(heads, qlen) == (32, 1)
""",
    "a named tuple as a mapping": _TUPLE
    + """
Tile = namedtuple("Tile", "heads most")

def native(heads, qlen):
    given = Tile(heads, qlen)._asdict()
    return given["heads"] == 16 and given.get("most") == 1 and Tile._fields == ("heads", "most")
""",
    "a named tuple unpacked and indexed": _TUPLE
    + """
Tile = namedtuple("Tile", ["heads", "most"], defaults=[1])
TILES = (Tile(16, 4), Tile(64))

def native(heads, qlen):
    for tile in TILES:
        wanted, most = tile
        if heads == wanted and qlen <= tile[1] and len(tile) == 2:
            return tile.index(most) + 1
    return 0
""",
    "a named tuple as a key": _TUPLE
    + """
class Key(NamedTuple):
    heads: int
    qlen: int

KNOWN = {Key(16, 1): True, Key(32, 2): True, (64, 1): True}

def native(heads, qlen):
    return KNOWN.get(Key(heads, qlen), False) or (heads, qlen) in KNOWN
""",
    "a named tuple made of an iterable": _TUPLE
    + """
class Key(NamedTuple):
    heads: int
    qlen: int

def native(heads, qlen):
    key = Key._make([heads, qlen])
    return Key(*key) == key and key + (1,) == (16, 1, 1)
""",
    "named tuples in order": _TUPLE
    + """
class Key(NamedTuple):
    heads: int
    qlen: int

def native(heads, qlen):
    return Key(16, 1) <= Key(heads, qlen) <= Key(32, 1) and isinstance(Key(1, 1), tuple)
""",
}
