"""Comments in a kernel table, and whether a generator drops them."""

from __future__ import annotations

import pytest

from mlaprobe.kernels import KernelTable, comment_rule, read_tables

HEAD = "dtype,heads,qlen,knl_name,co_name\n"
TWO = HEAD + "bf16,16,1,_Za,a.co\nfp8,32,4,_Zb,b.co\n"


def read(text: str, *, strip: bool = True) -> KernelTable:
    return read_tables([("gfx1", "hsa/gfx1/mod/mod_asm.csv", text)], strip_comments=strip)


def values(table: KernelTable) -> list[tuple[object, ...]]:
    return [(*row.fields.values(), row.name) for row in table.rows]


PLAIN: list[tuple[object, ...]] = [("bf16", 16, 1, "_Za"), ("fp8", 32, 4, "_Zb")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TWO.replace("fp8", "# note\n  // note\n; note\nfp8"), [2, 6]),
        (TWO.replace("a.co", "a.co # note").replace("b.co", "b.co // note"), [2, 3]),
        (TWO.replace("a.co", "a.co ; note, more").replace("b.co", "b.co\t;"), [2, 3]),
        (TWO.replace("fp8", "/* one\ntwo */fp8"), [2, 4]),
        (TWO.replace("bf16", "/* a */bf/* b */16/**/"), [2, 3]),
        ("/* head\n */\n" + TWO + "/* open\nfp8,1,1,_Zc,c.co\n", [4, 5]),
        (TWO.replace("_Za", "_/*\n\n*/Za"), [2, 5]),
        (TWO.replace("fp8", "//*/* x */* y */\nfp8"), [2, 4]),
        (TWO.replace("fp8", "/* # */# note\nfp8"), [2, 4]),
    ],
)
def test_comments_are_dropped_and_lines_still_right(text: str, lines: list[int]) -> None:
    table = read(text)
    assert table.problems == ()
    assert values(table) == PLAIN
    assert [row.line for row in table.rows] == lines
    for row in table.rows:
        assert row.text == text.split("\n")[row.line - 1]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TWO.replace("fp8", "//*1*/*2\n3*/fp8").replace("_Zb", "_Z//*x*//*y*/*z\n*/b"), [2, 4]),
        (TWO.replace("_Za", "_/*x*///*x*/*y\n*/Za"), [2, 4]),
    ],
)
def test_a_mark_may_come_about_where_a_comment_was(text: str, lines: list[int]) -> None:
    # "/" and "*" meet once the comment between them is gone
    table = read(text)
    assert values(table) == PLAIN
    assert [row.line for row in table.rows] == lines


@pytest.mark.parametrize("value", ["http://x", "a;b", '"a # b"', '"a ;b//c"'])
def test_what_is_no_comment(value: str) -> None:
    table = read(TWO.replace("fp8", value))
    assert table.problems == ()
    assert table.rows[1].fields["dtype"] == value.strip('"')


def test_a_row_that_is_commented_out_is_gone() -> None:
    assert values(read(TWO.replace("fp8", "# fp8"))) == PLAIN[:1]


@pytest.mark.parametrize("comment", ["# note\n", "// a\n", "; a\n", "/* a */\n"])
def test_a_comment_breaks_a_generator_that_knows_none(comment: str) -> None:
    table = read(HEAD + comment + "bf16,16,1,_Za,a.co\n", strip=False)
    assert table.problem("gfx1") is not None


OLD = "import os, pandas as pd\narchs = os.environ['A'].split(';')\n"
PREPARED = """
def strip(text):
    "Drops /* */, //, # and ;."
    for mark in ("//", "#", ";"):
        text = text.split(mark)[0]
    return text[: text.find("/*")] + text[text.find("*/") :]
def load(path):
    return pd.read_csv(StringIO(strip(open(path).read())))
"""
NESTED = f"""
def main(path):
    frame = load(path)
    def load(path):
{PREPARED.split("def load(path):")[1].replace("    ", "        ")}
main(name)
""" + PREPARED.split("def load")[0]


@pytest.mark.parametrize(
    ("text", "strip", "sure"),
    [
        (OLD + "frame = pd.read_csv(name)", False, True),
        (OLD + PREPARED + "frame = load(name)", True, True),
        (OLD + NESTED, True, True),
        (OLD + PREPARED + "frame = pd.read_csv(name)", False, True),
        (OLD + PREPARED.replace('"*/"', '"+/"') + "frame = load(name)", True, False),
        (OLD + "frame = pd.read_csv(name, comment='#')", True, False),
        (OLD + "frame = pd.read_csv(StringIO(clean(name)))", True, False),
        (OLD + "import tables\nframe = tables.load(name)", True, False),
        (OLD + "def f(:", True, False),
        ("\0", True, False),
        ("(" * 100_000, True, False),
        (None, True, False),
    ],
)
def test_a_generator_shows_whether_it_drops_comments(
    text: str | None, strip: bool, sure: bool
) -> None:
    rule = comment_rule(text)
    assert (rule.strip, rule.note is None) == (strip, sure)
