"""What statements of a module make of its values."""

MODULES = {
    "of a module: global fn alias": """
def f(h): return h == 16
g = f
def f(h): return h == 32
def native(h,q):
    return g(h), f(h)
""",
    "of a module: deco order": """
def a(f): return lambda h: f(h) + 1
def b(f): return lambda h: f(h) * 2
@a
@b
def f(h): return h
def native(h,q):
    return f(h)
""",
    "of a module: deco class": """
def reg(cls):
    cls.extra = 1
    return cls
@reg
class A: pass
def native(h,q):
    return A.extra
""",
    "of a module: cls deco obj": """
class D:
    def __init__(self, f): self.f = f
    def __call__(self, h): return self.f(h) * 2
@D
def f(h): return h + 1
def native(h,q):
    return f(h)
""",
    "of a module: mod with del": """
A = 1
B = A + 1
del A
def native(h,q):
    try:
        return A
    except NameError:
        return B
""",
    "of a module: mod multi": """
A = B = {}
A[16] = 1
def native(h,q):
    return h in A, h in B
""",
    "of a module: mod sort": """
T = [64, 16, 32]
T.sort()
T.reverse()
U = T[:2]
T.append(1)
def native(h,q):
    return T, U
""",
    "of a module: mod comp alias": """
A = [[16], [32]]
B = [x for x in A]
B[0].append(64)
def native(h,q):
    return A[0], B[0]
""",
    "of a module: mod func mutate": """
A = {}
def put(k, v):
    A[k] = v
put(16, 1)
put(32, 2)
def native(h,q):
    return A.get(h)
""",
    "of a module: mod obj method": """
class R:
    def __init__(self): self.t = {}
    def put(self, k, v): self.t[k] = v
A = R()
A.put(16, 1)
B = A.t
A.put(32, 2)
def native(h,q):
    return B.get(h), A.t.get(h)
""",
    "of a module: mod star": """
A, *B = [16, 32, 64]
B.append(1)
def native(h,q):
    return A, B
""",
    "of a module: mod setdefault": """
A = {}
A.setdefault('x', []).append(16)
A.setdefault('x', []).append(32)
def native(h,q):
    return h in A['x']
""",
    "of a module: mod swap alias": """
A = [1]
B = [2]
A, B = B, A
B.append(3)
def native(h,q):
    return A, B
""",
    "of a module: mod ternary alias": """
A = [1]
B = [2]
C = A if len(B) else B
C.append(5)
def native(h,q):
    return A, B, C
""",
    "of a module: mod dict value alias": """
A = [1]
D = {'a': A}
for v in D.values():
    v.append(2)
def native(h,q):
    return A, D['a']
""",
    "of a module: mod attr alias": """
class N: pass
A = [1]
N.x = A
N.x.append(2)
def native(h,q):
    return A
""",
    "of a module: mod arg alias": """
A = [1]
def f(x):
    return {'k': x}
D = f(A)
D['k'].append(2)
def native(h,q):
    return A
""",
    "of a module: mod lambda alias": """
A = [1]
f = lambda: A
f().append(2)
def native(h,q):
    return A
""",
    "of a module: mod closure alias": """
A = [1]
def get(): return A
get().append(2)
def native(h,q):
    return A
""",
    "of a module: mod getitem alias": """
A = {'k': [1]}
B = A['k']
B += [2]
def native(h,q):
    return A['k'], B
""",
    "of a module: mod extend self": """
A = [1]
B = A
B += [2]
def native(h,q):
    return A, B
""",
    "of a module: mod setop": """
A = {1}
B = A
B |= {2}
def native(h,q):
    return sorted(A), sorted(B)
""",
    "of a module: mod globals call": """
A = {}
globals()['A'][16] = 1
def native(h,q):
    return A.get(h)
""",
    "of a module: mod import in class": """
class C:
    import math
    V = math.ceil(1.5)
def native(h,q):
    return C.V
""",
}
