"""Every entry of the errata, on the shapes and releases that it names and their neighbours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe.core.shape import (
    Decision,
    Failure,
    Verdict,
)
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles.errata import Effect
from tests.padding.errata_cases import B16, CASES, F8, PLAIN, UNTOUCHED, decision
from tests.padding.fake import later

BY_ID = {each.id: each for each in errata.errata()}


@pytest.mark.parametrize(("name", "release", "found", "concerned"), CASES)
def test_an_erratum_concerns_what_it_names_and_no_more(
    name: str, release: str | None, found: Decision, concerned: bool
) -> None:
    entry = BY_ID[name]
    applied = errata.apply(found, release=release)
    mentioned = name in [note.split(":")[0] for note in applied.notes] or (
        applied.message or ""
    ).startswith(f"{name}:")
    assert mentioned is concerned
    if not concerned:
        return
    unset = entry.pattern.left_open(found.shape)
    if unset:
        assert applied.verdict is found.verdict
        assert f"{entry.text} ({' and '.join(unset)} not given)" in applied.notes
    elif entry.effect is Effect.AVOID:
        assert applied.verdict is Verdict.ERRATUM
        assert applied.failure is entry.failure
        assert applied.stage == "errata"
        assert applied.message == entry.text
        assert f"{name}: {entry.reference[0]}" in applied.notes
        assert applied.stages == found.stages
    else:
        assert applied.verdict is found.verdict
        assert entry.text in applied.notes


@pytest.mark.parametrize("name", sorted(UNTOUCHED))
def test_an_entry_without_effect_changes_nothing(name: str) -> None:
    release, found = UNTOUCHED[name]
    assert BY_ID[name].effect is Effect.NONE
    applied = errata.apply(found, release=release)
    assert applied.verdict is found.verdict
    assert not any(note.startswith(name) for note in applied.notes)


def test_every_entry_is_exercised() -> None:
    assert set(BY_ID) == {case[0] for case in CASES} | set(UNTOUCHED)
    for name in BY_ID:
        if name not in UNTOUCHED:
            assert {case[3] for case in CASES if case[0] == name} == {True, False}


def test_the_decided_effects() -> None:
    """Effects that somebody could want otherwise."""
    assert BY_ID["aiter-4363"].effect is Effect.NOTE
    assert BY_ID["vllm-43067"].effect is Effect.NOTE
    assert BY_ID["aiter-3095"].effect is Effect.AVOID
    assert BY_ID["aiter-4363"].last is None
    assert BY_ID["aiter-2983"].failure is Failure.ABORT


def test_a_verdict_that_does_not_run_is_left_alone() -> None:
    for verdict in Verdict:
        if not verdict.runs:
            found = decision(f"gfx942 {F8}", 64, verdict=verdict)
            assert errata.apply(found, release="v0.1.20") is found


def test_an_unknown_release_takes_open_errata_and_notes_the_others() -> None:
    found = decision(f"gfx950 {B16}", 64, page_size=64)
    for release in (None, "main", "1.2-strange release"):
        applied = errata.apply(found, release=release)
        assert applied.verdict is Verdict.NATIVE
        assert any(
            note.startswith("aiter-3095:") and "up to v0.1.13.post1" in note
            for note in applied.notes
        )
        bad = errata.apply(decision(f"gfx950 {B16}", 128, 2, **PLAIN), release=release)
        assert bad.verdict is Verdict.ERRATUM


def test_applying_twice_changes_nothing_more() -> None:
    for _, release, found, _ in CASES:
        once = errata.apply(found, release=release)
        assert errata.apply(once, release=release) == once


def test_what_is_not_concerned_is_returned_as_it_is() -> None:
    found = decision(f"gfx950 {F8}", 64)
    assert errata.apply(found, release="v0.1.20") is found


def test_notes_that_were_there_stay() -> None:
    found = replace(decision(f"gfx942 {F8}", 128), notes=("a note",))
    assert errata.apply(found, release="v0.1.20").notes[0] == "a note"


@pytest.mark.parametrize("release", ["v0.1.20", "v0.1.20.post1"])
def test_nothing_is_padded_to_a_count_that_is_known_to_be_wrong(release: str) -> None:
    """24 heads of several query tokens would be the next count that is native."""
    source = later(errata=True, release=release)
    question = {"capability": source, "arch": "gfx950", "q_dtype": "bf16", "kv_dtype": "bf16"}
    for heads in range(17, 25):
        for mode in ("auto", "force"):
            found = plan(heads, mode=mode, qlens=(2,), **question)  # type: ignore[arg-type]
            assert found.padded_num_heads == 32
    rejected = {r.num_heads: r for r in found.rejected}
    assert rejected[24].verdict is Verdict.ERRATUM
    assert "emulated-24-heads" in rejected[24].reason
    assert plan(24, **question).padded_num_heads == 24  # type: ignore[arg-type]


@pytest.mark.parametrize("release", ["v0.1.18", "v0.1.20.post1", None])
def test_heads_are_padded_to_64_with_a_note(release: str | None) -> None:
    """The reported fault at page size 1 is of a planner that is told otherwise."""
    source = later(errata=True, release=release)
    question = {"capability": source, "arch": "gfx942", "q_dtype": "fp8", "kv_dtype": "fp8"}
    for heads in (48, 50, 64):
        found = plan(heads, **question)  # type: ignore[arg-type]
        assert found.padded_num_heads == 64
        assert any("aiter-4363" in note for note in found.notes)
