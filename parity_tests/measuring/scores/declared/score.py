"""How many mistakes of an independent runtime the diagnosis names under a declared contract, from a sparse recording.

`named`: the answer's conventions are the mistake, or the mistake stands among the changes that explain this data equally well; a
mistake that shows nothing beside the others is left out of them. `alike`: other conventions are named, and the runtime that makes
those records the same numbers. `unseen`: the recording is the one without mistakes. `missed`: it is not, and the answer is that
both agree. `located`: the stage is named, and no cause for all of it. `misleading`: other conventions are named with certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from .plain import AS_WRITTEN, Maths

Mistakes = Mapping[str, str]
Record = Callable[[Mistakes, int, Maths], Mapping[str, FloatArray]]
"""Mistakes, a seed and how the engine computes -> what an engine with these mistakes records."""
_MOST_READINGS = 4096
MISTAKES: Mapping[str, tuple[str, ...]] = {
    "unitree_rl_lab_g1": (
        "target.scale=inverse", "command.applied=low_only", "obs.terms=projected_gravity_and_joint_pos_rel_exchanged",
        "joint_pos.order=reversed", "joint_vel.order=swapped_sides", "target.offset=negated",
    ),
    "unitree_rl_mjlab_g1": (
        "target.offset=negated", "target.offset=none", "command.applied=high_only", "motor_q.order=in_order_of_isaac",
        "joint_vel.order=reversed", "target.scale=in_order_of_isaac",
    ),
    "learned_motion_matching": (
        "next_state.step=squared", "root_rotation.angle=full", "rotations.reads=columns_first_kept", "rotations.writes=xyzw",
        "contacts.limit=zero", "contacts.limit=root",
    ),
    "mode_adaptive_controller": (
        "root_step.scale=none", "bones.order=blended_last", "input_normalised.std=root", "up.order=reversed",
        "output.std=none", "positions_now.direction=out_of_frame_not_turned",
    ),
    "humanml3d": (
        "root_step_facing.direction=none", "joint_velocities.direction=none", "joint_rotations.reads=xyzw",
        "features.order=joint_rotations_last", "features.order=root_yaw_speed_last", "features.order=contacts_first",
    ),
    "transpose_input": (
        "rotations.writes=xyzw", "leaf_accelerations.order=swapped_sides", "leaf_accelerations.order=reversed",
        "leaf_rotations_in_root.second_quaternion_order=xyzw", "acceleration.scale=inverse",
        "network_input.order=root_orientation_first",
    ),
}  # fmt: skip
"""What each contract's runtime can do wrong."""
NAMED, ALIKE, LOCATED, UNSEEN, MISSED, MISLEADING = "named", "alike", "located", "unseen", "missed", "misleading"
RIGHT = frozenset((NAMED, ALIKE))
_ROUNDINGS = 64
"""Roundings of the longest chain of a runtime here; two that differ by no more than these record the same."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A declared contract, its independent runtime, and the network that both run. recorded: the sparse recording."""

    contract: Path
    record: Record
    network: Any
    recorded: tuple[str, ...]


def opened(subject: Subject) -> Any:
    """The contract."""
    return open_contract(subject.contract)


def every_mistake(contract: Any) -> list[Mistakes]:
    """Each mistake of a contract's runtime, alone."""
    return [dict([change.split("=")]) for change in MISTAKES[contract.system.name]]


def evidence_of(subject: Subject, contract: Any, rows: Mapping[str, FloatArray]) -> Evidence:
    """The sparse recording as a diagnosis takes it."""
    recorded = {
        name: np.asarray(rows[name], np.float32) for name in contract.system.graph.names if name in subject.recorded
    }
    count = len(next(iter(recorded.values())))
    mode = "free" if contract.system.graph.feeds_itself else "teacher"
    return Evidence(np.arange(count), contract.fps or 1.0, mode, recorded, network=subject.network)


def alarms_of(subject: Subject, variants: Sequence[tuple[str, Any]]) -> list[str]:
    """The honest variants that do not agree with the contract."""
    contract = opened(subject)
    verdicts = {name: diagnose(evidence_of(subject, contract, rows), contract).verdict for name, rows in variants}
    return [f"{name}: {verdict}" for name, verdict in verdicts.items() if verdict != "agrees"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What the diagnosis made of one recording: a word of this module, and its changes."""

    planted: Mistakes
    word: str
    said: Mistakes
    verdict: str


def answered(subject: Subject, contract: Any, planted: Mistakes, seed: int) -> Answer:
    """What the diagnosis makes of one recording."""
    rows = subject.record(planted, seed, AS_WRITTEN)
    diagnosis = diagnose(evidence_of(subject, contract, rows), contract)
    said = {name: str(value) for cause in diagnosis.causes for name, value in cause.changes.items()}
    return Answer(planted, _word(subject, planted, seed, rows, diagnosis), said, diagnosis.verdict)


def _word(subject: Subject, planted: Mistakes, seed: int, rows: Mapping[str, FloatArray], diagnosis: Diagnosis) -> str:
    def records(mistakes: Mistakes) -> bool:
        return _is_same(subject, rows, subject.record(mistakes, seed, AS_WRITTEN))

    if diagnosis.verdict == "agrees":
        return UNSEEN if records({}) else MISSED
    shown = {name: value for name, value in planted.items() if not records(_without(planted, name))}
    choices = [(cause.changes, *cause.equivalents) for cause in diagnosis.causes]
    readings = [
        {name: str(value) for changes in chosen for name, value in changes.items()}
        for chosen in islice(product(*choices), _MOST_READINGS)
    ]
    if any(reading in (shown, dict(planted)) for reading in readings):
        return NAMED
    if not diagnosis.is_one_set_of_conventions:
        return LOCATED
    return ALIKE if records(readings[0]) else MISLEADING


def _without(planted: Mistakes, left_out: str) -> Mistakes:
    return {name: value for name, value in planted.items() if name != left_out}


def _is_same(subject: Subject, rows: Mapping[str, FloatArray], others: Mapping[str, FloatArray]) -> bool:
    """Whether two recordings differ by rounding at most: by `_ROUNDINGS` of the largest number of a stage in a frame."""
    for stage in subject.recorded:
        one, other = (np.asarray(each[stage], np.float64) for each in (rows, others))
        size = np.abs(other).max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            if not np.all((np.abs(one - other) <= _ROUNDINGS * 2.0**-24 * size) | (one == other)):
                return False
    return True


def counted(subject: Subject, planted: Sequence[Mistakes], seed: int = 0) -> Iterator[Answer]:
    """The answer to each set of mistakes."""
    contract = opened(subject)
    for mistakes in planted:
        yield answered(subject, contract, mistakes, seed)
