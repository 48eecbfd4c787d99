"""An engine that follows the specification, in plain float32 numpy, written without rigpact's runtime.

Teacher-driven by a raw clip. It differs from the reference in everything that is free: float32 throughout, rotations kept
as quaternions, sums in another order.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

Array = NDArray[Any]
F = np.float32
INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")


def backwards(x: Array, weight: Array, bias: Array) -> Array:
    """x Wᵀ + b in float32, summed from the last input to the first, the bias first."""
    total = np.tile(bias.astype(F), (len(x), 1))
    for place in range(x.shape[1] - 1, -1, -1):
        total += x[:, place : place + 1] * weight[:, place]
    return total


class Engine:
    """Bundle and companion as the engine reads them."""

    def __init__(self, bundle: Path, companion: Path, network: Callable[[list[Array]], Array]) -> None:
        """network: the five inputs, (N, width) each, to the answer."""
        own, auxiliary = (json.loads(path.read_text()) for path in (bundle, companion))
        self.state, self.network = own["meta"]["state_layout"], network
        self.numbers = {
            name: np.asarray(values, F)
            for name, values in (auxiliary | own).items()
            if isinstance(values, list) and values and isinstance(values[0], int | float)
        }
        for name in ("MuPoseHist", "StdPoseHist", "tanh_scales_pose_hist"):
            self.numbers[name] = np.asarray(auxiliary[name], F)
        self.length = auxiliary["pose_hist_len"]

    def run(self, clip: Path) -> dict[str, Array]:
        """Every stage of each frame but the last, (T, width)."""
        frames = json.loads(clip.read_text())["Frames"]
        raw = self._raw(frames)
        steps, place = len(raw) - 1, self._place("BoneRotations6D")
        found = {"x_raw": raw[:steps], "state": self._zscored(raw[:steps])}
        found["cond"] = np.stack([_condition(frame) for frame in frames[:steps]])
        found["contacts"] = np.array([_contacts(frame) for frame in frames[:steps]], F)
        found["angvel"] = found["state"][:, self._place("BoneAngularVelocities")]
        kept = to_six(turned(to_quaternion(to_matrix(raw[:, place]))))
        past = [np.maximum(np.arange(steps) - lag, 0) for lag in range(self.length - 1, -1, -1)]
        found["pose_hist_raw"] = np.concatenate([kept[rows] for rows in past], axis=1)
        squashed = np.tanh(found["pose_hist_raw"] / np.maximum(np.abs(self.numbers["tanh_scales_pose_hist"]), F(1e-6)))
        std = np.maximum(np.abs(self.numbers["StdPoseHist"]), F(1e-6))
        found["pose_hist"] = (squashed - self.numbers["MuPoseHist"]) / std
        found["y_norm"] = self.network([found[name] for name in INPUTS])
        return found | self.published(found["y_norm"], raw[:steps, place])

    def published(self, y_norm: Array, before: Array) -> dict[str, Array]:
        """The stages behind the network, `delta` mode."""
        y_raw = y_norm * self.numbers["StdY"] + self.numbers["MuY"]
        delta = to_matrix(y_raw)
        following = delta @ to_matrix(before)
        next6d = to_six(following)
        return {"y_raw": y_raw, "delta6d": to_six(delta), "next6d": next6d, "y_out": to_six(to_matrix(next6d))}

    def _place(self, name: str) -> slice:
        entry = self.state[name]
        return slice(entry["start"], entry["start"] + entry["size"])

    def _raw(self, frames: list[Mapping[str, Any]]) -> Array:
        keys = ("RootPosition", "RootVelocityXY", "RootYaw", "BoneRotations", "BoneAngularVelocities")
        rows = [np.concatenate([np.ravel(frame[key]) for key in keys]) for frame in frames]
        touching = [_contacts(frame) if "Contacts" in self.state else [] for frame in frames]
        return np.hstack([np.array(rows), np.array(touching)]).astype(F)

    def _zscored(self, raw: Array) -> Array:
        value, pi = raw.copy(), F(np.pi)
        yaw = self._place("RootYaw")
        turns = np.where(raw[:, yaw] > pi, F(-2), np.where(raw[:, yaw] < -pi, F(2), F(0)))
        value[:, yaw] = (raw[:, yaw] + turns * pi) / pi
        for name, scale in (("RootVelocity", "tanh_scales_rootvel"), ("BoneAngularVelocities", "tanh_scales_angvel")):
            place = self._place(name)
            value[:, place] = np.tanh(raw[:, place] / np.maximum(np.abs(self.numbers[scale]), F(1e-3)))
        return (value - self.numbers["MuX"]) / np.maximum(np.abs(self.numbers["StdX"]), F(1e-6))


def _contacts(frame: Mapping[str, Any]) -> list[float]:
    return [frame["FootEvidence"][side]["soft_contact_score"] for side in "LR"]


def _condition(frame: Mapping[str, Any]) -> Array:
    way = np.array(frame["TrajectoryDir"][len(frame["TrajectoryDir"]) // 2], F)
    size = np.sqrt(way @ way)
    speed = np.sqrt(np.sum(np.array(frame["RootVelocityXY"], F) ** 2))
    return np.concatenate([np.array(frame["ActionBits"], F), way / size if size > 0 else way, [speed]]).astype(F)


def _unit(vectors: Array) -> Array:
    return vectors / np.sqrt(np.sum(vectors * vectors, axis=-1, keepdims=True))


def to_matrix(six: Array) -> Array:
    """(N, 6·B) columns X and Z to (N, B, 3, 3)."""
    columns = six.reshape(len(six), -1, 2, 3)
    x = _unit(columns[:, :, 0])
    z = columns[:, :, 1]
    z = _unit(z - np.sum(x * z, axis=-1, keepdims=True) * x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def to_six(matrix: Array) -> Array:
    return np.concatenate([matrix[..., 0], matrix[..., 2]], axis=-1).reshape(len(matrix), -1)


def to_quaternion(matrix: Array) -> Array:
    """xyzw of (N, B, 3, 3): by Shepperd's choice of the largest component."""
    m = matrix
    trace = np.trace(m, axis1=-2, axis2=-1)
    four = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
    largest, quaternion = four.argmax(axis=-1), np.empty((*m.shape[:-2], 4), F)
    for choice in range(4):
        rows = m[largest == choice]
        i, j, k = choice % 3, (choice + 1) % 3, (choice + 2) % 3
        found = np.empty((len(rows), 4), F)
        if choice == 3:
            w = np.sqrt(F(1) + rows[:, 0, 0] + rows[:, 1, 1] + rows[:, 2, 2]) / F(2)
            found[:, 3] = w
            for axis in range(3):
                b, c = (axis + 1) % 3, (axis + 2) % 3
                found[:, axis] = (rows[:, c, b] - rows[:, b, c]) / (F(4) * w)
        else:
            size = np.sqrt(F(1) + rows[:, i, i] - rows[:, j, j] - rows[:, k, k]) / F(2)
            found[:, i], found[:, 3] = size, (rows[:, k, j] - rows[:, j, k]) / (F(4) * size)
            found[:, j] = (rows[:, i, j] + rows[:, j, i]) / (F(4) * size)
            found[:, k] = (rows[:, i, k] + rows[:, k, i]) / (F(4) * size)
        quaternion[largest == choice] = found
    return _unit(quaternion)


def turned(quaternion: Array) -> Array:
    """Matrices of quaternions xyzw."""
    x, y, z, w = (quaternion[..., place] for place in range(4))
    one, two = F(1), F(2)
    rows = [
        [one - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w)],
        [two * (x * y + z * w), one - two * (x * x + z * z), two * (y * z - x * w)],
        [two * (x * z - y * w), two * (y * z + x * w), one - two * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def recorded(stages: Mapping[str, Array], fps: float = 60.0) -> Trace:
    """A teacher-driven trace of these stages."""
    frame = np.arange(len(next(iter(stages.values()))))
    header = TraceHeader(fps, "teacher", producer="an engine")
    return Trace(header, frame, frame / fps, {name: rows.astype(F) for name, rows in stages.items()})
