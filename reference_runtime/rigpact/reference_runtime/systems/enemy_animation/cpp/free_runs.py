"""Free runs in the C++ loop that an engine includes: one character, or a crowd in lockstep.

Before its first run of a contract the loop is held against numpy for a few frames; one that differs is not used.
"""

from __future__ import annotations

import ctypes as c
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS_WIDTH, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.runner import Stages
from rigpact.reference_runtime.graph.native.agreement import CHECKED_FRAMES, chosen_engine, first_difference
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.native.library import Engine, EngineUse, library
from rigpact.reference_runtime.network import Network, OnnxNetwork, ReplayNetwork, aligned, alignments_of, of_shape
from rigpact.reference_runtime.systems.enemy_animation.cpp.views import FLOATS, KeptContract
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, refuse_unrunnable
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser

BLOCK = 256
"""Frames that are recorded into one piece of memory."""


class DriveStruct(c.Structure):
    """`Drive` of crowd.cpp: what a clip gives a free run."""

    _fields_ = (
        ("cond_raw", FLOATS), ("contacts", FLOATS), ("poses", FLOATS), ("steps", c.c_int), ("pose_count", c.c_int),
    )  # fmt: skip


class NativeCrowd:
    """R free runs of one contract and network, from their raw states (R, Dx); one clip for all, or one for each.

    Stages are (R, width), in copies.
    """

    def __init__(self, contract: Contract, network: Network, sources: Sequence[ClipRows], starts: FloatArray) -> None:
        """Seed every run. UnusableInput where the clip cannot drive a free run, or C++ cannot run the contract."""
        for rows in sources:
            refuse_unrunnable(contract, rows, "free")  # what numpy refuses to run, C++ does not run
        self.contract, self.network, self.frame = contract, network, 0
        self.rows, self.fps = sources[0], sources[0].fps
        self._call, self._kept, self._runs = library(), KeptContract(), len(starts)
        self._crowd = self._made()
        weakref.finalize(self, self._call.rigpact_crowd_delete, self._crowd)
        self._stages = self._matrices()
        self._vectors = [self._stages[name] for name in contract.conventions.input_order]
        self._direct: Callable[[], None] | None = None
        drives = (DriveStruct * len(sources))(*map(self._drive, sources))
        self._call.rigpact_crowd_seed(self._crowd, self._kept.floats(starts), drives, len(sources))
        widths = {name: self._stages[name].shape[1] for name in contract.conventions.input_order}
        self.alignments = alignments_of(widths, network.bound_widths)

    def _made(self) -> int:
        defect = c.c_char_p()
        views = self._kept.contract(self.contract), self._kept.conventions(self.contract)
        is_double = self.contract.conventions.math == "f64"
        crowd: int | None = self._call.rigpact_crowd(
            *map(c.byref, views), self.fps, is_double, self._runs, c.byref(defect)
        )
        if crowd is None:
            found = (defect.value or b"").decode()
            raise UnusableInput("--engine native", found, "a contract that the C++ loop runs", "take --engine numpy")
        return crowd

    def _drive(self, rows: ClipRows) -> DriveStruct:
        arrays = map(self._kept.floats, (rows.cond_raw, rows.contacts, rows.poses))
        return DriveStruct(*arrays, rows.steps, len(rows.poses))

    def _matrices(self) -> Stages:
        """The loop's own memory, by stage, (R, width)."""
        widths = {name: self.contract.stage_widths[name] or CONTACTS_WIDTH for name in self.contract.system.graph.names}
        address = c.cast(self._call.rigpact_crowd_memory(self._crowd), FLOATS)
        self._memory = np.ctypeslib.as_array(address, (self._runs * sum(widths.values()),))
        ends = np.cumsum([self._runs * width for width in widths.values()])
        matrices = np.split(self._memory, ends[:-1])
        return {name: each.reshape(self._runs, -1) for name, each in zip(widths, matrices, strict=True)}

    def _frame(self, *, with_quaternions: bool) -> None:
        self._call.rigpact_crowd_begin(self._crowd)
        if self._direct is not None:
            self._direct()
        else:
            self._infer()
        if self.frame == 0:
            self._direct = self._without_copies()
        self._call.rigpact_crowd_finish(self._crowd, with_quaternions)
        self.frame += 1

    def _without_copies(self) -> Callable[[], None] | None:
        """The network's answers after the first, which had every check; None where the vectors must be made to fit."""
        if isinstance(self.network, OnnxNetwork) and not self.alignments:
            return self.network.bound_to(self._vectors, self._stages["y_norm"])
        return None

    def _infer(self) -> None:
        vectors = aligned(self._vectors, self.network.bound_widths) if self.alignments else self._vectors
        y_norm = self._stages["y_norm"]
        y_norm[...] = of_shape(self.network.run(vectors, self.frame), y_norm.shape, self.network.name)

    @property
    def given(self) -> tuple[str, ...]:
        """The stages that a frame has under the conventions."""
        is_pose = self.contract.conventions.output_mode == "absolute"
        return tuple(name for name in self.contract.system.graph.names if not (is_pose and name == "delta6d"))

    def advance(self) -> FloatArray:
        """Run one frame of every run and return the published output, y_out (R, Dy)."""
        self._frame(with_quaternions=False)
        return self._stages["y_out"].copy()

    def step(self) -> Stages:
        """Run one frame of every run and return its stages in loop order."""
        self._frame(with_quaternions=True)
        return {name: self._stages[name].copy() for name in self.given}

    def record(self, frames: Iterable[int]) -> Stages:
        """Run the frames and return every stage, (T, R, width): the same bits as repeated calls of `step`."""
        columns = self._columns()
        table, row = np.empty((BLOCK, self._memory.size), np.float32), 0
        blocks: dict[str, list[FloatArray]] = {name: [] for name in columns}

        def keep() -> None:
            for name, place in columns.items():
                blocks[name].append(table[:row, place].reshape(row, self._runs, -1).copy())

        for _ in frames:
            self._frame(with_quaternions=True)
            table[row] = self._memory
            row += 1
            if row == BLOCK:
                keep()
                row = 0
        if row:
            keep()
        kept = {name: parts for name, parts in blocks.items() if parts}
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in kept.items()}

    def _columns(self) -> dict[str, slice]:
        """Where each stage stands in the memory."""
        ends = np.cumsum([rows.size for rows in self._stages.values()])
        places = dict(zip(self._stages, map(slice, (0, *ends[:-1]), ends), strict=True))
        return {name: places[name] for name in self.given}


def engine_for(contract: Contract, asked: Engine) -> EngineUse:
    """Who computes a plain free run. UnusableInput where C++ was asked for and cannot."""
    return chosen_engine(
        asked, lambda: None, lambda: disagreement(contract) if character_of(contract).pose_history_length else ""
    )


@lru_cache(maxsize=32)
def disagreement(contract: Contract) -> str:
    """How the C++ loop differs from numpy under a contract, in words; empty where it agrees. Clip and answers are drawn."""
    rng = np.random.default_rng(2)
    rows = _drawn_rows(contract, rng)
    answers = rng.normal(0.0, 1.0, (CHECKED_FRAMES, character_of(contract).output.width)).astype(np.float32)
    crowd = NativeCrowd(contract, ReplayNetwork(answers), [rows], rows.x_raw[:1])
    stages = {name: values[:, 0] for name, values in crowd.record(range(CHECKED_FRAMES)).items()}
    evidence = Evidence(np.arange(CHECKED_FRAMES), rows.fps, "free", stages, lambda _contract: rows)
    return first_difference(ReplayedFrames(evidence, contract), stages)


def _drawn_rows(contract: Contract, rng: np.random.Generator) -> ClipRows:
    """A clip of no motion that anyone made: states about their mean, intent and contacts between 0 and 1."""
    character = character_of(contract)
    count, statistics = CHECKED_FRAMES + 1, character.state_statistics
    noise = rng.normal(0.0, 0.5, (count, character.state.width))
    x_raw = (statistics.mean + noise * statistics.std).astype(np.float32)
    cond_raw, contacts = (rng.uniform(0.0, 1.0, (count, width)).astype(np.float32) for width in (7, 2))
    return ClipRows(
        fps=60.0,
        steps=CHECKED_FRAMES,
        x_raw=x_raw,
        state=StateNormaliser(contract).normalise(x_raw),
        cond_raw=cond_raw,
        contacts=contacts,
        angvel=None,
        pose_hist=None,
        poses=x_raw[:, character.state[ROTATIONS].range],
    )
