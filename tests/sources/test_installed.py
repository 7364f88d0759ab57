"""The installed AITER: found by its metadata, whatever way it was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlaprobe.errors import NotAiterError, NotInstalledError, SourceError
from mlaprobe.sources import Source, open_source, require_aiter
from mlaprobe.sources.installed import InstalledSource
from tests.sources.trees import CHECKOUT, STRANGER, installed, with_metadata, write


def _find(*path: Path, **environ: str) -> InstalledSource:
    return InstalledSource.find([str(p) for p in path], environ)


def test_a_wheel(tmp_path: Path) -> None:
    source = _find(write(tmp_path, with_metadata(installed())))
    assert (source.kind, source.label, source.release) == ("installed", "installed", "0.1.20")
    assert source.distribution == ("amd-aiter", "0.1.20")
    assert source.read("csrc/include/mla.h")
    assert source.location == str(tmp_path)
    require_aiter(source)


def test_another_distribution_name(tmp_path: Path) -> None:
    for name in ("aiter", "aiter-of-a-fork"):
        site = write(tmp_path / name, with_metadata(installed(), name, "9.0"))
        assert _find(site).distribution == (name, "9.0")


def test_the_first_on_the_path_is_meant(tmp_path: Path) -> None:
    checkout = write(tmp_path / "checkout", CHECKOUT)
    site = write(tmp_path / "site", with_metadata(installed()))
    source = _find(checkout, site)
    assert (source.root, source.distribution, source.release) == (checkout, None, None)
    assert _find(site, checkout).root == site


@pytest.mark.parametrize(
    "how",
    [
        {"direct_url__json": '{{"url": "{url}", "dir_info": {{"editable": true}}}}'},
        {"x__pth": "import sys\n# a comment\n{path}\n"},
    ],
    ids=["direct_url", "pth"],
)
def test_a_development_install(tmp_path: Path, how: dict[str, str]) -> None:
    checkout = write(tmp_path / "my checkout", {**CHECKOUT, "aiter/install_mode": "develop"})
    url = checkout.as_uri()
    files = {key: text.format(url=url, path=checkout) for key, text in how.items()}
    tree = with_metadata({}, version="0.1.21.dev1", **files)
    folder = "amd_aiter-0.1.21.dev1.dist-info"
    tree[f"{folder}/RECORD"] = f"{folder}/x.pth,,\ngone.pth,,\n"
    source = _find(write(tmp_path / "site", tree))
    assert (source.root, source.release) == (checkout, "0.1.21.dev1")
    assert source.read("csrc/include/mla.h")


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"url": 1}', '{"url": "https://x/y"}'])
def test_a_note_of_origin_that_helps_nobody(tmp_path: Path, text: str) -> None:
    site = write(tmp_path, with_metadata(installed(), direct_url__json=text))
    assert _find(site).root == site


def test_the_meta_variable(tmp_path: Path) -> None:
    site = write(tmp_path / "site", with_metadata(installed()))
    meta = write(tmp_path / "meta", {"csrc/include/mla.h": "another"})
    source = _find(site, AITER_META_DIR=str(meta))
    file = source.read("csrc/include/mla.h")
    assert file is not None
    assert file.text == "another"
    assert source.list("hsa") == ()
    assert _find(site, AITER_META_DIR="").read("hsa/gfx950/mla/mla_asm.csv")
    with pytest.raises(SourceError, match="AITER_META_DIR names /nowhere, which holds no csrc"):
        _find(site, AITER_META_DIR="/nowhere")


def test_the_meta_variable_falls_back_as_in_aiter(tmp_path: Path) -> None:
    checkout = write(tmp_path, CHECKOUT)
    assert _find(checkout, AITER_META_DIR="/nowhere").meta == checkout


def test_nothing_installed(tmp_path: Path) -> None:
    with pytest.raises(NotInstalledError, match="no AITER is installed") as caught:
        _find(tmp_path)
    for way in ("--aiter DIR", "--aiter REPO@REV", "--aiter FILE.whl"):
        assert way in str(caught.value.hint)


def test_a_folder_of_that_name_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "aiter" / "docs").mkdir(parents=True)
    with pytest.raises(SourceError, match="no AITER is installed"):
        _find(tmp_path)


def test_the_package_of_the_same_name(tmp_path: Path) -> None:
    site = write(tmp_path, with_metadata(STRANGER, "aiter", "0.13.20191203"))
    with pytest.raises(NotAiterError, match=r"aiter 0\.13\.20191203 is PyPI's unrelated") as caught:
        _find(site)
    assert isinstance(caught.value, NotInstalledError), "nothing is hidden by it"
    assert str(caught.value.hint).startswith("pip uninstall aiter")


def test_a_package_of_the_same_name_without_metadata(tmp_path: Path) -> None:
    with pytest.raises(NotAiterError, match=r"is not AMD's AITER: it has no mla\.py") as caught:
        _find(write(tmp_path, STRANGER))
    assert not isinstance(caught.value, NotInstalledError), "it may be an AITER laid out anew"


def test_the_real_one_hidden_by_the_other(tmp_path: Path) -> None:
    first = write(tmp_path / "a", with_metadata(STRANGER, "aiter", "0.13"))
    second = write(tmp_path / "b", with_metadata(installed()))
    with pytest.raises(NotAiterError, match="unrelated") as caught:
        _find(first, second)
    assert not isinstance(caught.value, NotInstalledError), "an AITER is installed"
    assert _find(second, first).root == second


def test_metadata_without_files(tmp_path: Path) -> None:
    with pytest.raises(
        SourceError, match=r"amd-aiter 0\.1\.20 is installed, and its files are"
    ) as got:
        _find(write(tmp_path, with_metadata({})))
    assert not isinstance(got.value, NotInstalledError), "an AITER is installed"


def test_this_environment(aiter_wheel: Source) -> None:
    assert aiter_wheel.release == "0.1.7.post2.dev18"
    assert aiter_wheel.read("csrc/kernels/mla/metadata/v1_2_device.cuh")
    assert aiter_wheel.exists("hsa/gfx942/mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co")
    require_aiter(aiter_wheel)


def test_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AITER_META_DIR", raising=False)
    with open_source("installed") as source:
        assert source.kind == "installed"
    assert "aiter" not in sys.modules


def test_a_finder_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise ValueError(f"{name}.__spec__ is None")

    monkeypatch.setattr("importlib.util.find_spec", fail)
    assert InstalledSource.find(environ={}).release == "0.1.7.post2.dev18"
