"""Modules whose functions and decorators register something while they are imported."""

REGISTERING = {
    "function registry": """
_RULES = {}
def rule(arch):
    def deco(fn):
        _RULES.setdefault(arch, []).append(fn)
        return fn
    return deco
@rule("a")
def _a(h, q): return h == 16
@rule("a")
@rule("b")
def _b(h, q): return h % 32 == 0 and q < 3
def native(heads, qlen):
    return any(f(heads, qlen) for f in _RULES["a" if qlen == 1 else "b"])
""",
    "registry object": """
class Registry:
    def __init__(self):
        self.rows = {}
    def register(self, *heads):
        def deco(fn):
            for h in heads:
                self.rows[h] = fn
            return fn
        return deco
    def native(self, h, q):
        return h in self.rows and self.rows[h](q)
REG = Registry()
@REG.register(16, 32)
def _few(q): return q < 4
@REG.register(64)
def _one(q): return q == 1
def native(heads, qlen):
    return REG.native(heads, qlen)
""",
    "helper fills": """
_T = {}
def _fill(*heads, most):
    for h in heads:
        _T[h] = most
_fill(16, 32, most=4)
_fill(64, most=1)
def native(heads, qlen):
    return qlen <= _T.get(heads, 0)
""",
    "loop else": """
_T = {}
for _h in (16, 32, 64, 128):
    if _h == 256:
        break
    _T.setdefault("ok", []).append(_h)
else:
    _T["ok"].remove(32)
while len(_T["ok"]) > 2:
    _T["ok"].pop()
else:
    _T["n"] = len(_T["ok"])
def native(heads, qlen):
    return heads in _T["ok"] and _T["n"] == 2
""",
    "later pop at top": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16, 32)
def _a(q): return q < 3
_ROWS.pop(32)
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "rebinding the table": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16, 32)
def _a(q): return q < 3
_OLD = _ROWS
_ROWS = {}
@rule(64)
def _b(q): return q < 2
def native(heads, qlen):
    return (heads in _ROWS and _ROWS[heads](qlen), sorted(_OLD))
""",
    "conditional registration": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

import os
if os.environ.get("NO_SUCH_KNOB_X", "0") == "0":
    @rule(16)
    def _a(q): return q < 3
else:
    @rule(32)
    def _a(q): return q < 3
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "loop registers lambdas": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

for _h in (16, 32):
    rule(_h)(lambda q, h=_h: h + q == 33)
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "loop registers late lambdas": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

for _h in (16, 32):
    rule(_h)(lambda q: _h + q == 33)
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen)
""",
    "view of values": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

_V = _ROWS.keys()
@rule(16, 32)
def _a(q): return q < 3
def native(heads, qlen):
    return heads in _V and len(_V) == 2
""",
    "copy before": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16)
def _b(q): return q < 3
_C = dict(_ROWS)
@rule(32)
def _a(q): return q < 3
def native(heads, qlen):
    return heads in _C, heads in _ROWS
""",
    "default bound early": """
_ROWS = {}
def rule(*heads):
    def deco(fn):
        for h in heads:
            _ROWS[h] = fn
        return fn
    return deco

@rule(16)
def _b(q): return q < 3
def _n(h, table=_ROWS, n=len(_ROWS)): return h in table and n == 1
@rule(32)
def _a(q): return q < 3
def native(heads, qlen):
    return _n(heads)
""",
    "failing registration": """
_ROWS = {}
def rule(h):
    def deco(fn):
        if h in _ROWS:
            raise ValueError(h)
        _ROWS[h] = fn
        return fn
    return deco
@rule(16)
def _a(q): return True
try:
    @rule(16)
    def _b(q): return False
except ValueError:
    @rule(32)
    def _b(q): return False
def native(heads, qlen):
    return heads in _ROWS and _ROWS[heads](qlen), len(_ROWS)
""",
    "decorator gives another": """
_ROWS = []
def rule(fn):
    _ROWS.append(fn)
    return lambda *a: not fn(*a)
@rule
def _a(h): return h == 16
@rule
def _b(h): return h == 32
def native(heads, qlen):
    return any(f(heads) for f in _ROWS), _a(heads)
""",
    "priority sorted": """
_ROWS = []
def rule(priority):
    def deco(fn):
        _ROWS.append((priority, fn))
        _ROWS.sort(key=lambda r: -r[0])
        return fn
    return deco
@rule(1)
def _any(h, q): return h % 16 == 0
@rule(5)
def _no(h, q): return None if h != 48 else False
def native(heads, qlen):
    for _, fn in _ROWS:
        got = fn(heads, qlen)
        if got is not None:
            return got
    return False
""",
}
