"""Many free runs of one character at once: R starts, one network call a frame.

The same stage functions as `FreeRunInputs`, with a leading axis of runs. Row r is what a loop of its own would compute, up
to the rounding of a batched network.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.clip import Clip
from rigpact.reference_runtime.drive import ClipRows, FreeRunInputs, Stages, clip_rows
from rigpact.reference_runtime.network import Network, aligned
from rigpact.reference_runtime.output import OutputStages

ROWWISE_ANGVEL = {"aux_stats", "state_slice", "zeros"}
"""Sources that read one frame of one run; the others are taken run by run."""


class LockstepInputs(FreeRunInputs):
    """Free-run's inputs for R carried states (R, Dx)."""

    def __init__(self, contract: Contract, rows: ClipRows, starts: FloatArray) -> None:
        """Seed every run with its own raw state; condition and contacts are the same for all."""
        super().__init__(contract, rows)
        self.seed = self.current = self.before = starts
        poses = starts[:, self._rotations]
        source = contract.conventions.angvel_source
        self._is_rowwise, self._reads_pairs = source in ROWWISE_ANGVEL, source == "rotations"
        # in free-run every lag reads the current frame; here a lag would read another run
        self._angvel = AngularVelocityInput(contract.with_conventions({"angvel_lag": "0"}))
        own_seed = contract.conventions.pose_history_start == "seed_pose"
        self._padding = poses.T if own_seed else np.repeat(self._padding[:, None], len(starts), axis=1)
        # the history concatenates poses along its first axis: runs stand in the second
        self._recent = deque([poses.T], maxlen=self._history.reach)

    def previous6d(self, frame: int) -> FloatArray:
        """The poses that ΔR is applied to, (R, 6·B)."""
        if self._lag > 0:
            return np.tile(super().previous6d(frame), (len(self.current), 1))
        carried: FloatArray = (self.before if self._lag < 0 else self.current)[:, self._rotations]
        return carried

    def advance(self, frame: int, y_out: FloatArray) -> FloatArray:
        """Write the outputs back and push the new poses into the histories."""
        following = self._writeback(self.current, y_out)
        self.before, self.current = self.current, following
        self._recent.append(following[:, self._rotations].T)
        return following

    def at(self, frame: int) -> Stages:
        """The input stages of one frame, each (R, width)."""
        row, count = frame % self._rows.steps, len(self.current)
        state = self._normaliser.normalise(self.current)
        pose_hist_raw = np.ascontiguousarray(self._history.raw_row(self._recent, frame, self._padding).T)
        cond = self._window.push(self._rows.cond_raw[row])
        return {
            "x_raw": self.current,
            "state": state,
            "cond_raw": np.tile(self._rows.cond_raw[row], (count, 1)),
            "cond": np.tile(cond, (count, 1)),
            "contacts": np.tile(self._rows.contacts[row], (count, 1)),
            "angvel": self._angular_velocity(state),
            "pose_hist_raw": pose_hist_raw,
            "pose_hist": self._history.normalise(pose_hist_raw),
        }

    def _angular_velocity(self, state: FloatArray) -> FloatArray:
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
    """R free runs of one contract, network and clip; `step` gives every stage with a leading axis of runs."""

    def __init__(self, contract: Contract, network: Network, clip: Clip, starts: FloatArray | None = None) -> None:
        """starts: (R, Dx) raw states; the clip's first frame where None."""
        rows = clip_rows(clip, contract)
        seeds = rows.x_raw[:1] if starts is None else starts.astype(np.float32)
        if seeds.ndim != 2 or seeds.shape[1] != contract.state.width:
            raise UnusableInput("starts", f"shape {seeds.shape}", f"(runs, {contract.state.width})")
        self.contract, self.network, self.rows = contract, network, rows
        self._inputs = LockstepInputs(contract, rows, seeds)
        self._outputs = OutputStages(contract)
        self._published6d = np.tile(self._outputs.identity_pose(), (len(seeds), 1))
        self.frame = 0

    def step(self) -> Stages:
        """Run one frame of every run."""
        stages = self._inputs.at(self.frame)
        vectors = [stages[name] for name in self.contract.conventions.input_order]
        y_norm = self.network.run(aligned(vectors, self.network.bound_widths), self.frame)
        stages |= self._outputs(y_norm, self._inputs.previous6d(self.frame), self._published6d)
        self._published6d = stages["y_out"][:, self._outputs.rotations]
        stages["x_raw_next"] = self._inputs.advance(self.frame, stages["y_out"])
        self.frame += 1
        return stages
