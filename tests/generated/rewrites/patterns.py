"""``match`` statements."""

PATTERNS = {
    "values": """
def native(heads, qlen):
    match heads:
        case 16 | 32:
            return True
        case 64:
            return qlen == 1
        case _:
            return False
""",
    "a guard": """
def native(heads, qlen):
    match heads:
        case 16:
            return True
        case 32 | 64 if qlen == 1:
            return True
        case 64:
            return 2
    return False
""",
    "a guard on a captured name": """
def native(heads, qlen):
    match heads:
        case n if n % 16 == 0 and n < 64:
            return n
        case n if n > 64:
            return -n
        case other:
            return other - other
""",
    "tuples": """
def native(heads, qlen):
    match heads, qlen:
        case 16, _:
            return True
        case (32, 1) | (64, 1):
            return True
        case 128, n if n <= 2:
            return n
    return False
""",
    "captured alternatives": """
def native(heads, qlen):
    match (heads, qlen):
        case (16, n) | (n, 3):
            return n
        case (a, b):
            return a - b
""",
    "a sequence": """
def native(heads, qlen):
    given = [heads, qlen, 1]
    match given:
        case [16]:
            return 1
        case [16, *rest]:
            return len(rest)
        case [first, _, 1] if first > 32:
            return first
        case [*_, last]:
            return last
""",
    "a sequence of unknown length": """
def native(heads, qlen):
    match list(range(heads % 4)):
        case []:
            return 0
        case [a]:
            return 10
        case [a, b]:
            return a + b
        case [a, *b]:
            return sum(b)
""",
    "a mapping": """
def native(heads, qlen):
    match {"heads": heads, "qlen": qlen, "dtype": "fp8"}:
        case {"heads": 16}:
            return True
        case {"heads": 32 | 64, "qlen": n} if n < 2:
            return n
        case {"missing": _}:
            return 9
        case {"dtype": "fp8", **rest}:
            return len(rest)
""",
    "a class pattern": """
from dataclasses import dataclass

@dataclass
class Key:
    heads: int
    qlen: int

def native(heads, qlen):
    match Key(heads, qlen):
        case Key(16, _):
            return 1
        case Key(heads=32, qlen=q):
            return q
        case Key(h) if h > 64:
            return h
        case Key():
            return 0
""",
    "built-in classes": """
def native(heads, qlen):
    value = heads if qlen < 3 else str(heads)
    match value:
        case bool():
            return 1
        case int(n) if n > 16:
            return n
        case int():
            return 2
        case str() as text:
            return text
""",
    "names of constants": """
from enum import IntEnum

class Tile(IntEnum):
    SMALL = 16
    WIDE = 32

class Names:
    LARGE = 128

def native(heads, qlen):
    match heads:
        case Tile.SMALL:
            return 1
        case Tile.WIDE | Names.LARGE:
            return 2
    return 0
""",
    "singletons": """
def native(heads, qlen):
    found = {16: True, 32: None}.get(heads, False)
    match found:
        case None:
            return "none"
        case True:
            return "yes"
        case False:
            return "no"
""",
    "nested patterns": """
def native(heads, qlen):
    match {"shape": (heads, qlen), "kind": ["fp8", "bf16"]}:
        case {"shape": (16, n), "kind": ["fp8", *_]}:
            return n
        case {"shape": (n, 1 | 2 as q)}:
            return n * q
        case _:
            return None
""",
    "a named tuple matched": """
from collections import namedtuple

Key = namedtuple("Key", "heads qlen")

def native(heads, qlen):
    match Key(heads, qlen):
        case (16, q):
            return q
        case Key(32, qlen=1):
            return 3
        case [h, _]:
            return h
""",
    "texts": """
def native(heads, qlen):
    match f"h{heads}":
        case "h16" | "h32":
            return True
        case [*_]:
            return 5
        case text if text.endswith("8"):
            return 2
    return False
""",
    "what a failed case binds": """
def native(heads, qlen):
    n = 0
    match (heads, qlen):
        case (n, 2) if n < 0:
            return -1
        case (16, _):
            return n
    return n + 1
""",
    "a match in a loop": """
def native(heads, qlen):
    total = 0
    for tile in (8, 16, 32):
        match tile:
            case 8:
                continue
            case t if t == heads:
                total += 1
                break
            case _:
                total += 10
    return total
""",
    "negative numbers and texts joined": """
def native(heads, qlen):
    match heads - 32:
        case -16:
            return "a"
        case 0 | 32 as n:
            return n
        case x:
            return x < 0
""",
}
