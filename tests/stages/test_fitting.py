"""What is passed along with a folded query has to be for the requests of that query."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlaprobe.core.shape import Decision, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, ask, opened
from tests.trees import indices, today
from tests.trees.common import changed

ROUND_ROBIN = ("qo_indptr", "kv_indptr", "g_kv_indptr")
"""What a kernel for round robin reads by request."""
PLAIN = ("qo_indptr", "kv_indptr", "kv_last_page_lens")
"""What a launch without work metadata reads by request."""
ASKED = ("gfx942", BF16, 48)
"""A shape that folds by three."""


def folded(tmp_path: Path, fold: str, qlen: int = 1, **more: Any) -> Decision:
    """The decision of a tree on a shape that folds."""
    arch, dtypes, heads = ASKED
    return ask(opened(tmp_path, indices.tree(fold)), arch, dtypes, heads, qlen, **more)


def listed(names: tuple[str, ...]) -> str:
    *rest, last = (name for name in indices.NAMES if name in names)
    return f"{', '.join(rest)} and {last} are" if rest else f"{last} is"


@pytest.mark.parametrize("batch", [None, 1, 2, 7])
@pytest.mark.parametrize("qlen", [1, 2])
def test_round_robin_with_a_folded_query_and_indices_for_the_callers_requests(
    tmp_path: Path, batch: int | None, qlen: int
) -> None:
    decision = folded(tmp_path, "", qlen, cp_round_robin=True, batch=batch)
    assert (decision.verdict, decision.stage) == (Verdict.INCOHERENT, "dispatcher")
    assert decision.message == (
        "the query is folded to 3 times the requests, "
        f"{listed(ROUND_ROBIN)} for as many requests as the caller has"
    )


def test_the_work_says_where_a_folded_request_is(tmp_path: Path) -> None:
    """Without round robin a kernel takes its places from the metadata."""
    decision = folded(tmp_path, "")
    assert (decision.verdict, decision.fold) == (Verdict.FOLDED, 3)


@pytest.mark.parametrize(
    "names", [n for size in range(1, 4) for n in combinations(ROUND_ROBIN, size)]
)
def test_every_index_has_to_follow(tmp_path: Path, names: tuple[str, ...]) -> None:
    decision = folded(tmp_path, indices.following(*names), cp_round_robin=True)
    left = tuple(name for name in ROUND_ROBIN if name not in names)
    if not left:
        assert (decision.verdict, decision.fold) == (Verdict.FOLDED, 3)
        return
    assert decision.verdict is Verdict.INCOHERENT
    assert decision.message is not None
    assert f", {listed(left)} for as many requests as the caller has" in decision.message


def test_both_places_are_the_evidence(tmp_path: Path) -> None:
    decision = folded(tmp_path, "", 2, cp_round_robin=True)
    texts = [e.text for e in decision.evidence if e.file == today.DISPATCHER]
    assert texts[0] == "nhead in range(32, 128 + 1, 16)"
    assert texts[1].startswith("q.reshape(ori_total_s // max_seqlen_q")
    assert texts[2].startswith("aiter.mla_decode_stage1_asm_fwd(")


def test_what_is_folded_by_another_factor(tmp_path: Path) -> None:
    fold = indices.following("qo_indptr", "kv_indptr")
    other = "g_kv_indptr = None if g_kv_indptr is None else torch.empty((bs * 2 + 1,))"
    decision = folded(tmp_path, f"{fold}\n{other}", cp_round_robin=True)
    assert decision.message == (
        "the query is folded to 3 times the requests, g_kv_indptr is for another number of requests"
    )


@pytest.mark.parametrize("length", ["bs * fold_factor", "bs * fold_factor + 2", "5"])
def test_a_vector_with_an_entry_too_few_or_too_many(tmp_path: Path, length: str) -> None:
    fold = indices.following("qo_indptr", "kv_indptr")
    decision = folded(
        tmp_path,
        f"{fold}\ng_kv_indptr = torch.empty(({length},))",
        cp_round_robin=True,
    )
    assert decision.verdict is Verdict.INCOHERENT


def test_a_length_that_is_not_known_is_no_fold(tmp_path: Path) -> None:
    fold = indices.following("qo_indptr", "kv_indptr")
    unknown = "g_kv_indptr = torch.empty((g_kv_indptr[0].item(),)) if return_lse else None"
    decision = folded(tmp_path, f"{fold}\n{unknown}", cp_round_robin=True, lse=True)
    assert (decision.verdict, decision.stage) == (Verdict.UNKNOWN, "dispatcher")
    assert decision.message is not None
    assert decision.message.startswith("how many requests g_kv_indptr is for is not known")


def test_a_length_by_the_tokens(tmp_path: Path) -> None:
    """What is computed of the tokens is for the requests that they are of."""
    fold = indices.following("qo_indptr", "kv_indptr")
    by_tokens = "g_kv_indptr = torch.empty((total_s // max_seqlen_q + 1,))"
    for qlen in (1, 2, 3):
        decision = folded(tmp_path, f"{fold}\n{by_tokens}", qlen, cp_round_robin=True)
        assert decision.verdict is Verdict.FOLDED
    short = "g_kv_indptr = torch.empty((ori_total_s // max_seqlen_q + 1,))"
    assert folded(tmp_path, f"{fold}\n{short}", cp_round_robin=True).verdict is Verdict.INCOHERENT


@pytest.mark.parametrize("follow", [(), PLAIN, PLAIN[:2], PLAIN[1:]])
def test_a_fold_without_work_metadata(tmp_path: Path, follow: tuple[str, ...]) -> None:
    """A workgroup is for a request: all that is kept by request has to follow."""
    tree = indices.tree(plain=indices.plain_fold(*follow))
    decision = ask(opened(tmp_path, tree), "gfx942", FP8, 32, persistent=False)
    if follow == PLAIN:
        assert (decision.verdict, decision.fold) == (Verdict.FOLDED, 2)
        return
    left = tuple(name for name in PLAIN if name not in follow)
    assert decision.verdict is Verdict.INCOHERENT
    assert decision.message is not None
    assert f", {listed(left)} for as many" in decision.message


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (("o = o.view(total_s, nhead, -1)", "pass"), "output is"),
        (("logits = torch.empty((rows, 1, nhead,", "logits = torch.empty((rows, 1, ori_nhead,"),
         "splitData is"),
    ],
)  # fmt: skip
def test_what_is_written_has_to_follow_as_well(
    tmp_path: Path, edit: tuple[str, str], name: str
) -> None:
    tree = changed(indices.tree(), today.DISPATCHER, edit)
    decision = ask(opened(tmp_path, tree), *ASKED)
    assert decision.verdict is Verdict.INCOHERENT
    assert decision.message == (
        f"the query is folded to 3 times the requests, {name} for other tokens or heads"
    )


def test_a_refusal_precedes_what_does_not_fit(tmp_path: Path) -> None:
    """Nothing is launched, so nothing is wrong in silence."""
    found = opened(tmp_path, indices.tree())
    decision = ask(found, "gfx950", FP8, 48, 3, cp_round_robin=True)
    assert (decision.verdict, decision.stage) == (Verdict.NO_KERNEL, "host")


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_dispatcher_that_repeats_every_index_is_never_incoherent(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(indices.NAMES))
    spelled = "\n".join(data.draw(st.sampled_from(SPELLINGS[name])) for name in order)
    found = opened(tmp_path_factory.mktemp("tree"), indices.tree(spelled))
    for heads, qlen, batch in ((48, 1, None), (48, 2, 3), (128, 2, None)):
        decision = ask(found, "gfx942", BF16, heads, qlen, cp_round_robin=True, batch=batch)
        assert (decision.verdict, decision.fold) == (Verdict.FOLDED, heads // 16)


FOLD_LENGTHS = """\
{given}{name} = torch.nn.functional.pad(
    torch.cumsum(({name}[1:] - {name}[:-1]).repeat_interleave(fold_factor), dim=0), (1, 0), value=0
).to({name}.dtype)"""
FOLD_STARTS = "{given}{name} = torch.cat([{name}[:-1].repeat_interleave(fold_factor), {name}[-1:]])"


def _boundary(name: str) -> list[str]:
    given = "" if name != "g_kv_indptr" else f"if {name} is not None: "
    return [
        indices.FOLLOWS[name],
        f"{given}{name} = torch.zeros((bs * fold_factor + 1,), dtype=dtypes.i32)",
        f"{given}{name} = torch.empty((bs * (ori_nhead // 16) + 1,), dtype=torch.int32)",
        f"{given}{name} = torch.zeros({name}.numel() * fold_factor - fold_factor + 1)",
        f"{given}{name} = torch.full((1 + fold_factor * (len({name}) - 1),), 0)",
        f"{given}{name} = {name}.new_zeros((bs * fold_factor + 1,))",
        FOLD_LENGTHS.format(given=given, name=name),
        FOLD_STARTS.format(given=given, name=name),
    ]


SPELLINGS = {
    **{name: _boundary(name) for name in ROUND_ROBIN},
    "kv_last_page_lens": [
        indices.FOLLOWS["kv_last_page_lens"],
        "kv_last_page_lens = torch.ones((fold_factor * bs,), dtype=dtypes.i32)",
        "kv_last_page_lens = kv_last_page_lens.repeat_interleave(repeats=ori_nhead // 16, dim=-1)",
    ],
}
"""Ways to write what follows a fold."""

# --- AITER's own ---------------------------------------------------------------------------------

RELEASES = ["v0.1.20", "v0.1.20.post1"]


@pytest.fixture(scope="module")
def at(aiter_git: Path) -> Any:
    """Opens a release."""
    return lru_cache(maxsize=2)(lambda release: Capability.open(f"{aiter_git}@{release}"))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("lse", [False, True])
def test_round_robin_of_folded_heads_in_aiter(at: Any, release: str, lse: bool) -> None:
    """https://github.com/ROCm/aiter/pull/4964: fp8 of gfx950 that folds, where a kernel for round
    robin is found."""
    for heads in (48, 80, 96, 112):
        for qlen in range(1, 9):
            decision = ask(at(release), "gfx950", FP8, heads, qlen, lse=lse, cp_round_robin=True)
            refused = qlen < 3
            expected = Verdict.NO_KERNEL if refused else Verdict.INCOHERENT
            assert decision.verdict is expected, (heads, qlen)
            plain = ask(at(release), "gfx950", FP8, heads, qlen, lse=lse)
            assert plain.verdict is not Verdict.INCOHERENT


@pytest.mark.parametrize("release", RELEASES)
def test_neighbours_of_round_robin_in_aiter(at: Any, release: str) -> None:
    runs = {Verdict.NATIVE, Verdict.FOLDED}
    for dtypes, heads in ((FP8, 128), (FP8, 64), (FP8, 32), (BF16, 96), (BF16, 48)):
        decision = ask(at(release), "gfx950", dtypes, heads, 4, lse=True, cp_round_robin=True)
        assert decision.verdict in runs, (dtypes, heads)
    assert ask(at(release), "gfx950", FP8, 96, 4, lse=True).verdict is Verdict.FOLDED


def test_the_map_of_partial_results_fits_every_fold(aiter_git: Path) -> None:
    """AITER sizes it for as many entries as a fold makes of a request: v0.1.6.post3 views what is
    allocated by it with the caller's heads again, 112 as 7 times 16."""
    capability = Capability.open(f"{aiter_git}@v0.1.6.post3")
    for heads in range(32, 113, 16):
        assert ask(capability, "gfx942", BF16, heads).verdict is Verdict.FOLDED, heads
