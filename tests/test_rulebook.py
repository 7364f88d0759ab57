"""The strict loader of rule files, and the schemas."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import mlaprobe
from mlaprobe.errors import RuleError
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.rulefiles import schema
from mlaprobe.rulefiles.loader import RuleList, RuleMap, children, load_rules, load_yaml, rules_dir


@pytest.fixture(params=["C", "Python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's loaders: not every machine has the one in C."""
    if request.param == "Python":
        monkeypatch.setattr(rulebook, "_LOADER", yaml.SafeLoader)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML was built without libyaml")


@pytest.mark.usefixtures("loader")
def test_values() -> None:
    text = """\
        # a comment
        text: one
        quoted: "yes"
        date: 2026-08-22
        version: v0.1.20
        range: 1-160
        number: -12
        float: 0.25
        power: 1.5e3
        flag: true
        none: null
        empty:
        list: [1, two, {three: 3}]
        16: key
        folded: >-
          a
          b
    """
    expected = {
        "text": "one",
        "quoted": "yes",
        "date": "2026-08-22",
        "version": "v0.1.20",
        "range": "1-160",
        "number": -12,
        "float": 0.25,
        "power": 1500.0,
        "flag": True,
        "none": None,
        "empty": None,
        "list": [1, "two", {"three": 3}],
        16: "key",
        "folded": "a b",
    }
    loaded = load_yaml(text)
    assert loaded == expected
    assert {k: type(v) for k, v in loaded.items() if not isinstance(v, (list, dict))} == {
        k: type(v) for k, v in expected.items() if not isinstance(v, (list, dict))
    }


@pytest.mark.usefixtures("loader")
def test_places() -> None:
    loaded = load_yaml("a: 1\nb:\n  - x\n  - {c: é, d: 2}\n", name="r.yaml")
    assert isinstance(loaded, RuleMap)
    item = loaded["b"][1]
    assert (item.places["d"].line, item.places["d"].column) == (4, 15)
    assert (item.key_places["d"].line, item.key_places["d"].column) == (4, 12)
    assert item.places["d"].text == "  - {c: é, d: 2}"
    assert loaded["b"].places[0].line == 3
    assert [key for key, _, _ in children(loaded["b"])] == [0, 1]
    assert list(children("text")) == []


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is there twice"),
        ("a:\n  - {x: 1, y: 2, x: 3}\n", 2, "the key 'x' is there twice"),
        ("a: 1\n'a': 2\n", 2, "twice"),
        ("1: a\n1: b\n", 2, "the key 1 is there twice"),
        ("a: yes\n", 1, "'yes' means different things"),
        ("a: Off\n", 1, "different things"),
        ("a: True\n", 1, "different things"),
        ("a: 010\n", 1, "different things"),
        ("a: 0x10\n", 1, "different things"),
        ("a: 1_000\n", 1, "different things"),
        ("a: 12:30\n", 1, "different things"),
        ("a: .inf\n", 1, "different things"),
        ("a: &x 1\nb: *x\n", 1, "an anchor or alias"),
        ("a: &x\n  b: *x\n", 1, "an anchor or alias"),
        ("a: !!python/name:os.system\n", 1, "a tag"),
        ("a: !mine x\n", 1, "a tag, !mine"),
        ("<<: {a: 1}\n", 1, "a key must be"),
        ("? [a, b]\n: 1\n", 1, "a key must be"),
        ("a: 12345678901234567890\n", 1, "a number that is too large"),
        ("a: 1.0e999\n", 1, "a number that is too large"),
        ("true: 1\n", 1, "a key must be"),
        ("a: 1\n b: 2\n", 2, "not YAML"),
        ("a: [1, 2\n", 2, "not YAML"),
        ("a: *nowhere\n", 1, "not YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not YAML"),
        ("# nothing\n", 1, "is empty"),
        ("", 1, "is empty"),
    ],
)
def test_refused(text: str, line: int, message: str) -> None:
    with pytest.raises(RuleError, match=message) as caught:
        load_yaml(text, name="r.yaml")
    assert caught.value.file == "r.yaml"
    assert caught.value.line is not None
    assert abs(caught.value.line - line) <= (1 if "YAML" in message or "anchor" in message else 0)


@pytest.mark.usefixtures("loader")
def test_characters_that_yaml_does_not_have() -> None:
    with pytest.raises(RuleError, match="not YAML"):
        load_yaml("a: \x01\n")


@given(st.text(max_size=60))
def test_any_text_is_a_value_or_a_rule_error(text: str) -> None:
    with contextlib.suppress(RuleError):
        load_yaml(text)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert load_yaml(file) == {"a": 1, "b": 2}
    file.write_bytes(b"a: \xff\n")
    with pytest.raises(RuleError, match="it is not UTF-8") as caught:
        load_yaml(file)
    assert caught.value.file == str(file)
    with pytest.raises(RuleError, match="cannot read the rule file: No such file"):
        load_yaml(tmp_path / "none.yaml")


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of rules in place of the project's."""
    monkeypatch.setattr(rulebook, "rules_dir", lambda: tmp_path)
    load_rules.cache_clear()
    return tmp_path


def test_load_rules(rules: Path) -> None:
    (rules / "models").mkdir()
    (rules / "models" / "one.yaml").write_text("name: one\n")
    (rules / "layouts.yaml").write_text("files: []\n")
    (rules / "bad.yaml").write_text("- 1\n")
    assert load_rules("models/one") == {"name": "one"}
    assert load_rules("models/one") is load_rules("models/one")
    assert rulebook.rule_names() == ("bad", "layouts")
    assert rulebook.rule_names("models") == ("models/one",)
    with pytest.raises(RuleError, match="there are no rules 'layout'") as caught:
        load_rules("layout")
    assert caught.value.hint == "did you mean 'layouts'?"
    with pytest.raises(RuleError, match="are not a mapping") as caught:
        load_rules("bad")
    assert caught.value.file == "rules/bad.yaml"
    record = schema.Record({"name": schema.whole()})
    with pytest.raises(RuleError, match="name: a whole number expected, not text") as caught:
        load_rules("models/one", record)
    assert (caught.value.file, caught.value.line) == ("rules/models/one.yaml", 1)
    assert load_rules("models/one", schema.Record({"name": schema.Text()}))["name"] == "one"


def test_rules_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Path(str(mlaprobe.__file__)).parent
    assert rules_dir() in (package.parent / "rules", package / "_rules")
    wheel = tmp_path / "site" / "mlaprobe"
    (wheel / "_rules").mkdir(parents=True)
    monkeypatch.setattr(rulebook, "__file__", str(wheel / "rulefiles" / "loader.py"))
    assert rules_dir() == wheel / "_rules"


def test_every_rule_file_loads() -> None:
    for file in sorted(rules_dir().rglob("*.yaml")):
        assert isinstance(load_yaml(file), (RuleMap, RuleList))


ERRATUM = schema.Record(
    {"id": schema.Text(pattern=r"[a-z-]+", form="a name in lower case"), "heads": schema.whole(1)},
    {
        "since": schema.Release(),
        "dtype": schema.Text(choices=("bf16", "fp8")),
        "cost": schema.Either(schema.Nothing(), schema.Number(0, 10)),
        "sources": schema.ListOf(schema.Text(), at_least=1, unique=True),
        "shapes": schema.MapOf(schema.Flag(), key=schema.Either(schema.Text(), schema.whole())),
        "more": schema.Anything(),
    },
)


def _check(value: str) -> Any:
    loaded = load_yaml(value, name="r.yaml")
    ERRATUM.check(loaded, rulebook.Place(file="r.yaml", line=1, column=1, text=""))
    return loaded


def test_schema_fits() -> None:
    _check(
        "{id: a-b, heads: 16, since: v0.1.20, dtype: fp8, cost: 1.5, sources: [x, y],"
        " shapes: {a: true, 16: false}, more: [{}]}"
    )
    assert _check("{id: a, heads: 1, cost: null, more: null}")["cost"] is None


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[]", "a mapping expected, not a list", None),
        ("{id: a}", "the key 'heads' is missing", None),
        ("{id: a, heds: 1}", "heds: unknown key 'heds'", "did you mean 'heads'?"),
        ("{id: a, zzz: 1}", "unknown key 'zzz'", "one of id, heads"),
        ("{id: A, heads: 1}", "id: 'A' is not a name in lower case", None),
        ('{id: "", heads: 1}', "id: the text is empty", None),
        ("{id: null, heads: 1}", "id: text expected, not nothing", None),
        ("{id: a, heads: true}", "heads: a whole number expected, not true or false", None),
        ("{id: a, heads: 1.5}", "heads: a whole number expected, not a number", None),
        ("{id: a, heads: 0}", "heads: 0 is less than 1", None),
        ("{id: a, heads: 1, since: main}", "since: 'main' is no release", "v0.1.20"),
        ("{id: a, heads: 1, since: 1}", "since: a release expected, not a whole number", None),
        ("{id: a, heads: 1, dtype: fp9}", "unknown value 'fp9'", "did you mean 'fp8'?"),
        ("{id: a, heads: 1, cost: 11}", "cost: 11 is more than 10", None),
        ("{id: a, heads: 1, cost: x}", "cost: nothing or a number expected, not text", None),
        ("{id: a, heads: 1, sources: []}", "sources: a list of at least 1 expected", None),
        ("{id: a, heads: 1, sources: {}}", "sources: a list expected, not a mapping", None),
        ("{id: a, heads: 1, sources: [x, 2]}", r"sources\[1\]: text expected", None),
        ("{id: a, heads: 1, sources: [x, x]}", r"sources\[1\]: 'x' is there twice", None),
        ("{id: a, heads: 1, shapes: []}", "shapes: a mapping expected, not a list", None),
        ("{id: a, heads: 1, shapes: {q: 1}}", r"shapes\.q: true or false expected", None),
    ],
)
def test_schema_refuses(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(RuleError, match=message) as caught:
        _check(text)
    assert (caught.value.file, caught.value.line) == ("r.yaml", 1)
    assert hint is None or hint in str(caught.value.hint)


def test_schema_points_at_the_line() -> None:
    with pytest.raises(RuleError) as caught:
        _check("id: a\nheads: 16\nsources:\n  - x\n  - 5\n")
    assert caught.value.render().splitlines() == [
        "error: sources[1]: text expected, not a whole number",
        "  --> r.yaml:5:5",
        "   |   - 5",
        "   |     ^",
    ]


@pytest.mark.parametrize("column", [1, 100, 900, 1000])
def test_of_a_long_line_what_is_around_the_place(column: int) -> None:
    """The caret stands below the character that is meant, whatever is cut off."""
    text = "".join(chr(ord("a") + at % 26) for at in range(1000))
    place = rulebook.Place(file="r.yaml", line=1, column=column, text=text)
    _, _, shown, caret = place.error("wrong").render().splitlines()
    assert len(shown) < 200
    assert shown[caret.index("^")] == text[column - 1]
    assert shown.removeprefix("   | ") in text
