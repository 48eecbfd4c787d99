"""Values drawn by `rigpact.testing.strategies` load, fit their contract, are finite, and shrink to simple cases."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from rigpact.contract import Contract, UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.geometry_parity.roles import ROLES
from rigpact.testing import checks, plugin, strategies

KNOBS = find_system("enemy_animation").knobs
enemy_conventions = find_system("enemy_animation").conventions

FIND = settings(max_examples=5000, phases=(Phase.generate, Phase.shrink), database=None)
SLOW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def smallest():
    """The contract to which the strategy shrinks."""
    contract: Contract = find(strategies.contracts(knobs=("output_mode",)), lambda _: True, settings=FIND)
    return contract


def scalar_products(matrix):
    """The six products of a matrix's columns, by hand."""
    columns = [[float(matrix[row][column]) for row in range(3)] for column in range(3)]
    return [
        math.fsum(a * b for a, b in zip(columns[i], columns[j], strict=True)) for i in range(3) for j in range(i, 3)
    ]


@SLOW
@given(strategies.rotations((2,)))
def test_rotations_are_rotations(drawn):
    """A strategy that draws almost-rotations blames the code under test."""
    assert len(drawn) == 2
    for matrix in drawn:
        assert max(abs(a - b) for a, b in zip(scalar_products(matrix), [1, 0, 0, 1, 0, 1], strict=True)) < 1e-14
        x, y, z = (matrix[:, column] for column in range(3))
        assert abs(float(np.dot(np.cross(x, y), z)) - 1.0) < 1e-14


@SLOW
@given(strategies.contracts(knobs=("output_mode", "quaternion_order")))
def test_contracts_are_consistent(contract):
    """Sizes that do not agree would be found in the test and not in the code."""
    assert contract.numbers.output.width == 6 * contract.numbers.bone_count
    assert contract.numbers.state_statistics.mean.shape == (contract.numbers.state.width,)
    assert contract.numbers.pose_history_length is not None
    assert contract.conventions.output_mode in KNOBS["output_mode"].values
    assert None not in (widths := list(contract.numbers.input_widths.values()))
    assert len(widths) == 5
    assert float(contract.numbers.state_statistics.std.min()) > 0.0


def test_contracts_shrink_to_one_bone_under_the_default_conventions(smallest):
    """The smallest character that shows a defect."""
    assert (smallest.numbers.bone_count, smallest.numbers.bone_names, smallest.numbers.pose_history_length) == (
        1, ("pelvis",), 1,
    )  # fmt: skip
    assert smallest.conventions == enemy_conventions()
    assert not smallest.numbers.state_statistics.mean.any()
    assert (smallest.numbers.state_statistics.std == 1.0).all()


def test_a_knob_or_a_stage_that_is_none_is_refused(smallest):
    """A mistyped knob would draw the default for ever; a mistyped stage would be missing from every trace."""
    with pytest.raises(UnusableInput, match="compose_ordr"):
        strategies.contracts(knobs=("compose_ordr",))
    with pytest.raises(UnusableInput, match="y_nrom"):
        find(strategies.traces(smallest, stages=("y_nrom",)), lambda _: True, settings=FIND)


@SLOW
@given(st.data())
def test_traces_have_the_widths_of_their_contract(data):
    """And no value that is not finite, unless it is asked for."""
    contract = data.draw(strategies.contracts())
    trace: Trace = data.draw(strategies.traces(contract))
    assert trace.widths == {name: contract.stage_widths[name] for name in trace.stages}
    assert trace.stages
    assert all(np.isfinite(rows).all() and rows.dtype == np.float32 for rows in trace.stages.values())
    assert (np.diff(trace.frame) > 0).all()
    assert trace.frame[0] == 0


def lengths(six):
    """|a|, |b| and |b⊥| of six numbers, in float64 by hand."""
    a, b = ([float(value) for value in part] for part in (six[:3], six[3:]))
    size = math.sqrt(math.fsum(x * x for x in a))
    along = math.fsum(x * y for x, y in zip(a, b, strict=True)) / size / size if size else 0.0
    rest = [y - along * x for x, y in zip(a, b, strict=True)]
    return size, math.sqrt(math.fsum(y * y for y in b)), math.sqrt(math.fsum(y * y for y in rest))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("what", "is_so"),
    [
        ("zero", lambda a, b, rest: a == b == 0.0),
        ("parallel", lambda a, b, rest: a > 0.5 and b > 0.5 and rest == 0.0),
        ("just below the engine's threshold", lambda a, b, rest: 9e-5 < a < 1e-4),
        ("just above it", lambda a, b, rest: 1e-4 < a < 1.02e-4), ("huge", lambda a, b, rest: a > 1e14),
        ("nearly parallel", lambda a, b, rest: b > 0.5 and 0.0 < rest < 1e-3 * b),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_every_way_of_being_degenerate_is_drawn(what, is_so):
    """The band that a strategy misses is the one in which the pose explodes."""
    find(strategies.near_degenerate_rot6d(), lambda six: is_so(*lengths(six)), settings=FIND)


def test_without_hypothesis_the_import_says_what_to_install():
    """`No module named hypothesis` from inside a package does not tell the user what to install."""
    code = "import sys; sys.modules['hypothesis'] = None\nimport rigpact.testing\nimport rigpact.testing.strategies"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60, env=env
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "ImportError: rigpact.testing.strategies needs hypothesis: pip install 'rigpact[testing]'"


def test_the_testing_page_names_every_option_fixture_and_strategy(checkout, pytestconfig):
    """Users cannot find an option that is not on the page."""
    page = (checkout / "docs" / "testing.md").read_text(encoding="utf-8")
    parser = pytest.Parser(_ispytest=True)
    plugin.pytest_addoption(parser)
    names = [name for option in parser.getgroup("rigpact").options for name in option.names()]
    assert len(names) == 12
    assert [name for name in names if name not in page] == []
    assert [name for name in plugin.__all__ if f"`{name}`" not in page] == []
    assert [name for name in strategies.__all__ if f"`{name}(" not in page] == []
    assert f"{checks.FREE_RUN_FRAMES} frames" in page


def test_the_geometry_page_names_every_role_and_alias(checkout):
    """People look for their own function's name."""
    page = (checkout / "docs" / "geometry.md").read_text(encoding="utf-8")
    assert [name for role in ROLES.values() for name in role.names if f"`{name}`" not in page] == []
    knobs = ("rot6d_columns", "rot6d_packing", "compose_order", "quaternion_order", "angvel_frame", "degenerate_axis")
    assert [knob for knob in knobs if knob not in KNOBS or f"`{knob}`" not in page] == []
