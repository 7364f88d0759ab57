"""The host and the reducer of a release with another rule in them: the answers are those of a
compiler's program of that rule.

A case of ``host_rules.txt`` and ``reducer_rules.txt`` has what stands in front of the functions,
and the statements that remap a key, or the expression that says which pairs are there. One whose
name starts with ``?`` holds something that is not followed: its answer may be unknown, but never
another.

``MLAPROBE_DEEP=1`` asks all of them.
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
from tests.stages.test_rewritten_releases import RELEASE, Edited

HOST, REDUCER = "csrc/py_itfs_cu/asm_mla.cu", "csrc/kernels/mla/reduce.cu"
DTYPES = (("bf16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8"))
QUESTIONS = tuple(
    (dtypes, heads, qlen, persistent)
    for dtypes in DTYPES
    for heads in (8, 16, 24, 32, 64, 128)
    for qlen in (1, 2, 3, 4)
    for persistent in (False, True)
)
PAIRS = (*((heads, 512) for heads in (8, *range(16, 145, 16), 24)), (16, 128), (64, 64), (40, 128))
KEY = ("Gqa", "qSeqLen", "ps", "causal")
_GIVEN = (
    "const std::string& arch_id, const std::string& q_type, const std::string& kv_type,"
    " const int gqa_ratio, int max_seqlen_q, bool persistent"
)
_VARIABLES = (
    "int ps = persistent, config_causal = 1, config_max_seqlen_q = max_seqlen_q,"
    " config_gqa_ratio = gqa_ratio;"
)
_SHOWN = 'printf("%d,%d,%d,%d\\n", config_gqa_ratio, config_max_seqlen_q, ps, config_causal);'
_CHECK = "#define AITER_CHECK(c, ...) do { if(!(c)) throw 1; } while(0)\n"


def _cases(name: str) -> dict[str, tuple[str, str]]:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    found = {}
    for part in text.split("=== ")[1:]:
        label, _, rest = part.partition("\n")
        front, _, rule = rest.partition("---\n")
        found[label.strip()] = (front, rule.strip())
    return found


HOSTS, REDUCERS = _cases("host_rules.txt"), _cases("reducer_rules.txt")


def _sample(cases: dict[str, tuple[str, str]], step: int) -> list[str]:
    return sorted(cases) if DEEP else sorted(cases)[::step]


def _printed(tmp_path: Path, text: str) -> list[str]:
    """What a program prints."""
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    source, binary = tmp_path / "rule.cpp", tmp_path / "rule"
    source.write_text("#include <bits/stdc++.h>\n" + text)
    command = ["g++", "-std=c++20", "-w", "-O0", "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    done = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.split()


def _in_front(text: str, front: str) -> str:
    first = re.search(r"^#include .*\n", text, re.MULTILINE)
    assert first is not None
    return text[: first.end()] + front + "\n" + text[first.end() :]


def _host(front: str, rule: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        start = text.index("    if(gqa_ratio == 128){\n        config_max_seqlen_q = 0;")
        end = text.index("    int lse_flag = ", start)
        return _in_front(text[:start] + rule + "\n" + text[end:], front)

    return edit


def _reducer(front: str, rule: str) -> Callable[[str], str]:
    case = "MLA_REDUCE_CASE({}, {}, NUM_WG_PER_BH, NAME, __VA_ARGS__)"
    chain = " else ".join(
        f"if((NUM_HEAD) == {h} && (HEAD_DIM) == {d}) {case.format(h, d)}" for h, d in PAIRS
    )
    none = "MLA_REDUCE_ERROR(NUM_HEAD, HEAD_DIM, NAME)"
    router = (
        f"{front}static bool mla_takes(int h, int d) {{ return {rule}; }}\n"
        "#define MLA_REDUCE_ROUTER(NUM_HEAD, HEAD_DIM, NUM_WG_PER_BH, NAME, ...) "
        f"if(!mla_takes(NUM_HEAD, HEAD_DIM)) {{ {none} }} {chain} else {none};\n\n"
    )

    def edit(text: str) -> str:
        start = text.index("#define MLA_REDUCE_ROUTER(")
        return text[:start] + router + text[text.index("#define DISPATCH_MLA_REDUCE_KERNEL(") :]

    return edit


@pytest.mark.parametrize("name", _sample(HOSTS, 11))
def test_a_host_with_another_rule_answers_by_it(aiter_git: str, tmp_path: Path, name: str) -> None:
    front, rule = HOSTS[name]
    calls = "".join(
        f'try {{ rule("gfx950", "{q}", "{kv}", {heads}, {qlen}, {int(ps)}); }} '
        'catch(...) { puts("!"); }\n'
        for (q, kv), heads, qlen, ps in QUESTIONS
    )
    body = f"static void rule({_GIVEN}) {{ {_VARIABLES}\n{rule}\n{_SHOWN} }}\n"
    rows = _printed(tmp_path, f"{_CHECK}{front}{body}int main() {{\n{calls}}}\n")
    edited = Edited(open_source(f"{aiter_git}@{RELEASE}"), HOST, _host(front, rule))
    capability = Capability(edited)
    for row, (dtypes, heads, qlen, persistent) in zip(rows, QUESTIONS, strict=True):
        asked = shape("gfx950", dtypes, heads, qlen, persistent=persistent)
        outcome = capability.ask(StageName.HOST, asked)
        if outcome.status == "unknown":
            assert name.startswith("?"), (asked, outcome.message)
        elif row == "!":
            assert outcome.status == "rejected", asked
        else:
            key = dict(outcome.key or ())
            assert ",".join(str(key.get(column)) for column in KEY) == row, asked


@pytest.mark.parametrize("name", _sample(REDUCERS, 10))
def test_a_reducer_with_another_rule_answers_by_it(
    aiter_git: str, tmp_path: Path, name: str
) -> None:
    front, rule = REDUCERS[name]
    calls = "".join(f'puts(takes({h}, {d}) ? "instantiated" : "missing");\n' for h, d in PAIRS)
    takes = f"{front}static bool takes(int h, int d) {{ return {rule}; }}\n"
    rows = _printed(tmp_path, f"{takes}int main() {{\n{calls}}}\n")
    edited = Edited(open_source(f"{aiter_git}@{RELEASE}"), REDUCER, _reducer(front, rule))
    capability = Capability(edited)
    for row, (heads, dim) in zip(rows, PAIRS, strict=True):
        assert capability.reducer_pair(heads, dim).status == row, (heads, dim)
