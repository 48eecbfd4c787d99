"""The stages of a contract in C++: as steps, as `rigpact codegen` writes its loop; as frames, between two answers one call.

`plan.hpp` writes into the memory of the frames, and Python calls the networks. What a free run starts from is Python's too.
"""

from __future__ import annotations

import ctypes as c
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.declared.vocabulary import operations_of_rigpact
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.plan import CPP_OPERATIONS, STARTS, TARGET, Chosen, Read, Step, moved
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames
from rigpact.reference_runtime.graph.replayed import source_of
from rigpact.reference_runtime.graph.run import ROOM, Drive, LiveFrames, as_it_is
from rigpact.reference_runtime.native.library import library


def stage_without_cpp(contract: Contract, *, takes_own: bool = False) -> Stage | None:
    """The first stage that C++ cannot compute; None where there is none. takes_own: C++ that operations bring is there too."""
    every: tuple[Stage, ...] = contract.system.stages
    for stage in every:
        is_given = stage.comes_from_outside and not stage.carried_fields
        if not is_given and not stage.is_answer:
            try:
                step = planned_step(stage, contract)
            except NotKnown:
                continue  # there is no such stage under these conventions
            if step is None or (step.operation not in CPP_OPERATIONS if step.cpp is None else not takes_own):
                return stage
    return None


def planned_step(stage: Stage, contract: Contract, fps: float | None = None) -> Step | None:
    """The step that computes a stage under the contract's conventions; None where it has none.

    fps: of the run, where it is not the contract's. `NotKnown` where these conventions have no such stage.
    """
    frames = KnownFrames(contract, {})
    frames.fps = fps or frames.fps
    return None if stage.planned is None else stage.planned(frames)


def fed_back(stage: Stage, contract: Contract) -> Step:
    """The step by which a free run takes a stage over from the frame before."""
    width = stage.fields(contract).width
    return moved([Read(source_of(stage, KnownFrames(contract, {})), -1)], [width], range(width))


def word_number(step: Step, word: int | str | Chosen) -> int:
    """A word of a step as a number: readings as `vocabulary/readings.hpp` numbers them."""
    if isinstance(word, Chosen):
        return word.number
    return operations_of_rigpact()[step.operation].number_of(word) if isinstance(word, str) else word


_OPERATIONS = tuple(CPP_OPERATIONS)
CLIP = "clip"
"""In place of what stands before frame 0: the row is the clip's own, of the same frame."""


class TableStruct(c.Structure):
    """`PlanTable`."""

    _fields_ = (
        ("lanes", c.c_void_p), ("stride", c.c_ssize_t), ("rows", c.c_void_p), ("width", c.c_int), ("repeats", c.c_int),
        ("kept", c.c_int),
    )  # fmt: skip


class ReadStruct(c.Structure):
    """`PlanRead`."""

    _fields_ = (("table", c.c_int), ("lag", c.c_int), ("start", c.c_int))


class StepStruct(c.Structure):
    """`PlanStep`."""

    _fields_ = tuple(
        (name, c.c_int)
        for name in ("operation", "out", "first_read", "first_word", "first_number", "reads", "from_frame")
    )


def refuse_without_twin(contract: Contract) -> None:
    """UnusableInput if a stage of the contract is computed by something that C++ does not have."""
    if contract.system.windowed:
        raise UnusableInput("--engine native", "a system of windows", "a system of frames", "take --engine numpy")
    stage = stage_without_cpp(contract)
    if stage is not None:
        found = f"the stage {stage.name}, which has no form in C++"
        raise UnusableInput("--engine native", found, "operations of rigpact's own", "take --engine numpy, or auto")


class NativeFrames(LiveFrames):
    """`LiveFrames` whose stages C++ computes.

    With `keeps` (its number does not matter) the memory is a ring: of a free run only what its stages look back to is kept.
    """

    _plan: Plan | None = None

    def step(self) -> None:
        """Compute every stage of the next frame."""
        self.run(1)

    def record(self, frames: Iterable[int]) -> dict[str, FloatArray]:
        """Compute the next frames and return every stage that they have, (T, runs, width)."""
        self._begin()
        begin, count = int(self.frame[0]) + 1, sum(1 for _ in frames)
        if not self.is_ring:
            self.run(count)
            return {name: rows[begin : begin + count].copy() for name, rows in self._in_order()}
        found: dict[str, FloatArray] = {}
        for first in range(begin, begin + count, max(1, self.count)):
            part = np.arange(first, min(first + self.count, begin + count))
            self.run(len(part))
            for name, rows in self._in_order():
                whole = found.setdefault(name, np.empty((count, *rows.shape[1:]), np.float32))
                whole[part - begin] = rows[part % self.count]
        return found

    def _in_order(self) -> Iterator[tuple[str, FloatArray]]:
        return ((name, self.kept[name]) for name in self._graph.names if name in self.kept)

    def make_room(self, frames: int) -> None:
        """Memory for so many frames; what C++ knew of the memory before is forgotten."""
        if not self.is_ring and frames > self.count:
            self._plan = None
        super().make_room(frames)

    def run(self, count: int) -> None:
        """Compute the next frames."""
        if not count:
            return
        if not self.is_ring:
            self.make_room(int(self.frame[0]) + 1 + count)
        if self._plan is None:
            self._begin()
            self._plan = Plan(self)
        self._plan.run(self, count)

    def _begin(self) -> None:
        """Find the stages that can be known, make their memory, and write what the run starts from; once."""
        if self.kept:
            return
        self.frame, widths, starts = self.frame + 1, dict[str, int](), dict[str, FloatArray]()
        for stage in self._stages:
            try:
                if stage.carried is not None:
                    starts[stage.name] = self._changed.get(stage.name, as_it_is)(self, self._rows(stage))
                elif not stage.is_answer or self._clip(stage.name, 0) is not None:
                    self._refuse_unknown(stage, widths)
                elif not all(name in widths for name in stage.needs) or self._network is None:
                    continue
            except NotKnown:
                continue
            widths[stage.name] = self._width(stage)
        self._computed = set(widths)
        if self.is_ring:
            deepest = max((-read.lag for step in self._steps(widths) for read in step.reads), default=0)
            whole = 4 * len(self.frame) * sum(widths.values())
            self.count = max(1 + deepest, min(ROOM, _RING_BYTES // max(whole, 1)))
        for name, width in widths.items():
            self.kept[name] = np.full((self.count, len(self.frame), width), np.nan, np.float32)
        for name, rows in starts.items():
            self.kept[name][0] = rows
        self.frame = self.frame - 1

    def _width(self, stage: Stage) -> int:
        """As the clips have it, where they give the stage: the vector of a file may be another than the contract's."""
        rows = self.drives[0].rows(stage.name) if _of_clip(stage, self.drives) else None
        return stage.fields(self.contract).width if rows is None else int(rows.shape[1])

    def _steps(self, widths: Collection[str]) -> Iterator[Step]:
        for stage in self._stages:
            step = planned_step(stage, self.contract, self.fps) if stage.name in widths else None
            if step is not None:
                yield step

    def _refuse_unknown(self, stage: Stage, known: Collection[str]) -> None:
        """`NotKnown` for a stage that nothing gives, or that reads one in its own frame that nothing gives."""
        if _of_clip(stage, self.drives):
            return
        step = planned_step(stage, self.contract, self.fps)
        if step is None and stage.start is None:
            raise NotKnown(stage.name)
        for read in () if step is None else step.reads:
            if read.lag == 0 and read.stage not in known:
                raise NotKnown(read.stage)


_RING_BYTES = 1 << 19
"""A ring of a small crowd has so many bytes of frames: more of them are recorded at once, and it stays in a core's cache."""


def _of_clip(stage: Stage, drives: Sequence[Drive]) -> bool:
    """Whether the clips give a stage as it is."""
    return all(drive.rows(stage.name) is not None if stage.from_clip else stage.name in drive.given for drive in drives)


class Plan:
    """The stages of frames that have begun, as steps and as answers of a network."""

    def __init__(self, frames: NativeFrames) -> None:
        """Write the steps down; each stage that can be known has one, or is an answer."""
        self._call, tables, steps = library(), _Tables(frames), list[tuple[str, Step]]()
        known = [stage for stage in frames.contract.system.graph if stage.name in frames.kept]
        self._carried = {stage.name for stage in known if stage.carried is not None and frames.mode == "free"}
        self._parts: list[tuple[int, int] | Sequence[Stage]] = []
        # recorded answers stand in the clip: only the others are asked for
        for is_asked, stages in groupby(known, lambda stage: stage.is_answer and not _of_clip(stage, frames.drives)):
            if is_asked:
                self._parts.append(list(stages))
                continue
            first = len(steps)
            steps.extend((stage.name, _step_of(stage, frames)) for stage in stages)
            self._parts.append((first, len(steps)))
        self._kept: Any = None  # what C++ holds pointers into
        self._direct: dict[tuple[str, int], Callable[[], None] | None] = {}
        self._plan = self._made(tables, steps, len(frames.frame), frames.mode == "free")
        weakref.finalize(self, self._call.rigpact_plan_delete, self._plan)

    def _made(self, tables: _Tables, steps: Sequence[tuple[str, Step]], characters: int, is_free: bool) -> Any:  # noqa: FBT001 - one caller
        reads, words, numbers, structs = list[ReadStruct](), list[int](), list[float](), list[StepStruct]()
        for name, step in steps:
            starts = len(reads), len(words), len(numbers), len(step.reads)
            from_frame = int(name in self._carried)
            structs.append(StepStruct(_OPERATIONS.index(step.operation), tables.number(name), *starts, from_frame))
            reads.extend(map(tables.read, step.reads))
            words.extend(word_number(step, word) for word in step.words)
            numbers.extend(map(float, step.numbers))
        lists = (TableStruct, tables.structs), (ReadStruct, reads), (StepStruct, structs), (c.c_int, words)
        arrays = [_array(*each) for each in lists], _array(c.c_double, numbers)
        self._kept = tables.kept, arrays
        most_reads = max((len(step.reads) for _, step in steps), default=0)
        return self._call.rigpact_plan(
            *arrays[0], arrays[1], characters, max(tables.widths, default=1), most_reads, is_free
        )

    def run(self, frames: NativeFrames, count: int) -> None:
        """Compute the next frames of these."""
        begin = int(frames.frame[0]) + 1
        if len(self._parts) == 1 and isinstance(self._parts[0], tuple) and count <= frames.count:
            self._call.rigpact_plan_run(self._plan, begin, count, *self._parts[0])
            frames.frame = frames.frame + count
            return
        call, plan = self._call.rigpact_plan_run, self._plan
        for frame in range(begin, begin + count):
            frames.frame.fill(frame)  # all runs are at the same one
            for part in self._parts:
                if isinstance(part, tuple):
                    call(plan, frame, 1, *part)
                    continue
                for stage in part:
                    direct = self._direct.get((stage.name, frame % frames.count))
                    if direct is None:
                        self._ask(stage, frames, frame % frames.count)
                    else:
                        direct()

    def _ask(self, stage: Stage, frames: NativeFrames, row: int) -> None:
        """The network's answer; where it is asked again from the same memory, it will need no copies."""
        frames.kept[stage.name][row] = stage.computed(frames)
        if stage.in_place is not None and (stage.name, row) not in self._direct and frames.is_ring:
            self._direct[stage.name, row] = stage.in_place(frames)


def _step_of(stage: Stage, frames: NativeFrames) -> Step:
    """What computes a stage in every frame; what a free run feeds back, from the second on."""
    width = frames.kept[stage.name].shape[-1]
    if stage.carried is not None and frames.mode == "free":
        return fed_back(stage, frames.contract)
    if _of_clip(stage, frames.drives):
        return moved([Read(stage.name, start=CLIP)], [width], range(width))
    step = planned_step(stage, frames.contract, frames.fps)
    if step is not None:
        return step
    if stage.start is not None:
        return Step("constant", (), numbers=stage.start(frames.contract))
    raise NotKnown(stage.name)


class _Tables:
    """The memory of the frames and of their clips, as plan.hpp reads and writes it."""

    def __init__(self, frames: LiveFrames) -> None:
        self._frames, self._numbers, self._rows = frames, dict[tuple[str, int], int](), dict[int, FloatArray]()
        self.structs, self.widths, self.kept = list[TableStruct](), list[int](), list[NDArray[Any]]()

    def number(self, stage: str) -> int:
        """The place of a stage's table: what the frames keep of it."""
        kept = self._frames.kept[stage]
        _, lanes, width = kept.shape
        addresses = kept.ctypes.data + 4 * width * np.arange(lanes, dtype=np.uintp)
        return self._numbered((stage, 0), addresses, lanes * width, None, width)

    def read(self, read: Read) -> ReadStruct:
        """Where a step reads; frames that are not computed yet come from the clip."""
        number, lag = -1, read.lag
        if read.start == TARGET:
            number, lag = self._of_clip(read.stage, read.lag), 0
        elif read.lag > 0 or read.start == CLIP:
            number = self._of_clip(read.stage, 0)
        elif read.stage in self._frames.kept:
            number = self.number(read.stage)
        return ReadStruct(number, lag, STARTS.index(read.start) if read.start in STARTS else 0)

    def _of_clip(self, stage: str, ahead: int) -> int:
        """The clips' rows, or those behind them: the last of these has one before it. -1 where a clip has none."""
        frames, is_free = self._frames, self._frames.mode == "free"
        found = [drive.rows(stage) for drive in frames.drives]
        known = [each for each in found if each is not None and len(each) > ahead]
        if len(known) < len(found):
            return -1
        rows = [self._floats(each) for each in known]
        width = rows[0].shape[1]
        addresses = np.array([each.ctypes.data + 4 * width * ahead for each in rows], np.uintp)
        steps = [len(each) - ahead for each in rows] if ahead else [drive.steps for drive in frames.drives]
        counts = np.array(steps if is_free else [min(steps)] * len(steps), np.intc)
        return self._numbered((stage, 1 + ahead), addresses, width, counts, width, repeats=is_free)

    def _numbered(
        self,
        key: tuple[str, int],
        lanes: NDArray[np.uintp],
        stride: int,
        rows: NDArray[np.intc] | None,
        width: int,
        *,
        repeats: bool = False,
    ) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.structs)
            self.kept.extend(each for each in (lanes, rows) if each is not None)
            counts = None if rows is None else rows.ctypes.data
            self.structs.append(TableStruct(lanes.ctypes.data, stride, counts, width, repeats, self._frames.count))
            self.widths.append(width)
        return self._numbers[key]

    def _floats(self, rows: FloatArray) -> FloatArray:
        """The rows in C's order and float32, once for all characters that share them."""
        if id(rows) not in self._rows:
            self._rows[id(rows)] = np.ascontiguousarray(rows, np.float32)
            self.kept.extend((rows, self._rows[id(rows)]))  # its id stays its own
        return self._rows[id(rows)]


def _array(kind: Any, values: Iterable[Any]) -> Any:
    every = list(values)
    return (kind * len(every))(*every)
