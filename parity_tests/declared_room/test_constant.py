"""Numbers that a runtime sets and never changes: whose order they follow."""

import numpy as np
import pytest

from ..every_case import every_case

TEXT = """
format = "rigpact-contract"
version = 1
name = "gains"
fps = 50
given = [{{ name = "q", names = "motors" }}]
stages = [{{ name = "kp", operation = "constant", of = "q", value = {value}{order} }}]
[names]
motors = ["hip", "knee", "ankle"]
policy = ["ankle", "hip", "knee"]
robot = ["neck", "ankle", "hip", "knee"]
[numbers]
plain = [1, 2, 3]
named = {{ value = [1, 2, 3], names = "policy" }}
wide = {{ value = [9, 1, 2, 3], names = "robot" }}
same = [4, 4, 4]
"""


def _contract(folder, value, order=""):
    path = folder / "contract.toml"
    path.write_text(TEXT.format(value=value, order=f', order = "{order}"' if order else ""), encoding="utf-8")
    return path


@every_case(
    ("value", "order", "changes", "gains"),
    [
        ('"plain"', "", {}, [1, 2, 3]),  # assumed: the order of the vector itself
        ('"plain"', "policy", {}, [2, 3, 1]),
        ('"plain"', "policy", {"kp.order": "motors"}, [1, 2, 3]),
        ('"named"', "", {}, [2, 3, 1]),
        ('"wide"', "", {}, [2, 3, 1]),
        ('"wide"', "", {"kp.order": "by_position"}, [9, 1, 2]),
        ("7", "", {}, [7, 7, 7]),
        ("[5, 6, 7]", "motors", {}, [5, 6, 7]),
    ],
)
def test_gains_reach_the_joints_that_they_are_meant_for(tmp_path, value, order, changes, gains):
    """A knee with the ankle's stiffness gives way."""
    from rigpact.contract.contract_files import open_contract
    from rigpact.reference_runtime.graph.run import stages_from

    contract = open_contract(_contract(tmp_path, value, order)).with_conventions(changes)
    assert stages_from(contract, {"q": np.zeros((2, 3), "f")})["kp"].tolist() == [gains, gains]


@pytest.mark.parametrize(
    ("value", "order", "is_open"),
    [
        ('"plain"', "", True),
        ('"plain"', "policy", False),
        ('"named"', "", False),
        ('"same"', "", False),
        ('"same"', "policy", False),
        ("7", "", False),
    ],
)
def test_an_order_that_nobody_says_is_a_finding(tmp_path, command, value, order, is_open):
    """Numbers that are all equal have no order to get wrong: no alarm."""
    checked = command("check", _contract(tmp_path, value, order))
    assert checked.status == 0, checked.out
    assert ("RP749" in checked.out and "/stages/0/order" in checked.out) == is_open


@pytest.mark.parametrize(
    ("value", "order", "says"),
    [
        ("[1, 2]", "", "2 numbers"),
        ('"plain"', "robots", "one of motors"),
        ('"unknown"', "", "unknown"),
        ("[]", "", "a list of numbers"),
    ],
)
def test_gains_that_do_not_fit_are_refused(tmp_path, command, value, order, says):
    """Two gains for three motors: the third one gets what stands behind them in memory."""
    checked = command("check", _contract(tmp_path, value, order))
    assert checked.status != 0
    assert says in checked.out + checked.err
