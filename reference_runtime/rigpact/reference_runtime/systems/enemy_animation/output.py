"""From the network's output to the published pose: denormalise, reproject, compose, encode, publish.

Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition and `FPoseMailbox`. `OutputStages` is built once from a
contract; each stage is then a pure function of the stages before it. The rotation stages are in pose_plan.py. To
add a value of a knob: a row in its table, here or in bound_rotations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.reference_runtime.operations.bound_rotations import COMPOSE, DIRECTION
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW
from rigpact.reference_runtime.operations.definitions.scaling import MEANS, STDS, zscored
from rigpact.reference_runtime.operations.lanes import blocks, pour
from rigpact.reference_runtime.operations.normalisation import SQUASH, YAW
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.pose_plan import PoseConventions, PosePlan, PoseStep

Affine = tuple[FloatArray, FloatArray]
"""Factor and summand: y_raw = y_norm · factor + summand."""

DENORM: Mapping[str, Callable[[Statistics, Statistics], Affine]] = {
    "std_and_mean": lambda own, _state: (own.std, own.mean),
    "std_only": lambda own, _state: (own.std, MEANS["none"](own.mean)),
    "mean_only": lambda own, _state: (STDS["none"](own.std), own.mean),
    "variance": lambda own, _state: (STDS["variance"](own.std.astype(np.float64)), own.mean),
    "state_stats": lambda _own, state: (state.std, state.mean),
}
ADDS_MEAN: Mapping[str, bool] = {"delta": True, "residual": False, "absolute": True}
"""Whether MuY is added to the rotations. MuY is a mean pose, so it must not be added to a residual."""
ADDS_IDENTITY: Mapping[str, bool] = {"delta": False, "residual": True, "absolute": False}
REPROJECTS: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "before": (True, False),
    "after": (False, True),
    "none": (False, False),
}
MIRROR: Mapping[str, tuple[float, float, float] | None] = {
    "none": None,
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
}

_PLANS_KEPT = 4


class OutputRun(NamedTuple):
    """The stages of R frames: y_raw and y_out (R, Dy); delta and next are lanes (2, 3, R, B), see `PosePlan`."""

    y_raw: FloatArray
    delta: FloatArray
    next: FloatArray
    y_out: FloatArray

    def kept(self) -> OutputRun:
        """A copy that the next run does not overwrite."""
        return self._replace(delta=self.delta.copy(), next=self.next.copy())


class OutputStages:
    """The stages after the network, under one contract. float32 in, float32 out, leading axes broadcast.

    `run` computes all stages of R frames; a call runs an array of any size, block by block. A method with the name of a
    stage runs one step of the same plan on recorded inputs. All methods share buffers: only one thread at a time may
    use an object.
    """

    codec_type: type[Rot6d] = Rot6d

    def __init__(self, contract: Contract) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self.codec = self.codec_type(conventions)
        self._proper_codec = Rot6d(conventions.replaced({"derived_axis": "second_cross_first"}))
        self.rotations = contract.output[ROTATIONS].range
        self._bones = contract.bone_count
        self._denormalise = Denormalisation(contract)
        self._own = _pose_conventions(contract, self.codec)
        self._components = FROM_XYZW[conventions.quaternion_order]
        self._plans: dict[int, PosePlan] = {}
        self._looked_back = False

    def identity_pose(self) -> FloatArray:
        """The published rotations before the first frame: no rotation, (6·B,)."""
        return stored(self.codec.identity(self._bones))

    @QUIETLY
    def __call__(self, y_norm: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """Every output stage by name, in loop order; delta6d only where there is a delta."""
        leading = y_norm.shape[:-1]
        poses = (np.broadcast_to(pose, (*leading, 6 * self._bones)) for pose in (previous6d, published6d))
        rows, previous, published = (flat.reshape(-1, flat.shape[-1]) for flat in (y_norm, *poses))
        runs = [self.run(rows[b], previous[b], published[b]).kept() for b in blocks(len(rows), self._bones)]
        stages = {name: values.reshape(*leading, -1) for name, values in self.stages_of_kept(runs).items()}
        return {"y_norm": y_norm, **stages}

    def run(self, y_norm: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> OutputRun:
        """All stages of R frames at once; (R, Dy), (R, 6·B), (R, 6·B).

        The next run overwrites `delta` and `next` of the answer. The caller turns off numpy's warnings: numbers that
        are not finite pass on, and the rules find them.
        """
        y_raw = self._denormalise(y_norm)
        plan = self._plan(len(y_norm))
        plan.run(y_raw[:, self.rotations], previous6d, published6d)
        y_out = y_raw.copy()
        pour(plan.out, self.codec.lanes(y_out[:, self.rotations]))
        return OutputRun(y_raw, plan.delta, plan.next, y_out)

    def stages_of(self, run: OutputRun) -> dict[str, FloatArray]:
        """Every stage of the latest run of R frames by name, from y_raw on; (R, width), as new arrays."""
        return self.stages_of_kept([run])

    def stages_of_kept(self, runs: Sequence[OutputRun]) -> dict[str, FloatArray]:
        """The stages of consecutive runs, (frames of all runs, width). No stage depends on `quat`: it is computed here."""
        y_raw, y_out = (np.concatenate(rows) for rows in ([run.y_raw for run in runs], [run.y_out for run in runs]))
        delta = {} if self._own.is_pose else {"delta6d": self._flat([run.delta for run in runs])}
        next6d = self._flat([run.next for run in runs])
        return {"y_raw": y_raw, **delta, "next6d": next6d, "y_out": y_out, "quat": self.quat(y_out)}

    def _flat(self, lanes: Sequence[FloatArray]) -> FloatArray:
        """Lanes of consecutive frames, each (2, 3, R, B), as one (·, 6·B)."""
        joined = np.concatenate(lanes, axis=2)
        result = np.empty((joined.shape[2], 6 * self._bones), np.float32)
        pour(joined, self.codec.lanes(result))
        return result

    @QUIETLY
    def y_raw(self, y_norm: FloatArray) -> FloatArray:
        """`DenormY_Z_To_Raw`: y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features."""
        return self._denormalise(y_norm)

    def y_norm_of(self, y_raw: FloatArray) -> FloatArray:
        """The network output of a y_raw, float64; 0 on channels without spread."""
        return self._denormalise.undo(y_raw)

    def delta6d(self, y_raw: FloatArray, published6d: FloatArray) -> FloatArray | None:
        """ΔR of each bone, (..., 6·B), orthonormalised; None if the output is the pose itself.

        A lost axis becomes a coordinate axis, as in every decode path of the engine. published6d: (..., 6·B), the pose
        published one frame before, for conventions that take a lost axis from it.
        """
        return None if self._own.is_pose else self._step(PosePlan.turn, y_raw[..., self.rotations], published6d)

    def next6d(self, y_raw: FloatArray, delta6d: FloatArray | None, previous6d: FloatArray) -> FloatArray:
        """R_next = ΔR · R_prev, encoded; previous6d (..., 6·B) is the raw state's rotation slice."""
        return y_raw[..., self.rotations] if delta6d is None else self.compose(delta6d, previous6d)

    def compose(self, delta6d: FloatArray, previous6d: FloatArray) -> FloatArray:
        """ΔR · R_prev, encoded, both (..., 6·B); ΔR is used unchanged if the conventions do not reproject it."""
        return self._step(PosePlan.compose, delta6d, previous6d)

    def y_out(self, y_raw: FloatArray, next6d: FloatArray, published6d: FloatArray) -> FloatArray:
        """The output that the engine publishes as `Y_denorm`: reprojected rotations in its bone order and handedness."""
        published = y_raw.copy()
        published[..., self.rotations] = self._step(PosePlan.publish, next6d, published6d)
        return published

    def quat(self, y_out: FloatArray) -> FloatArray:
        """Local rotations as unit quaternions, (..., 4·B); a reflection is first made a proper rotation."""
        quats = self._proper_codec.decode_to_quat(y_out[..., self.rotations].astype(self._dtype))
        return stored(quats[..., self._components].reshape(*quats.shape[:-2], -1))

    @QUIETLY
    def _step(self, step: PoseStep, flat: FloatArray, other: FloatArray) -> FloatArray:
        """One step of the plan on two (..., 6·B), a block of frames at a time."""
        width = flat.shape[-1]
        rows, others = flat.reshape(-1, width), np.broadcast_to(other, flat.shape).reshape(-1, width)
        result = np.empty(rows.shape, np.float32)
        for block in blocks(len(rows), self._bones):
            plan = self._plan(block.stop - block.start)
            pour(step(plan, self.codec.lanes(rows[block]), others[block]), self.codec.lanes(result[block]))
        return result.reshape(flat.shape)

    def _plan(self, rows: int) -> PosePlan:
        if rows not in self._plans:
            if len(self._plans) == _PLANS_KEPT:
                self._looked_back = self.looked_back
                self._plans.clear()
            self._plans[rows] = PosePlan(self._own, rows)
        return self._plans[rows]

    @property
    def looked_back(self) -> bool:
        """Whether any stage so far replaced a lost axis by the published pose's axis."""
        return self._looked_back or any(plan.looked_back for plan in self._plans.values())


def published_before(frames: Any, codec: Rot6d) -> FloatArray:
    """The rotations published one frame before each frame, (N, 6·B): the identity at frame 0, NaN if not recorded."""
    contract, recorded = frames.contract, frames.recorded.get("y_out")
    rows = np.full((len(frames.frame), 6 * contract.bone_count), np.nan, np.float32)
    rows[frames.frame == 0] = codec.identity(contract.bone_count)
    if recorded is not None:
        follows = np.flatnonzero(np.diff(frames.frame) == 1) + 1
        rows[follows] = recorded[follows - 1][:, contract.output[ROTATIONS].range]
    return rows


def _pose_conventions(contract: Contract, codec: Rot6d) -> PoseConventions:
    conventions = contract.conventions
    before, after = REPROJECTS[conventions.reproject]
    dtype = compute_dtype(conventions)
    adds_identity = ADDS_IDENTITY[conventions.output_mode]
    return PoseConventions(
        codec=codec,
        bones=contract.bone_count,
        dtype=dtype,
        is_pose=conventions.output_mode == "absolute",
        offset=codec.identity(contract.bone_count, dtype) if adds_identity else None,
        before=before,
        after=after,
        compose=COMPOSE[conventions.compose_order],
        direct=DIRECTION[conventions.delta_direction],
        signs=MIRROR[conventions.mirror],
        order=None if contract.bone_permutation is None else list(contract.bone_permutation),
    )


class Denormalisation:
    """y_norm (..., Dy) to y_raw, float32, and back, under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once and keep the statistics in the precision of the maths."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        affine = DENORM[conventions.denorm](contract.output_statistics, _state_statistics_for_output(contract))
        self._factor, self._summand = (values.astype(self._dtype) for values in affine)
        if not ADDS_MEAN[conventions.output_mode]:
            # no product with zero: an unused MuY that is NaN must have no effect
            self._summand[contract.output[ROTATIONS].range] = 0.0
        self._inverse = _inverse_features(contract, self._dtype)
        # the product of two float32 is exact in float64; one rounding gives the float32 product
        self._factor32 = self._factor.astype(np.float32)
        adds_nothing = not self._summand.any() and not self._inverse
        self._is_product = adds_nothing and bool(np.array_equal(self._factor32, self._factor))

    def __call__(self, y_norm: FloatArray) -> FloatArray:
        """y_raw of a network output."""
        if self._is_product and y_norm.dtype == np.float32:
            return np.multiply(y_norm, self._factor32)
        value = y_norm.astype(self._dtype)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_after(value[..., inverse.place])
        np.multiply(value, self._factor, value)
        np.add(value, self._summand, value)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_before(value[..., inverse.place])
        return value.astype(np.float32)

    def undo(self, y_raw: FloatArray) -> FloatArray:
        """The y_norm of a y_raw, float64; 0 on channels without spread."""
        value: FloatArray = y_raw.astype(np.float64)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.before(value[..., inverse.place])
        spread = self._factor != 0.0
        value = np.where(spread, zscored(value, self._summand, np.where(spread, self._factor, 1.0)), 0.0)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.after(value[..., inverse.place])
        return value


def _state_statistics_for_output(contract: Contract) -> Statistics:
    """The X statistics for slices that state and output share; the output's own statistics for the others."""
    mean, std = contract.output_statistics.mean.copy(), contract.output_statistics.std.copy()
    for entry in contract.output:
        if entry.name in contract.state and contract.state[entry.name].size == entry.size:
            twin = contract.state[entry.name].range
            mean[entry.range] = contract.state_statistics.mean[twin]
            std[entry.range] = contract.state_statistics.std[twin]
    return Statistics(mean, std)


class _Inverse(NamedTuple):
    """How one slice of the output inverts its feature, before and after the scaling by StdY and MuY, and the reverse."""

    place: slice
    undo_after: Callable[[FloatArray], FloatArray]
    undo_before: Callable[[FloatArray], FloatArray]
    before: Callable[[FloatArray], FloatArray]
    after: Callable[[FloatArray], FloatArray]


def _inverse_features(contract: Contract, dtype: type[np.floating]) -> list[_Inverse]:
    """Inverse transforms of the yaw and velocity slices of an output; scales have no floor here."""
    conventions = contract.conventions
    inverses = []
    if ROOT_YAW in contract.output:
        yaw = YAW[conventions.yaw_encoding]
        inverses.append(_Inverse(contract.output[ROOT_YAW].range, _as_it_is, yaw.decode, yaw.encode, _as_it_is))
    for name, scales, choice in (
        (ROOT_VELOCITY, contract.rootvel_scales, conventions.rootvel_squash),
        (ANGULAR_VELOCITIES, contract.angvel_scales, conventions.angvel_squash),
    ):
        if name in contract.output:
            squash, scale = SQUASH[choice], np.abs(scales).astype(dtype)
            steps = (squash.undo_after, squash.undo_before, squash.before, squash.after)
            inverses.append(_Inverse(contract.output[name].range, *(partial(step, scale=scale) for step in steps)))
    return inverses


def _as_it_is(value: FloatArray) -> FloatArray:
    return value
