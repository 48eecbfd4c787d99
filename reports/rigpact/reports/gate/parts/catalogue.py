"""All parts of the gate, in the order in which reports show them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rigpact.contract.findings import FindingsReport
from rigpact.contract.settings.gate import GateSettings
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.parts import adequacy, breaking, budget, files, free_run, recordings
from rigpact.reports.gate.project import Project


def as_measured(measured: Measured, _settings: GateSettings) -> FindingsReport:
    """The judgement of a part without thresholds."""
    return measured.report


@dataclass(frozen=True)
class PartKind:
    """One question: its name, the function that measures it, and the function that judges it under thresholds.

    metrics: the type of the figures that it judges, a TypedDict; None where there are none. is_sound: whether the figures and the
    run of an archive fit together.
    """

    name: str
    ask: Callable[[Project], Iterator[NotAsked | Question]]
    judge: Callable[[Measured, GateSettings], FindingsReport | NotAsked] = as_measured
    metrics: type | None = None
    is_sound: Callable[[Measured], bool] = lambda measured: measured.run is None


PARTS: Mapping[str, PartKind] = {
    kind.name: kind
    for kind in (
        PartKind(files.FILES, files.ask_files),
        PartKind(files.MODEL, files.ask_model),
        PartKind(
            recordings.TEACHER,
            recordings.ask_teacher,
            recordings.judge,
            recordings.RecordingMetrics,
            recordings.is_sound,
        ),
        PartKind(
            recordings.TRACE, recordings.ask_traces, recordings.judge, recordings.RecordingMetrics, recordings.is_sound
        ),
        PartKind(free_run.NAME, free_run.ask),
        PartKind(breaking.NAME, breaking.ask, breaking.judge, breaking.BreakingMetrics),
        PartKind(adequacy.NAME, adequacy.ask, adequacy.judge, adequacy.AdequacyMetrics, adequacy.is_sound),
        PartKind(budget.NAME, budget.ask, budget.judge, budget.BudgetMetrics),
    )
}
"""The parts by name."""
