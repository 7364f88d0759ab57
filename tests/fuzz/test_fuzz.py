"""A short run of the fuzzer; ``make fuzz`` runs more."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import Fuzzer, fuzz
from tests.fuzz.targets import TARGETS


def test_a_short_run_finds_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {what: n for what, n in fuzz(range(400), seed=1).items() if ": slow" not in what}
    assert not wrong
    said = capsys.readouterr().out
    assert all(target.name in said for target in TARGETS)


@pytest.mark.parametrize("number", [4547, 10520, 14118, 16196, 19469, 25036, 25594, 41213])
def test_what_was_found_stays_mended(number: int) -> None:
    """Snapshots whose parts do not fit together, under a checksum that does."""
    name, came = Fuzzer(2026).run(number)
    assert name == "snapshot"
    assert came in ("read", "refused")


def test_an_input_can_be_made_again() -> None:
    one, other = Fuzzer(3), Fuzzer(3)
    assert [one.make(n)[1] for n in range(20)] == [other.make(n)[1] for n in range(20)]
    assert len({one.make(n)[1] for n in range(20)}) > 15


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_seeds_are_read(target: object) -> None:
    """A seed that is refused as it is would fuzz nothing but the refusal."""
    fuzzer = Fuzzer(0)
    random = fuzzer.make(0)[2]
    chosen = next(t for t in TARGETS if t is target)
    for seed in fuzzer.seeds[chosen.name][:4]:
        chosen.read(seed, random)
