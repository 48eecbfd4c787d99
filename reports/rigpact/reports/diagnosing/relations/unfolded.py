"""Stages that were not recorded, seen where a recorded stage only holds their numbers: a term in an observation.

What differs is looked for there: `joint_vel_scaled is computed with …` says more than the columns of an observation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.relations.subject import Subject
from rigpact.reports.diagnosing.relations.target import channels_of
from rigpact.reports.diagnosing.stage_error import StageError, stage_error


def relations_before(
    subject: Subject, relations_of: Callable[[Subject], Sequence[Relation]]
) -> tuple[list[Relation], NDArray[np.bool_]]:
    """The relations of the unrecorded stages that a stage holds, and the channels (W,) that they explain.

    What such a stage is, as it stands in the recorded one, must explain every channel that comes from it, at every age.
    """
    found, explained = list[Relation](), np.zeros(subject.recorded.shape[1], bool)
    for name, rows in _seen_in(subject).items():
        evidence = replace(subject.evidence, recorded={**subject.evidence.recorded, name: rows})
        frames = ReplayedFrames(evidence, subject.contract)
        error, rest = stage_error(frames, name), stage_error(frames, subject.stage.name)
        if error is None or error.ok or rest is None:
            continue
        changed = (rest.replayed != subject.replayed).any(axis=0)
        if (rest.excess[:, changed] > 1.0).any():
            continue
        relations = relations_of(subject.of_stage(evidence, subject.contract, error))
        if relations and _are_all(relations, error):
            excess = np.where(changed, rest.excess, np.nan)
            found += [replace(relation, stage=subject.stage.name, excess=excess) for relation in relations]
            explained |= changed
    return found, explained


def _are_all(relations: Sequence[Relation], error: StageError) -> bool:
    """Whether every value that differs is within its bound under one of the relations."""
    within = np.any([relation.excess <= 1.0 for relation in relations], axis=0)
    return bool(within[error.excess > 1.0].all())


def _seen_in(subject: Subject) -> Mapping[str, FloatArray]:
    """Each unrecorded stage that the stage is computed from, as it stands in its recorded channels."""
    found = dict[str, FloatArray]()
    for name in subject.stage.needs:
        rows = subject.frames.get(name)
        if name in subject.evidence.recorded or rows is None or subject.contract.system.graph[name].compute is None:
            continue
        channels = channels_of(subject.replayed, rows)
        if channels is not None:
            found[name] = subject.recorded[:, channels].astype(np.float32)
    return found
