"""Modules that register something in ways that are not followed, or later than at import."""

REGISTERED = {
    "runtime register too": """
_ROWS = []
def _add(h):
    _ROWS.append(h)
_add(16)
def native(heads, qlen):
    n = len(_ROWS)
    if heads == 32: _add(heads)
    return heads in _ROWS and n < 3
""",
    "wrapper registers at call": """
_ROWS = []
def deco(f):
    def inner(h):
        _ROWS.append(h)
        return f(h) and len(_ROWS) < 3
    return inner
@deco
def _one(h): return h == 16
def native(heads, qlen):
    return _one(heads) and len(_ROWS) == 1
""",
    "same name defined again": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16)
def _a(q): return q < 3
@rule(32)
def _a(q): return q < 2
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen) and (_ROWS[heads] is _a) == (heads == 32)
""",
    "alias of the registrar called late": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

later = rule
@rule(16)
def _a(q): return q < 3
def _late():
    later(heads_of())(lambda q: True)
def heads_of(): return 32
def native(heads, qlen):
    _late()
    return heads in _ROWS
""",
    "registrar called in native": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16)
def _a(q): return q < 3
def native(heads, qlen):
    rule(32)(_a)
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "registrar called in another function": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16)
def _a(q): return q < 3
def configure():
    rule(32)(_a)
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "set loop": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

for _h in {16, 32}:
    rule(_h)(lambda q: q == 1)
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen) and list(_ROWS)[0] == 32
""",
    "attribute of the class changed late": """
_ALL = []
def mark(most):
    def deco(cls):
        cls.most = most
        _ALL.append(cls)
        return cls
    return deco
@mark(2)
class A:
    heads = 16
def relax(): A.most = 5
def native(heads, qlen):
    relax()
    return any(c.heads == heads and qlen <= c.most for c in _ALL)
""",
    "attribute of the class changed by other": """
_ALL = []
def mark(most):
    def deco(cls):
        cls.most = [most]
        _ALL.append(cls)
        return cls
    return deco
@mark(2)
class A:
    heads = 16
def relax():
    for c in _ALL:
        c.most.append(5)
def native(heads, qlen):
    return any(c.heads == heads and qlen <= max(c.most) for c in _ALL)
""",
    "subclass at run time": """
class Base:
    rows = []
    def __init_subclass__(cls, **kw):
        Base.rows.append(cls)
class A(Base):
    heads = 16
def native(heads, qlen):
    class B(Base):
        heads = 32
    return heads in [c.heads for c in Base.rows]
""",
    "subclass at run time elsewhere": """
class Base:
    rows = []
    def __init_subclass__(cls, **kw):
        Base.rows.append(cls)
class A(Base):
    heads = 16
def more():
    class B(Base):
        heads = 32
def native(heads, qlen):
    more() if heads == 8 else None
    return heads in [c.heads for c in Base.rows]
""",
    "type call at run time": """
class Base:
    rows = []
    heads = 32
    def __init_subclass__(cls, **kw):
        Base.rows.append(cls)
class A(Base):
    heads = 16
def native(heads, qlen):
    type("B", (Base,), {"heads": 48})
    return heads in [c.heads for c in Base.rows]
""",
    "meta renames": """
class M(type):
    rows = {}
    def __new__(mcls, name, bases, ns):
        made = type.__new__(mcls, name + "x", bases, dict(ns))
        mcls.rows[made.__name__] = made
        return made
class T(metaclass=M):
    heads = (8, 16)
def native(heads, qlen):
    return "Tx" in M.rows and heads in T.heads
""",
    "meta contains": """
class M(type):
    def __contains__(cls, h): return h in cls.heads
    def __getitem__(cls, h): return h * 2
class T(metaclass=M):
    heads = (8, 16)
def native(heads, qlen):
    return heads in T
""",
    "meta call": """
class M(type):
    def __call__(cls, *a): return 16
class T(metaclass=M):
    pass
def native(heads, qlen):
    return heads == T()
""",
    "registry by call": """
class Rules:
    def __init__(self): self.rows = {}
    def __call__(self, heads):
        def deco(fn):
            self.rows[heads] = fn
            return fn
        return deco
RULES = Rules()
@RULES(16)
def _a(q): return q < 3
def native(heads, qlen):
    return heads in RULES.rows and RULES.rows[heads](qlen)
""",
    "registry object with a cache": """
class Rules:
    def __init__(self):
        self.rows = {}
        self.cache = {}
    def add(self, heads, fn):
        self.rows[heads] = fn
    def ask(self, h, q):
        if h not in self.cache:
            self.cache[h] = q
        return h in self.rows and self.cache[h] == q
RULES = Rules()
RULES.add(16, 1)
def native(heads, qlen):
    return RULES.ask(heads, qlen)
""",
    "register method bound in table": """
class R:
    def __init__(self): self.rows = {}
    def add(self, h): self.rows[h] = self.add
    def get(self, h): return self.rows.get(h)
REG = R()
REG.add(16)
def native(heads, qlen):
    f = REG.get(heads)
    if f: f(32)
    return f is not None or REG.get(32) is not None
""",
}
