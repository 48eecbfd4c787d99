"""A network's answer that is that of the model with one edit: another activation, a normaliser in another order, …"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.answers import other_answers
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reports.diagnosing.relations.relation import Place, Reading
from rigpact.reports.diagnosing.relations.subject import Subject


def edited_models(subject: Subject) -> Iterator[Reading]:
    """Every edit of the model, on the recorded inputs; and of each model whose answer was not recorded."""
    if subject.stage.is_answer:
        for words, rows, bound in subject.other_answers():
            yield Reading("model", f"computed {words}", rows, bound)
    graph = subject.contract.system.graph
    for stage in (graph[name] for name in subject.before if name not in subject.evidence.recorded):
        for words in subject.near_edits(partial(_edits, stage)) if stage.is_answer else ():
            change = partial(_edited, stage, words)
            found = subject.recomputed("model", f"computed from {stage.name}, computed {words}", change)
            if found is not None:
                yield replace(found, source=Place(stage.name, np.arange(subject.before[stage.name].shape[1])))


def _edits(stage: Stage, frames: ReplayedFrames) -> Iterator[tuple[str, Mapping[str, FloatArray]]]:
    for words, rows, _ in other_answers(stage, frames):
        yield words, {stage.name: rows}


def _edited(stage: Stage, words: str, known: Subject) -> Mapping[str, FloatArray]:
    return next(({stage.name: rows} for _, rows, _ in other_answers(stage, known.frames, {words})), {})
