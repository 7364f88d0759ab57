"""Descriptors of the source, and exceptions by the names of variables."""

DESCRIPTORS = {
    "a descriptor": """
class Limit:
    def __init__(self, by):
        self.by = by

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, owner=None):
        return self if obj is None else obj.base * self.by

class Rule:
    small = Limit(1)
    wide = Limit(2)

    def __init__(self, base):
        self.base = base

def native(heads, qlen):
    r = Rule(16)
    return heads in (r.small, r.wide), Rule.small.by, Rule.wide.name, r.wide
""",
    "a descriptor that is hidden by an attribute": """
class Hidden:
    def __get__(self, obj, owner):
        return 1

class Rule:
    most = Hidden()

    def __init__(self, n):
        if n > 1:
            self.most = n

def native(heads, qlen):
    return Rule(qlen).most, Rule.most
""",
    "a descriptor that is assigned": """
class Checked:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner):
        return getattr(obj, self.name)

    def __set__(self, obj, value):
        if value % 16:
            raise ValueError(value)
        setattr(obj, self.name, value)

class Rule:
    heads = Checked()

    def __init__(self, heads):
        self.heads = heads

def native(heads, qlen):
    return Rule(heads).heads == 16
""",
    "a descriptor of a base": """
class One:
    def __get__(self, obj, owner):
        return owner.__name__

class Base:
    name = One()

class Rule(Base):
    pass

def native(heads, qlen):
    return Rule().name, Base.name, Base().name
""",
    "a descriptor that fails": """
class Bad:
    def __get__(self, obj, owner):
        raise AttributeError("none")

class Rule:
    x = Bad()

def native(heads, qlen):
    return getattr(Rule(), "x", heads)
""",
    "an object with no descriptor's ways": """
class Plain:
    def __set_name__(self, owner, name):
        self.name = name

class Rule:
    a = Plain()

def native(heads, qlen):
    return Rule().a.name, Rule.a.name
""",
    "exceptions in a variable": """
ERRORS = (KeyError, IndexError)
ONE = ZeroDivisionError

def native(heads, qlen):
    try:
        return ({16: [1, 1], 32: [0]}[heads])[qlen - 1] and 4 // (qlen - 1)
    except ERRORS:
        return heads == 64
    except ONE:
        return 7
""",
    "exceptions in a local variable": """
def native(heads, qlen):
    kinds = KeyError if qlen == 1 else (IndexError, ValueError)
    try:
        try:
            return {16: 1}[heads]
        except kinds:
            return 2
    except LookupError:
        return 3
""",
    "a class of exceptions as a value": """
def failing(kind):
    try:
        {}[1]
    except kind:
        return True

def native(heads, qlen):
    try:
        return failing(KeyError if heads == 16 else ValueError)
    except Exception:
        return 5
""",
    "exceptions of the source in a variable": """
class No(Exception):
    pass

KINDS = (No, KeyError)

def native(heads, qlen):
    try:
        if heads == 16:
            raise No("x")
        return {32: 1}[heads]
    except KINDS:
        return 2
""",
}
