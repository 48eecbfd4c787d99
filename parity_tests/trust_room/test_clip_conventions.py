"""Clips against the bundle: a convention of the exporter is an error, another motion is none."""

import copy
import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.files import JsonFile
from rigpact.contract.findings import Finding
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts
from rigpact.fixtures.clip_format import generate_clip
from rigpact.fixtures.course import STYLES

from ..every_case import every_case
from .tried import passes, refused, tries

CODES = ("RP560", "RP561", "RP562", "RP912")
"""The rules that name a reading."""
DEMO = Path("fixtures/bundles/demo")
Rotations = np.ndarray[Any, np.dtype[np.float64]]


class Character(NamedTuple):
    """A bundle with its clips by name; bones and parents as the bundle lists them."""

    bundle: Document
    clips: dict[str, Any]

    @property
    def bones(self) -> list[str]:
        return list(self.bundle.data["meta"]["bone_names"])

    @property
    def parents(self) -> list[int]:
        own = self.bundle.data["meta"].get("skeleton") or next(iter(self.clips.values()))["meta"]["skeleton"]
        return list(own["parents"])


def character_in(folder: Path, clips: Iterable[Path]) -> Character:
    bundle = read_document(folder / "norm_template.json", Kind.BUNDLE)
    return Character(bundle, {path.stem: json.loads(path.read_text("utf-8")) for path in clips})


@pytest.fixture(scope="module")
def character() -> Character:
    return character_in(DEMO, sorted((DEMO / "clips").glob("*.json")))


# --- mistakes of exporters: of rotations (T, B, 3, 3), what the clip's six numbers (T, B, 6) are made of ---

Export = Callable[[Rotations, Character], Rotations]


def columns(first: int, second: int, matrices: Rotations) -> Rotations:
    return np.concatenate([matrices[..., first], matrices[..., second]], axis=-1)


def in_xz(change: Export) -> Export:
    return lambda matrices, character: columns(0, 2, change(matrices, character))


def rows(pick: Callable[[list[str]], Sequence[int]]) -> Export:
    """The row of bone `pick[b]` in the place of bone b."""
    return in_xz(lambda matrices, character: matrices[:, list(pick(character.bones))])


def turned(degrees: float) -> Export:
    """The root bone turned about z, nothing else."""
    turn = Rotation.from_euler("z", degrees, degrees=True).as_matrix()

    def change(matrices: Rotations, character: Character) -> Rotations:
        is_root = np.array(character.parents)[:, None, None] < 0
        return np.where(is_root, turn @ matrices, matrices)

    return in_xz(change)


def in_axes(*axes: Sequence[float]) -> Export:
    """Every rotation written in other axes: P·R·P⁻¹."""
    change = np.array(axes, np.float64)
    return in_xz(lambda matrices, _: change @ matrices @ change.T)


def component(matrices: Rotations, character: Character) -> Rotations:
    """Every bone against the character; a parent may stand behind its child."""

    def whole(bone: int) -> Rotations:
        parent = character.parents[bone]
        own: Rotations = matrices[:, bone]
        return own if parent < 0 else whole(parent) @ own

    return np.stack([whole(bone) for bone in range(matrices.shape[1])], axis=1)


def extra_root(matrices: Rotations, _: Character) -> Rotations:
    """A root that does not turn stands first, and the last bone falls off."""
    return np.concatenate([np.broadcast_to(np.eye(3), matrices[:, :1].shape), matrices[:, :-1]], axis=1)


def twin(bones: list[str]) -> list[int]:
    wanted = [re.sub(r"_([lr])(?=$|_)", lambda side: {"_l": "_r", "_r": "_l"}[side[0]], name) for name in bones]
    return [bones.index(name) if name in bones else place for place, name in enumerate(wanted)]


def without_hand(bones: list[str]) -> list[int]:
    """The last one stands twice."""
    return [place if place < bones.index("hand_l") else min(place + 1, len(bones) - 1) for place in range(len(bones))]


def exchanged(a: str, b: str) -> tuple[Export, str, str]:
    swap = {a: b, b: a}
    order = rows(lambda bones: [bones.index(swap.get(name, name)) for name in bones])
    return order, "RP562", f"rows of ({a} and {b}|{b} and {a})"


AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
_ORDERS = {"X and Y": (0, 1), "Z and X": (2, 0), "Y and X": (1, 0), "Y and Z": (1, 2), "Z and Y": (2, 1)}
MISTAKES: dict[str, tuple[Export, str, str]] = {
    # in plain words: how it is exported, the rule and the words of the right answer
    **{f"columns {name}": (lambda matrices, _, pair=pair: columns(*pair, matrices), "RP560", f"columns {name}[:;(]")
       for name, pair in _ORDERS.items()},
    "the first two rows": (lambda m, _: m[..., :2, :].reshape(*m.shape[:2], 6), "RP560", "two rows"),
    "two columns, one number of each in turn": (
        lambda m, _: m[..., [0, 2]].reshape(*m.shape[:2], 6), "RP560", "X and Z, one number of each"),
    "matrices transposed": (in_xz(lambda matrices, _: matrices.swapaxes(-1, -2)), "RP561", "transposed"),
    **{f"mirrored in {name}": (in_axes(*np.eye(3) - 2.0 * np.diag(axis)), "RP561", f"mirrored in {name}")
       for name, axis in AXES.items()},
    "every rotation in Y-up axes": (in_axes((1, 0, 0), (0, 0, 1), (0, -1, 0)), "RP561", "x to x, y to -z, z to y"),
    "every rotation in axes turned by 90°": (in_axes((0, -1, 0), (1, 0, 0), (0, 0, 1)), "RP561", "x to y, y to -x, z to z"),
    "component space": (in_xz(component), "RP561", "component space"),
    **{f"the root turned by {degrees}°": (turned(degrees), "RP561", f"root bone is turned, {said}° about z")
       for degrees, said in ((90, "90"), (-90, "-90"), (180, "-?180"))},
    "a root row too many in front": (in_xz(extra_root), "RP562", "every row stands one behind"),
    "the first row at the end": (rows(lambda bones: [*range(1, len(bones)), 0]), "RP562", "every row stands one before"),
    "left and right exchanged": (rows(twin), "RP912", "left and right"),
    "the row of hand_l missing": (rows(without_hand), "RP562", "from about .* on, every row stands one before"),
    **{f"the rows of {a} and {b} exchanged": exchanged(a, b) for a, b in (
        ("pelvis", "head"), ("clavicle_l", "clavicle_r"), ("hand_l", "hand_r"), ("upperarm_l", "spine_02"),
        ("neck_01", "foot_l"))},
}  # fmt: skip


def decoded(clip: Any) -> Rotations:
    """The matrices of a clip whose six numbers are the columns X and Z, (T, B, 3, 3)."""
    six = np.array([frame["BoneRotations"] for frame in clip["Frames"]], dtype=np.float64)
    x = six[..., :3] / np.linalg.norm(six[..., :3], axis=-1, keepdims=True)
    z = six[..., 3:] - np.sum(x * six[..., 3:], axis=-1, keepdims=True) * x
    z /= np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def with_numbers(clip: Any, numbers: Rotations) -> Any:
    """The clip with other six numbers, in seven digits."""
    held = zip(clip["Frames"], numbers, strict=True)
    return {**clip, "Frames": [{**frame, "BoneRotations": each.round(7).tolist()} for frame, each in held]}


def said_of(bundle: Document, content: Any) -> list[Finding]:
    """The findings that name a reading of a clip."""
    clip = Document(Kind.RAW_CLIP, JsonFile(Path("clip.json"), b"", content, standard=True))
    return [each for each in check(Artefacts(bundle, others=(clip,))).findings if each.rule.code in CODES]


def exported(character: Character, name: str, mistake: str) -> Any:
    clip = character.clips[name]
    return with_numbers(clip, MISTAKES[mistake][0](decoded(clip), character))


def unnamed(character: Character, clip: str) -> list[tuple[str, list[str]]]:
    """The mistakes of which something else is said than what they are."""
    said = {
        name: [
            f"{each.rule.code} {each.message}" for each in said_of(character.bundle, exported(character, clip, name))
        ]
        for name in MISTAKES
    }
    right = {name: re.compile(f"{code} .*{words}", re.DOTALL) for name, (_, code, words) in MISTAKES.items()}
    return [(name, each) for name, each in said.items() if not each or not all(map(right[name].match, each))]


def alarms(character: Character) -> list[str]:
    """What is said of the clips as they are; also in reverse, slowed to a single pose, and of their second half alone."""
    parts = [
        {**clip, "Frames": part}
        for clip in character.clips.values()
        for frames in [clip["Frames"]]
        for part in (frames, frames[::-1], frames[:1] * 5, frames[len(frames) // 2 :])
    ]
    return [each.message for part in parts for each in said_of(character.bundle, part)]


@refused(
    "clips whose rotations hold other columns, are transposed, mirrored, in component space, turned at the root, or whose "
    "rows are shifted or exchanged",
    "RP560 to RP562 or RP912 name the reading that fits, exit 1",
)
def test_every_convention_of_an_exporter_is_named(character):
    """The character is trained on limbs that point elsewhere, and every number is in range."""
    assert unnamed(character, "Sneak_Turn") == []


@passes("sound clips of the demo character, reversed, cut in half, or one pose that stands still")
def test_sound_clips_raise_no_alarm(character):
    """A gate that stops honest clips is switched off."""
    assert alarms(character) == []


@pytest.mark.nightly
def test_the_deployed_clips_are_judged_like_the_demo(real_data):
    """Its fingers hardly move and its statistics have floors; the same limits must do."""
    deployed = character_in(real_data, [real_data / "Walk_F.json", real_data / "Walk_L_To_R.json"])
    assert alarms(deployed) == []
    for name, (_, _, words) in MISTAKES.items():
        said = said_of(deployed.bundle, exported(deployed, "Walk_F", name))
        assert said, name
        assert all(re.search(words, each.message) for each in said), name


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
def test_another_motion_than_the_statistics_raises_no_alarm(character, trained):
    """A first jump or crouch is not a defect of the exporter, however narrow the training data is."""
    bundle = fitted_to(character, generate_clip(trained, 5, 60))
    clips = {style: generate_clip(style, 70 + place, 40) for place, style in enumerate(STYLES)}
    assert [(name, each.message) for name, clip in clips.items() for each in said_of(bundle, clip)] == []


BENT: dict[str, tuple[str, str, float, float, str]] = {
    # the bone, the axis and the angle of its turn, how far the root sinks, what is said
    "a clip of a body that lies on the ground": ("pelvis", "y", 90.0, 0.75, ""),
    "a clip whose root bone is tilted by 90° while it stays as high as a standing one": (
        "pelvis", "y", 90.0, 0.0, "root bone is turned, 90° about y"),
    "a clip of another gesture: two fingers that are bent the other way round than in training": (
        "index_01_l", "x", 60.0, 0.0, ""),
}  # fmt: skip


@tries(
    ("refused" if said else "passes", tried, "RP561 names the turn, exit 1" if said else "passes")
    for tried, (*_, said) in BENT.items()
)
@every_case("tried", BENT)
def test_a_bone_that_is_bent_is_no_mistake_and_a_root_that_is_tilted_at_its_height_is(character, tried):
    """Prone shooters lie down, and one bone alone has not changed places; Y-up data under Z-up floats on its back."""
    bone, axis, degrees, sink_m, expected = BENT[tried]
    clip = copy.deepcopy(next(iter(character.clips.values())))
    matrices, row = decoded(clip), character.bones.index(bone)
    matrices[:, row] = Rotation.from_euler(axis, degrees, degrees=True).as_matrix() @ matrices[:, row]
    for frame in clip["Frames"]:
        frame["RootPosition"][2] -= sink_m
    said = said_of(character.bundle, with_numbers(clip, columns(0, 2, matrices)))
    assert [(each.rule.code, expected in each.message) for each in said] == [("RP561", True)] * bool(expected)


@passes("a clip of columns X and Y that `--set rot6d_columns=xy` declares", "RP560 goes away, and the answer says why")
def test_a_declared_convention_is_no_finding(command, character, tmp_path):
    """Who follows the hint must not be told the same again; another declaration hides nothing."""
    files = tmp_path / "norm_template.json", tmp_path / "clip.json"
    held = character.bundle.data, exported(character, "Sneak_Turn", "columns X and Y")
    for path, content in zip(files, held, strict=True):
        path.write_text(json.dumps(content), encoding="utf-8")
    for words, codes, declared in (
        ((), ["RP560"], []),
        (("--set", "rot6d_columns=yz"), ["RP560"], []),
        (("--set", "rot6d_columns=xy"), [], ["RP560"]),
    ):
        answer = json.loads(command("check", *files, *words, "--format", "json").out)
        assert [each["code"] for each in answer["findings"] if each["code"] in CODES] == codes
        assert [each["code"] for each in answer["summary"].get("as_declared", []) if each["code"] in CODES] == declared
