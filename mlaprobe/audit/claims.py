"""Whether what an engine says agrees with the AITER at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlaprobe.audit.bounds import MOST_QLEN, STEP, bound, longest
from mlaprobe.audit.comparing import Difference, NoValueError, compared, is_count, numbers
from mlaprobe.audit.places import Place
from mlaprobe.audit.rules import Claim, PlaceRule
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.shape import Status

MOST_HEADS = 128


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


def audit(answers: LiveAnswers, places: Iterable[Place]) -> tuple[Audited, ...]:
    """Each place with what it comes to."""
    return tuple(_judged(answers, place) for place in places)


def _judged(answers: LiveAnswers, place: Place) -> Audited:
    rule = place.rule
    if rule is None:
        return Audited(place=place, agreement=Agreement.NOT_JUDGED)
    try:
        found = list(_CLAIMS[rule.claim](answers, rule, place.value))
    except NoValueError:
        text = "its value is no literal of the kind that is expected"
        return Audited(place=place, agreement=Agreement.UNKNOWN, texts=(text,))
    texts = tuple(dict.fromkeys(each.text for each in found))
    if any(not each.unknown for each in found):
        return Audited(place=place, agreement=Agreement.DISAGREES, texts=texts)
    kind = Agreement.UNKNOWN if found else Agreement.AGREES
    return Audited(place=place, agreement=kind, texts=texts)


def _listed(numbers: Iterable[int]) -> str:
    return ranges(sorted(numbers), ", ")


# --- claims --------------------------------------------------------------------------------------


def _heads(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    claimed = numbers(value)
    for arch in rule.archs:
        counts = sorted({*range(STEP, MOST_HEADS + 1, STEP), *claimed})
        shapes = {n: rule.shape(arch, num_heads=n) for n in counts}
        yield from compared(answers, rule, shapes, claimed, "heads {} on " + arch)


def _lengths(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    if not isinstance(value, Mapping) or not all(map(is_count, value)):
        raise NoValueError
    lengths = range(1, MOST_QLEN + 1)
    for arch in rule.archs:
        for heads in sorted({*range(STEP, MOST_HEADS + 1, STEP), *value}):
            claimed: frozenset[int] = frozenset()
            if heads in value:
                held = value[heads]
                claimed = frozenset(lengths) if held is None else numbers(held)
            shapes = {q: rule.shape(arch, num_heads=heads, qlen=q) for q in lengths}
            yield from compared(
                answers,
                rule,
                shapes,
                claimed,
                f"{heads} heads at qlen {{}} on {arch}",
                unfolded=True,
            )


def _merged(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    if not isinstance(value, Mapping) or not all(map(is_count, value)):
        raise NoValueError
    rows = list(answers.reducer_rows(range(1, MOST_HEADS + 1)))
    if not rows:
        yield Difference("the reducer's head counts are not known", unknown=True)
    for width in sorted(value) if rows else ():
        claimed = numbers(value[width])
        known = {n: outcome.status for n, dim, outcome in rows if dim == width}
        held = frozenset(n for n, status in known.items() if status is Status.INSTANTIATED)
        open_ = frozenset(n for n, status in known.items() if status is Status.UNKNOWN)
        if claimed - held - open_:
            text = f"{_listed(claimed - held - open_)} are not merged at a width of {width}"
            yield Difference(text)
        if held - claimed:
            text = f"{_listed(held - claimed)} are merged at a width of {width} as well"
            yield Difference(text)
        if open_:
            text = f"whether {_listed(open_)} are merged at a width of {width} is not known"
            yield Difference(text, unknown=True)


def _text(answers: LiveAnswers, rule: PlaceRule, value: Any) -> Iterator[Difference]:
    text = answers.source_text(rule.file)
    if text is None:
        yield Difference(f"{rule.file} is not at hand", unknown=True)
    elif value not in "".join(text.split()):
        yield Difference(f"{rule.file} has no such text")


_CLAIMS: Mapping[Claim, Callable[[LiveAnswers, PlaceRule, Any], Iterator[Difference]]] = {
    Claim.HEADS: _heads,
    Claim.LENGTHS: _lengths,
    Claim.LONGEST: longest,
    **dict.fromkeys(
        (Claim.SHORTEST, Claim.LEAST, Claim.MOST, Claim.BYTES, Claim.PAGE),
        bound,
    ),
    Claim.MERGED: _merged,
    Claim.TEXT: _text,
}
