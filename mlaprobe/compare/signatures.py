"""Functions that callers use, and whether their parameters changed between two sources."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.compare.sides import Comparable, Signatures, side_of, signatures
from mlaprobe.findings.engine import apply
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.model import Finding
from mlaprobe.findings.rules import finding_rules, settings


def changed_signatures(old: Comparable, new: Comparable) -> tuple[Finding, ...]:
    """What the rules say of the signatures of two sources; nothing where one of them is a
    snapshot, which holds none.
    """
    functions = tuple((entry["module"], entry["function"]) for entry in settings()["functions"])
    before, after = (side_of(source).ask(signatures, functions) for source in (old, new))
    if before is None or after is None:
        return ()
    rules = [rule for rule in finding_rules() if "signature" in rule.about]
    return apply(signature_facts(before, after), rules=rules)


def signature_facts(before: Signatures, after: Signatures) -> Iterator[Fact]:
    """A fact about every function that both sources have."""
    for name in before:
        if name in after:
            (was, place), (now, new_place) = before[name], after[name]
            yield Fact(
                about="signature",
                values={
                    "function": name,
                    "old": was,
                    "new": now,
                    "changed": was != now,
                    "words": _difference(was.split(", "), now.split(", ")),
                },
                proof=lambda places=(*new_place, *place): places,  # type: ignore[misc]
                identity=f"{name} {was} {now}",
            )


def _difference(was: list[str], now: list[str]) -> str:
    """What differs between two parameter lists."""
    before = {_name(parameter): parameter for parameter in was}
    after = {_name(parameter): parameter for parameter in now}
    parts = [f"takes {after[name]} as well" for name in after if name not in before]
    parts += [f"takes no {name} any more" for name in before if name not in after]
    kept = [name for name in before if name in after]
    parts += [f"{before[n]} is {after[n]} now" for n in kept if before[n] != after[n]]
    order = [name for name in after if name in before]
    if kept != order:
        parts.append("takes its parameters in another order")
    elif list(after)[: len(kept)] != kept:
        parts.append("parameters after the first new one stand elsewhere")
    return "; ".join(parts) or "is as before"


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]
