"""The training side and the demo bundle: builds, the exported graph, statistics and inputs in plain Python floats."""

import json
import math
import statistics as plain
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

pytest.importorskip("torch", reason="the extra [training] is not installed")

import torch

from rigpact.fixtures import demo_bundle, generate_clip
from rigpact.fixtures.clip_format import write_document
from rigpact.fixtures.course import HELD_OUT_STYLES, TRAINING_STYLES
from rigpact.fixtures.mutants import bone_orders, input_orders
from rigpact.reference_runtime import read_trace
from rigpact.training.enemy_animation import BUNDLE_CLIPS, FPS, build_bundle, full_plan, generate_clips, small_plan
from rigpact.training.enemy_network import INPUT_NAMES, MotionModel, export_model
from rigpact.training.enemy_statistics import FittedStatistics, clip_arrays, fit_statistics, network_inputs, wrap_yaw

WIDTHS = {"state": 30, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}
FLOOR = 1e-3
CLIPS = {name: generate_clip(name, seed, frames) for name, seed, frames in (("idle", 1, 5), ("spin_past_pi", 2, 14),
                                                                           ("hop", 3, 10))}  # fmt: skip
ROWS = {name: clip["Frames"] for name, clip in CLIPS.items()}


def test_a_build_writes_whole_files_of_its_seed(tmp_path: Path) -> None:
    """A half-written JSON loads as a parse error on someone else's machine; a build is known by its seed."""
    made = tmp_path / "made" / "here"
    build_bundle(made, replace(small_plan(seed=3), frames=8, steps=2))
    files = {path.relative_to(made).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    recording, clip = read_trace(made / "engine" / "Sneak_Turn.trace.bin"), json.loads(files["clips/Sneak_Turn.json"])
    assert len(recording.frame) == len(clip["Frames"]) - 1  # the last frame has no next one
    assert {"norm_template.json", "pretrain_template.json", "model.onnx", "clips/Run_F.json"} <= set(files)
    texts = {name: data for name, data in files.items() if name.endswith(".json")}
    assert [name for name, data in texts.items() if b"\r" in data or not data.endswith(b"\n")] == []
    assert [name for name in files if name.endswith(".part")] == []


@pytest.mark.nightly
def test_two_builds_of_one_seed_have_the_same_bytes_and_another_seed_has_others(tmp_path: Path) -> None:
    """A bundle that differs on every build makes every regression comparison a false alarm."""
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        build_bundle(tmp_path / name, replace(small_plan(seed), frames=8, steps=2))
    a, b, c = (
        {path.relative_to(tmp_path / each): path.read_bytes() for path in (tmp_path / each).rglob("*.*")}
        for each in "abc"
    )
    assert (a == b, a[Path("model.onnx")] == c[Path("model.onnx")]) == (True, False)


def test_the_graph_equals_torch_at_any_batch_size_and_clamps() -> None:
    """A batch axis frozen at trace time broadcasts one pose to all; without the clamp one broken statistic throws it away."""
    torch.manual_seed(0)
    model: Any = MotionModel(WIDTHS, output_width=18, hidden=16)
    model.eval()
    session = onnxruntime.InferenceSession(export_model(model), providers=["CPUExecutionProvider"])
    for batch in (1, 2, 17):
        draw = np.random.default_rng(batch)
        # Beyond 16 the graph clamps state and condition; the other three inputs pass.
        inputs = {name: (12.0 * draw.standard_normal((batch, WIDTHS[name]))).astype(np.float32) for name in INPUT_NAMES}
        (got,) = session.run(None, inputs)
        with torch.no_grad():
            want = model(*(torch.from_numpy(inputs[name]) for name in INPUT_NAMES)).numpy()
        # Dot products of at most 98 terms: float32 error below 98 * 2^-24 times the sum of |weight * value|, three layers.
        np.testing.assert_allclose(got, want, rtol=0, atol=98 * 2.0**-24 * 40.0 * max(1.0, float(np.abs(want).max())))
    zeros = {name: np.zeros((1, WIDTHS[name]), np.float32) for name in INPUT_NAMES}
    for name in ("state", "cond"):
        full = [np.full((1, WIDTHS[name]), value, np.float32) for value in (16.0, 1e6, 15.0)]
        limit, beyond, below = (session.run(None, {**zeros, name: values})[0] for values in full)
        np.testing.assert_array_equal(limit, beyond)
        assert np.any(limit != below)


def test_importing_the_package_does_not_import_torch() -> None:
    """Torch takes seconds and is optional: a command that needs no training must not need it."""
    code = "import sys, rigpact.fixtures; sys.exit('torch' in sys.modules or 'onnxruntime' in sys.modules)"
    root = Path(sys.modules["rigpact.fixtures"].__file__ or "").resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.fixture(scope="module")
def fitted() -> FittedStatistics:
    return fit_statistics([clip_arrays(clip) for clip in CLIPS.values()])


def f32(value: float) -> float:
    return float(np.float32(value))


def flat(rows: list[list[float]]) -> list[float]:
    return [f32(x) for row in rows for x in row]


def quantile(values: list[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    ordered, place = sorted(values), q * (len(values) - 1)
    low = math.floor(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def scales(rows: list[list[float]]) -> list[float]:
    return [f32(max(quantile([abs(x) for x in column], 0.99), 0.05)) for column in zip(*rows, strict=True)]


def squash(values: list[float], by: list[float]) -> list[float]:
    return [math.tanh(x / s) for x, s in zip(values, by, strict=True)]


def raw_state(frame: dict[str, Any]) -> list[float]:
    head = [*frame["RootPosition"], *frame["RootVelocityXY"], frame["RootYaw"]]
    contacts = [frame["FootEvidence"][side]["soft_contact_score"] for side in "LR"]
    return flat([head, *frame["BoneRotations"], *frame["BoneAngularVelocities"], contacts])


def squashed(raw: list[float], rootvel: list[float], angvel: list[float]) -> list[float]:
    """Yaw over pi, tanh on the two velocities, everything else as it is; offsets counted by hand."""
    yaw = math.atan2(math.sin(raw[5]), math.cos(raw[5])) / math.pi
    return [*raw[:3], *squash(raw[3:5], rootvel), yaw, *raw[6:282], *squash(raw[282:420], angvel), *raw[420:]]


def history(frames: list[dict[str, Any]], k: int) -> list[float]:
    return [x for back in (2, 1, 0) for x in flat(frames[max(k - back, 0)]["BoneRotations"])]


def assert_affine(found: Any, rows: list[list[float]]) -> None:
    columns = list(zip(*rows, strict=True))
    # The stored values are rounded to float32 once; sums of a few dozen doubles add nothing visible to that.
    np.testing.assert_allclose(found.mu, [plain.fmean(column) for column in columns], rtol=2**-23, atol=1e-15)
    np.testing.assert_allclose(found.std, [max(plain.pstdev(column), FLOOR) for column in columns], rtol=2**-23)


def test_statistics_of_every_vector(fitted: FittedStatistics) -> None:
    """Off by one frame, fitted before the squash or to resting clips: they whiten every input wrongly, for ever."""
    states = [raw_state(frame) for frames in ROWS.values() for frame in frames[:-1]]
    rootvel, angvel = scales([row[3:5] for row in states]), scales([row[282:420] for row in states])
    assert fitted.scale_root_velocity.tolist() == rootvel
    np.testing.assert_allclose(fitted.scale_angular_velocity, angvel, rtol=2**-23)
    assert_affine(fitted.x, [squashed(row, rootvel, angvel) for row in states])
    assert_affine(fitted.y, [flat(frame["BoneRotations"]) for frames in ROWS.values() for frame in frames[1:]])
    moving = [ROWS["spin_past_pi"], ROWS["hop"]]  # were these the bundle's, exchanged tables would go unnoticed
    spins = [flat(frame["BoneAngularVelocities"]) for frames in moving for frame in frames[:-1]]
    assert_affine(fitted.angular_velocity, [squash(row, fitted.scale_angular_velocity.tolist()) for row in spins])
    poses = [history(frames, k) for frames in moving for k in range(len(frames) - 1)]
    np.testing.assert_allclose(fitted.scale_pose_history, scales(poses), rtol=2**-23)
    assert_affine(fitted.pose_history, [squash(row, fitted.scale_pose_history.tolist()) for row in poses])
    for part in (fitted.x, fitted.y, fitted.angular_velocity, fitted.pose_history):
        assert part.std.min() >= np.float32(FLOOR)  # below it one float32 step is a tenth of a z


def assert_row(got: np.ndarray, values: list[float], by: Any) -> None:
    want = [(v - float(m)) / max(float(s), 1e-6) for v, m, s in zip(values, by.mu, by.std, strict=True)]
    # Computed in float64 on both sides (errors near 1e-16 / 1e-3), then rounded to float32 once.
    np.testing.assert_allclose(got, want, rtol=2**-23, atol=1e-12)


@pytest.mark.parametrize("name", CLIPS)
def test_input_rows(name: str, fitted: FittedStatistics) -> None:
    """Each of the five inputs from the raw clip: a shifted frame or a stale pose trains the wrong character."""
    frames, inputs = ROWS[name], network_inputs(clip_arrays(CLIPS[name]), fitted)
    rootvel, angvel = fitted.scale_root_velocity.tolist(), fitted.scale_angular_velocity.tolist()
    assert inputs["state"].shape == (len(frames) - 1, 422)
    for k, frame in enumerate(frames[:-1]):
        assert_row(inputs["state"][k], squashed(raw_state(frame), rootvel, angvel), fitted.x)
        assert_row(inputs["angvel"][k], squash(flat(frame["BoneAngularVelocities"]), angvel), fitted.angular_velocity)
        poses = squash(history(frames, k), fitted.scale_pose_history.tolist())
        assert_row(inputs["pose_hist"][k], poses, fitted.pose_history)
        assert inputs["contacts"][k].tolist() == [f32(frame["FootEvidence"][s]["soft_contact_score"]) for s in "LR"]
        x, y = (f32(v) for v in frame["RootVelocityXY"])
        speed = math.hypot(x, y)
        direction = [x / speed, y / speed] if speed >= 1e-3 else [0.0, 0.0]
        assert inputs["cond"][k].tolist() == pytest.approx([*frame["ActionBits"], *direction, speed], rel=2**-23)


@pytest.mark.parametrize(
    ("yaw", "expected"),
    [(0.5, 0.5), (4.0, 4.0 - 2 * math.pi), (-4.0, 2 * math.pi - 4.0), (math.pi, math.pi), (-math.pi, math.pi)],
)
def test_yaw_wraps_and_minus_pi_becomes_pi(yaw: float, expected: float) -> None:
    """At the seam one side says -1 and the other +1: the whole state flips sign for a frame."""
    assert float(wrap_yaw(yaw)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("value", [float("nan"), np.float32("inf"), np.array([0.0, np.nan]), [[1.0, float("-inf")]]])
def test_a_number_that_is_not_finite_is_never_written(value: object, tmp_path: Path) -> None:
    """Written as null it reads back as a missing value; numpy's numbers are written as they are."""
    with pytest.raises(ValueError, match="/a/b"):
        write_document(tmp_path / "a.json", {"a": {"b": value}})
    assert not (tmp_path / "a.json").exists()
    write_document(tmp_path / "a.json", {"b": np.float32(0.5)})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"b": 0.5}


def test_orders_are_only_those_that_can_be() -> None:
    """A planted order that is the right one is noticed by nobody, and would count against the gate."""
    assert list(input_orders(("a", "b"))) == [("b", "a")]
    assert set(input_orders(tuple("abc"))) == {tuple("bac"), tuple("cba"), tuple("acb"), tuple("bca")}
    assert list(bone_orders(3)) == []
    orders = list(bone_orders(8))
    assert len(orders) > 3
    assert [order for order in orders if sorted(order) != list(range(8)) or list(order) == list(range(8))] == []


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
    from rigpact.fixtures.clip_format import plain_document
    from rigpact.fixtures.skeleton import demo_skeleton
    from rigpact.training.enemy_statistics import fit_statistics, norm_template, pretrain_template

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
