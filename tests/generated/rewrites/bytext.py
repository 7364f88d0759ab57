"""Names of a module that are read by their texts, of ``globals()``."""

BY_TEXT = {
    "globals by name": """
TILES_a = (16, 32)
TILES_b = (16,)
def native(heads, qlen):
    key = "a" if qlen == 1 else "b"
    return heads in globals()[f"TILES_{key}"]
""",
    "globals get": """
A = 3
def native(heads, qlen):
    return globals().get("A"), globals().get("B", 7), "A" in globals(), "B" in globals()
""",
    "globals missing": """
def native(heads, qlen):
    return globals()["nothing"]
""",
    "globals function": """
def f_16(q): return q
def f_32(q): return q + 1
def native(heads, qlen):
    f = globals().get(f"f_{heads}")
    return None if f is None else f(qlen)
""",
    "globals kept": """
A = 3
G = globals()
def native(heads, qlen):
    return G["A"]
""",
    "global statement": """
A = 3
def native(heads, qlen):
    global A
    A = heads
    return globals()["A"]
""",
    "globals of a conditional name": """
import os
if os.environ.get("X"):
    A = 3
def native(heads, qlen):
    return "A" in globals()
""",
    "globals of an import": """
import math as m
def native(heads, qlen):
    return globals()["m"].sqrt(16), "math" in globals()
""",
    "globals of a class": """
class T16:
    most = 2
class T32:
    most = 1
def native(heads, qlen):
    T = globals().get("T" + str(heads))
    return T is not None and qlen <= T.most
""",
    "globals while it is made": """
A = 3
B = globals()["A"] + 1
A = 7
def native(heads, qlen):
    return B
""",
    "globals before it is made": """
B = "A" in globals()
A = 7
def native(heads, qlen):
    return B, "A" in globals()
""",
    "globals of a builtin": """
def native(heads, qlen):
    return "len" in globals(), globals().get("len", 4)
""",
    "globals shadowed": """
def globals():
    return {"A": 9}
A = 3
def native(heads, qlen):
    return globals()["A"]
""",
    "A by import as": """A = 3
import math as A
A = 9

def native(heads, qlen):
    return A
""",
    "A by for target": """A = 3
for A in (9,):
    pass

def native(heads, qlen):
    return A
""",
    "A by del and set": """A = 3
del A
A = 9

def native(heads, qlen):
    return A
""",
    "A by except target": """A = 3
try:
    raise ValueError
except ValueError as A:
    pass
A = 9

def native(heads, qlen):
    return A
""",
    "A by walrus in a comprehension": """A = 3
[A := x for x in (9,)]

def native(heads, qlen):
    return A
""",
    "A by star target": """A = 3
A, *B = (9, 1)

def native(heads, qlen):
    return A
""",
    "A by nested function global": """A = 3
def f():
    def g():
        global A
        A = 9
    g()
f()

def native(heads, qlen):
    return A
""",
}
