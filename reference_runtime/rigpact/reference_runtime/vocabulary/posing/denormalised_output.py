"""Denormalised output: a network's answer times StdY plus MuY, or without MuY where the rotations are residuals.

To add a value of a convention: a row in its table.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import STD_FLOOR, FloatArray, Statistics
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import MEANS, STDS, unscored, zscored
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import AFFINE, TANH
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.ordered_network import network_depth
from rigpact.reference_runtime.vocabulary.character.state_features import (
    ANGVEL_SQUASH,
    ROOTVEL_SQUASH,
    SQUASH,
    YAW,
    YAW_ENCODING,
)
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields

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
OUTPUT_MODE = Knob(
    "output_mode", ADDS_MEAN, "the meaning of the network's rotations: ΔR, ΔR minus identity, or the next pose itself", {
        "delta": CodeHint("Delta6D = Y * StdY + MuY; // MuY added", "delta = reproject(y * std + mu)"),
        "residual": CodeHint(
            "Delta6D = Y * StdY + Identity6D; // MuY not added", "delta = reproject(y * std + identity6d)"
        ),
        "absolute": CodeHint("Next6D = Y * StdY + MuY; // no composition", "r_next = reproject(y * std + mu)"),
    },
)  # fmt: skip
DENORMALISATION = Knob(
    "denorm", DENORM, "how y_norm becomes y_raw", {
        "std_and_mean": CodeHint("Y * StdY + MuY", "y * std + mu"),
        "std_only": CodeHint("Y * StdY; // MuY is missing", "y * std"),
        "mean_only": CodeHint("Y + MuY; // StdY is missing", "y + mu"),
        "variance": CodeHint("Y * StdY * StdY + MuY; // variance taken for std", "y * var + mu"),
        "state_stats": CodeHint("Y * StdX[RotStart + i] + MuX[RotStart + i]", "y * std_x[rot] + mu_x[rot]"),
    },
)  # fmt: skip


class Denormalisation:
    """y_norm (..., Dy) to y_raw, float32, and back, under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once and keep the statistics in the precision of the maths."""
        conventions = contract.conventions
        self._dtype = compute_dtype(conventions)
        self._factor, self._summand = (values.astype(self._dtype) for values in _affine(contract))
        self._inverse = _inverse_features(contract, self._dtype)

    @QUIETLY
    def __call__(self, y_norm: FloatArray) -> FloatArray:
        """`DenormY_Z_To_Raw`: y_norm · StdY + MuY, no floor on StdY; yaw and velocities undo their features."""
        value = y_norm.astype(self._dtype)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_after(value[..., inverse.place])
        value = unscored(value, self._summand, self._factor)
        for inverse in self._inverse:
            value[..., inverse.place] = inverse.undo_before(value[..., inverse.place])
        return stored(value)

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


def _affine(contract: Contract) -> Affine:
    """Under the contract's conventions, float64 where they square a number."""
    own, conventions = contract.numbers.output_statistics, contract.conventions
    factor, summand = DENORM[conventions.denorm](own, _state_statistics_for_output(contract))
    if not ADDS_MEAN[conventions.output_mode]:
        # no product with zero: an unused MuY that is NaN must have no effect
        summand = summand.copy()
        summand[contract.numbers.output[ROTATIONS].range] = 0.0
    return factor, summand


def _state_statistics_for_output(contract: Contract) -> Statistics:
    """The X statistics for slices that state and output share; the output's own statistics for the others."""
    numbers = contract.numbers
    mean, std = numbers.output_statistics.mean.copy(), numbers.output_statistics.std.copy()
    for entry in numbers.output:
        if entry.name in numbers.state and numbers.state[entry.name].size == entry.size:
            twin = numbers.state[entry.name].range
            mean[entry.range] = numbers.state_statistics.mean[twin]
            std[entry.range] = numbers.state_statistics.std[twin]
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
    numbers, conventions = contract.numbers, contract.conventions
    inverses = []
    if ROOT_YAW in numbers.output:
        yaw = YAW[conventions.yaw_encoding]
        inverses.append(_Inverse(numbers.output[ROOT_YAW].range, _as_it_is, yaw.decode, yaw.encode, _as_it_is))
    for name, scales, choice in (
        (ROOT_VELOCITY, numbers.rootvel_scales, conventions.rootvel_squash),
        (ANGULAR_VELOCITIES, numbers.angvel_scales, conventions.angvel_squash),
    ):
        if name in numbers.output:
            squash, scale = SQUASH[choice], np.abs(scales).astype(dtype)
            steps = (squash.undo_after, squash.undo_before, squash.before, squash.after)
            inverses.append(_Inverse(numbers.output[name].range, *(partial(step, scale=scale) for step in steps)))
    return inverses


def _as_it_is(value: FloatArray) -> FloatArray:
    return value


def build(use: Use) -> Built:
    """Every channel of the output; yaw and velocities undo their features too."""
    answer = use.inputs[0].name

    def compute(frames: Frames) -> FloatArray:
        """The answer, denormalised."""
        return np.asarray(frames.built(Denormalisation)(frames[answer]))

    planned = partial(_planned, answer)
    return Built(vector_fields(use, "output"), compute, partial(bound, answer), is_propagated=True, planned=planned)


def _planned(answer: str, frames: Frames) -> Step:
    numbers = frames.numbers
    spans = [
        (numbers.output[name].start, numbers.output[name].size) if name in numbers.output else (0, 0)
        for name in (ROOT_YAW, ROOT_VELOCITY, ANGULAR_VELOCITIES)
    ]
    scales = [np.abs(each) for each in (numbers.rootvel_scales, numbers.angvel_scales)]
    own = [each[:size] for each, (_, size) in zip(scales, spans[1:], strict=True)]
    words = (
        *chosen(frames, MATH, YAW_ENCODING, ROOTVEL_SQUASH, ANGVEL_SQUASH),
        *(number for span in spans for number in span),
    )
    return Step("denormalised_output", (Read(answer),), words, np.concatenate((*_affine(frames.contract), *own)))


def bound(answer: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of y_norm · StdY + MuY, including the error of y_norm."""
    numbers = frames.numbers
    own = numbers.output_statistics
    std, mean = np.abs(own.std, dtype=np.float64), np.abs(own.mean, dtype=np.float64)
    value = rows.astype(np.float64)
    upstream = bounds[answer] * std if answer in bounds else network_unseen(frames.contract, value, slice(None))
    found = gamma(AFFINE) * (np.abs(value) + mean) + upstream
    if len(numbers.output.slices) > 1:
        return np.asarray(np.maximum(found, _undone(answer, frames, rows, gamma(AFFINE) * (1.0 + mean) + upstream)))
    return np.asarray(found)


def _undone(answer: str, frames: Frames, rows: FloatArray, moved: FloatArray) -> FloatArray:
    """Bound of slices that invert a feature: atanh is steep near its limit, so both ends of the interval are computed.

    moved: the bound of the feature, which is at most 1.
    """
    denormalised = Denormalisation(frames.contract)
    y_norm = frames.get(answer)
    if y_norm is None:
        y_norm = denormalised.undo(rows)
    std = np.maximum(np.abs(frames.numbers.output_statistics.std, dtype=np.float64), STD_FLOOR)
    middle, low, high = (denormalised(y_norm + sign * moved / std).astype(np.float64) for sign in (0.0, -1.0, 1.0))
    return np.maximum(np.abs(high - middle), np.abs(low - middle)) + gamma(TANH) * np.abs(middle)


def network_unseen(contract: Contract, value: FloatArray, place: slice) -> FloatArray:
    """Bound of y_norm·std if the network's output was not recorded: the resulting pose gives its z.

    value: (T, width) of the output's channels `place`. Channels without spread give no z.
    """
    own = contract.numbers.output_statistics
    std, mean = np.abs(own.std[place], dtype=np.float64), own.mean[place].astype(np.float64)
    z = np.abs(value - mean) / np.maximum(std, STD_FLOOR)
    return np.asarray(gamma(network_depth(contract)) * z.max(axis=1, keepdims=True) * std)


OPERATION = Operation(
    "denormalised_output", "a network's answer in the units of a character", build,
    shared=(OUTPUT_MODE, DENORMALISATION, MATH), only_on_pages=True,
)  # fmt: skip
