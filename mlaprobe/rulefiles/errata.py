"""What people found out about AITER and its source cannot say: ``rules/errata.yaml``.

An erratum names releases or files of kernels, shapes and an effect. ``avoid`` turns a verdict that
would run into ERRATUM; ``note`` only tells. Entries with the effect ``none`` record a report that
was looked at and what covers it instead; they do nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import Operation, TextEnum
from mlaprobe.core.releases import is_release, release_key
from mlaprobe.core.shape import Decision, Failure, StageName, Verdict
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, unique_by_id
from mlaprobe.rulefiles.pattern import PATTERN, Pattern
from mlaprobe.rulefiles.schema import ListOf, MapOf, Record, Release, Text

if TYPE_CHECKING:
    from mlaprobe.sources.interface import Source

BlobOf = Callable[[str], str | None]
"""The git blob id of a file of AITER's by its path, where that is known."""
RULES = "errata"
BLOBS = "release_blobs"


class Effect(TextEnum):
    """What an erratum does to a decision."""

    AVOID = "avoid"
    NOTE = "note"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One entry of the errata."""

    id: str
    effect: Effect
    reference: tuple[str, ...]
    """Public addresses of the reports."""
    first: str | None
    """The first release that it concerns; ``None``: all up to ``last``."""
    last: str | None
    """The last release that it concerns; ``None``: all from ``first`` on."""
    pattern: Pattern
    verdicts: frozenset[Verdict]
    """Concerns decisions with these verdicts only."""
    entry: str | None
    """Concerns calls that reach this entry point only."""
    summary: str
    """What happens."""
    instead: str
    """What to do."""
    failure: Failure | None
    """How it fails; ``None``: silently."""
    blobs: frozenset[str]
    """Concerns kernels of these files only, whatever the release; empty: the release decides. A
    release decides too where it is not known which file a kernel is."""
    source_blobs: tuple[tuple[str, frozenset[str]], ...]
    """Likewise of files of AITER's source, by their paths."""

    def concerns(self, decision: Decision) -> bool:
        """Whether the decision's shape, verdict and entry point are meant, whatever the release."""
        return self._concerns_call(decision) and self.pattern.matches(decision.shape)

    def may_concern(self, decision: Decision) -> tuple[str, ...]:
        """The fields that the shape leaves unset and with which it would be meant."""
        return self.pattern.left_open(decision.shape) if self._concerns_call(decision) else ()

    def _concerns_call(self, decision: Decision) -> bool:
        if decision.verdict not in self.verdicts:
            return False
        if self.entry is None:
            return True
        dispatcher = decision.outcome(StageName.DISPATCHER)
        return dispatcher is not None and dispatcher.entry == self.entry

    def means_files(self, decision: Decision, blob_of: BlobOf) -> bool | None:
        """Whether a kernel of the decision, or a file of its source, is one of the files; ``None``
        where the erratum names none, or where it is not known which files these are."""
        if self.source_blobs:
            held = [(blob_of(path), blobs) for path, blobs in self.source_blobs]
            known = [blob in blobs for blob, blobs in held if blob is not None]
            return any(known) if known else None
        files = {kernel.blob for kernel in decision.kernels}
        if not self.blobs or not files or None in files:
            return None
        return not self.blobs.isdisjoint(files)

    @property
    def by_files(self) -> bool:
        """Whether files decide, where they are known, and not the release."""
        return bool(self.blobs or self.source_blobs)

    def covers(self, release: str) -> bool:
        """Whether a release lies in the range."""
        key = release_key(release)
        return (self.first is None or release_key(self.first) <= key) and (
            self.last is None or key <= release_key(self.last)
        )

    @property
    def avoids(self) -> bool:
        """Whether it turns verdicts that would run into ERRATUM."""
        return self.effect is Effect.AVOID

    @property
    def text(self) -> str:
        """The erratum in one line, as notes and messages show it."""
        return f"{self.id}: {self.summary}; {self.instead}"


_BLOBS = ListOf(
    Text(pattern="[0-9a-f]{40}", form="a git blob id of 40 hex digits"), at_least=1, unique=True
)
_ENTRY = Record(
    required={
        "id": SLUG,
        "effect": Text(choices=tuple(map(str, Effect))),
        "reference": REFERENCES,
        "summary": Text(),
        "instead": Text(),
        # Why this effect and no other: for the next person who looks at the report.
        "reason": Text(),
    },
    optional={
        "releases": Record(optional={"first": Release(), "last": Release()}),
        "shapes": PATTERN,
        "verdict": ListOf(Text(choices=("NATIVE", "FOLDED")), at_least=1, unique=True),
        "entry": Text(),
        "failure": Text(choices=tuple(map(str, Failure))),
        "blobs": _BLOBS,
        "source_blobs": MapOf(_BLOBS),
    },
)
SCHEMA = Record(required={"errata": unique_by_id(_ENTRY)})
BLOB_SCHEMA = Record(
    required={
        "files": ListOf(Text(), at_least=1, unique=True),
        "releases": MapOf(
            Text(pattern="[0-9a-f]{40}", form="a fingerprint of 40 hex digits"), key=Release()
        ),
    }
)


@cached(Cache.RULES)
def errata() -> tuple[Erratum, ...]:
    """All errata, in the order of the file.

    Raises:
        RuleError: the file is wrong.
    """
    return tuple(map(_erratum, load_rules(RULES, SCHEMA)["errata"]))


@cached(Cache.RULES, 128)
def _of(release: str | None) -> tuple[Erratum, ...]:
    """Those that can matter to a release; all where it is unknown."""
    active = (e for e in errata() if e.effect is not Effect.NONE)
    return tuple(e for e in active if release is None or e.by_files or e.covers(release))


@cached(Cache.RULES, 256)
def _about(release: str | None, op: Operation) -> tuple[Erratum, ...]:
    """Those of them that mean shapes of an operation."""
    return tuple(e for e in _of(release) if e.pattern.op is op)


def _erratum(entry: Mapping[str, Any]) -> Erratum:
    releases = entry.get("releases", {})
    failure = entry.get("failure")
    return Erratum(
        id=entry["id"],
        effect=Effect(entry["effect"]),
        reference=tuple(entry["reference"]),
        first=releases.get("first"),
        last=releases.get("last"),
        pattern=Pattern(entry.get("shapes", {})),
        verdicts=frozenset(map(Verdict, entry.get("verdict", ("NATIVE", "FOLDED")))),
        entry=entry.get("entry"),
        summary=entry["summary"],
        instead=entry["instead"],
        failure=None if failure is None else Failure(failure),
        blobs=frozenset(entry.get("blobs", ())),
        source_blobs=tuple(
            (path, frozenset(b)) for path, b in entry.get("source_blobs", {}).items()
        ),
    )


def avoided(release: str | None) -> tuple[Erratum, ...]:
    """The errata that can change a verdict of a release (see ``apply``); the others only tell.

    Raises:
        RuleError: the rules are wrong.
    """
    known = _known(release)
    return tuple(
        e for e in _of(known) if e.avoids and (known is not None or e.by_files or e.last is None)
    )


def _known(release: str | None) -> str | None:
    return release if release is not None and is_release(release) else None


def apply(
    decision: Decision,
    *,
    release: str | None,
    how: str = "",
    blob_of: BlobOf = lambda path: None,
) -> Decision:
    """The decision with what is known of its release: ERRATUM where a running verdict is known
    to be bad there, else with notes. Decisions that do not run are left as they are.

    Args:
        release: the source's release, or the one that it is taken as. ``None`` or no release's
            name: an erratum without a last release applies, the others become notes.
        how: why it is taken as that release, where it is none.
        blob_of: the git blob id of a file of the source by its path; ``None`` where that is not
            known.

    Raises:
        RuleError: the rules are wrong.
    """
    if not decision.verdict.runs:
        return decision
    known = _known(release)
    notes = list(decision.notes)
    for erratum in _about(known, decision.shape.op):
        certain = erratum.concerns(decision)
        unset = () if certain else erratum.may_concern(decision)
        if not (certain or unset):
            continue
        meant = by_file = erratum.means_files(decision, blob_of)
        if meant is None and known is not None:
            meant = erratum.covers(known)
        text = erratum.text + (f" (of {known}: {how})" if how and by_file is None else "")
        if meant is None and erratum.last is not None:
            _add(notes, f"{text} (up to {erratum.last}; this release is unknown)")
        elif meant is not False and erratum.avoids and certain:
            return _avoided(decision, erratum, text, notes)
        elif meant is not False:
            _add(notes, f"{text} ({' and '.join(unset)} not given)" if unset else text)
    return decision if len(notes) == len(decision.notes) else replace(decision, notes=tuple(notes))


def _avoided(decision: Decision, erratum: Erratum, text: str, notes: list[str]) -> Decision:
    for reference in erratum.reference:
        _add(notes, f"{erratum.id}: {reference}")
    return replace(
        decision,
        verdict=Verdict.ERRATUM,
        failure=erratum.failure,
        stage="errata",
        message=text,
        notes=tuple(notes),
    )


def _add(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def release_of(source: Source) -> str | None:
    """The release of a source: as it says itself, else the one whose files it has, blob by blob;
    the last of several. ``None`` where no release has them.

    Raises:
        RuleError: the rules are wrong.
        SourceError: a file cannot be read.
    """
    if source.release is not None and is_release(source.release):
        return source.release
    rules = load_rules(BLOBS, BLOB_SCHEMA)
    held = fingerprint(source, rules["files"])
    same = [release for release, print_ in rules["releases"].items() if print_ == held]
    return max(same, key=release_key, default=None)


def fingerprint(source: Source, files: Iterable[str]) -> str:
    """One hash over the blob hashes of some files; a file that is not there counts as such."""
    blobs = "".join(f"{path} {source.blob(path) or '-'}\n" for path in files)
    return blob_hash(blobs.encode())
