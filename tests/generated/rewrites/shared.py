"""Values with several names, iterators that are gone through later, loops that change a list."""

SHARED = {
    "alias": """
A = {16: 1}
B = A
B[32] = 2
def native(h,q):
    return A.get(h), B.get(h)
""",
    "alias2": """
A = {16: 1}
B = A
A[32] = 2
def native(h,q):
    return A.get(h), B.get(h)
""",
    "nested": """
A = [16]
B = {'a': A}
B['a'].append(32)
def native(h,q):
    return h in A, h in B['a']
""",
    "passed": """
A = [16]
def fill(x):
    x.append(32)
fill(A)
def native(h,q):
    return h in A
""",
    "returned": """
A = [16]
def same(x):
    return x
B = same(A)
B.append(32)
def native(h,q):
    return h in A, h in B
""",
    "loop": """
A = [16]
C = [8]
for t in (A, C):
    t.append(32)
def native(h,q):
    return h in A, h in C
""",
    "func": """
A = [16]
B = A
def put(h):
    B.append(h)
def native(h,q):
    return h in A
""",
    "obj": """
class R:
    def __init__(self):
        self.t = []
    def add(self, h):
        self.t.append(h)
        return self
R1 = R()
R1.add(16)
R1.add(32)
def native(h,q):
    return h in R1.t
""",
    "obj2": """
class R:
    def __init__(self):
        self.t = []
    def add(self, h):
        self.t.append(h)
        return self
R1 = R().add(16)
R2 = R1.add(32)
def native(h,q):
    return h in R1.t, h in R2.t
""",
    "register": """
TABLE = {}
def register(h):
    def deco(f):
        TABLE[h] = f
        return f
    return deco
@register(16)
def f16(q):
    return q == 1
@register(32)
def f32(q):
    return True
def native(h,q):
    return TABLE[h](q) if h in TABLE else False
""",
    "walrusmod": """
if (n := 16) > 3:
    T = [n]
def native(h,q):
    return h in T
""",
    "setattr": """
class C:
    pass
C.tiles = (16, 32)
def native(h,q):
    return h in C.tiles
""",
    "lenmut": """
A=[1,2]
N = len(A)
A.append(3)
def native(h,q):
    return N, len(A)
""",
    "sw": """
A=[16]
B=[32]
A, B = B, A
A.append(1)
def native(h,q):
    return h in A, h in B
""",
    "dd": """
from collections import defaultdict
T = defaultdict(set)
for h in (16,32):
    T[h].add(1)
    T[h] |= {2}
def native(h,q):
    return h in T and q in T[h]
""",
    "try": """
try:
    T = {16: 1}
    T[32] = 2
except KeyError:
    T = {}
def native(h,q):
    return T.get(h)
""",
    "while": """
T=[]
n=16
while n < 200:
    T.append(n)
    n *= 2
def native(h,q):
    return h in T, n
""",
    "comp": """
T={h: {q for q in (1,2) if h*q < 40} for h in (16,32)}
def native(h,q):
    return q in T.get(h, ())
""",
    "lazy": """
def native(h,q):
    xs=[1,2]
    g=(x for x in xs if x < q)
    xs.append(0)
    return list(g)
""",
    "lazy2": """
def native(h,q):
    n=2
    g=(x for x in (1,2,3) if x < n)
    n=q
    return list(g)
""",
    "map": """
def native(h,q):
    n=2
    m=map(lambda x: x*n, (1,2,3))
    n=q
    return list(m)
""",
    "twice": """
def native(h,q):
    z=zip((1,2),(3,4))
    return list(z), list(z), bool(z)
""",
    "gen": """
def native(h,q):
    g=(x for x in (1,2,3))
    return 2 in g, list(g)
""",
    "key": """
def native(h,q):
    return h in {16: 1}.keys(), list({16: 1}.keys()), {16:1}.keys() == {16}, len({16:1}.keys())
""",
    "chainass": """
def native(h,q):
    a = b = [h]
    a += [q]
    return b, a is b
""",
    "setorder": """
def native(h,q):
    return [x for x in {16, 32, 48}], sorted({3,2})
""",
    "strorder": """
def native(h,q):
    for x in {'a','b'}:
        return x
""",
    "dictview": """
def native(h,q):
    d={16: 1}
    k=d.keys()
    v=d.items()
    d[h]=2
    return len(k), len(v), h in k
""",
    "eqlist": """
def native(h,q):
    return (
        [1] == (1,), 1 == 'a', {1} == frozenset([1]), None == 0, 1.0 == 1, True == 1,
        'a' < 'b'
    )
""",
    "intflagfmt": """
from enum import IntFlag
class F(IntFlag):
    A=1
    B=2
def native(h,q):
    f = F.A | F.B
    return int(f), f == 3, f in (3,), {3: 'x'}.get(f), F(3) == f, int(~F.A & F.B)
""",
    "slots": """
class A:
    __slots__ = ('n',)
    def __init__(self, n): self.n = n
def native(h,q):
    a = A(h)
    try:
        a.m = 1
    except AttributeError:
        return a.n
""",
    "class call": """
class R:
    tiles = {}
    def __init_subclass__(cls, **k):
        R.tiles[cls.__name__] = cls
class A(R): pass
def native(h,q):
    return 'A' in R.tiles
""",
    "metaclass": """
class M(type):
    def __contains__(cls, h): return h == 16
class A(metaclass=M): pass
def native(h,q):
    return h in A
""",
    "dataclass order": """
from dataclasses import dataclass
@dataclass(order=True)
class A:
    a: int
    b: int
def native(h,q):
    return A(h, q) < A(16, 2), max(A(1, 2), A(1, 3)).b, sorted([A(2, 1), A(1, 2)])[0].a
""",
    "kwdefaults": """
def f(*, a=1, b): return a, b
def native(h,q):
    try:
        return f(a=2)
    except TypeError:
        return f(b=h)
""",
    "inst in dict val": """
class A:
    def __init__(self, n): self.n = n
T = {n: A(n) for n in (16, 32)}
def native(h,q):
    return T[h].n if h in T else 0
""",
    "module obj mutate": """
class A:
    def __init__(self): self.n = 0
X = A()
X.n = 5
for i in range(3):
    X.n += i
def native(h,q):
    return X.n
""",
    "set iteration sum": """
def native(h,q):
    t = 0
    for x in {16, 32}:
        t += x
    return t
""",
    "default late": """
N = 1
def f(n=N):
    return n
N = 2
def native(h,q):
    return f(), N
""",
    "default mutable glob": """
T = [1]
def f(t=T):
    return len(t)
T = [1, 2]
def native(h,q):
    return f()
""",
    "closure default": """
def make(h):
    def f(x, h=h):
        return x * h
    return f
def native(h,q):
    f = make(h)
    return f(q)
""",
    "del single": """
def native(h,q):
    d = {1: 1}
    for k in d:
        if k == q: del d[k]
    return len(d)
""",
    "set loop find": """
def native(h,q):
    for x in {16, 32}:
        if x == h: return True
    return False
""",
}
