"""The rule of issue 3 written down a second time, and the resolver held to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.core.shape import DecodeShape, Dtype, Verdict
from tests.padding.fake import ARCHS, DTYPES, Fake, ask, later


class Table:
    """What a source says natively runs and what it has no kernel for, asked of its rules alone."""

    def __init__(self, source: Fake, arch: str, dtype: str, lse: bool) -> None:
        self.named = arch in source.archs
        self._ask: dict[tuple[int, int], tuple[bool, bool]] = {}
        q_dtype, kv_dtype = dtype.split("/")
        for count in range(1, 257):
            for qlen in range(1, 9):
                shape = DecodeShape(
                    arch=arch,
                    q_dtype=Dtype(q_dtype),
                    kv_dtype=Dtype(kv_dtype),
                    num_heads=count,
                    qlen=qlen,
                    lse=lse,
                )
                self._ask[count, qlen] = source.native(shape), source.no_kernel(shape)

    def native(self, count: int, qlens: tuple[int, ...]) -> bool:
        return all(self._ask[count, qlen] == (True, False) for qlen in qlens)

    def cost(self, count: int, qlen: int) -> float:
        """By the issue's published points and formula."""
        native, missing = self._ask[count, qlen]
        if missing or (not native and count % 16):
            return float("inf")
        passes = 1 if native else count // 16
        natives = {16: 136.6, 32: 153.6, 64: 171.4, 96: 231.7, 128: 247.2}
        folds = {48: 349.0, 80: 440.1, 112: 658.2}
        measured = natives if passes == 1 else folds
        if count in measured:
            return measured[count]
        formula = 57.6 + 68.7 * passes + 0.96 * count
        if passes > 1:
            return formula
        below = max((us for n, us in natives.items() if n < count), default=0.0)
        above = min((us for n, us in natives.items() if n > count), default=float("inf"))
        return min(max(formula, below), above)

    def expected(self, n: int, qlens: tuple[int, ...], mode: str) -> int:
        """The rule once more, written down straight from the issue."""
        rounded = -(-n // 16) * 16
        if mode == "off" or not self.named:
            return rounded
        if self.native(n, qlens):
            return n
        if n > 128:
            return rounded
        stay = sum(self.cost(rounded, qlen) for qlen in qlens)
        if stay == float("inf"):
            return self._instead(n, qlens, mode) or rounded
        found = [
            (sum(self.cost(count, qlen) for qlen in qlens), count)
            for count in range(n + 1, 129)
            if self.native(count, qlens)
        ]
        if mode == "auto":
            found = [
                (cost, count)
                for cost, count in found
                if count <= 2 * rounded and cost <= stay + 1e-6
            ]
        return min(found)[1] if found else rounded

    def _instead(self, n: int, qlens: tuple[int, ...], mode: str) -> int | None:
        """Where the unpadded count does not run: the cheapest that does, whatever the caps say;
        forced, the cheapest native one where there is any."""
        costs = {c: sum(self.cost(c, qlen) for qlen in qlens) for c in range(n, 129)}
        natives = [(costs[c], c) for c in costs if self.native(c, qlens)]
        running = [(cost, c) for c, cost in costs.items() if cost < float("inf")]
        if not running:
            return None
        if natives and (mode == "force" or min(natives)[0] <= min(running)[0]):
            return min(natives)[1]
        return min(running)[1]


@st.composite
def sources(draw: st.DrawFn) -> Fake:
    """Sources with rules that the resolver was never told about."""
    if draw(st.booleans()):
        return later()
    native = draw(st.sets(st.integers(1, 256), max_size=12))
    only_at = draw(st.dictionaries(st.integers(1, 160), st.integers(1, 8), max_size=6))
    broken = draw(st.sets(st.integers(1, 160), max_size=4))
    need_lse = draw(st.sets(st.integers(1, 160), max_size=4))

    def is_native(shape: DecodeShape) -> bool:
        if shape.num_heads in only_at:
            return shape.qlen <= only_at[shape.num_heads]
        return shape.num_heads in native

    def lacks(shape: DecodeShape) -> bool:
        return shape.num_heads in broken or (shape.lse and shape.num_heads in need_lse)

    return Fake(native=is_native, no_kernel=lacks)


@settings(max_examples=200)
@given(
    source=sources(),
    heads=st.integers(1, 256),
    arch=st.sampled_from(ARCHS),
    dtype=st.sampled_from(DTYPES),
    qlens=st.sets(st.integers(1, 8), min_size=1).map(lambda found: tuple(sorted(found))),
    lse=st.booleans(),
    mode=st.sampled_from(["off", "auto", "force"]),
)
def test_the_rule_holds(
    source: Fake,
    heads: int,
    arch: str,
    dtype: str,
    qlens: tuple[int, ...],
    lse: bool,
    mode: str,
) -> None:
    table = Table(source, arch, dtype, lse)
    found = ask(source, heads, f"{arch} {dtype}", qlens=qlens, lse=lse, mode=mode)
    target = found.padded_num_heads
    assert target == table.expected(heads, qlens, mode)
    assert target >= heads
    assert target % 16 == 0 or table.native(target, qlens)
    if found.pads and target != -(-heads // 16) * 16:
        assert target <= 128
        unpadded = -(-heads // 16) * 16
        alone = sum(table.cost(unpadded, qlen) for qlen in qlens)
        assert found.verdict is Verdict.NATIVE or alone == float("inf")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lse", [False, True])
def test_every_head_count_of_the_later_release(arch: str, dtype: str, lse: bool) -> None:
    source = later()
    table = Table(source, arch, dtype, lse)
    for qlens in ((1,), tuple(range(1, 9))):
        for mode in ("auto", "force"):
            for heads in range(1, 257):
                found = ask(source, heads, f"{arch} {dtype}", qlens=qlens, lse=lse, mode=mode)
                assert found.padded_num_heads == table.expected(heads, qlens, mode)
