"""Pin checks: what fails, what is waived, what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.compare.diff import Kind
from mlaprobe.compare.gate import Check, check
from mlaprobe.compare.results import CLEAN, FAILED, UNKNOWN
from mlaprobe.compare.waivers import Waiver, load_waivers
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.errors import RuleError
from mlaprobe.output.results.text import summary
from mlaprobe.rulefiles.serving import Serving
from tests.padding.fake import Fake

PAIR = ((Dtype.FP8, Dtype.FP8),)
GRID = Grid(archs=("gfx950",), dtypes=PAIR, heads=(16, 32, 48), qlens=(1, 2))
KIMI = Serving(name="kimi", num_heads=32, grid=replace(GRID, heads=(32,), qlens=(1,)))


def fake(*native: int, **rules: Any) -> Fake:
    return Fake(native=lambda shape: shape.num_heads in native, **rules)


def at(heads: int) -> Any:
    def rule(shape: DecodeShape) -> bool:
        return shape.num_heads == heads

    return rule


def judged(old: Fake, new: Fake, **options: Any) -> Check:
    options.setdefault("grids", () if "served" in options else (GRID,))
    return check(old.opened, new.opened, **options)


def test_nothing_changed() -> None:
    done = judged(fake(16, 32), fake(16, 32))
    assert done.code == CLEAN
    assert done.results.changes == ()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (fake(16, 32), fake(16), FAILED),  # slower
        (fake(16, 32), fake(16, 32, no_kernel=at(16)), FAILED),  # breaks
        (fake(16), fake(16, 32), CLEAN),  # faster
        (fake(16, 32, no_kernel=at(16)), fake(16, 32), CLEAN),  # gains
        (fake(16, no_kernel=at(16)), fake(16, no_kernel=at(16)), CLEAN),  # wrong already
        (fake(16), fake(16, unknown=at(16)), UNKNOWN),
        (fake(16, 32), fake(16, unknown=at(16)), FAILED),  # what failed comes first
        (fake(16, unknown=at(16)), fake(16), CLEAN),  # nothing can have been better
        (fake(16, unknown=at(32)), fake(16), UNKNOWN),  # a fold may have been native
        (fake(16, unknown=at(16)), fake(16, unknown=at(16)), CLEAN),
    ],
)
def test_codes(old: Fake, new: Fake, code: int) -> None:
    assert judged(old, new).code == code


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (fake(16, 32), fake(16), FAILED),
        (fake(16, 32), fake(32), CLEAN),  # 16 heads are nothing that is served
        (fake(32, unknown=at(32)), fake(32, unknown=at(32)), UNKNOWN),  # it is needed
    ],
)
def test_deployments(old: Fake, new: Fake, code: int) -> None:
    done = judged(old, new, served=(KIMI,))
    assert done.code == code
    ((name, hits),) = done.results.deployments
    assert name == "kimi"
    assert bool(hits) is (code == FAILED)


def test_fail_on() -> None:
    old, new = fake(16, 32), fake(16)
    assert judged(old, new, fail_on=(Kind.BREAKS,)).code == CLEAN
    assert judged(old, new, fail_on=()).code == CLEAN
    assert judged(new, old, fail_on=(Kind.FASTER,)).code == FAILED
    assert judged(fake(16), fake(16, unknown=at(16)), fail_on=(Kind.UNKNOWN,)).code == FAILED


WAIVER = """\
waivers:
  - change: slower
    shapes: {arch: [gfx950], heads: [32]}
    reason: we pad to 64 until the next release
    until: v0.1.17
"""


def waivers(root: Path, text: str = WAIVER) -> tuple[Waiver, ...]:
    file = root / "waivers.yaml"
    file.write_text(text, encoding="utf-8")
    return load_waivers(file)


def test_a_waiver_holds(tmp_path: Path) -> None:
    done = judged(fake(16, 32), fake(16, release="v0.1.17"), waivers=waivers(tmp_path))
    assert done.code == CLEAN
    (change,) = done.results.changes
    assert change.waiver == "we pad to 64 until the next release (until v0.1.17)"
    assert summary(done.results).endswith(": the check passes")
    assert not done.results.fails(change)


@pytest.mark.parametrize(
    "text",
    [
        WAIVER.replace("slower", "breaks"),
        WAIVER.replace("[32]", "[48]"),
        # The change is about both query lengths.
        WAIVER.replace("heads: [32]", "heads: [32], qlen: [1]"),
        WAIVER + "    deployment: kimi\n",
    ],
)
def test_a_waiver_for_something_else(tmp_path: Path, text: str) -> None:
    some = waivers(tmp_path, text)
    assert judged(fake(16, 32), fake(16, release="v0.1.16"), waivers=some).code == FAILED


@pytest.mark.parametrize("new", [fake(16), fake(16, 32)])
def test_an_expired_waiver_always_fails(tmp_path: Path, new: Fake) -> None:
    new.release = "v0.1.17.post1"
    done = judged(fake(16, 32), new, waivers=waivers(tmp_path))
    assert done.code == FAILED
    (finding,) = done.results.findings
    assert finding.rule.id == "expired-waiver"
    assert finding.location is not None
    assert finding.location.line == 2
    said = summary(done.results)
    ending = "1 of them fails the check" if done.results.changes else "a waiver that has expired"
    assert said.endswith(ending)


def test_a_waiver_for_a_release_that_is_not_known(tmp_path: Path) -> None:
    done = judged(fake(16), fake(16, release=None), waivers=waivers(tmp_path))
    assert done.code == UNKNOWN
    assert [each.rule.id for each in done.results.findings] == ["undated-waiver"]
    assert "the check cannot tell" in summary(done.results)


def test_waivers_of_deployments(tmp_path: Path) -> None:
    other = replace(KIMI, name="other")
    old, new = fake(16, 32), fake(16, release="v0.1.17")
    one = waivers(tmp_path, WAIVER + "    deployment: kimi\n")
    assert judged(old, new, served=(KIMI,), waivers=one).code == CLEAN
    assert judged(old, new, served=(KIMI, other), waivers=one).code == FAILED
    both = WAIVER + "    deployment: kimi\n" + WAIVER.partition("\n")[2] + "    deployment: other\n"
    assert judged(old, new, served=(KIMI, other), waivers=waivers(tmp_path, both)).code == CLEAN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("waivers:\n  - {change: slower, reason: x}\n", "the key 'until' is missing"),
        (WAIVER.replace("v0.1.17", "soon"), "'soon' is no release"),
        (WAIVER.replace("slower", "worse"), "unknown value 'worse'"),
        (WAIVER.replace("we pad to 64 until the next release", '""'), "the text is empty"),
        ("[]\n", "a mapping expected, not a list"),
    ],
)
def test_wrong_waivers(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RuleError) as raised:
        waivers(tmp_path, text)
    assert message in raised.value.message


def test_no_waivers(tmp_path: Path) -> None:
    assert waivers(tmp_path, "waivers: []\n") == ()
