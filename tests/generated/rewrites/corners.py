"""Less usual cases of statements and built-in functions."""

CORNERS = {
    "mutdef": """
def f(n, acc=None):
    acc = [] if acc is None else acc
    acc.append(n)
    return acc
def native(h,q):
    return f(h), f(q)
""",
    "cached eq": """
import functools
@functools.cache
def t(n):
    return [n, n + 1]
def native(h,q):
    return h in t(16), t(q)[0], len(t(1))
""",
    "listeq": """
def native(h,q):
    a = [1,2]
    b = a
    b = b + [3]
    return a, b
""",
    "iadd tuple": """
def native(h,q):
    a = (1,)
    b = a
    b += (2,)
    return a, b
""",
    "set ops inplace": """
def native(h,q):
    a = {1}
    b = a
    b |= {h}
    return h in a, len(a)
""",
    "frozenset inplace": """
def native(h,q):
    a = frozenset({1})
    b = a
    b |= {h}
    return h in a, h in b
""",
    "dict order": """
def native(h,q):
    d = {32: 1, 16: 2}
    d[8] = 3
    d[32] = 4
    return list(d), list(d.values()), next(iter(d)), [k for k in d]
""",
    "pop key": """
def native(h,q):
    d = {16: 1, 32: 2}
    return d.pop(h, None), len(d), d.popitem()
""",
    "str methods": """
def native(h,q):
    s = f'gfx{h}'
    return (
        s.startswith('gfx1'), s[3:], s.replace('gfx', ''), s.upper(), 'x' in s,
        s.split('x'), int(s[3:]) == h
    )
""",
    "fstring spec": """
def native(h,q):
    return f'{h:>4}', f'{h!r}', f'{h=}', f'{h / 3:.2f}'
""",
    "percent": """
def native(h,q):
    return '%d-%s' % (h, q), '%05d' % h
""",
    "chained cmp": """
def native(h,q):
    return 1 < q < 3, 16 == h != 5, (h == 16) == (q == 1)
""",
    "star args": """
def f(a, *b, c=1, **d): return a, b, c, sorted(d.items())
def native(h,q):
    return f(h, q, *[1, 2], c=3, e=4), f(*(h,)), f(**{'a': h, 'z': q})
""",
    "unpack dict": """
def native(h,q):
    a, *b, c = {1: 2, 3: 4, 5: 6}
    return a, b, c
""",
    "swap": """
def native(h,q):
    h, q = q, h
    return h, q
""",
    "cond import": """
import math
try:
    import not_there
except ImportError:
    not_there = None
def native(h,q):
    return not_there is None, math.ceil(h / 16)
""",
    "global const fold": """
A = 16
if A > 8 and 'x' not in 'abc':
    B = [A, A * 2]
else:
    B = []
for i, b in enumerate(B):
    B[i] = b + 1
def native(h,q):
    return B, h in B
""",
    "deep update": """
T = {'a': {16: 1}}
T['a'][32] = 2
T['a'].update({64: 3})
T['b'] = T['a']
T['b'][128] = 4
def native(h,q):
    return h in T['a'], len(T)
""",
    "func fill": """
def build():
    t = {}
    for h in (16, 32):
        for q in (1, 2):
            t.setdefault(h, set()).add(q)
    return t
T = build()
def native(h,q):
    return q in T.get(h, set())
""",
    "float keys": """
def native(h,q):
    return {16.0: 1}.get(h), {True: 2}.get(q), 16.0 in {16}
""",
    "range ops": """
def native(h,q):
    r = range(0, 64, 16)
    return h in r, r[1], len(r), list(r)[-1], r[-1], r.stop
""",
    "sum bool": """
def native(h,q):
    return sum(x == h for x in (16, 32)), sum([True, False]), int(h == 16) + 1
""",
    "neg floor": """
def native(h,q):
    return -h // 16, -h % 16, divmod(-h, 5), -(-h // 16), h >> 2, ~h, h & -h
""",
    "int str": """
def native(h,q):
    return (
        int('0x10', 16), int(' 16 '), int(3.9), int(True), int(-3.5), round(2.5),
        round(h / 32)
    )
""",
    "zip strict": """
def native(h,q):
    try:
        return dict(zip((1, 2), (h,), strict=True))
    except ValueError:
        return 'bad'
""",
    "while else": """
def native(h,q):
    n = 0
    while n < q:
        n += 1
        if n == 2: break
    else:
        return 'else'
    return n
""",
    "walrus scope": """
def native(h,q):
    xs = [y for x in (1, 2, 3) if (y := x * q) > 2]
    return xs, y
""",
    "del in loop": """
def native(h,q):
    d = {1: 1, 2: 2}
    for k in list(d):
        if k == q: del d[k]
    return sorted(d)
""",
    "del loop err": """
def native(h,q):
    d = {1: 1, 2: 2}
    for k in d:
        if k == q: del d[k]
    return sorted(d)
""",
    "list mut loop": """
def native(h,q):
    xs = [1, 2, 3]
    for x in xs:
        if x == q: xs.remove(x)
    return xs
""",
    "genfunc": """
def g(n):
    for i in range(n):
        if i == 2: return
        yield i * 2
def native(h,q):
    it = g(q)
    return next(it), list(it), list(g(5))
""",
    "any break": """
def native(h,q):
    it = iter((1, 2, 3))
    return any(x == 2 for x in it), list(it)
""",
    "sorted key": """
def native(h,q):
    xs = [(2, 'b'), (1, 'c'), (2, 'a')]
    return (
        sorted(xs, key=lambda t: t[0]), sorted(xs, reverse=True), min(xs), max(xs,
        key=lambda t: t[1])
    )
""",
    "reduce": """
from functools import reduce
import operator
def native(h,q):
    return reduce(operator.mul, [1, 2, q], 1), reduce(operator.or_, [1, 2], 0)
""",
    "partialmethod": """
from functools import partial
class A:
    def __init__(self, n): self.n = n
    def f(self, a, b): return self.n + a * b
def native(h,q):
    p = partial(A(1).f, 2)
    return p(q), p(b=q)
""",
    "none cmp": """
def native(h,q):
    x = None
    return x is None, x == None, x != 0, x in (None, 1), not x
""",
    "exc msg": """
def native(h,q):
    try:
        raise KeyError(h)
    except (ValueError, KeyError) as e:
        return type(e).__name__
""",
    "exc class": """
class E(ValueError):
    pass
def f(h):
    if h > 16: raise E('x')
    return 1
def native(h,q):
    try:
        return f(h)
    except ValueError:
        return 2
""",
    "exc hier": """
class B(Exception): pass
class C(B): pass
def native(h,q):
    try:
        raise C()
    except B:
        return 1
""",
    "super prop": """
class A:
    @property
    def n(self): return 16
class B(A):
    @property
    def n(self): return super().n * 2
def native(h,q):
    return B().n == h
""",
    "data post": """
from dataclasses import dataclass, field
@dataclass
class A:
    n: int
    m: int = field(init=False)
    def __post_init__(self):
        self.m = self.n * 2
def native(h,q):
    return A(h).m, A(h) == A(h)
""",
    "data replace frozen": """
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class A:
    n: int
    def __post_init__(self):
        if self.n < 8: object.__setattr__(self, 'n', 8)
def native(h,q):
    return A(h).n
""",
    "typed dict": """
from typing import TypedDict
class T(TypedDict):
    a: int
def native(h,q):
    t: T = {'a': h}
    return t['a']
""",
    "abstract": """
from abc import ABC, abstractmethod
class A(ABC):
    @abstractmethod
    def f(self): ...
def native(h,q):
    try:
        A()
    except TypeError:
        return 1
""",
    "generic": """
from typing import Generic, TypeVar
T = TypeVar('T')
class Box(Generic[T]):
    def __init__(self, v: T) -> None: self.v = v
def native(h,q):
    return Box(h).v == Box[int](h).v
""",
}
