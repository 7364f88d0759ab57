"""Enums, flags and what numbers are made of them."""

ENUMS = {
    "an int enum": """
from enum import IntEnum

class Tile(IntEnum):
    SMALL = 16
    WIDE = 32

def native(heads, qlen):
    return heads in (Tile.SMALL, Tile.WIDE) and qlen < Tile.SMALL / 8
""",
    "members of an enum": """
from enum import Enum

class Tile(Enum):
    SMALL = 16
    WIDE = 32

def native(heads, qlen):
    return heads in [t.value for t in Tile] and len(Tile) == 2
""",
    "an enum by its value": """
from enum import IntEnum

class Tile(IntEnum):
    SMALL = 16
    WIDE = 32

def native(heads, qlen):
    try:
        return Tile(heads).name
    except ValueError:
        return "none"
""",
    "an enum by its name": """
from enum import Enum

class Tile(Enum):
    H16 = 1
    H32 = 2

def native(heads, qlen):
    return Tile["H16"] is Tile.H16 and f"H{heads}" in Tile.__members__
""",
    "a flag": """
from enum import IntFlag

class Native(IntFlag):
    NONE = 0
    H16 = 1
    H32 = 2
    BOTH = H16 | H32

def native(heads, qlen):
    flags = Native.NONE
    if heads == 16:
        flags |= Native.H16
    if heads == 32:
        flags = flags | Native.H32
    return int(flags), bool(flags & Native.BOTH), Native.H16 in flags
""",
    "a flag of automatic values": """
from enum import IntFlag, auto

class Native(IntFlag):
    H16 = auto()
    H32 = auto()
    H64 = auto()

TABLE = {16: Native.H16, 32: Native.H32, 64: Native.H64}

def native(heads, qlen):
    return bool(TABLE.get(heads, 0) & (Native.H16 | Native.H64)), Native.H64.value
""",
    "int() of a flag": """
def native(heads, qlen):
    wide = heads == 32
    return int(wide) + int(heads > 16) * 2 + True, float(wide), int(qlen) - bool(heads)
""",
    "an enum with a method": """
from enum import Enum

class Arch(Enum):
    GFX942 = "gfx942"
    GFX950 = "gfx950"

    def tiles(self):
        return (16, 32) if self is Arch.GFX950 else (16,)

    @property
    def wide(self):
        return self == Arch.GFX950

def native(heads, qlen):
    arch = Arch("gfx950")
    return heads in arch.tiles() and arch.wide and arch.value.startswith("gfx")
""",
    "a plain enum is no number": """
from enum import Enum

class Tile(Enum):
    SMALL = 16

def native(heads, qlen):
    return heads == Tile.SMALL, heads in (Tile.SMALL, 32), Tile.SMALL.value == heads
""",
    "an enum as a key": """
from enum import Enum

class Kind(Enum):
    FP8 = "fp8"
    BF16 = "bf16"

TILES = {Kind.FP8: (16, 128), Kind.BF16: (16, 32)}

def native(heads, qlen):
    kind = Kind.FP8 if qlen == 1 else Kind.BF16
    return heads in TILES[kind]
""",
    "a flag without numbers": """
from enum import Flag, auto

class Can(Flag):
    LSE = auto()
    ROBIN = auto()

def native(heads, qlen):
    can = Can.LSE | Can.ROBIN if heads == 16 else Can.LSE
    return Can.ROBIN in can, bool(can & Can.ROBIN), (can & ~Can.LSE) == Can.ROBIN
""",
    "a text enum": """
from enum import Enum

class Arch(str, Enum):
    A = "gfx942"
    B = "gfx950"

def native(heads, qlen):
    return heads == 16 and Arch.A == "gfx942" and "gfx950" in (Arch.A, Arch.B)
""",
    "an enum's aliases": """
from enum import IntEnum, unique

@unique
class Tile(IntEnum):
    SMALL = 16
    WIDE = 32

class Again(IntEnum):
    A = 16
    B = 16
    C = 32

def native(heads, qlen):
    return Again.A is Again.B, len(list(Again)), heads in list(Tile), max(Tile) == heads
""",
    "a bit mask": """
MASK = (1 << 16) | (1 << 32)

def native(heads, qlen):
    return (MASK >> heads) & 1 if heads < 64 else 0
""",
}
