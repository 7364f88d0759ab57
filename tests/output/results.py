"""Results of every kind, some of them with text that means harm."""

from __future__ import annotations

from dataclasses import replace

from mlaprobe.compare.diff import Change, Comparison, Kind, PadChange
from mlaprobe.compare.results import Results, change_finding, compared
from mlaprobe.core.axes import asked_values, cell_of, regions
from mlaprobe.core.behaviour import Behaviour
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Evidence, Failure, Verdict
from mlaprobe.findings.model import Finding, Level, Rule
from tests.output.fake import FakeSource

HOSTILE = '<b>|`%0A\r\n::error::]]>&"\x1b[31m\x00, a:b'
PLANNER = "csrc/kernels/mla/metadata/v1_2_device.cuh"
SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)
OLD = FakeSource(label="aiter.pin", kind="release", release="v0.1.15.post3")
NEW = FakeSource(label="src/aiter@v0.1.16.post2", kind="git", release="v0.1.16.post2")


def place(line: int, text: str) -> Evidence:
    return Evidence(stage="planner", file=PLANNER, line=line, column=10, text=text)


def change(kind: Kind, shape: DecodeShape, old: Behaviour, new: Behaviour, *names: str) -> Change:
    asked = [cell_of(replace(shape, lse=lse)) for lse in (False, True)]
    (region,) = regions([cell_of(shape)], asked_values(asked))
    return Change(
        kind=kind,
        region=region,
        old=old,
        new=new,
        witness=shape,
        old_decision=Decision(shape=shape, verdict=old.verdict),
        new_decision=Decision(shape=shape, verdict=new.verdict),
        old_clause=place(511, '(arch_id == "gfx950") && (num_heads == 32)'),
        new_clause=place(520, "!natively_supported && (num_heads % 16 == 0)"),
        pad=PadChange(num_heads=shape.num_heads, old=shape.num_heads, new=64),
        deployments=names,
    )


NATIVE = Behaviour(
    verdict=Verdict.NATIVE, kernels=("_ZN5aiter36mla_a8w8_qh32_qseqlen1_gqaratio32_psE",)
)
FOLD_2 = Behaviour(verdict=Verdict.FOLDED, fold=2, kernels=("_ZN5aiter36mla_a8w8_qh16_psE",))
LOST = Behaviour(verdict=Verdict.NO_KERNEL, failure=Failure.ABORT)

RULE = Rule(
    id="MLA007",
    title="a table row whose file is missing",
    level=Level.WARNING,
    why="The look-up succeeds and loading the kernel fails.",
    fix="Do not launch what looks this row up.",
)
MISSING = Finding(
    rule=RULE,
    level=Level.WARNING,
    message="gfx942: the row of mla_pfl names hsa/gfx942/mla/mla_pfl.co, which is not shipped",
    evidence=(
        Evidence(stage="kernel table", file="hsa/gfx942/mla/mla_asm.csv", line=21, text="fp8"),
    ),
    identity="gfx942 mla_pfl",
)
NASTY = replace(
    MISSING,
    level=Level.NOTE,
    message=HOSTILE,
    evidence=(Evidence(stage="host", file=f"a b/{HOSTILE}", line=1, column=0, text=HOSTILE),),
    identity=HOSTILE,
)


def comparison() -> Comparison:
    """The change of v0.1.16.post2, one that is worse, and one that is better."""
    return Comparison(
        old=OLD,
        new=NEW,
        changes=(
            change(Kind.BREAKS, replace(SHAPE, num_heads=64, lse=True), NATIVE, LOST),
            change(Kind.SLOWER, SHAPE, NATIVE, FOLD_2, "kimi-k2.5-tp2-fp8"),
            change(Kind.FASTER, replace(SHAPE, num_heads=48), FOLD_2, NATIVE),
        ),
        shapes=1234,
        fails_otherwise=5,
        unknown=0,
        deployments=("kimi-k2.5-tp2-fp8", "quiet"),
        pads=(("kimi-k2.5-tp2-fp8", PadChange(num_heads=32, old=32, new=64)),),
    )


def checked(*findings: Finding, waived: str | None = None) -> Results:
    """A failing check."""
    found = comparison()
    changes = tuple(
        change_finding(each, waived if each.kind is Kind.BREAKS else None) for each in found.changes
    )
    failing = [c for c in changes if c.rule.id in ("breaks", "slower") and c.waiver is None]
    results = compared(found, findings)
    return replace(
        results,
        command="check",
        changes=changes,
        failing=frozenset(each.fingerprint for each in failing),
        remarks=("5 shapes fail in both, in another way",),
        detail={**results.detail, "exit_code": 10},
    )


def found(*findings: Finding) -> Results:
    """Findings in one source."""
    return Results(
        command="findings",
        sources=(("source", NEW),),
        rules=(RULE, replace(RULE, id="MLA009", title="a row out of reach")),
        findings=findings,
        failing=frozenset(each.fingerprint for each in findings),
        skipped=(("MLA009", "it needs AITER's files, which a snapshot does not hold"),),
        detail={"unknown": 0},
    )
