"""Trees as revisions of a git repository, tagged like releases."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.findings.pairs import fold_32
from tests.trees import today
from tests.trees.common import Tree, write

KIMI = "kimi-k2.5-tp2-fp8"
SERVED = f"""\
deployments:
  - name: {KIMI}
    model: kimi-k2.5
    arch: gfx950
    dtype: fp8/fp8
    tp: 2
"""
"""64 heads over two ranks: each launches 32."""
NATIVE, FOLDED, AGAIN = "v0.1.15.post3", "v0.1.16.post2", "v0.1.17"
"""Releases of AITER with 32 heads of fp8 native on gfx950, folded, and native again."""
CHANGE = "gfx950 fp8/fp8, 32 heads, qlen 1: native -> fold 2"
BACK = "gfx950 fp8/fp8, 32 heads, qlen 1: fold 2 -> native"
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin:/usr/local/bin",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


def git(repository: Path, *words: str) -> None:
    """Runs git, whatever is set up on this machine."""
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", "-C", str(repository), *who, *words],
        check=True,
        capture_output=True,
        env=_ENVIRONMENT,
    )


def commit(repository: Path, tree: Tree, tag: str) -> None:
    """A tree as the next revision."""
    write(repository, tree)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", tag)
    git(repository, "tag", tag)


def bumped(repository: Path) -> Path:
    """A repository of our own text with the three releases, made in an empty folder."""
    git(repository, "init", "-q")
    commit(repository, today.tree(), NATIVE)
    commit(repository, fold_32(), FOLDED)
    commit(repository, today.tree(), AGAIN)
    return repository
