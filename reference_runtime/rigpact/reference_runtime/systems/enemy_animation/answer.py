"""From a motion network's inputs to its answer, denormalised; and what the engine makes of an answer, without frames around it.

Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition, `FPoseMailbox`. The engine cuts a vector that is too long for
its position of the network, and fills up one that is too short: see `network.aligned`. To add a value of a convention: a row in
its table.
"""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.character import bone_permutation
from rigpact.contract.conventions import ChannelOrder, InputOrder, Knob
from rigpact.contract.layout import ANGULAR_VELOCITIES, INPUTS, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Slice
from rigpact.contract.statistics import STD_FLOOR, FloatArray, Statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Bounds, Measure
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.geometry import FROM_XYZW, transposed
from rigpact.reference_runtime.operations.geometry import compose as composed
from rigpact.reference_runtime.operations.scalars import MEANS, QUIETLY, STDS, compute_dtype, gamma, stored
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.inputs import LAG
from rigpact.reference_runtime.systems.enemy_animation.shared import AFFINE, MATH, TANH, of_character, output_fields
from rigpact.reference_runtime.systems.enemy_animation.state import FEATURES, Features

Affine = tuple[FloatArray, FloatArray]
"""Factor and summand: y_raw = y_norm · factor + summand."""
DENORM: Mapping[str, Callable[[Statistics, Statistics], Affine]] = {
    "std_and_mean": lambda own, _state: (own.std, own.mean),
    "std_only": lambda own, _state: (own.std, MEANS["none"](own.mean)),
    "mean_only": lambda own, _state: (STDS["none"](own.std), own.mean),
    "variance": lambda own, _state: (STDS["variance"](own.std.astype(np.float64)), own.mean),
    "state_stats": lambda _own, state: (state.std, state.mean),
}
IS_RESIDUAL: Mapping[str, bool] = {"delta": False, "residual": True, "absolute": False}
"""Whether the identity is added to the rotations, in place of MuY: a mean pose, which must not be added to a residual."""
REPROJECTS: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "before": (True, False),
    "after": (False, True),
    "none": (False, False),
}
COMPOSE: Mapping[str, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]] = {
    # the left and the right factor of R_next. The engine's `FMatrix` holds axes as rows, so a literal `DeltaM * PrevM`
    # there is the other order. Source: contract document, section 3; training `compose_rot6d_delta`
    "delta_prev": lambda delta, previous: (delta, previous),
    "prev_delta": lambda delta, previous: (previous, delta),
}
DIRECTION: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    # of a matrix (..., 3, 3)
    "forward": lambda delta: delta,
    "inverse": transposed,
}
MIRROR: Mapping[str, tuple[float, float, float] | None] = {
    "none": None,
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
}
OUTPUT_MODE = Knob("output_mode", IS_RESIDUAL)
DENORMALISATION = Knob("denorm", DENORM)
REPROJECT = Knob("reproject", REPROJECTS)
COMPOSE_ORDER = Knob("compose_order", COMPOSE)
DELTA_DIRECTION = Knob("delta_direction", DIRECTION)
PREVIOUS_POSE_LAG = Knob("previous_pose_lag", LAG)
BONE_ORDER = ChannelOrder("bone_order", dict.fromkeys(("as_declared", "left_right_swapped")))
MIRROR_AXIS = Knob("mirror", MIRROR)
QUATERNION_ORDER = Knob("quaternion_order", FROM_XYZW)


class OutputStages:
    """Every output stage of one contract, without frames around them.

    Each is a pure function of the stages before it, float32 in, float32 out, as in the engine. `codec` stands for that of the
    conventions.
    """

    def __init__(self, contract: Contract, codec: Rot6d | None = None) -> None:
        numbers, self._conventions = contract.numbers, contract.conventions
        self._dtype, self.codec = compute_dtype(self._conventions), codec or Rot6d(self._conventions)
        self._proper_codec = Rot6d(self._conventions.replaced({"derived_axis": "second_cross_first"}))
        self.rotations, self._bones = numbers.output[ROTATIONS].range, numbers.bone_count
        factor, summand = affine(contract)
        # scales have no floor here
        scales = {ROOT_VELOCITY: np.abs(numbers.rootvel_scales), ANGULAR_VELOCITIES: np.abs(numbers.angvel_scales)}
        self._features, self._has_spread = Features(contract, numbers.output, scales, summand, factor), factor != 0.0
        self._scored = Features(contract, numbers.output, scales, summand, np.where(factor != 0.0, factor, 1.0)).scored
        self._order, (self._before, self._after) = bone_permutation(contract), REPROJECTS[self._conventions.reproject]

    def __call__(self, y_norm: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """Every output stage by name, in loop order; delta6d only where there is a delta."""
        return {"y_norm": y_norm, **self.of_raw(self.y_raw(y_norm), previous6d, published6d)}

    def of_raw(self, y_raw: FloatArray, previous6d: FloatArray, published6d: FloatArray) -> dict[str, FloatArray]:
        """The same from a denormalised answer on."""
        delta6d = self.delta6d(y_raw, published6d)
        next6d = y_raw[..., self.rotations] if delta6d is None else self.compose(delta6d, previous6d)
        turn = {} if delta6d is None else {"delta6d": delta6d}
        y_out = self.y_out(y_raw, next6d, published6d)
        return {"y_raw": y_raw, **turn, "next6d": next6d, "y_out": y_out, "quat": self.quat(y_out)}

    @QUIETLY
    def y_raw(self, y_norm: FloatArray) -> FloatArray:
        """`DenormY_Z_To_Raw`: y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features."""
        return self._features.denormalise(y_norm)

    def y_norm(self, y_raw: FloatArray) -> FloatArray:
        """The y_norm of a y_raw, float64; 0 on channels without spread."""
        return np.where(self._has_spread, self._scored(y_raw.astype(np.float64)), 0.0)

    def delta6d(self, y_raw: FloatArray, published6d: FloatArray | None) -> FloatArray | None:
        """ΔR of each bone, (..., 6·B), orthonormalised; None if the output is the pose itself.

        A lost axis becomes a coordinate axis, as in every decode path of the engine. published6d: (..., 6·B), the pose
        published one frame before, for conventions that take a lost axis from it.
        """
        if self._conventions.output_mode == "absolute":
            return None
        six = y_raw[..., self.rotations].astype(self._dtype)
        if IS_RESIDUAL[self._conventions.output_mode]:
            six = six + self.codec.identity(self._bones, self._dtype)
        return stored(self.codec.reproject_delta(six, published6d) if self._before else six)

    @QUIETLY
    def compose(self, delta6d: FloatArray, previous6d: FloatArray) -> FloatArray:
        """ΔR · R_prev, encoded, both (..., 6·B); ΔR is used unchanged if the conventions do not reproject it."""
        decode = self.codec.decode if self._before else self.codec.decode_as_is
        delta = DIRECTION[self._conventions.delta_direction](decode(delta6d.astype(self._dtype)))
        factors = COMPOSE[self._conventions.compose_order](delta, self.codec.decode(previous6d.astype(self._dtype)))
        return stored(self.codec.encode(composed(*factors)))

    @QUIETLY
    def y_out(self, y_raw: FloatArray, next6d: FloatArray, published6d: FloatArray) -> FloatArray:
        """The output that the engine publishes as `Y_denorm`: reprojected rotations in its bone order and handedness."""
        six = next6d.astype(self._dtype)
        if self._after:
            six = self.codec.reproject(six, published6d)
        if MIRROR[self._conventions.mirror] is not None:
            # S·R·S with S = diag(signs): entry i of axis j takes both signs
            signs = np.array(MIRROR[self._conventions.mirror], self._dtype)
            a, b = self.codec.split(six)
            six = self.codec.join(a * signs * signs[self.codec.first], b * signs * signs[self.codec.second])
        if self._order is not None:
            six = six.reshape(*six.shape[:-1], -1, 6)[..., list(self._order), :].reshape(six.shape)
        published = y_raw.copy()
        published[..., self.rotations] = stored(six)
        return published

    def quat(self, y_out: FloatArray) -> FloatArray:
        """Local rotations as unit quaternions, (..., 4·B); a reflection is first made a proper rotation."""
        quats = self._proper_codec.decode_to_quat(y_out[..., self.rotations].astype(self._dtype))
        order = FROM_XYZW[self._conventions.quaternion_order]
        return stored(quats[..., order].reshape(*quats.shape[:-2], -1))


def affine(contract: Contract) -> Affine:
    """Under the contract's conventions, float64 where they square a number."""
    numbers, conventions = contract.numbers, contract.conventions
    # the X statistics for slices that state and output share; the output's own statistics for the others
    mean, std = numbers.output_statistics.mean.copy(), numbers.output_statistics.std.copy()
    for entry in shared_slices(contract):
        twin = numbers.state[entry.name].range
        mean[entry.range], std[entry.range] = numbers.state_statistics.mean[twin], numbers.state_statistics.std[twin]
    factor, summand = DENORM[conventions.denorm](numbers.output_statistics, Statistics(mean, std))
    if IS_RESIDUAL[conventions.output_mode]:
        # no product with zero: an unused MuY that is NaN must have no effect
        summand = summand.copy()
        summand[numbers.output[ROTATIONS].range] = 0.0
    return factor, summand


def shared_slices(contract: Contract) -> list[Slice]:
    """The slices of the output that the state has too, of the same size."""
    state, output = contract.numbers.state, contract.numbers.output
    return [entry for entry in output if entry.name in state and state[entry.name].size == entry.size]


INPUT_ORDER = InputOrder("input_order", {",".join(INPUTS): INPUTS}, items=INPUTS)

# The network's answer


def _y_norm(frames: Frames) -> FloatArray:
    """The network's answer to its inputs, in the order in which they are bound."""
    vectors, network = [frames[name] for name in frames.contract.conventions.input_order], frames.network
    return np.asarray(network.run(aligned(vectors, network.bound_widths), int(frames.frame[0])))


def _in_place(frames: Frames) -> Callable[[], None] | None:
    """What makes the network read and write the very memory of these frames; None where a vector must be made to fit."""
    vectors, network = [frames[name] for name in frames.contract.conventions.input_order], frames.network
    if any(width not in (None, rows.shape[1]) for width, rows in zip(network.bound_widths, vectors, strict=True)):
        return None
    found: Callable[[], None] | None = network.bound_to(vectors, frames["y_norm"])
    return found


def _y_norm_bound(frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Same weights and inputs, another summation order: inner products are as long as all inputs together."""
    largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
    return np.asarray(np.broadcast_to(_of_network(frames.contract) * largest, rows.shape))


def _of_network(contract: Contract) -> float:
    """Rounding of the longest inner product that the network can have at its inputs: all vectors together."""
    return gamma(sum(width for width in contract.numbers.input_widths.values() if width))


ORDERED_NETWORK = of_character(
    "ordered_network", "a model's answer to vectors bound by position, in an order that sides confuse", (INPUT_ORDER,),
    output_fields, _y_norm, _y_norm_bound, 0, measure=Measure("z"), is_answer=True, is_propagated=True,
    source="--onnx with the model, and record its five inputs", in_place=_in_place,
)  # fmt: skip

# Denormalised: times StdY plus MuY, or without MuY where the rotations are residuals


def _y_raw_planned(frames: Frames) -> Step:
    numbers = frames.numbers
    spans = [
        (numbers.output[name].start, numbers.output[name].size) if name in numbers.output else (0, 0)
        for name in (ROOT_YAW, ROOT_VELOCITY, ANGULAR_VELOCITIES)
    ]
    scales = zip((numbers.rootvel_scales, numbers.angvel_scales), spans[1:], strict=True)
    own = [np.abs(each)[:size] for each, (_, size) in scales]
    words = (*chosen(frames, *FEATURES), *(number for span in spans for number in span))
    return Step("denormalised_output", (Read("y_norm"),), words, np.concatenate((*affine(frames.contract), *own)))


def _y_raw_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of y_norm · StdY + MuY, including the error of y_norm."""
    numbers = frames.numbers
    own = numbers.output_statistics
    std, mean = np.abs(own.std, dtype=np.float64), np.abs(own.mean, dtype=np.float64)
    value = rows.astype(np.float64)
    upstream = bounds["y_norm"] * std if "y_norm" in bounds else network_unseen(frames.contract, value, slice(None))
    found = gamma(AFFINE) * (np.abs(value) + mean) + upstream
    if len(numbers.output.slices) == 1:
        return np.asarray(found)
    # slices that invert a feature, which is at most 1: atanh is steep near its limit, so both ends of the interval are computed
    stages, moved_by = OutputStages(frames.contract), gamma(AFFINE) * (1.0 + mean) + upstream
    y_norm = frames.get("y_norm")
    if y_norm is None:
        y_norm = stages.y_norm(rows)
    moved_z = moved_by / np.maximum(std, STD_FLOOR)
    middle, low, high = (stages.y_raw(y_norm + sign * moved_z).astype(np.float64) for sign in (0.0, -1.0, 1.0))
    undone = np.maximum(np.abs(high - middle), np.abs(low - middle)) + gamma(TANH) * np.abs(middle)
    return np.asarray(np.maximum(found, undone))


def network_unseen(contract: Contract, value: FloatArray, place: slice) -> FloatArray:
    """Bound of y_norm·std if the network's output was not recorded: the resulting pose gives its z.

    value: (T, width) of the output's channels `place`. Channels without spread give no z.
    """
    own = contract.numbers.output_statistics
    std, mean = np.abs(own.std[place], dtype=np.float64), own.mean[place].astype(np.float64)
    z = np.abs(value - mean) / np.maximum(std, STD_FLOOR)
    return np.asarray(_of_network(contract) * z.max(axis=1, keepdims=True) * std)


DENORMALISED_OUTPUT = of_character(
    "denormalised_output", "a network's answer in the units of a character", (OUTPUT_MODE, DENORMALISATION, MATH),
    output_fields, lambda frames: np.asarray(frames.built(OutputStages).y_raw(frames["y_norm"])), _y_raw_bound,
    is_propagated=True, planned=_y_raw_planned,
)  # fmt: skip
