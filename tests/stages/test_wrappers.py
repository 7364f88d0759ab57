"""Functions that pass their arguments on: they do what the function does that they call, or it is
not known what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import Route, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed

STAGES = {
    "dispatcher": (today.DISPATCHER, "mla_decode_fwd", ("q", "kv_buffer", "o")),
    "sizing": (today.OPS, "get_mla_metadata_info_v1", ("batch_size", "max_seqlen_qo")),
    "gluon": (today.GLUON, "mla_gluon", ("q_nope", "q_pe", "kv_c")),
}
PASSING = "def INNER(*args, **kwargs):\n    return _first(*args, **kwargs)\n"
DECORATOR = """
def _deco(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner


"""
BEHIND = "import functools\n\n\n"
FOLLOWED = {
    "everything": "def NAME(*args, **kwargs):\n    return _inner(*args, **kwargs)\n",
    "by name": "def NAME(**kwargs):\n    return _inner(**kwargs)\n",
    "by position": "def NAME(*args):\n    return _inner(*args)\n",
    "what is logged": "def NAME(*args, **kwargs):\n    print(len(args), sorted(kwargs))\n"
    "    if kwargs:\n        print(list(kwargs.keys()))\n    return _inner(*args, **kwargs)\n",
    "a result that is kept": "def NAME(*a, **k):\n    r = _inner(*a, **k)\n    return r\n",
    "one after the other": "def _middle(*args, **kwargs):\n    return _inner(*args, **kwargs)\n\n\n"
    "def NAME(*rest, **more):\n    return _middle(*rest, **more)\n",
    "the first by name": "def NAME(P, *args, **kwargs):\n    return _inner(P, *args, **kwargs)\n",
    "the first, renamed": "def NAME(x, y, *args, **kwargs):\n"
    "    return _inner(x, y, *args, **kwargs)\n",
    "the first by position only": "def NAME(P, /, **kwargs):\n    return _inner(P, **kwargs)\n",
    "the first, then positions": "def NAME(P, *args):\n    return _inner(P, *args)\n",
    "keywords only": "def NAME(*, P0, **kwargs):\n    return _inner(P0, **kwargs)\n",
    "one that is taken out": "def NAME(**kwargs):\n    x = kwargs.pop('P0')\n"
    "    return _inner(x, **kwargs)\n",
    "one that may be there": "def NAME(*args, **kwargs):\n"
    "    flag = kwargs.pop('verbose', False)\n    if flag:\n        print(flag)\n"
    "    return _inner(*args, **kwargs)\n",
    "one that is asked for": "def NAME(*args, **kwargs):\n"
    "    if 'verbose' in kwargs or kwargs.get('other'):\n        print(1)\n"
    "    return _inner(*args, **kwargs)\n",
    "an alias": "NAME = _inner\n",
    "a partial": BEHIND + "NAME = functools.partial(_inner)\n",
    "an import": "from aiter.behind import inner as NAME\n",
    "an import inside": "def NAME(*args, **kwargs):\n"
    "    from aiter.behind import inner as other\n\n    return other(*args, **kwargs)\n",
    "a module": "import aiter.behind as behind\n\n\ndef NAME(*args, **kwargs):\n"
    "    return behind.inner(*args, **kwargs)\n",
    "a decorator": BEHIND + DECORATOR + "@_deco\ndef NAME(*a, **k):\n    return _inner(*a, **k)\n",
    "a decorated function": BEHIND + DECORATOR + "NAME = _deco(_inner)\n",
}
OPEN = {
    "a variable": "def NAME(*args, **kwargs):\n    f = _inner\n    return f(*args, **kwargs)\n",
    "a choice": "def NAME(*args, **kwargs):\n    f = _inner if len(args) else print\n"
    "    return f(*args, **kwargs)\n",
    "a first argument": "def NAME(*args, **kwargs):\n    x = args[0]\n"
    "    return _inner(x, **kwargs)\n",
    "other orders": "def NAME(*args, **kwargs):\n    return _inner(*args[::-1], **kwargs)\n",
    "a look-up": "_ALL = {1: _inner}\n\n\ndef NAME(*args, **kwargs):\n"
    "    return _ALL[1](*args, **kwargs)\n",
    "handed over": "def _call(f, args, kwargs):\n    return f(*args, **kwargs)\n\n\n"
    "def NAME(*args, **kwargs):\n    return _call(_inner, args, kwargs)\n",
    "with others": "def NAME(*args, **kwargs):\n    more = {}\n"
    "    return _inner(*args, **kwargs, **more)\n",
    "one that is deleted": "def NAME(*args, **kwargs):\n    del kwargs['P0']\n"
    "    return _inner(*args, **kwargs)\n",
    "itself": "def NAME(*args, **kwargs):\n    return NAME(*args, **kwargs)\n",
    "a stranger": "def NAME(*args, **kwargs):\n    return torch.compile(*args, **kwargs)\n",
    "others": "def NAME(*args, **kwargs):\n    if len(args):\n"
    "        return print(*args, **kwargs)\n"
    "    return _inner(*args, **kwargs)\n",
    "two that take others": "def _narrow(a, b):\n    return a\n\n\ndef NAME(*args, **kwargs):\n"
    "    if len(args) > 9:\n        return _narrow(*args, **kwargs)\n"
    "    return _inner(*args, **kwargs)\n",
    "a decorator that is not followed": "import torch\n\n\n@torch.library.custom_op('a::b')\n"
    "def NAME(*args, **kwargs):\n    return _inner(*args, **kwargs)\n",
}


def wrapped(stage: str, wrapper: str) -> Tree:
    """The tree with a stage's function behind a wrapper."""
    file, name, names = STAGES[stage]
    text = today.tree()[file]
    assert isinstance(text, str)
    assert text.count(f"def {name}(") == 1
    for place, parameter in enumerate(names):
        wrapper = wrapper.replace(f"P{place}", parameter)
    wrapper = wrapper.replace("(P,", f"({names[0]},").replace("NAME", name)
    inner = text.replace(f"def {name}(", "def _inner(")
    tree = {**today.tree(), file: f"{inner}\n\n{wrapper}"}
    if "aiter.behind" in wrapper:
        dotted = file.removesuffix(".py").replace("/", ".")
        tree["aiter/behind.py"] = f"from {dotted} import _inner as inner\n"
    return tree


def told(capability: Capability, stage: str) -> list[object]:
    """What a stage answers."""
    asked = [
        shape("gfx950", FP8, heads, qlen, persistent=persistent)
        for heads in (12, 16, 48)
        for qlen in (1, 2)
        for persistent in (True, False)
    ]
    if stage == "gluon":
        asked = [shape("gfx950", BF16, heads, route=Route.GLUON) for heads in (8, 16, 24)]
    found = [capability.ask(stage, question) for question in asked]
    return [(f.status, f.fold, f.final_heads, f.entry, f.failure, f.sizes) for f in found]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    """What the stages answer without wrappers."""
    capability = opened(tmp_path_factory.mktemp("plain"), today.tree())
    return {stage: told(capability, stage) for stage in STAGES}


@pytest.mark.parametrize("stage", sorted(STAGES))
@pytest.mark.parametrize("how", sorted(FOLLOWED))
def test_a_wrapper_does_what_it_wraps(
    tmp_path: Path, plain: dict[str, list[object]], stage: str, how: str
) -> None:
    capability = opened(tmp_path, wrapped(stage, FOLLOWED[how]))
    assert told(capability, stage) == plain[stage]


@pytest.mark.parametrize("stage", sorted(STAGES))
@pytest.mark.parametrize("how", sorted(OPEN))
def test_a_wrapper_that_is_not_followed_is_no_answer(tmp_path: Path, stage: str, how: str) -> None:
    capability = opened(tmp_path, wrapped(stage, OPEN[how]))
    answers = told(capability, stage)
    assert {answer[0] for answer in answers} == {"unknown"}  # type: ignore[index]


CHANGES = {
    "stored": "kwargs['num_head_qo'] = 16",
    "updated": "kwargs.update(num_head_qo=16)",
    "taken out": "kwargs['num_head_qo'] = kwargs.pop('num_head_qo') * 0 + 16",
}


@pytest.mark.parametrize("how", sorted(CHANGES))
def test_what_a_wrapper_changes_is_changed(tmp_path: Path, how: str) -> None:
    code = f"def NAME(*args, **kwargs):\n    {CHANGES[how]}\n    return _inner(*args, **kwargs)\n"
    changed = opened(tmp_path / "a", wrapped("sizing", code))
    whole = opened(tmp_path / "b", today.tree())
    wanted = whole.ask("sizing", shape("gfx950", BF16, 16))
    for heads in (12, 16, 128):
        found = changed.ask("sizing", shape("gfx950", BF16, heads))
        assert (found.status, found.sizes) == (wanted.status, wanted.sizes)


STUBS = {
    "all": "*args, **kwargs",
    "the first": "Q, KV, *args, **kwargs",
    "by name": "Q, KV, *, num_kv_splits_indptr, work_indptr, **kwargs",
}
CALLED = {
    "by position": "q, kv_buffer, splits, None, max_seqlen_q, page_size, nhead_kv, logits, o, "
    "final_lse",
    "by name": "q, kv_buffer, num_kv_splits_indptr=splits, work_indptr=None, "
    "max_seqlen_q=max_seqlen_q, page_size=page_size, nhead_kv=nhead_kv, splitData=logits, "
    "output=o, lse=final_lse",
}


@pytest.mark.parametrize("how", sorted(STUBS))
@pytest.mark.parametrize("called", sorted(CALLED))
def test_a_stub_that_takes_whatever_it_gets(tmp_path: Path, how: str, called: str) -> None:
    """It binds what the C++ function takes."""
    text = today.tree()[today.OPS]
    assert isinstance(text, str)
    start = text.index("def mla_decode_stage1_asm_fwd(")
    end = text.index(") -> None: ...", start)
    stub = f"def mla_decode_stage1_asm_fwd({STUBS[how]}"
    tree = {**today.tree(), today.OPS: text[:start] + stub + text[end:]}
    tree = changed(tree, today.DISPATCHER, (CALLED["by position"], CALLED[called]))
    capability, whole = opened(tmp_path / "a", tree), opened(tmp_path / "b", today.tree())
    for heads in (16, 24, 128):
        for qlen in (1, 2):
            asked = shape("gfx950", BF16, heads, qlen, persistent=False)
            found, wanted = capability.judge(asked), whole.judge(asked)
            if how == "by name" and called == "by position":  # a TypeError
                assert found.verdict in (wanted.verdict, Verdict.UNKNOWN, Verdict.REJECTED)
            else:
                assert (found.verdict, found.key) == (wanted.verdict, wanted.key)


def test_a_wrapper_takes_what_it_wraps(tmp_path: Path) -> None:
    code = FOLLOWED["everything"]
    wrapper = opened(tmp_path / "a", wrapped("dispatcher", code)).dispatcher
    whole = opened(tmp_path / "b", today.tree()).dispatcher
    assert wrapper is not None
    assert whole is not None
    for role in ("causal", "return_lse", "page_size", "q"):
        assert wrapper.takes(role) is whole.takes(role)
