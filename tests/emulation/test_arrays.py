"""Arrays behind the tensors of a launch: made as the tensors were, sharing memory as they do."""

from __future__ import annotations

import numpy as np
import pytest

from mlaprobe.emulation.arrays import Arrays, Marks, NotFollowedError, memory_of, offset_in, stored
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.placed import Placed

FP32 = DtypeToken("fp32")


def call(tensor: Placed, name: str, *args: object) -> Placed:
    """A method of a tensor, as evaluated code calls it."""
    made = tensor.get(name, NOWHERE).call(Run(Machine()), args, {}, NOWHERE)
    assert isinstance(made, Placed)
    return made


def test_a_fold_and_its_undoing() -> None:
    """Heads become requests, and the tokens of a request stay together."""
    given = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(6, 4, 5)
    tensor = Placed("q", given.shape, FP32)
    split = call(tensor, "reshape", 2, 3, 2, 2, -1)
    folded = call(call(split, "permute", 0, 2, 1, 3, 4), "reshape", 12, 2, -1)
    arrays = Arrays(0)
    arrays.give(tensor, given)
    found = arrays.of(folded)
    # request 1, heads 2 and 3, token 2
    assert found[1 * 6 + 1 * 3 + 2].tolist() == given[3 + 2, 2:4].tolist()
    assert memory_of(found) is not memory_of(arrays.of(tensor))
    back = call(call(folded, "reshape", 2, 2, 3, 2, -1), "permute", 0, 2, 1, 3, 4)
    assert arrays.of(call(back, "reshape", 6, 4, -1)).tolist() == given.tolist()


def test_views_share_memory() -> None:
    tensor = Placed("o", (2, 4, 8), FP32)
    tensor.filled("empty", ())
    view = call(tensor, "view", 4, 2, 8)
    arrays = Arrays(3)
    arrays.of(view)[3, 1, 7] = 5
    assert arrays.of(tensor)[1, 3, 7] == 5
    assert memory_of(arrays.of(view)) is memory_of(arrays.of(tensor))
    assert offset_in(arrays.of(view)[1], memory_of(arrays.of(tensor))) == 64


def test_memory_that_nobody_has_written_depends_on_the_seed() -> None:
    tensor = Placed("o", (8, 8), DtypeToken("bf16"))
    tensor.filled("empty", ())
    one, same, other = (Arrays(seed).of(tensor) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert not Marks().of(tensor).any()


def test_what_torch_fills() -> None:
    def made(how: str, shape: tuple[int, ...], *values: object) -> np.ndarray:
        tensor = Placed(how, shape, DtypeToken("i32"))
        tensor.filled(how, values)
        return Arrays(0).of(tensor)

    assert made("arange", (3,), 0, 12, 4).tolist() == [0, 4, 8]
    assert made("full", (2, 2), 7).tolist() == [[7, 7], [7, 7]]
    assert made("zeros", (2,)).tolist() == [0, 0]
    assert made("ones", (2,)).tolist() == [1, 1]
    with pytest.raises(NotFollowedError, match="what like starts with"):
        made("like", (2,))


def test_what_is_not_followed() -> None:
    tensor = Placed("o", (2, 4), FP32)
    arrays = Arrays(0)
    arrays.give(tensor, np.zeros((2, 4), np.float32))
    with pytest.raises(NotFollowedError, match="astype"):
        arrays.of(call(tensor, "to", DtypeToken("bf16")))
    assert arrays.of(call(tensor, "to", DtypeToken("fp32"))) is arrays.of(tensor)
    with pytest.raises(NotFollowedError, match="fp4x2"):
        stored(DtypeToken("fp4x2"))


def test_a_tensor_takes_the_memory_of_another() -> None:
    one, other = Placed("one", (2,), FP32), Placed("other", (2,), FP32)
    arrays = Arrays(0)
    arrays.give(one, np.zeros(2, np.float32))
    arrays.give(other, np.ones(2, np.float32))
    arrays.replace(one, other)
    assert arrays.of(one).tolist() == [1, 1]
