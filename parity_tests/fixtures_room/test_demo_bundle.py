"""The committed demo bundle: it regenerates, its files agree with each other, and its network is worth running."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from rigpact.fixtures import demo_bundle, generate_clip
from rigpact.fixtures.motion.styles import HELD_OUT_STYLES, TRAINING_STYLES
from rigpact.training.enemy_animation.bundle import BUNDLE_CLIPS, FPS, PREDICTED_CLIPS, full_plan, generate_clips

BUNDLE = demo_bundle()


def load(*parts: str) -> dict[str, Any]:
    return dict(json.loads(Path(BUNDLE, *parts).read_text(encoding="utf-8")))


NORM, COMPANION = load("norm_template.json"), load("pretrain_template.json")


def assert_equal_documents(got: Any, want: Any, pointer: str = "") -> None:
    """Same structure and text; numbers within one float32 step (another libm may round the last bit differently)."""
    if isinstance(want, dict):
        assert list(got) == list(want), pointer
        for key in want:
            assert_equal_documents(got[key], want[key], f"{pointer}/{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), pointer
        for index, pair in enumerate(zip(got, want, strict=True)):
            assert_equal_documents(*pair, f"{pointer}/{index}")
    elif isinstance(want, float):
        # The absolute part: cosines that cancel to 0 keep the rounding of terms near 1, times fps in velocities.
        assert math.isclose(got, want, rel_tol=2**-23, abs_tol=60 * 2**-48), pointer
    else:
        assert got == want, pointer


def test_a_committed_clip_regenerates_was_not_trained_on_and_turns_past_pi() -> None:
    """A clip that its recipe no longer makes cannot be trusted; an error on training data says nothing about the game."""
    entry, plan = BUNDLE_CLIPS[0], full_plan()
    clip = load("clips", f"{entry.name}.json")
    assert_equal_documents(clip, generate_clip(entry.style, entry.seed, entry.frames))
    assert not {each.seed for each in BUNDLE_CLIPS} & set(range(plan.seed, plan.seed + plan.variations))
    assert entry.style in HELD_OUT_STYLES
    assert max(frame["RootYaw"] for frame in clip["Frames"]) > math.pi


@pytest.mark.nightly
def test_committed_statistics_regenerate() -> None:
    """Statistics of other motion than the generator's: every fixture built on them is quietly off."""
    from rigpact.fixtures.json_files import plain_document
    from rigpact.fixtures.motion.skeleton import demo_skeleton
    from rigpact.training.enemy_animation.converter import norm_template, pretrain_template
    from rigpact.training.enemy_animation.statistics import fit_statistics

    plan = full_plan()
    statistics = fit_statistics(
        generate_clips(TRAINING_STYLES, range(plan.seed, plan.seed + plan.variations), plan.frames)
    )
    assert_equal_documents(NORM, plain_document(norm_template(statistics, demo_skeleton(), FPS)))
    assert_equal_documents(COMPANION, plain_document(pretrain_template(statistics)))


def test_the_two_files_agree_and_hardly_any_channel_is_constant() -> None:
    """Two files that disagree: training uses one, the engine the other; a constant channel hides a defect in it."""
    shared = set(NORM) & set(COMPANION) - {"meta"}
    assert len(shared) == 8
    assert {key: NORM[key] for key in shared} == {key: COMPANION[key] for key in shared}
    assert (NORM["input_dim"], NORM["output_dim"], NORM["pose_hist_dim"], NORM["fps"]) == (422, 276, 828, 60)
    for name in ("StdX", "StdY", "StdAngVel", "StdPoseHist"):
        at_floor = sum(value <= float(np.float32(1e-3)) for value in NORM[name])
        assert at_floor <= 0.02 * len(NORM[name]), name


def test_the_graph_is_what_the_engine_binds_by_position() -> None:
    """The engine binds inputs by position: another order feeds contacts into the state."""
    model = onnx.load(BUNDLE / "model.onnx")
    shapes = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
    widths = {"state": 422, "cond": 7, "contacts": 2, "angvel": 138, "pose_hist": 828}
    assert list(shapes.items()) == [(name, ["B", width]) for name, width in widths.items()]
    assert [item.name for item in model.graph.output] == ["motion_pred"]
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]


def stored(values: Any) -> np.ndarray:
    """Numbers of a file as the float32 they stand for, then wide: the shortest decimal is not that number itself."""
    wide: np.ndarray = np.array(values, dtype=np.float32).astype(np.float64)
    return wide


TABLE = {key: stored(value) for key, value in NORM.items() if isinstance(value, list)}


def inputs_of(clip: dict[str, Any]) -> dict[str, np.ndarray]:
    """The five inputs of every pair, from the raw clip and the two JSON tables alone."""
    frames = clip["Frames"][:-1]
    poses = stored([frame["BoneRotations"] for frame in frames]).reshape(len(frames), -1)
    omega = stored([frame["BoneAngularVelocities"] for frame in frames]).reshape(len(frames), -1)
    velocity = stored([frame["RootVelocityXY"] for frame in frames])
    contacts = stored([[frame["FootEvidence"][side]["soft_contact_score"] for side in "LR"] for frame in frames])
    squashed_omega, yaw = np.tanh(omega / TABLE["tanh_scales_angvel"]), stored([[frame["RootYaw"]] for frame in frames])
    position, heading = (
        stored([frame["RootPosition"] for frame in frames]),
        np.arctan2(np.sin(yaw), np.cos(yaw)) / np.pi,
    )
    own_velocity = np.tanh(velocity / TABLE["tanh_scales_rootvel"])
    state = np.concatenate([position, own_velocity, heading, poses, squashed_omega, contacts], axis=1)
    past = np.concatenate([poses[np.maximum(np.arange(len(frames)) - back, 0)] for back in (2, 1, 0)], axis=1)
    speed = np.hypot(velocity[:, :1], velocity[:, 1:])
    direction = np.divide(velocity, speed, out=np.zeros_like(velocity), where=speed >= 1e-3)
    rows = {
        "state": (state - TABLE["MuX"]) / TABLE["StdX"],
        "cond": np.concatenate([[frame["ActionBits"] for frame in frames], direction, speed], axis=1),
        "contacts": contacts,
        "angvel": (squashed_omega - TABLE["MuAngVel"]) / TABLE["StdAngVel"],
        "pose_hist": (np.tanh(past / TABLE["tanh_scales_pose_hist"]) - TABLE["MuPoseHist"]) / TABLE["StdPoseHist"],
    }
    return {name: value.astype(np.float32) for name, value in rows.items()}


def frames_of(pairs: np.ndarray) -> np.ndarray:
    """(..., 3, 3) from X and Z columns."""
    x = pairs[..., :3] / np.linalg.norm(pairs[..., :3], axis=-1, keepdims=True)
    z = pairs[..., 3:] - (x * pairs[..., 3:]).sum(-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def angle_deg(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle between rotations: |A - B|_F = 2 sqrt(2) sin(angle / 2)."""
    half_sine = np.linalg.norm(a - b, axis=(-2, -1)) / np.sqrt(8.0)
    degrees: np.ndarray = np.degrees(2.0 * np.arcsin(np.minimum(half_sine, 1.0)))
    return degrees


def predicted(clip: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Teacher-forced R_next, the true R_next and R_prev, all (T, 46, 3, 3)."""
    session = onnxruntime.InferenceSession(BUNDLE / "model.onnx", providers=["CPUExecutionProvider"])
    (out,) = session.run(None, inputs_of(clip))
    true = frames_of(stored([frame["BoneRotations"] for frame in clip["Frames"]]))
    residual = (out.astype(np.float64) * TABLE["StdY"]).reshape(len(out), 46, 6)
    delta = frames_of(residual + np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0]))
    return delta @ true[:-1], true[1:], true[:-1]


@pytest.mark.parametrize("name", [entry.name for entry in BUNDLE_CLIPS])
def test_the_network_beats_holding_the_last_pose_by_the_figure_in_the_readme(name: str) -> None:
    """A network no better than a frozen pose would pass parity and still freeze every character."""
    text = (BUNDLE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| \d+ \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text, flags=re.MULTILINE)
    figures = {title: tuple(map(float, numbers)) for title, *numbers in rows}
    model_deg, copy_last_deg, ratio = figures[f"`clips/{name}.json`"]
    composed, target, held = predicted(load("clips", f"{name}.json"))
    # The README rounds to 4 and 3 decimals; float32 kernels of torch and ONNX Runtime differ far below that.
    assert angle_deg(composed, target).mean() == pytest.approx(model_deg, abs=1e-4)
    assert angle_deg(held, target).mean() == pytest.approx(copy_last_deg, abs=1e-4)
    assert ratio == pytest.approx(model_deg / copy_last_deg, abs=2e-3)
    assert max(ratio, figures["trained styles, new seeds"][2], figures["styles never trained on"][2]) < 0.6


@pytest.mark.parametrize("entry", PREDICTED_CLIPS, ids=lambda entry: entry.name)
def test_the_training_files_hold_the_clip_and_what_the_network_predicts(entry: Any) -> None:
    """The engine plays this file: if it is not the network's own output, parity is measured against fiction."""
    document = load("teacher_predictions", f"{entry.name}_prediction.json")
    batch = load("teacher_batches", f"{entry.name}_teacher.json")
    clip = load("clips", f"{entry.name}.json")
    teacher, aux, inputs = document["teacher"], document["aux_inputs"], inputs_of(clip)
    # z is rounded to float32 once on each side; 1e-6 absolute is 2^-24 of |z| near 16, the largest in the demo.
    recorded = {"state": teacher["state_norm"], "cond": teacher["cond"], "contacts": aux["contacts"],
                "angvel": aux["angvel_norm"], "pose_hist": aux["pose_hist_norm"]}  # fmt: skip
    for name, rows in recorded.items():
        np.testing.assert_allclose(np.array(rows), inputs[name], rtol=2**-22, atol=1e-6, err_msg=name)
    poses = stored([frame["BoneRotations"] for frame in clip["Frames"]]).reshape(len(clip["Frames"]), -1)
    want = (poses[1:] - TABLE["MuY"]) / TABLE["StdY"]
    np.testing.assert_allclose(np.array(batch["teacher"]["target_norm"]), want, rtol=2**-22, atol=1e-6)
    assert (batch["num_pairs"], len(teacher["state_norm"])) == (len(want), len(want))
    assert batch["layouts"] == {"state": NORM["meta"]["state_layout"], "output": NORM["meta"]["output_layout"]}
    composed, target, held = predicted(clip)
    y_norm, y_raw = (stored(document["prediction"][key]) for key in ("y_norm", "y_raw"))
    np.testing.assert_allclose(y_raw, y_norm * TABLE["StdY"] + TABLE["MuY"], rtol=0, atol=2**-22)
    # Network outputs of torch and ONNX Runtime: 650-term float32 dot products, a residual error below 1e-6 in raw.
    assert np.radians(angle_deg(frames_of(y_raw.reshape(-1, 46, 6)), composed)).max() < 2e-6
    figures = {"GeoDeg": angle_deg(composed, target).mean(), "CopyLastGeoDeg": angle_deg(held, target).mean(),
               "MSEnormY": ((y_norm - np.array(teacher["target_norm"])) ** 2).mean()}  # fmt: skip
    assert {name: document["diagnostics"][name] for name in figures} == pytest.approx(figures, rel=1e-4)
    assert teacher["aux_inputs"] == aux
