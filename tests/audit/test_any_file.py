"""Whatever Python a file of an engine holds, it is looked through and judged without an error."""

from __future__ import annotations

import ast
import warnings

from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.audit.claims import Agreement, audit
from mlaprobe.audit.places import find_places
from mlaprobe.audit.rules import audit_rules
from mlaprobe.opening.bundled import load
from mlaprobe.output import audit as output
from mlaprobe.output.style import plain

CALLS = "from aiter.mla import mla_decode_fwd\n"
NAMES = sorted(
    {name for rule in audit_rules().places for name in rule.names if name.isidentifier()}
)
TEXTS = [name for rule in audit_rules().places for name in rule.names if not name.isidentifier()]
ANSWERS = load("v0.1.20.post1")

atoms = st.one_of(
    st.integers(-3, 140).map(str),
    st.sampled_from(["10**20", "9" * 40, "0x" + "f" * 5000, "1e400", "None", "True", "...", "nan"]),
    st.sampled_from(["'a'", "b'a'", "''", "x", "f()", "lambda: 0", "-1", "1j", "f'{x}'", "*x"]),
)


def _of(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(inner, max_size=4).map(", ".join)
    pairs = st.lists(st.tuples(inner, inner).map(": ".join), max_size=3).map(", ".join)
    maker = st.sampled_from(["frozenset", "set", "tuple", "list", "range", "dict", "other"])
    return st.one_of(
        st.tuples(st.sampled_from(["()", "[]", "{}"]), several).map(
            lambda drawn: f"{drawn[0][0]}{drawn[1]}{drawn[0][1]}"
        ),
        pairs.map("{{{}}}".format),
        st.tuples(maker, several).map(lambda drawn: f"{drawn[0]}({drawn[1]})"),
        st.tuples(inner, st.sampled_from("+-*|"), inner).map(
            lambda drawn: "({}{}{})".format(*drawn)
        ),
    )


values = st.recursive(atoms, _of, max_leaves=8)
lines = st.one_of(
    st.tuples(st.sampled_from([*NAMES, "MOST_HEADS"]), values).map(" = ".join),
    st.tuples(st.sampled_from(NAMES), values).map(lambda drawn: f"{drawn[0]}: int = {drawn[1]}"),
    st.tuples(st.sampled_from(["num_heads", "self.qlen"]), values).map(" in ".join),
    st.tuples(st.sampled_from(TEXTS).map(repr), values).map(" in ".join),
    st.text(max_size=8),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(lines, max_size=4).map("\n".join))
def test_it_is_judged(text: str) -> None:
    """Every file that is no Python is one place, and what is judged is shown."""
    found = audit(ANSWERS, find_places([("engine.py", CALLS + text)], audit_rules()))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(CALLS + text)
    except (SyntaxError, ValueError):
        assert [each.agreement for each in found] == [Agreement.NOT_JUDGED]
    assert plain(output.audit("engine", ANSWERS.source, found, width=80))
