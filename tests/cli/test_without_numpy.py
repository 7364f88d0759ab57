"""Without numpy nothing can be emulated: what needs it says so, and the rest goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules['numpy'] = None; "
COMMAND = WITHOUT + "from mlaprobe.cli import main; sys.exit(main(sys.argv[1:]))"
SHAPE = ("--arch", "gfx942", "--dtype", "bf16/bf16", "--heads", "16", "--kv-len", "20")
RELEASE = ("--aiter", "release:v0.1.20")


def python(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A process in which numpy cannot be imported."""
    command = [sys.executable, "-W", "ignore", "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", [RELEASE, ("--aiter", "installed")])
@pytest.mark.parametrize(
    "words",
    [
        ("decode", "--backend", "emulate", *SHAPE),
        ("decode", "--kv-cache-bytes", "5GiB", *SHAPE),
        ("kernels",),
        ("kernels", "--run", "--arch", "gfx942"),
    ],
)
def test_what_needs_it_says_what_to_install(
    words: tuple[str, ...], source: tuple[str, ...]
) -> None:
    done = python(COMMAND, *words, *source)
    assert "mlaprobe[emulate]" in done.stderr
    assert "itself failed" not in done.stderr
    assert (done.returncode, done.stdout) == (1, "")


def test_the_self_test_says_it_of_every_shape() -> None:
    words = ("--selftest", "--backend", "emulate", "--arch", "gfx942", "--aiter", "installed")
    done = python(COMMAND, "decode", *words)
    assert "itself failed" not in done.stderr
    assert "mlaprobe[emulate]" in " ".join(done.stdout.split())
    assert done.returncode == 11  # nothing is known, and nothing has passed


def test_the_library_raises_an_error_of_its_own() -> None:
    call = "mlaprobe.emulate(16, kv_lens=[20], arch='gfx942', q_dtype='bf16', kv_dtype='bf16')"
    program = f"{WITHOUT}import mlaprobe\ntry:\n    {call}\nexcept mlaprobe.MlaprobeError as e:\n"
    done = python(program + "    print(type(e).__name__, e)\n")
    assert done.stdout.startswith("DecodeError")
    assert "mlaprobe[emulate]" in done.stdout


def test_the_rest_goes_on() -> None:
    done = python(COMMAND, "explain", *RELEASE, *SHAPE[:6])
    assert (done.returncode, done.stderr) == (0, "")
    done = python(COMMAND, "decode", *SHAPE)
    assert "itself failed" not in done.stderr
