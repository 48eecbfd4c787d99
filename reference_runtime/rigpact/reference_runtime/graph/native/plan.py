"""Frames of a declared system in C++: the stages between two answers of a network are one call.

The first frame is numpy's: it shows which stages are known, and how wide they are. From then on `plan.hpp` writes into the
same memory, and Python calls the networks.
"""

from __future__ import annotations

import ctypes as c
import weakref
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.plan import CPP_OPERATIONS, STARTS, Read, Step, moved
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.native.steps import fed_back, planned_step, stage_without_cpp, word_number
from rigpact.reference_runtime.graph.run import LiveFrames
from rigpact.reference_runtime.native.library import library

_OPERATIONS = tuple(CPP_OPERATIONS)
CLIP = "clip"
"""In place of what stands before frame 0: the row is the clip's own, of the same frame."""


class TableStruct(c.Structure):
    """`PlanTable`."""

    _fields_ = (
        ("lanes", c.c_void_p), ("stride", c.c_ssize_t), ("rows", c.c_void_p), ("width", c.c_int), ("repeats", c.c_int),
    )  # fmt: skip


class ReadStruct(c.Structure):
    """`PlanRead`."""

    _fields_ = (("table", c.c_int), ("lag", c.c_int), ("start", c.c_int))


class StepStruct(c.Structure):
    """`PlanStep`."""

    _fields_ = tuple(
        (name, c.c_int) for name in ("operation", "out", "first_read", "first_word", "first_number", "reads")
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
    """`LiveFrames` whose stages C++ computes from the second frame on."""

    _plan: Plan | None = None

    def step(self) -> None:
        """Compute every stage of the next frame."""
        self.run(1)

    def record(self, frames: Iterable[int]) -> dict[str, FloatArray]:
        """Compute the next frames and return every stage that they have, (T, runs, width)."""
        begin = int(self.frame[0]) + 1
        self.run(sum(1 for _ in frames))
        end = int(self.frame[0]) + 1
        return {name: self.kept[name][begin:end].copy() for name in self._graph.names if name in self.kept}

    def make_room(self, frames: int) -> None:
        """Memory for so many frames; what C++ knew of the memory before is forgotten."""
        if frames > self.count:
            self._plan = None
        super().make_room(frames)

    def run(self, count: int) -> None:
        """Compute the next frames."""
        self.make_room(int(self.frame[0]) + 1 + count)
        if count and self.frame[0] < 0:
            super().step()
            count -= 1
        if self._plan is None and count:
            self._plan = Plan(self)
        if self._plan is not None:
            self._plan.run(self, count)


class Plan:
    """The stages of frames that have begun, as steps and as answers of a network."""

    def __init__(self, frames: LiveFrames) -> None:
        """Write the steps down; each stage that the first frame knows has one, or is an answer."""
        self._call, tables, steps = library(), _Tables(frames), list[tuple[str, Step]]()
        known = [stage for stage in frames.contract.system.graph if stage.name in frames.kept]
        self._parts: list[tuple[int, int] | Sequence[Stage]] = []
        # recorded answers stand in the clip: only the others are asked for
        for is_asked, stages in groupby(known, lambda stage: stage.is_answer and not tables.has_clip(stage.name)):
            if is_asked:
                self._parts.append(list(stages))
                continue
            first = len(steps)
            steps.extend((stage.name, _step_of(stage, frames, tables)) for stage in stages)
            self._parts.append((first, len(steps)))
        self._kept: Any = None  # what C++ holds pointers into
        self._plan = self._made(tables, steps, len(frames.frame))
        weakref.finalize(self, self._call.rigpact_plan_delete, self._plan)

    def _made(self, tables: _Tables, steps: Sequence[tuple[str, Step]], characters: int) -> Any:
        reads, words, numbers, structs = list[ReadStruct](), list[int](), list[float](), list[StepStruct]()
        for name, step in steps:
            starts = len(reads), len(words), len(numbers), len(step.reads)
            structs.append(StepStruct(_OPERATIONS.index(step.operation), tables.number(name), *starts))
            reads.extend(map(tables.read, step.reads))
            words.extend(word_number(step, word) for word in step.words)
            numbers.extend(map(float, step.numbers))
        lists = (TableStruct, tables.structs), (ReadStruct, reads), (StepStruct, structs), (c.c_int, words)
        arrays = [_array(*each) for each in lists], _array(c.c_double, numbers)
        self._kept = tables.kept, arrays
        most_reads = max((len(step.reads) for _, step in steps), default=0)
        return self._call.rigpact_plan(*arrays[0], arrays[1], characters, max(tables.widths, default=1), most_reads)

    def run(self, frames: LiveFrames, count: int) -> None:
        """Compute the next frames of these."""
        begin = int(frames.frame[0]) + 1
        if len(self._parts) == 1 and isinstance(self._parts[0], tuple):
            self._call.rigpact_plan_run(self._plan, begin, count, *self._parts[0])
            frames.frame = frames.frame + count
            return
        for frame in range(begin, begin + count):
            frames.frame = frames.frame + 1
            for part in self._parts:
                if isinstance(part, tuple):
                    self._call.rigpact_plan_run(self._plan, frame, 1, *part)
                    continue
                for stage in part:
                    frames.kept[stage.name][frame] = stage.computed(frames)


def _step_of(stage: Stage, frames: LiveFrames, tables: _Tables) -> Step:
    """What computes a stage from the second frame on."""
    width = frames.kept[stage.name].shape[-1]
    if stage.carried is not None and frames.mode == "free":
        return fed_back(stage, frames.contract)
    if tables.has_clip(stage.name):
        return moved([Read(stage.name, start=CLIP)], [width], range(width))
    step = planned_step(stage, frames.contract)
    if step is not None:
        return step
    if stage.start is not None:
        return Step("constant", (), numbers=stage.start(frames.contract))
    raise NotKnown(stage.name)


class _Tables:
    """The memory of the frames and of their clips, as plan.hpp reads and writes it."""

    def __init__(self, frames: LiveFrames) -> None:
        self._frames, self._numbers, self._rows = frames, dict[tuple[str, bool], int](), dict[int, FloatArray]()
        self.structs, self.widths, self.kept = list[TableStruct](), list[int](), list[NDArray[Any]]()

    def has_clip(self, stage: str) -> bool:
        """Whether every clip has rows of a stage."""
        return all(drive.rows(stage) is not None for drive in self._frames.drives)

    def number(self, stage: str) -> int:
        """The place of a stage's table: what the frames keep of it."""
        kept = self._frames.kept[stage]
        _, lanes, width = kept.shape
        addresses = kept.ctypes.data + 4 * width * np.arange(lanes, dtype=np.uintp)
        return self._numbered((stage, False), addresses, lanes * width, None, width)

    def read(self, read: Read) -> ReadStruct:
        """Where a step reads; frames that are not computed yet come from the clip."""
        number = -1
        if read.lag > 0 or read.start == CLIP:
            number = self._of_clip(read.stage) if self.has_clip(read.stage) else -1
        elif read.stage in self._frames.kept:
            number = self.number(read.stage)
        return ReadStruct(number, read.lag, STARTS.index(read.start) if read.start in STARTS else 0)

    def _of_clip(self, stage: str) -> int:
        frames, is_free = self._frames, self._frames.mode == "free"
        rows = [self._floats(drive.given[stage]) for drive in frames.drives]
        addresses = np.array([each.ctypes.data for each in rows], np.uintp)
        steps = [drive.steps for drive in frames.drives]
        counts = np.array(steps if is_free else [min(steps)] * len(steps), np.intc)
        width = rows[0].shape[1]
        return self._numbered((stage, True), addresses, width, counts, width, repeats=is_free)

    def _numbered(
        self, key: tuple[str, bool], lanes: NDArray[np.uintp], stride: int, rows: NDArray[np.intc] | None, width: int,
        *, repeats: bool = False,
    ) -> int:  # fmt: skip
        if key not in self._numbers:
            self._numbers[key] = len(self.structs)
            self.kept.extend(each for each in (lanes, rows) if each is not None)
            counts = None if rows is None else rows.ctypes.data
            self.structs.append(TableStruct(lanes.ctypes.data, stride, counts, width, repeats))
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
