"""The planner of a release with another rule in it: the answers are those of that rule.

A case of ``planner_rules.txt`` has what stands in front of the planner's functions, the statements
that say which heads are native, and what a compiler's program makes of them, as the bits of a
number: one for each question in the order of ``QUESTIONS``, the first one highest. Some say what
the release says, most say something else. One whose name starts with ``?`` holds something that is
not followed: its answer may be unknown, but never another.

``MLAPROBE_DEEP=1`` asks all of them, and compiles them once more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mlaprobe.core.enums import StageName
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import open_source
from tests.generated.deep import DEEP
from tests.stages.ask import shape
from tests.stages.test_rewritten_releases import PLANNER, RELEASE, Edited

ARCHS, QLENS = ("gfx942", "gfx950"), (1, 2, 3, 4)
DTYPES = (("bf16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8"))
HEADS = (1, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 112, 128, 144)
QUESTIONS = tuple((a, d, h, q) for a in ARCHS for d in DTYPES for h in HEADS for q in QLENS)
RULE = re.compile(r"const bool natively_supported =[^;]*;\n")
INCLUDES = re.compile(r"^#include .*\n", re.MULTILINE)


def _read(part: str) -> tuple[str, str, str]:
    rule, _, bits = part.rpartition("\n--> ")
    front, _, statements = rule.partition("---\n")
    return front, statements, f"{int(bits, 16):0{len(QUESTIONS)}b}"


TEXT = (Path(__file__).parent / "planner_rules.txt").read_text(encoding="utf-8")
CASES = {
    name.strip(): _read(rest)
    for name, _, rest in (part.partition("\n") for part in TEXT.split("=== ")[1:])
}
NAMES = sorted(CASES) if DEEP else sorted(CASES)[::4]


def _with(front: str, statements: str) -> Callable[[str], str]:
    """Puts a rule in place of the planner's own."""

    def edit(text: str) -> str:
        edited, count = RULE.subn(lambda match: statements + "\n", text)
        first = INCLUDES.search(edited)
        assert count == 1
        assert first is not None
        return edited[: first.end()] + front + "\n" + edited[first.end() :]

    return edit


def _planned(native: str, arch: str, dtypes: tuple[str, str], heads: int, qlen: int) -> str:
    """What the planner does, where a rule has said whether the heads are native: it folds what can
    be folded, and takes some others as they are."""
    if native == "1":
        return "native"
    if heads % 16 == 0:
        return "passthrough" if heads == 16 else "fold"
    both = {"gfx950": (("fp8", "fp8"), 4), "gfx942": (("bf16", "bf16"), 2)}[arch]
    taken = heads == 8 and (dtypes, qlen) == both
    return "passthrough" if taken or (arch, *dtypes) == ("gfx950", "bf16", "bf16") else "rejected"


@pytest.mark.parametrize("name", NAMES)
def test_a_planner_with_another_rule_answers_by_it(aiter_git: str, name: str) -> None:
    front, statements, native = CASES[name]
    inner = open_source(f"{aiter_git}@{RELEASE}")
    capability = Capability(Edited(inner, PLANNER, _with(front, statements)))
    for bit, question in zip(native, QUESTIONS, strict=True):
        outcome = capability.ask(StageName.PLANNER, shape(*question))
        status = outcome.status.value
        if status == "unknown":
            assert name.startswith("?"), (question, outcome.message)
            assert outcome.evidence, question
        else:
            assert status == _planned(bit, *question), question


def test_most_rules_are_followed_and_many_say_something_else() -> None:
    assert len(CASES) > 80
    assert sum(name.startswith("?") for name in CASES) < len(CASES) / 4
    assert len({bits for _, _, bits in CASES.values()}) > len(CASES) / 2


def test_the_answers_are_a_compilers(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    if not DEEP:
        pytest.skip("MLAPROBE_DEEP is not set")
    parts = ["#include <bits/stdc++.h>\n"]
    given = "const std::string& arch_id, int num_heads, int max_seqlen_qo"
    for at, (front, statements, _) in enumerate(CASES.values()):
        head = f"static bool rule({given}, bool q_is_fp8, bool kv_is_fp8)"
        body = f"{{\n{statements}\nreturn natively_supported; }}"
        parts.append(f"namespace n{at} {{\n{front}\n{head} {body}\n}}\n")
    parts.append("int main() {\n")
    for at in range(len(CASES)):
        parts += (
            f'putchar(n{at}::rule("{arch}", {heads}, {qlen}, {int(q == "fp8")}, {int(kv == "fp8")})'
            " ? '1' : '0');\n"
            for arch, (q, kv), heads, qlen in QUESTIONS
        )
        parts.append("putchar('\\n');\n")
    source, binary = tmp_path / "rules.cpp", tmp_path / "rules"
    source.write_text("".join((*parts, "}\n")))
    command = ["g++", "-std=c++20", "-w", "-O0", "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    printed = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60)
    for (name, (_, _, bits)), line in zip(CASES.items(), printed.stdout.split(), strict=True):
        assert line == bits, name
