"""The page of the Python API: what ``mlaprobe`` exports, from signatures and docstrings."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import mlaprobe

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Asking an AITER", ("probe", "Capability", "Snapshot")),
    (
        "What to launch",
        (
            *("plan", "padded_num_heads", "PadPlan", "Rejected", "Way", "PlanSource"),
            *("plan_run", "RunCase", "RunPlan", "RunConflict", "Mode", "Strategy"),
            *("least_count", "LeastCount"),
        ),
    ),
    ("Questions and answers", ("DecodeShape", "PlannerCall", "Decision", "StageOutcome", "Kernel")),
    ("Words", ("Verdict", "Failure", "Operation", "Route", "Dtype", "Evidence")),
    (
        "Errors",
        (
            *("MlaprobeError", "UsageError", "SourceError", "NotInstalledError", "NotAiterError"),
            *("OutOfRangeError", "RuleError", "CannotRunError", "CannotServeError"),
        ),
    ),
)


def api_page() -> str:
    """Every exported name, in groups; one that is in no group is in the last."""
    known = {name for _, names in GROUPS for name in names}
    rest = tuple(n for n in mlaprobe.__all__ if n not in known and n != "__version__")
    lines = [
        "# Python API",
        "",
        "Everything is exported by `mlaprobe` itself and loaded when it is first used: "
        "`import mlaprobe` loads neither PyTorch nor the parsers. What is not here is internal.",
        "",
    ]
    for title, names in (*GROUPS, *((("Others", rest),) if rest else ())):
        lines += [f"## {title}", ""]
        for name in names:
            lines += _entry(name, getattr(mlaprobe, name))
    return "\n".join(lines).rstrip() + "\n"


def _entry(name: str, value: Any) -> Iterator[str]:
    yield from (f"### {name}", "")
    if inspect.isclass(value):
        yield from _prose(value.__doc__)
        yield from _members(value)
        yield from _methods(value)
        return
    yield from ("```python", _signature(name, value), "```", "")
    yield from _prose(value.__doc__)


def _signature(name: str, function: Any, *, wrap: bool = True) -> str:
    """A signature as it would be written, without ``self``."""
    signature = inspect.signature(function)
    arguments: list[str] = []
    for parameter in signature.parameters.values():
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if keyword and "*" not in arguments:
            arguments.append("*")
        if parameter.name not in ("self", "cls"):
            arguments.append(_argument(parameter))
    returns = f" -> {signature.return_annotation}"
    text = f"{name}({', '.join(arguments)}){returns}"
    if not wrap or len(text) <= 88:
        return text
    return "\n".join([f"{name}(", *(f"    {each}," for each in arguments), f"){returns}"])


def _argument(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {parameter.annotation}"
    default = parameter.default
    if default is parameter.empty:
        return text
    if isinstance(default, enum.Enum):
        return f"{text} = {type(default).__name__}.{default.name}"
    return f"{text} = {default!r}"


def _prose(doc: str | None) -> Iterator[str]:
    """A docstring as Markdown: sections as lists, code as code."""
    for block in re.split(r"\n\n", inspect.cleandoc(doc or "")):
        head, _, rest = block.partition("\n")
        if re.fullmatch(r"(Args|Raises|Returns):", head):
            yield from (f"*{head[:-1]}*", "")
            for entry in re.split(r"\n(?! )", textwrap.dedent(rest)):
                name, _, text = " ".join(entry.split()).partition(": ")
                yield f"- `{name}`: {_code(text)}"
            yield ""
        elif block.startswith("    "):
            yield from ("```python", textwrap.dedent(block), "```", "")
        elif block:
            yield from (_code(" ".join(block.split())), "")


def _code(text: str) -> str:
    return text.replace("``", "`")


def _members(value: type) -> Iterator[str]:
    notes = _attribute_notes(value)
    if issubclass(value, enum.Enum):
        rows = [(f"`{m.name}`", f"`{m.value!r}`", notes.get(m.name, "")) for m in value]
        yield from _table(("member", "value", ""), rows)
    elif dataclasses.is_dataclass(value):
        rows = [
            (f"`{f.name}`", f"`{f.type}`".replace("|", "\\|"), notes.get(f.name, ""))
            for f in dataclasses.fields(value)
            if not f.name.startswith("_")
        ]
        yield from _table(("field", "type", ""), rows)


def _table(head: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---|---|---|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _attribute_notes(value: type) -> dict[str, str]:
    """The docstring under each field or member, its own class's and those it inherits."""
    found: dict[str, str] = {}
    for each in reversed(value.__mro__):
        if not each.__module__.startswith("mlaprobe"):
            continue
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(node, ast.ClassDef)
        for before, after in zip(node.body, node.body[1:], strict=False):
            name, text = _assigned(before), _text(after)
            if name and text:
                found[name] = _code(" ".join(text.split())).replace("|", "\\|")
    return found


def _assigned(node: ast.stmt) -> str | None:
    """The name that a statement gives a value or a type."""
    if isinstance(node, ast.AnnAssign):
        target: ast.expr = node.target
    elif isinstance(node, ast.Assign):
        target = node.targets[0]
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _text(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else None
    return None


def _methods(value: type) -> Iterator[str]:
    """Public methods and properties that the class or a base of this package defines."""
    for name, member in _public(value):
        if isinstance(member, property):
            yield f"- `{name}`: {_first(member.fget)}"
        else:
            function = getattr(member, "__func__", member)
            yield f"- `{_signature(name, function, wrap=False)}`: {_first(function)}"
    yield ""


def _public(value: type) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for each in value.__mro__:
        if not each.__module__.startswith("mlaprobe"):
            continue
        for name, member in vars(each).items():
            callable_ = inspect.isfunction(member) or isinstance(member, (classmethod, property))
            if callable_ and not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name, member


def _first(function: Any) -> str:
    """The first paragraph of a docstring."""
    return _code(" ".join(inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].split()))
