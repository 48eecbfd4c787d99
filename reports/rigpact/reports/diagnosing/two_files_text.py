"""Two files of named arrays, for people: each array, where it first differs, what makes one of the other, and the next step."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from rigpact.reports.diagnosing.diagnosis import StageVerdict
from rigpact.reports.diagnosing.diagnosis_text import divergence_text, remains_texts
from rigpact.reports.diagnosing.two_files import TwoFiles
from rigpact.reports.terminal import plain, sum_up, table

NEXT = (
    "A contract would say which stage computes it: `rigpact init` drafts one from a model and its recording, "
    "`rigpact init --from deploy.yaml` makes one for a robot."
)


def print_two_files(found: TwoFiles, console: Console) -> None:
    """Print every array, the first place that differs, what explains it, and the verdict."""
    diagnosis = found.diagnosis
    for note in found.notes:
        console.print(Text(f"note: {plain(note)}", style="yellow"))
    columns = ("array", "largest difference", "tolerance", "")
    console.print(table(f"Arrays; tolerance: {found.tolerance}", columns, map(_row, diagnosis.stages)))
    for stage in diagnosis.stages:
        if stage.differs is not None:
            console.print(Text(f"{stage.stage} differs: {plain(stage.differs.sentence)}"))
    if diagnosis.first_divergence is not None:
        console.print(
            Text(f"First difference: {divergence_text(diagnosis.first_divergence).removesuffix(' raw')}", style="bold")
        )
    for words in (*found.edits, *(f"left: {each}" for each in remains_texts(diagnosis))):
        console.print(Text(plain(words)))
    if found.exit_code:
        console.print(Text(NEXT, style="dim"))
    sum_up(
        Text(f"{found.word}: {plain(found.headline)}", style="bold red" if found.exit_code else "bold green"),
        console,
    )


def _row(stage: StageVerdict) -> tuple[str, ...]:
    size = "not finite" if stage.local_error is None else f"{stage.local_error:.3g}"
    tolerance = "" if stage.tolerance is None else f"{stage.tolerance:.3g}"
    return stage.stage, size, tolerance, {True: "same", False: "DIFFERS", None: "not judged"}[stage.ok]
