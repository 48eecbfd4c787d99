"""The engine's loop: input stages, network, output stages, next state.

Mirrors `UEnemyAnimInstance` frame by frame. `Loop.step` returns every stage by name. The caller may keep them; this
never changes a result. Modes: `teacher` (every frame's input from the clip), `free` (the loop feeds itself), `playback`
(no network: the recorded pose is published).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.runner import stacked
from rigpact.reference_runtime.native.library import EngineUse
from rigpact.reference_runtime.network import InputAlignment, Network, aligned, alignments_of, of_shape
from rigpact.reference_runtime.operations.definitions.scaling import unscored
from rigpact.reference_runtime.operations.precision import QUIETLY, stored
from rigpact.reference_runtime.recordings.clip import Clip, RawClip, RecordedInputs, TeacherFile
from rigpact.reference_runtime.systems.enemy_animation.drive import (
    ClipRows,
    FreeRunInputs,
    Stages,
    TeacherInputs,
    clip_rows,
)
from rigpact.reference_runtime.systems.enemy_animation.output import OutputRun, OutputStages
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES

Mode = Literal["teacher", "free", "playback"]


class Inputs(Protocol):
    """The source of a frame's input stages."""

    frame_limit: int | None

    def at(self, frame: int) -> Stages:
        """The input stages of one frame."""
        ...

    def previous6d(self, frame: int) -> FloatArray:
        """The pose that ΔR is applied to."""
        ...

    def advance(self, frame: int, y_out: FloatArray) -> FloatArray | None:
        """The next raw state."""
        ...


INPUTS_OF_MODE: Mapping[str, Callable[[Contract, ClipRows], Inputs]] = {
    "teacher": TeacherInputs,
    "free": FreeRunInputs,
}


@dataclass(frozen=True)
class LoopParts:
    """The replaceable parts of a loop, for contacts from a floor or injected faults; None: the mode's own part."""

    inputs: Callable[[Contract, ClipRows], Inputs] | None = None
    outputs: Callable[[Contract], OutputStages] = OutputStages


class Loop:
    """One character: a contract, a network and a clip, stepped frame by frame."""

    def __init__(
        self, contract: Contract, network: Network, clip: Clip, mode: Mode = "teacher", parts: LoopParts | None = None
    ) -> None:
        """Look up every convention once and seed the state with the clip's first frame.

        Without pose-history statistics in the bundle, the network gives the history's length, as in the engine.
        """
        parts = parts or LoopParts()
        self.contract = with_history_length(contract, network, clip)
        self.network, self.mode = network, mode
        self._rows = clip_rows(clip, self.contract)
        self.fps = self._rows.fps
        self._inputs = (parts.inputs or INPUTS_OF_MODE[mode])(self.contract, self._rows)
        self._outputs = parts.outputs(self.contract)
        self._published6d = self._outputs.identity_pose()[None]
        self.frame = 0
        self.alignments: set[InputAlignment] = set()
        self.engine = EngineUse()
        self._order = self.contract.conventions.input_order
        self._answer_shape = (1, self.contract.output.width)

    @property
    def frame_limit(self) -> int | None:
        """Number of frames; None in a free run, which has no end."""
        return self._inputs.frame_limit

    def step(self) -> Stages:
        """Run one frame and return its stages in loop order."""
        stages, run, following = self._run_frame()
        stages |= {name: values[0] for name, values in self._outputs.stages_of(run).items()}
        if following is not None:
            stages["x_raw_next"] = following
        return stages

    def advance(self) -> FloatArray:
        """Run one frame as `step` does, but return only the published output, y_out (Dy,)."""
        published: FloatArray = self._run_frame()[1].y_out[0]
        return published

    def record(self, frames: Iterable[int]) -> Stages:
        """Run the frames and return every stage, (T, width): the same bits as repeated calls of `step`."""
        rows, runs = [], []
        for _ in frames:
            stages, run, following = self._run_frame()
            runs.append(run.kept())
            if following is not None:
                stages["x_raw_next"] = following
            rows.append(stages)
        if not rows:
            return {}
        known = stacked(rows, STAGE_NAMES) | self._outputs.stages_of_kept(runs)
        return {name: known[name] for name in STAGE_NAMES if name in known}

    @QUIETLY
    def _run_frame(self) -> tuple[Stages, OutputRun, FloatArray | None]:
        """The stages up to the network's answer, the run of the stages after it, and the next raw state."""
        inputs, frame = self._inputs, self.frame
        stages = inputs.at(frame)
        y_norm = self._infer(stages)
        stages["y_norm"] = y_norm[0]
        run = self._outputs.run(y_norm, inputs.previous6d(frame)[None], self._published6d)
        self._published6d = run.y_out[:, self._outputs.rotations]
        following = inputs.advance(frame, run.y_out[0])
        self.frame = frame + 1
        return stages, run, following

    def _infer(self, stages: Stages) -> FloatArray:
        vectors = [stages[name][None] for name in self._order]
        if self.frame == 0:  # a vector has the same width in every frame
            self.alignments |= alignments_of(self._order, vectors, self.network.bound_widths)
        if self.alignments:
            vectors = aligned(vectors, self.network.bound_widths)
        return of_shape(self.network.run(vectors, self.frame), self._answer_shape, self.network.name)


class Playback:
    """Recorded poses, published without a network. It loops at the end, like the engine's playback."""

    frame_limit: int | None = None
    mode: Mode = "playback"
    network = None

    def __init__(self, contract: Contract, clip: Clip) -> None:
        """Find the poses: of a prediction, the targets of a batch, or the frames after the first of a raw clip."""
        self.contract = contract
        self.fps = clip.fps
        self._outputs = OutputStages(contract)
        self._poses = recorded_poses(clip, contract)
        self._published6d = self._outputs.identity_pose()
        self.frame = 0
        self.alignments: set[InputAlignment] = set()
        self.engine = EngineUse()

    def step(self) -> Stages:
        """Publish the next pose."""
        y_raw = self._poses[self.frame % len(self._poses)]
        y_out = self._outputs.y_out(y_raw, y_raw[self._outputs.rotations], self._published6d)
        self._published6d = y_out[self._outputs.rotations]
        self.frame += 1
        return {"y_out": y_out, "quat": self._outputs.quat(y_out)}

    def record(self, frames: Iterable[int]) -> Stages:
        """Publish the poses of the frames, (T, width) by stage."""
        return stacked([self.step() for _ in frames], STAGE_NAMES)


def recorded_poses(clip: Clip, contract: Contract) -> FloatArray:
    """The poses that a clip records, (T, Dy): row t is the pose of frame t + 1.

    A prediction's `y_raw`, else its `y_norm` (a normalised pose), else a batch's `target_norm`; what an engine published; a raw
    clip's own frames from the second on, other output slices at zero.
    """
    if isinstance(clip, RawClip):
        if clip.frame_count < 2:
            raise UnusableInput(f"{clip.path}#/Frames", "one frame", "at least two: the first is the seed")
        poses = np.zeros((clip.frame_count - 1, contract.output.width), np.float32)
        poses[:, contract.output[ROTATIONS].range] = clip.rotations6d[1:]
        return poses
    if isinstance(clip, RecordedInputs):
        if clip.y_out is None:
            raise UnusableInput(f"{clip.path}#/stages", "no y_out", "recorded poses to play back")
        return clip.y_out
    if clip.y_raw is not None:
        return clip.y_raw
    normalised = clip.y_norm if clip.y_norm is not None else clip.target_norm
    if normalised is None:
        raise UnusableInput(clip.path, "no prediction and no target_norm", "recorded poses to play back")
    statistics = contract.output_statistics
    return stored(unscored(normalised.astype(np.float64), statistics.mean, statistics.std))


def start_run(
    contract: Contract, network: Network | None, clip: Clip, mode: Mode, parts: LoopParts | None = None
) -> Loop | Playback:
    """Build the run of a mode; UnusableInput if a network is missing."""
    if mode == "playback":
        return Playback(contract, clip)
    if network is None:
        raise UnusableInput(f"mode {mode}", "no network", "a model or recorded outputs", "give --onnx or --replay")
    return Loop(contract, network, clip, mode, parts)


def with_history_length(contract: Contract, network: Network, clip: Clip) -> Contract:
    """The contract; without pose-history statistics, the network gives the history's length, as in the engine."""
    if contract.pose_history_length is not None:
        return contract
    widths = (network.bound_widths[contract.conventions.input_order.index(INPUTS[4])],)
    recorded = clip.pose_hist_norm if isinstance(clip, TeacherFile) else None
    known = [width for width in (*widths, None if recorded is None else recorded.shape[1]) if width]
    return contract.with_pose_history_length(known[0] // (6 * contract.bone_count)) if known else contract
