"""Python classes: their attributes, how objects are made, what is special in a class body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.members import Abstract, Base, Bound, Field, Property, Static
from mlaprobe.evaluator.objects.objects import (
    NOTHING,
    Instance,
    NamedTuple,
    ObjectType,
    OfObject,
    called,
    special,
)
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumType

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


class PyClass(ObjectType):
    """A class of the source."""

    def __init__(
        self,
        name: str,
        bases: Args,
        attributes: dict[str, Value],
        reason: str,
        annotated: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.name = name
        self.annotated = annotated
        """The names that the body annotates, and the annotations."""
        self.attributes = attributes
        self.reason = reason
        """Why objects are not followed; nothing where they are."""
        self.fields: tuple[Field, ...] | None = None
        """Those of a dataclass or a named tuple."""
        self.order: tuple[PyClass, ...] = _order(self, bases)
        parents = self.order[1:]
        self.abstract: bool = any(isinstance(b, Base) and b.kind == "abc" for b in bases) or any(
            p.abstract for p in parents
        )
        self.tuple = any(isinstance(b, Base) and b.kind == "tuple" for b in bases)
        if any(p.tuple for p in parents):
            self.tuple, self.fields = True, next(p.fields for p in parents if p.tuple)
        self.meta: PyClass | None = None
        """The metaclass, where it is one of the source."""
        self.of_classes: bool = any(
            isinstance(b, Builtin) and b.name == "type" for b in bases
        ) or any(p.of_classes for p in parents)
        """Whether it is a metaclass."""
        self.enum: EnumType | None = None
        self.enum_kind, self.flag = "", False
        self.made_by_fields = self.tuple
        """Whether it is made of its fields: a dataclass with ``init``."""
        self.frozen = self.compared = self.ordered = self.hashed = False
        if not self.tuple:
            self._inherit(parents)

    def _inherit(self, parents: tuple[PyClass, ...]) -> None:
        of_fields = next((p for p in parents if p.fields is not None), None)
        if of_fields is not None:
            self.fields = of_fields.fields
            self.made_by_fields = "__init__" not in self.attributes and of_fields.made_by_fields
            self.frozen, self.hashed = of_fields.frozen, of_fields.hashed
            self.compared, self.ordered = of_fields.compared, of_fields.ordered

    @property
    def field_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that objects are compared by."""
        return tuple(f.name for f in self.fields or () if f.compare)

    def find(self, name: str) -> Value:
        for cls in self.order:
            found = cls.attributes.get(name, NOTHING)
            if found is not NOTHING:
                return found
        return NOTHING

    def after(self, cls: PyClass) -> tuple[PyClass, ...]:
        """The classes that ``super()`` means in a method of another."""
        return self.order[self.order.index(cls) + 1 :] if cls in self.order else ()

    # --- the class itself ---

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        found = self.find(name)
        of_meta = NOTHING if self.meta is None else self.meta.find(name)
        if isinstance(of_meta, Property):
            return run.machine.call(run, of_meta.read, (self,), {}, span)
        if found is NOTHING and of_meta is not NOTHING and self.meta is not None:
            return self.meta.bound(run, of_meta, self, span)
        if found is NOTHING:
            return self._missing(run, name, span)
        if isinstance(found, Static):
            return Bound(found.function, self) if found.of_class else found.function
        if isinstance(found, Abstract):
            return found.function
        if special(found, "__get__"):
            return called(run, found, "__get__", (None, self), span)
        return run.of_class(self, found)

    def _missing(self, run: Run, name: str, span: Span) -> Value:
        if name == "__name__":
            return self.name
        if name == "_fields" and self.tuple:
            return tuple(f.name for f in self.fields or ())
        if name == "_make" and self.tuple:
            return Builtin(name, self._made_of)
        if name.startswith("__") or self.reason:
            return Unknown(f"attribute {name} of class {self.name} is not followed", span)
        message = f"type object {self.name!r} has no attribute {name!r}"
        raise Failed("exception", "AttributeError", message, span)

    def _made_of(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 1 or not isinstance(args[0], (tuple, list)):
            return Unknown(f"what a {self.name} is made of is not known", span)
        return self.call(run, tuple(args[0]), {}, span)

    def assign_in(self, run: Run, name: str, value: Value, span: Span) -> None:
        plain = self.meta is None or self.meta.find(name) is NOTHING
        if run.makes(self) and not run.loose and plain:
            self.attributes[name] = value
        else:
            self.put(name, value, span)

    def put(self, name: str, value: Value, span: Span) -> None:
        reason = f"attribute {name} of class {self.name} is written, which outlives a call"
        raise Unsupported(reason, span)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        reason = self.reason
        if not reason and self.defines("__new__"):
            reason = f"{self.name}.__new__ is not followed"
        if reason:
            return _unfollowed(run, Unknown(reason, span), self.name, args, kwargs, span)
        missing = self._abstract_method() if self.abstract else None
        if missing is not None:
            message = f"{self.name} is abstract: it does not define {missing}"
            raise Failed("exception", "TypeError", message, span)
        if self.tuple:
            values = self._values(run, args, kwargs, span)
            return NamedTuple(self, tuple(values.values()))
        run.effects += 1
        return self._object(run, args, kwargs, span)

    def _object(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        made = Instance(self, {})
        if self.made_by_fields:
            made.fields.update(self._values(run, args, kwargs, span))
            after = self.find("__post_init__")
            if after is not NOTHING:
                run.machine.call(run, Bound(after, made), (), {}, span)
            return made
        init = self.find("__init__")
        if init is not NOTHING:
            run.machine.call(run, Bound(init, made), args, kwargs, span)
        elif args or kwargs:
            raise Failed("exception", "TypeError", f"{self.name}() takes no arguments", span)
        return made

    def _abstract_method(self) -> str | None:
        names = dict.fromkeys(name for cls in self.order for name in cls.attributes)
        return next((n for n in names if _is_abstract(self.find(n))), None)

    def _values(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> dict[str, Value]:
        """The fields of an object, by what a call passes.

        Raises:
            Failed: the call does not fit the fields.
        """
        left = dict(kwargs)
        fields = self.fields or ()
        places = [f.name for f in fields if f.init and not f.keyword]
        if len(args) > len(places):
            raise _no_fit(f"{self.name}() takes {len(places)} arguments, got {len(args)}", span)
        given = dict(zip(places, args, strict=False))
        twice = next((name for name in given if name in left), None)
        if twice is not None:
            raise _no_fit(f"{self.name}() got {twice} twice", span)
        values: dict[str, Value] = {}
        for field in fields:
            if field.name in given:
                values[field.name] = given[field.name]
            elif field.init and field.name in left:
                values[field.name] = left.pop(field.name)
            elif field.factory is not NOTHING:
                values[field.name] = run.machine.call(run, field.factory, (), {}, span)
            elif field.default is not NOTHING:
                values[field.name] = run.own(field.default)
            elif field.init:
                raise _no_fit(f"{self.name}() is missing {field.name}", span)
        if left:
            raise _no_fit(f"{self.name}() does not take {next(iter(left))}", span)
        return values

    # --- its objects ---

    def read(self, run: Run, obj: Value, name: str, span: Span) -> Value:
        found = self.find(name)
        if self.defines("__getattribute__"):
            return Unknown(f"how attributes of a {self.name} are read is not followed", span)
        getter = self.find("__getattr__")
        if isinstance(found, Property):
            try:
                return self._computed(run, found, obj, name, span)
            except Failed as failure:
                if failure.how != "AttributeError" or getter is NOTHING:
                    raise
            return run.machine.call(run, Bound(getter, obj), (name,), {}, span)
        if special(found, "__get__") and special(found, "__set__", "__delete__"):
            return called(run, found, "__get__", (obj, self), span)
        own: Mapping[str, Value] = obj.fields if isinstance(obj, Instance) else {}
        if name in own:
            return own[name]
        if isinstance(obj, Instance) and obj.lost is not None:
            return obj.lost.another()
        if found is not NOTHING:
            return self.bound(run, found, obj, span)
        if name == "__class__":
            return self
        if isinstance(obj, NamedTuple):
            return self._of_tuple(obj, name, span)
        if getter is not NOTHING:
            return run.machine.call(run, Bound(getter, obj), (name,), {}, span)
        if name.startswith("__") or self.reason:
            return Unknown(f"attribute {name} of a {self.name} is not followed", span)
        message = f"{self.name!r} object has no attribute {name!r}"
        raise Failed("exception", "AttributeError", message, span)

    def bound(self, run: Run, found: Value, obj: Value, span: Span) -> Value:
        """An attribute of the class as an object has it."""
        if isinstance(found, Abstract):
            found = found.function
        if isinstance(found, Closure):
            return Bound(found, obj)
        if isinstance(found, Unknown):
            return OfObject(found, obj)
        if isinstance(found, Static):
            return Bound(found.function, self) if found.of_class else found.function
        if special(found, "__get__"):
            return called(run, found, "__get__", (obj, self), span)
        if isinstance(found, Builtin):
            return Unknown(f"whether {found.name} becomes a method is not followed", span)
        return run.of_class(self, found)

    def _computed(self, run: Run, found: Property, obj: Value, name: str, span: Span) -> Value:
        if found.cached and isinstance(obj, Instance) and name in obj.fields:
            return obj.fields[name]
        read = found.read.function if isinstance(found.read, Abstract) else found.read
        value = run.machine.call(run, read, (obj,), {}, span)
        if not found.cached or not isinstance(obj, Instance):
            return value
        if obj in run.copies:  # earlier calls have it
            return run.keep(value)
        run.effects += 1
        obj.fields[name] = value
        return value

    def _of_tuple(self, obj: NamedTuple, name: str, span: Span) -> Value:
        names = tuple(f.name for f in self.fields or ())
        if name in names:
            return obj[names.index(name)]
        if name == "_asdict":
            return Builtin(name, lambda run, a, k, s: dict(zip(names, obj, strict=True)))
        if name == "_fields":
            return names
        if name == "_replace":

            def replaced(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
                if args or not set(kwargs) <= set(names):
                    raise Failed("exception", "ValueError", "unexpected field names", where)
                return obj.remade(tuple((dict(zip(names, obj, strict=True)) | kwargs).values()))

            return Builtin(name, replaced, symbolic=True)
        return NOTHING

    def write(self, run: Run, obj: Instance, name: str, value: Value, span: Span) -> None:
        found = self.find(name)
        if self.defines("__setattr__") or self.reason:
            raise Unsupported(f"how attributes of a {self.name} are assigned", span)
        if isinstance(found, Property) and not found.cached:
            if found.write is None:
                message = f"property {name!r} has no setter"
                raise Failed("exception", "AttributeError", message, span)
            run.machine.call(run, found.write, (obj, value), {}, span)
            return
        if special(found, "__set__"):
            called(run, found, "__set__", (obj, value), span)
            return
        if special(found, "__delete__"):
            raise Unsupported(f"the descriptor {name} of a {self.name} is not followed", span)
        if self.frozen:
            message = f"cannot assign to field {name!r}"
            raise Failed("exception", "FrozenInstanceError", message, span)
        if self.find("__slots__") is not NOTHING and name not in obj.fields:
            self._slot(name, span)
        run.changes(obj, span)
        obj.fields[name] = value

    def _slot(self, name: str, span: Span) -> None:
        """Whether an attribute may be there at all."""
        slots: list[Value] = []
        for cls in self.order:
            own = cls.attributes.get("__slots__", NOTHING)
            if own is NOTHING:
                return  # objects have a dict, too
            slots += own if isinstance(own, (tuple, list)) else [own]
        if name not in slots:
            raise Unsupported(f"{self.name} has no slot {name}", span)


def _order(cls: PyClass, bases: Args) -> tuple[PyClass, ...]:
    """The classes in which an attribute is looked for, as Python orders them."""
    own = [b for b in bases if isinstance(b, PyClass)]
    queues = [*[list(b.order) for b in own], list(own)]
    result = [cls]
    while any(queues):
        queues = [q for q in queues if q]
        heads = (q[0] for q in queues)
        first = next((h for h in heads if not any(h in q[1:] for q in queues)), None)
        if first is None:
            cls.reason = f"the bases of {cls.name} cannot be ordered"
            break
        result.append(first)
        queues = [[c for c in q if c is not first] for q in queues]
    return tuple(result)


def _is_abstract(value: Value) -> bool:
    return isinstance(value, Abstract) or (
        isinstance(value, Property) and isinstance(value.read, Abstract)
    )


def _no_fit(message: str, span: Span) -> Failed:
    return Failed("exception", "TypeError", message, span)


def _unfollowed(run: Run, why: Unknown, name: str, args: Args, kwargs: Kwargs, span: Span) -> Value:
    from mlaprobe.evaluator.engine.calls import result_of_unknown

    return result_of_unknown(run, why, name, args, kwargs, span)
