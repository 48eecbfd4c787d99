"""Search the conventions that explain the stages that differ.

The search tries all single changes, then all pairs (a greedy search misses pairs that interact). If no pair explains
everything, it goes stage by stage: it explains the first stage that differs by a single change, by a combination of
that stage's own knobs, or by a pair. Then it looks at the remaining stages again. A change counts only if it brings a
stage within its derived tolerance and breaks no other stage. A change that only makes the error smaller is not named, nor is
one that only makes the tolerance wider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnosis import Divergence
from rigpact.reports.diagnosing.extent import Extent, extent_of
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.diagnosing.stage_error import NEARLY, StageError, largest_in_unit

MAX_PRODUCT = 512
"""Up to this many combinations of one stage's own knobs are all tried: the AngVel input has 60, the state 80."""

ONE, TWO = "single conventions", "pairs of conventions"


@dataclass(frozen=True, eq=False)
class Explanation:
    """Changes that explain `stage`, added to `base`, and other changes that explain this data equally well."""

    stage: str
    base: Changes
    changes: Changes
    equivalents: tuple[Changes, ...]


def search(
    hypotheses: Hypotheses, *, with_pairs: bool, budget: Budget | None = None
) -> tuple[list[Explanation], list[str]]:
    """Explanations in the order of their stages, and the stages without an explanation.

    It takes at most half of the budget: the relations are tried with the rest.
    """
    budget = (budget or Budget.unlimited()).part()
    failing = hypotheses.failing({})
    singles = hypotheses.singles(failing, {})
    everything = [changes for changes in budget.within(singles, ONE) if hypotheses.explains(changes)]
    if not everything and with_pairs:
        pairs = hypotheses.pairs(singles, failing, budget)
        everything = [pair for pair in budget.within(pairs, TWO) if hypotheses.explains(pair)]
    if everything:
        return [_explanation(hypotheses, failing[0], {}, everything)], []
    return _stage_by_stage(hypotheses, budget, with_pairs=with_pairs)


def _stage_by_stage(hypotheses: Hypotheses, budget: Budget, *, with_pairs: bool) -> tuple[list[Explanation], list[str]]:
    base: Changes = {}
    found: list[Explanation] = []
    unresolved: list[str] = []
    while open_stages := [stage for stage in hypotheses.failing(base) if stage not in unresolved]:
        stage = open_stages[0]
        fixing = _fixing(hypotheses, budget, stage, base, with_pairs=with_pairs)
        if not fixing:
            unresolved.append(stage)
            found += _nearly(hypotheses, budget, stage, base, with_pairs=with_pairs)
            continue
        found.append(_explanation(hypotheses, stage, base, fixing))
        base = {**base, **found[-1].changes}
    return found, unresolved


def _nearly(
    hypotheses: Hypotheses, budget: Budget, stage: str, base: Changes, *, with_pairs: bool
) -> list[Explanation]:
    """The change, or the two, that explain almost every frame of a stage, where almost no frame fits without.

    At most one of them is returned. An example is a tool that treats its first frame differently. Such a change is named, and
    the frames that it leaves stay open.
    """
    frames, almost = hypotheses.frame_count, f"what almost explains {stage}"
    if hypotheses.frames_within(stage, base) > (1.0 - NEARLY) * frames:
        return []
    singles = hypotheses.singles([stage], base)
    pairs = budget.within(hypotheses.pairs(singles, [stage], budget), almost) if with_pairs else ()
    for candidates in (singles, ({**base, **pair} for pair in pairs)):
        possible = (each for each in candidates if hypotheses.may_nearly_fit(stage, each))
        count, best = max(
            ((hypotheses.frames_within(stage, changes), changes) for changes in budget.within(possible, almost)),
            key=lambda found: found[0],
            default=(0, base),
        )
        if count >= NEARLY * frames and hypotheses.earns(stage, best, base):
            return [Explanation(stage, base, {knob: best[knob] for knob in best if knob not in base}, ())]
    return []


def _fixing(hypotheses: Hypotheses, budget: Budget, stage: str, base: Changes, *, with_pairs: bool) -> list[Changes]:
    """The changes, added to `base`, that explain a stage, break none, and leave the fewest stages open."""
    before = set(hypotheses.failing(base))
    singles = hypotheses.singles([stage], base)

    def fixes(candidates: Iterable[Changes]) -> list[Changes]:
        fitting = (
            changes
            for changes in budget.within(candidates, f"conventions of {stage}")
            if hypotheses.fits(stage, changes)
        )
        return [changes for changes in fitting if set(hypotheses.failing(changes)) < before]

    fixing = fixes(singles)
    if not fixing and with_pairs:
        fixing = fixes({**base, **changes} for changes in hypotheses.pairs(singles, [stage], budget))
    if not fixing and with_pairs:
        fixing = fixes({**base, **changes} for changes in hypotheses.own_products(stage, MAX_PRODUCT))
    fewest = min((len(hypotheses.failing(changes)) for changes in fixing), default=0)
    best = [changes for changes in fixing if len(hypotheses.failing(changes)) == fewest]
    return [{knob: changes[knob] for knob in changes if knob not in base} for changes in best]


def _explanation(hypotheses: Hypotheses, stage: str, base: Changes, candidates: Sequence[Changes]) -> Explanation:
    """The explanation with the fewest changes, then the smallest error; larger sets are not alternatives."""
    fewest = min(len(changes) for changes in candidates)
    ranked = sorted(
        (changes for changes in candidates if len(changes) == fewest),
        key=lambda changes: hypotheses.excess(stage, {**base, **changes}),
    )
    return Explanation(stage, base, ranked[0], tuple(ranked[1:]))


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


def extent_at(hypotheses: Hypotheses, stage: str, differs: Mapping[str, Mask]) -> Extent | None:
    """Which parts of a stage differ, and in which frames; None where none does."""
    error = hypotheses.error(stage, {})
    if stage not in differs or error is None:
        return None
    layout = hypotheses.contract.fields(stage)
    return extent_of(differs[stage], ~np.isnan(error.excess), layout, hypotheses.evidence.frame)


def first_left(
    hypotheses: Hypotheses,
    left: Mapping[str, Mask],
    base: Changes,
    partly: Mapping[str, Changes],
    not_finite: Divergence | None,
) -> Divergence | None:
    """The first place that neither a cause nor a relation explains."""
    under = {stage: {**base, **partly.get(stage, {})} for stage in left}
    return first_divergence(hypotheses, under, not_finite, left)


def first_divergence(
    hypotheses: Hypotheses,
    under: Mapping[str, Changes],
    not_finite: Divergence | None,
    left: Mapping[str, Mask] | None = None,
) -> Divergence | None:
    """The first frame that differs and, in it, the first stage; under: the stages to look at, each under its changes.

    left: of each stage, the only values to look at. A non-finite value comes before all others.
    """
    evidence, contract, names = hypotheses.evidence, hypotheses.contract, hypotheses.graph.names
    found = []
    for stage, changes in under.items():
        error = hypotheses.error(stage, changes)
        if error is not None and left is not None:
            error = replace(error, excess=np.where(left[stage], np.fmax(error.excess, np.nextafter(1.0, 2.0)), np.nan))
        place = None if error is None else error.first_over
        if error is not None and place is not None:
            found.append((int(evidence.frame[place[0]]), names.index(stage), place, error))
    if not found:
        return not_finite
    frame, index, (row, channel), error = min(found, key=lambda entry: entry[:2])
    if not_finite is not None and (not_finite.frame, names.index(not_finite.stage)) <= (frame, index):
        return not_finite
    address, unit = channel_address(error.stage, channel, contract), hypotheses.graph[error.stage].shown_unit
    error_there = error.at(row, _measured_with(error.stage, channel, contract))
    return Divergence(frame, error.stage, address, largest_in_unit(error_there, contract), unit)


def _measured_with(stage: str, channel: int, contract: Contract) -> slice:
    """The channels whose error is one number: a whole rotation where angles are measured, else the channel alone."""
    measure, field = contract.system.graph[stage].measure, contract.fields(stage).field_at(channel)
    is_whole = field is not None and (measure.sizes is not None or measure.has_signless_quaternions)
    return slice(field.start, field.stop) if field is not None and is_whole else slice(channel, channel + 1)


def first_not_finite(evidence: Evidence, contract: Contract) -> Divergence | None:
    """The first non-finite recorded value: of the first such frame, the first stage of the loop."""
    found = []
    for place, name in enumerate(contract.system.graph.names):
        if name in evidence.recorded:
            bad = np.argwhere(~np.isfinite(evidence.recorded[name]))
            if len(bad):
                found.append((int(evidence.frame[bad[0][0]]), place, name, int(bad[0][1])))
    if not found:
        return None
    frame, _, stage, channel = min(found)
    return Divergence(frame, stage, channel_address(stage, channel, contract), None, "not finite")
