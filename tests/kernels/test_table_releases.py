"""What the kernel tables of real releases are known to hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mlaprobe.kernels import comment_rule, has_kernel, read_tables
from mlaprobe.sources.git import find_git_dir


class Release:
    """One release of the real AITER."""

    def __init__(self, repository: Path, name: str) -> None:
        self.git = ["git", "--git-dir", str(find_git_dir(repository))]
        self.name = name
        listing = self.run("ls-tree", "-r", "--name-only", name, "hsa").decode()
        self.files = set(listing.split("\n"))
        tables = sorted(p for p in self.files if "/mla/" in p and p.endswith(".csv"))
        rule = comment_rule(self.read("hsa/codegen.py").decode())
        assert rule.note is None
        self.strips = rule.strip
        self.table = read_tables(
            [(p.split("/")[1], p, self.read(p)) for p in tables], strip_comments=rule.strip
        )
        assert self.table.problems == ()

    def run(self, *arguments: str) -> bytes:
        return subprocess.run([*self.git, *arguments], capture_output=True, check=True).stdout

    def read(self, path: str) -> bytes:
        return self.run("show", f"{self.name}:{path}")

    def missing(self) -> list[tuple[str, str]]:
        rows = [*self.table.rows, *(lost.row for lost in self.table.lost)]
        return [(row.arch, row.co) for row in rows if row.co not in self.files]


def test_v0_1_20(aiter_git: Path) -> None:
    release = Release(aiter_git, "v0.1.20")
    table = release.table
    assert release.strips
    assert [len(table.of_arch(a)) for a in ("gfx942", "gfx950", "gfx1250")] == [26, 68, 10]
    assert table.lost == ()
    assert {"lse", "cprr"} <= set(table.columns)
    assert {row.fields["cprr"] for row in table.of_arch("gfx942")} == {0}
    keys: dict[tuple[object, ...], list[str]] = {}
    for row in table.rows:
        keys.setdefault((row.arch, *row.fields.values()), []).append(row.name)
    twice = [(key, names) for key, names in keys.items() if len(names) > 1]
    assert len(twice) == 1
    key, names = twice[0]
    fields = dict(zip(("arch", *table.columns), key, strict=True))
    assert (fields["arch"], fields["qType"], fields["Gqa"], fields["qSeqLen"]) == (
        "gfx950",
        "bf16",
        8,
        2,
    )
    assert len(names) == 2
    gone = release.missing()
    assert [arch for arch, _ in gone] == ["gfx942", "gfx942"]
    assert all("mla_pfl_" in co for _, co in gone)


def test_v0_1_10_post1(aiter_git: Path) -> None:
    release = Release(aiter_git, "v0.1.10.post1")
    table = release.table
    assert not release.strips
    assert [lost.row.arch for lost in table.lost] == ["gfx942", "gfx950"]
    assert {(lost.winner.fields["Gqa"], lost.row.fields["Gqa"]) for lost in table.lost} == {
        (32, 64)
    }
    assert len(release.missing()) == 4
    here = [row for row in table.rows if row.co in release.files]
    without = [row for row in here if has_kernel(release.read(row.co), row.name) is not True]
    assert len(without) == 2
