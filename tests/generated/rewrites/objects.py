"""What objects and enums do in less usual cases."""

OBJECTS = {
    "data inherit order": """
from dataclasses import dataclass
@dataclass
class A:
    x: int
    y: int = 2
@dataclass
class B(A):
    z: int = 3
    y: int = 5
def native(h,q):
    b = B(h)
    return b.x, b.y, b.z, b == B(h,5,3), b == A(h,5)
""",
    "data mutable eq": """
from dataclasses import dataclass
@dataclass
class A:
    x: int
def native(h,q):
    a=A(h); b=A(h)
    same = a == b
    b.x += q
    return same, a == b, a is b, a != b
""",
    "data hash unhash": """
from dataclasses import dataclass
@dataclass
class A:
    x: int
def native(h,q):
    try:
        return {A(h): 1}[A(h)]
    except TypeError:
        return 'unhashable'
""",
    "eq hash": """
class K:
    def __init__(self, n):
        self.n = n
    def __eq__(self, o):
        return self.n == o.n
    def __hash__(self):
        return 1
def native(h,q):
    return {K(h): 5}.get(K(h), 0), K(h) in [K(16)], K(16) == K(h)
""",
    "prop raise": """
class K:
    @property
    def p(self):
        raise AttributeError('x')
    def __getattr__(self, name):
        return 7
def native(h,q):
    return K().p
""",
    "getattr": """
class K:
    def __init__(self): self.a = 1
    def __getattr__(self, name):
        return len(name)
def native(h,q):
    k=K()
    return k.a, k.bcd, getattr(k,'zz',0), hasattr(k, 'q')
""",
    "class attr shadow": """
class K:
    n = 1
    def inc(self):
        self.n += 1
        return self.n
def native(h,q):
    k=K(); k.inc()
    return k.n, K.n, k.inc()
""",
    "class var list": """
class K:
    seen = [16]
    def has(self, h):
        return h in self.seen
def native(h,q):
    return K().has(h)
""",
    "diamond": """
class A:
    def f(self): return 'A'
class B(A):
    def f(self): return 'B' + super().f()
class C(A):
    def f(self): return 'C' + super().f()
class D(B, C):
    def f(self): return 'D' + super().f()
def native(h,q):
    return D().f()
""",
    "classmethod inherit": """
class A:
    N = 1
    @classmethod
    def make(cls):
        return cls.N
class B(A):
    N = 2
def native(h,q):
    return A.make(), B.make(), B().make()
""",
    "static via self": """
class A:
    @staticmethod
    def f(x): return x + 1
    def g(self): return self.f(1) + A.f(2)
def native(h,q):
    return A().g()
""",
    "init default": """
class A:
    D = 4
    def __init__(self, n=D):
        self.n = n
def native(h,q):
    return A().n
""",
    "name mangling": """
class A:
    def __init__(self): self.__x = 1
    def get(self): return self.__x
class B(A):
    def __init__(self):
        super().__init__()
        self.__x = 2
    def both(self): return self.get(), self.__x
def native(h,q):
    return B().both()
""",
    "scope": """
X = 1
class A:
    X = 2
    def f(self): return X
    Y = X + 1
def native(h,q):
    return A().f(), A.Y
""",
    "comp in class": """
class A:
    B = [1, 2]
    C = [x * 2 for x in B]
def native(h,q):
    return A.C
""",
    "lambda attr": """
class A:
    f = lambda self, x: x + 1
def native(h,q):
    return A().f(1)
""",
    "bool op": """
class A:
    def __len__(self): return 0
def native(h,q):
    a = A()
    if a: return 1
    return 2 if not a else 3
""",
    "bool op2": """
class A:
    def __bool__(self): return False
def native(h,q):
    a = A()
    return (a and 1) is a, (1 if a else 2), [x for x in (1,) if a]
""",
    "iter": """
class A:
    def __iter__(self): return iter((16, 32))
def native(h,q):
    return h in list(A()), h in A(), sum(A())
""",
    "add": """
class V:
    def __init__(self, n): self.n = n
    def __add__(self, o): return V(self.n + o.n)
    def __eq__(self, o): return self.n == o.n
def native(h,q):
    return V(1) + V(2) == V(3), V(1) != V(1)
""",
    "enum eq": """
from enum import Enum, IntEnum
class A(Enum):
    X = 1
class B(Enum):
    X = 1
class C(IntEnum):
    X = 1
def native(h,q):
    return (
        A.X == B.X, A.X == 1, C.X == 1, C.X == A.X, A.X is A.X, A(1) is A.X,
        A.X in (B.X, 1), {A.X: 1}.get(B.X), {1: 2}.get(C.X)
    )
""",
    "enum truth": """
from enum import Enum, IntEnum
class A(Enum):
    Z = 0
class C(IntEnum):
    Z = 0
def native(h,q):
    return bool(A.Z), bool(C.Z), 1 if A.Z else 2, 1 if C.Z else 2, not C.Z
""",
    "enum order": """
from enum import IntEnum
class C(IntEnum):
    A = 16
    B = 32
def native(h,q):
    return h >= C.B, C.A < C.B, sorted([C.B, C.A])[0] == 16, C.A + 1, max(C.A, h) == h
""",
    "enum fstring": """
from enum import IntEnum, Enum
class C(IntEnum):
    A = 16
class D(Enum):
    A = 16
def native(h,q):
    return f'{C.A}' == '16', str(D.A) == 'D.A', f'{D.A}', f'{D.A.value}'
""",
    "flag": """
from enum import Flag, IntFlag, auto
class F(Flag):
    A = auto()
    B = auto()
    C = A | B
def native(h,q):
    f = F.A
    if h == 16: f |= F.B
    return f == F.C, f is F.C, F.A in f, bool(f & F.B), f.value, F.A == 1, (f ^ F.A).value
""",
    "tuple ops": """
from collections import namedtuple
T = namedtuple('T','a b')
def native(h,q):
    t = T(h,q)
    return (
        t == (h,q), t < (20,0), t[0], t[:1], len(t), list(t), t + (1,), h in t, t.a,
        {t: 1}[(h,q)], max(t), isinstance(t, tuple), tuple(t)
    )
""",
    "match enum tuple": """
from enum import Enum
class K(Enum):
    A = 1
    B = 2
def native(h,q):
    k = K.A if q == 1 else K.B
    match (k, h):
        case (K.A, 16 | 32): return 1
        case (K.B, n) if n > 20: return n
        case (_, n): return -n
""",
    "match none": """
def native(h,q):
    match None if h == 16 else h:
        case None: return 0
        case int(): return 1
""",
    "match str seq": """
def native(h,q):
    match 'ab':
        case [a, b]: return 1
        case 'ab': return 2
""",
    "match dict rest": """
def native(h,q):
    match {'a': h, 'b': q}:
        case {'a': 16, **rest}: return rest['b']
        case {'a': n}: return n
""",
    "match bool int": """
def native(h,q):
    match h == 16:
        case 1: return 'one'
        case False: return 'no'
""",
    "match fall capture": """
def native(h,q):
    x = 5
    match (h, q):
        case (x, 2): pass
        case _: pass
    return x
""",
    "try finally": """
def native(h,q):
    out = []
    for n in (1, 0):
        try:
            out.append(h // n)
        except ZeroDivisionError as e:
            out.append(-1)
        finally:
            out.append(q)
    return out
""",
    "nonlocal loop": """
def native(h,q):
    total = 0
    def add(n):
        nonlocal total
        total += n
    for n in range(q):
        add(n)
    return total
""",
    "late binding": """
def native(h,q):
    fs = [lambda: n for n in (1, 2, 3)]
    return [f() for f in fs]
""",
    "default binding": """
def native(h,q):
    fs = [lambda n=n: n for n in (1, 2, 3)]
    return [f() for f in fs]
""",
}
