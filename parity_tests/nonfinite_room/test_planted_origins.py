"""Origins of values that are not finite, planted in the files themselves: stage, bone, frame and guard are named.

The plants are edits of JSON and of ONNX, and where each shows is worked out here; nothing is shared with what searches.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..every_case import every_case

CLIP, PREDICTION = "clips/Sneak_Turn.json", "teacher_predictions/Sneak_Turn_prediction.json"
NORM, COMPANION, MODEL = "norm_template.json", "pretrain_template.json", "model.onnx"
ROTATIONS, VELOCITIES, SIX = 6, 282, 276
"""Where slices of the state begin, and the width of a pose: docs/contract of the demo character."""
BEYOND = 1e39
"""A number of JSON that no float32 holds."""
FRAMES = 12


@dataclass(frozen=True)
class Project:
    """The demo character's files, to be damaged."""

    folder: Path

    def json(self, name, edit):
        path = self.folder / name
        root = json.loads(path.read_text(encoding="utf-8"))
        edit(root)
        path.write_text(json.dumps(root), encoding="utf-8")

    def number(self, key, place, value, *files):
        """One number of an array, in the bundle or in the files that hold it."""
        for name in files or (NORM,):
            self.json(name, lambda root: root[key].__setitem__(place, value))

    def model(self, edit):
        model = onnx.load(self.folder / MODEL)
        edit(model)
        onnx.save(model, self.folder / MODEL)

    def answers(self, place, numbers):
        """Recorded answers in place of the model: zeros, but for these numbers of a frame from a channel on."""
        rows = np.zeros((FRAMES, SIX), np.float32)
        frame, channel = place
        rows[frame, channel : channel + len(numbers)] = numbers
        np.savez(self.folder / "answers.npz", y_norm=rows)


@dataclass(frozen=True)
class Origin:
    """What is planted, how the run is asked for, and what must be named. guard: the change with which the run stays finite."""

    plant: object
    stage: str
    frame: int
    channel: int | None = None
    bone: int | None = None
    slice: str | None = None
    node: str | None = None
    guard: str | None = None
    words: tuple[str, ...] = ()


def _weight(name, row, value):
    def edit(model):
        tensor = next(each for each in model.graph.initializer if each.name == name)
        numbers = numpy_helper.to_array(tensor).copy()
        numbers[row, 0] = value
        tensor.CopyFrom(numpy_helper.from_array(numbers, name))

    return lambda project: project.model(edit)


def _behind(*steps):
    """Nodes between the last layer and the answer: `answer` is what the layer gave, `motion_pred` what leaves."""

    def edit(model):
        model.graph.node[-1].output[0] = "answer"
        model.graph.initializer.extend(
            numpy_helper.from_array(np.float32(end), name) for name, end in (("low", -1), ("high", 1))
        )
        model.graph.node.extend(
            helper.make_node(op, takes, [gives], name=f"made_{gives}") for op, takes, gives in steps
        )

    return lambda project: project.model(edit)


def _bones(frames):
    return lambda project: project.json(CLIP, lambda root: [frames(each) for each in root["Frames"]] and None)


def _both(*plants):
    return lambda project: [plant(project) for plant in plants] and None


def _still(bone):
    def edit(frame):
        frame["BoneRotations"][bone] = [1, 0, 0, 0, 0, 1]
        frame["BoneAngularVelocities"][bone] = [0, 0, 0]

    return edit


def _scale(key, place, value):
    files = (COMPANION,) if key == "tanh_scales_pose_hist" else (NORM, COMPANION)
    return lambda project: project.number(key, place, value, *files)


def _short(key):
    return lambda project: project.json(NORM, lambda root: root[key].pop() and None)


def _unit_std(start):
    """Deviations of 1 of a bone's six numbers: its answer is added to 1 0 0, 0 0 1 as it is."""
    return lambda project: project.json(NORM, lambda root: root["StdY"].__setitem__(slice(start, start + 6), [1] * 6))


def _long_way(project):
    """The root's position is answered too, ten thousand times as far each frame: it drifts, and overflows in the tenth frame."""

    def edit(root):
        layout = root["meta"]["output_layout"]
        layout["BoneRotations6D"]["start"], layout["RootPosition"] = 3, {"start": 0, "size": 3}
        root["output_dim"] = 3 + SIX
        root["MuY"], root["StdY"] = [0, 0, 0, *root["MuY"]], [1e4, 1, 1, *root["StdY"]]
        for key, value in (("MuX", 0), ("StdX", 1)):
            root[key][:3] = [value] * 3

    def widen(model):
        model.graph.node[-1].output[0] = "answer"
        model.graph.initializer.append(numpy_helper.from_array(np.array([0, 1, 2]), "root"))
        model.graph.node.append(helper.make_node("Gather", ["state", "root"], ["position"], name="root_of", axis=1))
        model.graph.node.append(
            helper.make_node("Concat", ["position", "answer"], ["motion_pred"], name="both", axis=1)
        )
        model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 3 + SIX

    project.json(NORM, edit)
    project.json(
        CLIP, lambda root: [each.__setitem__("RootPosition", [0.5, 0.5, 0.5]) for each in root["Frames"]] and None
    )
    project.model(widen)


REPLAY = ("--replay", "answers.npz")
"""In place of the model."""
NO_FLOOR, NO_SCALE, NO_AXIS = (("--perturb", word) for word in ("no-std-floor", "no-scale-floor", "no-axis-guard"))
ORIGINS = {
    "StdX of 0, no floor": Origin(
        _both(lambda p: p.number("StdX", 32, 0.0), _scale("tanh_scales_angvel", 21, 0.0)), "state", 0, 32, 4, "BoneRotations6D",
        None, "std-floor", NO_FLOOR),
    "MuX too short": Origin(_short("MuX"), "load", 0, slice="MuX"),
    "MuX beyond float32": Origin(
        lambda p: p.number("MuX", 100, BEYOND), "state", 0, 100, 15, "BoneRotations6D", None, "finite-statistics"),
    "StdY beyond float32": Origin(
        lambda p: p.number("StdY", 65, BEYOND), "y_raw", 0, 65, 10, "BoneRotations6D", None, "finite-statistics"),
    "MuPoseHist beyond float32": Origin(
        lambda p: p.number("MuPoseHist", SIX + 33, BEYOND, COMPANION), "pose_hist", 0, SIX + 33, 5, "history[1]", None,
        "finite-statistics"),
    "a tanh scale of 0 at a bone that stands still": Origin(
        _both(_bones(_still(7)), _scale("tanh_scales_angvel", 21, 0.0)), "state", 0, VELOCITIES + 21, 7,
        "BoneAngularVelocities", None, "scale-floor", NO_SCALE),
    "a tanh scale of 0 in the history": Origin(
        _both(_bones(_still(9)), _scale("tanh_scales_pose_hist", 6 * 9 + 1, 0.0)), "pose_hist", 0, 55, 9, "history[0]", None,
        "scale-floor", NO_SCALE),
    "tanh by exponentials": Origin(
        _both(_bones(lambda f: f["BoneAngularVelocities"].__setitem__(3, [0, 900, 0])), _scale("tanh_scales_angvel", 10, 0.01)),
        "state", 0, VELOCITIES + 10, 3, "BoneAngularVelocities", None, "library-tanh", ("--perturb", "exp-tanh")),
    "six numbers of 0": Origin(
        _both(_unit_std(48), lambda p: p.answers((5, 48), [-1, 0, 0])), "delta6d", 5, 48, 8,
        "BoneRotations6D", None, "fallback-axis", (*NO_AXIS, *REPLAY)),
    "an answer that overflows behind StdY": Origin(
        _both(lambda p: p.number("StdY", 70, 4.0), lambda p: p.answers((4, 70), [3e38])), "y_raw", 4, 70, 11, "BoneRotations6D",
        words=REPLAY),
    "a recorded answer of NaN": Origin(
        lambda p: p.answers((7, 141), [np.nan]), "y_norm", 7, 141, 23, "BoneRotations6D", words=REPLAY),
    "a weight of NaN in the last layer": Origin(
        _weight("output.weight", 88, np.nan), "y_norm", 0, 88, 14, "BoneRotations6D", "node_linear_2"),
    "a weight beyond float32 in the first layer": Origin(
        _weight("encode_history.weight", 3, np.inf), "y_norm", 0, 0, 0, "BoneRotations6D", "node_linear"),
    "a division by 0 in the network": Origin(
        _behind(("Sub", ["answer", "answer"], "zero"), ("Div", ["answer", "zero"], "motion_pred")), "y_norm", 0, 0, 0,
        "BoneRotations6D", "made_motion_pred"),
    "drift": Origin(_long_way, "y_raw", 9, 0, None, "RootPosition"),
    "a row of the clip": Origin(
        lambda p: p.json(CLIP, lambda r: r["Frames"][8]["BoneRotations"][12].__setitem__(4, BEYOND)), "x_raw", 8,
        ROTATIONS + 76, 12, "BoneRotations6D", words=("--mode", "teacher")),
    "a score of the left foot": Origin(
        lambda p: p.json(CLIP, lambda r: r["Frames"][3]["FootEvidence"]["L"].__setitem__("soft_contact_score", BEYOND)),
        "contacts", 3, 0, None, "left foot"),
    "a ring that nobody filled": Origin(
        lambda p: None, "pose_hist_raw", 0, 0, 0, "history[0]", None, "own-memory", ("--perturb", "uninitialised-history")),
    "a slot of the ring": Origin(
        lambda p: None, "pose_hist_raw", 4, 2 * SIX + 10, 1, "history[2]", None, "own-memory", ("--perturb", "ring-slot@4:10")),
    "memory of the state": Origin(
        lambda p: None, "x_raw", 3, 8, 0, "BoneRotations6D", None, "own-memory", ("--perturb", "state@3:8")),
}  # fmt: skip


WEIGHTS = {
    "a weight of NaN in the last layer": "output.weight[",
    "a weight beyond float32 in the first layer": "encode_history.weight[",
}


def copied(demo_bundle, folder):
    """A copy of the demo character."""
    for name in (NORM, COMPANION, MODEL, CLIP):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(demo_bundle / name, folder / name)
    return Project(folder)


def _asked(command, project, words):
    folder = project.folder
    own = [folder / word if word.endswith(".npz") else word for word in words]
    given = [folder / CLIP, "--contract", folder / NORM, "--companion", folder / COMPANION, "--frames", FRAMES, *own]
    return command("nan", *given, *(() if "--replay" in words else ("--onnx", folder / MODEL)), "--format", "json")


@every_case("name", ORIGINS)
def test_a_planted_origin_is_named(tmp_path, demo_bundle, command, name):
    """With a wrong stage, bone or frame an engineer reads the wrong file for a day."""
    case, project = ORIGINS[name], copied(demo_bundle, tmp_path)
    case.plant(project)
    bones = json.loads((tmp_path / NORM).read_text(encoding="utf-8"))["meta"]["bone_names"]
    answer = _asked(command, project, case.words)
    assert answer.status == 1, answer.out + answer.err
    document = json.loads(answer.out)
    found = document["origin"]
    named = [found.get(key) for key in ("stage", "frame", "channel", "bone", "slice", "network_node")]
    bone = None if case.bone is None else bones[case.bone]
    assert named == [case.stage, case.frame, case.channel, bone, case.slice, case.node]
    guard = document["guard"] or {}
    assert case.guard is None or (guard["guard"], guard["survives_frames"]) == (case.guard, FRAMES)
    is_floor = guard.get("guard") in {"std-floor", "scale-floor"}  # which names the one number that it lifts
    assert (" = 0: with the engine's" in guard.get("change", "")) == is_floor
    assert case.stage != "load" or document["suspects"][0]["name"] == "statistic-length-differs"
    network = found["network"] if case.node else None
    assert network is None or (network["blame"], network["same_bits"]) == ("weights", True)
    weight = "" if network is None else network["weight"] or ""
    assert not name.startswith("a weight") or weight.startswith(WEIGHTS[name])


def test_what_a_clamp_hides_is_named(tmp_path, demo_bundle, command):
    """A division by 0 that a clip makes 1 again: nothing shows, until somebody takes the clip out."""
    hidden = [
        ("Sub", ["answer", "answer"], "zero"), ("Reciprocal", ["zero"], "made"), ("Clip", ["made", "low", "high"], "kept"),
        ("Mul", ["kept", "zero"], "nothing"), ("Add", ["answer", "nothing"], "motion_pred"),
    ]  # fmt: skip
    project = copied(demo_bundle, tmp_path)
    _behind(*hidden)(project)
    document = json.loads(_asked(command, project, ()).out)
    assert document["verdict"] == "finite"
    assert [(each["node"], each["frame"], each["frames"]) for each in document["swallowed"]] == [
        ("made_made", 0, FRAMES)
    ]
