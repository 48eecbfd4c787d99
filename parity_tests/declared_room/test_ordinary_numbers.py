"""Every contract with numbers that people write: round, equal, zero, one. A reading that they cannot show is no mistake."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.declaration import read_declaration
from rigpact.contract.errors import Wrong
from rigpact.contract.units import UNITS, sized
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reports.command_line import application

from ..every_case import every_case
from .samples_of_files import sample

ROOT = Path(__file__).parents[2]


def _ways(numbers):
    """The same numbers as people write them."""
    found = np.array(numbers, np.float64)
    if found.ndim or abs(found) > 0.1:
        yield "round", np.round(found, 2).tolist()
    yield "equal", np.full(found.shape, np.round(found.max(), 2) or 1.0).tolist()
    yield "zero", np.zeros(found.shape).tolist()
    yield "one", np.ones(found.shape).tolist()


def _declared(path):
    """The tables of a contract, each with the key of numbers in it."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    found = [(entry, "value") for entry in root.get("numbers", {}).values() if "value" in entry]
    keys = ("scale", "offset", "subtract", "lowest", "highest", "value", "threshold")
    found += [
        (stage, key) for stage in root["stages"] for key in keys if isinstance(stage.get(key), float | int | list)
    ]
    yield root, ""
    yield from found


FOLDERS = (ROOT / "fixtures" / "contracts", ROOT / "fixtures" / "bundles")
SHIPPED = [path for folder in FOLDERS for path in sorted(folder.rglob("*.toml")) if len(list(_declared(path))) > 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["round", "equal", "zero", "one"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_contract_takes_ordinary_numbers(path, way):
    """Each of its numbers by itself: what a word of the file says stays a word that it may say."""
    count = len(list(_declared(path)))
    assert count > 1
    for place in range(1, count):
        (root, _), *entries = _declared(path)
        table, key = entries[place - 1]
        table[key] = dict(_ways(table[key])).get(way, table[key])
        words = [
            each
            for each in read_declaration(root, path.parent).problems
            if each.kind in (Wrong.CHOICE, Wrong.UNKNOWN_WORD)
        ]
        assert not words, f"{key} of {table.get('name', path.stem)}"


CONTRACT, TEXT = sample("one_hand.toml"), sample("gains.toml")
RECORDING = "hand[0],hand[1],reach[0],reach[1]\n" + "".join(f"{k},{2 * k},{100 * k + 3},{200 * k}\n" for k in range(8))


def _explained(folder, unit, *more: str):
    contract, recording = folder / "one_hand.toml", folder / "engine.csv"
    contract.write_text(CONTRACT.format(unit=unit), encoding="utf-8")
    recording.write_text(RECORDING, encoding="utf-8")
    return CliRunner().invoke(application(), ["explain", str(recording), "--contract", str(contract), *more]).output


@pytest.mark.parametrize("unit", ["cm", "furlong", ""])
def test_an_error_is_shown_in_the_unit_that_the_stage_declares(tmp_path, unit):
    """Three centimetres that are shown as 3 raw are looked up in the contract, or taken for three metres."""
    document = json.loads(_explained(tmp_path, unit, "--format", "json"))
    assert document["first_divergence"]["unit"] == (unit or "raw")
    assert f"3 {unit}" in _explained(tmp_path, unit)


def test_a_size_is_the_same_in_every_unit():
    """A factor of ten in the table makes drawn positions of a hand as large as a house."""
    for unit, half_a_metre in {"m": 0.5, "cm": 50.0, "mm": 500.0, "km": 0.0005}.items():
        assert sized(unit, {"length": 0.5}, -1.0) == pytest.approx(half_a_metre)
        assert sized(unit, {"angle": 0.5}, -1.0) == -1.0
    assert sized("deg", {"angle": UNITS["turns"].si}, 0.0) == pytest.approx(360.0)


def test_three_angles_are_three_numbers(tmp_path):
    """Taken for one number, a stage behind them had none, and the error stood far from its cause."""
    contract = tmp_path / "waist.toml"
    contract.write_text(
        'format = "rigpact-contract"\nversion = 1\nname = "waist"\nfps = 50\n'
        'given = [{ name = "waist", kind = "euler_xyz", unit = "rad" }]\n'
        'stages = [{ name = "turn", operation = "convert", of = "waist", to = "quaternion_wxyz", reads = "ZXY_rad" }]\n',
        encoding="utf-8",
    )
    opened = open_contract(contract)
    assert (opened.fields("waist").width, opened.fields("turn").width) == (3, 4)


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
    contract = open_contract(_contract(tmp_path, value, order)).with_conventions(changes)
    assert stages_from(contract, {"q": np.zeros((2, 3), "f")})["kp"].tolist() == [gains, gains]


@every_case(
    ("value", "order", "status", "says"),
    [
        ('"plain"', "", 0, "RP749"), ('"plain"', "policy", 0, ""), ('"named"', "", 0, ""), ('"same"', "", 0, ""),
        ('"same"', "policy", 0, ""), ("7", "", 0, ""), ("[1, 2]", "", 1, "2 numbers"), ('"plain"', "robots", 1, "one of motors"),
        ('"unknown"', "", 1, "unknown"), ("[]", "", 1, "a list of numbers"),
    ],
)  # fmt: skip
def test_an_order_left_open_is_a_finding_and_gains_that_do_not_fit_are_refused(
    tmp_path, command, value, order, status, says
):
    """Numbers that are all equal have no order to get wrong; of two gains for three motors the third gets what stands behind."""
    checked = command("check", _contract(tmp_path, value, order))
    assert (checked.status, says in checked.out + checked.err) == (status, True), checked.out
    assert ("RP749" in checked.out and "/stages/0/order" in checked.out) == (says == "RP749")
