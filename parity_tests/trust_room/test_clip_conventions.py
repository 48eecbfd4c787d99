"""Clips against the bundle: a convention of the exporter is an error, another motion is none."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.files import JsonFile
from rigpact.contract.findings import Finding
from rigpact.contract.rules import Subject, check
from rigpact.fixtures.clip_format import generate_clip
from rigpact.fixtures.motion.styles import STYLES

from .tried import passes, refused

CODES = ("RP560", "RP561", "RP562", "RP912")
"""The rules that name a reading."""
DEMO = Path("fixtures/bundles/demo")
Rotations = np.ndarray[Any, np.dtype[np.float64]]
Export = Callable[[Rotations, "Character"], Rotations]


@dataclass(frozen=True, eq=False)
class Character:
    """A bundle with its clips; bones and parents as the bundle lists them."""

    name: str
    bundle: Document
    clips: tuple[tuple[str, Any], ...]

    @property
    def bones(self) -> list[str]:
        return list(self.bundle.data["meta"]["bone_names"])

    @property
    def parents(self) -> list[int]:
        own = self.bundle.data["meta"].get("skeleton") or self.clips[0][1]["meta"]["skeleton"]
        return list(own["parents"])


@dataclass(frozen=True)
class Mistake:
    """name: in plain words; export: from rotations (T, B, 3, 3) to six numbers (T, B, 6); code and words of the right answer."""

    name: str
    export: Export
    code: str
    words: str


def columns(first: int, second: int) -> Export:
    """Two columns of each matrix, one after the other."""
    return lambda matrices, _: np.concatenate([matrices[..., first], matrices[..., second]], axis=-1)


def in_xz(change: Export) -> Export:
    """A change of the matrices; the columns stay the declared ones."""
    return lambda matrices, character: columns(0, 2)(change(matrices, character), character)


def rows(pick: Callable[[list[str]], Sequence[int]]) -> Export:
    """The row of bone `pick[b]` in the place of bone b."""
    return in_xz(lambda matrices, character: matrices[:, list(pick(character.bones))])


def turned(turn: Sequence[Sequence[float]]) -> Export:
    """The root bone turned, nothing else."""

    def change(matrices: Rotations, character: Character) -> Rotations:
        result = matrices.copy()
        for bone, parent in enumerate(character.parents):
            if parent < 0:
                result[:, bone] = np.asarray(turn, dtype=np.float64) @ matrices[:, bone]
        return result

    return in_xz(change)


def in_axes(axes: Sequence[Sequence[float]]) -> Export:
    """Every rotation written in other axes: P·R·P⁻¹."""
    change = np.asarray(axes, dtype=np.float64)
    return in_xz(lambda matrices, _: change @ matrices @ change.T)


def mirrored(axis: int) -> Export:
    """Every rotation mirrored in an axis: S·R·S."""
    return in_axes([[(-1.0 if i == axis else 1.0) * (i == j) for j in range(3)] for i in range(3)])


def component(matrices: Rotations, character: Character) -> Rotations:
    """Every bone against the character; a parent may stand behind its child."""

    def whole(bone: int) -> Rotations:
        parent = character.parents[bone]
        own: Rotations = matrices[:, bone]
        return own if parent < 0 else whole(parent) @ own

    return np.stack([whole(bone) for bone in range(matrices.shape[1])], axis=1)


def extra_root(matrices: Rotations, _: Character) -> Rotations:
    """A root that does not turn stands first, and the last bone falls off."""
    still = np.broadcast_to(np.eye(3), matrices[:, :1].shape)
    return np.concatenate([still, matrices[:, :-1]], axis=1)


def twin(bones: list[str]) -> list[int]:
    other = {"_l": "_r", "_r": "_l"}
    wanted = [re.sub(r"_([lr])(?=$|_)", lambda side: other[side.group(0)], name) for name in bones]
    return [bones.index(name) if name in bones else place for place, name in enumerate(wanted)]


def exchange(a: str, b: str) -> Mistake:
    def order(bones: list[str]) -> list[int]:
        swap = {a: b, b: a}
        return [bones.index(swap.get(name, name)) for name in bones]

    return Mistake(f"the rows of {a} and {b} exchanged", rows(order), "RP562", f"rows of ({a} and {b}|{b} and {a})")


QUARTER = ((0, -1, 0), (1, 0, 0), (0, 0, 1))
QUARTER_BACK = ((0, 1, 0), (-1, 0, 0), (0, 0, 1))
HALF = ((-1, 0, 0), (0, -1, 0), (0, 0, 1))
Y_UP = ((1, 0, 0), (0, 0, 1), (0, -1, 0))
_ORDERS = {"X and Y": (0, 1), "Z and X": (2, 0), "Y and X": (1, 0), "Y and Z": (1, 2), "Z and Y": (2, 1)}
MISTAKES: tuple[Mistake, ...] = (
    *(Mistake(f"columns {name}", columns(*pair), "RP560", f"columns {name}[:;(]") for name, pair in _ORDERS.items()),
    Mistake(
        "the first two rows", lambda matrices, _: matrices[..., :2, :].reshape(*matrices.shape[:2], 6), "RP560", "two rows"
    ),
    Mistake(
        "two columns, one number of each in turn",
        lambda matrices, _: matrices[..., [0, 2]].reshape(*matrices.shape[:2], 6), "RP560", "X and Z, one number of each",
    ),
    Mistake("matrices transposed", in_xz(lambda matrices, _: matrices.swapaxes(-1, -2)), "RP561", "transposed"),
    Mistake("mirrored in x", mirrored(0), "RP561", "mirrored in x"),
    Mistake("mirrored in y", mirrored(1), "RP561", "mirrored in y"),
    Mistake("mirrored in z", mirrored(2), "RP561", "mirrored in z"),
    Mistake("every rotation in Y-up axes", in_axes(Y_UP), "RP561", r"x to x, y to -z, z to y"),
    Mistake("every rotation in axes turned by 90°", in_axes(QUARTER), "RP561", r"x to y, y to -x, z to z"),
    Mistake("component space", in_xz(component), "RP561", "component space"),
    Mistake("the root turned by 90°", turned(QUARTER), "RP561", "root bone is turned, 90° about z"),
    Mistake("the root turned by -90°", turned(QUARTER_BACK), "RP561", "root bone is turned, -90° about z"),
    Mistake("the root turned by 180°", turned(HALF), "RP561", "root bone is turned, -?180° about z"),
    Mistake("a root row too many in front", in_xz(extra_root), "RP562", "every row stands one behind"),
    Mistake("the first row at the end", rows(lambda bones: [*range(1, len(bones)), 0]), "RP562", "every row stands one before"),
    Mistake("left and right exchanged", rows(twin), "RP912", "left and right"),
    Mistake(
        "the row of hand_l missing, the last one twice",
        rows(lambda bones: [b if b < bones.index("hand_l") else min(b + 1, len(bones) - 1) for b in range(len(bones))]),
        "RP562", "from about .* on, every row stands one before",
    ),
    exchange("pelvis", "head"),
    exchange("clavicle_l", "clavicle_r"),
    exchange("hand_l", "hand_r"),
    exchange("upperarm_l", "spine_02"),
    exchange("neck_01", "foot_l"),
)  # fmt: skip


def decoded(clip: Any) -> Rotations:
    """The matrices of a clip whose six numbers are the columns X and Z, (T, B, 3, 3)."""
    six = np.array([frame["BoneRotations"] for frame in clip["Frames"]], dtype=np.float64)
    x = six[..., :3] / np.linalg.norm(six[..., :3], axis=-1, keepdims=True)
    z = six[..., 3:] - np.sum(x * six[..., 3:], axis=-1, keepdims=True) * x
    z /= np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def with_numbers(clip: Any, numbers: Rotations) -> Any:
    """The clip with other six numbers, in seven digits."""
    frames = [
        {**frame, "BoneRotations": each.round(7).tolist()} for frame, each in zip(clip["Frames"], numbers, strict=True)
    ]
    return {**clip, "Frames": frames}


def said_of(character: Character, content: Any) -> tuple[Finding, ...]:
    """The findings that name a reading of a clip."""
    clip = Document(Kind.RAW_CLIP, JsonFile(Path("clip.json"), b"", content, standard=True))
    return tuple(each for each in check(Subject(character.bundle, others=(clip,))).findings if each.rule.code in CODES)


def said_of_mistake(character: Character, name: str, mistake: Mistake) -> list[str]:
    """What is said of one clip that was exported with a mistake."""
    clip = dict(character.clips)[name]
    content = with_numbers(clip, mistake.export(decoded(clip), character))
    return [f"{each.rule.code} {each.message}" for each in said_of(character, content)]


def honest_alarms(character: Character) -> list[str]:
    """What is said of the clips as they are; also in reverse, slowed to a single pose, and of their second half alone."""
    found = []
    for name, clip in character.clips:
        frames = clip["Frames"]
        for how, part in (
            ("", frames),
            ("reversed", frames[::-1]),
            ("still", frames[:1] * 5),
            ("half", frames[len(frames) // 2 :]),
        ):
            found += [
                f"{character.name}, {name} {how}: {each.message}"
                for each in said_of(character, {**clip, "Frames": part})
            ]
    return found


def demo() -> Character:
    """The demo character."""
    return _character("demo", DEMO, sorted((DEMO / "clips").glob("*.json")))


def real(folder: Path) -> Character:
    """The deployed character."""
    return _character("deployed", folder, [folder / "Walk_F.json", folder / "Walk_L_To_R.json"])


def _character(name: str, folder: Path, clips: Iterable[Path]) -> Character:
    bundle = read_document(folder / "norm_template.json", Kind.BUNDLE)
    return Character(name, bundle, tuple((path.stem, json.loads(path.read_text("utf-8"))) for path in clips))


PITCH = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
"""A quarter turn about y: who stood lies on the face or the back."""


@pytest.fixture(scope="module")
def character() -> Character:
    return demo()


@refused(
    "clips whose rotations hold other columns, are transposed, mirrored, in component space, turned at the root, or whose "
    "rows are shifted or exchanged",
    "RP560 to RP562 or RP912 name the reading that fits, exit 1",
)
def test_every_convention_of_an_exporter_is_named(character: Character) -> None:
    """The character is trained on limbs that point elsewhere, and every number is in range."""
    said = {mistake: said_of_mistake(character, "Sneak_Turn", mistake) for mistake in MISTAKES}
    named = {
        mistake: bool(said) and all(each.startswith(mistake.code) and re.search(mistake.words, each) for each in said)
        for mistake, said in said.items()
    }
    assert [(mistake.name, said[mistake]) for mistake, is_named in named.items() if not is_named] == []


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
    for mistake in MISTAKES:
        said = said_of_mistake(deployed, "Walk_F", mistake)
        assert len(said) > 0, mistake.name
        assert all(re.search(mistake.words, each) for each in said), mistake.name
