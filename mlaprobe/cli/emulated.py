"""``mlaprobe decode --backend emulate``: when it is taken, and what it prints."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mlaprobe.cli import machine
from mlaprobe.cli.support import emit
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.inputs import byte_count

if TYPE_CHECKING:
    from mlaprobe.core.protocols import LiveAnswers
    from mlaprobe.decode.problem import Problem
    from mlaprobe.padding.plan import PadPlan

FAILED, UNKNOWN = 10, 11
"""Exit codes: the result is not right; it is not known whether it is."""


def wanted(given: dict[str, Any]) -> bool:
    """Whether the emulator is named, or may be taken because no GPU is here."""
    from mlaprobe.decode.backends.emulate import EMULATE
    from mlaprobe.decode.backends.registry import AUTO

    if given["backend"] == EMULATE or given["kv_cache_bytes"] is not None:
        return True
    plain = given["backend"] == AUTO and given["device"] is None and not given["compare"]
    return plain and not gpu_here()


def gpu_here() -> bool:
    """Whether there is a GPU that a back end may run on."""
    from mlaprobe.system.gpu import archs

    if archs():
        return True
    if find_spec("torch") is None:
        return False
    from mlaprobe.decode.environment import default_device
    from mlaprobe.decode.tensors import NoTorchError

    try:
        return default_device() != "cpu"
    except NoTorchError:
        return False


def cache_bytes(given: dict[str, Any]) -> int:
    """The size of the KV cache that pages are spread over; 0: none was given.

    Raises:
        UsageError: it is no size.
    """
    text = given["kv_cache_bytes"]
    return 0 if text is None else byte_count(text, "--kv-cache-bytes")


def passed_over(
    answers: LiveAnswers, plan: PadPlan, problem: Problem, given: dict[str, Any]
) -> str | None:
    """Why ``auto`` does not take the emulator; ``None``: it does."""
    from mlaprobe.decode.backends.emulate import EMULATE, How, too_long, unfit

    if given["backend"] == EMULATE or given["kv_cache_bytes"] is not None:
        return None
    reason = unfit(answers, plan, problem) or too_long(
        plan, problem, How(schedules=given["schedules"])
    )
    return None if reason is None else f"{EMULATE}: {reason}"


def run(answers: LiveAnswers, plan: PadPlan, problem: Problem, given: dict[str, Any]) -> int:
    """Emulates a plan, prints what became of it, and returns the exit code."""
    from mlaprobe.decode.backends.emulate import How, emulated

    how = How(
        schedules=given["schedules"],
        seed=given["seed"],
        kv_cache_bytes=cache_bytes(given),
        force=given["force"],
    )
    with Progress("emulating AITER's kernel", quiet=given["quiet"]):
        found = emulated(answers, plan, problem, how)
    if given["format"] == "json":
        from mlaprobe.output.runs.emulated_data import emulated_json

        emit.write(emulated_json(answers.source, problem, plan, found), given["output"])
    else:
        from mlaprobe.output.runs.emulated_text import emulated as lines_of

        emit.write_text(lines_of, answers.source, problem, plan, found, output=given["output"])
    from mlaprobe.emulation.outcome import Standing  # with numpy, which there is if it has run

    if found.standing is Standing.UNKNOWN:
        return UNKNOWN
    return 0 if found.passed else FAILED


def selftest(given: dict[str, Any]) -> int:
    """Emulates the shapes of the self-test, with fewer and shorter requests."""
    from mlaprobe.decode.rules import rules
    from mlaprobe.decode.selftest_emulated import emulate_test
    from mlaprobe.output.runs.emulated_data import selftest_json
    from mlaprobe.output.runs.emulated_text import selftest as lines_of

    answers, arch = machine.answers(given), machine.arch(given)
    results = []
    with Progress("shapes run", len(rules().selftest), quiet=given["quiet"]) as progress:
        for test in rules().selftest:
            results.append(emulate_test(answers, test, arch, given["schedules"]))
            progress.step()
            if given["json"] is not None:
                emit.write(selftest_json(answers.source, arch, results), given["json"])
    if given["format"] == "json":
        emit.write(selftest_json(answers.source, arch, results), given["output"])
    else:
        emit.write_text(lines_of, answers.source, arch, results, output=given["output"])
    runs = [result.run for result in results if result.run is not None]
    if any(not run.passed and run.standing.value != "UNKNOWN" for run in runs):
        return FAILED
    return 0 if runs and all(run.passed for run in runs) else UNKNOWN
