"""What a clip brings beside the state: the player's intent, raw or z-scored over a window, and which foot stands on the floor.

Engine: `BuildCondVector`. To add a reading: a row in a table. Not here: the engine's own contacts with hysteresis, `floor.py`.
"""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Use
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, CONTACTS_WIDTH
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step, chosen, moved
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.scalars import (
    UNIT_ROUNDOFF,
    compute_dtype,
    gamma,
    stored,
    zscored,
    zscored_by,
)
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.vocabulary.character.shared import (
    COPY,
    MATH,
    OF_CLIP,
    copied,
    known,
    of_character,
)

WINDOW = 60
"""Number of samples in the window of the engine's z-score (`CondNormWindow`)."""
STANDING_SPEED_M_S = 1e-3
"""Below this speed there is no direction. Source: the training side's condition rows."""
_VARIANCE_FLOOR, _STD_FLOOR = 1e-6, 1e-3
_IQR_REACH = 1.5
_UNIT_DIRECTION = 12
"""Operations on the longest path of a direction of unit length."""
CONTACT_SCORE = 0.5
"""Soft scores from this value on count as contact if the input is binary."""


DIRECTION: Mapping[str, Callable[[RawClip], FloatArray]] = {
    # the engine's own value first; the training side's rows take the velocity
    "trajectory": lambda clip: clip.trajectory_direction[:, clip.trajectory_direction.shape[1] // 2],
    "velocity": lambda clip: clip.root_velocity_m_s,
    "negated": lambda clip: -clip.root_velocity_m_s,
    "swapped_xy": lambda clip: clip.root_velocity_m_s[:, ::-1],
    "mirrored_y": lambda clip: clip.root_velocity_m_s * (1.0, -1.0),
}
SPEED_FACTOR: Mapping[str, float] = {"m_s": 1.0, "cm_s": 100.0}
CONDITION_DIRECTION = Knob("condition_direction", DIRECTION)
CONDITION_SPEED_UNIT = Knob("condition_speed_unit", SPEED_FACTOR)


def condition_rows(clip: RawClip, contract: Contract) -> FloatArray:
    """Raw condition of every frame of a clip, (N, 7): action bits, unit direction, speed.

    Bits are clamped to [0, 1]. Speed is in m/s unless the conventions declare another unit.
    """
    conventions = contract.conventions
    dtype = compute_dtype(conventions)
    direction = DIRECTION[conventions.condition_direction](clip).astype(dtype)
    size = np.linalg.norm(direction, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = np.where(size < STANDING_SPEED_M_S, 0.0, direction / size)
    speed = np.linalg.norm(clip.root_velocity_m_s.astype(dtype), axis=1, keepdims=True)
    bits = np.clip(clip.action_bits.astype(dtype), 0.0, 1.0)
    parts = (bits, direction, speed * SPEED_FACTOR[conventions.condition_speed_unit])
    return stored(np.concatenate(parts, axis=1))


def window_zscore(sample: FloatArray, window: FloatArray) -> FloatArray:
    """Z-score of `sample` (C,) over a window (W, C), without outliers.

    Per channel: quartiles by linear interpolation, samples within 1.5 interquartile ranges, population statistics,
    variance floored at 1e-6, std at 1e-3. Source: engine `BuildCondVector`, mode ZScore.
    """
    first, third = np.quantile(window, (0.25, 0.75), axis=0)
    reach = _IQR_REACH * (third - first)
    kept = (window >= first - reach) & (window <= third + reach)
    kept |= ~kept.any(axis=0)
    mean = window.mean(axis=0, where=kept)
    std = np.sqrt(np.maximum(window.var(axis=0, where=kept), _VARIANCE_FLOOR))
    return zscored(sample, mean, np.maximum(std, _STD_FLOOR))


NORMALISE: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "raw": lambda sample, _window: sample,
    "zscore": window_zscore,
}
CONDITION_NORM = Knob("condition_norm", NORMALISE)


class ConditionInput:
    """The Cond input, computed from the recent raw conditions. reach: how many it looks at, the newest included."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once."""
        self._dtype = compute_dtype(contract.conventions)
        self._normalise = NORMALISE[contract.conventions.condition_norm]
        self.reach = 1 if _is_raw(contract) else WINDOW

    def of_window(self, cond_raw: FloatArray) -> FloatArray:
        """The Cond input (C,) after raw conditions (W, C), oldest first: `reach` of them, or all since the start of the run."""
        window = cond_raw.astype(self._dtype)
        return stored(self._normalise(window[-1], window))


def _is_raw(contract: Contract) -> bool:
    return str(contract.conventions.condition_norm) == "raw"


def _declared_fields(use: Use, _contract: Contract) -> FieldLayout:
    """The declared fields, under every contract: like a character's other vectors they are held against files with one."""
    if use.declared is None:
        raise use.missing("names", "the fields of what a clip brings")
    return use.declared


def _intent_bound(_frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Bound of a direction of unit length."""
    return gamma(_UNIT_DIRECTION) * np.abs(rows, dtype=np.float64) + gamma(COPY) * UNIT_ROUNDOFF


def _cond(frames: Frames) -> FloatArray:
    """The window starts with the run; where a recording starts later, it is not known for a while."""
    operation, cond_raw = frames.built(ConditionInput), frames["cond_raw"]
    start = np.minimum(frames.frame, 0)[:, None]  # a frame is in its own window, whatever its number
    wanted = frames.frame[:, None] + np.arange(1 - operation.reach, 1)
    samples = frames.rows_at("cond_raw", np.maximum(wanted, start)) if operation.reach > 1 else cond_raw[:, None]
    windows = zip(samples, wanted >= start, strict=True)
    return np.stack([operation.of_window(rows[is_there]) for rows, is_there in windows])


def _cond_planned(frames: Frames) -> Step:
    if _is_raw(frames.contract):
        width = frames.contract.fields("cond").width
        return moved([Read("cond_raw")], [width], range(width))
    return Step("over_a_window", tuple(Read("cond_raw", -age) for age in range(WINDOW)), chosen(frames, MATH))


def _cond_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the raw condition, or of its z-score over a window."""
    if _is_raw(frames.contract):
        return _intent_bound(frames, rows, bounds)
    cond = np.abs(rows, dtype=np.float64)
    # the window's mean and std, W samples summed, divided by a std of at least 1e-3
    largest = np.abs(known(frames, "cond_raw", rows), dtype=np.float64).max(axis=0)
    return np.asarray(gamma(WINDOW + _UNIT_DIRECTION) * (largest / _STD_FLOOR + cond))


COND = of_character(
    "over_a_window", "a condition as it is, or z-scored over its recent samples without outliers", (CONDITION_NORM, MATH),
    _declared_fields, _cond, _cond_bound, reach=lambda contract: (0 if _is_raw(contract) else WINDOW, 0),
    measure=Z_SCORE, is_propagated=True, planned=_cond_planned,
)  # fmt: skip


def _whitened(scores: FloatArray, contract: Contract) -> FloatArray:
    if CONTACTS not in contract.numbers.state:
        raise UnusableInput(
            "contacts_source", "'whitened' for a bundle whose state has no Contacts slice", "MuX and StdX of that slice"
        )
    place, statistics = contract.numbers.state[CONTACTS].range, contract.numbers.state_statistics
    return zscored_by(scores, Statistics(statistics.mean[place], statistics.std[place]))


SOURCE: Mapping[str, Callable[[FloatArray, Contract], FloatArray]] = {
    "soft_scores": lambda scores, _contract: scores,
    "binary": lambda scores, _contract: (scores >= CONTACT_SCORE).astype(scores.dtype),
    "whitened": _whitened,
    "zeros": lambda scores, _contract: np.zeros_like(scores),
    "swapped_feet": lambda scores, _contract: scores[..., ::-1],
}
CONTACTS_SOURCE = Knob("contacts_source", SOURCE)


def contact_rows(scores: FloatArray | None, frames: int, contract: Contract) -> FloatArray:
    """Contacts input of each frame, (N, 2), from soft contact scores (N, 2); zeros for a clip without any.

    The engine also uses zeros if the feet were not measured.
    """
    dtype = compute_dtype(contract.conventions)
    known_scores = np.zeros((frames, CONTACTS_WIDTH), dtype) if scores is None else scores.astype(dtype)
    return stored(SOURCE[contract.conventions.contacts_source](known_scores, contract))


def _contact_fields(use: Use, contract: Contract) -> FieldLayout:
    state, feet = contract.numbers.state, [field.name for field in _declared_fields(use, contract)]
    width = state[CONTACTS].size if CONTACTS in state else len(feet)
    names = [feet[place] if place < len(feet) else f"contact {place}" for place in range(width)]
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


INTENT = of_character(
    "intent", "the request of a clip's player: action bits, planar direction, speed", (CONDITION_DIRECTION, CONDITION_SPEED_UNIT),
    _declared_fields, lambda frames: frames.driven("cond_raw"), _intent_bound, 0, **OF_CLIP,
)  # fmt: skip
FOOT_CONTACTS = of_character(
    "foot_contacts", "whether each foot of a clip stands on the floor", (CONTACTS_SOURCE,),
    _contact_fields, lambda frames: frames.driven("contacts"), copied, 0, **OF_CLIP,
)  # fmt: skip
