"""Units of a declared contract: an error is shown in the unit that the stage declares."""

import json

import pytest
from typer.testing import CliRunner

from rigpact.contract.contract_files import open_contract
from rigpact.contract.units import UNITS, sized
from rigpact.reports.command_line import application

CONTRACT = """format = "rigpact-contract"
version = 1
name = "one_hand"
fps = 30

[[given]]
name = "hand"
size = 2
unit = "m"

[[stages]]
name = "reach"
operation = "affine"
of = "hand"
scale = 100
unit = "{unit}"
"""
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
