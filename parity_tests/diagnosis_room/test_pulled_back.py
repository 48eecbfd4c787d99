"""A mistake behind a filter, a mixer, a limit or a rotation is named where it stands, from the two ends of the loop alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy.spatial.transform import Rotation

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "drone"
title = "A drone's loop: what it sees, and what its motors get"
fps = 100
given = [
    { name = "goal", kind = "position" }, { name = "pos", kind = "position" },
    { name = "body", kind = "quaternion_xyzw" }, { name = "grip", kind = "quaternion_xyzw" },
    { name = "gyro", names = "axes" },
    { name = "rates_before", names = "axes", carried = "rates", start = "zeros" },
    { name = "motors_before", size = 4, carried = "motors", start = "zeros" },
]
stages = [
    { name = "apart", operation = "blend", of = ["goal", "pos"], weights = [1, -1] },
    { name = "near", operation = "clip", of = "apart", lowest = -1, highest = 1 },
    { name = "local", operation = "rotate", of = ["body", "near"], direction = "inverse" },
    { name = "turn", operation = "compose", of = ["grip", "body"], product = "inverse_of_second" },
    { name = "rates", operation = "blend", of = ["rates_before", "gyro"], weights = [0.6, 0.4] },
    { name = "rates_obs", operation = "affine", of = "rates", scale = 0.25 },
    { name = "obs", operation = "concatenate", of = ["local", "turn", "rates_obs"] },
    { name = "scaled", operation = "normalise", of = "obs", mean = 0.1, std = 0.5 },
    { name = "seen", operation = "clip", of = "scaled", lowest = -3, highest = 3 },
    { name = "answer", operation = "network", names = "command" },
    { name = "torque", operation = "affine", of = "answer", scale = "gains" },
    { name = "mixed", operation = "linear_map", of = "torque", matrix = "mixer", size = 4 },
    { name = "limited", operation = "clip", of = "mixed", lowest = -0.9, highest = 0.9 },
    { name = "motors", operation = "blend", of = ["motors_before", "limited"], weights = [0.8, 0.2] },
    { name = "pulses", operation = "affine", of = "motors", scale = 500, offset = 1500 },
]
[names]
axes = ["roll", "pitch", "yaw"]
command = ["thrust", "roll", "pitch", "yaw"]
[numbers]
mixer = [[0.3, -1, -1, -1], [0.3, -1, 1, 1], [0.3, 1, 1, -1], [0.3, 1, -1, 1]]
[numbers.gains]
names = "command"
value = [0.8, 0.5, 0.6, 0.3]
[networks.policy]
file = "policy.onnx"
inputs = ["seen"]
outputs = ["answer"]
"""
FRAMES = 160
Given = dict[str, FloatArray]
Edits = dict[str, Callable[[Any, Given], Any]]
"""What is done to a vector of the loop, by its name, (T, W)."""
WEIGHTS = np.random.default_rng(5).normal(0.0, 0.6, (10, 4)).astype(np.float32)


def _given() -> Given:
    time, rng = np.arange(FRAMES)[:, None] / 100.0, np.random.default_rng(11)

    def waves(width: int, size: float) -> FloatArray:
        phases = time * rng.uniform(2.0, 7.0, (1, width)) + rng.uniform(0.0, 6.0, (1, width))
        return np.asarray((size * np.sin(phases)).astype(np.float32))

    given = {"goal": waves(3, 0.9), "pos": waves(3, 0.8), "gyro": waves(3, 2.0)}
    return {**given, **{name: _unit(waves(4, 1.0)) for name in ("body", "grip")}}


def _unit(quats: FloatArray) -> FloatArray:
    return np.asarray(Rotation.from_quat(quats).as_quat().astype(np.float32))


def _filtered(rows: FloatArray, kept: float) -> FloatArray:
    """Each row made of the one before, zeros before the first."""
    found, before = np.empty_like(rows), np.zeros(rows.shape[1])
    for frame, new in enumerate(rows):
        found[frame] = before = kept * before + (1.0 - kept) * new
    return found


def _loop(edits: Edits) -> Given:
    """The loop in numpy and scipy, with edits."""
    given = _given()
    known = {name: rows.astype(float) for name, rows in given.items()}

    def put(name: str, rows: FloatArray) -> FloatArray:
        known[name] = np.asarray(edits.get(name, lambda own, _known: own)(rows, known))
        return known[name]

    near = put("near", np.clip(put("apart", known["goal"] - put("late", known["pos"])), -1.0, 1.0))
    body, grip = Rotation.from_quat(known["body"]), Rotation.from_quat(known["grip"])
    local, turn = put("local", body.inv().apply(near)), put("turn", _product(grip, body))
    rates = put("rates", _filtered(put("gyro_read", known["gyro"]), 0.6))
    obs = np.hstack([local, turn, put("rates_obs", 0.25 * rates)])
    seen = np.clip((obs - 0.1) / 0.5, -3.0, 3.0).astype(np.float32)
    answer = np.tanh(seen @ WEIGHTS)
    torque = put("torque", answer * put("gains", np.array([0.8, 0.5, 0.6, 0.3])))
    mixer = put("mixer", np.array([[0.3, -1, -1, -1], [0.3, -1, 1, 1], [0.3, 1, 1, -1], [0.3, 1, -1, 1]]))
    motors = _filtered(put("limited", np.clip(put("mixed", torque @ mixer.T), -0.9, 0.9)), 0.8)
    return {**given, "turn": turn, "seen": seen, "answer": answer, "pulses": 1500.0 + 500.0 * motors}


def _product(one: Rotation, other: Rotation) -> FloatArray:
    """one · other⁻¹ as the product of their numbers: its sign is that of the product, whatever it is."""
    (x, y, z, w), (a, b, c, d) = one.as_quat().T, (other.as_quat() * (-1.0, -1.0, -1.0, 1.0)).T
    vector = w * np.array([a, b, c]) + d * np.array([x, y, z]) + np.array([y * c - z * b, z * a - x * c, x * b - y * a])
    return np.vstack([vector, w * d - x * a - y * b - z * c]).T


def _explained(folder: Path, edits: Edits, *also: str) -> Diagnosis:
    """Recorded are what is given, what the network sees and answers, the pulses of the motors, and some vectors more."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["seen", "w"], ["h"]), helper.make_node("Tanh", ["h"], ["answer"])], "policy",
        [helper.make_tensor_value_info("seen", TensorProto.FLOAT, [1, 10])],
        [helper.make_tensor_value_info("answer", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(WEIGHTS, "w")],
    )  # fmt: skip
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "policy.onnx"
    )
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    run = _loop(edits)
    names = [*_given(), "seen", "answer", "pulses", *also]
    np.savez(folder / "run.npz", **{name: run[name].astype(np.float32) for name in names})
    request = ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml"), mode="free")
    return explain(request)[0]


def _w_above_0(turn: FloatArray, _known: Given) -> FloatArray:
    return np.where(turn[:, 3:] < 0.0, -turn, turn)


def _shortened(_near: FloatArray, known: Given) -> FloatArray:
    apart = known["apart"]
    return np.asarray(apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1.0))


EDITS: dict[str, tuple[Edits, str, str]] = {
    "the sign of a sensor, behind a filter": (
        {"gyro_read": lambda gyro, _: gyro * [1.0, -1.0, 1.0]}, "rates", "-1 times gyro at pitch",
    ),
    "two gains exchanged, behind a mixer and a filter": (
        {"gains": lambda gains, _: gains[[0, 1, 3, 2]]}, "motors", "exchanged",
    ),
    "a column of the mixer": (
        {"mixer": lambda mixer, _: mixer * [1.0, 1.0, 1.0, -1.0]}, "motors", "gains with the opposite sign",
    ),
    "a vector left in the world": (
        {"local": lambda _, known: known["near"]}, "seen", "'local.direction': 'none'",
    ),
    "rates turned into the world": (
        {"rates_obs": lambda own, known: Rotation.from_quat(known["body"]).apply(own)},
        "scaled", "rotated by body once more than it should be at roll, pitch, yaw",
    ),
    "a limit of the length": ({"near": _shortened}, "local", "limited in its length to at most 1"),
    "a product the other way round": (
        {"turn": lambda _, known: _product(Rotation.from_quat(known["body"]).inv(), Rotation.from_quat(known["grip"]).inv())},
        "turn", "inverse body · grip in place of it",
    ),
    "a position of three frames ago": (
        {"late": lambda pos, _: pos[np.maximum(np.arange(FRAMES) - 3, 0)]}, "local", "the pos of frame t-3, from frame 0 on",
    ),
    "a quaternion with its w made positive": ({"turn": _w_above_0}, "turn", "whichever has w above 0"),
}  # fmt: skip


@every_case("case", EDITS)
def test_a_mistake_on_the_way_is_named_from_the_two_ends(tmp_path: Path, case: str) -> None:
    """Neither the filter's state, nor the torque, nor any term of the observation was recorded."""
    edits, stage, words = EDITS[case]
    found = _explained(tmp_path, edits)
    said = [(relation.stage, relation.sentence) for relation in found.relations]
    said += [(cause.stage, str(dict(cause.changes))) for cause in found.causes]
    assert (found.verdict, len(said)) == ("explained", 1), said
    assert (said[0][0], words in said[0][1]) == (stage, True), said


def test_a_right_loop_agrees(tmp_path: Path) -> None:
    """What is worked back is a help of the search: it judges nothing."""
    assert _explained(tmp_path, {}).verdict == "agrees"


def test_a_quaternion_that_a_network_reads_has_a_sign(tmp_path: Path) -> None:
    """As a rotation q is -q: where its four numbers come to a network, the answers are others."""
    found = _explained(tmp_path, {"turn": _w_above_0}, "turn")
    assert found.verdict == "explained"
    assert [relation.stage for relation in found.relations] == ["turn"]


def test_two_mistakes_at_two_ends_are_both_said(tmp_path: Path) -> None:
    """What one end tells of a state must not hide what is wrong at the other."""
    found = _explained(tmp_path, {**EDITS["rates turned into the world"][0], **EDITS["a column of the mixer"][0]})
    assert (found.verdict, {relation.stage for relation in found.relations}) == ("explained", {"scaled", "motors"})


@every_case("factor", [6.0, 4.0])
def test_a_claim_holds_behind_a_limit_too(tmp_path: Path, factor: float) -> None:
    """Six times the rates, or their scale left out, explains all that a limit lets pass, and its wrong side not."""
    wrong = {"rates_obs": lambda own, _: np.where(np.abs(factor * own) < 1.4, factor * own, -3.0)}
    found = _explained(tmp_path, wrong)
    assert found.verdict != "explained", [relation.sentence for relation in found.relations]
    right = _explained(tmp_path, {"rates_obs": lambda own, _: factor * own})
    assert (right.verdict, len(right.relations) + len(right.causes)) == ("explained", 1)
