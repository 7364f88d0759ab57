"""The kernel table against facts that were taken from AITER's own generator.

The small tables were run through ``hsa/codegen.py`` of v0.1.11, v0.1.12 and v0.1.20 with pandas
2.3 and 3.1: what is read here is what those write. Some of what is refused here they take, to write
C++ that does not compile, or something that depends on the order of a directory or on the version
of pandas. The tests need neither.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.kernels import KernelTable, read_tables

HEAD = "dtype,heads,qlen,knl_name,co_name\n"
TWO = HEAD + "bf16,16,1,_Za,a.co\nfp8,32,4,_Zb,b.co\n"


def read(*texts: str | bytes, strip: bool = True) -> KernelTable:
    """The table of one or more archs: gfx1, gfx2, ..."""
    files = [(f"gfx{n}", f"hsa/gfx{n}/mod/mod_asm.csv", text) for n, text in enumerate(texts, 1)]
    return read_tables(files, strip_comments=strip)


def values(table: KernelTable, arch: str = "gfx1") -> list[tuple[object, ...]]:
    return [(*row.fields.values(), row.name) for row in table.of_arch(arch)]


PLAIN: list[tuple[object, ...]] = [("bf16", 16, 1, "_Za"), ("fp8", 32, 4, "_Zb")]


def test_a_row_knows_where_it_stands() -> None:
    table = read(TWO)
    row = table.rows[1]
    assert (row.arch, row.line, row.name) == ("gfx1", 3, "_Zb")
    assert row.file == "hsa/gfx1/mod/mod_asm.csv"
    assert row.co == "hsa/gfx1/mod/b.co"
    assert row.text == "fp8,32,4,_Zb,b.co"
    assert row.group == "mod_asm"
    assert table.columns == ("dtype", "heads", "qlen")
    assert (table.problems, table.lost, row.problem) == ((), (), None)
    assert hash(row) == hash(read(TWO).rows[1])
    with pytest.raises(TypeError):
        row.fields["heads"] = 3  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        TWO.rstrip("\n"),
        TWO.replace("\n", "\r\n"),
        TWO.replace("\n", "\r"),
        TWO.replace("\n", "\n\n \t\n"),
        "\n  \n" + TWO,
        b"\xef\xbb\xbf" + TWO.encode(),
        "\ufeff" + TWO,
        TWO.replace(",16,1", ',"16"," 1 "'),
        TWO.replace(",16", ",16.0"),
        TWO.replace(",16", ",+16"),
        TWO.replace(",16", ",016"),
        TWO.replace(",16", ",16.7"),
        TWO.replace(",16", ",1.6e1"),
        TWO.replace("bf16,16", '"bf16",16'),
    ],
)
@pytest.mark.parametrize("strip", [True, False])
def test_spellings_of_one_table(text: str | bytes, strip: bool) -> None:
    table = read(text, strip=strip)
    assert table.problems == ()
    assert values(table) == PLAIN


def test_missing_columns_are_zero() -> None:
    more = "dtype,heads,qlen,lse,knl_name,co_name\nbf16,16,1,1,_Za,a.co\n"
    table = read(TWO, more)
    assert table.problems == ()
    assert table.columns == ("dtype", "heads", "qlen", "lse")
    assert [row.fields["lse"] for row in table.rows] == [0, 0, 1]
    assert table.select("gfx2", lse=1) == table.rows[2:]
    assert table.select("gfx1", lse=1) == ()


def test_a_missing_number_is_zero() -> None:
    table = read(HEAD + "bf16,,NA,_Za,a.co\nfp8,32,4,_Zb,b.co\n")
    assert table.problems == ()
    assert values(table)[0] == ("bf16", 0, 0, "_Za")


def test_columns_that_only_another_map_has() -> None:
    files = [
        ("gfx1", "hsa/gfx1/mod/one.csv", "a,knl_name,co_name\n1,_Za,a.co\n"),
        ("gfx1", "hsa/gfx1/mod/two.csv", "t,n,knl_name,co_name\nx,1,_Za,a.co\n"),
    ]
    table = read_tables(files, strip_comments=True)
    assert (table.problems, table.lost) == ((), ())  # one name in two maps is not repeated
    assert dict(table.only("one").rows[0].fields) == {"a": 1, "t": "", "n": 0}
    assert [row.group for row in table.only("two").rows] == ["two"]


def test_a_repeated_name_loses_the_later_row() -> None:
    table = read(TWO + "bf16,64,1,_Za,c.co\n", TWO)
    assert table.problems == ()
    assert values(table) == PLAIN
    (lost,) = table.lost
    assert (lost.row.line, lost.row.fields["heads"], lost.winner.line) == (4, 64, 2)
    assert values(table, "gfx2") == PLAIN  # the key holds the arch


def test_a_name_repeated_in_two_files_is_arbitrary() -> None:
    files = [("gfx1", f"hsa/gfx1/mod/mod.{part}csv", TWO) for part in ("", "old.")]
    table = read_tables(files, strip_comments=True)
    assert "order of the directory" in (table.rows[0].problem or "")


def test_tables_in_two_folders_share_the_last_one() -> None:
    files = [("gfx1", "hsa/gfx1/mod/m.csv", TWO), ("gfx2", "hsa/gfx2/mod/sub/m.csv", TWO)]
    table = read_tables(files, strip_comments=True)
    assert table.rows[0].problem is not None
    alone = read_tables(files[1:], strip_comments=True)
    assert alone.rows[0].co == "hsa/gfx2/mod/sub/a.co"
    assert alone.problems == ()


def test_hidden_files_are_not_read() -> None:
    files = [("gfx1", "hsa/gfx1/mod/.m.csv", "nonsense")]
    assert read_tables(files, strip_comments=True) == KernelTable()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "empty"),
        (" \n\t\n", None, "empty"),
        (b"\xff\xfe" + TWO.encode("utf-16-le"), None, "UTF-8"),
        (b"\x7fELF\x02\x01" + bytes(200), 1, "U+007F"),
        (TWO.replace(",16", ",1\x006"), 2, "U+0000"),
        (TWO.replace("32", "\ufffd"), 3, "U+FFFD"),
        (TWO.replace("32", "3\u20282"), 3, "U+2028"),
        (TWO.replace("knl_name", "name"), 1, "knl_name"),
        (TWO.replace("co_name", " co_name"), 1, "co_name"),
        (TWO.replace("heads", "dtype"), 1, "repeated"),
        (TWO.replace("heads", "x heads"), 1, "'x heads'"),
        (TWO.replace("heads", ""), 1, "''"),
        (TWO.replace("heads", "_heads"), 1, "'_heads'"),
        (TWO.replace("heads", "class"), 1, "'class'"),
        (TWO.replace("heads", "path"), 1, "path"),
        (TWO.replace("a.co", "a.co,1"), 2, "6 fields"),
        (TWO.replace("b.co", "b.co,"), 3, "6 fields"),
        (TWO.replace("fp8", '"fp8'), 3, "end of data"),
        (TWO.replace("fp8", '"fp8"8'), 3, "expected after"),
        (TWO.replace("32", "many"), 3, "'many'"),
        (TWO.replace("32", "true"), 3, "'true'"),
        (TWO.replace("32", "0x20"), 3, "'0x20'"),
        (TWO.replace("32", "9" * 30), 3, "'999"),
        (TWO.replace("fp8", "8"), 3, "'8'"),
        (TWO.replace("fp8", ""), 3, "no value"),
        (TWO.replace("fp8", "null"), 3, "no value"),
        (TWO.replace("_Zb", ""), 3, "no value"),
        (TWO.replace("_Zb,b.co", "_Zb"), 3, "no value"),
        (TWO.replace("fp8", "<<<<<<< HEAD\nfp8"), 3, "no value"),
        (TWO.replace("fp8", "f\\p8"), 3, "literal"),
        (TWO.replace("fp8", '"f""8"'), 3, "literal"),
        (TWO.replace("fp8", '"f\n8"'), 3, "literal"),
        (TWO.replace("fp8", "²"), 3, "written as a number"),
        (TWO.replace("32", "-32"), 3, "does not become an int"),
        (TWO.replace("32", "0.00001"), 3, "does not become an int"),
        (TWO.replace("32", "inf"), 3, "does not become an int"),
        (TWO.replace("32", "2147483648"), 3, "does not become an int"),
        (HEAD + "x" * 200_000, 2, "field larger"),
    ],
)
def test_what_the_generator_cannot_take_is_a_problem(
    text: str | bytes, line: int | None, message: str
) -> None:
    table = read(text, TWO)
    problem = table.problem("gfx1")
    assert problem is not None
    assert message in problem.message
    assert problem.file == "hsa/gfx1/mod/mod_asm.csv"
    assert problem.line == line
    assert all(row.problem for row in table.of_arch("gfx1"))


def test_a_table_without_rows_needs_another_arch() -> None:
    problem = read(HEAD).problem("gfx1")
    assert problem is not None
    assert "no row" in problem.message
    assert read(HEAD, TWO).problems == ()


def test_one_broken_file_breaks_the_build_of_every_arch() -> None:
    table = read(TWO, "nonsense")
    assert table.problem("gfx1") is not None
    assert all(row.problem for row in table.rows)
    assert values(table) == PLAIN


def test_a_value_that_does_not_compile_breaks_its_own_arch() -> None:
    table = read(TWO, TWO.replace("32", "-32"))
    assert table.problem("gfx1") is None
    assert table.rows[0].problem is None
    assert [bool(row.problem) for row in table.of_arch("gfx2")] == [True, True]


def test_text_that_one_file_lacks_is_a_problem() -> None:
    table = read(TWO, "heads,qlen,knl_name,co_name\n16,1,_Za,a.co\n")
    assert table.problem("gfx1") is not None


def test_a_kernel_needs_a_name() -> None:
    problem = read(HEAD + "x,1,1,7,a.co\n").problem("gfx1")
    assert problem is not None
    assert "knl_name: '7'" in problem.message


def test_a_map_needs_a_name() -> None:
    table = read_tables([("gfx1", "hsa/gfx1/mod/m-1.csv", TWO)], strip_comments=True)
    assert "cannot name a map" in table.problems[0].message


def test_a_table_beyond_measure_is_refused() -> None:
    columns = ",".join(f"c{n}" for n in range(3000))
    text = f"{columns},knl_name,co_name\n" + "x\n" * 1000
    assert "too large" in read(text).problems[0].message


def test_spaces_stay_in_text() -> None:
    table = read(TWO.replace("fp8", " fp8 ").replace("_Zb", " _Zb"))
    assert values(table)[1] == (" fp8 ", 32, 4, " _Zb")


def test_the_folder_of_a_code_object_may_be_odd() -> None:
    assert read(TWO.replace("a.co", "sub/a.co")).rows[0].co == "hsa/gfx1/mod/sub/a.co"


def test_rows_of_one_key_stay_apart() -> None:
    table = read(TWO + "fp8,32,4,_Zc,c.co\n")
    assert [r.name for r in table.select("gfx1", dtype="fp8", heads=32, qlen=4)] == ["_Zb", "_Zc"]
    assert table.select("gfx1", heads="32") == ()
    assert table.select("gfx9", heads=32) == ()
    assert len(table.select("gfx1")) == 3
    assert table.archs == ("gfx1",)


def test_a_column_that_is_not_there_is_no_empty_answer() -> None:
    with pytest.raises(KeyError, match="lse"):
        read(TWO).select("gfx1", lse=0)


def test_nearest_rows() -> None:
    table = read(TWO + "fp8,48,1,_Zc,c.co\nfp8,40,1,_Zd,d.co\n")
    wanted: Mapping[str, int | str] = {"dtype": "fp8", "heads": 32, "qlen": 1}
    near = table.nearest("gfx1", wanted)
    assert [(n.row.name, n.differs) for n in near] == [
        ("_Zb", ("qlen",)),
        ("_Zd", ("heads",)),
        ("_Zc", ("heads",)),
    ]
    assert table.nearest("gfx1", {"dtype": "fp8", "lse": 1}, limit=1)[0].differs == ("lse",)
    assert table.nearest("gfx9", wanted) == ()


PIECES = ["#", "//", " ;", "/*", "*/", "\n", '"', ",", " ", "\ufeff", "\0", "x", "1", "-", "\x85"]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, len(TWO)), st.sampled_from(PIECES)), max_size=6),
    st.booleans(),
)
def test_no_edit_makes_a_row_that_was_not_written(
    edits: list[tuple[int, str]], strip: bool
) -> None:
    text = TWO
    for at, piece in edits:
        text = text[:at] + piece + text[at:]
    table = read(text, TWO, strip=strip)
    for row in (*table.rows, *(lost.row for lost in table.lost)):
        source = text if row.arch == "gfx1" else TWO
        assert row.text == source.removeprefix("\ufeff").split("\n")[row.line - 1]
        assert row.problem is not None or row.fields.keys() == set(table.columns)
        assert (row.problem is None) or table.problem(row.arch) is not None


@given(st.one_of(st.text(), st.binary()), st.booleans())
def test_nothing_raises(content: str | bytes, strip: bool) -> None:
    table = read(content, strip=strip)
    assert table.problem("gfx1") is not None
    assert table.nearest("gfx1", {"heads": 1}) is not None
