"""Two files of named arrays in words: each array, where it first differs, what makes one of the other, and the next step."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.reports.answer import Answer, Figures, Sentence, number_text
from rigpact.reports.diagnosing.diagnosis import StageVerdict
from rigpact.reports.diagnosing.diagnosis_text import divergence_text, remains_texts
from rigpact.reports.diagnosing.two_files import TwoFiles

NEXT = (
    "A contract would say which stage computes it: `rigpact init` drafts one from a model and its recording, "
    "`rigpact init --from deploy.yaml` makes one for a robot."
)


def answer_of_two_files(found: TwoFiles) -> Answer:
    """The arrays, and what makes the second file of the first."""
    return Answer(found.word, found.headline, found.exit_code, tuple(_body(found)))


def _body(found: TwoFiles) -> Iterator[Sentence | Figures]:
    diagnosis, columns = found.diagnosis, ("array", "largest difference", "tolerance", "")
    first, differing = diagnosis.first_divergence, [each for each in diagnosis.stages if each.differs is not None]
    rows = [*map(_row, diagnosis.stages)]
    yield from (Sentence(f"note: {note}", "yellow", 9) for note in found.notes)
    yield Figures(f"Arrays; tolerance: {found.tolerance}", columns, rows)
    yield Figures("", columns, [row for row in rows if row[-1] != "same"], is_short=True)
    yield from (Sentence(f"{each.stage} differs: {each.differs.sentence}", "", 2) for each in differing if each.differs)
    if first is not None:
        yield Sentence(f"First difference: {divergence_text(first)}", "bold", 0)
    if diagnosis.verdict != "explained":  # else the last line says it
        yield from (Sentence(each, "", 1) for each in found.edits)
    yield from (Sentence(f"left: {each}", "", 1) for each in remains_texts(diagnosis))
    if found.exit_code:
        yield Sentence(NEXT, "dim", 3)


def _row(stage: StageVerdict) -> tuple[str, ...]:
    verdict = {True: "same", False: "DIFFERS", None: "not judged"}[stage.ok]
    return stage.stage, number_text(stage.local_error, "not finite"), number_text(stage.tolerance), verdict
