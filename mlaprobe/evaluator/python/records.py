"""``dataclasses`` and ``collections.namedtuple``: classes that are made of fields."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as altered
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.members import Abstract, Base, Field, Property, Static
from mlaprobe.evaluator.objects.metaclasses import made_of, no_hook
from mlaprobe.evaluator.objects.objects import NOTHING, Instance, NamedTuple, class_of
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_OPTIONS = frozenset(
    ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only", "slots")
)
_FIELD_OPTIONS = frozenset(
    ("default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only")
)


class _Given(Model):
    """``field(...)``, before it has a name."""

    __slots__ = ("field", "keyword")

    def __init__(self, field: Field, keyword: Value) -> None:
        self.field = field
        self.keyword = keyword


def _field(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    flags = [kwargs.get(name, True) for name in ("init", "compare")]
    if args or not set(kwargs) <= _FIELD_OPTIONS or not all(type(f) is bool for f in flags):
        return Unknown("this field is not followed", span)
    made = Field(
        "",
        default=kwargs.get("default", NOTHING),
        factory=kwargs.get("default_factory", NOTHING),
        init=flags[0],
        compare=flags[1],
    )
    return _Given(made, kwargs.get("kw_only"))


def _dataclass(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``@dataclass`` with or without options."""
    known = set(kwargs) <= _OPTIONS and all(type(v) is bool for v in kwargs.values())
    if len(args) > 1 or not known:
        return Unknown("this dataclass is not followed", span)
    if args:
        return _made(args[0], kwargs, span)

    def decorate(run: Run, given: Args, named: Kwargs, where: Span) -> Value:
        return _made(given[0], kwargs, where) if len(given) == 1 else Unknown("a class", where)

    return Builtin("dataclass", decorate)


def _made(cls: Value, options: Kwargs, span: Span) -> Value:
    if not isinstance(cls, PyClass) or cls.enum is not None or cls.tuple:
        return Unknown("a dataclass of something that is no plain class", span)
    own = _own_fields(cls, options.get("kw_only", False))
    if isinstance(own, Unknown):
        cls.reason = own.reason
        return cls
    inherited = {f.name: f for f in cls.fields or ()}
    cls.fields = tuple((inherited | {f.name: f for f in own}).values())
    if options.get("init", True):
        cls.made_by_fields = True
        cls.attributes.pop("__init__", None)
    cls.frozen = options.get("frozen", False)
    cls.compared = options.get("eq", True) and "__eq__" not in cls.attributes
    cls.ordered = options.get("order", False)
    cls.hashed = cls.frozen or options.get("unsafe_hash", False) or not cls.compared
    return cls


def _own_fields(cls: PyClass, all_keywords: bool) -> list[Field] | Unknown:
    """The fields that a class body declares."""
    found: list[Field] = []
    keyword = all_keywords
    for name, annotation in cls.annotated:
        if "ClassVar" in annotation:
            continue
        if "InitVar" in annotation:
            return Unknown(f"{cls.name} has arguments that are no fields")
        if annotation.endswith("KW_ONLY"):
            keyword = True
            continue
        value = cls.attributes.get(name, NOTHING)
        field = Field(name, default=value, keyword=keyword)
        if isinstance(value, _Given):
            last = keyword if value.keyword is None else value.keyword
            field = altered(value.field, name=name, keyword=last)
            del cls.attributes[name]
            if field.default is not NOTHING:
                cls.attributes[name] = field.default
        elif isinstance(value, Unknown):
            field = altered(field, default=value)
        found.append(field)
    return found


def _replace(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    cls = args[0].cls if len(args) == 1 and isinstance(args[0], Instance) else None
    if not isinstance(cls, PyClass) or cls.fields is None or not cls.made_by_fields:
        return Unknown("replace of something that is no dataclass", span)
    given = {f.name: args[0].fields.get(f.name) for f in cls.fields if f.init}
    return cls.call(run, (), given | kwargs, span)


def _fields_of(value: Value) -> tuple[Field, ...] | None:
    cls = value.cls if isinstance(value, Instance) else value
    return cls.fields if isinstance(cls, PyClass) and not cls.tuple else None


def _plain(value: Value, as_dict: bool) -> Value:
    """A dataclass object with all that it holds as a dict or a tuple; copies of lists and dicts."""
    if isinstance(value, Instance) and (fields := _fields_of(value)) is not None:
        parts = {f.name: _plain(value.fields.get(f.name), as_dict) for f in fields}
        return parts if as_dict else tuple(parts.values())
    if isinstance(value, NamedTuple):
        return value.remade([_plain(v, as_dict) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(v, as_dict) for v in value)
    if isinstance(value, dict):
        return {k: _plain(v, as_dict) for k, v in value.items()}
    return value


def _as(as_dict: bool, name: str) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        known = len(args) == 1 and not kwargs and isinstance(args[0], Instance)
        if not known or _fields_of(args[0]) is None:
            return Unknown(f"{name} of something that is no dataclass", span)
        return _plain(args[0], as_dict)

    return Builtin(f"dataclasses.{name}", call, symbolic=True)


def _fields(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    found = _fields_of(args[0]) if len(args) == 1 else None
    if found is None:
        return Unknown("the fields of something that is no dataclass", span)
    kind = PyClass("Field", (), {}, "a field is not followed")
    return tuple(Instance(kind, {"name": f.name}) for f in found)


def _namedtuple(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    given = dict(zip(("typename", "field_names"), args, strict=False)) | kwargs
    title, names = given.pop("typename", None), given.pop("field_names", None)
    defaults = given.pop("defaults", None)
    names = names.replace(",", " ").split() if isinstance(names, str) else names
    defaults = () if defaults is None else defaults
    if given or len(args) > 2 or not isinstance(title, str):
        return Unknown("this named tuple is not followed", span)
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        return Unknown("a named tuple of unknown fields", span)
    if not isinstance(defaults, (list, tuple)) or len(defaults) > len(names):
        return Unknown("a named tuple of unknown defaults", span)
    made = PyClass(title, (Base("NamedTuple", "tuple"),), {}, "")
    values = [*[NOTHING] * (len(names) - len(defaults)), *defaults]
    made.fields = tuple(Field(n, default=v) for n, v in zip(names, values, strict=True))
    return made


def _property(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    known = 1 <= len(args) <= 2 and not kwargs
    return Property(*args) if known else Unknown("this property is not followed", span)


@dataclass(frozen=True, slots=True, eq=False)
class Super(Model):
    """``super()`` in a method."""

    cls: PyClass
    owner: Value
    """The object, or the class in a class method."""

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        if self.cls.of_classes:
            return self._of_metaclass(run, name, span)
        start = self.owner if isinstance(self.owner, PyClass) else class_of(self.owner)
        if not isinstance(start, PyClass):
            return Unknown(f"super().{name} is not followed", span)
        for cls in start.after(self.cls):
            found = cls.attributes.get(name, NOTHING)
            if found is NOTHING:
                if name == "__init__" and cls.made_by_fields and cls.fields is not None:
                    break
                continue
            if isinstance(found, Property):
                return run.machine.call(run, found.read, (self.owner,), {}, span)
            if isinstance(found, Closure) and self.owner is start:
                return found
            return start.bound(run, found, self.owner, span)
        else:
            if name == "__init__" and not start.reason and not start.tuple:
                return Builtin(name, lambda run, a, k, s: None)
            if name == "__init_subclass__" and not start.reason:
                return Builtin(name, no_hook)
        return Unknown(f"super().{name} is not followed", span)

    def _of_metaclass(self, run: Run, name: str, span: Span) -> Value:
        """What a metaclass finds further up."""
        for cls in self.cls.order[1:]:
            found = cls.attributes.get(name, NOTHING)
            if found is not NOTHING:
                return found if name == "__new__" else cls.bound(run, found, self.owner, span)
        if name == "__new__":
            return Builtin("type.__new__", made_of)
        if name == "__init__":
            return Builtin(name, lambda run, a, k, s: None)
        return Unknown(f"super().{name} is not followed", span)


def _super(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 2 or not isinstance(args[0], PyClass):
        return Unknown("this super() is not followed", span)
    return Super(args[0], args[1])


def _wrapping(name: str, make: Value) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 1 or kwargs:
            raise Failed("exception", "TypeError", f"{name} takes one function", span)
        return make(args[0])

    return Builtin(name, call)


def _total_ordering(cls: Value) -> Value:
    if isinstance(cls, PyClass):
        cls.reason = f"the order of {cls.name} is not followed"
    return cls


RECORDS: dict[str, Value] = {
    "dataclasses.dataclass": Builtin("dataclass", _dataclass),
    "dataclasses.field": Builtin("field", _field),
    "dataclasses.replace": Builtin("replace", _replace, symbolic=True),
    "dataclasses.asdict": _as(True, "asdict"),
    "dataclasses.astuple": _as(False, "astuple"),
    "dataclasses.fields": Builtin("fields", _fields),
    "dataclasses.KW_ONLY": Base("KW_ONLY"),
    "collections.namedtuple": Builtin("collections.namedtuple", _namedtuple),
    "typing.NamedTuple": Base("NamedTuple", "tuple"),
    "typing.Generic": Base("Generic"),
    "typing.Protocol": Base("Protocol"),
    "abc.ABC": Base("ABC", "abc"),
    "abc.ABCMeta": Base("ABCMeta"),
    "enum.EnumMeta": Base("EnumMeta"),
    "builtins.object": Base("object"),
    "builtins.property": Builtin("property", _property),
    "builtins.super": Builtin("super", _super),
    "builtins.staticmethod": _wrapping("staticmethod", lambda f: Static(f, of_class=False)),
    "builtins.classmethod": _wrapping("classmethod", lambda f: Static(f, of_class=True)),
    "abc.abstractmethod": _wrapping("abstractmethod", Abstract),
    "functools.cached_property": _wrapping("cached_property", lambda f: Property(f, cached=True)),
    "functools.total_ordering": _wrapping("total_ordering", _total_ordering),
    "typing.final": _wrapping("final", lambda value: value),
    "typing.override": _wrapping("override", lambda value: value),
}
"""What classes are made with, by dotted names."""
