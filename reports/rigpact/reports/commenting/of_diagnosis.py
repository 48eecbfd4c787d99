"""The comment on a diagnosis: the convention that differs, or the place where nothing explains the difference."""

from collections.abc import Iterable, Iterator

from rigpact.reports.commenting.comment import Comment
from rigpact.reports.diagnosing import diagnosis_text as words
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis
from rigpact.reports.diagnosing.diagnosis_text import changes_text
from rigpact.reports.diagnosing.opened import answered_text


def comment_on_diagnosis(diagnosis: Diagnosis, notes: Iterable[str] = ()) -> Comment:
    """The answer of `rigpact explain`."""
    rows = []
    for stage in diagnosis.stages:
        if stage.ok is False and stage.ratio is not None:
            size = f"{stage.local_error or 0:.3g} {stage.unit if stage.unit != 'raw' else ''}".strip()
            rows.append((stage.stage, size, f"{stage.ratio:.3g}"))
    columns = ("stages that differ", "own error", "in tolerances")
    return Comment(_headline(diagnosis), diagnosis.exit_code, (*_lines(diagnosis), *notes), columns, rows)


def _headline(diagnosis: Diagnosis) -> str:
    judged, word = words.rests_text(diagnosis), diagnosis.word
    supposed = "" if diagnosis.supposition is None else f"supposing that {diagnosis.supposition}, "
    if diagnosis.causes:
        return f"{word}: {supposed}{'; '.join(changes_text(cause.changes) for cause in diagnosis.causes)}{judged}"
    if diagnosis.relations:
        return f"{word}: {supposed}{diagnosis.relations[0].sentence}{judged}"
    opened = f"open: {answered_text(diagnosis.answered)}; everything else agrees" if diagnosis.answered else ""
    said = {
        "agrees": opened or "every stage computes what the contract says",
        "undetermined": words.verdict_text(diagnosis) if diagnosis.is_cut else "not enough could be judged",
        "partly_explained": "a part is explained, and something remains",
    }
    if supposed and all(stage.ok is not False for stage in diagnosis.stages):
        said[diagnosis.verdict] = "every stage that could be judged computes what the contract says"
    return f"{word}: {supposed}{said.get(diagnosis.verdict, 'no known convention or relation explains it')}{judged}"


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    first = diagnosis.first_divergence
    if first is not None:
        yield f"First divergence: {words.divergence_text(first)}"
    for cause in diagnosis.causes:
        yield from _cause(cause)
    for place, relation in enumerate(diagnosis.relations):
        if place or diagnosis.causes:
            yield relation.sentence
    yield from (f"Remains: {each}" for each in words.remains_texts(diagnosis))
    if diagnosis.verdict == "agrees":
        yield from filter(None, (words.untold_text(diagnosis), words.agreement_text(diagnosis)))
    if diagnosis.search is not None and not diagnosis.search.is_complete:
        yield diagnosis.search.sentence
    yield from (f"{each.stage} differs: {each.differs.sentence}" for each in diagnosis.stages if each.differs)
    yield from (f"Against the contract: {each}" for each in diagnosis.contradictions)
    yield from (f"Not judged: {each.stage}; {each.needs}" for each in diagnosis.stages if each.needs is not None)
    yield from (f"{each.stage}: {each.sampled.words}" for each in diagnosis.stages if each.sampled is not None)


def _cause(cause: Cause) -> Iterator[str]:
    yield f"With {changes_text(cause.changes)} {words.effect_text(cause)}"
    yield from cause.code_hints
    if cause.equivalents:
        yield f"The same on this data: {'; '.join(map(changes_text, cause.equivalents))}"
