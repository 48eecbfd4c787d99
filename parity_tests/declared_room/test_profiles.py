"""Profiles of conventions: what a declared contract takes over from the stack that it names, and where it contradicts it."""

import tomllib

import pytest

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.declared.values import known_profiles
from rigpact.contract.declared.vocabulary import known_operations
from rigpact.contract.documents import read_document
from rigpact.contract.rules.structure import check_against_schema
from rigpact.reports.checking.check import CheckRequest, check_files

from ..every_case import every_case
from .declared_rule_cases import FOUR

OPEN = FOUR.replace('{ name = "tilt", kind = "quaternion_wxyz" }', '{ name = "tilt", size = 4 }').replace(
    'operation = "concatenate", of =', 'operation = "history", length = 3, of ='
)
"""The order of a quaternion's components and everything about the history are left open."""
GIVEN = {
    # profile: what the stack's own code does, where the contract above does not say it
    "isaaclab-2": ("wxyz", "term_major", "oldest_first", "first"),
    "isaaclab-3": ("xyzw", "term_major", "oldest_first", "first"),
    "mjlab": (None, "term_major", "oldest_first", "first"),
    "mujoco": (None, None, None, None), "unitree-sdk": ("wxyz", None, None, None),
    "legged-gym": ("xyzw", None, None, None), "orangeduck": ("wxyz", None, None, None),
    "smpl": (None, None, None, None), "humanml3d": ("wxyz", None, None, None), "unity": (None, None, None, None),
    "unreal": (None, None, None, None),
}  # fmt: skip


def written(folder, text, profile):
    """A contract with a profile."""
    path = folder / "contract.toml"
    named = text if profile is None else text.replace("fps = 50\n", f'fps = 50\nprofile = "{profile}"\n', 1)
    path.write_text(named, encoding="utf-8")
    return path


def findings(path):
    """What `rigpact check` says: code, place, message."""
    found = check_files(CheckRequest([read_document(path)])).findings
    return [(each.rule.code, each.pointer, each.message) for each in found]


def test_the_profiles_follow_their_schema(checkout):
    """A misspelt statement would never be compared with anything."""
    path = checkout / "contract" / "rigpact" / "contract" / "declared" / "profiles.toml"
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    assert list(check_against_schema(root, "profiles")) == []
    assert list(
        check_against_schema(root | {"x": {"title": "X", "source": "none", "says": {"handed": "left"}}}, "profiles")
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("profile", GIVEN)
def test_a_profile_gives_what_the_contract_leaves_open(tmp_path, profile):
    """An importer that assumes one stack's order for every robot turns gravity over on the others."""
    path = written(tmp_path, OPEN, profile)
    contract = document_to_contract(read_document(path))
    expected = dict(
        zip(("gravity.quaternion_order", "obs.layout", "obs.order", "obs.start"), GIVEN[profile], strict=True)
    )
    still_open = {message.split(" ")[0] for code, _, message in findings(path) if code == "RP749"}
    assert still_open == {knob for knob, value in expected.items() if value is None}
    for knob, value in expected.items():
        if value is not None:
            assert contract.conventions[knob] == value


def test_a_word_may_be_assumed_and_stay_open(tmp_path):
    """A guess that is written like a fact is never looked at again."""
    text = OPEN.replace("length = 3,", 'length = 3, order = "newest_first", left_open = ["order"],')
    path = written(tmp_path, text, "isaaclab-3")
    contract = document_to_contract(read_document(path))
    assert contract.conventions["obs.order"] == "newest_first"
    assert [message for code, _, message in findings(path) if code == "RP749"] == [
        "obs.order is not declared; newest_first is assumed, it may be oldest_first"
    ]


def test_a_declared_word_wins_and_is_reported(tmp_path):
    """A team that changed one convention of its stack needs the engine to follow the team, and to know."""
    text = OPEN.replace("length = 3,", 'length = 3, layout = "frame_major",')
    path = written(tmp_path, text, "isaaclab-2")
    assert document_to_contract(read_document(path)).conventions["obs.layout"] == "frame_major"
    assert [found[:2] for found in findings(path)] == [("RP756", "/stages/5/layout")]
    assert "term_major" in findings(path)[0][2]


_Q = '{ name = "q",'
CONTRADICTIONS = {
    # name: (profile, text, its replacement, place, found, expected)
    "a quaternion of the other order": ("isaaclab-3", "fps = 50", "fps = 50", "/given/1", "wxyz", "xyzw"),
    "degrees": ("isaaclab-2", 'unit = "rad" }', 'unit = "deg" }', "/given/3", "deg", "rad"),
    "degrees a second": ("unitree-sdk", 'unit = "rad/s"', 'unit = "deg/s"', "/given/0", "deg", "rad"),
    "the world's angular velocity": ("unitree-sdk", 'space = "body"', 'space = "world"', "/given/0", "world", "body"),
    "another rate": ("orangeduck", "fps = 50", "fps = 50", "/fps", "50", "60"),
    "centimetres": ("orangeduck", _Q, f'{{ name = "hips", kind = "position", unit = "cm" }},\n    {_Q}', "/given/3", "cm", "m"),
    "metres in Unreal": ("unreal", _Q, f'{{ name = "speed", size = 3, unit = "m/s" }},\n    {_Q}', "/given/3", "m", "cm"),
}  # fmt: skip


@every_case("name", CONTRADICTIONS)
def test_a_contradiction_is_named_at_its_place(tmp_path, name):
    """Whoever builds the engine's side by the profile's name builds another one than the contract."""
    profile, old, new, place, found, expected = CONTRADICTIONS[name]
    assert old in FOUR
    named = {
        where: message
        for code, where, message in findings(written(tmp_path, FOUR.replace(old, new, 1), profile))
        if code == "RP756"
    }
    assert place in named
    assert f"is {found}" in named[place]
    assert named[place].endswith(f"{profile} says {expected}")


def test_an_unknown_profile_is_a_mistake_with_the_nearest_name(tmp_path, command):
    """A misspelt profile must not count as one that says nothing."""
    answer = command("check", written(tmp_path, FOUR, "isaclab-3"))
    assert answer.status == 1
    assert "/profile: RP740" in answer.out
    assert "did you mean isaaclab-3?" in answer.out


def test_every_choice_of_a_profile_is_a_parameter_of_an_operation():
    """A choice under a misspelt name would never be taken."""
    every = {parameter for operation in known_operations().values() for parameter in operation.choices}
    keys = {key.rpartition(".") for profile in known_profiles().values() for key in profile.choices}
    assert len(keys) > 3
    assert [key for key in keys if key[2] not in (known_operations()[key[0]].choices if key[0] else every)] == []
