"""`rigpact demo`: the files of the robot, the mistakes that both demonstrations name, and the copies that people go on with."""

import json

import numpy as np
import onnx

from ..measuring.scores.declared.robot_demo import FOLDER, POLICY, recorded, table

CAUSE = "With motor_targets.order = as_given the error of motor_targets falls from "


def numbers(text):
    names, *rows = text.splitlines()
    return names.split(","), np.array([row.split(",") for row in rows], float)


def test_the_robots_files_are_those_of_the_second_runtime(tmp_path):
    """A recording that rigpact made itself would only show that rigpact agrees with itself."""
    names, rows = numbers(table(recorded(by_position=True)))
    kept_names, kept = numbers((FOLDER / "run.csv").read_text(encoding="utf-8"))
    assert names == kept_names
    np.testing.assert_allclose(rows, kept, rtol=1e-5, atol=1e-5)  # another BLAS
    models = [onnx.load(path).graph for path in (POLICY.write_onnx(tmp_path / "policy.onnx"), FOLDER / "policy.onnx")]
    assert models[0] == models[1]


def test_the_robots_mistake_is_named_and_its_mended_runtime_agrees(command, tmp_path):
    """The first answer that a reader sees must be the right one, and go away with the mistake."""
    answer = command("demo", "robot")
    assert answer.status == 1
    assert CAUSE in answer.out
    assert "EXPLAINED: motor_targets.order = as_given (3 of 3 recorded stages judged)" in answer.out.splitlines()[-2]
    document = json.loads(command("demo", "robot", "--format", "json").out)
    assert [cause["changes"] for cause in document["causes"]] == [{"motor_targets.order": "as_given"}]
    folder = tmp_path / "robot"
    assert command("demo", "robot", "--into", folder).status == 0
    assert {path.name for path in folder.iterdir()} == {"contract.toml", "policy.onnx", "run.csv"}
    assert command("check", folder / "contract.toml", folder / "run.csv", folder / "policy.onnx").status == 0
    asked = ("explain", folder / "run.csv", "--contract", folder / "contract.toml")
    assert CAUSE in command(*asked).out
    (folder / "run.csv").write_text(table(recorded(by_position=False)), encoding="utf-8")
    assert command(*asked).status == 0
    assert command("demo", "robot", "--into", folder).status == 2


def test_the_characters_demonstration_passes_and_names_an_engines_mistake(command):
    """A demonstration that only passes does not show what the tool is for."""
    answer = command("demo")
    assert answer.status == 0
    assert "With compose_order = prev_delta the error of next6d falls from " in answer.out
    assert " warning: " not in answer.out, "a demonstration that warns of itself looks broken"
    assert "\nmodel.onnx#/graph/node/0: RP430" in answer.out, "files are named as the commands name them"
    *_, verdict, hint = answer.out.splitlines()
    assert verdict.startswith("EXPLAINED: compose_order = prev_delta (")
    assert "rigpact demo character --into character" in hint
    assert command("demo", "-q").out.splitlines() == [verdict]
