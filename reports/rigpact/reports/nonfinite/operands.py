"""What each stage does to one channel: the operation in words, and the numbers that went into it.

To add a stage: a row in `OPERATION`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW
from rigpact.contract.statistics import FloatArray, SquashedStatistics
from rigpact.reference_runtime.systems.enemy_animation.output import ADDS_IDENTITY, ADDS_MEAN, OutputStages

Operands = dict[str, float]


@dataclass(frozen=True, eq=False)
class Moment:
    """One frame: the contract that acts, the frame number, the mode, the stages (width,) that are known."""

    contract: Contract
    frame: int
    mode: str
    stages: Mapping[str, FloatArray]

    def value(self, stage: str, channel: int) -> float:
        """One number of a stage; NaN where the stage is not known."""
        row = self.stages.get(stage)
        return float(row[channel]) if row is not None and channel < len(row) else float("nan")


@dataclass(frozen=True)
class Operation:
    """An operation in words, and its operands by name in the order in which they are used."""

    text: str
    operands: Operands


def operation_of(moment: Moment, stage: str, channel: int) -> Operation:
    """The operation that made one channel of a stage."""
    return OPERATION[stage](moment, channel)


def _x_raw(moment: Moment, _channel: int) -> Operation:
    if moment.mode == "teacher" or moment.frame == 0:
        return Operation(f"read from the clip, row {moment.frame}", {})
    return Operation("carried raw state: not what the frame before wrote", {})


def _from_clip(moment: Moment, _channel: int) -> Operation:
    return Operation(f"read from the clip, frame {moment.frame}", {})


def _state(moment: Moment, channel: int) -> Operation:
    contract, value = moment.contract, moment.value("x_raw", channel)
    statistics, place = contract.state_statistics, contract.state.slice_at(channel)
    name = place.name if place else ""
    mean, std = float(statistics.mean[channel]), float(statistics.std[channel])
    divisor = float(statistics.std_floored[channel])
    common = {f"MuX[{channel}]": mean, f"StdX[{channel}]": std, "divisor": divisor}
    scales = {
        ROOT_VELOCITY: ("tanh_scales_rootvel", contract.rootvel_scales),
        ANGULAR_VELOCITIES: ("tanh_scales_angvel", contract.angvel_scales),
    }
    if place and name in scales:
        key, values = scales[name]
        index = channel - place.start
        operands = {"x_raw": value, f"{key}[{index}]": float(values[index]), **common}
        return Operation(f"(tanh(x_raw / {key}[{index}]) - MuX[{channel}]) / StdX[{channel}]", operands)
    feature = "wrap(x_raw) / pi" if name == ROOT_YAW else "x_raw"
    return Operation(f"({feature} - MuX[{channel}]) / StdX[{channel}]", {"x_raw": value, **common})


def _auxiliary(text: str, name: str, value: float, channel: int, auxiliary: SquashedStatistics) -> Operation:
    statistics = auxiliary.statistics
    operands = {
        text: value,
        f"tanh_scales_{_SCALE[name]}[{channel}]": float(auxiliary.scale[channel]),
        f"Mu{name}[{channel}]": float(statistics.mean[channel]),
        f"Std{name}[{channel}]": float(statistics.std[channel]),
        "divisor": float(statistics.std_floored[channel]),
    }
    words = f"(tanh({text} / tanh_scales_{_SCALE[name]}[{channel}]) - Mu{name}[{channel}]) / Std{name}[{channel}]"
    return Operation(words, operands)


_SCALE = {"PoseHist": "pose_hist", "AngVel": "angvel"}


def _angvel(moment: Moment, channel: int) -> Operation:
    contract = moment.contract
    place = contract.state[ANGULAR_VELOCITIES]
    if contract.angular_velocity is None or contract.conventions.angvel_source == "state_slice":
        value = moment.value("state", place.start + channel)
        return Operation(f"copy of state[{place.start + channel}]", {"state": value})
    value = moment.value("x_raw", place.start + channel)
    if contract.conventions.angvel_source == "rotations":
        return _auxiliary("log(R_next R_prev^T) fps", "AngVel", float("nan"), channel, contract.angular_velocity)
    return _auxiliary("x_raw", "AngVel", value, channel, contract.angular_velocity)


def _pose_hist_raw(moment: Moment, channel: int) -> Operation:
    slot = channel // (6 * moment.contract.bone_count)
    return Operation(f"read of history slot {slot}", {"frame": float(moment.frame)})


def _pose_hist(moment: Moment, channel: int) -> Operation:
    value = moment.value("pose_hist_raw", channel)
    if moment.contract.pose_history is None:
        return Operation("tanh(history)", {"history": value})
    return _auxiliary("history", "PoseHist", value, channel, moment.contract.pose_history)


def _cond(moment: Moment, channel: int) -> Operation:
    how = moment.contract.conventions.condition_norm
    return Operation(f"condition, {how}", {"cond_raw": moment.value("cond_raw", channel)})


def _y_norm(moment: Moment, _channel: int) -> Operation:
    largest = {
        name: float(np.max(np.abs(moment.stages[name]), initial=0.0))
        for name in moment.contract.conventions.input_order
        if name in moment.stages
    }
    return Operation("network", {f"max |{name}|": value for name, value in largest.items()})


def _y_raw(moment: Moment, channel: int) -> Operation:
    statistics, mode = moment.contract.output_statistics, moment.contract.conventions.output_mode
    rotations = OutputStages(moment.contract).rotations
    adds = ADDS_MEAN[mode] or not rotations.start <= channel < rotations.stop
    operands = {"y_norm": moment.value("y_norm", channel), f"StdY[{channel}]": float(statistics.std[channel])}
    text = f"y_norm * StdY[{channel}]"
    if adds:
        operands[f"MuY[{channel}]"] = float(statistics.mean[channel])
        text += f" + MuY[{channel}]"
    return Operation(text, operands)


def _delta6d(moment: Moment, channel: int) -> Operation:
    bone = channel // 6
    outputs = OutputStages(moment.contract)
    row = moment.stages.get("y_raw")
    if row is None:
        return Operation("Gram-Schmidt of the rotation", {})
    identity = (
        outputs.codec.identity(moment.contract.bone_count) * ADDS_IDENTITY[moment.contract.conventions.output_mode]
    )
    a, b = outputs.codec.split(row[outputs.rotations].astype(np.float64) + identity)
    return _gram_schmidt(a[bone], b[bone])


def _gram_schmidt(a: FloatArray, b: FloatArray) -> Operation:
    """Name the division that fails, if one does: the first axis by its length, the second by what is left of it."""
    with np.errstate(all="ignore"):
        size = float(np.linalg.norm(a))
        first = a / size if size > 0.0 else np.zeros(3)
        rest = float(np.linalg.norm(b - np.dot(first, b) * first))
    text = "a / |a|" if not size > 0.0 or not np.isfinite(size) else "b_perp / |b_perp|"
    return Operation(f"Gram-Schmidt: {text}", {"|a|": size, "|b|": float(np.linalg.norm(b)), "|b_perp|": rest})


def _next6d(moment: Moment, channel: int) -> Operation:
    bone = slice(channel // 6 * 6, channel // 6 * 6 + 6)
    rows = {name: moment.stages.get(name) for name in ("delta6d",)}
    sizes = {f"|{name}|": float(np.linalg.norm(row[bone])) for name, row in rows.items() if row is not None}
    return Operation("delta R * R_prev", sizes)


def _y_out(moment: Moment, channel: int) -> Operation:
    rotations = OutputStages(moment.contract).rotations
    if not rotations.start <= channel < rotations.stop:
        return Operation("copy of y_raw", {"y_raw": moment.value("y_raw", channel)})
    row = moment.stages.get("next6d")
    if row is None:
        return Operation("Gram-Schmidt of the pose", {})
    bone = (channel - rotations.start) // 6
    a, b = OutputStages(moment.contract).codec.split(row.astype(np.float64))
    return _gram_schmidt(a[bone], b[bone])


def _quat(_moment: Moment, _channel: int) -> Operation:
    return Operation("matrix to quaternion", {})


def _x_raw_next(moment: Moment, channel: int) -> Operation:
    return Operation("write-back into the raw state", {"x_raw": moment.value("x_raw", channel)})


OPERATION: Mapping[str, Callable[[Moment, int], Operation]] = {
    "x_raw": _x_raw,
    "state": _state,
    "cond_raw": _from_clip,
    "cond": _cond,
    "contacts": _from_clip,
    "angvel": _angvel,
    "pose_hist_raw": _pose_hist_raw,
    "pose_hist": _pose_hist,
    "y_norm": _y_norm,
    "y_raw": _y_raw,
    "delta6d": _delta6d,
    "next6d": _next6d,
    "y_out": _y_out,
    "quat": _quat,
    "x_raw_next": _x_raw_next,
}
