"""Which recorded stages something judged, and which nothing did: silence about a stage is not agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.reference_runtime.graph.bounds import PATTERNS
from rigpact.reference_runtime.graph.replayed import Evidence, path_of, sign_pattern
from rigpact.reference_runtime.operations.geometry import quaternion_angle_rad
from rigpact.reports.comparing.stage_comparison import Address, channel_address
from rigpact.reports.diagnosing.hypotheses import Hypotheses
from rigpact.reports.diagnosing.stage_error import StageError
from rigpact.reports.terminal import plain

_NAMED = 6
"""Stages that nothing judged are named up to so many: what fits a line; the document has all."""


@dataclass(frozen=True, eq=False)
class Widest(AsJson):
    """The widest tolerance of one unit, and its place: a smaller difference there would not show."""

    KEYS = "tolerance unit stage frame bone: address.bone channel: address.channel place: address.words"
    tolerance: float
    unit: str
    stage: str
    address: Address
    frame: int

    @property
    def words(self) -> str:
        """`0.05° at thigh_l (y_out, frame 12)`."""
        unit = {"deg": "°", "raw": ""}.get(self.unit, f" {self.unit}")
        place = self.address.bone if self.unit == "deg" and self.address.bone else str(self.address)
        return f"{self.tolerance:.2g}{unit} at {plain(place)} ({plain(self.stage)}, frame {self.frame})"


@dataclass(frozen=True, eq=False)
class Seen(AsJson):
    """What was judged. folded: unrecorded stages on the way to a judged one. unseen: the others that such a run computes.

    widest: one tolerance for each unit, degrees first; none where every value was judged to the bit.
    """

    KEYS = "judged folded unseen stages widest sentence"
    judged: tuple[str, ...]
    folded: tuple[str, ...]
    unseen: tuple[str, ...]
    widest: tuple[Widest, ...]

    @property
    def stages(self) -> int:
        """How many stages such a run computes."""
        return len(self.judged) + len(self.folded) + len(self.unseen)

    @property
    def sentence(self) -> str:
        """How many stages were judged, and how large a difference would not show."""
        folded = f", {len(self.folded)} more folded into them" if self.folded else ""
        named = ", ".join(self.unseen[:_NAMED]) + f" and {len(self.unseen) - _NAMED} more" * (len(self.unseen) > _NAMED)
        unseen = f"; nothing judged {named}" if self.unseen else ""
        judged = f"{len(self.judged)} of {self.stages} stages judged{folded}{unseen}"
        if not self.widest:
            return f"{judged}; every value to the last bit"
        places = ", ".join(each.words for each in self.widest)
        return f"{judged}; the widest tolerance{'s' * (len(self.widest) > 1)}: {places}: a smaller difference would not show"


def seen_together(parts: Sequence[Seen], names: Sequence[str]) -> Seen:
    """What parts of one recording show together; names: the stages in loop order."""
    judged = {name for part in parts for name in part.judged}
    folded = {name for part in parts for name in part.folded} - judged
    unseen = {name for part in parts for name in part.unseen}
    return Seen(
        tuple(name for name in names if name in judged),
        tuple(name for name in names if name in folded),
        tuple(name for name in names if name in unseen - judged - folded),
        one_of_each_unit([each for part in parts for each in part.widest]),
    )


def one_of_each_unit(found: Sequence[Widest]) -> tuple[Widest, ...]:
    """The widest of each unit: degrees first, then in the order in which they come."""
    widest: dict[str, Widest] = {}
    for each in found:
        if each.unit not in widest or each.tolerance > widest[each.unit].tolerance:
            widest[each.unit] = each
    return tuple(sorted(widest.values(), key=lambda each: each.unit != "deg"))


def widest_tolerances(hypotheses: Hypotheses, stages: Sequence[str]) -> tuple[Widest, ...]:
    """The widest tolerance of each unit over all judged values of these stages; degrees first."""
    errors = [hypotheses.error(stage, {}) for stage in stages]
    found = [_of_stage(hypotheses, error) for error in errors if error is not None]
    return one_of_each_unit([each for each in found if each.tolerance > 0.0])


def _of_stage(hypotheses: Hypotheses, error: StageError) -> Widest:
    contract, measure = hypotheses.contract, hypotheses.graph[error.stage].measure
    tolerance = np.where(np.isfinite(error.excess) & np.isfinite(error.tolerance), error.tolerance, 0.0)
    if measure.sizes is None and not measure.has_signless_quaternions:
        row, channel = _largest(tolerance)
        size, unit = float(tolerance[row, channel]), _unit(hypotheses, error.stage, channel)
    else:
        size, row, channel = _largest_turn(error, tolerance, measure, contract)
        unit = "deg" if measure.sizes is None else measure.unit
    address = channel_address(error.stage, channel, contract)
    return Widest(size, unit, error.stage, address, int(hypotheses.evidence.frame[row]))


def _unit(hypotheses: Hypotheses, stage: str, channel: int) -> str:
    """The unit of the stage's measure; of raw numbers, that of their field where it says one."""
    unit: str = hypotheses.graph[stage].measure.unit
    field = hypotheses.contract.fields(stage).field_at(channel)
    return unit if unit != "raw" or field is None or not field.unit else str(field.unit)


def _largest(values: FloatArray) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(row), int(column)


def _largest_turn(
    error: StageError, tolerance: FloatArray, measure: Measure, contract: Contract
) -> tuple[float, int, int]:
    """The largest size that tolerances let pass, its row, and the channel that does most of it."""
    rng, rows = np.random.default_rng(0), error.recorded.astype(np.float64)
    sizes = _sizes(measure, contract, rows, rows)
    for pattern in range(PATTERNS):
        moved = rows + sign_pattern(pattern, rows.shape, rng) * tolerance
        sizes = np.fmax(sizes, _sizes(measure, contract, rows, moved))
    row, part = _largest(sizes)
    alone = np.repeat(rows[row : row + 1], rows.shape[1], axis=0)
    of_channels = _sizes(measure, contract, alone, alone + np.diag(tolerance[row]))
    return float(sizes[row, part]), row, int(np.argmax(of_channels[:, part]))


def _sizes(measure: Measure, contract: Contract, one: FloatArray, other: FloatArray) -> FloatArray:
    """Differences of rows in the measure's unit, (N, k): quaternions without a unit of their own in degrees."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if measure.sizes is not None:
            return np.nan_to_num(measure.sizes(contract, one, other), posinf=0.0)
        return np.nan_to_num(np.degrees(quaternion_angle_rad(one, other)), posinf=0.0)


def is_computed(stage: Stage, evidence: Evidence) -> bool:
    """Whether the run computes a stage. The others come from outside: nothing in a recording says what they should be.

    What a free run hands on to itself is computed from its second frame on.
    """
    hands_on = stage.carried is not None and evidence.mode == "free" and bool((evidence.frame > 0).any())
    return stage.compute is not None or hands_on


def without_verdict(hypotheses: Hypotheses) -> set[str]:
    """The recorded stages that the run computes, and that were not judged, or some of whose values were not."""
    evidence, graph = hypotheses.evidence, hypotheses.graph
    computed = {stage.name for stage in graph if stage.name in evidence.recorded and is_computed(stage, evidence)}
    return (computed - set(hypotheses.judged)) | {name for name in hypotheses.judged if _undetermined(hypotheses, name)}


def _undetermined(hypotheses: Hypotheses, stage: str) -> int:
    error = hypotheses.error(stage, {})
    return 0 if error is None else error.undetermined


def what_was_seen(hypotheses: Hypotheses) -> Seen:
    """The stages that were judged, those that were folded into them, and the widest tolerances."""
    evidence, graph = hypotheses.evidence, hypotheses.graph
    computed = [stage.name for stage in graph if is_computed(stage, evidence)]
    judged = [name for name in hypotheses.judged if name in computed]
    on_the_way = {
        name for stage in judged for name in path_of(graph, stage, evidence.recorded)
    } - evidence.recorded.keys()
    folded = tuple(name for name in computed if name in on_the_way)
    unseen = tuple(name for name in computed if name not in judged and name not in on_the_way)
    return Seen(tuple(judged), folded, unseen, widest_tolerances(hypotheses, judged))
