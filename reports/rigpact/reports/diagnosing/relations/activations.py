"""A network's answer that is the model's with another activation: another function, another slope, or none."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Subject


def activations(subject: Subject) -> Iterator[Reading]:
    """Every other activation of the model, on the recorded inputs."""
    if not subject.stage.is_answer:
        return
    for words, rows, bound in subject.other_answers():
        yield Reading("activation", f"computed {words}", rows, bound)
