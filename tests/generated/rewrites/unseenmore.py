"""More of them: under other names in functions, by classes, partial functions and dictionaries."""

UNSEEN_MORE = {
    "closure counter at import": """
def _counter():
    n = 15
    def up():
        nonlocal n
        n += 1
        return n
    return up
_up = _counter()
_A = _up()
_B = _up()
def native(heads, qlen): return heads == _A, heads == _B
""",
    "iterator consumed at import": """
_it = iter((16, 32, 64))
_A = next(_it)
_B = next(_it)
def native(heads, qlen): return heads == _B
""",
    "iterator consumed by function": """
_it = iter((16, 32, 64))
def _f(): return next(_it)
_A = _f()
_B = _f()
def native(heads, qlen): return heads == _B, heads == _A
""",
    "count iterator": """
import itertools
_c = itertools.count(16, 16)
class A: n = next(_c)
class B: n = next(_c)
def native(heads, qlen): return heads == B.n, heads == A.n
""",
    "global statement called at import": """
_N = 16
def _f():
    global _N
    _N = 32
_f()
def native(heads, qlen): return heads == _N
""",
    "walrus in comprehension": """
_N = 16
_x = [(_N := h) for h in (16, 32)]
def native(heads, qlen): return heads == _N
""",
    "star expression swap": """
_A, *_B = [16], [32], [64]
_B[0].append(8)
def native(heads, qlen): return heads in _B[0]
""",
    "list in tuple changed": """
_X = [16]
_P = (_X, 1)
_P[0].append(32)
def native(heads, qlen): return heads in _X
""",
    "slice assign in function": """
_X = [16]
def f(): _X[:] = [32]
f()
def native(heads, qlen): return heads in _X
""",
    "del in function": """
_X = {16: 1, 32: 1}
def f(): del _X[16]
f()
def native(heads, qlen): return heads in _X
""",
    "alias in function then changed": """
_X = {16: [1]}
def f():
    y = _X[16]
    y.append(2)
f()
def native(heads, qlen): return len(_X[16]) == qlen
""",
    "tuple unpack alias in function": """
_X = {16: [1]}
def f():
    (y,) = _X.values()
    y.append(2)
f()
def native(heads, qlen): return len(_X[16]) == qlen
""",
    "for alias in function": """
_X = [[16], [32]]
def f():
    for y in _X: y.append(64)
f()
def native(heads, qlen): return heads in _X[0]
""",
    "with alias in function": """
import contextlib
_X = [16]
def f():
    with contextlib.nullcontext(_X) as y: y.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "walrus alias in function": """
_X = [16]
def f():
    if (y := _X): y.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "annotated alias in function": """
_X = [16]
def f():
    y: list = _X
    y.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "conditional alias in function": """
_X = [16]
def f():
    y = _X if _X else []
    y.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "or alias in function": """
_X = [16]
def f(z=None):
    z = z or _X
    z.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "default alias in function": """
_X = [16]
def f(z=_X):
    z.append(32)
f()
def native(heads, qlen): return heads in _X
""",
    "augmented in function of alias": """
_X = [16]
def f():
    y = _X
    y += [32]
f()
def native(heads, qlen): return heads in _X
""",
    "return alias changed at import": """
_X = [16]
def f(): return _X
f().append(32)
def native(heads, qlen): return heads in _X
""",
    "return alias bound and changed": """
_X = [16]
def f(): return _X
_Y = f()
_Y.append(32)
def native(heads, qlen): return heads in _X
""",
    "return alias augmented": """
_X = [16]
def f(): return _X
_Y = f()
_Y += [32]
def native(heads, qlen): return heads in _X
""",
    "object holding alias": """
_X = [16]
class T:
    def __init__(self, x): self.x = x
    def go(self): self.x.append(32)
T(_X).go()
def native(heads, qlen): return heads in _X
""",
    "object holding alias later": """
_X = [16]
class T:
    def __init__(self, x): self.x = x
    def go(self): self.x.append(32)
_t = T(_X)
_t.go()
def native(heads, qlen): return heads in _X
""",
    "class body changes list": """
_X = [16]
class T:
    _X.append(32)
def native(heads, qlen): return heads in _X
""",
    "class body calls": """
_X = [16]
def f(): _X.append(32)
class T:
    y = f()
def native(heads, qlen): return heads in _X
""",
    "set_name changes list": """
_X = [16]
class D:
    def __set_name__(self, owner, name): _X.append(32)
class T:
    d = D()
def native(heads, qlen): return heads in _X
""",
    "init_subclass sets attribute": """
class T:
    n = 16
    def __init_subclass__(cls, **kw): T.n = 32
class U(T): pass
def native(heads, qlen): return heads == T.n
""",
    "partial of append": """
from functools import partial
_X = [16]
_p = partial(_X.append, 32)
_p()
def native(heads, qlen): return heads in _X
""",
    "partial of helper": """
from functools import partial
_X = [16]
def add(rows, x): rows.append(x)
_p = partial(add, _X)
_p(32)
def native(heads, qlen): return heads in _X
""",
    "vars of object": """
class T: pass
_t = T(); _t.n = 16
vars(_t)["n"] = 32
def native(heads, qlen): return heads == _t.n
""",
    "object __dict__ update": """
class T: pass
_t = T(); _t.n = 16
_t.__dict__.update(n=32)
def native(heads, qlen): return heads == _t.n
""",
    "object __dict__ update in function": """
class T: pass
_t = T(); _t.n = 16
def f(): _t.__dict__.update(n=32)
f()
def native(heads, qlen): return heads == _t.n
""",
    "object.__setattr__": """
from dataclasses import dataclass
@dataclass(frozen=True)
class T:
    n: int = 16
_t = T()
object.__setattr__(_t, "n", 32)
def native(heads, qlen): return heads == _t.n
""",
    "object.__setattr__ in function": """
from dataclasses import dataclass
@dataclass(frozen=True)
class T:
    n: int = 16
_t = T()
def f(): object.__setattr__(_t, "n", 32)
f()
def native(heads, qlen): return heads == _t.n
""",
}
