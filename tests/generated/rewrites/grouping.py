"""Groups of neighbours, formats with names, and functions whose results are kept."""

GROUPING = {
    "groups by a key": """
from itertools import groupby

BY = {k: list(v) for k, v in groupby([16, 48, 32, 64], key=lambda n: n % 32)}

def native(heads, qlen):
    return heads in BY[0], heads in BY.get(16, ()), list(BY)
""",
    "groups by what they are": """
from itertools import groupby

RUNS = [(k, len(list(g))) for k, g in groupby("aabccc")]

def native(heads, qlen):
    return RUNS[qlen % 3], [k for k, _ in groupby([heads, 16, 16, 17])]
""",
    "groups that are left behind": """
from itertools import groupby

KEPT = [g for _, g in groupby([16, 16, 32])]
LATE = [list(g) for g in KEPT]

def native(heads, qlen):
    return heads in LATE[0], len(LATE)
""",
    "groups of an unknown key": """
from itertools import groupby

def native(heads, qlen):
    return [len(list(g)) for _, g in groupby((8, 16, 32), lambda n: n >= heads)]
""",
    "a format with names": """
def native(heads, qlen):
    key = "{0}-{h:03d}-{1:x}".format("gfx", qlen, h=heads)
    return key == "%s-%03d-%x" % ("gfx", heads, qlen), "{a}{a}".format(a=qlen)
""",
    "a cache that is asked": """
import functools

@functools.cache
def tiles(wide):
    return (16, 32, 64) if wide else (16,)

def native(heads, qlen):
    tiles.cache_clear()
    return heads in tiles(qlen == 1) and tiles.cache_info is not None
""",
}
