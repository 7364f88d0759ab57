"""Names of a module that are written by their texts, in ``globals()``."""

UNSEEN_TEXTS = {
    "globals written": """
A = 3
globals()["A"] = 4
def native(heads, qlen):
    return A, globals()["A"]
""",
    "globals deleted": """
A = 3
del globals()["A"]
def native(heads, qlen):
    return globals().get("A", 1)
""",
    "globals popped": """
A = 3
globals().pop("A")
def native(heads, qlen):
    return "A" in globals()
""",
    "globals updated by a loop": """
for n in (16, 32):
    globals()[f"T_{n}"] = n
def native(heads, qlen):
    return globals().get(f"T_{heads}")
""",
    "globals set in a function": """
A = 3
def native(heads, qlen):
    globals()["A"] = heads
    return globals()["A"], A
""",
    "globals by an alias": """
A = 3
g = globals
def native(heads, qlen):
    return g()["A"]
""",
    "globals given": """
A = 3
def f(d):
    d["A"] = 5
f(globals())
def native(heads, qlen):
    return globals()["A"], A
""",
    "globals as a list": """
def f_16(): return 1
def f_32(): return 2
def native(heads, qlen):
    return sorted(n for n in globals() if n.startswith("f_"))
""",
    "globals of a list changed": """
L = [16]
def add(n):
    globals()["L"].append(n)
add(32)
def native(heads, qlen):
    return heads in L
""",
    "globals of a table written": """
T = {16: 1}
globals()["T"][32] = 2
def native(heads, qlen):
    return T.get(heads)
""",
    "a table through get": """
T = [16]
globals().get("T").append(32)
def native(heads, qlen):
    return heads in T
""",
    "a class attribute through globals": """
class C:
    n = 16
globals()["C"].n = 32
def native(heads, qlen):
    return C.n == heads
""",
    "a loop over globals values": """
T = [16]
for v in list(globals().values()):
    if isinstance(v, list):
        v.append(32)
def native(heads, qlen):
    return heads in T
""",
    "globals given, read on the way": """
A = 3
def f(d):
    d["A"] = 5
f(globals())
B = A + 1
def native(heads, qlen):
    return B
""",
    "globals spread": """
A = 3
def f(A, **rest):
    return A + 1
B = f(**{k: v for k, v in globals().items() if k == "A"})
def native(heads, qlen):
    return B, A
""",
    "a format of globals": """
A = 16
T = "{A}-x".format(**globals())
def native(heads, qlen):
    return A, T
""",
    "module given by an alias": """
import sys
A = 3
me = sys.modules[__name__]
def put(m):
    m.A = 4
put(me)
def native(heads, qlen):
    return A
""",
    "globals returned": """
A = 3
def names():
    return globals()
names()["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals in a list": """
A = 3
L = [globals()]
L[0]["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals by a lambda": """
A = 3
G = lambda: globals()
G()["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals in a default": """
A = 3
def f(d=globals()):
    d["A"] = 9
f()
def native(heads, qlen):
    return A
""",
    "globals unpacked": """
A = 3
(g, n) = (globals(), 1)
g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals in a condition": """
A = 3
g = globals() if A else {}
g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals or": """
A = 3
g = globals() or {}
g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals by walrus": """
A = 3
if (g := globals()):
    g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals annotated": """
A = 3
g: dict = globals()
g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals with a with": """
from contextlib import nullcontext
A = 3
with nullcontext(globals()) as g:
    g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals in a loop": """
A = 3
for g in (globals(),):
    g["A"] = 9
def native(heads, qlen):
    return A
""",
    "globals merged": """
A = 3
g = globals()
g |= {"A": 9}
def native(heads, qlen):
    return A
""",
    "globals setitem method": """
A = 3
put = globals().__setitem__
put("A", 9)
def native(heads, qlen):
    return A
""",
    "vars of the module": """
import sys
A = 3
def f(d):
    d["A"] = 9
f(vars(sys.modules[__name__]))
def native(heads, qlen):
    return A
""",
    "import of itself": """
import importlib
A = 3
m = importlib.import_module(__name__)
m.A = 9
def native(heads, qlen):
    return A
""",
    "globals dunder call": """
A = 3
globals().__setitem__("A", 9)
def native(heads, qlen):
    return A
""",
    "globals update kept": """
A = 3
up = globals().update
up(A=9)
def native(heads, qlen):
    return A
""",
    "globals in a function writes a table": """
T = {16: 1}
def native(heads, qlen):
    globals()["T"][heads] = 2
    return T.get(heads), len(T)
""",
    "a table through an alias of globals": """
T = [16]
g = globals()
t = g["T"]
t.append(32)
def native(heads, qlen):
    return heads in T
""",
    "globals of another name of the function": """
A = 3
gg = globals
gg()["A"] = 9
def native(heads, qlen):
    return A
""",
}
