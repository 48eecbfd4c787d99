"""Many free runs of one character at once: R starts or R clips, one network call per frame.

The stages are those of `FreeRunInputs`, with a leading axis of runs. Row r equals the result of a separate `Loop`, up
to the rounding of a batched network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network, aligned
from rigpact.reference_runtime.operations.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.operations.condition import ConditionWindow
from rigpact.reference_runtime.operations.precision import QUIETLY
from rigpact.reference_runtime.recordings.clip import Clip
from rigpact.reference_runtime.systems.enemy_animation.drive import (
    ClipRows,
    FreeRunInputs,
    Stages,
    clip_rows,
    target_pose,
)
from rigpact.reference_runtime.systems.enemy_animation.output import OutputRun, OutputStages

ROWWISE_ANGVEL = {"aux_stats", "state_slice", "zeros"}
"""Sources that read only one frame of a run: all runs are computed at once. Other sources are computed run by run."""


class LockstepInputs(FreeRunInputs):
    """Free-run's inputs for R carried states (R, Dx)."""

    def __init__(self, contract: Contract, sources: Sequence[ClipRows], starts: FloatArray) -> None:
        """Seed every run with its raw state; condition and contacts come from its own clip, or the only clip."""
        super().__init__(contract, sources[0])
        self._sources = sources
        self._windows = [ConditionWindow(contract) for _ in sources]
        self.seed = self.current = self.before = starts
        poses = starts[:, self._rotations]
        source = contract.conventions.angvel_source
        self._is_rowwise, self._reads_pairs = source in ROWWISE_ANGVEL, source == "rotations"
        # in a free run every lag reads the current frame; here the frame axis holds the runs, and a lag would mix them
        self._angvel = AngularVelocityInput(contract.with_conventions({"angvel_lag": "0"}))
        own_seed = contract.conventions.pose_history_start == "seed_pose"
        self._padding = poses if own_seed else self._spread([self._history.padding(rows.poses) for rows in sources])
        self._recent = deque([poses], maxlen=self._history.reach)

    def _spread(self, values: Sequence[FloatArray]) -> FloatArray:
        """One vector per clip, repeated to one per run, (R, width)."""
        return np.stack(values) if len(values) > 1 else np.repeat(values[0][None], len(self.current), axis=0)

    def previous6d(self, frame: int) -> FloatArray:
        """The poses that ΔR is applied to, (R, 6·B)."""
        if self._lag > 0:
            return self._spread([target_pose(rows, frame) for rows in self._sources])
        return super().previous6d(frame)

    def driven(self, frame: int) -> Stages:
        """The clips' inputs of the runs, each (R, width)."""
        cond_raw = [rows.cond_raw[frame % rows.steps] for rows in self._sources]
        cond = [window.push(row) for window, row in zip(self._windows, cond_raw, strict=True)]
        contacts = [rows.contacts[frame % rows.steps] for rows in self._sources]
        return {
            name: self._spread(rows) for name, rows in (("cond_raw", cond_raw), ("cond", cond), ("contacts", contacts))
        }

    def angular_velocity(self, state: FloatArray) -> FloatArray:
        """The AngVel input of every run, (R, 3·B)."""
        if self._is_rowwise:
            return self._angvel.rows(Motion(self.current, state, self._rows.fps, len(state)))
        pairs = self._angvel_frames(self) if self._reads_pairs else self.seed[None]
        runs = range(len(state))
        return np.concatenate(
            [
                self._angvel.rows(Motion(pairs[:, run], state[None, run].repeat(len(pairs), 0), self._rows.fps, 1))
                for run in runs
            ]
        )


class Lockstep:
    """R free runs of one contract and network; `step` returns every stage with a leading axis of runs."""

    def __init__(
        self, contract: Contract, network: Network, clips: Clip | Sequence[Clip], starts: FloatArray | None = None
    ) -> None:
        """clips: one for all runs, or one for each. starts: (R, Dx) raw states; None takes the clips' first frames.

        UnusableInput if the clips differ in frame rate, or if their number differs from the number of starts.
        """
        sources = [clip_rows(clip, contract) for clip in (clips if isinstance(clips, Sequence) else (clips,))]
        seeds = np.stack([rows.x_raw[0] for rows in sources]) if starts is None else starts.astype(np.float32)
        if seeds.ndim != 2 or seeds.shape[1] != contract.state.width:
            raise UnusableInput("starts", f"shape {seeds.shape}", f"(runs, {contract.state.width})")
        if len(sources) not in (1, len(seeds)):
            raise UnusableInput("clips", f"{len(sources)} clips", f"one, or one for each of {len(seeds)} starts")
        rates = sorted({rows.fps for rows in sources})
        if len(rates) > 1:
            raise UnusableInput("clips", f"frame rates of {', '.join(f'{rate:g}' for rate in rates)}", "one frame rate")
        self.contract, self.network, self.rows = contract, network, sources[0]
        self._inputs = LockstepInputs(contract, sources, seeds)
        self._outputs = OutputStages(contract)
        self._published6d = np.tile(self._outputs.identity_pose(), (len(seeds), 1))
        self.frame = 0

    def step(self) -> Stages:
        """Run one frame of every run and return its stages in loop order."""
        stages, run, following = self._run_frame()
        return stages | self._outputs.stages_of(run) | {"x_raw_next": following}

    def advance(self) -> FloatArray:
        """Run one frame of every run and return the published output, y_out (R, Dy)."""
        return self._run_frame()[1].y_out

    @QUIETLY
    def _run_frame(self) -> tuple[Stages, OutputRun, FloatArray]:
        inputs, frame = self._inputs, self.frame
        stages = inputs.at(frame)
        vectors = [stages[name] for name in self.contract.conventions.input_order]
        stages["y_norm"] = y_norm = self.network.run(aligned(vectors, self.network.bound_widths), frame)
        run = self._outputs.run(y_norm, inputs.previous6d(frame), self._published6d)
        self._published6d = run.y_out[:, self._outputs.rotations]
        following = inputs.advance(frame, run.y_out)
        self.frame = frame + 1
        return stages, run, following
