"""What stays open under the causes and relations that were found: the values that are still beyond their tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.stage_error import StageError

Mask = NDArray[np.bool_]


def remaining(
    hypotheses: Hypotheses,
    base: Changes,
    partly: Mapping[str, Changes],
    relations: Iterable[Relation],
    of_the_rest: Sequence[Relation] = (),
) -> dict[str, Mask]:
    """Of each judged stage that stays open: the values that do, (T, width).

    base: conventions for the whole recording. partly: of a stage, conventions that bring it, or some of its frames, within
    its tolerance; of_the_rest: relations under these.
    """
    found = {}
    of_stage: dict[str, list[Relation]] = {}
    for relation in relations:
        of_stage.setdefault(relation.stage, []).append(relation)
    for stage in hypotheses.failing(base):
        left = _left_beyond(hypotheses, stage, base)
        if stage in of_stage:
            left = _without(left, of_stage[stage])
        elif stage in partly:
            changes = {**base, **partly[stage]}
            left = np.zeros_like(left) if hypotheses.fits(stage, changes) else _left_beyond(hypotheses, stage, changes)
            left = _without(left, [relation for relation in of_the_rest if relation.stage == stage])
        if left.any():
            found[stage] = left
    return found


def _left_beyond(hypotheses: Hypotheses, stage: str, changes: Changes) -> Mask:
    """The values beyond their tolerance; where changes fit only because less is judged, those that differ without them."""
    errors = [error for each in (changes, {}) if (error := hypotheses.error(stage, each)) is not None]
    for error in errors:
        if not error.ok:
            return beyond(error)
    return np.asarray(~np.isnan(errors[-1].excess))


def _without(beyond: Mask, relations: Sequence[Relation]) -> Mask:
    """What no relation brings within its bound, and what one brings beyond it."""
    within, broken = np.zeros_like(beyond), np.zeros_like(beyond)
    for relation in relations:
        if relation.excess is None or not relation.is_rule:
            continue
        with np.errstate(invalid="ignore"):
            within |= relation.excess <= 1.0
            broken |= relation.excess > 1.0
    return np.asarray((beyond | broken) & ~within)


def beyond(error: StageError) -> Mask:
    """The values of a stage beyond their tolerance, (T, width)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(error.excess > 1.0)
