"""What blocks of a module bind and use, and what functions and texts do to its names."""

BLOCKS = {
    "block: if block reads": """
if True:
    A = (16,)
    B = A + (32,)
def native(h,q): return h in A, h in B
""",
    "block: if block rebinding": """
A = (1,)
if len(A) == 1:
    A = (16,)
    A = A + (32,)
    B = A
def native(h,q): return h in A, h in B
""",
    "block: try else aug": """
try:
    T = (16, 64)
    from math import prod as p
except ImportError:
    p = None
else:
    T += (p((2, 16)),)
finally:
    T = T[:3]
def native(h,q): return h in T
""",
    "block: try finally": """
T = (16, 64)
try:
    T = T + (32,)
finally:
    T = T[1:]
def native(h,q): return T
""",
    "block: try body reads": """
try:
    A = [16]
    B = tuple(A) + (32,)
except ValueError:
    B = ()
def native(h,q): return h in B
""",
    "block: try handler reads": """
A = 1
try:
    A = 2
    import nothing_there
except ImportError:
    B = A + 1
def native(h,q): return A, B
""",
    "block: try handler reads2": """
A = 1
try:
    A = 2
    B = {}[1]
    A = 3
except KeyError:
    B = A + 1
    A = B
def native(h,q): return A, B
""",
    "block: with block": """
from contextlib import suppress
A = 1
with suppress(KeyError):
    A = 2
    B = A + 1
def native(h,q): return A, B
""",
    "block: nested ifs": """
A = 1
if A:
    A = 2
    if A == 2:
        A = 3
        B = A
    else:
        B = 9
def native(h,q): return A, B
""",
    "block: del and rebind": """
T = (16,)
U = T
del T
T = (32,)
def native(h,q): return h in T, h in U
""",
    "block: walrus comprehension module": """
T = [y for x in (8, 16) if (y := x * 2) > 16]
def native(h,q): return h in T, y
""",
    "block: conditional expr chain": """
A = None
B = A or (16,)
C = B and (32,)
def native(h,q): return h in B, h in C
""",
    "block: while module else": """
n = 0
T = []
while n < 3:
    n += 1
    T.append(n * 16)
else:
    T.append(100)
def native(h,q): return h in T, n
""",
}
"""All of it is followed."""

WRITTEN = {
    "written: classmethod registers": """
class R:
    rows = []
    @classmethod
    def add(cls, h):
        cls.rows.append(h)
R.add(16)
R.add(32)
def native(h,q): return h in R.rows
""",
    "written: instance registers on class": """
class R:
    rows = []
    def add(self, h): self.rows.append(h)
r = R()
r.add(16)
s = R()
def native(h,q): return h in R.rows, h in s.rows
""",
    "written: init registers on class": """
class R:
    rows = []
    def __init__(self, h): self.rows.append(h); self.h = h
A = R(16); B = R(32)
def native(h,q): return h in R.rows, h in A.rows
""",
    "written: init counts on class": """
class R:
    n = 0
    def __init__(self, h):
        R.n += 1
        self.h = h
A = R(16); B = R(32)
def native(h,q): return R.n, A.h
""",
    "written: classmethod sets": """
class R:
    n = 1
    @classmethod
    def put(cls, n): cls.n = n
R.put(16)
def native(h,q): return R.n == h
""",
    "written: function sets class attr": """
class R:
    n = 1
def put(n): R.n = n
put(16)
def native(h,q): return R.n == h
""",
    "written: alias of class attr": """
class R:
    rows = []
    @classmethod
    def add(cls, h):
        rows = cls.rows
        rows.append(h)
R.add(16)
def native(h,q): return h in R.rows
""",
    "written: metaclass": """
class M(type):
    rows = {}
    def __new__(mcls, name, bases, ns):
        cls = super().__new__(mcls, name, bases, ns)
        if 'heads' in ns: mcls.rows[ns['heads']] = cls
        return cls
class T(metaclass=M): pass
class T16(T): heads = 16
def native(h,q): return h in M.rows
""",
    "written: set name": """
SEEN = []
class D:
    def __set_name__(self, owner, name): SEEN.append(name)
class K:
    a = D()
def native(h,q): return SEEN
""",
    "written: init_subclass other registry": """
SEEN = []
class B:
    def __init_subclass__(cls, **kw): SEEN.append(cls.__name__)
class K(B): pass
def native(h,q): return SEEN
""",
    "written: class body effect": """
SEEN = []
class K:
    SEEN.append(16)
def native(h,q): return h in SEEN
""",
    "written: decorator effect": """
SEEN = []
def reg(f):
    SEEN.append(f.__name__)
    return f
@reg
def g(): pass
def native(h,q): return SEEN
""",
    "written: default arg effect": """
SEEN = []
def put(x):
    SEEN.append(x)
    return x
def g(a=put(16)): return a
def native(h,q): return h in SEEN, g()
""",
    "written: function attr other": """
def f(h): return h
f.tiles = (16, 32)
g = f
g.tiles = (64,)
def native(h,q): return h in f.tiles
""",
    "written: getattr module self": """
import sys
T = (16,)
setattr(sys.modules[__name__], 'T', (32,))
def native(h,q): return h in T
""",
    "written: this module": """
import sys
T = (16,)
this = sys.modules[__name__]
this.T = (32,)
def native(h,q): return h in T
""",
    "written: module dict": """
import sys
T = (16,)
sys.modules[__name__].__dict__['T'] = (32,)
def native(h,q): return h in T
""",
    "written: vars update": """
T = (16,)
vars().update(T=(32,))
def native(h,q): return h in T
""",
    "written: globals alias": """
T = (16,)
g = globals()
g['T'] = (32,)
def native(h,q): return h in T
""",
    "written: globals in function": """
T = (16,)
def put(): globals()['T'] = (32,)
put()
def native(h,q): return h in T
""",
    "written: global in function called": """
T = (16,)
def put():
    global T
    T = (32,)
put()
def native(h,q): return h in T
""",
    "written: nested list in dict aug": """
D = {'ok': []}
for h in (16, 32): D.setdefault('ok', []).append(h)
D['ok'].remove(32)
D['n'] = len(D['ok'])
def native(h,q): return h in D['ok'], D['n']
""",
}
"""What may be known or not."""
