"""Methods of texts, and small functions of the standard library."""

TEXTS = {
    "texts that are taken apart": """
SPEC = "fp8=16,64;bf16=16,32"

def native(heads, qlen):
    kind = "fp8" if qlen == 1 else "bf16"
    parts = (part.partition("=") for part in SPEC.split(";"))
    table = {k: tuple(map(int, v.split(","))) for k, _, v in parts}
    return heads in table[kind], "a=b=c".rpartition("="), "a,b,c".rsplit(",", 1)
""",
    "texts with zeros in front": """
def native(heads, qlen):
    text = str(heads).zfill(3)
    return text, text.isdecimal(), text.lstrip("0"), "-7".zfill(qlen + 2), "x1".isalpha()
""",
    "texts in other cases": """
def native(heads, qlen):
    return "GFX950".casefold(), "gfx".capitalize(), "a b".title(), "ab".islower(), "AB".isupper()
""",
    "a cast": """
from typing import cast

def native(heads, qlen):
    return cast(int, heads) == 16, cast("list[int]", [qlen])
""",
    "pairs of neighbours": """
from itertools import pairwise

def native(heads, qlen):
    return [b - a for a, b in pairwise([8, 16, heads])], list(pairwise([qlen]))
""",
}
