"""`[conventions]` of a contract: what several stages share is said once, found once, changed once."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.changed_words import with_changed_words

from ..every_case import every_case

LEGS = """
format = "rigpact-contract"
version = 1
name = "legs"
fps = 60

given = [
    { name = "pelvis", kind = "quaternion_xyzw" },
    { name = "thigh", kind = "quaternion_xyzw" },
    { name = "calf", kind = "quaternion_xyzw" },
]
stages = [
    { name = "thigh_world", operation = "compose", of = ["pelvis", "thigh"] },
    { name = "calf_world", operation = "compose", of = ["thigh_world", "calf"] },
    { name = "knee", operation = "rotate", of = "thigh_world", vector = [45.75, 0, 0], direction = "forward" },
    { name = "foot", operation = "rotate", of = "calf_world", vector = [41.7, 0, 0], direction = "forward" },
]

[conventions]
multiplication = { at = ["thigh_world.product", "calf_world.product"], value = "first_second" }
"""
FRAMES = 40


def _product(first, second):
    """The Hamilton product of quaternions (frames, 4), x y z w."""
    (a, b, c, d), (e, f, g, h) = first.T, second.T
    return np.stack((d * e + a * h + b * g - c * f, d * f - a * g + b * h + c * e, d * g + a * f - b * e + c * h,
                     d * h - a * e - b * f - c * g), axis=1)  # fmt: skip


def _turned(turn, length):
    """A vector of that length along x, turned."""
    x, y, z, w = turn.T
    return length * np.stack((1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)), axis=1)


def _recording(folder, product):
    """The legs of an engine that composes by `product`; only positions and what is given are recorded."""
    random = np.random.default_rng(5)
    turns = random.normal(size=(3, FRAMES, 4))
    pelvis, thigh, calf = turns / np.linalg.norm(turns, axis=2, keepdims=True)
    thigh_world = product(pelvis, thigh)
    calf_world = product(thigh_world, calf)
    rows = {"pelvis": pelvis, "thigh": thigh, "calf": calf}
    rows |= {"knee": _turned(thigh_world, 45.75), "foot": _turned(calf_world, 41.7)}
    path = folder / "engine.npz"
    np.savez(path, **{name: each.astype(np.float32) for name, each in rows.items()})
    return path


@pytest.fixture
def contract(tmp_path):
    path = tmp_path / "contract.toml"
    path.write_text(LEGS, encoding="utf-8")
    return path


def test_a_wrong_product_in_both_legs_is_one_cause(command, contract, tmp_path):
    """One line of the engine is wrong and two stages differ: it must be one change, not two or none."""
    recording = _recording(tmp_path, lambda first, second: _product(second, first))
    patched = tmp_path / "patched.toml"
    answer = command("explain", recording, "--contract", contract, "--patch", patched, "--format", "json")
    assert answer.status == 1
    assert [each["changes"] for each in json.loads(answer.out)["causes"]] == [{"multiplication": "second_first"}]
    assert (
        tomllib.loads(patched.read_text(encoding="utf-8"))["conventions"]["multiplication"]["value"] == "second_first"
    )
    assert command("explain", recording, "--contract", patched).status == 0


def test_own_words_of_a_contract_are_written_back_as_the_operation_has_them(contract):
    """The contract may call a reading by its own word; the file still needs the operation's."""
    named = LEGS.replace(
        'value = "first_second" }', 'value = "first_second", words = { second_first = "child_parent" } }'
    )
    contract.write_text(named, encoding="utf-8")
    knobs = open_contract(contract).system.knobs
    changed = with_changed_words(named.encode(), knobs, {"multiplication": "child_parent"})
    assert knobs["multiplication"].values[1] == "child_parent"
    assert changed == named.replace('value = "first_second"', 'value = "second_first"').encode()


SHARED = 'at = ["thigh_world.product", "calf_world.product"], value'
TWICE = 'at = ["calf_world.product", "calf_world.product"], value'


@every_case(
    ("old", "new", "code", "place", "expected"),
    [
        (SHARED, 'at = "shin_world.product", value', "RP740", "multiplication/at", "thigh_world"),
        (SHARED, 'at = "thigh_world.prduct", value', "RP740", "multiplication/at", "product"),
        (SHARED, "value", "RP741", "multiplication/at", "STAGE.PARAMETER"),
        (SHARED, TWICE, "RP747", "multiplication/at", "one convention"),
        (SHARED, 'at = "knee.direction", value', "RP746", "multiplication/at", "no word at the stage"),
        ('value = "first_second"', 'value = "frist_second"', "RP746", "/stages/0/product", "first_second"),
    ],
)
def test_a_convention_of_nothing_is_refused(old, new, code, place, expected, command, contract):
    """A misspelt place would leave the convention without effect, and nobody would know."""
    assert old in LEGS
    contract.write_text(LEGS.replace(old, new), encoding="utf-8")
    answer = command("check", contract, "--format", "json")
    found = json.loads(answer.out)["findings"][0]
    assert found["code"] == code
    assert found["pointer"].endswith(place)
    assert expected in found["message"] + found["hint"]
