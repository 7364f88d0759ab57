"""Operands that act, and loops whose rounds are not known."""

ACTING = {
    "prop order": """
class K:
    def __init__(self): self.n = 0
    @property
    def p(self):
        self.n += 1
        return 3
def native(h,q):
    k = K()
    a = h == 16 and k.p == 3
    b = q == 1 or k.p == 4
    return k.n, a, b
""",
    "prop fail": """
class K:
    @property
    def p(self):
        raise ValueError('x')
def native(h,q):
    k = K()
    return h == 16 or (q == 2 and k.p == 3)
""",
    "cursor ahead": """
def native(h,q):
    it = iter((1, 2, 3))
    a = h == 16 and 2 in it
    b = q == 1 and sum(it) == 6
    return a, b, list(it)
""",
    "list ahead": """
def native(h,q):
    xs = [1, 2]
    a = h == 16 and xs.pop() == 2
    return a, xs
""",
    "set ahead": """
def native(h,q):
    xs = {1, 2}
    a = q == 1 and xs.add(3) is None
    return a, len(xs), h in xs
""",
    "dd ahead": """
from collections import defaultdict
def native(h,q):
    d = defaultdict(int)
    a = h == 16 and d[5] == 0
    return a, len(d)
""",
    "walrus ahead": """
def native(h,q):
    n = 0
    a = h == 16 and (n := q) == 1
    return a, n
""",
    "match act": """
def native(h,q):
    xs = [1]
    match (h, q):
        case (16, n) if xs.append(n) is None and n == 1: return len(xs)
        case (_, n) if n > len(xs): return -1
    return len(xs)
""",
    "inst alias": """
class K:
    def __init__(self, n): self.n = n
def native(h,q):
    a = K(1); b = a
    if h == 16: b.n = q
    return a.n
""",
    "nested inst": """
class A:
    def __init__(self): self.t = {16: [1]}
class B:
    def __init__(self, a): self.a = a
def native(h,q):
    a = A(); b = B(a)
    b.a.t.setdefault(h, []).append(q)
    return len(a.t), a.t[h]
""",
    "closure set": """
def native(h,q):
    seen = set()
    def note(n):
        seen.add(n)
        return len(seen)
    return note(h), note(q), note(h), sorted(seen)
""",
    "loop unknown": """
class K:
    def __init__(self): self.n = 0
def native(h,q):
    k = K()
    for i in range(q):
        k.n += h
    return k.n
""",
    "loop unknown set": """
def native(h,q):
    s = set()
    for i in range(q):
        s.add(i)
    return len(s), 0 in s
""",
    "loop unknown meth": """
class K:
    def __init__(self): self.xs = []
    def add(self, n): self.xs.append(n)
def native(h,q):
    k = K()
    for i in range(q):
        k.add(i)
    return len(k.xs)
""",
    "loop unknown fn": """
def add(xs, n):
    xs.append(n)
def native(h,q):
    xs = []
    for i in range(q):
        add(xs, i)
    return len(xs)
""",
    "loop unknown ret": """
def add(xs, n):
    xs.append(n)
    return n
def native(h,q):
    xs = []
    t = 0
    for i in range(q):
        t += add(xs, i)
    return len(xs), t
""",
    "loop unknown it": """
def native(h,q):
    it = iter((1,2,3,4))
    t = 0
    for i in range(q):
        t += next(it)
    return t, list(it)
""",
    "loop unknown nonlocal": """
def native(h,q):
    t = 0
    def add(n):
        nonlocal t
        t += n
        return t
    u = 0
    for i in range(q):
        u = add(i)
    return t, u
""",
    "loop unknown cond": """
def native(h,q):
    d = {}
    for i in range(q):
        d[i] = d.get(i - 1, 0) + 1
    return len(d), d.get(0)
""",
    "loop unknown attr": """
class K:
    n = 0
def native(h,q):
    k = K()
    ks = [k]
    for i in range(q):
        ks[0].n += 1
    return k.n
""",
    "loop unknown alias": """
def native(h,q):
    a = []
    b = a
    for i in range(q):
        b.append(i)
    return len(a)
""",
    "while unknown obj": """
class C:
    def __init__(self, n): self.n = n
    def step(self):
        self.n -= 1
        return self.n
def native(h,q):
    c = C(q)
    k = 0
    while c.step() > 0:
        k += 1
    return k, c.n
""",
}
