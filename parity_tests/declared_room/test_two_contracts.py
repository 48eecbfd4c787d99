"""Two declared contracts of one robot: `rigpact diff` and `show --beside` print where they part, each place once."""

import json
import tomllib
from collections import Counter

import numpy as np
import pytest

from rigpact.contract.compatibility import compare_contracts
from rigpact.contract.documents import read_document
from rigpact.contract.errors import ContractRefused, UnusableInput

from ..contract_room.test_breaking import LETTERS, leaves, other, own
from ..every_case import every_case
from .declared_rule_cases import (
    DECLARED_PAIRS,
    FOUR,
    MEAN,
    METADATA,
    SECOND,
    SPREAD,
    Network,
    edited,
    inside,
    whole,
)

EVERY_PAIR = every_case("pair", DECLARED_PAIRS, ids=lambda pair: pair.name)


def compared(folder, old, new):
    """Write two contracts and compare them."""
    paths = folder / "old.toml", folder / "new.toml"
    for path, text in zip(paths, (old, new), strict=True):
        path.write_text(text, encoding="utf-8")
    return compare_contracts(*map(read_document, paths))


@EVERY_PAIR
def test_every_pair_is_classed_right(tmp_path, pair):
    """A changed order of joints that is called cosmetic sends a leg's commands to an arm."""
    found = compared(tmp_path, *pair.texts)
    assert Counter(each.kind.name for each in found.changes) == Counter(pair.kinds.split())
    assert set(found.classes) == {LETTERS[letter] for letter in pair.classes}


def test_two_contracts_of_one_robot_part_where_their_stacks_differ(checkout, tmp_path):
    """People take two exports of one robot for the same thing, and the robot falls at the first step."""
    first = (checkout / "fixtures" / "contracts" / "unitree_rl_lab_g1.toml").read_text(encoding="utf-8")
    found = compared(tmp_path, first, edited(first, SECOND))
    expected = {
        "base_ang_vel is gone": "0.2", "joint_vel_rel is gone": "0.05", "frames in obs": "5 → 1",
        "the 29 fields of": "left_hip_roll", "target.scale goes from 0.25": "29 of 29", "default_pose": "8 of 29",
        "command.lowest": "2 of 3", "command.highest": "2 of 3",
    }  # fmt: skip
    messages = [each.message for each in found.changes if "COSMETIC" not in each.classes]
    assert len(messages) == len(expected), messages
    for beginning, said in expected.items():
        (message,) = [each for each in messages if each.startswith(beginning)]
        assert said in message


def test_the_reordering_is_said_once_with_every_vector(tmp_path):
    """Four joints in six vectors are one difference, not twenty-four."""
    (change,) = compared(tmp_path, *DECLARED_PAIRS[0].texts).changes
    assert change.kind.name == "fields-reordered"
    for name in ("last_action", "joints", "bent", "normal", "action", "target"):
        assert name in change.message
    assert "motor_q" not in change.message, "its order is that of the motors on both sides"


def test_numbers_are_matched_by_name(tmp_path):
    """By position, a pose in another order looks wholly different, and a changed one may look the same."""
    reordered = (
        'policy = ["left_hip", "right_hip", "left_knee", "right_knee"]',
        'policy = ["right_knee", "left_knee", "right_hip", "left_hip"]',
    )
    values = ("[0.1, 0.15, -0.4, -0.45]", "[-0.45, -0.4, 0.15, 0.125]")
    lists = ((str(MEAN), str(MEAN[::-1])), (str(SPREAD), str(SPREAD[::-1])))
    found = compared(tmp_path, FOUR, edited(FOUR, (reordered, values, *lists)))
    changes = {each.kind.name: each for each in found.changes}
    assert set(changes) == {"fields-reordered", "constant-changed"}
    assert "goes from 0.1 to 0.125 at left_hip" in changes["constant-changed"].message
    assert "numbers changed" not in changes["constant-changed"].message


def test_a_normaliser_that_moves_into_the_model_is_said(tmp_path):
    """With the old engine and the new model, every input is normalised twice."""
    Network(METADATA).write(tmp_path / "plain.onnx")
    inside(("Sub", np.array(whole(MEAN, 0.1))), ("Div", np.array(whole(SPREAD, 2.0)))).write(
        tmp_path / "normalised.onnx"
    )
    texts = [
        FOUR.replace("[networks.policy]", f'[networks.policy]\nfile = "{name}.onnx"')
        for name in ("plain", "normalised")
    ]
    changes = [each for each in compared(tmp_path, *texts).changes if each.kind.name == "convention-changed"]
    assert [each.message for each in changes] == ["the normaliser of the network policy: not inside → inside"]
    assert not compared(tmp_path, texts[1], texts[1]).changes


def test_no_difference_is_ever_lost(tmp_path):
    """Change every leaf of the contract: each time there is a change, or the contract is refused."""
    root = tomllib.loads(FOUR)
    path = tmp_path / "old.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    old, judged = read_document(path), 0
    for place in [each for each in leaves(root) if each[0] != "format"][::3]:
        new = own(root)
        holder = new
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = other(holder[place[-1]])
        (tmp_path / "new.json").write_text(json.dumps(new), encoding="utf-8")
        try:
            found = compare_contracts(old, read_document(tmp_path / "new.json"))
        except (ContractRefused, UnusableInput):
            found = None  # a change as well
        judged += found is not None
        assert found is None or {each.kind.name for each in found.changes} - {"formatting-changed"}, place
    assert judged >= 7


def test_a_contract_with_mistakes_is_refused(tmp_path):
    """Half a contract compares as if the other half had not changed."""
    with pytest.raises(ContractRefused):
        compared(tmp_path, FOUR, FOUR.replace('"rotate"', '"rotat"'))


def test_contracts_of_two_robots_are_not_compared(checkout, command):
    """Changes between a robot and a character mean nothing."""
    folder = checkout / "fixtures" / "contracts"
    answer = command("diff", folder / "unitree_rl_lab_g1.toml", folder / "learned_motion_matching.toml")
    assert answer.status == 2
    assert "shares no given vector" in answer.err


def test_describe_shows_them_beside_each_other(tmp_path, command):
    """Before anybody ports an engine from one export to the other, they read this table."""
    old, new = DECLARED_PAIRS[2].texts
    (tmp_path / "a.toml").write_text(old, encoding="utf-8")
    (tmp_path / "b.toml").write_text(new, encoding="utf-8")
    parted = command("show", tmp_path / "a.toml", "--beside", tmp_path / "b.toml", "--format", "markdown")
    same = command("show", tmp_path / "a.toml", "--beside", tmp_path / "a.toml")
    assert (parted.status, same.status) == (0, 0)
    assert "goes from -0.45 to -0.5 at right_knee" in parted.out
    assert "a.toml → b.toml" in parted.out
    assert "compute the same" in same.out
