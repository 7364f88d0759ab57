"""Messages that name the places of their key read back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.snapshot.phrases import by_key, text_of

WORDS = ("bf16", "fp8", "8", "16", "128", "0", "1", "q_type:", " gqa:", " ", ".", "qlen", "b")
VALUES = {"heads": 16, "qlen": 1}
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
KEYS = st.lists(
    st.sampled_from(("bf16", "fp8", 8, 16, 128, 0, 1, None, True, ["heads"], ["qlen"])), max_size=6
)


@st.composite
def phrases(draw: st.DrawFn) -> list[str]:
    """Text and variables in turn."""
    parts = [draw(TEXTS)]
    for name in draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=4)):
        parts += [name, draw(TEXTS)]
    return parts


@given(phrases(), KEYS)
def test_a_phrase_by_its_key_reads_as_before(parts: list[str], key: list[object]) -> None:
    text = parts[0] if len(parts) == 1 else parts
    filled = [VALUES[each[0]] if isinstance(each, list) else each for each in key]
    assert text_of(by_key(text, key), VALUES, filled) == text_of(text, VALUES)


def test_what_a_key_says_is_not_written_again() -> None:
    text = ["no kernel for q:bf16 kv:fp8 gqa:16 qlen:", "qlen", " lse:0"]
    phrase = ["no kernel for q:", 0, " kv:", 1, " gqa:", 2, " qlen:", 3, " lse:", 4, ""]
    assert by_key(text, ["bf16", "fp8", 16, ["qlen"], 0]) == phrase
    assert by_key("gqa:128 of 12.8", [12, 8, True, None]) == "gqa:128 of 12.8", "whole words only"
