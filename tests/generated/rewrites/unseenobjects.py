"""The same through objects, views, enums and what is inside a value; and what is only looked at."""

UNSEEN_OBJECTS = {
    "tuple with list": """
_P = ([16], 1)
_P[0].append(32)
def native(heads, qlen): return heads in _P[0]
""",
    "tuple with list in function": """
_P = ([16], 1)
def f(): _P[0].append(32)
f()
def native(heads, qlen): return heads in _P[0]
""",
    "alias of returned, original changed": """
_X = [16]
def f(): return _X
_Y = f()
_X.append(32)
def native(heads, qlen): return heads in _Y
""",
    "alias through dict get": """
_T = {1: [16]}
_Y = _T.get(1)
_T[1].append(32)
def native(heads, qlen): return heads in _Y
""",
    "alias through object attribute": """
class T:
    def __init__(self): self.rows = [16]
_t = T()
_Y = _t.rows
_t.rows.append(32)
def native(heads, qlen): return heads in _Y
""",
    "alias through method": """
class T:
    def __init__(self): self.rows = [16]
    def get(self): return self.rows
_t = T()
_Y = _t.get()
_t.rows.append(32)
def native(heads, qlen): return heads in _Y
""",
    "alias through class attribute": """
class T: rows = [16]
_Y = T.rows
T.rows.append(32)
def native(heads, qlen): return heads in _Y, heads in T.rows
""",
    "alias through lambda": """
_X = [16]
_f = lambda: _X
_f().append(32)
def native(heads, qlen): return heads in _X
""",
    "alias through generator": """
_X = [[16]]
def g():
    yield from _X
for r in g(): r.append(32)
def native(heads, qlen): return heads in _X[0]
""",
    "alias through zip": """
_X = [[16], [64]]
for r, n in zip(_X, (32, 128)): r.append(n)
def native(heads, qlen): return heads in _X[0]
""",
    "alias through sorted key effect": """
_X = [[16], [64]]
sorted(_X, key=lambda r: r.append(32) or 0)
def native(heads, qlen): return heads in _X[0]
""",
    "comparison effect": """
class T:
    def __init__(self): self.n = 16
    def __eq__(self, o):
        self.n = 32
        return True
_t = T()
_t == 3
def native(heads, qlen): return heads == _t.n
""",
    "bool effect in function": """
class T:
    def __init__(self): self.n = 16
    def __bool__(self):
        self.n = 32
        return True
_t = T()
def f(): return not _t
f()
def native(heads, qlen): return heads == _t.n
""",
    "property effect": """
class T:
    def __init__(self): self.n = 16
    @property
    def v(self):
        self.n = 32
        return 1
_t = T()
_z = _t.v
def native(heads, qlen): return heads == _t.n
""",
    "call effect": """
class T:
    def __init__(self): self.n = 16
    def __call__(self): self.n = 32
_t = T()
_t()
def native(heads, qlen): return heads == _t.n
""",
    "call effect through list": """
class T:
    def __init__(self): self.n = 16
    def __call__(self): self.n = 32
_t = T()
_l = [_t]
[x() for x in _l]
def native(heads, qlen): return heads == _t.n
""",
    "getitem effect": """
class T:
    def __init__(self): self.n = 16
    def __getitem__(self, k):
        self.n = k
        return k
_t = T()
def f(): return _t[32]
f()
def native(heads, qlen): return heads == _t.n
""",
    "iter effect": """
class T:
    def __init__(self): self.n = 16
    def __iter__(self):
        self.n = 32
        return iter((1,))
_t = T()
def f(): return list(_t)
f()
def native(heads, qlen): return heads == _t.n
""",
    "format effect": """
class T:
    def __init__(self): self.n = 16
    def __str__(self):
        self.n = 32
        return "t"
_t = T()
_s = f"{_t}"
def native(heads, qlen): return heads == _t.n
""",
    "defaultdict grows on read": """
from collections import defaultdict
_D = defaultdict(int, {16: 1})
_D[32]
def native(heads, qlen): return heads in _D
""",
    "defaultdict grows on read in function": """
from collections import defaultdict
_D = defaultdict(int, {16: 1})
def f(): return _D[32]
f()
def native(heads, qlen): return heads in _D
""",
    "defaultdict grows in comprehension": """
from collections import defaultdict
_D = defaultdict(int, {16: 1})
_Z = [_D[h] for h in (16, 32)]
def native(heads, qlen): return heads in _D
""",
    "defaultdict in other value": """
from collections import defaultdict
_D = defaultdict(int, {16: 1})
_Z = _D[32] + 1
def native(heads, qlen): return heads in _D
""",
    "chain map write": """
from collections import ChainMap
_A = {16: 1}
_C = ChainMap(_A)
_C[32] = 1
def native(heads, qlen): return heads in _A
""",
    "deque": """
from collections import deque
_Q = deque([16, 32], maxlen=2)
_Q.append(64)
def native(heads, qlen): return heads in _Q
""",
    "counter": """
from collections import Counter
_C = Counter([16, 16, 32])
_C[32] += 3
def native(heads, qlen): return _C[heads] > 2
""",
    "proxy write through": """
from types import MappingProxyType
_A = {16: 1}
_P = MappingProxyType(_A)
_A[32] = 1
def native(heads, qlen): return heads in _P
""",
    "keys view later": """
_A = {16: 1}
_K = _A.keys()
_A[32] = 1
def native(heads, qlen): return heads in _K
""",
    "keys view later in function": """
_A = {16: 1}
_K = _A.keys()
def f(): _A[32] = 1
f()
def native(heads, qlen): return heads in _K
""",
    "set operators in place alias": """
_A = {16}
_B = _A
_B |= {32}
def native(heads, qlen): return heads in _A
""",
    "list augmented alias": """
_A = [16]
_B = _A
_A += [32]
def native(heads, qlen): return heads in _B
""",
    "frozen dataclass with list": """
from dataclasses import dataclass, field
@dataclass(frozen=True)
class R:
    rows: list = field(default_factory=list)
_r = R([16])
_r.rows.append(32)
def native(heads, qlen): return heads in _r.rows
""",
    "frozen dataclass with list in function": """
from dataclasses import dataclass, field
@dataclass(frozen=True)
class R:
    rows: list = field(default_factory=list)
_r = R([16])
def f(): _r.rows.append(32)
f()
def native(heads, qlen): return heads in _r.rows
""",
    "dataclass list shared by constructor": """
from dataclasses import dataclass
@dataclass(frozen=True)
class R:
    rows: list
_X = [16]
_r = R(_X)
_X.append(32)
def native(heads, qlen): return heads in _r.rows
""",
    "dataclass list shared and changed through it": """
from dataclasses import dataclass
@dataclass(frozen=True)
class R:
    rows: list
_X = [16]
_r = R(_X)
_r.rows.append(32)
def native(heads, qlen): return heads in _X
""",
    "named tuple with list": """
from typing import NamedTuple
class R(NamedTuple):
    rows: list
_r = R([16])
_r.rows.append(32)
def native(heads, qlen): return heads in _r.rows
""",
    "named tuple with list in function": """
from typing import NamedTuple
class R(NamedTuple):
    rows: list
_r = R([16])
def f(r): r.rows.append(32)
f(_r)
def native(heads, qlen): return heads in _r.rows
""",
    "nested function changes": """
_X = [16]
def f():
    def g(): _X.append(32)
    g()
f()
def native(heads, qlen): return heads in _X
""",
    "comprehension changes in function": """
_X = [16]
def f(): return [_X.append(h) for h in (32,)]
f()
def native(heads, qlen): return heads in _X
""",
    "try body changes in function": """
_X = [16]
def f():
    try: _X.append(32)
    finally: pass
f()
def native(heads, qlen): return heads in _X
""",
    "conditional expression of two tables": """
_X, _Y = [16], [32]
def f(a): return _X if a else _Y
f(True).append(64)
def native(heads, qlen): return heads in _X
""",
    "attribute of function as table": """
def f(): return f.rows
f.rows = [16]
f().append(32)
def native(heads, qlen): return heads in f.rows
""",
    "enum value list": """
from enum import Enum
class E(Enum):
    A = [16]
E.A.value.append(32)
def native(heads, qlen): return heads in E.A.value
""",
    "enum value list in function": """
from enum import Enum
class E(Enum):
    A = [16]
def f(): E.A.value.append(32)
f()
def native(heads, qlen): return heads in E.A.value
""",
    "enum attribute set": """
from enum import Enum
class E(Enum):
    A = 16
E.extra = 32
def native(heads, qlen): return heads == E.A.value
""",
    "globals get": """
_X = [16]
globals()["_X"].append(32)
def native(heads, qlen): return heads in _X
""",
}

STEADY = {
    "read only uses stay known": """
_X = [16, 32]
_M = {16: (1, 2), 32: (3,)}
def _has(rows, h): return h in rows
def _pick(h):
    got = _M.get(h)
    return got if got is None else got[0]
def native(heads, qlen):
    return _has(_X, heads), _pick(heads), [h for h in _X if h > qlen], len(_X), sorted(_M)
""",
    "nested read only uses stay known": """
_M = {"a": [16, 32], "b": {64: [1, 2]}}
def _rows(k): return _M[k]
def native(heads, qlen):
    total = 0
    for k, v in _M.items():
        if heads in v: total += 1
    x = _M["b"].get(64)
    return total, heads in _rows("a"), x[0] == qlen
""",
    "objects read only stay known": """
class T:
    def __init__(self, h): self.heads = h
    def takes(self, h): return h in self.heads
_t = T([16, 32])
_ALL = [T([16]), T([64])]
def native(heads, qlen):
    return _t.takes(heads), any(t.takes(heads) for t in _ALL), [t.heads[0] for t in _ALL]
""",
    "loop variable of comprehension": """
_R = [[16], [32]]
_F = [x for r in _R for x in r]
def native(heads, qlen): return heads in _F
""",
    "top level building stays known": """
_T = {}
for _h in (16, 32): _T[_h] = [_h]
_T[64] = [1]
_T[64].append(2)
_S = set()
_S.add(16)
_S |= {32}
def native(heads, qlen): return heads in _T, heads in _S
""",
}
