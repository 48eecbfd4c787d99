"""Every rule about declared contracts names its own defect, at its place, and is silent on a sound contract and model.

golden/ holds the first report of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.rules import contract_files, declared_contract, declared_models, model_graph, recorded_sizes

from ..every_case import every_case
from ..golden_findings import check_golden
from .declared_rule_cases import (
    CASES,
    DAMAGED,
    FOUR,
    NEAR_MISSES,
    OPEN,
    SOUND,
    DeclaredCase,
    Network,
    findings_of,
    findings_of_damage,
    inside,
    said,
    whole,
)
from .test_recorded_sizes import CODE as SIZE

GOLDEN = Path(__file__).parent / "golden"
OWN = (declared_contract, declared_models, recorded_sizes)
FAMILIES = (contract_files.DECLARED, model_graph.STAMPED, *(module.FAMILY for module in OWN))


def test_a_sound_contract_and_model_are_clean(tmp_path):
    """Users switch off a check that reports a sound export."""
    assert findings_of(tmp_path, FOUR, SOUND) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code)
def test_the_defect_is_named_where_it_is(tmp_path, case):
    """Each of these loads and runs; the robot falls, or moves as if it were drunk."""
    found = case.findings(tmp_path)
    own = [finding for finding in found if finding["code"] == case.code]
    assert own, found
    assert own[0]["pointer"] == case.pointer
    assert any(case.says in finding["message"] for finding in own), own
    assert {finding["code"] for finding in found} <= {case.code} | case.beside
    check_golden(GOLDEN, case.code, own, tmp_path)


@pytest.mark.parametrize("code", [*DAMAGED, OPEN[0]])
def test_a_mistake_is_reported_as_it_was(tmp_path, code):
    """Review must show a message without its number before users see it."""
    own = [finding for finding in findings_of_damage(code, tmp_path) if finding["code"] == code]
    assert own
    check_golden(GOLDEN, code, own, tmp_path)


def test_every_rule_has_its_case():
    """A rule without a test case may never fire."""
    codes = {rule.code for family in FAMILIES for rule in family.rules}
    assert {case.code for case in CASES} | set(DAMAGED) | {OPEN[0], SIZE} == codes
    assert {path.stem for path in GOLDEN.glob("RP*.json")} == codes
    assert {code for code, *_ in NEAR_MISSES} == {case.code for case in CASES}


@every_case(("code", "what", "edits", "model"), NEAR_MISSES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_near_miss_is_not_reported(tmp_path, code, what, edits, model):
    """Users switch off a rule with false alarms, and then it misses real defects."""
    found = DeclaredCase(code, edits, "", "", model).findings(tmp_path)
    assert [each for each in found if each["code"] == code or each["severity"] == "error"] == []


NORMALISERS: Mapping[str, Callable[[Any, Any], Network]] = {
    "subtracted and divided": lambda mean, std: inside(("Sub", mean), ("Div", std)),
    "added and multiplied": lambda mean, std: inside(("Add", -mean), ("Mul", 1.0 / std)),
    "multiplied and added": lambda mean, std: inside(("Mul", 1.0 / std), ("Add", -mean / std)),
    "three digits of each": lambda mean, std: inside(
        ("Sub", mean), ("Div", np.array([float(f"{x:.3g}") for x in std]))
    ),
}


@pytest.mark.parametrize("how", NORMALISERS)
def test_a_normaliser_inside_is_seen_however_it_was_exported(tmp_path, how):
    """Exporters write one normaliser in several ways; a check that knows one of them passes the others."""
    mean, std = np.array(whole(_list("mean"), 0.0)), np.array(whole(_list("spread"), 1.0))
    found = findings_of(tmp_path, FOUR, NORMALISERS[how](mean, std))
    assert [each["code"] for each in found] == ["RP765"]


def test_constants_that_do_not_fit_one_another_are_no_normaliser(tmp_path):
    """A graph may add a row and multiply by a column: a check that ends there has judged nothing."""
    mean = np.array(whole(_list("mean"), 0.0))
    found = findings_of(tmp_path, FOUR, inside(("Sub", mean), ("Mul", np.full((5, 1), 2.0))))
    assert "RP765" not in [each["code"] for each in found]


@pytest.mark.parametrize(("layout", "starts"), [("term_major", (6, 10)), ("frame_major", (3, 10))])
def test_a_normaliser_inside_is_seen_through_a_history(tmp_path, layout, starts):
    """The statistics of a history repeat those of its terms; the input of the network is wider than any stage."""
    kept = f'{{ name = "kept", operation = "history", length = 2, layout = "{layout}", order = "oldest_first", start = "first",'
    old = '{ name = "obs", operation = "concatenate", of = ["gyro", "gravity", "command", "normal", "last_action"] }'
    new = f'{kept} of = ["gyro", "normal"] }},\n    {{ name = "obs", operation = "concatenate", of = ["kept", "command"] }}'
    mean, std = np.zeros(17), np.ones(17)
    for start in starts:
        mean[start : start + 4], std[start : start + 4] = _list("mean"), _list("spread")
    found = findings_of(
        tmp_path, FOUR.replace(old, new), Network({}, NORMALISERS["subtracted and divided"](mean, std).before)
    )
    assert [each["code"] for each in found] == ["RP765"]


def _list(name):
    line = next(line for line in FOUR.splitlines() if line.startswith(f"{name} = ["))
    return json.loads(line.partition("=")[2])


def test_the_map_says_its_direction(tmp_path):
    """A map and its inverse are both permutations: applied the wrong way round, nothing crashes."""
    first, second = ["a", "b", "c", "d"], ["c", "a", "d", "b"]
    maps = {
        "the place in first of each name of second": [first.index(name) for name in second],
        "the place in second of each name of first": [second.index(name) for name in first],
        "neither map between them": [3, 2, 1, 0],
    }
    lists = f"[names]\nfirst = {json.dumps(first)}\nsecond = {json.dumps(second)}\n"
    assert len(maps) == 3
    for expected, order in maps.items():
        text = FOUR.replace("mean = [", f"map = {order}\nmean = [").replace("[names]\n", lists)
        messages = [each["message"] for each in findings_of(tmp_path, text, SOUND) if each["code"] == "RP758"]
        assert expected in " ".join(messages)


def test_contracts_that_ship_have_no_finding(checkout, command):
    """A contract that ships is what people copy: a finding on it teaches them to ignore findings."""
    paths = sorted((checkout / "fixtures" / "contracts").glob("*.toml"))
    assert paths
    for path in paths:
        answer = command("check", path, "--format", "json", "--strict")
        assert (answer.status, json.loads(answer.out)["findings"]) == (0, []), path.name


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("joint_names", "left_hip_joint,right_hip_joint,left_knee_joint", "no right_knee"),
        ("observation_names", "base_ang_vel,command,joint_pos", "3 terms"),
        ("observation_names", "gyro,gravity,normal,command,last_action", "gyro, gravity, normal, command, last_action"),
        ("observation_terms_history_length", "3.000,3.000,3.000,3.000,3.000", "3 frames"),
    ],
)
def test_metadata_of_another_policy_is_found(tmp_path, key, text, says):
    """A model of last week's training beside this week's contract has the same widths, and another meaning."""
    found = [each for each in findings_of(tmp_path, FOUR, said(**{key: text})) if each["code"] == "RP768"]
    assert (f"/metadata/{key}", True) in [(each["pointer"], says in each["message"]) for each in found]
