"""MLA models and their deployments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe import probe
from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.output import models_text, resolve_data
from mlaprobe.output.style import plain
from mlaprobe.reports.deployments import assess
from mlaprobe.rulefiles.models import Deployment, deployments, find, models
from tests.padding.fake import later

# Read once more from the models' own configurations: query heads, latent, rope.
KNOWN = {
    "deepseek-v2": (128, 512, 64),
    "deepseek-v2-lite": (16, 512, 64),
    "deepseek-v3": (128, 512, 64),
    "deepseek-r1": (128, 512, 64),
    "deepseek-v3.2": (128, 512, 64),
    "kimi-k2": (64, 512, 64),
    "kimi-k2.5": (64, 512, 64),
    "kimi-linear": (32, 512, 64),
    "kimi-k3": (96, 512, 64),
    "moonlight": (16, 512, 64),
    "glm-4.7-flash": (20, 512, 64),
    "glm-5": (64, 512, 64),
    "longcat-flash": (64, 512, 64),
    "joyai-llm-flash": (32, 512, 64),
    "minicpm3-4b": (40, 256, 32),
}
FP8 = ((Dtype.FP8, Dtype.FP8),)


def test_every_model_is_known() -> None:
    assert {m.id: (m.heads, m.latent, m.rope) for m in models()} == KNOWN
    assert all(m.reference for m in models())


def test_other_latent_sizes_are_outside_the_kernels_and_said_so() -> None:
    outside = {m.id: m.outside for m in models() if m.outside is not None}
    assert set(outside) == {"minicpm3-4b"}
    assert "256 latent and 32 rope" in str(outside["minicpm3-4b"])


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("kimi-k3", ["kimi-k3"]),
        ("Kimi-K3", ["kimi-k3"]),
        ("GLM-5.1", ["glm-5"]),
        ("glm", ["glm-4.7-flash", "glm-5"]),
        ("DEEPSEEK-R1", ["deepseek-r1"]),
    ],
)
def test_models_are_found_by_what_people_call_them(name: str, ids: list[str]) -> None:
    assert [model.id for model in find(name)] == ids


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="unknown model 'kimi-k4'") as caught:
        find("kimi-k4")
    assert "kimi-k" in str(caught.value.hint)
    with pytest.raises(UsageError) as caught:
        find("zzzzzzzz")
    assert "deepseek-v2" in str(caught.value.hint)


def test_deployments_split_heads_evenly_and_gather_them_again() -> None:
    (k3,) = find("kimi-k3")
    found = list(deployments([k3], tps=(1, 2, 4, 5, 8, 16, 64), dcps=(1, 2, 3, 8), drafts=(0, 3)))
    pairs = {(each.tp, each.dcp): each.num_heads for each in found}
    assert pairs == {
        **{(1, 1): 96, (2, 1): 48, (2, 2): 96, (4, 1): 24, (4, 2): 48},
        **{(8, 1): 12, (8, 2): 24, (8, 8): 96, (16, 1): 6, (16, 2): 12, (16, 8): 48},
    }
    assert {each.qlens for each in found} == {(1,), (1, 2, 3, 4)}
    assert all(each.lse is (each.dcp > 1) for each in found)


def _assess(
    *ids: str, arch: str = "gfx942", **sizes: tuple[int, ...]
) -> list[tuple[str, str, int]]:
    chosen = [model for each in ids for model in find(each)]
    wanted = deployments(
        chosen,
        tps=sizes.get("tps", (1,)),
        dcps=sizes.get("dcps", (1,)),
        drafts=sizes.get("drafts", (0,)),
    )
    found = assess(later(), wanted, archs=("gfx942",), dtypes=FP8)
    return [
        (each.deployment.model.id, str(each.verdict), each.padded.padded_num_heads)
        for each in found
    ]


def test_what_breaks_comes_first_then_what_folds_most() -> None:
    names = ("glm-5", "kimi-k3", "glm-4.7-flash", "minicpm3-4b", "deepseek-v3")
    assert _assess(*names) == [
        ("minicpm3-4b", "FOLDED", 64),  # outside the kernels, whatever dispatch would say
        ("kimi-k3", "FOLDED", 128),
        ("glm-4.7-flash", "FOLDED", 64),
        ("glm-5", "NATIVE", 64),
        ("deepseek-v3", "NATIVE", 128),
    ]
    first = _assess("deepseek-v3", "kimi-k3", tps=(8,), dcps=(8,))
    assert first[0] == ("deepseek-v3", "NO_KERNEL", 128)


def test_an_assessment_tells_both_launches() -> None:
    (k3,) = find("kimi-k3")
    (found,) = assess(
        *(later(), [Deployment(model=k3, tp=2, dcp=1, draft=0)]), archs=("gfx950",), dtypes=FP8
    )
    assert (found.verdict, found.fold, found.failure) == (Verdict.FOLDED, 3, None)
    assert found.as_is.padded_num_heads == 48
    assert found.padded.padded_num_heads == 64
    assert found.padded.expected_gain == pytest.approx(0.509, abs=0.001)


@pytest.mark.parametrize(
    ("heads", "own", "shown"),
    [
        (12, "REJECTED", "16: NATIVE"),
        (48, "FOLDED by 3", "64: NATIVE"),
        (64, "NATIVE", "64: NATIVE"),
    ],
)
def test_what_happens_to_the_count_itself(heads: int, own: str, shown: str) -> None:
    model = replace(find("kimi-k3")[0], heads=heads)
    wanted = [Deployment(model=model, tp=1, dcp=1, draft=0)]
    answers = probe("release:v0.1.19.post2")
    (found,) = assess(answers, wanted, archs=("gfx950",), dtypes=FP8)
    direct = answers.decide(
        DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=heads)
    )
    assert found.own.decisions == (direct,)
    lines = plain(models_text.models(answers.source, [found], width=100)).splitlines()
    row = next(text for text in lines if text.startswith(f"{heads:>7} "))
    assert row.split("no ", 1)[1].strip().startswith(f"{own:<14}{shown} ")
    assert f"| {own} | {shown} |" in models_text.models_markdown([found])
    (data,) = resolve_data.assessment_rows([found])
    assert data["own_verdict"] == direct.verdict.value


def test_small_counts_may_take_gluon() -> None:
    (k2,) = find("kimi-k2")
    (found,) = assess(
        *(later(), [Deployment(model=k2, tp=8, dcp=1, draft=0)]),
        archs=("gfx950",),
        dtypes=((Dtype.BF16, Dtype.BF16),),
    )
    assert (found.padded.route, found.padded.padded_num_heads) == (Route.GLUON, 8)
    assert found.as_is.padded_num_heads == 16


def test_an_unknown_comes_after_what_breaks() -> None:
    def is_unknown(shape: object) -> bool:
        return getattr(shape, "num_heads", 0) == 96

    source = later(unknown=is_unknown)
    wanted = deployments(find("kimi-k3"), tps=(1, 2, 8), dcps=(1,), drafts=(0,))
    found = assess(source, wanted, archs=("gfx950",), dtypes=FP8)
    assert [str(each.verdict) for each in found] == ["UNKNOWN", "FOLDED", "NATIVE"]
    assert found[0].padded.padded_num_heads == 128
