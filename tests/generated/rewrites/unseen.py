"""Modules whose values are changed while they are imported, in ways that the name does not show."""

UNSEEN = {
    "helper mutates given list, called at import": """
_ROWS = [16]
def _add(rows, x): rows.append(x)
def _enable(): _add(_ROWS, 32)
_enable()
def native(heads, qlen): return heads in _ROWS
""",
    "helper returns list, caller appends": """
_ROWS = [16]
def _rows(): return _ROWS
def _enable(): _rows().append(32)
_enable()
def native(heads, qlen): return heads in _ROWS
""",
    "lambda appends at import": """
_ROWS = [16]
_add = lambda x: _ROWS.append(x)
_add(32)
def native(heads, qlen): return heads in _ROWS
""",
    "bound method alias": """
_ROWS = [16]
_add = _ROWS.append
_add(32)
def native(heads, qlen): return heads in _ROWS
""",
    "bound method alias in list": """
_ROWS = [16]
[f(32) for f in (_ROWS.append,)]
def native(heads, qlen): return heads in _ROWS
""",
    "map of append": """
_ROWS = [16]
list(map(_ROWS.append, (32, 64)))
def native(heads, qlen): return heads in _ROWS
""",
    "dict get append": """
_T = {"a": [16]}
_T.get("a").append(32)
def native(heads, qlen): return heads in _T["a"]
""",
    "dict values loop append": """
_T = {"a": [16]}
for _v in _T.values(): _v.append(32)
def native(heads, qlen): return heads in _T["a"]
""",
    "function loops over values and appends": """
_T = {"a": [16]}
def _fill():
    for v in _T.values(): v.append(32)
_fill()
def native(heads, qlen): return heads in _T["a"]
""",
    "operator.iadd": """
import operator
_ROWS = [16]
operator.iadd(_ROWS, [32])
def native(heads, qlen): return heads in _ROWS
""",
    "list.append unbound": """
_ROWS = [16]
list.append(_ROWS, 32)
def native(heads, qlen): return heads in _ROWS
""",
    "dict.update unbound in function": """
_T = {16: 1}
def _fill(): dict.update(_T, {32: 1})
_fill()
def native(heads, qlen): return heads in _T
""",
    "heapq push": """
import heapq
_ROWS = [16]
heapq.heappush(_ROWS, 32)
def native(heads, qlen): return heads in _ROWS
""",
    "heapq push in function": """
import heapq
_ROWS = [16]
def _f(): heapq.heappush(_ROWS, 32)
_f()
def native(heads, qlen): return heads in _ROWS
""",
    "insort in function": """
import bisect
_ROWS = [16]
def _f(): bisect.insort(_ROWS, 32)
_f()
def native(heads, qlen): return heads in _ROWS
""",
    "class attribute list through helper": """
class T:
    rows = [16]
def _add(rows, x): rows.append(x)
def _f(): _add(T.rows, 32)
_f()
def native(heads, qlen): return heads in T.rows
""",
    "object list through helper": """
class T:
    def __init__(self): self.rows = [16]
_t = T()
def _add(rows, x): rows.append(x)
def _f(): _add(_t.rows, 32)
_f()
def native(heads, qlen): return heads in _t.rows
""",
    "object method called in function": """
class T:
    def __init__(self): self.rows = [16]
    def add(self, x): self.rows.append(x)
_t = T()
def _f(): _t.add(32)
_f()
def native(heads, qlen): return heads in _t.rows
""",
    "object attribute set in function": """
class T:
    n = 16
_t = T()
def _f(): _t.n = 32
_f()
def native(heads, qlen): return heads == _t.n
""",
    "object attribute set in helper": """
class T:
    n = 16
_t = T()
def _set(o): o.n = 32
def _f(): _set(_t)
_f()
def native(heads, qlen): return heads == _t.n
""",
    "object attribute setattr in helper": """
class T:
    n = 16
_t = T()
def _set(o, name): setattr(o, name, 32)
_set(_t, "n")
def native(heads, qlen): return heads == _t.n
""",
    "class attribute via type(self)": """
class T:
    n = 16
    def go(self): type(self).n = 32
_t = T()
_t.go()
def native(heads, qlen): return heads == T.n
""",
    "class attribute via self.__class__": """
class T:
    n = 16
    def go(self): self.__class__.n = 32
T().go()
def native(heads, qlen): return heads == T.n
""",
    "class attribute via helper cls": """
class T:
    n = 16
def _set(c): c.n = 32
_set(T)
def native(heads, qlen): return heads == T.n
""",
    "class attribute via helper setattr var": """
class T:
    n = 16
def _set(c, name): setattr(c, name, 32)
_set(T, "n")
def native(heads, qlen): return heads == T.n
""",
    "class attribute at top level": """
class T:
    n = 16
T.n = 32
def native(heads, qlen): return heads == T.n
""",
    "class attribute at top level through alias": """
class T:
    n = 16
U = T
U.n = 32
def native(heads, qlen): return heads == T.n
""",
    "class attribute at top level through list": """
class T:
    n = 16
for c in (T,): c.n = 32
def native(heads, qlen): return heads == T.n
""",
    "class attribute at top level setattr loop": """
class T:
    n = 16
for name, v in (("n", 32),): setattr(T, name, v)
def native(heads, qlen): return heads == T.n
""",
    "decorator sets class attribute": """
def deco(c):
    c.n = 32
    return c
@deco
class T:
    n = 16
def native(heads, qlen): return heads == T.n
""",
    "decorator setattr by variable": """
def deco(name):
    def d(c):
        setattr(c, name, 32)
        return c
    return d
@deco("n")
class T:
    n = 16
def native(heads, qlen): return heads == T.n
""",
    "subclass decorator changes base": """
class T:
    n = 16
def deco(c):
    c.__mro__[1].n = 32
    return c
@deco
class U(T): pass
def native(heads, qlen): return heads == T.n
""",
    "decorator of function appends": """
_ROWS = [16]
def reg(f):
    _ROWS.append(f())
    return f
@reg
def _a(): return 32
def native(heads, qlen): return heads in _ROWS
""",
    "decorator of function through given table": """
_ROWS = [16]
def reg(table):
    def d(f):
        table.append(f())
        return f
    return d
@reg(_ROWS)
def _a(): return 32
def native(heads, qlen): return heads in _ROWS
""",
    "default argument grows at import": """
def _f(x, seen=[16]):
    seen.append(x)
    return seen
_f(32)
_S = _f(64)
def native(heads, qlen): return heads in _S
""",
}
