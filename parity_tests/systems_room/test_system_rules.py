"""Every rule about hosted systems names its own defect, at its place, and is silent on a sound contract, model and data set.

golden/ holds the first report of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.contract.rules.hosted import system_data, system_loading, systems
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout, json_to_fields
from rigpact.reports.diagnosing.probe import random_rows

from ..every_case import every_case
from ..golden_findings import check_golden
from .system_rule_cases import SYSTEM_CASES, Sample, SystemCase

GOLDEN = Path(__file__).parent / "golden"
CONSTANT_BY_NATURE = frozenset({"RP725"})
"""Local positions of bones never change: this finding on the sample is correct, and only information."""


def test_a_sound_sample_is_clean(tmp_path: Path) -> None:
    """Users switch off a check that reports a sound export."""
    assert {finding.rule.code for finding in Sample(tmp_path).findings()} <= CONSTANT_BY_NATURE


@every_case("case", SYSTEM_CASES, ids=lambda case: case.code)
def test_the_defect_is_named_where_it_is(tmp_path: Path, case: SystemCase) -> None:
    """Equal size, different meaning: each of these loads, runs and looks wrong, or trains on nothing."""
    sample = Sample(tmp_path)
    case.edit(sample)

    found = sample.findings()

    own = [finding for finding in found if finding.rule.code == case.code]
    assert own
    assert own[0].pointer == case.pointer
    assert any(case.says in finding.message for finding in own)
    assert {finding.rule.code for finding in found} <= {case.code} | case.beside | CONSTANT_BY_NATURE
    check_golden(GOLDEN, case.code, [finding.to_json() for finding in own], tmp_path)


def test_a_network_of_ones_own_is_declared_under_constants(tmp_path: Path) -> None:
    """A studio that trains a smaller network with another function says so once, and is not told again."""
    sample = Sample(tmp_path)
    sample.graph("Tanh", 32)
    sample.document["constants"] |= {"parameters": 3896, "activations": ["Tanh"]}
    assert {finding.rule.code for finding in sample.findings()} <= CONSTANT_BY_NATURE


def test_every_rule_has_its_case() -> None:
    """A rule without a test case may never fire."""
    codes = {rule.code for rule in (*system_loading.FAMILY.rules, *systems.FAMILY.rules, *system_data.FAMILY.rules)}
    assert {case.code for case in SYSTEM_CASES} == codes
    assert {path.stem for path in GOLDEN.glob("RP*.json")} == codes


def test_rounded_quaternions_and_a_short_snippet_are_not_reported(tmp_path: Path) -> None:
    """Real recordings have six printed digits and seconds without motion; these must not be reported."""
    sample = Sample(tmp_path)
    rows = np.round(sample.stages["engine_pose"], 6)
    rows[:, 3:7] *= 1.0004
    sample.stages["engine_pose"] = np.repeat(rows[:1], 12, axis=0)

    assert sample.findings() == []


@pytest.mark.parametrize("bones", [None, 3, 0.5])
def test_bones_that_are_no_list_are_a_problem_of_the_file(bones: object) -> None:
    """A number in place of the list of bones ended in an internal error."""
    system = find_system("neurarig")

    assert [each.pointer for each in system.problems_of({**system.template(), "bones": bones})] == ["/bones"]


@pytest.mark.parametrize(("low", "high"), [(1.0, -1.0), (-1e308, 1e308)])
def test_a_range_without_numbers_is_refused_where_numbers_are_drawn_from_it(low: float, high: float) -> None:
    """A contract file states the ends of a field: one from a stranger was an internal error of the probe."""
    layout = FieldLayout((Field("spread", 0, 1, FieldKind.SCALAR, low=low, high=high),))
    with pytest.raises(UnusableInput, match="a range of numbers"):
        random_rows(layout, 2, np.random.default_rng(0))


def test_a_field_is_read_as_numbers_of_its_file_may_be_written() -> None:
    """3.0 is a whole number of JSON, and an integer may be longer than any float: each was an internal error."""
    entry = {"name": "spread", "start": 3.0, "size": 1.0, "kind": "scalar", "low": -(10**400), "high": 10**400}
    (field,) = json_to_fields([entry])
    assert (list(range(9))[field.range], field.low, field.high) == ([3], -math.inf, math.inf)
