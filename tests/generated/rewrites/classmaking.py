"""Modules whose classes are registered, or changed, when they are made."""

CLASS_MAKING = {
    "metaclass": """
class _Meta(type):
    rows = {}
    def __new__(mcls, name, bases, ns):
        cls = super().__new__(mcls, name, bases, ns)
        if "heads" in ns:
            mcls.rows[ns["heads"]] = cls
        return cls
class _Tile(metaclass=_Meta):
    most = 4
class _T16(_Tile):
    heads = 16
class _T32(_Tile):
    heads = 32
    most = 2
def native(heads, qlen):
    return heads in _Meta.rows and qlen <= _Meta.rows[heads].most and _Meta.rows.get(16) is _T16
""",
    "init_subclass": """
class _Tile:
    rows = {}
    most = 4
    def __init_subclass__(cls, heads=None, **kw):
        super().__init_subclass__(**kw)
        if heads is not None:
            _Tile.rows[heads] = cls
class _T16(_Tile, heads=16):
    pass
class _T32(_Tile, heads=32):
    most = 2
def native(heads, qlen):
    return heads in _Tile.rows and qlen <= _Tile.rows[heads].most
""",
    "class decorator": """
_ROWS = []
def _register(*archs):
    def deco(cls):
        for a in archs:
            _ROWS.append((a, cls))
        return cls
    return deco
@_register("gfx950")
class _A:
    heads = {16, 32}
    def __call__(self, n): return n in self.heads
@_register("gfx942", "gfx950")
class _B(_A):
    heads = _A.heads - {32} | {64}
def native(heads, qlen):
    return any(cls()(heads) for a, cls in _ROWS if a == ("gfx950" if qlen > 1 else "gfx942"))
""",
    "attribute of the class": """
_ALL = []
def mark(most):
    def deco(cls):
        cls.most = most
        cls.rows = []
        _ALL.append(cls)
        return cls
    return deco
@mark(2)
class A:
    heads = 16
@mark(3)
class B(A):
    heads = 32
class C(B):
    pass
B.most = 1
def native(heads, qlen):
    return any(c.heads == heads and qlen <= c.most for c in _ALL), C.most, A.most
""",
    "sub of sub": """
class Base:
    rows = {}
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Base.rows[cls.__name__] = cls
class A(Base):
    heads = 16
class B(A):
    heads = 32
class C(B):
    def __init_subclass__(cls, **kw):
        pass
class D(C):
    heads = 64
def native(heads, qlen):
    return sorted(Base.rows), heads in [c.heads for c in Base.rows.values()]
""",
    "sub keyword missing": """
class Base:
    rows = []
    def __init_subclass__(cls, heads, **kw):
        super().__init_subclass__(**kw)
        cls.heads = heads
        Base.rows.append(cls)
class A(Base, heads=16): pass
try:
    class B(Base): pass
except TypeError:
    Base.rows.append(A)
def native(heads, qlen):
    return len(Base.rows), heads == Base.rows[-1].heads
""",
    "meta init": """
class M(type):
    seen = []
    def __init__(cls, name, bases, ns, **kw):
        super().__init__(name, bases, ns)
        if bases:
            M.seen.append(cls)
            cls.most = kw.get("most", 1)
    def __new__(mcls, name, bases, ns, **kw):
        return super().__new__(mcls, name, bases, ns)
    def takes(cls, h): return h in cls.heads
    @property
    def wide(cls): return len(cls.heads) > 1
class T(metaclass=M):
    heads = ()
class A(T, most=2):
    heads = (16, 32)
class B(A):
    heads = (64,)
def native(heads, qlen):
    return any(c.takes(heads) and qlen <= c.most for c in M.seen), A.wide, B.wide
""",
    "meta changes namespace": """
class M(type):
    def __new__(mcls, name, bases, ns):
        ns["heads"] = tuple(h * 2 for h in ns.get("heads", ()))
        ns.setdefault("most", 2)
        return super().__new__(mcls, name, bases, ns)
class T(metaclass=M):
    heads = (8, 16)
class U(T):
    heads = (4,)
    most = 1
def native(heads, qlen):
    return heads in T.heads and qlen <= T.most, U.heads, U.most
""",
    "registry by init": """
class Rule:
    every = []
    def __init__(self, heads, most):
        self.heads, self.most = heads, most
        Rule.every.append(self)
Rule(16, 2)
Rule(32, 1)
def native(heads, qlen):
    return any(r.heads == heads and qlen <= r.most for r in Rule.every)
""",
    "registry by classmethod": """
class Rules:
    rows = {}
    @classmethod
    def register(cls, heads):
        def deco(fn):
            cls.rows[heads] = fn
            return fn
        return deco
    @classmethod
    def native(cls, h, q): return h in cls.rows and cls.rows[h](q)
@Rules.register(16)
def _a(q): return q < 3
@Rules.register(64)
def _b(q): return q == 1
def native(heads, qlen):
    return Rules.native(heads, qlen)
""",
    "enum like": """
_BY = {}
def keyed(**kw):
    def deco(cls):
        for k, v in kw.items():
            setattr(cls, k, v)
        _BY[cls.heads] = cls()
        return cls
    return deco
@keyed(heads=16, most=2)
class A:
    def ok(self, q): return q <= self.most
@keyed(heads=64, most=1)
class B(A): pass
def native(heads, qlen):
    return heads in _BY and _BY[heads].ok(qlen)
""",
}
