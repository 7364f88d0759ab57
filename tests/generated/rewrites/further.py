"""More of objects, enums, sets and iterators."""

FURTHER = {
    "also: exc in gen": """
def native(h,q):
    try:
        return [10 // (x - q) for x in (1, 2)]
    except ZeroDivisionError:
        return 'z'
""",
    "also: post init order": """
from dataclasses import dataclass
@dataclass
class A:
    n: int
    log: list
    def __post_init__(self):
        self.log.append(self.n)
def native(h,q):
    log = []
    A(1, log); A(h, log)
    return log
""",
    "also: class body if": """
class A:
    if 3 > 2:
        T = (16,)
    else:
        T = ()
    for i in range(3):
        T += (i,)
def native(h,q):
    return h in A.T, A.T
""",
    "also: nested class": """
class A:
    class B:
        T = 16
    def f(self): return self.B.T
def native(h,q):
    return A().f() == h, A.B.T
""",
    "also: class in dict": """
class A:
    T = 1
class B(A):
    T = 2
K = {'a': A, 'b': B}
def native(h,q):
    return K['a' if q == 1 else 'b']().T
""",
    "also: enum dict": """
from enum import Enum
class A(Enum):
    X = (16, 1)
    Y = (32, 2)
    def fits(self, h, q): return self.value == (h, q)
def native(h,q):
    return [a.name for a in A if a.fits(h, q)], A['X'].value[0]
""",
    "also: enum init": """
from enum import Enum
class A(Enum):
    X = (16, 1)
    def __init__(self, a, b):
        self.a = a
        self.b = b
def native(h,q):
    return A.X.a == h
""",
    "also: enum missing": """
from enum import Enum
class A(Enum):
    X = 16
    @classmethod
    def _missing_(cls, v): return cls.X
def native(h,q):
    return A(h) is A.X
""",
    "also: intenum key": """
from enum import IntEnum
class A(IntEnum):
    X = 16
T = {A.X: 'x', 32: 'y'}
def native(h,q):
    return T.get(h), A.X in T, 16 in T
""",
    "also: dup keys": """
from enum import IntEnum
class A(IntEnum):
    X = 16
def native(h,q):
    d = {16: 1, A.X: 2}
    return len(d), d[16], {16, A.X} == {16}, len({A.X, 16, 16.0})
""",
    "also: bool keys": """
def native(h,q):
    return {1: 'a', True: 'b'}, len({1, True, 1.0})
""",
    "also: tuple key sym": """
def native(h,q):
    d = {(h, q): 1}
    d[16, 1] = 2
    return d.get((h, q)), len(d)
""",
    "also: is small": """
def native(h,q):
    a = None
    return a is None, h is not None, True is True, (q == 1) is True
""",
    "also: getattr fn": """
class A:
    def f(self, n): return n + 1
def native(h,q):
    return getattr(A(), 'f')(q), getattr(A(), 'g', lambda n: 0)(q)
""",
    "also: property cls": """
class A:
    @property
    def p(self): return 1
def native(h,q):
    try:
        A().p = 2
    except AttributeError:
        return 'ro'
""",
    "also: data eq false": """
from dataclasses import dataclass
@dataclass(eq=False)
class A:
    n: int
def native(h,q):
    a = A(1)
    return A(1) == A(1), a == a, a in [a], A(1) in [a]
""",
    "also: data sub cmp": """
from dataclasses import dataclass
@dataclass(frozen=True)
class A:
    n: int
class B(A): pass
def native(h,q):
    return A(1) == B(1), B(1) == B(1), len({A(1), A(1), B(1)})
""",
    "also: field compare": """
from dataclasses import dataclass, field
@dataclass(frozen=True)
class A:
    n: int
    m: int = field(default=0, compare=False)
def native(h,q):
    return A(1, 2) == A(1, 3), {A(1, 2): 5}.get(A(1, 9))
""",
    "also: nt eq list": """
from typing import NamedTuple
class T(NamedTuple):
    a: int
def native(h,q):
    return T(1) == (1,), T(1) != (2,), (1,) == T(1), T(1) < (2,), T(1) in {(1,)}, (1,) in {T(1)}
""",
    "also: nt sub": """
from collections import namedtuple
class T(namedtuple('B', 'a b')):
    __slots__ = ()
    @property
    def s(self): return self.a + self.b
    def __new__(cls, a, b=2): return super().__new__(cls, a, b)
def native(h,q):
    return T(h).s
""",
    "also: nt sub2": """
from collections import namedtuple
class T(namedtuple('B', 'a b')):
    def s(self): return self.a + self.b
def native(h,q):
    return T(h, q).s(), T(h, q)._replace(b=0).s()
""",
    "also: set of sets": """
def native(h,q):
    s = {frozenset({1}), frozenset({2})}
    return frozenset({q}) in s, len(s)
""",
    "also: loose": """
def native(h,q):
    s = {h, 16}
    t = s
    t.add(q)
    return len(s), 16 in s, sorted(s), s - {16}, s == {16, q}
""",
    "also: loose2": """
def native(h,q):
    s = {h, 16}
    s.discard(16)
    return h in s, len(s), list(s) if len(s) < 2 else 0
""",
    "also: dict views": """
def native(h,q):
    d = {16: 1}
    return (16, 1) in d.items(), 1 in d.values(), d.keys() | {h}, d.items() == {16: 1}.items()
""",
    "also: str in": """
def native(h,q):
    s = f'{h},{q}'
    return '16' in s, s == '16,1', s in ('16,1', 'x'), {s: 1}.get('16,1')
""",
    "also: int float": """
def native(h,q):
    return h / 16 == h // 16, h * 1.0 == h, int(h * 0.5), h ** 0.5 == 4, 2 ** q, -7 // 2, -7 % 3
""",
    "also: try return": """
def f(n):
    try:
        return 1 // n
    finally:
        if n == 0: return 9
def native(h,q):
    return f(q - 1)
""",
    "also: gen close": """
def g():
    yield 1
    yield 2
def native(h,q):
    for x in g():
        if x == q: break
    else: return 'none'
    return x
""",
    "also: zip dict": """
def native(h,q):
    d = dict(zip('ab', (h, q)))
    return d, {k: v for v, k in enumerate('abc')}
""",
    "also: cond def": """
X = 3
def f(h): return h == 16
if X > 2:
    _f = f
    def f(h): return _f(h) or h == 32
def native(h,q):
    return f(h)
""",
    "also: loop else mod": """
R = 0
for i in (1, 2, 3):
    if i == 2:
        continue
    R += i
else:
    R += 100
def native(h,q):
    return R
""",
    "also: aug mod": """
A = (16,)
B = A
A += (32,)
def native(h,q):
    return A, B
""",
}
