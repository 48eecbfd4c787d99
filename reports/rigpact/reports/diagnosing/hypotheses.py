"""Hypotheses of a diagnosis: changed conventions, and their effect on the recorded stages.

`Hypotheses` judges a set of changes against the evidence. It stores every stage replay by the knobs that matter to the
stage. So a pair of changes at different stages costs nothing once the single changes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import ChannelOrder, Conventions, InputOrder, Knob
from rigpact.contract.errors import OwnFunctionFailed, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import BLOCK, Evidence, ReplayedFrames, path_of, path_over_frames
from rigpact.reference_runtime.graph.sampled_bound import judging_bound
from rigpact.reference_runtime.graph.work import SEARCHED_FRAMES
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.matching import matched_order
from rigpact.reports.diagnosing.stage_error import ENOUGH, BriefFit, StageError, error_between, is_earned, stage_error

Changes = dict[str, Any]
FEW_FRAMES = 6
CLEARLY = 64.0
"""How many tolerances a replay is off where no bound of its own is derived for it."""


class Hypotheses:
    """Changes of conventions, judged on one recording. judged: stages that can be judged, in loop order."""

    def __init__(self, evidence: Evidence, contract: Contract, *, is_filter: bool = False) -> None:
        """Find the recorded stages that can be judged. is_filter: by bounds that cost less, and let more through."""
        self._is_filter = is_filter
        self.evidence, self.contract, self.graph = evidence, contract, contract.system.graph
        self._most_kept = 1 if len(evidence.frame) <= BLOCK else 0
        self._kept: dict[Hashable, FloatArray | None] = {}
        self._asked: tuple[Conventions | None, list[tuple[str, Any]]] = None, []
        self._errors: dict[tuple[str, frozenset[tuple[str, Any]]], StageError | None] = {}
        self._fits: dict[tuple[str, frozenset[tuple[str, Any]]], BriefFit | None] = {}
        self._orders: dict[tuple[str, frozenset[tuple[str, Any]]], Any] = {}
        self._earned: dict[tuple[str, frozenset[tuple[str, Any]], frozenset[tuple[str, Any]]], bool] = {}
        paths = {name: path_of(self.graph, name, evidence.recorded) for name in self.graph.names}
        self._knob_stages = {
            name: self.graph.stages_of(name) for name, knob in contract.system.knobs.items() if not knob.is_benign
        }
        self._knobs_of = {
            stage: tuple(knob for knob, stages in self._knob_stages.items() if not path.isdisjoint(stages))
            for stage, path in self._wide_paths(paths).items()
        }
        self._paths = {name: path for name, path in paths.items() if name in evidence.recorded}
        self.judged = [stage for stage in self._paths if self._has_verdict(stage)]

    def _wide_paths(self, paths: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
        """In a free run a stage also depends on what the frame before computed and did not record."""
        if self.evidence.mode != "free":
            return paths
        return {name: path_over_frames(self.graph, name, self.evidence.recorded) for name in paths}

    def _has_verdict(self, stage: str) -> bool:
        error = self.error(stage, {})
        return error is not None and error.judged > 0 and error.blind < ENOUGH

    @property
    def frame_count(self) -> int:
        """Number of recorded frames."""
        return len(self.evidence.frame)

    def matters(self, knob: str, stage: str) -> bool:
        """Whether a knob can change the replay of a recorded stage."""
        return knob in self._knobs_of[stage]

    def error(self, stage: str, changes: Mapping[str, Any]) -> StageError | None:
        """The error of a stage under some changes; None where the stage cannot be replayed.

        Only results of at most one change are stored, of a long recording those of none: more would fill the memory.
        """
        key = self._that_matter(changes, stage)
        if (stage, key) in self._errors:
            return self._errors[stage, key]
        error = self._replayed_error(stage, key)
        if len(key) <= self._most_kept:
            self._errors[stage, key] = error
        return error

    def fit(self, stage: str, changes: Mapping[str, Any]) -> BriefFit | None:
        """How well a stage fits some changes, stored for all of them; None where the stage cannot be replayed."""
        key = self._that_matter(changes, stage)
        if (stage, key) not in self._fits:
            error = self.error(stage, changes)
            self._fits[stage, key] = None if error is None else error.fit
        return self._fits[stage, key]

    def _that_matter(self, changes: Mapping[str, Any], stage: str) -> frozenset[tuple[str, Any]]:
        return frozenset((knob, value) for knob, value in changes.items() if self.matters(knob, stage))

    def _replayed_error(self, stage: str, key: frozenset[tuple[str, Any]]) -> StageError | None:
        """Also None for a value that this contract cannot have, such as whitened contacts without their slice."""
        try:
            frames = self._replayed(key)
            return (self._by_unchanged_bound(frames, stage) if key else None) or stage_error(
                frames, stage, few=self._is_filter
            )
        except OwnFunctionFailed:
            raise
        except UnusableInput:
            return None

    def _replayed(self, key: frozenset[tuple[str, Any]]) -> ReplayedFrames:
        return ReplayedFrames(self.evidence, self.contract.with_conventions(dict(key)), keep=self._keep)

    def is_as_recorded(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether a stage is under the changes what was recorded, to the bit: its error is 0, whatever its tolerance."""
        try:
            rows = self._replayed(self._that_matter(changes, stage)).computed(stage)
        except OwnFunctionFailed:
            raise
        except UnusableInput:
            return False
        return rows is not None and np.array_equal(rows, self.evidence.recorded[stage])

    def _by_unchanged_bound(self, frames: ReplayedFrames, stage: str) -> StageError | None:
        """The error of a stage behind an answer of the network, or of a drawn answer, in the tolerances without a change.

        None where it does not tell. The bound of an answer is most of a search's time. It grows with the network's inputs: a
        change that makes it CLEARLY times as wide would have to make them as much larger, and the errors of a right change are a
        small part of such a worst case. So a change is out where most frames are CLEARLY off. A bound that was drawn is not a
        worst case, so one value that is CLEARLY off tells, and a change that brings every value within it is in. Where the
        recording agrees without a change, it tells of every change. Between, a bound of few draws tells what does not fit.
        """
        error = self._errors.get((stage, frozenset()))
        if error is None or (error.judging is None and not self._answers.intersection(self._paths.get(stage, ()))):
            return None
        replayed = frames.computed(stage)
        if replayed is None or replayed.shape != error.recorded.shape:
            return None
        found = error_between(self.graph[stage], error.recorded, replayed, error.tolerance)
        off = np.any(found.excess > CLEARLY, axis=1)
        if error.judging is None:
            return found if 2 * np.count_nonzero(off) > len(off) else None
        if error.ok or found.ok or bool(off.any()):
            return found
        few = judging_bound(frames, stage, replayed, few=True)
        if self.evidence.precision is not None:
            few = few.widened(self.evidence.precision.error(error.recorded))
        found = error_between(self.graph[stage], error.recorded, replayed, few.bound)
        return None if found.ok or 2 * found.frames_within > found.frames_judged else found

    @cached_property
    def _answers(self) -> frozenset[str]:
        """Answers of a network whose bounds are left alone: those that were not recorded, and for a filter all of them."""
        return frozenset(name for name in self.graph.answers if self._is_filter or name not in self.evidence.recorded)

    def _keep(
        self, stage: str, conventions: Any, compute: Callable[[], FloatArray | None], what: str
    ) -> FloatArray | None:
        """Store a computed stage, or its bound, that replays under different conventions share."""
        changes = frozenset(pair for pair in self._changed(conventions) if pair[0] in self._knobs_of[stage])
        if (what, stage, changes) in self._kept:
            return self._kept[what, stage, changes]
        computed = compute()
        if len(changes) <= self._most_kept:
            self._kept[what, stage, changes] = computed
        return computed

    def _changed(self, conventions: Conventions) -> list[tuple[str, Any]]:
        """The choices that are not the contract's own. A replay asks for the same conventions again and again."""
        if conventions is not self._asked[0]:
            self._asked = conventions, list(conventions.changes_from(self.contract.conventions).items())
        return self._asked[1]

    def excess(self, stage: str, changes: Mapping[str, Any]) -> float:
        """Worst error of a stage in tolerances; infinite where the stage cannot be replayed under the changes."""
        fit = self.fit(stage, changes)
        return np.inf if fit is None else fit.worst_finite_excess

    def frames_within(self, stage: str, changes: Mapping[str, Any]) -> int:
        """Number of frames in which a stage is within its tolerance."""
        fit = self.fit(stage, changes)
        return 0 if fit is None else fit.frames_within

    def may_fit(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether every judged value of a stage fits the changes; a few frames show most that do not."""
        return self._may_fit_few(stage, changes) and self.excess(stage, changes) <= 1.0

    def _may_fit_few(self, stage: str, changes: Mapping[str, Any]) -> bool:
        few = self.few_frames if changes else None
        return few is None or stage not in few.judged or few.may_fit(stage, changes)

    def may_nearly_fit(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether a few frames leave it possible that most frames fit: half of them must."""
        few = self.few_frames
        if few is not None and not few.may_nearly_fit(stage, changes):
            return False
        fit = None if few is None or stage not in few.judged else few.fit(stage, changes)
        return fit is None or 2 * fit.frames_within >= fit.frames_judged

    def fits(self, stage: str, changes: Mapping[str, Any]) -> bool:
        """Whether a stage is within its tolerance under the changes, and enough of its values can be judged.

        A change must not fit because it makes values undetermined.
        """
        if not self.may_fit(stage, changes):
            return False
        fit, before = self.fit(stage, changes), self.fit(stage, {})
        if fit is None:
            return False
        if before is None:
            return True
        is_judged = fit.judged >= ENOUGH * before.judged and fit.undetermined <= before.undetermined
        return is_judged and self.earns(stage, changes, {})

    def earns(self, stage: str, changes: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
        """Whether the error of a stage falls from what it is under `base`, and not only its tolerance becomes wider."""
        key = stage, self._that_matter(changes, stage), self._that_matter(base, stage)
        if key[1] == key[2]:
            return True
        if key not in self._earned:
            before, after = self.error(stage, base), self.error(stage, changes)
            self._earned[key] = before is None or after is None or is_earned(self.graph[stage], before, after)
        return self._earned[key]

    def failing(self, changes: Mapping[str, Any]) -> list[str]:
        """The judged stages that are beyond their tolerance, in loop order."""
        return [stage for stage in self.judged if not self.fits(stage, changes)]

    def explains(self, changes: Mapping[str, Any]) -> bool:
        """Whether every judged stage is within its tolerance under the changes."""
        return all(self.fits(stage, changes) for stage in self._failing_first)

    def allows(self, changes: Mapping[str, Any]) -> bool:
        """Whether every judged value of every stage fits the changes: the stages behind fewer others are evaluated first."""
        stages = sorted(self.judged, key=lambda stage: len(self._paths[stage]))
        return all(self._may_fit_few(stage, changes) for stage in stages) and all(
            self.is_as_recorded(stage, changes) or self.excess(stage, changes) <= 1.0 for stage in stages
        )

    @cached_property
    def _failing_first(self) -> Sequence[str]:
        """The judged stages: those that fail without a change come first, for most changes fix none of them."""
        failing = self.failing({})
        return [*failing, *(stage for stage in self.judged if stage not in failing)]

    def worst_excess(self, changes: Mapping[str, Any]) -> float:
        """Worst error over all judged stages, in tolerances."""
        return max((self.excess(stage, changes) for stage in self.judged), default=np.inf)

    def singles(self, stages: Iterable[str], base: Mapping[str, Any]) -> list[Changes]:
        """Every single change, added to `base`, that can change one of the stages."""
        wanted = list(stages)
        return [
            {**base, name: value}
            for name in self._knob_stages
            if name not in base and any(self.matters(name, stage) for stage in wanted)
            for value in self._other_values(name, base)
        ]

    def _other_values(self, name: str, base: Mapping[str, Any]) -> Iterator[Any]:
        knob: Knob = self.contract.system.knobs[name]
        if isinstance(knob, ChannelOrder):
            order = self._matched(name, base)
            return iter(()) if order is None else iter((order,))
        if isinstance(knob, InputOrder) and self.evidence.network is None:
            return iter(())
        return knob.alternatives(self.contract.conventions[name])

    def _matched(self, name: str, changes: Mapping[str, Any]) -> Any:
        """The order of parts that best maps a replayed stage to the recorded one; None if it is the declared order."""
        stage = next((each for each in self.judged if self._has_parts(each) and self.matters(name, each)), None)
        if stage is None:
            return None
        key = stage, self._that_matter(changes, stage)
        if key not in self._orders:
            error = self.error(stage, changes)
            self._orders[key] = None if error is None else matched_order(error, self.contract)
        return self._orders[key]

    def _has_parts(self, stage: str) -> bool:
        return self.graph[stage].measure.parts is not None

    def pairs(self, singles: list[Changes], failing: Iterable[str], budget: Budget) -> Iterator[Changes]:
        """Every pair of single changes of different knobs, where each failing stage depends on one of the two.

        If the network's answer was not recorded, pairs contain only input orders that exchange two inputs.
        """
        wanted = set(failing)
        if not set(self.graph.answers) & set(self.judged):
            singles = [changes for changes in singles if self._exchanges_two_inputs_at_most(changes)]
        knobs = [list(changes)[-1] for changes in singles]  # the last change is the new one; the others are the base
        reach = {knob: {stage for stage in wanted if self.matters(knob, stage)} for knob in knobs}
        orders = {name for name, knob in self.contract.system.knobs.items() if isinstance(knob, ChannelOrder)}
        reached = [self._left_alone(changes, wanted) for changes in singles]
        for (first, one, left), (second, other, also) in combinations(
            list(zip(singles, knobs, reached, strict=True)), 2
        ):
            if (
                one != other
                and not orders & {one, other}
                and reach[one] | reach[other] == wanted
                and not (left & also).any()
            ):
                yield {**first, **second}
        yield from self._repairs(singles, wanted, budget)
        for changes in singles:
            for name in orders - set(changes):
                order = self._matched(name, changes)
                if order is not None:
                    yield {**changes, name: order}

    def _left_alone(self, changes: Changes, stages: Iterable[str]) -> NDArray[np.bool_]:
        """Which channels that differ the last change leaves as they are in every frame, those of all stages in one array.

        What two changes both leave alone they do not mend together. Of a long recording some frames tell.
        """
        base = dict(list(changes.items())[:-1])
        few = self.few_frames
        told = self if few is None or len(self.evidence.frame) <= BLOCK else few
        return np.concatenate([told._kept_channels(changes, base, stage) for stage in stages])

    def _kept_channels(self, changes: Changes, base: Changes, stage: str) -> NDArray[np.bool_]:
        error = self.error(stage, base)
        if error is None:
            return np.zeros(0, bool)
        try:
            rows = self._replayed(self._that_matter(changes, stage)).computed(stage)
        except OwnFunctionFailed:
            raise
        except UnusableInput:
            rows = None  # beside another change it may be one
        if rows is None or rows.shape != error.replayed.shape:
            return np.zeros(error.excess.shape[1], bool)
        with np.errstate(invalid="ignore"):
            differs = (error.excess > 1.0).any(axis=0)
        return np.asarray(differs & (rows == error.replayed).all(axis=0))

    def _repairs(self, singles: list[Changes], wanted: set[str], budget: Budget) -> Iterator[Changes]:
        """Pairs: one change that breaks a stage outside `wanted`, and one that only repairs such a stage."""
        for first in budget.within(singles, "pairs of which one repairs what the other breaks"):
            broken = set(self.failing(first)) - wanted
            base = dict(list(first.items())[:-1])
            for second in self.singles(broken, base):
                knob = list(second)[-1]
                if knob not in first and not any(self.matters(knob, stage) for stage in wanted):
                    yield {**first, **second}

    def _exchanges_two_inputs_at_most(self, changes: Changes) -> bool:
        for name, value in changes.items():
            if isinstance(self.contract.system.knobs[name], InputOrder):
                declared = self.contract.conventions[name]
                return sum(bool(one != other) for one, other in zip(value, declared, strict=True)) <= 2
        return True

    @cached_property
    def few_frames(self) -> Hypotheses | None:
        """The same hypotheses on a few frames, as a fast filter: changes that fit all frames also fit these.

        The frames are both ends of the recording, where histories begin and end, and those around the worst frame; of a long
        one SEARCHED_FRAMES around that. Where a run from the start gives what nothing records, they are those where it differs
        first. None for short runs, and for systems that evaluate a whole window at once.
        """
        frames = len(self.evidence.frame)
        if frames <= 2 * FEW_FRAMES or self.contract.system.windowed:
            return None
        excess = np.zeros(frames)
        for stage in self.judged:
            error = self.error(stage, {})
            if error is not None:
                excess = np.maximum(excess, np.nan_to_num(error.excess).max(axis=1))
        if self.evidence.fed_back is not None:  # a run from the start ends sooner
            first = int(np.argmax(excess > 1.0))
            rows = [*range(max(0, first - 1), min(frames, first + FEW_FRAMES))]
        else:
            worst = min(max(int(np.argmax(excess)), 1), frames - 1)
            rows = sorted({0, 1, worst - 1, worst, frames - 2, frames - 1})
            if frames > 2 * SEARCHED_FRAMES:
                start = max(0, min(worst - SEARCHED_FRAMES // 2, frames - SEARCHED_FRAMES))
                rows = list(range(start, start + SEARCHED_FRAMES))
        return Hypotheses(self.evidence.at_rows(rows), self.contract, is_filter=True)

    def own_products(self, stage: str, limit: int) -> Iterator[Changes]:
        """Every combination of three or more knobs that act only on this stage's path, if there are few enough."""
        knobs = [
            knob
            for name, knob in self.contract.system.knobs.items()
            if self.matters(name, stage) and self._knob_stages[name] <= self._paths[stage]
        ]
        knobs = [knob for knob in knobs if not isinstance(knob, ChannelOrder | InputOrder)]
        if np.prod([len(knob.values) for knob in knobs], initial=1.0) > limit:
            return
        current = self.contract.conventions
        for chosen in product(*(knob.values for knob in knobs)):
            pairs = zip(knobs, chosen, strict=True)
            changes = {knob.name: value for knob, value in pairs if value != current[knob.name]}
            if len(changes) > 2:
                yield changes
