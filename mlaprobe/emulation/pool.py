"""Runs cases on all cores, and keeps results in a file so that a run can go on where it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.case import Case, CaseResult
from mlaprobe.emulation.matrix import How, blob_of, run_case
from mlaprobe.errors import InputFileError

Keep = Callable[[CaseResult], None]


class Record:
    """A file of results, one JSON object a line, which grows while cases are run."""

    def __init__(self, path: Path | None) -> None:
        """
        Raises:
            InputFileError: the file is there, and holds something else.
        """
        self._path = path
        self._known: dict[tuple[str | None, ...], CaseResult] = {}
        if path is not None and path.exists():
            for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
                self._read(text, number)

    def _read(self, text: str, number: int) -> None:
        try:
            result = CaseResult.of(json.loads(text))
        except (ValueError, TypeError, KeyError):
            raise InputFileError(
                f"{self._path} holds something else than results of kernels",
                hint="name another file, or none",
                file=str(self._path),
                line=number,
            ) from None
        self._known[result.key] = result

    def known(self, capability: Capability, case: Case, how: How) -> CaseResult | None:
        """The result of a case that was run in the same way, of the same file of code."""
        blob = blob_of(capability, case.co)
        return self._known.get((blob, case.symbol, case.id, how.of(case)))

    def keep(self, result: CaseResult) -> None:
        """Adds a result."""
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result.row()) + "\n")


def run_cases(
    source: str,
    capability: Capability,
    cases: Sequence[Case],
    how: How,
    *,
    record: Record,
    jobs: int = 1,
    keep: Keep = lambda result: None,
) -> tuple[CaseResult, ...]:
    """The results of cases, in their order.

    Args:
        source: what ``capability`` was made of: each further process opens it for itself.
        record: results that are known already; new ones are added.
        jobs: processes.
        keep: called with each result as it comes.
    """
    found = {at: record.known(capability, case, how) for at, case in enumerate(cases)}
    for known in filter(None, found.values()):
        keep(known)
    left = [at for at, known in found.items() if known is None]
    run = partial(run_case, how=how)
    for at, result in _run(source, capability, cases, left, run, jobs):
        found[at] = result
        record.keep(result)
        keep(result)
    return tuple(result for result in found.values() if result is not None)


def _run(
    source: str,
    capability: Capability,
    cases: Sequence[Case],
    left: Sequence[int],
    run: Callable[[Capability, Case], CaseResult],
    jobs: int,
) -> Iterator[tuple[int, CaseResult]]:
    if jobs <= 1 or len(left) <= 1:
        yield from ((at, run(capability, cases[at])) for at in left)
        return
    # Not forked: a repository is read through a process of its own, which cannot be shared.
    with ProcessPoolExecutor(
        min(jobs, len(left)), get_context("spawn"), initializer=_open, initargs=(source,)
    ) as pool:
        futures = {pool.submit(_run_here, cases[at], run): at for at in left}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_HERE: list[Capability] = []
"""The source as this process of a pool has opened it."""


def _open(source: str) -> None:
    _HERE[:] = [Capability.open(source)]


def _run_here(case: Case, run: Callable[[Capability, Case], CaseResult]) -> CaseResult:
    return run(_HERE[0], case)
