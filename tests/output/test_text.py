"""Escapes, words for shells, and colour."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Verdict
from mlaprobe.output import commands
from mlaprobe.output.cells import WORDS, cell
from mlaprobe.output.escape import markdown, markdown_code, printable
from mlaprobe.output.style import STYLES, Span, line, rich_text
from mlaprobe.reports.survey import Answer


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve, 漢字", "naïve, 漢字"),
        ("a\tb\r\n", "a\\tb\\r\\n"),
        ("\x1b[31m\x00\x9b", "\\x1b[31m\\x00\\x9b"),
        ("\u202eabc\u200b", "\\u202eabc\\u200b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_nothing_gets_out_of_a_line(text: str) -> None:
    for shown in (printable(text), markdown(text), markdown_code(text)):
        assert shown.isprintable()
        assert len(shown.splitlines()) <= 1


def test_markdown_code() -> None:
    assert markdown_code("a|b") == "`a\\|b`"
    assert markdown_code("a`b") == "``a`b``"
    assert markdown_code("`a") == "`` `a ``"
    assert markdown_code(" ") == ""


def shape(**fields: Any) -> DecodeShape:
    given = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "num_heads": 48, **fields}
    return DecodeShape(**given)


def test_commands_name_what_is_not_default() -> None:
    plain = shape()
    command = commands.explain(plain, "installed")
    assert command == "mlaprobe explain --arch gfx950 --dtype fp8/fp8 --heads 48"
    everything = shape(
        qlen=4,
        lse=True,
        persistent=False,
        causal=False,
        cp_round_robin=True,
        batch=2,
        page_size=64,
        route="gluon",
        env={"A": "x y"},
        planner={"q_dtype": None, "kv_dtype": Dtype.FP8, "num_heads": 3, "fast_mode": False},
    )
    words = shlex.split(commands.explain(everything, "/a b@v1"))
    assert words[2:4] == ["--aiter", "/a b@v1"]
    assert words[-8:] == [
        *("--planner", "q_dtype=none", "--planner", "kv_dtype=fp8"),
        *("--planner", "num_heads=3", "--planner", "fast_mode=0"),
    ]
    said = commands.in_words(everything)
    assert "planner told q_dtype nothing, kv_dtype fp8, num_heads 3, fast_mode off" in said
    assert "A=x y" in said
    assert commands.in_words(plain) == ""


@pytest.mark.parametrize("text", ["", "a b", "it's", "a\nb", "\x1b[0m", "$(x)", "\\'\x01", "é"])
def test_words_for_a_shell(text: str) -> None:
    quoted = commands.quote(text)
    assert printable(quoted) == quoted
    script = f"printf %s {quoted}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == text


def test_every_verdict_has_words() -> None:
    assert set(WORDS) == set(Verdict)
    assert {word.style for word in WORDS.values()} <= set(STYLES)
    assert len({word.short for word in WORDS.values()}) == len(WORDS)


def decision(verdict: Verdict, fold: int = 1, qlen_fold: int = 1) -> Decision:
    return Decision(shape=shape(), verdict=verdict, fold=fold, qlen_fold=qlen_fold)


def test_cells() -> None:
    native = decision(Verdict.NATIVE)
    gap = cell(Answer(decision=native, with_lse=decision(Verdict.NO_KERNEL)))
    assert (gap.long, gap.short) == ("native*", "N*")
    assert cell(Answer(decision=native, with_lse=native)).long == "native"
    both = cell(Answer(decision=decision(Verdict.FOLDED, fold=3, qlen_fold=2)))
    assert (both.long, both.short) == ("fold 3+qfold 2", "F3Q2")
    assert cell(Answer(decision=decision(Verdict.FOLDED, qlen_fold=2))).long == "qfold 2"


def test_colour_changes_no_character() -> None:
    lines = [line("a ", Span("[bold]b[/]", "native")), (), line(Span("c", "dim"))]
    text = rich_text(lines)
    assert text.plain == "a [bold]b[/]\n\nc\n"
    assert [str(span.style) for span in text.spans] == ["bold green", "dim"]
