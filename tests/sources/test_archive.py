"""Archives: what they say of themselves, damaged ones and hostile ones."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from mlaprobe.errors import NotAiterError, SourceError
from mlaprobe.sources import MAX_BYTES, open_source, require_aiter
from mlaprobe.sources import archive as module
from mlaprobe.sources.archive import ArchiveSource
from tests.sources.trees import (
    CHECKOUT,
    METADATA,
    installed,
    with_metadata,
    write_tar,
    write_zip,
)


def test_a_wheel_says_what_it_is(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.whl", with_metadata(installed(), version="0.1.20+rocm7"))
    with open_source(str(file)) as source:
        assert (source.kind, source.release, source.commit) == ("archive", "0.1.20+rocm7", None)
        assert source.distribution == ("amd-aiter", "0.1.20+rocm7")


def test_an_sdist_says_what_it_is(tmp_path: Path) -> None:
    tree = {**CHECKOUT, "PKG-INFO": METADATA.format("amd-aiter", "0.1.9")}
    with open_source(str(write_tar(tmp_path / "a.tar.gz", tree, top="amd_aiter-0.1.9"))) as source:
        assert source.release == "0.1.9"


@pytest.mark.parametrize(
    ("top", "release"), [("aiter-0.1.20", "0.1.20"), ("aiter-main", None), ("aiter", None)]
)
def test_a_download_is_named_after_its_tag(tmp_path: Path, top: str, release: str | None) -> None:
    with open_source(str(write_tar(tmp_path / "a.tgz", CHECKOUT, top=top))) as source:
        assert source.release == release
        require_aiter(source)


def test_the_version_file_is_a_hint(tmp_path: Path) -> None:
    tree = {**CHECKOUT, "aiter/_version.py": "version = '0.1.8'\n"}
    with open_source(str(write_zip(tmp_path / "a.zip", tree))) as source:
        assert source.release == "0.1.8"


def test_modules_under_data(tmp_path: Path) -> None:
    tree = {f"amd_aiter-1.0.data/purelib/{k}": v for k, v in installed().items()}
    with open_source(str(write_zip(tmp_path / "a.whl", with_metadata(tree)))) as source:
        require_aiter(source)
        assert source.read("csrc/include/mla.h")


def test_a_wheel_of_something_else(tmp_path: Path) -> None:
    tree = with_metadata({"torch/__init__.py": ""}, "torch", "2.0")
    with (
        open_source(str(write_zip(tmp_path / "t.whl", tree))) as source,
        pytest.raises(NotAiterError, match=r"no AITER in .*t\.whl: it holds torch 2\.0"),
    ):
        require_aiter(source)


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("notes")
    with pytest.raises(NotAiterError, match="is a file, and not an archive"):
        open_source(str(file))


@pytest.mark.parametrize("name", ["a.whl", "a.zip", "a.tar.gz", "a.tgz", "a.tar.bz2"])
@pytest.mark.parametrize("data", [b"", b"PK\3\4 not really", b"\x1f\x8b\x08" + b"x" * 600])
def test_damaged(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=f"cannot read the archive .*{name}: .") as caught:
        open_source(str(tmp_path / name))
    assert "tarball" in str(caught.value.hint)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_truncated(tmp_path: Path, kind: str) -> None:
    whole = tmp_path / f"whole.{kind}"
    (write_zip if kind == "zip" else write_tar)(whole, CHECKOUT)
    data = whole.read_bytes()
    for end in range(10, len(data) - 12, 97):
        part = tmp_path / f"part.{kind}"
        part.write_bytes(data[:end])
        with pytest.raises(SourceError, match="cannot read the archive"):
            open_source(str(part))


def test_every_flipped_byte_is_an_error_or_harmless(tmp_path: Path) -> None:
    data = write_zip(tmp_path / "a.zip", CHECKOUT).read_bytes()
    file = tmp_path / "b.zip"
    for at in range(0, len(data), 3):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            with open_source(str(file)) as source:
                for path in source.list():
                    source.read(path)
        except SourceError:
            continue


def test_names_that_lead_outside(tmp_path: Path) -> None:
    tree = {**CHECKOUT, "../evil.py": "1", "/etc/evil": "2", "csrc/../../evil": "3"}
    for file in (write_zip(tmp_path / "a.zip", tree), write_tar(tmp_path / "a.tar.gz", tree)):
        with open_source(str(file)) as source:
            assert source.list() == tuple(sorted(CHECKOUT))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.tar.gz", "a.zip"]


def test_links_in_tarballs_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for kind, name, target in (
            (tarfile.SYMTYPE, "aiter/mla.py", "/etc/passwd"),
            (tarfile.LNKTYPE, "aiter/loop.py", "aiter/loop.py"),
            (tarfile.FIFOTYPE, "aiter/pipe.py", ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    with open_source(str(file)) as source:
        assert source.list() == ()


def test_a_size_that_is_a_lie(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", {"csrc/a.cu": b"\0" * (MAX_BYTES + 100)})
    data = file.read_bytes()
    true_size, lie = struct.pack("<I", MAX_BYTES + 100), struct.pack("<I", 10)
    file.write_bytes(data.replace(true_size, lie))
    with open_source(str(file)) as source, pytest.raises(SourceError):
        source.read("csrc/a.cu")


def test_an_encrypted_member(tmp_path: Path) -> None:
    file = write_zip(tmp_path / "a.zip", {"csrc/a.cu": b"text"})
    data = bytearray(file.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1
    file.write_bytes(data)
    with open_source(str(file)) as source, pytest.raises(SourceError, match="encrypted"):
        source.read("csrc/a.cu")


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [write_zip(tmp_path / "a.zip", CHECKOUT), write_tar(tmp_path / "a.tgz", CHECKOUT)]
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_MEMBERS", 3)
        for file in files:
            with pytest.raises(SourceError, match="cannot read the archive"):
                open_source(str(file))
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_UNPACKED", 20)
        with pytest.raises(SourceError, match="far more than AITER"):
            open_source(str(files[1]))
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_KEPT", 20)
        with open_source(str(files[1])) as source:
            for path, data in CHECKOUT.items():
                read = source.read(path)
                assert read is not None
                assert read.data == (data.encode() if isinstance(data, str) else data)


def test_the_later_of_two_members_counts(tmp_path: Path) -> None:
    zipped, tarred = tmp_path / "a.zip", tmp_path / "a.tgz"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("csrc/a.h", "one")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("csrc/a.h", "two")
    with tarfile.open(tarred, "w:gz") as tar:
        for text in (b"one", b"two"):
            member = tarfile.TarInfo("csrc/a.h")
            member.size = 3
            tar.addfile(member, io.BytesIO(text))
    for file in (zipped, tarred):
        with open_source(str(file)) as source:
            read = source.read("csrc/a.h")
            assert read is not None
            assert read.text == "two"


def test_a_damaged_member(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("csrc/a.h", "the text")
    file.write_bytes(file.read_bytes().replace(b"the text", b"THE TEXT"))
    with ArchiveSource("a.zip", file) as source:
        with pytest.raises(SourceError, match=r"cannot read csrc/a\.h in a\.zip: Bad CRC"):
            source.read("csrc/a.h")
        assert source.release is None


def test_an_archive_under_another_name(tmp_path: Path) -> None:
    for file in (write_zip(tmp_path / "a", CHECKOUT), write_tar(tmp_path / "b", CHECKOUT, "xz")):
        with open_source(str(file)) as source:
            require_aiter(source)
