"""Relations on recordings of the demo character that are spoilt in numpy, also of recordings whose numbers were written coarsely.

Every case spoils one stage; what is computed from it is not recorded.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, open_run, read_clip, run_frames, write_trace
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

Stages = Mapping[str, np.ndarray]
Spoil = Callable[[Stages], np.ndarray]
ROTATIONS, ANGULAR = slice(6, 282), slice(282, 420)
"""Slices of the demo's state."""
FRAMES = 16
CLIPS = {False: "Sneak_Turn", True: "Walk_Spin"}


@cache
def _run(mode="teacher", is_coarse=False):
    folder, frames = demo_bundle(), 48 if is_coarse else FRAMES
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    clip, network = (
        read_clip(folder / "clips" / f"{CLIPS[is_coarse]}.json"),
        OnnxNetwork(folder / "model.onnx", contract),
    )
    trace = run_frames(open_run(contract, network, clip, mode, engine="numpy"), range(frames), None, mode)
    return contract, trace, drive_of(clip), network


def _relations(stage, spoil, mode="teacher", written=lambda rows: rows, precision=None):
    contract, trace, drive, network = _run(mode, precision is not None)
    after = contract.system.graph.after((stage,)) - {stage}
    stages = {name: rows for name, rows in trace.stages.items() if name not in after}
    spoilt = {name: written(rows).astype(np.float32) for name, rows in {**stages, stage: spoil(stages)}.items()}
    evidence = Evidence(trace.frame, trace.header.fps, mode, spoilt, drive, network)
    found = diagnose(evidence if precision is None else replace(evidence, precision=precision), contract)
    assert (found.exit_code, found.causes, found.first_divergence.stage) == (1, (), stage)
    assert (found.verdict != "unexplained") == any(each.is_rule for each in found.relations)
    return found.relations


def _quats(stages):
    return stages["quat"].astype(np.float64).reshape(FRAMES, -1, 4)


def _product(a, b):
    ax, ay, az, aw = np.moveaxis(a, -1, 0)
    bx, by, bz, bw = np.moveaxis(b, -1, 0)
    return np.stack(
        (
            aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz,
        ),
        axis=-1,
    )  # fmt: skip


def _about(axis, degrees):
    unit = np.asarray(axis) / np.linalg.norm(axis)
    return np.append(np.sin(np.radians(degrees) / 2) * unit, np.cos(np.radians(degrees) / 2))


def _flat(rows):
    return rows.reshape(FRAMES, -1)


def _of_bone(stages, bone, change):
    quats = _quats(stages)
    quats[:, bone] = change(quats[:, bone])
    return _flat(quats)


def _of_slice(rows, place, change):
    changed = rows.astype(np.float64)
    changed[:, place] = change(changed[:, place])
    return changed


def _late(rows, frames):
    return rows[np.maximum(np.arange(len(rows)) - frames, 0)]


def _interpolated(rows, share):
    result = rows.astype(np.float64)
    for frame in range(1, len(rows)):
        result[frame] = (result[frame - 1] + share * (rows[frame] - result[frame - 1])).astype(np.float32)
    return result


def _pulled(quats):
    towards = quats + np.array((0.0, 0.0, 0.0, 0.2))
    return towards / np.linalg.norm(towards, axis=-1, keepdims=True)


def _turned_once(quats):
    return np.where(_only(7, slice(None), 4), _product(_about((0, 0, 1), 20.0), quats), quats)


def _only(frame, channels, width):
    place = np.zeros((FRAMES, width), bool)
    place[frame, channels] = True
    return place


NAMED: dict[str, tuple[str, Spoil, str]] = {
    "a turn in the bones' own axes": (
        "quat", lambda s: _flat(_product(_quats(s), _about((1, 2, 3), 37.0))),
        "in its own axes, by 37° about (0.267, 0.535, 0.802)"),
    "one hand turned": (
        "quat", lambda s: _of_bone(s, 9, lambda q: _product(_about((0, 1, 0), 90.0), q)),
        "quat of hand_l is turned by 90° about y"),
    "root position in centimetres": (
        "x_raw", lambda s: _of_slice(s["x_raw"], slice(0, 3), lambda x: 100.0 * x), "x_raw[RootPosition] is 100 times"),
    "angular velocity in degrees": (
        "x_raw", lambda s: _of_slice(s["x_raw"], ANGULAR, np.degrees), "x_raw[BoneAngularVelocities] is 180/π times"),
    "a z-score twice": ("state", lambda s: 0.5 * s["state"] - np.linspace(0.1, 0.2, 422), "as with other statistics"),
    "a rate as a step": ("angvel", lambda s: 60.0 * s["angvel"], "the frame rate, 60, times"),
    "one bone too early": ("y_raw", lambda s: np.roll(s["y_raw"], 6, axis=1), "that of the part -1 places on"),
    "an interpolation to the new answer": ("y_out", lambda s: _interpolated(s["y_out"], 0.3), "smoothed: 0.3 of the new"),
    "the root's position with y and z swapped": (
        "x_raw", lambda s: _of_slice(s["x_raw"], slice(0, 3), lambda x: x[:, [0, 2, 1]]),
        "x_raw[RootPosition] is what it should be with x, z, y in place of x, y, z"),
    "one quaternion with w first": (
        "quat", lambda s: _of_bone(s, 9, lambda q: np.roll(q, 1, axis=-1)),
        "quat of hand_l is what it should be with w, x, y, z in place of x, y, z, w"),
    "a ring read from its start": (
        "pose_hist_raw", lambda s: np.roll(s["pose_hist_raw"], 276, axis=1), "[276:828] from pose_hist_raw[0:552]"),
}  # fmt: skip
NOISE = np.random.default_rng(0)
NOTHING: dict[str, tuple[str, Spoil]] = {
    "noise on numbers": ("y_raw", lambda s: s["y_raw"] + NOISE.normal(0.0, 1e-3, s["y_raw"].shape)),
    "a gain that drifts": ("state", lambda s: s["state"] * np.linspace(1.0, 1.1, FRAMES)[:, None]),
    "a bone pulled to the identity": ("quat", lambda s: _of_bone(s, 5, _pulled)),
    "one bone turned in one frame": ("quat", lambda s: _of_bone(s, 20, _turned_once)),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMED)
def test_a_simple_relation_is_said_with_its_fit(name):
    """Without it a team knows the stage and not what to look for in it."""
    stage, spoil, words = NAMED[name]
    (relation,) = _relations(stage, spoil)
    assert words in relation.sentence
    assert relation.frames_explained >= 0.9 * relation.frames


@pytest.mark.nightly
@every_case("name", NOTHING)
def test_what_is_no_simple_relation_gets_none(name):
    """A relation that is not true sends people to the wrong line with a figure that looks like a proof."""
    assert [each.words for each in _relations(*NOTHING[name]) if each.kind not in ("glitch", "noise")] == []


def test_a_network_with_another_activation_is_said_to_have_it(tmp_path):
    """Layers written by hand take one activation for another: every answer is off, and none is out of range."""
    import onnx

    model = onnx.load(str(demo_bundle() / "model.onnx"))
    for node in model.graph.node:
        node.op_type = "Tanh" if node.op_type == "Sigmoid" else node.op_type
    onnx.save(model, str(tmp_path / "changed.onnx"))
    stages = _run()[1].stages
    network = OnnxNetwork(tmp_path / "changed.onnx", _run()[0])
    given = [stages[name] for name in ("state", "cond", "contacts", "angvel", "pose_hist")]
    (relation,) = _relations("y_norm", lambda _: network.run(given, 0))
    assert (
        relation.sentence == f"y_norm is computed with Tanh in place of Sigmoid: explains {FRAMES} of {FRAMES} frames"
    )


# --- of numbers that were written coarsely: with some decimals, or (None) in float16 ---


def _coarse(stage, spoil, decimals):
    def written(rows):
        return rows.astype(np.float16) if decimals is None else np.round(rows.astype(np.float64), decimals)

    precision = Precision(bits=11) if decimals is None else Precision(decimals=decimals)
    return [each.sentence for each in _relations(stage, spoil, written=written, precision=precision)]


def _squashed_twice(stages):
    numbers = json.loads((demo_bundle() / "norm_template.json").read_bytes())
    scale, mean, std = (np.array(numbers[f"{name}"]) for name in ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"))
    return (np.tanh(np.tanh(stages["pose_hist_raw"] / scale) / scale) - mean) / np.maximum(std, 1e-6)


def _from_float16(stages):
    names = ("state", "cond", "contacts", "angvel", "pose_hist")
    short = [stages[name].astype(np.float16).astype(np.float32) for name in names]
    return np.concatenate([_run()[3].run([rows[at : at + 1] for rows in short], 0) for at in range(48)])


SQUASHED = "tanh(pose_hist_raw / pose_history.scale): it is squashed once more than it should be"
COARSE: dict[str, tuple[str, Spoil, int | None, str]] = {
    "other statistics that move little more than the lost digits": (
        "state", lambda s: 1.002 * s["state"] + np.linspace(0.004, 0.008, 422), 4, "of its own in each channel"),
    "squashed once more, 2 decimals": ("pose_hist", _squashed_twice, 2, SQUASHED),
    "a factor before the recorder scales no lost digit": (
        "angvel", lambda s: 0.01 * s["angvel"], 4, "angvel is 1/100 times what it should be"),
    "inputs in float16 where only they fit every value": (
        "y_norm", _from_float16, 5, "y_norm is computed from inputs that were rounded to float16: explains 48 of 48 frames"),
    "late, and a small number of another frame loses few bits there": (
        "y_norm", lambda s: _late(s["y_norm"], 1), None, "y_norm is the answer of frame t-1"),
    "what several readings explain": ("y_norm", _from_float16, 4, ""),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COARSE)
def test_a_relation_is_said_through_lost_digits_where_they_can_tell_it(name):
    """The bound of the right reading must grow with what is done to a lost digit; naming one of several is a wrong line."""
    stage, spoil, decimals, words = COARSE[name]
    said = _coarse(stage, spoil, decimals)
    assert [words in sentence for sentence in said] == [True] * bool(words)


DEPLOYED, CLIP = 24, "clips/Sneak_Turn.json"
Weights = Callable[[np.ndarray], np.ndarray]


def _eight_bits(number):
    """The nearest number with eight significant bits."""
    share, exponent = math.frexp(number)
    return math.ldexp(round(share * 256.0), exponent - 8)


def _whole_steps(numbers):
    """Whole multiples of one step, of which the largest number is 127."""
    step = float(np.max(np.abs(numbers))) / 127.0
    return np.round(numbers / step) * step


QUANTISED: dict[str, tuple[Weights, str]] = {
    "float16": (lambda w: w.astype(np.float16), "rounded to float16"),
    "bfloat16": (np.vectorize(_eight_bits), "rounded to bfloat16"),
    "int8 by tensor": (lambda w: _whole_steps(w) if w.ndim > 1 else w, "quantised to int8, with one scale for each tensor"),
    "int8 by channel": (
        lambda w: np.stack([_whole_steps(row) for row in w]) if w.ndim > 1 else w,
        "quantised to int8, with one scale for each channel",
    ),
}  # fmt: skip


def _deployed(demo_bundle, folder, change):
    """The demo's model with other numbers. Its layers are Gemm with transposed weights: a row is an output."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(demo_bundle / "model.onnx"))
    for tensor in model.graph.initializer:
        changed = np.asarray(change(numpy_helper.to_array(tensor)), np.float32)
        tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, str(folder / "deployed.onnx"))
    return folder / "deployed.onnx"


def _explained(demo_bundle, folder, change, stages=(), noise=0.0):
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    network = OnnxNetwork(_deployed(demo_bundle, folder, change), contract)
    runner = open_run(contract, network, read_clip(demo_bundle / CLIP), "teacher")
    trace = run_frames(runner, range(DEPLOYED), "Sneak_Turn", "teacher")
    rows = trace.stages["y_norm"]
    trace.stages["y_norm"][:] = rows + noise * np.random.default_rng(0).standard_normal(rows.shape)
    if stages:
        trace = replace(trace, stages={name: trace.stages[name] for name in stages})
    write_trace(trace, folder / "engine.trace.safetensors")
    files = ContractFiles(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    given = EvidenceFiles(demo_bundle / CLIP, demo_bundle / "model.onnx")
    request = ExplainRequest(folder / "engine.trace.safetensors", files, given)
    return explain(request)[0]


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("int8 by channel", ()),
        *(pytest.param(name, (), marks=pytest.mark.nightly) for name in ("float16", "bfloat16", "int8 by tensor")),
        pytest.param("int8 by tensor", ("y_out",), marks=pytest.mark.nightly),
    ],
)
def test_quantised_weights_are_said_with_their_fit(demo_bundle, tmp_path, monkeypatch, name, stages):
    """Every answer is a little off, and no line of the loop is wrong: a team would search it for days.

    Other files are tried before relations are, whose search takes ten times as long.
    """
    monkeypatch.delattr("rigpact.reports.diagnosing.relations.search.find_relations")
    change, words = QUANTISED[name]
    found = _explained(demo_bundle, tmp_path, change, stages)
    stage = stages[0] if stages else "y_norm"
    fit = f"{stage} is then within its bound in {DEPLOYED} of {DEPLOYED} frames"
    assert found.supposition == f"the network's weights were {words} ({fit})"
    assert (found.verdict, found.causes) == ("explained", ())


OTHERS: dict[str, tuple[Weights, float]] = {
    "weights of another training": (lambda w: w * np.float32(1.001), 0.0),
    "int8 with steps of a power of two": (lambda w: np.round(w * 64.0) / 64.0, 0.0),
    "float16 and noise": (lambda w: w.astype(np.float16), 1e-3),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", OTHERS)
def test_other_weights_are_not_said_to_be_quantised(demo_bundle, tmp_path, name):
    """A wrong hint that it is only the precision ships a wrong network."""
    change, noise = OTHERS[name]
    found = _explained(demo_bundle, tmp_path, change, noise=noise)
    assert found.supposition is None
    assert found.verdict in ("unexplained", "partly_explained")  # of rounded weights some answers are 0 in every frame
