"""Clips against the bundle: a convention of the exporter is an error, another motion is none."""

import copy
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.documents import Document, Kind
from rigpact.contract.files import JsonFile
from rigpact.fixtures.clip_format import generate_clip
from rigpact.fixtures.motion.styles import STYLES

from .exported_clips import (
    CODES,
    MISTAKES,
    Character,
    answers_of,
    decoded,
    demo,
    honest_alarms,
    real,
    said_of,
    with_numbers,
)
from .tried import passes, refused

PITCH = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""A quarter turn about y: who stood lies on the face or the back."""


@pytest.fixture(scope="module")
def character() -> Character:
    return demo()


def one_clip(character: Character, name: str) -> Character:
    return Character(character.name, character.bundle, tuple(each for each in character.clips if each[0] == name))


@refused(
    "clips whose rotations hold other columns, are transposed, mirrored, in component space, turned at the root, or whose "
    "rows are shifted or exchanged",
    "RP560 to RP562 or RP912 name the reading that fits, exit 1",
)
def test_every_convention_of_an_exporter_is_named(character: Character) -> None:
    """The character is trained on limbs that point elsewhere, and every number is in range."""
    answers = list(answers_of(one_clip(character, "Sneak_Turn")))
    assert [each for each in answers if each.word != "named"] == []
    assert len(answers) == len(MISTAKES)


@passes("sound clips of the demo character, reversed, cut in half, or one pose that stands still")
def test_sound_clips_raise_no_alarm(character: Character) -> None:
    """A gate that stops honest clips is switched off."""
    assert honest_alarms(character) == []


def fitted_to(character: Character, clip: Any) -> Document:
    """The bundle with the statistics of one clip's rotations; what stands still there has no spread."""
    bundle = copy.deepcopy(character.bundle.data)
    start = bundle["meta"]["state_layout"]["BoneRotations6D"]["start"]
    six = np.array([frame["BoneRotations"] for frame in clip["Frames"]]).reshape(len(clip["Frames"]), -1)
    for key, values in (("MuX", six.mean(axis=0)), ("StdX", np.maximum(six.std(axis=0), 1e-6))):
        bundle[key][start : start + six.shape[1]] = values.tolist()
    return Document(Kind.BUNDLE, JsonFile(Path("norm_template.json"), b"", bundle, standard=True))


@pytest.mark.sampled(3)
@passes("a clip of any style under the statistics of one clip of another style")
@pytest.mark.parametrize("trained", ["idle", "walk", "run"])
def test_another_motion_than_the_statistics_raises_no_alarm(character: Character, trained: str) -> None:
    """A first jump or crouch is not a defect of the exporter, however narrow the training data is."""
    bundle = fitted_to(character, generate_clip(trained, 5, 60))
    clips = tuple((style, generate_clip(style, 70 + place, 40)) for place, style in enumerate(STYLES))
    other = Character("demo", bundle, clips)
    assert [(name, each.message) for name, clip in clips for each in said_of(other, clip)] == []


def with_pelvis_turned(clip: Any, turn: Any, sink_m: float) -> Any:
    """The first bone of every frame turned, and the root lower by some metres."""
    matrices = decoded(clip)
    matrices[:, 0] = turn @ matrices[:, 0]
    turned = with_numbers(clip, np.concatenate([matrices[..., 0], matrices[..., 2]], axis=-1))
    for frame in turned["Frames"]:
        x, y, z = frame["RootPosition"]
        frame["RootPosition"] = [x, y, z - sink_m]
    return turned


@passes("a clip of a body that lies on the ground")
def test_a_body_that_lies_is_no_turned_root(character: Character) -> None:
    """Prone shooters lie down: the pelvis pitches by a quarter turn and comes down to the ground."""
    assert said_of(character, with_pelvis_turned(character.clips[0][1], PITCH, 0.75)) == ()


@refused(
    "a clip whose root bone is tilted by 90° while it stays as high as a standing one", "RP561 names the turn, exit 1"
)
def test_a_tilted_root_at_its_height_is_named(character: Character) -> None:
    """Y-up data under a Z-up declaration: the whole character floats on its back."""
    said = said_of(character, with_pelvis_turned(character.clips[0][1], PITCH, 0.0))
    assert [each.rule.code for each in said] == ["RP561"]
    assert "root bone is turned, 90° about y" in said[0].message


@passes("a clip of another gesture: two fingers that are bent the other way round than in training")
def test_a_gesture_of_a_finger_is_no_exchange(character: Character) -> None:
    """A pointing finger is bent in one clip and straight in the other: one bone alone changes, none changed places."""
    clip = copy.deepcopy(character.clips[0][1])
    row, turn = character.bones.index("index_01_l"), math.radians(60.0)
    bent = np.array([[1, 0, 0], [0, math.cos(turn), -math.sin(turn)], [0, math.sin(turn), math.cos(turn)]])
    matrices = decoded(clip)
    matrices[:, row] = bent @ matrices[:, row]
    assert said_of(character, with_numbers(clip, np.concatenate([matrices[..., 0], matrices[..., 2]], axis=-1))) == ()


def exported_in_xy(character: Character, folder: Path) -> list[str]:
    """Files of the demo bundle and of a clip whose columns are X and Y, written for the command."""
    mistake = next(each for each in MISTAKES if each.name == "columns X and Y")
    clip = dict(character.clips)["Sneak_Turn"]
    written = with_numbers(clip, mistake.export(decoded(clip), character))
    paths = [folder / "norm_template.json", folder / "clip.json"]
    for path, content in zip(paths, (character.bundle.data, written), strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    return [str(path) for path in paths]


def codes_of(command: Any, *arguments: Any) -> tuple[list[str], dict[str, Any]]:
    answer = json.loads(command("check", *arguments, "--format", "json").out)
    return [each["code"] for each in answer["findings"] if each["code"] in CODES], answer["summary"]


@passes("a clip of columns X and Y that `--set rot6d_columns=xy` declares", "RP560 goes away, and the answer says why")
def test_a_declared_convention_is_no_finding(command: Any, character: Character, tmp_path: Path) -> None:
    """Who follows the hint must not be told the same again; another declaration hides nothing."""
    files: Sequence[str] = exported_in_xy(character, tmp_path)
    assert codes_of(command, *files)[0] == ["RP560"]
    assert codes_of(command, *files, "--set", "rot6d_columns=yz")[0] == ["RP560"]
    left, summary = codes_of(command, *files, "--set", "rot6d_columns=xy")
    assert left == []
    assert [each["code"] for each in summary["as_declared"]] == ["RP560"]


@pytest.mark.nightly
def test_the_deployed_clips_are_judged_like_the_demo(real_data: Path) -> None:
    """Its fingers hardly move and its statistics have floors; the same limits must do."""
    deployed = real(real_data)
    assert honest_alarms(deployed) == []
    assert [each for each in answers_of(one_clip(deployed, "Walk_F")) if each.word == "misleading"] == []
