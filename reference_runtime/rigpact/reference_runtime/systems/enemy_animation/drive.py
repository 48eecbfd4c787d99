"""The clip's part of the loop: a clip's rows under a contract.

Teacher-driven: every row comes from the clip. Free-run: the pose comes from the loop's own output; the player's intent
(condition) and the contacts come from the clip, which loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.some_bones import columns_of_bones
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames, check_widths
from rigpact.reference_runtime.recordings.clip import RECORDED_INPUTS, Clip, RawClip, RecordedInputs
from rigpact.reference_runtime.vocabulary.character.intent import condition_rows, contact_rows
from rigpact.reference_runtime.vocabulary.character.past_poses import PoseHistory, refuse_one_pose
from rigpact.reference_runtime.vocabulary.character.rates import AngularVelocityInput
from rigpact.reference_runtime.vocabulary.character.state import StateNormaliser


@dataclass(frozen=True, eq=False)
class ClipRows:
    """A clip under a contract: x_raw and state (N, Dx), cond_raw (N, Dc), contacts (N, 2), N >= steps.

    angvel (N, A) and pose_hist (N, P) are None unless the file recorded them; poses (N, 6·B) are x_raw's rotations.
    given: no stage is taken as it is in a free run.
    """

    fps: float
    steps: int
    x_raw: FloatArray
    state: FloatArray
    cond_raw: FloatArray
    contacts: FloatArray
    poses: FloatArray
    angvel: FloatArray | None = None
    pose_hist: FloatArray | None = None
    is_raw: bool = True
    given: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def laid_out(
        cls,
        contract: Contract,
        fps: float,
        steps: int,
        x_raw: FloatArray,
        cond_raw: FloatArray,
        contacts: FloatArray,
        state: FloatArray | None = None,
        **recorded: Any,
    ) -> ClipRows:
        """The rows of a clip, its z-scores where it brings none; recorded: what the training side wrote down."""
        state = StateNormaliser(contract).normalise(x_raw) if state is None else state
        poses = x_raw[:, character_of(contract).state[ROTATIONS].range]
        return cls(fps, steps, x_raw, state, cond_raw, contacts, poses, **recorded)

    @property
    def of_training(self) -> dict[str, FloatArray]:
        """The inputs that the training side wrote down, by stage: they are taken as they are where a clip drives."""
        known = {} if self.is_raw else {"state": self.state, "angvel": self.angvel, "pose_hist": self.pose_hist}
        return {name: rows for name, rows in known.items() if rows is not None}

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, (N, width); None if it has none."""
        found: FloatArray | None = getattr(self, stage, None)
        return found


def clip_rows(clip: Clip, contract: Contract) -> ClipRows:
    """Compute a clip's rows under a contract; under that of some bones, the rows of these."""
    character = character_of(contract)
    if contract.whole is not None:
        return _rows_of_bones(clip_rows(clip, contract.whole), contract)
    if isinstance(clip, RawClip):
        if clip.frame_count < 2:
            raise UnusableInput(f"{clip.path}#/Frames", "one frame", "at least two: a step leads from one to the next")
        x_raw, contacts = (
            clip.state_rows(character.state),
            contact_rows(clip.contact_scores, clip.frame_count, contract),
        )
        cond_raw = condition_rows(clip, contract)
        return ClipRows.laid_out(contract, clip.fps, clip.frame_count - 1, x_raw, cond_raw, contacts)
    if isinstance(
        clip, RecordedInputs
    ):  # what an engine recorded drives the run again: a player's run, which no clip holds
        check_widths(contract, {name: getattr(clip, name) for name in RECORDED_INPUTS}, clip.path)
        x_raw = clip.x_raw if clip.after is None else np.concatenate((clip.x_raw, clip.after[None]))
        return ClipRows.laid_out(contract, clip.fps, clip.step_count, x_raw, clip.cond_raw, clip.contacts)
    if clip.state_norm.shape[1] != character.state.width:
        raise UnusableInput(
            f"{clip.path}#/teacher/state_norm/0", f"{clip.state_norm.shape[1]} numbers", f"{character.state.width}"
        )
    x_raw = StateNormaliser(contract).denormalise(clip.state_norm)
    contacts = contact_rows(clip.contacts, clip.step_count, contract)
    return ClipRows.laid_out(
        contract, clip.fps, clip.step_count, x_raw, clip.cond, contacts, clip.state_norm,
        angvel=clip.angvel_norm, pose_hist=clip.pose_hist_norm, is_raw=False,
    )  # fmt: skip


def _rows_of_bones(whole: ClipRows, contract: Contract) -> ClipRows:
    names = ("x_raw", "state", "angvel", "pose_hist")
    rows = {name: found for name in names if (found := whole.rows(name)) is not None}
    cut: dict[str, Any] = {name: found[:, columns_of_bones(contract, name)] for name, found in rows.items()}
    return replace(whole, **cut, poses=cut["x_raw"][:, character_of(contract).state[ROTATIONS].range])


_OF_ROWS = ("x_raw", "state", "cond_raw", "contacts")
"""The stages that a clip's rows hold; the knobs of no other stage change them."""
_ROWS_KEPT = 4


def drive_of(clip: Clip) -> Callable[[Contract], ClipRows]:
    """A function from a contract to the clip's rows; a search asks for them under thousands of conventions of other stages."""
    kept: dict[tuple[Any, ...], tuple[Contract, ClipRows]] = {}

    def rows(contract: Contract) -> ClipRows:
        character = character_of(contract)
        knobs = {knob.name for name in _OF_ROWS for knob in contract.system.graph[name].knobs} | {"math"}
        chosen = tuple(str(contract.conventions[name]) for name in sorted(knobs))
        names = ("state", "state_statistics", "rootvel_scales", "angvel_scales")
        key = (*(id(getattr(character, name)) for name in names), id(contract.whole), *chosen)
        if key not in kept:
            if len(kept) == _ROWS_KEPT:  # those of a long clip are large
                kept.clear()
            kept[key] = contract, clip_rows(clip, contract)  # with the contract, so that no other number gets these ids
        return kept[key][1]

    return rows


def refuse_unrunnable(contract: Contract, rows: ClipRows, mode: str) -> None:
    """UnusableInput where the clip is too short for the mode under the conventions, or no file has statistics they need."""
    AngularVelocityInput(contract)
    history = PoseHistory(contract, mode)
    if history.start == "first_target":
        refuse_one_pose(rows.poses)
    if mode == "free" and int(contract.conventions.previous_pose_lag) > 0 and len(rows.poses) < 2:
        raise UnusableInput("previous_pose_lag=+1", "a clip of one pose", "a clip with the pose after it")


def driven_frames(contract: Contract, rows: ClipRows, network: Any = None, count: int | None = None) -> ReplayedFrames:
    """The clip's frames, or the first `count`, as the frames of a run that it drives: `batch` computes their stages.

    UnusableInput for a clip without a step.
    """
    limit = min(rows.steps, len(rows.poses) - max(int(contract.conventions.previous_pose_lag), 0))
    if limit < 1:
        raise UnusableInput("the clip", f"{len(rows.poses)} frame(s)", "at least two")
    refuse_unrunnable(contract, rows, "teacher")
    frame = np.arange(limit if count is None else min(count, limit))
    known = {name: values[: len(frame)] for name, values in rows.of_training.items()}
    if len(rows.x_raw) > len(frame):  # no engine knows what follows the last frame; the clip does
        known["x_raw_next"] = rows.x_raw[1 : len(frame) + 1]
    return ReplayedFrames(Evidence(frame, rows.fps, "teacher", known, lambda _contract: rows, network), contract)
