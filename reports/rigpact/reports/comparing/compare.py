"""Compare two recordings per stage, bone and frame, and find the first divergence.

Every value that either side declares is compared, waived with a reason, or missing; the ledger counts all three. This
module only measures: judgement.py makes findings, and allowance.py gives the tolerances.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, character_of, skeleton_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.replayed import check_widths
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reports.comparing.allowance import Allowance
from rigpact.reports.comparing.pose_meter import Baseline, PoseError, PoseMeter, Targets, targets_of
from rigpact.reports.comparing.stage_comparison import Address, StageComparison, StageMeter, channel_address
from rigpact.reports.terminal import tracked


@dataclass(frozen=True, eq=False)
class Pairs:
    """The frames that both sides have; where one is a free run, those before a gap. rows_a, rows_b: the rows of each side.

    union: number of frames of either side. behind_a_gap: number of shared frames that follow a frame which was not recorded.
    teacher: holds the clip's own poses.
    """

    a: Recording
    b: Recording
    frames: NDArray[np.int64]
    rows_a: NDArray[np.int64]
    rows_b: NDArray[np.int64]
    union: int
    behind_a_gap: int
    teacher: Recording | None

    @property
    def is_free(self) -> bool:
        """Whether at least one side is a free run."""
        return _is_free(self.a, self.b)

    def values(self, part: slice, stages: Sequence[str]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Each side's values of the stages that it has, for some shared frames."""
        sides = (self.a.trace.stages, self.rows_a[part]), (self.b.trace.stages, self.rows_b[part])
        of_a, of_b = ({name: own[name][rows] for name in stages if name in own} for own, rows in sides)
        return of_a, of_b

    def left_out(self, system: System) -> Mapping[str, NDArray[np.bool_]]:
        """For some stages: the shared frames at which they depend on a later frame that is not shared, (T,)."""
        ahead = {} if self.is_free else {each.name: each.driven_ahead for each in system.graph if each.driven_ahead}
        found = {name: ~np.isin(self.frames + frames, self.frames) for name, frames in ahead.items()}
        return {name: rows for name, rows in found.items() if rows.any()}

    def targets(self) -> Targets:
        """The clip's own poses: of the teacher, else of the side that holds them."""
        if self.teacher is not None:
            sides = (self.a, self.rows_a), (self.b, self.rows_b)
            own = [Targets(side, rows) for side, rows in sides if side.poses6d is not None]
            return targets_of(self.teacher, self.frames, own)
        holder, rows = (self.a, self.rows_a) if self.a.poses6d is not None else (self.b, self.rows_b)
        return Targets(holder, rows)

    def release(self) -> None:
        """Free the memory of the rows that were read."""
        self.a.trace.release()
        self.b.trace.release()


def before_a_gap(frames: NDArray[np.int64]) -> slice:
    """The first frames, up to one that is missing: a free run feeds itself, so later frames cannot be judged from here."""
    gaps = np.flatnonzero(np.diff(frames) != 1)
    return slice(0, int(gaps[0]) + 1 if len(gaps) else len(frames))


def _is_free(a: Recording, b: Recording) -> bool:
    return "free" in (a.trace.header.mode, b.trace.header.mode)


NEXT_NOT_RECORDED = "the clip gives them the frame after, which is not recorded"
FRAMES_AT_ONCE = 256
"""Frames per piece: bounds the memory of a comparison, whatever the length of the recordings."""


@dataclass(frozen=True, eq=False)
class SomeBones:
    """What a comparison of some bones rests on.

    whole_stages: those that both sides have with all bones. held: for each recording of some bones, the bones it holds.
    """

    bones: tuple[str, ...]
    not_recorded: tuple[str, ...]
    whole_stages: tuple[str, ...]
    held: Mapping[Path, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything measured between two recordings; judgement.py turns it into findings.

    frames: those that were judged. union: number of frames of either side. behind_a_gap: number of shared frames of a free
    run that follow a frame which was not recorded.
    """

    a: Recording
    b: Recording
    contract: Contract | None
    bones: Sequence[str]
    frames: NDArray[np.int64]
    stages: Mapping[str, StageComparison]
    waived: Mapping[str, str]
    missing: Mapping[str, Finding]
    pose: PoseError | None
    baseline: Baseline | None
    inheriting: Collection[str]
    """Stages that inherit a difference from the stages before them."""
    union: int
    behind_a_gap: int
    some_bones: SomeBones | None = None

    def contract_of(self, stage: str) -> Contract | None:
        """The contract that gives a stage its channels: of all bones, where both sides have the stage with all."""
        is_whole = self.some_bones is not None and stage in self.some_bones.whole_stages
        return self.contract.whole if is_whole and self.contract is not None else self.contract

    @property
    def left_out(self) -> Mapping[str, int]:
        """Frames of a stage that nobody can judge, because the clip gives them a later frame that is not recorded."""
        return {name: result.left_out for name, result in self.stages.items() if result.left_out}

    def numbers_of_others(self, stage: str) -> int:
        """How many numbers of a stage's frame belong to bones that are not compared."""
        own = self.contract
        if self.some_bones is None or own is None or own.whole is None or stage in self.some_bones.whole_stages:
            return 0
        return int(own.whole.fields(stage).width - own.fields(stage).width)

    @cached_property
    def accounts(self) -> Mapping[str, Ledger]:
        """What became of the values of each stage that either side holds, over the frames of either side.

        Of the values that could not be judged, those of a network's answers are waived, those that depend on a frame that nobody
        recorded, and those of bones that are not compared; all others are missing.
        """
        sides = self.a.trace.widths, self.b.trace.widths
        held = {name: max(side.get(name, 0) for side in sides) for name in self.stage_order}
        return {name: self._account(name, width) for name, width in held.items() if width}

    def _account(self, name: str, width: int) -> Ledger:
        others, result = self.union * self.numbers_of_others(name), self.stages.get(name)
        declared = self.union * width + others
        if name in self.waived or result is None:
            return Ledger(declared, 0, declared if name in self.waived else others)
        unjudged = result.total - result.judged_total + result.left_out_total + result.unknown - self.undetermined(name)
        return Ledger(declared, result.compared_total, others + unjudged)

    @property
    def ledger(self) -> Ledger:
        """The account of all stages."""
        own = self.accounts.values()
        return Ledger(*(sum(getattr(each, name) for each in own) for name in ("declared", "compared", "waived")))

    def undetermined(self, stage: str) -> int:
        """How many values of a stage differ, but have a tolerance that spans their whole range: they are missing.

        A network's answers to different inputs do not belong to them: they are waived.
        """
        return 0 if stage in self.answers or stage not in self.stages else self.stages[stage].unknown

    def address(self, stage: str, channel: int) -> Address:
        """Name the place of a channel."""
        return channel_address(stage, channel, self.contract_of(stage), self.bones)

    @property
    def posed(self) -> str:
        """The stage that holds the published rotations of the bones."""
        return _system_of(self.contract).posed

    @property
    def answers(self) -> frozenset[str]:
        """The stages that are a network's answers."""
        return frozenset(_system_of(self.contract).graph.answers)

    @property
    def stage_order(self) -> Sequence[str]:
        """Every stage that a recording can hold, in the order of the loop."""
        return _system_of(self.contract).graph.names

    @property
    def first_divergence(self) -> tuple[int, str] | None:
        """The first frame that differs, and in it the first stage of the loop that differs."""
        order = list(self.stage_order)
        starts = [(result.first_frame_over, order.index(name)) for name, result in self.stages.items()]
        first = min(((frame, place) for frame, place in starts if frame is not None), default=None)
        return None if first is None else (first[0], order[first[1]])


def compare(
    a: Recording,
    b: Recording,
    contract: Contract | None = None,
    *,
    only: Collection[str] = (),
    network: Any = None,
    teacher: Recording | None = None,
) -> Comparison:
    """Measure two recordings against each other, frame numbers aligned.

    contract: gives tolerances, bone names and the skeleton; without a contract only poses can be judged. only: stages
    to compare; the others count as waived. network: the model of both sides, which gives the tolerance of its answers.
    A recording of some bones is compared on these; diff.py puts that together.
    teacher: holds the clip's own poses, which both sides should reach.
    Raises UnusableInput when `only` names a stage that neither side has.
    """
    graph = _system_of(contract).graph
    frames, rows_a, rows_b = np.intersect1d(a.trace.frame, b.trace.frame, assume_unique=True, return_indices=True)
    judged = before_a_gap(frames) if _is_free(a, b) else slice(None)
    union, behind = len(a.trace.frame) + len(b.trace.frame) - len(frames), len(frames) - len(frames[judged])
    pairs = Pairs(a, b, frames[judged], rows_a[judged], rows_b[judged], union, behind, teacher)
    held = [name for name in graph.names if name in a.trace.stages or name in b.trace.stages]
    for name in only:
        if name not in held:
            raise UnusableInput(f"--stage {name}", "a stage that neither side recorded", f"one of {', '.join(held)}")
    waived = dict(_waived(a, b, held, only, contract))
    missing = dict(_missing(a, b, [name for name in held if name not in waived]))
    chosen = [name for name in held if name not in waived and name not in missing and len(pairs.frames)]
    if contract is not None:
        check_widths(contract, {name: a.trace.stages[name] for name in chosen}, a.path)
    # the other stages, of one side alone too, show what the asked ones inherit
    known = [name for name in held if _fits(name, a, contract) and _fits(name, b, contract)]
    precisions = a.trace.precision, b.trace.precision
    allowance = Allowance(contract, pairs.frames, is_free=pairs.is_free, precisions=precisions, network=network)
    stages, pose, baseline = _measure(pairs, known, chosen, contract, allowance)
    answers = [name for name in graph.answers if name in stages]
    for name, reason in list(_wholly_unjudged(stages, answers)):
        waived[name] = reason
        del stages[name]
    bones = bone_names_of(contract) or a.bone_names or b.bone_names or ()
    measured = stages, waived, missing, pose, baseline, allowance.inheriting
    return Comparison(a, b, contract, bones, pairs.frames, *measured, pairs.union, pairs.behind_a_gap)


def _wholly_unjudged(stages: Mapping[str, StageComparison], answers: Collection[str]) -> Iterator[tuple[str, str]]:
    for name, result in stages.items():
        if result.frame_count and result.left_out == result.frame_count:
            yield name, NEXT_NOT_RECORDED
        elif name in answers and result.unknown and result.unknown == result.judged_total:
            yield name, "the network's inputs differ"


def _waived(
    a: Recording, b: Recording, held: Sequence[str], only: Collection[str], contract: Contract | None
) -> Iterator[tuple[str, str]]:
    for name in held:
        impossible = [side for side in (a, b) if name not in side.possible]
        if only and name not in only:
            yield name, "not asked for"
        elif impossible:
            yield name, f"a {impossible[0].title} cannot hold it"
        elif contract is None and name != "y_out":
            yield name, "its tolerance needs the bundle's statistics (--contract)"


def _fits(name: str, side: Recording, contract: Contract | None) -> bool:
    """Whether a side's values of a stage, if it has any, are as wide as the contract says."""
    width = side.trace.widths.get(name)
    return contract is None or width is None or contract.fields(name).width in (0, width)


def _missing(a: Recording, b: Recording, names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    for name in names:
        rows_a, rows_b = a.trace.stages.get(name), b.trace.stages.get(name)
        if rows_a is None or rows_b is None:
            holder, other = (b, a) if rows_a is None else (a, b)
            yield name, rules.STAGE_NOT_COMPARED.at(other.path, f"/stages/{name}", stage=name, holder=holder.path.name)
        elif rows_a.shape[1] != rows_b.shape[1]:
            widths = {"width_a": rows_a.shape[1], "width_b": rows_b.shape[1]}
            sides = {"name_a": a.path.name, "name_b": b.path.name}
            yield name, rules.WIDTH_DIFFERS.at(b.path, f"/stages/{name}", stage=name, **widths, **sides)


def _measure(
    pairs: Pairs,
    known: Sequence[str],
    chosen: Sequence[str],
    contract: Contract | None,
    allowance: Allowance,
) -> tuple[dict[str, StageComparison], PoseError | None, Baseline | None]:
    system, frames = _system_of(contract), pairs.frames
    left_out = pairs.left_out(system)
    meters = {name: StageMeter(name, pairs.a.trace.widths[name], system.graph[name].measure) for name in chosen}
    poses = _pose_meter(pairs, contract) if system.posed and system.posed in meters else None
    starts = range(0, len(frames), FRAMES_AT_ONCE) if meters else range(0)
    for start in tracked(starts, "frames, some hundred at a time"):
        part = slice(start, start + FRAMES_AT_ONCE)
        around = slice(max(start - allowance.back, 0), start + FRAMES_AT_ONCE + allowance.ahead)
        of_a, of_b = pairs.values(around, known)
        allowed = allowance.of(of_a, of_b, around, part)
        inside = slice(part.start - around.start, part.start - around.start + FRAMES_AT_ONCE)
        for name, meter in meters.items():
            sides, unknown = (of_a[name][inside], of_b[name][inside]), left_out.get(name)
            meter.add(*sides, allowed[name], None if unknown is None else unknown[part])
        if poses is not None:
            poses.add(part, of_a[system.posed][inside], of_b[system.posed][inside])
        pairs.release()
    stages = {name: meter.result(frames) for name, meter in meters.items()}
    return stages, *(poses.result(frames) if poses else (None, None))


def _pose_meter(pairs: Pairs, contract: Contract | None) -> PoseMeter:
    codec = Rot6d(contract.conventions if contract else _system_of(None).conventions())
    place = character_of(contract).output[ROTATIONS].range if contract else slice(None)
    six = len(range(pairs.a.trace.widths["y_out"])[place])
    if six % 6:
        where, hint = f"{pairs.a.path}#/stages/y_out", "--contract FILE says which of them are rotations"
        raise UnusableInput(where, f"{six} numbers", "6 for each bone", hint)
    return PoseMeter(pairs.targets(), codec, place, skeleton_of(contract), six)


def _system_of(contract: Contract | None) -> System:
    return find_system(ENEMY_ANIMATION) if contract is None else contract.system
