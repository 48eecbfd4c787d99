"""How large the numbers of a run may be: the one place for these limits, each with its reason.

ORDINARY_Z     deviations; the exporter's graph clamps its inputs there
ABSURD_Z       deviations; from here on float32 numbers are two deviations apart
ABSURD_RAW     any other number; from here on its square is infinite in float32
VISIBLE_RAD    a change that people see
FRAMES_OLD     an answer worse than a pose of so many frames ago is worse by far
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Stage
from rigpact.contract.units import Kind, sized
from rigpact.reference_runtime.operations.rounding import gamma

ORDINARY_Z = 16.0
"""Inputs beyond this are not ordinary: the exporter's graph clamps state and condition there."""
ABSURD_Z = 2.0**24
"""float32 numbers of this size are two apart: a z-score that cannot tell 0 from 1 deviation has no meaning. The largest
that a rotation can reach is far below: 2 / 1e-6, two columns at opposite ends over the floor of a deviation."""
ABSURD_RAW = float(np.sqrt(np.finfo(np.float32).max))
"""The square of a larger number is infinite in float32, and so is the length of any vector that holds it."""
VISIBLE_RAD = float(np.radians(1.0))
"""One degree moves a hand by more than half a centimetre; so far moves the end of a rotation's column of length 1."""


def largest_meaning(stage: Stage) -> float:
    """The size from which on a stage's numbers have no meaning."""
    return ABSURD_Z if stage.measure.unit == "z" else ABSURD_RAW


def largest_departure(frame: int) -> float:
    """How many deviations from its seed a channel of a free run may be after so many frames.

    The network's answers are within the ordinary range: each frame moves a channel by no more.
    """
    return ORDINARY_Z * frame


@dataclass(frozen=True, eq=False)
class Ordinary:
    """What is ordinary for the stage that a free run feeds back: the deviation of each channel, (width,).

    least: a smaller change is not a departure, however small the deviation is; infinite for what is not fed back.
    """

    stage: str
    deviation: FloatArray
    least: FloatArray

    def sizes(self, seed: Mapping[str, FloatArray], stages: Mapping[str, FloatArray]) -> FloatArray:
        """Distance from the seed in deviations, (width,); 0 for a distance that does not count."""
        away = np.abs(stages[self.stage].astype(np.float64) - seed[self.stage])
        return np.asarray(np.where(away >= self.least, away / self.deviation, 0.0))


def ordinary_of_rows(stage: Stage, fields: FieldLayout, rows: FloatArray) -> Ordinary | None:
    """What is ordinary by a clip's rows of a stage, (T, width); None where nothing that is fed back moves.

    Every channel is measured by the one of its kind that moves most: in a clip many stand still, and theirs is rounding. Where
    none of its kind moves by more than rounding, the clip does not say how far such a channel may go.
    """
    wide = rows.astype(np.float64)
    deviation, kinds = wide.std(axis=0), np.full(wide.shape[1], "", dtype=object)
    least = np.zeros(wide.shape[1])
    for field in fields:
        kinds[field.range] = field.kind.value
        is_fed_back = not stage.carried_fields or field.name in stage.carried_fields
        least[field.range] = 0.0 if is_fed_back else np.inf
    for kind in set(kinds):
        deviation[kinds == kind] = deviation[kinds == kind].max()
    rounding = gamma(1) * np.abs(wide).max(axis=0)
    is_still = deviation <= rounding
    least[is_still] = np.inf
    if np.isinf(least).all():
        return None
    return Ordinary(stage.name, np.where(is_still, 1.0, deviation), least)


FRAMES_OLD = 4
"""An answer that is worse than a pose so many frames old is worse by far: networks are given fewer frames of the past."""
_VISIBLE: Mapping[Kind, float] = {"angle": VISIBLE_RAD, "length": 0.01}
"""Smaller errors (radians, metres) are not findings: a character that stands is copied without error, a network has one."""


@dataclass(frozen=True)
class Baseline:
    """A clip-driven run against the clip's next frame: mean errors of the run, and of copying the last frame."""

    what: str
    unit: str
    error: float
    copied: float

    @property
    def limit(self) -> float:
        """The largest error that is not worse by far.

        A pose n frames old is off by at most n times the mean error of copying, by the triangle inequality.
        """
        return max(FRAMES_OLD * self.copied, sized(self.unit, _VISIBLE, np.inf))

    @property
    def is_lost(self) -> bool:
        """Whether copying is better by far; False where the unit says nothing to people."""
        return self.error > self.limit
