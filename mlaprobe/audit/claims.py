"""Whether what an engine says agrees with the AITER at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.audit.places import Place
from mlaprobe.audit.rules import Claim, PlaceRule
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.shape import DecodeShape, Status, Verdict

MOST_HEADS, MOST_QLEN = 128, 8
_MOST = 4096
"""No head count, query length or width that an engine means is larger."""
_STEP = 16


class Agreement(TextEnum):
    """What a place comes to."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    UNKNOWN = "unknown"
    """AITER's answer, or the value, is not known."""
    NOT_JUDGED = "not judged"
    """No rule says what it claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A place, judged."""

    place: Place
    agreement: Agreement
    texts: tuple[str, ...] = ()
    """What does not agree, or what is not known."""


@dataclass(frozen=True, slots=True)
class _Difference:
    text: str
    unknown: bool = False


def audit(answers: LiveAnswers, places: Iterable[Place]) -> tuple[Audited, ...]:
    """Each place with what it comes to."""
    return tuple(_judged(answers, place) for place in places)


def _judged(answers: LiveAnswers, place: Place) -> Audited:
    rule = place.rule
    if rule is None:
        return Audited(place=place, agreement=Agreement.NOT_JUDGED)
    try:
        found = list(_CLAIMS[rule.claim](answers, rule, place.value))
    except _NoValueError:
        text = "its value is no literal of the kind that is expected"
        return Audited(place=place, agreement=Agreement.UNKNOWN, texts=(text,))
    texts = tuple(dict.fromkeys(each.text for each in found))
    if any(not each.unknown for each in found):
        return Audited(place=place, agreement=Agreement.DISAGREES, texts=texts)
    kind = Agreement.UNKNOWN if found else Agreement.AGREES
    return Audited(place=place, agreement=kind, texts=texts)


class _NoValueError(Exception):
    """A value is not what a claim is made of."""


def _numbers(value: Any) -> frozenset[int]:
    if not isinstance(value, (tuple, list, set, frozenset)):
        raise _NoValueError
    if not all(map(_is_count, value)):
        raise _NoValueError
    return frozenset(value)


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value <= _MOST


def _listed(numbers: Iterable[int]) -> str:
    return ranges(sorted(numbers), ", ")


# --- claims --------------------------------------------------------------------------------------


def _heads(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[_Difference]:
    claimed = _numbers(value)
    for arch in rule.archs:
        counts = sorted({*range(_STEP, MOST_HEADS + 1, _STEP), *claimed})
        shapes = {n: rule.shape(arch, num_heads=n) for n in counts}
        yield from _compared(answers, rule, shapes, claimed, "heads {} on " + arch)


def _lengths(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[_Difference]:
    if not isinstance(value, Mapping) or not all(map(_is_count, value)):
        raise _NoValueError
    lengths = range(1, MOST_QLEN + 1)
    for arch in rule.archs:
        for heads in sorted({*range(_STEP, MOST_HEADS + 1, _STEP), *value}):
            claimed: frozenset[int] = frozenset()
            if heads in value:
                held = value[heads]
                claimed = frozenset(lengths) if held is None else _numbers(held)
            shapes = {q: rule.shape(arch, num_heads=heads, qlen=q) for q in lengths}
            yield from _compared(
                answers,
                rule,
                shapes,
                claimed,
                f"{heads} heads at qlen {{}} on {arch}",
            )


def _longest(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[_Difference]:
    if not _is_count(value, 0):
        raise _NoValueError
    for arch in rule.archs:
        shapes = {q: rule.shape(arch, qlen=q) for q in range(1, MOST_QLEN + 1)}
        most = next((q - 1 for q in shapes if not _runs(answers, rule, shapes[q])), MOST_QLEN)
        claimed = frozenset(range(1, value + 1))
        # What runs behind a gap is not what the number is about.
        asked = {q: shape for q, shape in shapes.items() if q <= max(value, most)}
        yield from _compared(answers, rule, asked, claimed, "qlen {} on " + arch)


def _merged(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[_Difference]:
    if not isinstance(value, Mapping) or not all(map(_is_count, value)):
        raise _NoValueError
    rows = list(answers.reducer_rows(range(1, MOST_HEADS + 1)))
    if not rows:
        yield _Difference("the reducer's head counts are not known", unknown=True)
    for width in sorted(value) if rows else ():
        claimed = _numbers(value[width])
        known = {n: outcome.status for n, dim, outcome in rows if dim == width}
        held = frozenset(n for n, status in known.items() if status is Status.INSTANTIATED)
        open_ = frozenset(n for n, status in known.items() if status is Status.UNKNOWN)
        if claimed - held - open_:
            text = f"{_listed(claimed - held - open_)} are not merged at a width of {width}"
            yield _Difference(text)
        if held - claimed:
            text = f"{_listed(held - claimed)} are merged at a width of {width} as well"
            yield _Difference(text)
        if open_:
            text = f"whether {_listed(open_)} are merged at a width of {width} is not known"
            yield _Difference(text, unknown=True)


def _text(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[_Difference]:
    text = answers.source_text(rule.file)
    if text is None:
        yield _Difference(f"{rule.file} is not at hand", unknown=True)
    elif value not in "".join(text.split()):
        yield _Difference(f"{rule.file} has no such text")


_CLAIMS: Mapping[Claim, Callable[[LiveAnswers, PlaceRule, Any], Iterator[_Difference]]] = {
    Claim.HEADS: _heads,
    Claim.LENGTHS: _lengths,
    Claim.LONGEST: _longest,
    Claim.MERGED: _merged,
    Claim.TEXT: _text,
}


def _compared(
    answers: LiveAnswers,
    rule: PlaceRule,
    shapes: Mapping[int, DecodeShape],
    claimed: frozenset[int],
    label: str,
) -> Iterator[_Difference]:
    """What is claimed to run and does not, and what runs and is left out: numbers of one verdict
    together."""
    found: dict[tuple[str, bool], list[int]] = {}
    for number, shape in shapes.items():
        runs = _runs(answers, rule, shape)
        verdict = answers.decide(shape).verdict
        if runs is None:
            found.setdefault(("not known", True), []).append(number)
        elif number in claimed and not runs:
            found.setdefault((str(verdict), False), []).append(number)
        elif runs and number not in claimed:
            found.setdefault((f"{verdict}, and left out", False), []).append(number)
    for (text, unknown), numbers in found.items():
        yield _Difference(f"{label.format(ranges(numbers, ', '))}: {text}", unknown)


def _runs(answers: LiveAnswers, rule: PlaceRule, shape: DecodeShape) -> bool | None:
    """Whether a shape runs, as it is where that is claimed; ``None``: not known."""
    found = answers.decide(shape)
    if found.verdict is Verdict.UNKNOWN:
        return None
    unfolded = found.fold == found.qlen_fold == 1
    return found.verdict.runs and (
        unfolded or (not rule.unfolded and rule.claim is not Claim.LENGTHS)
    )
