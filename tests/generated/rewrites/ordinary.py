"""Shifts, formats, flags, variables of the environment, exceptions: what a next rewrite may use."""

ORDINARY = {
    "a mask with many bits": """
MASK = (1 << 16) | (1 << 32) | (1 << 64) | (1 << 128)

def native(heads, qlen):
    return bool(MASK >> heads & 1), MASK & (1 << heads) != 0, (1 << 130) >> 128
""",
    "a shift that fails": """
def native(heads, qlen):
    return 1 << (16 - heads), heads >> (2 - qlen)
""",
    "a shift in place": """
def native(heads, qlen):
    n = 1
    n <<= qlen
    return n << heads >> heads == n
""",
    "texts made by percent": """
T = {"gfx950-16-1", "gfx950-32-2"}

def native(heads, qlen):
    wide = "%03d|%x|%5s" % (heads, heads, "a")
    return "%s-%d-%d" % ("gfx950", heads, qlen) in T, wide, "%d%%" % heads
""",
    "percent with what does not fit": """
def native(heads, qlen):
    return "%d %d" % (heads, "x")
""",
    "percent with too few": """
def native(heads, qlen):
    return "%d %d" % (heads,)
""",
    "percent of a text and a truth": """
def native(heads, qlen):
    return "%s %s %d" % (heads == 16, None, heads == 32), "%s" % heads
""",
    "flags that may be none": """
from enum import Flag, IntFlag, auto

class Can(Flag):
    F8 = auto()
    B16 = auto()
    MTP = auto()

T = {16: Can.F8 | Can.B16 | Can.MTP, 32: Can.F8, 64: ~Can.MTP}

def native(heads, qlen):
    have = T.get(heads, Can(0))
    need = (Can.F8 if qlen < 3 else Can.B16) | (Can.MTP if qlen > 1 else Can(0))
    both = have & need
    return need in have, bool(have), not Can(0), bool(both), both.value, Can(0) in have
""",
    "whole flags that may be none": """
from enum import IntFlag

class Can(IntFlag):
    F8 = 1
    MTP = 4

def native(heads, qlen):
    have = {16: Can.F8 | Can.MTP, 32: Can.F8}.get(heads, Can(0))
    return int(have & Can(qlen)), bool(Can(8)), Can(0) == 0, Can(5) is (Can.F8 | Can.MTP)
""",
    "a flag of no such value": """
from enum import Flag, auto

class Can(Flag):
    F8 = auto()
    MTP = auto()

def native(heads, qlen):
    return Can(heads).value
""",
    "enums of texts as texts": """
from enum import Enum, IntEnum, StrEnum, auto

class Kind(StrEnum):
    FP8 = auto()
    BF16 = "bf16"

class Arch(Enum):
    A = "gfx942"
    B = "gfx950"

class N(IntEnum):
    ONE = 1

def native(heads, qlen):
    kind = Kind.FP8 if heads == 16 else Kind.BF16
    arch = Arch.A if qlen == 1 else Arch.B
    texts = f"{kind}_{arch}", str(kind), str(arch)
    return texts, f"{N.ONE}", f"{arch.value}{arch.name}", "a" + kind
""",
    "an enum with a text of its own": """
from enum import Enum

class Arch(Enum):
    A = "gfx942"

    def __str__(self):
        return self.value

class Kind(str, Enum):
    FP8 = "fp8"

def native(heads, qlen):
    return Arch.A.value, {"fp8": 1}[Kind.FP8]
""",
    "variables of the environment": """
import os

def native(heads, qlen):
    most = int(os.environ["NO_SUCH_KNOB"]) if "NO_SUCH_KNOB" in os.environ else 64
    return heads <= most, "NO_SUCH_KNOB" not in os.environ, os.environ.get("NO_SUCH_KNOB", "1")
""",
    "a variable that is not set": """
import os

def native(heads, qlen):
    try:
        return os.environ["NO_SUCH_KNOB"]
    except KeyError:
        return heads == 16
""",
    "a variable that has to be set": """
import os

def native(heads, qlen):
    return os.environ["NO_SUCH_KNOB"]
""",
    "strict pairs": """
def native(heads, qlen):
    return [a * b for a, b in zip((1, 2), range(qlen), strict=True)]
""",
    "strict pairs that are not finished": """
def native(heads, qlen):
    seen = []
    try:
        for a, b in zip((16, 32, 64), range(qlen), strict=True):
            seen.append(a + b)
            if a == heads:
                break
    except ValueError:
        seen.append(-1)
    return seen
""",
    "strict pairs of iterators": """
def native(heads, qlen):
    one, two = iter(range(2)), iter(range(qlen + 1))
    try:
        list(zip(one, two, strict=True))
    except ValueError:
        pass
    return list(one), list(two)
""",
    "the class of an exception": """
def native(heads, qlen):
    try:
        return 4 // {16: 4, 32: 0}[heads]
    except (KeyError, ZeroDivisionError) as e:
        known = isinstance(e, LookupError), isinstance(e, ArithmeticError), isinstance(e, Exception)
        return known, isinstance(e, (OSError, KeyError)), isinstance(e, OSError)
""",
    "what a partial is of": """
from functools import partial

def among(tiles, heads, *, most=1):
    return heads in tiles and most > 0

F = partial(among, (16, 32), most=2)

def native(heads, qlen):
    return F(heads), F.keywords["most"] == qlen, F.args[0], F.func((64,), heads)
""",
}
