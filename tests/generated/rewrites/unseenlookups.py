"""Names of a module that are written by whatever gives the module or its dictionary."""

UNSEEN_LOOKUPS = {
    "A by sys as": """import sys as s
A = 3
s.modules[__name__].A = 9

def native(heads, qlen):
    return A
""",
    "A by sys as, setattr": """import sys as s
A = 3
setattr(s.modules[__name__], 'A', 9)

def native(heads, qlen):
    return A
""",
    "A by sys as, named": """import sys as s
A = 3
me = s.modules[__name__]
me.A = 9

def native(heads, qlen):
    return A
""",
    "A by modules imported": """from sys import modules
A = 3
modules[__name__].A = 9

def native(heads, qlen):
    return A
""",
    "A by modules as": """from sys import modules as mm
A = 3
mm[__name__].A = 9

def native(heads, qlen):
    return A
""",
    "A by modules kept": """import sys
A = 3
mm = sys.modules
mm[__name__].A = 9

def native(heads, qlen):
    return A
""",
    "A by modules get": """import sys
A = 3
sys.modules.get(__name__).A = 9

def native(heads, qlen):
    return A
""",
    "A by modules loop": """import sys
A = 3
for m in list(sys.modules.values()):
    if getattr(m, '__name__', '') == __name__:
        m.A = 9

def native(heads, qlen):
    return A
""",
    "A by modules given": """import sys
A = 3
def f(d):
    d[__name__].A = 9
f(sys.modules)

def native(heads, qlen):
    return A
""",
    "A by import_module as": """from importlib import import_module as im
A = 3
im(__name__).A = 9

def native(heads, qlen):
    return A
""",
    "A by import_module kept": """import importlib
A = 3
load = importlib.import_module
load(__name__).A = 9

def native(heads, qlen):
    return A
""",
    "A by __import__": """A = 3
__import__(__name__).A = 9

def native(heads, qlen):
    return A
""",
    "A by sys.modules computed": """import sys
A = 3
n = __name__
sys.modules[n].A = 9

def native(heads, qlen):
    return A
""",
    "A by class holder": """A = 3
class H:
    g = globals()
H.g['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by class holder module": """import sys
A = 3
class H:
    m = sys.modules[__name__]
H.m.A = 9

def native(heads, qlen):
    return A
""",
    "A by own import": """import sys
A = 3
__import__('sys').modules[__name__].A = 9

def native(heads, qlen):
    return A
""",
    "A by function globals": """A = 3
def f(): pass
f.__globals__['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by function globals given": """A = 3
def f(): pass
def g(d):
    d['A'] = 9
g(f.__globals__)

def native(heads, qlen):
    return A
""",
    "A by function globals kept": """A = 3
def f(): pass
d = f.__globals__
d['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by lambda globals": """A = 3
(lambda: 0).__globals__['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by frame globals": """import sys
A = 3
sys._getframe().f_globals['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by locals at module level": """A = 3
locals()['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by locals given": """A = 3
def f(d):
    d['A'] = 9
f(locals())

def native(heads, qlen):
    return A
""",
    "A by locals named": """A = 3
d = locals()
d['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by locals kept": """A = 3
l = locals
l()['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by vars kept": """A = 3
v = vars
v()['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by exec": """exec('A = 9')
A = 3
exec('A = 9')

def native(heads, qlen):
    return A
""",
    "A by exec with globals": """A = 3
exec('A = 9', globals())

def native(heads, qlen):
    return A
""",
    "A by exec in a function": """A = 3
def f():
    exec('A = 9', globals())
f()

def native(heads, qlen):
    return A
""",
    "A by compile": """A = 3
eval(compile('A = 9', 'x', 'exec'))

def native(heads, qlen):
    return A
""",
    "A by global by a class": """A = 3
class C:
    global A
    A = 9

def native(heads, qlen):
    return A
""",
    "A by match target": """A = 3
match 9:
    case A:
        pass

def native(heads, qlen):
    return A
""",
    "A by with target": """from contextlib import nullcontext
A = 3
with nullcontext(9) as A:
    pass

def native(heads, qlen):
    return A
""",
    "A by async global": """A = 3
async def f():
    global A
    A = 9

def native(heads, qlen):
    return A
""",
    "A by decorator writes": """A = 3
def deco(f):
    globals()['A'] = 9
    return f
@deco
def g(): pass

def native(heads, qlen):
    return A
""",
    "A by default writes": """A = 3
def f(x=globals().update(A=9)): pass

def native(heads, qlen):
    return A
""",
    "A by class body writes": """A = 3
class C:
    globals()['A'] = 9

def native(heads, qlen):
    return A
""",
    "A by comprehension writes": """A = 3
[globals().update(A=9) for _ in (1,)]

def native(heads, qlen):
    return A
""",
    "A by annotation writes": """A = 3
x: globals().update(A=9) = 1

def native(heads, qlen):
    return A
""",
}
