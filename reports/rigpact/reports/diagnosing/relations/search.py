"""Find the relations of a stage that no convention explains.

One that explains all that differs in every frame ends the search; else those that explain most are said, each of its own
channels. A family that says much comes before one that says little. A reading is claimed only if it brings almost every frame,
and almost every value that differed, within its bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.graph.answers import other_answers
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.graph.work import SEARCHED_FRAMES
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses
from rigpact.reports.diagnosing.relations.families.by_rotations import by_rotations
from rigpact.reports.diagnosing.relations.families.clock import clock
from rigpact.reports.diagnosing.relations.families.fitted import fitted_numbers, fitted_tables
from rigpact.reports.diagnosing.relations.families.forward import fitted_forward
from rigpact.reports.diagnosing.relations.families.in_time import in_time
from rigpact.reports.diagnosing.relations.families.inputs import inputs
from rigpact.reports.diagnosing.relations.families.maps import limited_each, mapped
from rigpact.reports.diagnosing.relations.families.on_lines import (
    of_other_vectors,
    on_fitted_line,
    on_lines,
    on_one_line,
    on_some_lines,
)
from rigpact.reports.diagnosing.relations.families.parts import another_part, parts_elsewhere
from rigpact.reports.diagnosing.relations.families.played import played
from rigpact.reports.diagnosing.relations.families.provenance import elsewhere, exchanged
from rigpact.reports.diagnosing.relations.families.small_angles import small_angles
from rigpact.reports.diagnosing.relations.families.stages import histories, orders, restarted
from rigpact.reports.diagnosing.relations.families.turned import turned, turned_vectors
from rigpact.reports.diagnosing.relations.families.turned_inputs import turned_inputs
from rigpact.reports.diagnosing.relations.families.without_a_rule import (
    glitch,
    lines_in_few_frames,
    noise,
    one_number,
    stuck,
    zeroed,
)
from rigpact.reports.diagnosing.relations.fit import Fit, fits_of
from rigpact.reports.diagnosing.relations.pairs import pairs
from rigpact.reports.diagnosing.relations.pulled_back import STORED
from rigpact.reports.diagnosing.relations.relation import (
    WORDS_LISTED,
    CandidateEdit,
    ChannelSet,
    MadeBy,
    Relation,
)
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import Target, only_moves, targets
from rigpact.reports.diagnosing.stage_error import stage_error


# A network's answer that is that of the model with one edit: another activation, a normaliser in another order, …
def edited_models(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Every edit of the model, on the recorded inputs; and of each model whose answer was not recorded."""
    if subject.stage.is_answer:
        for words, rows, bound in subject.other_answers():
            yield CandidateEdit("model", f"computed {words}", rows, bound)
    graph = subject.contract.system.graph
    for stage in (graph[name] for name in subject.before if name not in subject.evidence.recorded):
        for words in subject.near_edits(partial(_edits, stage)) if stage.is_answer else ():
            change = partial(_edited, stage, words)
            found = subject.recomputed("model", f"computed from {stage.name}, computed {words}", change)
            if found is not None:
                yield replace(found, source=ChannelSet(stage.name, np.arange(subject.before[stage.name].shape[1])))


def _edits(stage: Stage, frames: ReplayedFrames) -> Iterator[tuple[str, Mapping[str, FloatArray]]]:
    for words, rows, _ in other_answers(stage, frames):
        yield words, {stage.name: rows}


def _edited(stage: Stage, words: str, known: DivergentStage) -> Mapping[str, FloatArray]:
    return next(({stage.name: rows} for _, rows, _ in other_answers(stage, known.frames, {words})), {})


Family = Callable[[Target], Iterator[CandidateEdit]]
WITHOUT_A_NUMBER: tuple[Family, ...] = (on_one_line, zeroed, exchanged, by_rotations, played, stuck)
"""Edits of numbers wherever they stand: of the answer, or of an input that can be worked back from it."""
WITH_NUMBERS: tuple[Family, ...] = (
    on_fitted_line, turned_vectors, elsewhere, of_other_vectors, mapped, clock, in_time, lines_in_few_frames,
)  # fmt: skip
"""The same, with a number that is fitted, or from anywhere in the recording."""
OF_STAGES: tuple[Callable[[DivergentStage], Iterator[CandidateEdit]], ...] = (
    edited_models,
    histories,
    restarted,
    orders,
    small_angles,
    parts_elsewhere,
)
"""Edits of how the stage is computed."""
OF_VECTORS = (fitted_numbers, histories, small_angles, orders)
"""The same of a vector on the way that can be worked back, as if it were the stage."""
SAY_LITTLE: tuple[Family, ...] = (on_lines, on_some_lines, one_number, limited_each)
"""Readings that take more from the recording itself."""
FEW_NUMBERS = 3
"""A reading that takes more from the recording may be a shorter one of an input."""


def find_relations(
    hypotheses: Hypotheses, stages: Iterable[str], base: Changes, budget: Budget | None = None
) -> list[Relation]:
    """The relations of stages that no convention explains, each under the conventions that explain the others."""
    found: list[Relation] = []
    budget = budget or Budget.unlimited()
    for stage in stages:
        error = hypotheses.error(stage, base)
        if error is None or error.ok or budget.cuts(f"the relations of {stage}"):
            continue
        budget.says(f"searching relations of {stage}")
        contract = hypotheses.contract.with_conventions(base) if base else hypotheses.contract
        subject = DivergentStage(hypotheses.evidence, contract, error, budget=budget, differs=hypotheses.failing(base))
        found += _of_all_frames(subject)
    return found


def _of_all_frames(subject: DivergentStage) -> list[Relation]:
    """The relations of a stage in all of its frames.

    A long recording is searched where it differs first; the families that tell something there are asked about every frame.
    Where they leave something, it is searched where that begins.
    """
    if len(subject.evidence.frame) <= SEARCHED_FRAMES or subject.contract.system.windowed:
        return relations_of(subject)
    found, told = list[Relation](), set[MadeBy]()
    left = subject.failing.any(axis=1)
    while left.any():
        more = {relation.family for relation in relations_of(_around(subject, int(np.argmax(left))))} - told
        if not more:
            break
        told |= more
        whole = DivergentStage(
            subject.evidence, subject.contract, subject.error, subject.frames, wanted=told, differs=subject.differs
        )
        found = relations_of(whole)
        explained = np.any([relation.excess <= 1.0 for relation in found], axis=0)
        left = np.asarray((whole.failing & ~explained).any(axis=1))
    return found


def _around(subject: DivergentStage, first: int) -> DivergentStage:
    """The stage in SEARCHED_FRAMES frames, from shortly before one of them."""
    count = len(subject.evidence.frame)
    start = max(0, min(first - SEARCHED_FRAMES // 10, count - SEARCHED_FRAMES))
    evidence = subject.evidence.at_rows(slice(start, start + SEARCHED_FRAMES))
    error = stage_error(ReplayedFrames(evidence, subject.contract), subject.stage.name)
    return subject.of_stage(evidence, subject.contract, error or subject.error)


def relations_of(subject: DivergentStage) -> list[Relation]:
    """The relations of one stage: one that explains all that differs, else those that explain most, each of its own channels.

    Two edits on one way are looked for where single ones leave something.
    """
    if not subject.failing.any():  # what is not finite comes from no number
        return []
    found = _relations_of(subject)
    return _pairs(subject, found) or found


def _from(
    family: Callable[..., Iterator[CandidateEdit]], of: DivergentStage | Target, *more: Any
) -> Iterator[CandidateEdit]:
    """The readings of a family, which are said to be its; none where only others are asked."""
    subject, name = (of, "") if isinstance(of, DivergentStage) else (of.subject, of.name)
    made_by = (family.__name__, name)
    if subject.wanted is None or made_by in subject.wanted:
        for reading in family(of, *more):
            yield replace(reading, family=made_by)


def _pairs(subject: DivergentStage, found: Sequence[Relation]) -> list[Relation]:
    """Two edits that explain channels of which single ones tell nothing, or in many numbers only."""
    told = [~np.isnan(each.excess).all(axis=0) for each in found if each.fitted <= FEW_NUMBERS]
    if np.any([~subject.failing.any(axis=0), *told], axis=0).all():
        return []
    return pairs(subject, list(targets(subject)), _of_vector, _at_once, _first_whole)


def _relations_of(subject: DivergentStage) -> list[Relation]:
    """The relations of the channels that differ; the first simple one of all of them ends the search."""
    found, possible = list[Relation](), list[Relation]()
    is_open = np.asarray(subject.failing.any(axis=0))
    every = list(targets(subject))
    fits = list[Fit]()
    for readings in (_that_say_much, _of_inputs, _that_say_little):
        if readings is _that_say_little:
            is_open = _taken(fits, is_open, found)
        if not (is_open & ~_told(fits, is_open)).any():
            break
        tried = readings(subject, [target.in_channels(is_open) for target in every])
        for fit in fits_of(subject, subject.budget.within(tried, f"some relations of {subject.stage.name}"), possible):
            if fit.is_whole and not (is_open & ~fit.channels).any() and fit.ends_search:
                return _of_few_digits([*found, fit.relation], possible, is_whole=True)
            fits.append(fit)
    is_open = _taken(fits, is_open, found)
    found = _without_many_numbers(_merged(subject, found))
    if is_open.any() and not possible:
        found += [*glitch(subject, is_open)] or [*noise(subject, is_open)]
    return _of_few_digits(found, possible, is_whole=not is_open.any())


def _of_few_digits(found: list[Relation], possible: list[Relation], *, is_whole: bool) -> list[Relation]:
    """What was found, unless lost digits leave one reading of the whole stage possible, in which no number is fitted."""
    is_told = is_whole and not any(relation.fitted for relation in found)
    return possible if len(possible) == 1 and not is_told else found


def _merged(subject: DivergentStage, found: Sequence[Relation]) -> list[Relation]:
    """The relations, those that say the same of several places as one."""
    by_words = dict[tuple[str, str, str], list[Relation]]()
    for relation in found:
        by_words.setdefault((relation.kind, relation.words, relation.source), []).append(relation)
    merged = list[Relation]()
    for first, *others in by_words.values():
        if not others:
            merged.append(first)
            continue
        excess, rows, bound = (
            np.fmax.reduce([getattr(each, name) for each in (first, *others)]) for name in ("excess", "rows", "bound")
        )
        judged, beyond = ~np.isnan(excess).all(axis=1), (excess > 1.0).any(axis=1)
        place = subject.place_of(np.flatnonzero((~np.isnan(excess)).any(axis=0)))
        merged.append(
            replace(
                first,
                place=place.name,
                excess=excess,
                rows=rows,
                bound=bound,
                frames=int(judged.sum()),
                frames_explained=int((judged & ~beyond).sum()),
                frames_left=tuple(subject.evidence.frame[judged & beyond].tolist()),
                ratio=float(np.nanmax(excess[judged & ~beyond], initial=0.0)),
                channels=first.channels if first.source else tuple(place.channels.tolist()),
            )
        )
    return merged


def _without_many_numbers(found: Sequence[Relation]) -> list[Relation]:
    """The relations; those of one kind that take more numbers than are said of one say a number for each place, and no rule."""
    fitted = Counter[str]()
    for relation in found:
        fitted[relation.kind] += relation.fitted
    return [replace(each, is_rule=each.is_rule and fitted[each.kind] <= WORDS_LISTED) for each in found]


def _told(fits: Sequence[Fit], is_open: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The channels that some fits of open channels explain in few numbers and in every frame."""
    few = (fit for fit in fits if fit.is_whole and fit.reading.cost <= FEW_NUMBERS)
    told = [fit.channels for fit in few if not (fit.channels & ~is_open).any()]
    return np.asarray(np.any([np.zeros_like(is_open), *told], axis=0))


def _taken(fits: list[Fit], is_open: NDArray[np.bool_], found: list[Relation]) -> NDArray[np.bool_]:
    """What stays open after the fits that explain most, each of its own channels; they are moved to `found`.

    Rules come before what is none, unless they would be a number for each place: that is said once.
    """
    most = sorted(fits, key=lambda fit: (-fit.count, fit.reading.cost))
    for order in (sorted(most, key=lambda fit: not fit.reading.is_rule), most):
        chosen, left = list[Relation](), is_open
        for fit in order:
            if not (fit.channels & ~left).any():
                chosen.append(fit.relation)
                left = left & ~fit.channels
        if all(each.is_rule == fit.is_rule for each, fit in zip(_without_many_numbers(chosen), chosen, strict=True)):
            break
    fits.clear()
    found += chosen
    return left


def _of_vector(target: Target) -> Iterator[CandidateEdit]:
    """The edits of one vector that keep something of it: under one that does not, no other edit could be told."""
    for family in (*WITHOUT_A_NUMBER, *WITH_NUMBERS):
        if family not in (zeroed, stuck):
            yield from _from(family, target)


def _at_once(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """The edits of each vector of a stage under another word, and other numbers of its parameters."""
    for target in targets(subject):
        yield from _of_vector(replace(target, is_narrow=True))
    yield from _from(fitted_numbers, subject)


def _first_whole(subject: DivergentStage, readings: Iterator[CandidateEdit]) -> Relation | None:
    """The first simple reading that explains every value."""
    differs = np.asarray(subject.failing.any(axis=0))
    fits = fits_of(subject, readings, [])
    return next(
        (f.relation for f in fits if f.ends_search and not (differs & ~f.channels).any()),
        None,
    )


def _that_say_much(subject: DivergentStage, every: Sequence[Target]) -> Iterator[CandidateEdit]:
    for place in subject.places:
        yield from _from(turned, subject, place)
    for simple in (on_one_line, zeroed):
        yield from _from(simple, every[0])
    yield from _from(another_part, subject)
    answer, *others = every
    for family in WITHOUT_A_NUMBER:
        yield from _from(family, answer)
    yield from _from(fitted_numbers, subject)
    for target in others:
        for family in WITHOUT_A_NUMBER:
            yield from _from(family, target)
    for target in every:
        for family in WITH_NUMBERS:
            yield from _from(family, target)
    for of_stage in OF_STAGES:
        yield from _from(of_stage, subject)


def at_each_vector(subject: DivergentStage, every: Sequence[Target]) -> Iterator[CandidateEdit]:
    """The edits of how each vector on the way is computed that can be worked back; carried on to the stage."""
    graph, recorded = subject.contract.system.graph, subject.evidence.recorded
    for target in every:
        if not target.name or target.name in recorded or graph[target.name].compute is None:
            continue
        there = target.as_a_stage()
        for reading in (reading for family in OF_VECTORS for reading in family(there)) if there else ():
            where = target.name if reading.place is None else reading.place.name
            words = f"computed from {where} that is {reading.words}"
            with np.errstate(invalid="ignore"):  # the claim is not off by what was worked back
                own = np.fmax(reading.bound - target.bound, STORED * np.abs(reading.rows))
            change, off = partial(_with_rows, target.name, reading.rows), {target.name: own}
            found = subject.recomputed(reading.kind, words, change, fitted=reading.fitted, off=off)
            if found is not None:
                source = ChannelSet(target.name, np.arange(reading.rows.shape[1]))
                yield replace(found, source=source, pieces=reading.pieces, is_rule=reading.is_rule)


def _with_rows(name: str, rows: FloatArray, _known: DivergentStage) -> Mapping[str, FloatArray]:
    return {name: rows}


def _of_inputs(subject: DivergentStage, every: Sequence[Target]) -> Iterator[CandidateEdit]:
    yield from _from(at_each_vector, subject, every)
    names = subject.before.keys() - (subject.inputs if only_moves(subject) else set())
    chosen, worked_back = [name for name in subject.before if name in names], {target.name for target in every}
    yield from _from(inputs, subject, chosen, worked_back)
    yield from _from(turned_inputs, subject, list(subject.before))
    yield from _from(fitted_forward, subject, list(subject.before))


def _that_say_little(subject: DivergentStage, every: Sequence[Target]) -> Iterator[CandidateEdit]:
    for target in every:
        for family in SAY_LITTLE:
            yield from _from(family, target)
    yield from _from(fitted_tables, subject)
