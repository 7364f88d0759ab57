"""The few parts of Python's library that module-level code uses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import as_mapping, elements
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.enums import ENUMS
from mlaprobe.evaluator.objects.iterables import DefaultDict
from mlaprobe.evaluator.objects.members import Bound
from mlaprobe.evaluator.python.functional import FUNCTIONAL
from mlaprobe.evaluator.python.iterators import ITERATORS
from mlaprobe.evaluator.python.managers import MANAGERS
from mlaprobe.evaluator.python.records import RECORDS
from mlaprobe.evaluator.python.statements import DECORATED
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, Model, Record, computed, plain
from mlaprobe.evaluator.values.operators import binary

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


def rounding(name: str) -> Builtin:
    """``math.ceil`` or ``math.floor``, of symbols too."""
    known = plain(f"math.{name}", getattr(math, name))

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) == 1 and type(args[0]) is Sym:
            return args[0].rounded(name)
        return known.call(run, args, kwargs, span)

    return Builtin(f"math.{name}", call, symbolic=True)


def _getenv(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    default = args[1] if len(args) > 1 else kwargs.get("default")
    if not args or not isinstance(args[0], str):
        return Unknown("an environment variable without a known name", span)
    value = run.getenv(args[0])
    return default if value is None else value


class Environ(Model):
    """``os.environ``: read only."""

    __slots__ = ()

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        """A method."""
        if name == "get":
            return Builtin("os.environ.get", _getenv)
        if name in ("setdefault", "pop", "update", "clear", "popitem"):
            return Unknown(f"os.environ.{name} changes variables, which outlives a call", span)
        return Unknown(f"os.environ.{name} is not followed", span)

    def index_in(self, run: Run, key: Value, span: Span) -> Value:
        if not isinstance(key, str):
            return Unknown("an environment variable without a known name", span)
        value = run.getenv(key)
        if value is None:
            raise Failed("exception", "KeyError", repr(key), span)
        return value

    def contains_in(self, run: Run, item: Value, span: Span) -> Value:
        if not isinstance(item, str):
            return Unknown("an environment variable without a known name", span)
        return run.getenv(item) is not None


@dataclass(slots=True, eq=False)
class Partial(Model):
    """``functools.partial``: a function with some of its arguments."""

    function: Value
    args: Args
    kwargs: Kwargs

    changes = True

    def held(self) -> Args:
        return (self.function, *self.args, *self.kwargs.values())

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        if name in ("func", "args"):
            return self.function if name == "func" else self.args
        if name == "keywords":
            return run.copies.add(self.kwargs)  # to change them is not followed
        return Unknown(f"attribute {name} of functools.partial is not followed", span)

    def fresh(self, own: Callable[[Value], Value]) -> Partial:
        kwargs = {name: own(value) for name, value in self.kwargs.items()}
        return Partial(own(self.function), tuple(map(own, self.args)), kwargs)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        named = {**self.kwargs, **kwargs}
        return run.machine.call(run, self.function, (*self.args, *args), named, span)


def _partial(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if not args or not isinstance(args[0], (Closure, Builtin, Model)):
        return Unknown("a function with some of its arguments is not followed", span)
    return Partial(args[0], args[1:], kwargs)


def _decorated(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What a decorator makes of a function: the decorator, its name, whether it is called first,
    the function, what it is called with."""
    decorator, name, called, function, *rest = args
    if not isinstance(decorator, (Closure, Partial, Bound)):
        return Unknown(f"a function decorated with {name} is not followed", span)
    if called:
        decorator = run.machine.call(run, decorator, tuple(rest), kwargs, span)
    return run.machine.call(run, decorator, (function,), {}, span)


def _cast(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """Its second argument, whatever the first is."""
    known = len(args) == 2 and not kwargs
    return args[1] if known else Unknown("what typing.cast is given", span)


def _prod(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span, any_order=True) if len(args) == 1 else Unknown("prod", span)
    if isinstance(values, Unknown):
        return values
    product: Value = kwargs.get("start", 1)
    for value in values:
        product = binary("*", product, value, span)
    return product


def _defaultdict(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    factory, rest = (args[0] if args else None), args[1:]
    if kwargs or len(rest) > 1 or not all(isinstance(r, dict) for r in rest):
        return Unknown("this default dict is not followed", span)
    return DefaultDict(factory, rest[0] if rest else {})


def _as_dict(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``OrderedDict``, which is a dict but for how two of them are compared."""
    pairs = args[0] if args else {}
    if kwargs or len(args) > 1:
        return Unknown("this ordered dict is not followed", span)
    if isinstance(pairs, dict):
        return dict(pairs)
    values = elements(pairs, span)
    return values if isinstance(values, Unknown) else as_mapping(values, span)


def _proxy(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``MappingProxyType``: another name for a dict, which only reads it."""
    known = len(args) == 1 and isinstance(args[0], dict)
    return args[0] if known else Unknown("this mapping is not followed", span)


class Match(Model):
    """A match of a regular expression."""

    __slots__ = ("_match",)

    def __init__(self, match: re.Match[str]) -> None:
        self._match = match

    def get(self, name: str, span: Span) -> Value:
        if name in ("group", "groups", "start", "end", "span"):
            return plain(f"match.{name}", getattr(self._match, name))
        return Unknown(f"{name} of a match is not followed", span)

    def index(self, key: Value, span: Span) -> Value:
        return computed("match[]", self._match.__getitem__, (key,), {}, span)


def _matching(function: Callable[[str, str], re.Match[str] | None]) -> Builtin:
    """``re.match`` and its kin on short texts."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        known = len(args) == 2 and not kwargs and all(isinstance(a, str) for a in args)
        if not known or len(args[0]) + len(args[1]) > 200:
            return Unknown("this regular expression is not followed", span)
        try:
            found = function(*args)
        except re.error as error:
            return Unknown(f"a regular expression: {error}", span)
        return None if found is None else Match(found)

    return Builtin("re", call)


STANDARD: dict[str, Value] = {
    f"builtins.{DECORATED}": Builtin(DECORATED, _decorated, symbolic=True),
    "re.match": _matching(re.match),
    "re.search": _matching(re.search),
    "re.fullmatch": _matching(re.fullmatch),
    **ITERATORS,
    **FUNCTIONAL,
    "collections.defaultdict": Builtin("collections.defaultdict", _defaultdict),
    "collections.OrderedDict": Builtin("collections.OrderedDict", _as_dict, symbolic=True),
    "types.MappingProxyType": Builtin("types.MappingProxyType", _proxy, symbolic=True),
    **RECORDS,
    **MANAGERS,
    **ENUMS,
    "functools.partial": Builtin("functools.partial", _partial, symbolic=True),
    "math.ceil": rounding("ceil"),
    "math.floor": rounding("floor"),
    "math.gcd": plain("math.gcd", math.gcd),
    "math.lcm": plain("math.lcm", math.lcm),
    "math.log2": plain("math.log2", math.log2),
    "math.prod": Builtin("math.prod", _prod, symbolic=True),
    "math.sqrt": plain("math.sqrt", math.sqrt),
    "operator.index": plain("operator.index", lambda v: v.__index__()),
    "os.environ": Environ(),
    "os.getenv": Builtin("os.getenv", _getenv),
    "sys.platform": "linux",
    "typing.TYPE_CHECKING": False,
    "typing.cast": Builtin("typing.cast", _cast, symbolic=True),
}
"""Names outside the source, by their dotted names; a project's own come before these."""


def find_spec(locate: Callable[[str], Value]) -> Builtin:
    """``importlib.util.find_spec``: ``None`` where a module is taken as not installed."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 1 or not isinstance(args[0], str):
            return Unknown("a module of unknown name", span)
        return None if locate(args[0]) is None else Record("ModuleSpec", {"name": args[0]})

    return Builtin("importlib.util.find_spec", call)
