"""A network's answer that is that of the model with one edit: another activation, a normaliser in another order, …"""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Subject


def edited_models(subject: Subject) -> Iterator[Reading]:
    """Every edit of the model, on the recorded inputs."""
    if not subject.stage.is_answer:
        return
    for words, rows, bound in subject.other_answers():
        yield Reading("model", f"computed {words}", rows, bound)
