"""What holds for every kind of source alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.errors import NotAiterError, OutOfRangeError, SourceError
from mlaprobe.sources import (
    MAX_BYTES,
    Source,
    SourceFile,
    blob_hash,
    canonical,
    open_source,
    require_aiter,
)
from tests.sources.trees import (
    CHECKOUT,
    OLD,
    STRANGER,
    Tree,
    git,
    installed,
    with_metadata,
    write,
    write_git,
    write_tar,
    write_zip,
)

Make = Callable[[Path, Tree], str]


def _bare(root: Path, tree: Tree) -> str:
    work = write_git(root / "work", tree)
    git(root, "clone", "--quiet", "--template=", "--bare", str(work), "bare.git")
    return f"{root / 'bare.git'}@v0.1.20"


MAKERS: dict[str, Make] = {
    "checkout": lambda root, tree: str(write(root / "tree", tree)),
    "site-packages": lambda root, tree: str(write(root / "site", installed(tree))),
    "package": lambda root, tree: str(write(root / "site", installed(tree)) / "aiter"),
    "work tree at a tag": lambda root, tree: f"{write_git(root / 'work', tree)}@v0.1.20",
    "bare repository": _bare,
    "wheel": lambda root, tree: str(
        write_zip(root / "a.whl", with_metadata(installed(tree), "amd-aiter"))
    ),
    "zip": lambda root, tree: str(
        write_zip(root / "a.zip", {f"aiter-0.1.20/{k}": v for k, v in tree.items()})
    ),
    "sdist": lambda root, tree: str(write_tar(root / "a.tar.gz", tree, top="amd_aiter-0.1.20")),
    "tgz": lambda root, tree: str(write_tar(root / "a.tgz", tree, top="aiter")),
    "bz2": lambda root, tree: str(write_tar(root / "a.tar.bz2", tree, "bz2", top=".")),
}


@pytest.fixture(params=MAKERS, ids=lambda name: name.replace(" ", "-"))
def make(request: pytest.FixtureRequest) -> Make:
    return MAKERS[request.param]


def test_answers_alike(make: Make, tmp_path: Path) -> None:
    spec = make(tmp_path, CHECKOUT)
    with open_source(spec) as source:
        assert source.label == spec
        require_aiter(source)
        for path, data in CHECKOUT.items():
            expected = data.encode() if isinstance(data, str) else data
            file = source.read(path)
            assert file is not None
            assert (file.path, file.data) == (path, expected)
            assert file.blob == source.blob(path) == blob_hash(expected)
            assert file.is_binary is (b"\0" in expected)
            assert source.exists(path)
            assert source.read(path) is file, "a file is read once"
        assert source.list("hsa") == ("hsa/gfx950/mla/mla_asm.csv", "hsa/gfx950/mla/one.co")
        assert source.list("hsa/gfx950/mla/") == source.list("hsa")
        assert source.list("hsa/gfx95") == source.list("hsa/none") == ()
        assert set(CHECKOUT) <= set(source.list())
        assert source.read("csrc/../csrc/./include/mla.h") is source.read("csrc/include/mla.h")


# Not a parameter: a repository for each of them would take most of the suite's time.
NO_FILES = (
    *("", ".", "..", "../x", "csrc/../../x", "/etc/passwd", "csrc", "csrc/include"),
    *("csrc/include/mla.h/x", "csrc/none.h", "a\\b", "a\nb", "a\0b", "x" * 5000, "csrc/é"),
)


def test_names_no_file(make: Make, tmp_path: Path) -> None:
    with open_source(make(tmp_path, CHECKOUT)) as source:
        for path in NO_FILES:
            answers = (source.read(path), source.exists(path), source.blob(path))
            assert answers == (None, False, None), path[:40]


def test_a_huge_file_is_refused_and_there(make: Make, tmp_path: Path) -> None:
    huge = {**CHECKOUT, "csrc/huge.cu": b" " * (MAX_BYTES + 1)}
    with open_source(make(tmp_path, huge)) as source:
        assert source.exists("csrc/huge.cu")
        with pytest.raises(SourceError, match="too large") as caught:
            source.read("csrc/huge.cu")
        assert caught.value.file == "csrc/huge.cu"
        assert source.read("aiter/mla.py"), "and the rest still works"


def test_older_than_the_planner(make: Make, tmp_path: Path) -> None:
    with (
        open_source(make(tmp_path, OLD)) as source,
        pytest.raises(OutOfRangeError, match=r"is older than v0\.1\.6\.post2, the first") as caught,
    ):
        require_aiter(source)
    assert caught.value.exit_code == 1
    said, next_step = caught.value.render().splitlines()
    assert said.startswith("error: ")
    assert next_step == "help: name a newer one, for example --aiter REPO@v0.1.6.post2"


def test_something_else(make: Make, tmp_path: Path) -> None:
    spec = make(tmp_path, {"torch/__init__.py": "", "csrc/attention/a.cu": "", "setup.py": ""})
    with open_source(spec) as source, pytest.raises(NotAiterError, match="there is no AITER"):
        require_aiter(source)


def test_the_package_of_the_same_name(tmp_path: Path) -> None:
    tree = with_metadata(STRANGER, "aiter", "0.13.20191203")
    for spec in (write(tmp_path / "site", tree), write_zip(tmp_path / "a.whl", tree)):
        with open_source(str(spec)) as source, pytest.raises(NotAiterError, match="PyPI's unrel"):
            require_aiter(source)


@pytest.mark.parametrize(
    "tree",
    [
        {"csrc/include/mla_decode_shape.h": "", "aiter/mla.py": ""},
        {"csrc/kernels/mla/planner/new.cuh": "", "csrc/py_itfs_cu/asm_mla.cu": ""},
        {"aiter/mla.py": ""},
    ],
    ids=["rules in a header", "another folder", "no C++ at all"],
)
def test_other_layouts_are_let_in(tmp_path: Path, tree: Tree) -> None:
    require_aiter(open_source(str(write(tmp_path, tree))))


def test_text_is_what_an_editor_shows() -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\rthree\n\xff"
    file = SourceFile(path="a", data=data, blob=blob_hash(data))
    assert file.text == "one\ntwo\nthree\n�"
    assert not file.is_binary


def test_blob_hash_is_gits() -> None:
    assert blob_hash(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@given(st.text(alphabet="a./\\\n", max_size=12))
def test_canonical_stays_inside(path: str) -> None:
    found = canonical(path)
    if found:
        assert not found.startswith(("/", "../"))
        assert ".." not in found.split("/")
        assert canonical(found) == found


def test_closing_twice_and_reading_on(make: Make, tmp_path: Path) -> None:
    source: Source = open_source(make(tmp_path, CHECKOUT))
    first = source.read("aiter/mla.py")
    source.close()
    source.close()
    assert source.read("aiter/mla.py") is first
    assert "aiter" in repr(source) or str(tmp_path) in repr(source)
