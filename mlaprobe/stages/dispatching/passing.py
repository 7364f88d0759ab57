"""What a Python function takes that passes its arguments on.

``def entry(*args, **kwargs): return inner(*args, **kwargs)`` takes what ``inner`` takes. Which
arguments these are, and what they mean, is read from the function that is finally called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.engine.frames import OUTER
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.python.stdlib import Partial
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.evaluator.walk import assigned_names, walk

DEEPEST = 8
"""Functions that pass their arguments on, one to the other."""
_WHOLE = frozenset(("keys", "values", "items", "update"))
_TAKING = frozenset(("get", "pop", "setdefault"))
_ASKING = frozenset(("len", "bool", "list", "tuple", "sorted", "set", "repr", "str", "print"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An argument that a function takes, itself or for one that it calls."""

    name: str
    role: str | None
    """What it means, where that is known."""
    keyword: bool = False
    """Whether it can be passed by name only."""
    placed: bool = False
    """Whether it can be passed by position only."""
    default: ir.Node | None = None
    module: Any = None
    """Where the default is evaluated."""

    def absent(self, run: Run) -> Any:
        """Its value where a caller does not pass it."""
        if self.default is None:
            return Unknown(f"the argument {self.name} is not known", foreign=True)
        return run.machine.evaluate(run, self.default, self.module)


def passed(
    run: Run, taken: Iterable[Taken], values: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by what they mean, by name where that can be. What is not taken is left out; one of
    unknown meaning keeps its default, or is unknown."""
    taken = tuple(taken)
    last = max((at for at, t in enumerate(taken) if t.placed), default=-1)
    args: list[Any] = []
    named: dict[str, Any] = {}
    for at, one in enumerate(taken):
        known = one.role is not None and one.role in values
        value = values[one.role] if known and one.role is not None else None
        if at <= last and not one.keyword:
            args.append(value if known else one.absent(run))
        elif known or one.default is None:
            named[one.name] = value if known else one.absent(run)
    return tuple(args), named


class Passing:
    """Finds what functions take, in one run."""

    def __init__(self, run: Run, roles: Mapping[str, str]) -> None:
        self._run = run
        self._roles = roles
        self._given: dict[tuple[int, str], Any] = {}
        """Arguments that a function has been given, by its identity and their names."""

    def _give(self, value: Partial) -> None:
        if isinstance(value.function, Closure):
            function = value.function.function
            names = (p.name for p in function.params if p.kind in ("normal", "placed"))
            written = assigned_names(function.body)
            pairs = zip(names, value.args, strict=False)
            self._given |= {(id(function), n): v for n, v in pairs if n not in written}

    def taken(self, value: Any, depth: int = 0) -> tuple[Taken, ...]:
        """The arguments that a function takes, in order.

        Raises:
            Unsupported: they cannot be determined.
        """
        if isinstance(value, Partial):
            self._give(value)
            rest = self.taken(value.function, depth)
            return rest[len(value.args) :]
        if not isinstance(value, Closure) or depth > DEEPEST:
            raise Unsupported("what a function is that gets all arguments is not known", ir.NOWHERE)
        function = value.function
        stars = {p.kind: p.name for p in function.params if p.kind in ("*", "**")}
        own = [
            Taken(
                name=p.name,
                role=self._roles.get(p.name),
                keyword=p.kind == "keyword",
                placed=p.kind == "placed",
                default=p.default,
                module=value.module,
            )
            for p in function.params
            if p.kind in ("normal", "placed", "keyword")
        ]
        if not stars:
            return tuple(own)
        uses = Uses(function, stars)
        meant: dict[str, str] = {}
        rests = [self._rest(call, value, stars, meant, depth) for call in uses.calls]
        if any(_names(rest) != _names(rests[0]) for rest in rests):
            reason = f"{function.name} passes its arguments on to functions that take others"
            raise Unsupported(reason, function.span)
        further = [*(rests[0] if rests else ()), *self._asked_for(uses)]
        own = [t if t.role else replace(t, role=meant.get(t.name)) for t in own]
        found = {t.name: t for t in own}
        for one in further:
            found.setdefault(one.name, one)
        return tuple(found.values())

    def _asked_for(self, uses: Uses) -> Iterator[Taken]:
        for name, needed in uses.keys.items():
            default = None if needed else ir.Const(ir.NOWHERE, None)
            yield Taken(name=name, role=self._roles.get(name), keyword=True, default=default)

    def _rest(
        self,
        call: ir.Call,
        caller: Closure,
        stars: Mapping[str, str],
        meant: dict[str, str],
        depth: int,
    ) -> list[Taken]:
        """What a call passes on of the caller's other arguments; ``meant`` gets what the caller's
        own mean."""
        taken = self.taken(self._callee(call.func, caller), depth + 1)
        given = [a for a in call.args if not isinstance(a, ir.Star)]
        starred = len(given) < len(call.args)
        named = {key: node for key, node in call.kwargs if key is not None}
        by_name = len(named) < len(call.kwargs)
        places = [t for t in taken if not t.keyword]
        if call.args[: len(given)] != tuple(given) or len(given) > len(places):
            raise Unsupported("arguments are passed on in another order", call.span)
        pairs = [*zip(given, places, strict=False)]
        pairs += [(node, t) for t in taken if (node := named.get(t.name)) is not None]
        for node, one in pairs:
            if isinstance(node, ir.Name) and one.role is not None:
                meant.setdefault(node.id, one.role)
        left = [t for t in taken if t not in places[: len(given)] and t.name not in named]
        if by_name:
            return [replace(t, keyword=True, placed=False) if not t.placed else t for t in left]
        if not starred:
            return []
        return [replace(t, placed=True) for t in left if not t.keyword]

    def _callee(self, node: ir.Node, caller: Closure) -> Any:
        """The function that a call names."""
        try:
            if isinstance(node, ir.Attr):
                owner = self._callee(node.obj, caller)
                return attribute(self._run, caller.module, owner, node.name, node.span, python=True)
            if isinstance(node, ir.Name):
                return self._named(node, caller)
        except Failed as failure:
            raise Unsupported(f"what is called is not known: {failure.how}", node.span) from None
        raise Unsupported("what is called with all arguments is not known", node.span)

    def _named(self, node: ir.Name, caller: Closure) -> Any:
        function = caller.function
        imports = [
            n for n in walk(function.body) if isinstance(n, ir.Import) and n.alias == node.id
        ]
        if len(imports) == 1:
            found = imports[0]
            return caller.module.import_name(self._run, found.module, found.name, found.span)
        given = (id(function), node.id)
        if given in self._given:
            return self._given[given]
        own = {p.name for p in function.params}.union(assigned_names(function.body))
        if node.id in own:
            raise Unsupported(
                f"what {node.id} is, which gets all arguments, is not known", node.span
            )
        place = caller.scope.find(node.id) if caller.scope is not None else None
        if place is None:
            return caller.module.lookup(self._run, node.id, node.span)
        frame: Any = caller.frame
        for _ in range(place[0]):
            frame = frame[OUTER]
        return self._run.own(frame.get(place[1]))


def _names(taken: Iterable[Taken]) -> list[tuple[str, bool]]:
    return [(t.name, t.placed) for t in taken]


class Uses:
    """What a function does with ``*args`` and ``**kwargs``: the calls that pass them on, and what
    it takes out of ``kwargs`` by name."""

    def __init__(self, function: ir.Function, stars: Mapping[str, str]) -> None:
        """Raises ``Unsupported`` where it does anything else with them."""
        self.calls: list[ir.Call] = []
        self.keys: dict[str, bool] = {}
        """Names that are looked up, and whether one has to be there."""
        self._positional, self._named = stars.get("*"), stars.get("**")
        self._followed: set[int] = set()
        nodes = list(walk(function.body))
        stored = {id(t) for n in nodes if isinstance(n, ir.Assign) and not n.op for t in n.targets}
        deleted = {id(t) for n in nodes if isinstance(n, ir.Remove) for t in n.targets}
        for node in nodes:
            if id(node) not in deleted:
                self._look(node, stored)
        wanted = {name for name in stars.values() if name}
        for node in nodes:
            used = isinstance(node, ir.Name) and node.id in wanted
            written = wanted.intersection(getattr(node, "writes", ()))
            if written or (used and id(node) not in self._followed):
                raise Unsupported(f"what {function.name} does with its arguments", node.span)

    def _is(self, node: object, name: str | None) -> bool:
        """Notes the use of a variable that is followed."""
        if name is None or not isinstance(node, ir.Name) or node.id != name:
            return False
        self._followed.add(id(node))
        return True

    def _look(self, node: ir.Node, stored: set[int]) -> None:
        if isinstance(node, ir.Call):
            self._called(node)
        elif isinstance(node, ir.Index) and isinstance(node.key, ir.Const):
            if self._is(node.obj, self._named) and id(node) not in stored:
                self.keys[str(node.key.value)] = True
        elif isinstance(node, ir.Binary) and node.op in ("in", "not in"):
            if self._is(node.right, self._named) and isinstance(node.left, ir.Const):
                self.keys.setdefault(str(node.left.value), False)
        elif isinstance(node, ir.Binary) and node.op in COMPARE:
            self._tested(node.left)
            self._tested(node.right)
        elif isinstance(node, (ir.If, ir.Cond, ir.Check, ir.While)):
            self._tested(node.test)
        elif isinstance(node, ir.Bool):
            for part in node.parts:
                self._tested(part)
        elif isinstance(node, ir.ForEach):
            self._is(node.iterable, self._named)
        elif isinstance(node, ir.Unary) and node.op == "not":
            self._tested(node.value)

    def _tested(self, node: ir.Node) -> None:
        self._is(node, self._named)
        self._is(node, self._positional)

    def _called(self, node: ir.Call) -> None:
        spread = [a.value for a in node.args if isinstance(a, ir.Star)]
        mapped = [value for key, value in node.kwargs if key is None]
        found = [self._is(a, self._positional) for a in spread]
        found += [self._is(v, self._named) for v in mapped]
        if any(found):
            if not all(found):
                raise Unsupported("arguments are passed on with others", node.span)
            self.calls.append(node)
        func = node.func
        if isinstance(func, ir.Attr) and func.name in (*_WHOLE, *_TAKING):
            key = node.args[0] if node.args else None
            if func.name in _WHOLE:
                self._is(func.obj, self._named)
            elif isinstance(key, ir.Const) and self._is(func.obj, self._named):
                needed = func.name == "pop" and len(node.args) == 1
                self.keys[str(key.value)] = self.keys.get(str(key.value), False) or needed
        elif isinstance(func, ir.Name) and func.id in _ASKING:
            for arg in node.args:
                self._tested(arg)
