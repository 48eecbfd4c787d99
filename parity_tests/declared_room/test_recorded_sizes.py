"""A recording in another unit than the statistics agrees in every stage; only its size beside what is declared shows it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files

from ..every_case import every_case
from ..golden_findings import check_golden
from .samples_of_files import sample

CODE = "RP731"
CONTRACT = sample("arm.toml")
FRAMES = 80
MEAN, STD = np.array([0.3, -0.9, 1.4, 0.6, -0.2, 0.8]), np.array([0.5, 0.8, 0.7, 0.4, 0.9, 0.3])
OTHER_MEAN = np.array([40.0, -25.0, 30.0, 55.0, -38.0, 44.0])
PHASE = np.arange(FRAMES)[:, None] * [0.11, 0.17, 0.07, 0.13, 0.19, 0.05]
MOVING = MEAN + STD * 1.2 * np.sin(PHASE)
POSTURE = MEAN + STD * [0.9, -1.1, 0.4, -0.7, 1.2, -0.3]
NOISE = np.random.default_rng(4).normal(size=(FRAMES, 6))
RIGHT: Mapping[str, Any] = {
    "it moves": MOVING,
    "it moves little": MEAN + 0.1 * STD * np.sin(PHASE),
    "it stands": POSTURE + 0.001 * NOISE,
    "it stands where training stood": MEAN + 0.01 * STD * NOISE,
    "it stands at zero": np.zeros((FRAMES, 6)),
    "it is at rest, with noise of a degree's ratio": STD / 57.3 * NOISE,
    "it is at rest, with offsets of a degree's ratio": STD / 57.3 * [0.9, 0.7, -0.6, 1.1, 0.4, -0.8] + 0.001 * NOISE,
    "a short part": MOVING[:12] / 57.2958,
}
WRONG: Mapping[str, tuple[Any, str, str]] = {
    "radians beside degrees": (MOVING / 57.2958, "", "times 57.3 it would fit, rad recorded, deg declared"),
    "the same, of a stated unit": (MOVING / 57.2958, "rad", "times 57.3 it would fit, rad recorded, deg declared"),
    "it stands, in radians beside degrees": (MEAN * 0.9 / 57.2958 + 1e-5 * NOISE, "", "times 57.3 it would fit"),
    "degrees beside radians": (MOVING * 57.2958, "rad", "times 0.0175 it would fit, deg recorded, rad declared"),
    "millimetres beside metres": (MOVING * 1000.0, "m", "times 0.001 it would fit, mm recorded, m declared"),
    "metres beside millimetres": (MOVING / 1000.0, "m", "times 1e+03 it would fit, m recorded, mm declared"),
    "another table of the file": (OTHER_MEAN + np.sin(PHASE), "Nm", "as it is it fits v.mean and v.std of stats.npz"),
    "a run that blows up": (MEAN + STD * np.exp(PHASE) * np.array([1, 0.1, 30, 0.2, 5, 60]), "", "no ratio of units"),
    "of no unit": (MOVING * 30.0, "Nm", "no ratio of units and no other table"),
}  # fmt: skip


def project(folder, rows, unit="", columns=("q", "normal")):
    """The contract, its statistics, and a recording of the stages that follow from these rows."""
    folder.mkdir(exist_ok=True)
    np.savez(
        folder / "stats.npz",
        **{"q.mean": MEAN, "q.std": STD, "v.mean": OTHER_MEAN, "v.std": np.ones(6), "n": np.zeros(6)},
    )
    (folder / "contract.toml").write_text(
        CONTRACT.replace(', unit = "UNIT"', f', unit = "{unit}"' if unit else ""), encoding="utf-8"
    )
    stages = {"q": rows, "normal": (rows - MEAN) / STD}
    np.savez(folder / "run.npz", **{name: stages[name] for name in columns})
    return folder / "contract.toml", folder / "run.npz"


def found(contract, recording):
    report = check_files(CheckRequest([read_document(contract)], (recording,)))
    return [each for each in json.loads(json.dumps(report.to_json()["findings"])) if each["code"] == CODE]


@every_case("case", WRONG)
def test_another_unit_or_table_is_named(tmp_path, case):
    """Both sides normalise alike, so nothing differs, and the policy sees an arm that never moves."""
    rows, unit, says = WRONG[case]
    vector = [each for each in found(*project(tmp_path, rows, unit)) if each["pointer"] == "/stages/q"]
    assert len(vector) == 1
    assert says in vector[0]["message"]
    assert vector[0]["severity"] == "warning"


@every_case("case", RIGHT)
def test_a_robot_that_moves_or_stands_is_no_other_unit(tmp_path, case):
    """A check that alarms whenever the robot stands still is switched off, and then misses the degrees."""
    assert found(*project(tmp_path, RIGHT[case])) == []


def test_it_is_told_as_it_was(tmp_path):
    """Review must show a message without its number before users see it."""
    own = found(*project(tmp_path / "sample", WRONG["radians beside degrees"][0]))
    check_golden(Path(__file__).parent / "golden", CODE, own, tmp_path)


def test_a_refused_contract_says_why_beside_a_recording(tmp_path):
    """The recording cannot be read without the contract: "another file name" would send the reader to the wrong file."""
    contract, recording = project(tmp_path, MOVING)
    contract.write_text(contract.read_text(encoding="utf-8").replace("normalise", "normalize"), encoding="utf-8")
    report = check_files(CheckRequest([read_document(contract)], (recording,)))
    assert {each.rule.code for each in report.findings} == {"RP740"}


def test_limits_show_a_unit_beyond_them_and_none_within(tmp_path):
    """A limit is wide on purpose: a hundredth of it is an ordinary motion, fifty times of it is another unit."""
    for number, (factor, expected) in enumerate(((57.2958, ["0.0175"]), (0.01, []), (1.0, []), (3.0, []))):
        contract, recording = project(tmp_path / str(number), MOVING * factor)
        text = contract.read_text(encoding="utf-8").replace(
            "size = 6 }", 'size = 6, unit = "rad", low = -2, high = 3 }'
        )
        contract.write_text(text, encoding="utf-8")
        np.savez(contract.parent / "stats.npz", **{"q.mean": MEAN, "q.std": STD * 1000.0})
        about = [each["message"] for each in found(contract, recording) if "half ranges" in each["message"]]
        assert ["0.0175" for each in about if "0.0175 it would fit, deg recorded, rad declared" in each] == expected


def test_a_part_of_an_observation_is_judged_by_itself(tmp_path):
    """A gyro in degrees within an observation in radians is three numbers of fifty."""
    contract, recording = project(tmp_path, MOVING)
    text = contract.read_text(encoding="utf-8").replace("size = 6 }", 'size = 3 }, { name = "w", size = 3 }')
    joined = '{ name = "obs", operation = "concatenate", of = ["w", "q"] },\n    { name = "normal"'
    contract.write_text(
        text.replace('{ name = "normal"', joined).replace('of = "q", mean', 'of = "obs", mean'), encoding="utf-8"
    )
    np.savez(
        recording, w=MOVING[:, :3] * 57.2958, q=MOVING[:, 3:], obs=np.hstack([MOVING[:, :3] * 57.2958, MOVING[:, 3:]])
    )
    assert ["w in obs lies" in each["message"] for each in found(contract, recording) if "obs" in each["pointer"]] == [
        True
    ]


def test_every_command_that_judges_a_recording_says_it(tmp_path, command, monkeypatch):
    """`explain` says AGREES and the gate passes: without a word beside it, that is taken for proof."""
    monkeypatch.chdir(tmp_path)
    project(tmp_path, WRONG["radians beside degrees"][0])
    explained = command("explain", "run.npz", "--contract", "contract.toml")
    assert "AGREES" in explained.out
    assert "note: q moves by 0.0" in explained.out
    assert "times 57.3 it would fit" in explained.out
    (tmp_path / "rigpact.toml").write_text(
        '[gate]\nbundle = "contract.toml"\n[[gate.trace]]\nfile = "run.npz"\nclip = "run.npz"\nstages = ["q", "normal"]\n',
        encoding="utf-8",
    )
    gated = command("gate")
    assert CODE in gated.out
    assert "rad recorded, deg declared" in gated.out
