"""Classes with methods."""

CLASSES = {
    "a class with a constructor": """
class Rules:
    def __init__(self, heads, qlen=1):
        self.heads = heads
        self._most = {16: 4, 32: 1}
        self.qlen = qlen

    def native(self):
        return self.qlen <= self._most.get(self.heads, 0)

def native(heads, qlen):
    return Rules(heads, qlen=qlen).native()
""",
    "a class with a property": """
class Rules:
    __slots__ = ("heads", "qlen")

    def __init__(self, heads, qlen):
        self.heads, self.qlen = heads, qlen

    @property
    def tokens(self):
        return self.heads * self.qlen

    @property
    def native(self):
        return self.tokens in {16, 32, 128}

def native(heads, qlen):
    return Rules(heads, qlen).native
""",
    "class and static methods": """
class Rules:
    TILES = (16, 32)

    @staticmethod
    def known(heads):
        return heads in (64, 128)

    @classmethod
    def native(cls, heads, qlen):
        return heads in cls.TILES or (cls.known(heads) and qlen == 1)

def native(heads, qlen):
    return Rules.native(heads, qlen)
""",
    "a class that inherits": """
class Base:
    TILES = (16,)
    limit = 1

    def __init__(self, heads):
        self.heads = heads

    def native(self, qlen):
        return self.heads in self.TILES and qlen <= self.limit

class Wide(Base):
    TILES = Base.TILES + (32, 128)

    def __init__(self, heads):
        super().__init__(heads)
        self.limit = 2

def native(heads, qlen):
    return Wide(heads).native(qlen) or Base(heads).native(qlen)
""",
    "a class that can be called": """
class Check:
    def __init__(self, *tiles):
        self.tiles = tiles

    def __call__(self, heads):
        return heads in self.tiles

    def __contains__(self, heads):
        return self(heads)

CHECK = Check(16, 32)

def native(heads, qlen):
    return CHECK(heads) and heads in CHECK
""",
    "a class with operators": """
class Key:
    def __init__(self, heads, qlen):
        self.heads = heads
        self.qlen = qlen

    def __eq__(self, other):
        return isinstance(other, Key) and self.heads == other.heads

    def __lt__(self, other):
        return self.heads < other.heads

    def __len__(self):
        return self.qlen

    def __getitem__(self, at):
        return (self.heads, self.qlen)[at]

    def __bool__(self):
        return self.heads > 8

def native(heads, qlen):
    key = Key(heads, qlen)
    return bool(key) and (key == Key(16, 1) or key < Key(12, 1)) and len(key) == key[1]
""",
    "an attribute that may be missing": """
class Rules:
    def __init__(self, heads):
        if heads > 16:
            self.wide = True

def native(heads, qlen):
    rules = Rules(heads)
    return getattr(rules, "wide", False), hasattr(rules, "wide")
""",
    "an attribute that is missing": """
class Rules:
    def __init__(self, heads):
        if heads > 16:
            self.wide = True

def native(heads, qlen):
    return Rules(heads).wide
""",
    "a setter": """
class Rules:
    def __init__(self):
        self._heads = 0

    @property
    def heads(self):
        return self._heads

    @heads.setter
    def heads(self, value):
        self._heads = value * 2

def native(heads, qlen):
    rules = Rules()
    rules.heads = heads
    return rules.heads == 32
""",
    "a class inside a function": """
def native(heads, qlen):
    class Rules:
        def __init__(self, most):
            self.most = most

        def takes(self, n):
            return n <= self.most and heads == 16

    return Rules(2).takes(qlen)
""",
    "a cached property": """
from functools import cached_property

class Rules:
    def __init__(self, heads):
        self.heads = heads

    @cached_property
    def tiles(self):
        return [16, 32]

def native(heads, qlen):
    rules = Rules(heads)
    rules.tiles.append(64)
    return heads in rules.tiles
""",
    "a data descriptor table": """
class Rule:
    def __init__(self, heads, most):
        self.heads = heads
        self.most = most

RULES = [Rule(h, m) for h, m in ((16, 4), (32, 1), (128, 2))]

def native(heads, qlen):
    found = next((r for r in RULES if r.heads == heads), None)
    return found is not None and qlen <= found.most
""",
    "isinstance of one's own class": """
class A:
    pass

class B(A):
    def __init__(self, n):
        self.n = n

def native(heads, qlen):
    b = B(heads)
    return isinstance(b, A) and isinstance(b, (int, B)) and not isinstance(A(), B) and b.n == 16
""",
    "a protocol of checks": """
from abc import ABC, abstractmethod

class Check(ABC):
    @abstractmethod
    def holds(self, heads): ...

class Tiles(Check):
    def holds(self, heads):
        return heads in (16, 32)

class Narrow(Check):
    def holds(self, heads):
        return heads < 40

CHECKS = [Tiles(), Narrow()]

def native(heads, qlen):
    return all(check.holds(heads) for check in CHECKS)
""",
}
