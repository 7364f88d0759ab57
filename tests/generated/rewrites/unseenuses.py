"""One object and many lists, each changed by a function in another way before it is read."""

_OBJECT = """
class X(Exception):
    pass
class T:
    def __init__(self): self.rows = [16]
    def __call__(self): return self.rows
    def __getitem__(self, k): return self.rows
    def __iter__(self): return iter((self.rows,))
    def __enter__(self): return self.rows
    def __exit__(self, *a): return False
    def __add__(self, o): return self.rows
    def __neg__(self): return self.rows
    def __lt__(self, o): return self.rows
    def __getattr__(self, name): return self.rows
    @property
    def p(self): return self.rows
    @staticmethod
    def s(o): o.rows.append(32)
    @classmethod
    def c(cls, o): o.rows.append(32)
    def m(self, x): self.rows.append(x)
def matched(o):
    match o:
        case T() as z: z.m(32)
def raised(o):
    try: raise X(o)
    except X as e: e.args[0].m(32)
_t = T()
def f():
    CODE
f()
def native(heads, qlen): return heads in _t.rows
"""
_CHANGES = """
_t().append(32)
_t[0].append(32)
[r.append(32) for r in _t]
(lambda r: r.append(32))(_t())
with _t as r: r.append(32)
(_t + 1).append(32)
(-_t).append(32)
(_t < 1).append(32)
_t.zzz.append(32)
_t.p.append(32)
T.s(_t)
T.c(_t)
_t.s(_t)
T.m(_t, 32)
m = _t.m; m(32)
x = _t; x.m(32)
x, y = _t, 1; x.m(32)
x = {1: _t}; x[1].m(32)
x = [_t]; x[0].m(32)
for x in (_t,): x.m(32)
list(map(lambda o: o.m(32), [_t]))
max([_t], key=lambda o: o.m(32) or 1)
next(o for o in (_t,)).m(32)
(_t if True else None).m(32)
(None or _t).m(32)
getattr(_t, 'm')(32)
getattr(_t, 'rows').append(32)
vars(_t)['rows'].append(32)
_t.__dict__['rows'].append(32)
x = y = _t; y.m(32)
(x := _t).m(32)
x = [*[_t]]; x[0].m(32)
dict(a=_t)['a'].m(32)
sorted([_t], key=id)[0].m(32)
list(zip([_t]))[0][0].m(32)
[o for i, o in enumerate([_t])][0].m(32)
{**{'a': _t}}['a'].m(32)
([_t] + [])[0].m(32)
[[_t]][0][0].m(32)
tuple([_t])[0].m(32)
(lambda o=_t: o.m(32))()
[g() for g in [lambda: _t.m(32)]]
matched(_t)
raised(_t)
del _t.rows[0]
_t.rows[:] = [32]
_t.rows += [32]
_t.rows = [32]
setattr(_t, 'rows', [32])
globals()['_t'].m(32)
__import__('sys').modules[__name__]._t.m(32)
"""
_LIST = """
_X = INIT
def f():
    CODE
f()
def native(heads, qlen): return heads in READ
"""
_LISTS = (
    ("a, *b = _X; b[0].append(32)", "[[8], [16]]", "_X[1]"),
    ("_X[0].extend([32])", "[[16]]", "_X[0]"),
    ("_X[-1:][0].append(32)", "[[16]]", "_X[0]"),
    ("_X.copy()[0].append(32)", "[[16]]", "_X[0]"),
    ("list(_X)[0].append(32)", "[[16]]", "_X[0]"),
    ("dict(_X)['a'].append(32)", "{'a': [16]}", "_X['a']"),
    ("_X.get('a').append(32)", "{'a': [16]}", "_X['a']"),
    ("[v.append(32) for v in _X.values()]", "{'a': [16]}", "_X['a']"),
    ("[v.append(32) for k, v in _X.items()]", "{'a': [16]}", "_X['a']"),
    ("(_X | dict())['a'].append(32)", "{'a': [16]}", "_X['a']"),
    ("_X.setdefault('b', 3)", "{'a': 16}", "_X"),
    ("_X.pop(0)", "[16, 32]", "_X"),
    ("_X.sort(reverse=True)", "[16, 32]", "_X[:1]"),
    ("x = _X.pop; x()", "[16, 32]", "_X"),
    ("from operator import setitem; setitem(_X, 0, 32)", "[16]", "_X"),
    ("import random; random.shuffle(_X)", "[16]*2", "_X[:0]"),
    ("_X.__setitem__(0, 32)", "[16]", "_X"),
    ("_X.__iadd__([32])", "[16]", "_X"),
    ("list.__setitem__(_X, 0, 32)", "[16]", "_X"),
    ("any(_X.append(32) for i in (1,))", "[16]", "_X"),
    ("print(_X.append(32))", "[16]", "_X"),
    ("assert not _X.append(32)", "[16]", "_X"),
    ("x = lambda: _X; x().append(32)", "[16]", "_X"),
    ("exec('_X.append(32)')", "[16]", "_X"),
    ("eval('_X.append(32)')", "[16]", "_X"),
    ("import functools; functools.reduce(lambda a, b: a.append(32) or a, [1], _X)", "[16]", "_X"),
    ("import functools; functools.partial(_X.append)(32)", "[16]", "_X"),
    ("import itertools; next(itertools.chain([_X])).append(32)", "[16]", "_X"),
    ("import itertools; list(itertools.starmap(list.append, [(_X, 32)]))", "[16]", "_X"),
    ("import contextlib\n    with contextlib.suppress(KeyError): _X.append(32)", "[16]", "_X"),
    ("try: raise KeyError(_X)\n    except KeyError as e: e.args[0].append(32)", "[16]", "_X"),
    ("import copy; copy.copy(_X)[0].append(32)", "[[16]]", "_X[0]"),
    ("import copy; copy.deepcopy(_X)[0].append(32)", "[[16]]", "_X[0]"),
    ("x = _X[0]; y = x; y.append(32)", "[[16]]", "_X[0]"),
    ("x = _X[:]; x.append(32)", "[16]", "_X"),
    ("x = list(_X); x.append(32); return x", "[16]", "_X"),
    ("x = sorted(_X) + [1]; x.append(2)", "[16]", "_X"),
    ("global _Y; _Y = _X; _Y.append(32)", "[16]", "_X"),
    ("yield_it = (x for x in [_X]); next(yield_it).append(32)", "[16]", "_X"),
    ("def g(): nonlocal_x = _X; nonlocal_x.append(32)\n    g()", "[16]", "_X"),
    ("class Z: _X.append(32)", "[16]", "_X"),
    ("class Z:\n        y = _X\n    Z.y.append(32)", "[16]", "_X"),
    ("class Z:\n        def __init__(s): _X.append(32)\n    Z()", "[16]", "_X"),
    ("sum([_X], []).append(32)", "[16]", "_X"),
    ("sum([[_X]], [])[0].append(32)", "[16]", "_X"),
    ("(_X or [1]).append(32)", "[16]", "_X"),
    ("x = {'k': _X}; x['k'].append(32)", "[16]", "_X"),
    ("x = []; x.append(_X); x[0].append(32)", "[16]", "_X"),
    ("x = dict.fromkeys([1], _X); x[1].append(32)", "[16]", "_X"),
    ("for x in reversed(_X): x.append(32)", "[[16]]", "_X[0]"),
    ("for i, x in enumerate(_X): x.append(32)", "[[16]]", "_X[0]"),
    ("for (x, y) in _X: x.append(32)", "[([16], 1)]", "_X[0][0]"),
    ("for x in _X['a'].values(): x.append(32)", "{'a': {'b': [16]}}", "_X['a']['b']"),
    ("globals().get('_X').append(32)", "[16]", "_X"),
    ("m = __import__('sys').modules; m[__name__].__dict__['_X'].append(32)", "[16]", "_X"),
)
UNSEEN_USES = {
    **{code: _OBJECT.replace("CODE", code) for code in _CHANGES.strip().split("\n")},
    **{
        f"{init}: {code}": _LIST.replace("INIT", init).replace("CODE", code).replace("READ", read)
        for code, init, read in _LISTS
    },
}
