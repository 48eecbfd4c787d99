"""`rigpact demo`: the files of the robot, the mistakes that both demonstrations name, and the copies that people go on with."""

import json
import tomllib

CAUSE = "With motor_targets.order = as_given the error of motor_targets falls from "


def mended(text, names):
    """The recording of a runtime that sends each target to the joint of its name; the recorded one counts them through."""
    head, *rows = (line.split(",") for line in text.splitlines())
    sent = [head.index(f"motor_targets.{joint}") for joint in names["motors"]]
    for row in rows:
        own = [row[place] for place in sent]
        for place, joint in zip(sent, names["motors"], strict=True):
            row[place] = own[names["policy"].index(joint)]
    return "".join(f"{','.join(line)}\n" for line in (head, *rows))


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
    names = tomllib.loads((folder / "contract.toml").read_text(encoding="utf-8"))["names"]
    text = (folder / "run.csv").read_text(encoding="utf-8")
    (folder / "run.csv").write_text(mended(text, names), encoding="utf-8")
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
