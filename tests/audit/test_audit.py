"""Decisions that an engine takes by hand, and whether they agree with a release. What AITER does
there is what its source says: docs/explanation/engines.md."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.audit.claims import Agreement, Audited, audit
from mlaprobe.audit.places import find_places, literal
from mlaprobe.audit.rules import audit_rules
from mlaprobe.cli import main
from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.opening.bundled import load
from mlaprobe.opening.shortcut import quickest
from mlaprobe.output import audit as output
from mlaprobe.output.style import plain

CALLS = "from aiter.mla import mla_decode_fwd\n"


@pytest.fixture(scope="module")
def newest() -> LiveAnswers:
    return load("v0.1.20.post1")


def judged(answers: LiveAnswers, text: str) -> list[Audited]:
    return list(audit(answers, find_places([("engine.py", CALLS + text)], audit_rules())))


def one(answers: LiveAnswers, text: str) -> tuple[Agreement, tuple[str, ...]]:
    (found,) = judged(answers, text)
    return found.agreement, found.texts


def test_a_list_of_merged_heads(newest: LiveAnswers) -> None:
    right = "_MLA_REDUCE_V1_HEADS = {64: {64}, 128: {1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128}}"
    assert one(newest, right) == (Agreement.AGREES, ())
    old = "_MLA_REDUCE_V1_HEADS = {128: frozenset({1, 2, 4, 8, 10, 16, 32, 40, 64, 80, 128})}"
    assert one(newest, old) == (
        Agreement.DISAGREES,
        ("80 are not merged at a width of 128", "48, 96 are merged at a width of 128 as well"),
    )


def test_a_longest_query(newest: LiveAnswers) -> None:
    """16 heads of bf16: to 4 tokens on gfx942, to 2 on gfx950, whose mask is wrong from 3 on."""
    agreement, texts = one(newest, "class Helper:\n    _ASM_PADDED_MAX_PS_QLEN: int = 4\n")
    assert agreement is Agreement.DISAGREES
    assert texts == ("qlen 3-4 on gfx950: ERRATUM",)
    agreement, texts = one(newest, "_MLA_ASM_PS_MAX_QLEN = 2")
    assert texts == ("qlen 3-4 on gfx942: NATIVE, and left out",)
    agreement, texts = one(newest, "_MLA_ASM_PS_MAX_QLEN = 5")
    assert "qlen 5 on gfx942: NO_KERNEL" in texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_MIN_CPRR_QLEN = 3", ()),
        ("_MIN_CPRR_QLEN = 2", ("qlen 2 on gfx950: NO_KERNEL",)),
        ("_MIN_CPRR_QLEN = 5", ("qlen 3-4 on gfx950: NATIVE, and left out",)),
        ("_MLA_MIN_HEADS = 16", ()),
        (
            "_AITER_MIN_MLA_HEADS: Final = 8",
            ("heads 8 on gfx942: REJECTED", "heads 8 on gfx950: REJECTED"),
        ),
        ("_AITER_MAX_PADDED_MLA_HEADS: Final = 128", ()),
        (
            "_AITER_MAX_PADDED_MLA_HEADS: Final = 112",
            (
                "heads 128 on gfx942: NATIVE, and left out",
                "heads 128 on gfx950: NATIVE, and left out",
            ),
        ),
        ("_MLA_SEG_PAGE_SIZE = 64", ()),
        (
            "_MLA_SEG_PAGE_SIZE = 1",
            ("page size 1 on gfx1250: REJECTED",),
        ),
    ],
)
def test_one_number(newest: LiveAnswers, text: str, expected: tuple[str, ...]) -> None:
    """Of the kernel table, the planner's list of counts and the host's page size on gfx1250."""
    agreement, texts = one(newest, text)
    assert texts == expected
    assert (agreement is Agreement.AGREES) == (not expected)


def test_the_size_of_gluon_s_cache(newest: LiveAnswers) -> None:
    """v0.1.18 is wrong beyond 2 GiB, and v0.1.20 is not."""
    text = "_GLUON_MAX_KV_CACHE_BYTES = 1 << 31"
    assert one(load("v0.1.18"), text) == (Agreement.AGREES, ())
    assert one(newest, text) == (
        Agreement.DISAGREES,
        ("a cache of 2147483649 bytes on gfx950: NATIVE, and left out",),
    )
    assert one(load("v0.1.18"), "_GLUON_MAX_KV_CACHE_BYTES = 1 << 32")[1] == (
        "a cache of 4294967296 bytes on gfx950: ERRATUM",
    )


def test_head_counts_without_a_mask(newest: LiveAnswers) -> None:
    text = "_AITER_FP8_NON_CAUSAL_QLEN2_HEADS = ({})"
    assert one(newest, text.format("32, 64, 128"))[0] is Agreement.AGREES
    assert one(newest, text.format("32, 64, 96"))[1] == (
        "heads 96 on gfx950: NO_KERNEL",
        "heads 128 on gfx950: NATIVE, and left out",
    )


def test_lengths_of_round_robin(newest: LiveAnswers) -> None:
    lengths = "{16: frozenset(range(3, 7 + 2)), 32: frozenset({2}), 64: None}"
    text = f"_MLA_ASM_CPRR_NATIVE_QLENS = {lengths}"
    agreement, texts = one(newest, text)
    assert agreement is Agreement.DISAGREES
    assert "32 heads at qlen 3-8 on gfx950: NATIVE, and left out" in texts
    assert "128 heads at qlen 1-8 on gfx950: NATIVE, and left out" in texts
    assert not any(each.startswith(("16 ", "64 ")) for each in texts)


@pytest.mark.parametrize(
    "text",
    [
        "_MLA_REDUCE_V1_HEADS = made()",
        "_MLA_REDUCE_V1_HEADS = {'a': (1,), 2: (3,)}",
        "_MLA_REDUCE_V1_HEADS = {128: heads()}",
        "_MLA_ASM_CPRR_NATIVE_QLENS = {16: lengths()}",
        "_MLA_ASM_CPRR_NATIVE_QLENS = {True: None}",
        "_NATIVE_CPRR_HEADS = 16",
        "_NATIVE_CPRR_HEADS = (10 ** 30, 16)",
        "_NATIVE_CPRR_HEADS = (99999999999999999999,)",
        "_MLA_ASM_PS_MAX_QLEN = 'four'",
        "_MLA_ASM_PS_MAX_QLEN = True",
        "_MLA_ASM_PS_MAX_QLEN = 9999999999999",
    ],
)
def test_a_value_that_is_no_literal_is_not_known(newest: LiveAnswers, text: str) -> None:
    assert one(newest, text)[0] is Agreement.UNKNOWN


def test_a_text_is_looked_for_in_the_source(newest: LiveAnswers, tmp_path: Path) -> None:
    text = "found = 'num_heads==24' in source"
    assert one(newest, text)[0] is Agreement.UNKNOWN  # a snapshot holds no text
    from tests.sources.trees import write
    from tests.trees import today

    path = "csrc/kernels/mla/metadata/v1_2_device.cuh"
    for clause, expected in (("num_heads == 24", Agreement.AGREES), ("", Agreement.DISAGREES)):
        tree = {**today.tree(), path: f"// {clause}\n" + str(today.tree()[path])}
        root = write(tmp_path / expected.name, tree)
        with quickest(str(root)) as live:
            assert one(live, text)[0] is expected


def test_what_no_rule_knows_is_listed(newest: LiveAnswers) -> None:
    text = """
if num_heads in (16, 32, 128) or self.max_qo_len == 3: ...
MAX_HEADS = 64
HEAD_DIM = 576
if head_dim == 512 or num_heads == 1 or count == 16: ...
"""
    found = judged(newest, text)
    assert {each.agreement for each in found} == {Agreement.NOT_JUDGED}
    assert [each.place.name for each in found] == ["num_heads", "max_qo_len", "MAX_HEADS"]
    assert [each.place.line for each in found] == [3, 3, 4]


def test_other_files_are_not_looked_at() -> None:
    text = "_NATIVE_CPRR_HEADS = (16,)"
    assert find_places([("a.py", text)], audit_rules()) == ()


def test_a_file_that_cannot_be_parsed_is_listed(newest: LiveAnswers) -> None:
    (found,) = judged(newest, "def broken(:\n_NATIVE_CPRR_HEADS = (16,)")
    assert found.agreement is Agreement.NOT_JUDGED
    assert found.place.line == 2
    assert "this Python cannot parse the file" in found.place.text
    assert find_places([("a.py", "def broken(:\n")], audit_rules()) == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("frozenset({1, 2})", frozenset({1, 2})),
        ("range(1, 3 + 1)", (1, 2, 3)),
        ("{1: None, 2: frozenset({3})}", {1: None, 2: frozenset({3})}),
        ("tuple([1, 2])", (1, 2)),
        ("range(10 ** 9)", None),
        ("range(9999999)", None),
        ("tuple(range(9999999))", None),
        ("{1: range(9999999)}", None),
        ("range(99999999999999999999)", None),
        ("{[1]: 2}", None),
        ("{frozenset([[1]]): 2}", None),
        ("{**other, 1: 2}", None),
        ("{16: lengths(), 32: (1,)}", None),
        ("range(1, 3, 0)", None),
        ("1 << 31", 1 << 31),
        ("4 * 1024", 4096),
        ("1 << 10 ** 9", None),
        ("1 << -1", None),
        ("open('x')", None),
        ("frozenset(names)", None),
        ("1 - 2", None),
    ],
)
def test_literals(text: str, value: Any) -> None:
    import ast

    assert literal(ast.parse(text, mode="eval").body) == value


def test_no_line_is_wider_than_the_terminal(newest: LiveAnswers) -> None:
    folder = "a/folder/of/some/length/" * 2
    file = (folder + "engine.py", CALLS + "_MLA_ASM_CPRR_NATIVE_QLENS = {16: None}\n")
    found = audit(newest, find_places([file], audit_rules()))
    lines = plain(output.audit("engine", newest.source, found, width=72)).splitlines()
    assert max(map(len, lines)) <= 72
    assert lines[:2] == [
        f"disagrees {folder}engine.py:2",
        "          _MLA_ASM_CPRR_NATIVE_QLENS",
    ]


# --- the command ---------------------------------------------------------------------------------

ENGINE = CALLS + "_MLA_ASM_PS_MAX_QLEN = 4\nLARGEST_HEADS = 128\n"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["audit", *words, "--aiter", "release:v0.1.20.post1", "-q"])
    done = capsys.readouterr()
    return code, done.out, done.err


def test_a_directory_and_a_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "engine"
    folder.mkdir()
    (folder / "back.py").write_text(ENGINE, encoding="utf-8")
    wheel = tmp_path / "engine-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("back.py", ENGINE)
    for named in (folder, wheel):
        code, out, _ = run(capsys, str(named))
        assert code == 10
        assert "disagrees back.py:2 _MLA_ASM_PS_MAX_QLEN" in out
        assert "qlen 3-4 on gfx950: ERRATUM" in out
        assert "back.py:3 LARGEST_HEADS 128" in out
        assert "1 do not agree, 1 not judged" in " ".join(out.split())


def test_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "back.py").write_text(ENGINE, encoding="utf-8")
    code, out, _ = run(capsys, str(tmp_path), "--format", "json")
    data = json.loads(out)
    assert (code, data["schema"]) == (10, 1)
    first = data["places"][0]
    assert first == {
        "file": "back.py",
        "line": 2,
        "name": "_MLA_ASM_PS_MAX_QLEN",
        "text": "4",
        "rule": "longest-with-metadata",
        "agreement": "disagrees",
        "differences": ["qlen 3-4 on gfx950: ERRATUM"],
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [("_MLA_ASM_PS_MAX_QLEN = f()\n", 11), ("MOST_HEADS = 128\n", 0), ("", 0)],
)
def test_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int
) -> None:
    (tmp_path / "back.py").write_text(CALLS + text, encoding="utf-8")
    assert run(capsys, str(tmp_path))[0] == code


def test_what_is_no_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    (tmp_path / "cut.whl").write_bytes(b"PK\3\4")
    for named in ("nowhere", "notes.txt", "cut.whl"):
        code, out, err = run(capsys, str(tmp_path / named))
        assert (code, out) == (1, "")
        assert err.startswith("error: ")
        assert "Traceback" not in err
