"""What the library does to the process it lives in: it reads files, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.sources.trees import installed, with_metadata, write_git, write_zip
from tests.trees import today
from tests.trees.common import write

ROOT = Path(__file__).parent.parent
HOOK = """
import json, os, sys, threading

seen = []
CHANGES = (
    "os.fork", "os.forkpty", "os.exec", "os.spawn", "os.posix_spawn", "os.startfile", "os.system",
    "subprocess.Popen", "pty.spawn", "_thread.start_new_thread", "_thread.start_joinable_thread",
    "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate",
    "os.chmod", "os.chown", "os.utime", "os.putenv", "os.unsetenv", "os.chdir", "os.kill",
    "shutil.copyfile", "shutil.move", "shutil.rmtree", "tempfile.mkstemp", "tempfile.mkdtemp",
    "signal.pthread_kill", "webbrowser.open",
)

def hook(name, given):
    if name == "open":
        path, mode, flags = given
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        writes = writes or (isinstance(mode, str) and set(mode) & set("wax+"))
        if writes and path != os.devnull and not isinstance(path, int):  # a pipe's end
            seen.append((name, str(path)))
    elif name in CHANGES or name.startswith("socket."):
        seen.append((name, repr(given)[:200]))

def told(start):
    def started(*given):
        seen.append(("_thread.start_new_thread", repr(given)[:200]))
        return start(*given)
    return started

sys.addaudithook(hook)
if sys.version_info < (3, 12):  # which tells of threads itself
    import _thread
    _thread.start_new_thread = threading._start_new_thread = told(_thread.start_new_thread)
"""
END = """
try:
    os.waitpid(-1, os.WNOHANG)
    children = True
except ChildProcessError:
    children = False
found = {"seen": seen, "threads": threading.active_count(), "children": children}
print(json.dumps(found), file=sys.__stderr__)
"""
SHAPES = """
import mlaprobe
from mlaprobe.adapters import vllm_0_2 as vllm
from mlaprobe.reports.explanation import explain

HERE = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8"}

def ask(capability):
    for heads in (12, 16, 48, 128):
        decision = capability.decide(mlaprobe.DecodeShape(num_heads=heads, **HERE))
        tuple(decision.evidence)
        for mode in ("off", "auto", "force"):
            mlaprobe.plan(heads, capability=capability, mode=mode, **HERE)
            mlaprobe.padded_num_heads(heads, capability=capability, mode=mode, **HERE)
    explain(capability, decision.shape)
    vllm.resolve_padded_mla_num_heads(
        48, gfx942=False, gfx950=True, q_fp8=True, kv_fp8=True, max_qo_lens=(1, 2),
        capability=capability,
    )
    vllm.use_gluon_decode(8, 1, "auto", arch="gfx950", capability=capability)
    vllm.asm_lse_ps_kernel_qlen(3, arch="gfx950", capability=capability)
    vllm.get_actual_mla_num_heads(12)
"""


def audited(body: str, folder: Path, **values: object) -> dict[str, Any]:
    """Runs lines of Python in a fresh interpreter, and returns what an audit hook saw of them."""
    settings = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    program = "\n".join((HOOK, settings, SHAPES, textwrap.dedent(body), END))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT),
            "VLLM_ROCM_AITER_MLA_PAD_TO_NATIVE_SHAPE": "auto",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "the library prints"
    said, _, last = done.stderr.rstrip().rpartition("\n")
    assert said == "", "the library prints"
    found: dict[str, Any] = json.loads(last)
    return found


def quiet(found: dict[str, Any]) -> None:
    assert found["seen"] == []
    assert (found["threads"], found["children"]) == (1, False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("audit") / "aiter", today.tree())


def test_the_hook_sees(tmp_path: Path) -> None:
    """What the other tests rely on."""
    found = audited(
        """
        import subprocess
        os.mkdir("made")
        open("made/file", "w").close()
        subprocess.run([sys.executable, "-c", ""])
        threading.Thread(target=int).start()
        """,
        tmp_path,
    )
    names = {name for name, _ in found["seen"]}
    assert {"os.mkdir", "open", "subprocess.Popen"} <= names
    assert any(name.startswith("_thread.start") for name in names)


@pytest.mark.parametrize("kind", ["directory", "wheel", "snapshot", "release"])
def test_a_source_is_only_read(tmp_path: Path, tree: Path, kind: str) -> None:
    sources = {
        "directory": str(tree),
        "wheel": str(write_zip(tmp_path / "aiter.whl", with_metadata(installed(today.tree())))),
        "snapshot": str(max((ROOT / "rules" / "releases").glob("v*.json"))),
        "release": "release:newest",
    }
    body = """
        ask(mlaprobe.probe(SOURCE))
    """
    quiet(audited(body, tmp_path, SOURCE=sources[kind]))


def test_a_comparison_and_a_survey_only_read(tmp_path: Path, tree: Path) -> None:
    body = """
        from mlaprobe.compare.diff import compare
        from mlaprobe.core.grid import Grid
        from mlaprobe.reports.survey import survey
        grid = Grid(archs=("gfx950",), heads=(16, 48))
        with mlaprobe.probe(TREE) as one:
            other = mlaprobe.probe("release:newest")
            compare(one, other, (grid,))
            survey(one, grid)
    """
    quiet(audited(body, tmp_path, TREE=str(tree)))


def test_nothing_keeps_a_process(tmp_path: Path) -> None:
    """Also where nobody closes the capability, and between two questions."""
    repository = write_git(tmp_path / "repository", today.tree(), tag="v9")
    body = """
        capability = mlaprobe.probe(f"{REPOSITORY}@v9")
        left = []
        for heads in (16, 48):
            shape = mlaprobe.DecodeShape(num_heads=heads, **HERE)
            tuple(capability.decide(shape).evidence)
            try:
                os.waitpid(-1, os.WNOHANG)
                left.append(heads)
            except ChildProcessError:
                pass
        ask(capability)
        assert left == [], left
    """
    found = audited(body, tmp_path, REPOSITORY=str(repository))
    assert (found["threads"], found["children"]) == (1, False)


def test_a_forked_process_goes_on_with_what_it_inherits(tmp_path: Path) -> None:
    """A capability, its memory and its git: made before, asked after."""
    repository = write_git(tmp_path / "repository", today.tree(), tag="v9")
    body = """
        capability = mlaprobe.probe(f"{REPOSITORY}@v9")
        shapes = [mlaprobe.DecodeShape(num_heads=n, **HERE) for n in (16, 24, 48, 128)]
        capability.decide(shapes[0])
        child = os.fork()
        found = [(d.verdict.name, len(d.evidence)) for d in map(capability.decide, shapes)]
        if not child:
            with open("found", "w") as file:
                file.write(repr(found))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with open("found") as file:
            assert file.read() == repr(found)
    """
    audited(body, tmp_path, REPOSITORY=str(repository))


def test_a_git_revision_is_read_by_git_alone(tmp_path: Path) -> None:
    repository = write_git(tmp_path / "repository", today.tree(), tag="v9")
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}
    body = """
        with mlaprobe.probe(f"{REPOSITORY}@v9") as capability:
            ask(capability)
    """
    found = audited(body, tmp_path, REPOSITORY=str(repository))
    started = [given for name, given in found["seen"] if name == "subprocess.Popen"]
    assert started
    assert all(given.startswith("('git', ") for given in started), started
    others = {name for name, _ in found["seen"]} - {"subprocess.Popen"}
    assert others <= {"os.kill"}, found["seen"]
    assert (found["threads"], found["children"]) == (1, False), "closed, and still there"
    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before
