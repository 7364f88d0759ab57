"""Modules whose functions bind names of the module."""

GLOBALS = {
    "global by helper": """
_N = 0
def _bump(k):
    global _N
    _N = _N + k
_bump(16)
_bump(16)
def native(heads, qlen):
    return heads == _N
""",
    "set before read": """
_LAST = None
def native(heads, qlen):
    global _LAST
    _LAST = heads
    return _read() in (16, 32)
def _read(): return _LAST
""",
    "sum order free": """
L = None
def native(heads, qlen):
    global L
    L = []
    for x in (heads, 16, 48):
        L.append(x)
    return sum(L) == 80
""",
    "genexpr global": """
G = 0
def native(heads, qlen):
    global G
    G = heads
    s = []
    for v in (G for _ in range(2)):
        s.append(v)
        G = 16
    return s == [heads, 16] and heads == 32
""",
    "global twice and default": """
G = 0
def _set(n):
    global G
    G = n
    return True
def _get(x=G): return G
def native(heads, qlen):
    return _set(heads) and _get() == 16 or (_set(32) and _get() == heads)
""",
    "global fn": """
def _impl(h): return False
def _pick(h):
    global _impl
    def _impl(h): return h == 16
def native(heads, qlen):
    _pick(heads)
    return _impl(heads)
""",
    "global import": """
def _load():
    global gcd
    from math import gcd
def native(heads, qlen):
    _load()
    return gcd(heads, 32) == 16
""",
    "global aug other": """
K = 0
def _a():
    global K
    K = 1
def _b():
    global K
    K += 1
def native(heads, qlen):
    _a(); _b(); _b()
    return heads == 16 * K
""",
    "and short circuit": """
K = 0
def _a(n):
    global K
    K = n
    return n > 20
def native(heads, qlen):
    global K
    K = 0
    _ = qlen > 1 and _a(heads)
    return K == heads
""",
}
ODD_GLOBALS = {
    "counts": """
_N = 0
def native(heads, qlen):
    global _N
    _N += 1
    return heads == 16 and _N < 500
""",
    "global list in unordered": """
L = None
def native(heads, qlen):
    global L
    L = []
    for x in {heads, 16, 48}:
        L.append(x)
    return L[-1] == 16
""",
    "global in unordered": """
L = None
def native(heads, qlen):
    global L
    L = 0
    for x in {heads, 16, 48}:
        L = x
    return L == 16
""",
    "shadowed": """
x = 16
def native(heads, qlen):
    x = 5
    def inner():
        global x
        x = heads
        return x
    inner()
    return x == 5 and heads in (16, 32)
""",
    "gen global": """
G = 0
def _g():
    yield G
    yield G
def native(heads, qlen):
    global G
    G = heads
    s = []
    for v in _g():
        s.append(v)
        G = 16
    return s == [heads, 16] and heads == 32
""",
    "global read first": """
G = 16
def native(heads, qlen):
    global G
    ok = G == heads
    G = 16
    return ok
""",
    "global del": """
G = 16
def native(heads, qlen):
    global G
    G = 3
    del G
    try:
        return G == 3
    except NameError:
        return heads == 16
""",
    "global class": """
K = 0
class A:
    global K
    K = 16
    def f(self):
        global K
        K = K + 1
        return K
def native(heads, qlen):
    return heads == 16 and K == 16
""",
}
