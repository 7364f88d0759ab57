"""Small trees in AITER's layouts, and what they are kept in."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

Tree = Mapping[str, str | bytes]

CHECKOUT: dict[str, str | bytes] = {
    "aiter/__init__.py": "raise ImportError('never imported')\n",
    "aiter/mla.py": "def mla_decode_fwd(q):\n    return q\n",
    "aiter/ops/attention.py": "def get_mla_metadata_info_v1():\n    return 1\n",
    "csrc/include/mla.h": "#pragma once\n",
    "csrc/kernels/mla/metadata/v1_2_device.cuh": "void get_mla_metadata_v1_2_device() {}\n",
    "csrc/py_itfs_cu/asm_mla.cu": "void mla_decode_stage1_asm_fwd() {}\n",
    "hsa/gfx950/mla/mla_asm.csv": "qType,kvType,Gqa\nfp8,fp8,16",
    "hsa/gfx950/mla/one.co": b"\x7fELF\0\1\2",
}
"""A release with a planner, in the layout of the repository."""

OLD: dict[str, str | bytes] = {
    "aiter/__init__.py": "",
    "aiter/mla.py": "",
    "csrc/include/attention_asm_mla.h": "",
    "csrc/py_itfs_cu/asm_mla.cu": "",
    "hsa/gfx942/mla/one.co": b"\0",
}
"""A release before the planner."""

STRANGER: dict[str, str | bytes] = {"aiter/__init__.py": "def aiter(x): ...\n"}
"""PyPI's package of the same name."""

METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: {}\n\nVersion: of the description\n"


def installed(tree: Tree = CHECKOUT) -> dict[str, str | bytes]:
    """The tree as a wheel lays it out."""
    return {
        path if path.startswith("aiter/") else f"aiter_meta/{path}": data
        for path, data in tree.items()
    } | {"aiter/install_mode": "install"}


def with_metadata(
    tree: Tree, name: str = "amd-aiter", version: str = "0.1.20", **files: str
) -> dict[str, str | bytes]:
    """The tree with a distribution's metadata; ``files`` are more files in its folder."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    record = "".join(f"{path},,\n" for path in tree)
    inside = {"METADATA": METADATA.format(name, version), "RECORD": record} | {
        key.replace("__", "."): text for key, text in files.items()
    }
    return {**tree, **{f"{folder}/{key}": text for key, text in inside.items()}}


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def write(root: Path, tree: Tree) -> Path:
    """The tree in a directory."""
    for path, data in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_bytes(data))
    return root


def write_zip(file: Path, tree: Tree) -> Path:
    """The tree in a wheel or zip file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in tree.items():
            archive.writestr(path, data)
    return file


def write_tar(file: Path, tree: Tree, mode: str = "gz", top: str = "") -> Path:
    """The tree in a tarball, inside a folder ``top``."""
    with tarfile.open(str(file), f"w:{mode}") as archive:  # type: ignore[call-overload]
        for path, data in tree.items():
            member = tarfile.TarInfo(f"{top}/{path}" if top else path)
            member.size = len(_bytes(data))
            archive.addfile(member, io.BytesIO(_bytes(data)))
    return file


def git(root: Path, *arguments: str) -> str:
    """Runs git in a directory, free of the machine's settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{f"GIT_{who}_NAME": "t" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "t@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.stdout.strip()


def write_git(root: Path, tree: Tree = CHECKOUT, tag: str | None = "v0.1.20") -> Path:
    """The tree as the one commit of a work tree."""
    write(root, tree)
    git(root, "init", "--quiet", "--template=", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=one")
    if tag:
        git(root, "tag", tag)
    return root
