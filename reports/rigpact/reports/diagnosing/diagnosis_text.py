"""Print a diagnosis for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence, StageVerdict
from rigpact.reports.diagnosing.opened import answered_text
from rigpact.reports.diagnosing.relations.relation import frames_words
from rigpact.reports.terminal import plain, sum_up, table

_STYLE = {
    "agrees": "bold green", "explained": "bold red", "partly_explained": "bold red", "unexplained": "bold red",
    "undetermined": "bold yellow",
}  # fmt: skip
_SENTENCE = {
    "agrees": "every stage that could be judged computes what the contract says",
    "explained": "what is named above explains every value that differs",
    "partly_explained": "what is named above explains a part",
    "unexplained": "no known convention or relation explains it: look at the stage and address above",
    "undetermined": "not enough could be judged: record or give what is named above, or --allow-unjudged STAGE",
}
_CUT = "it differs, and not everything was tried that may say why"

_ONLY_GIVEN = "only what comes from outside was recorded: record a stage that the contract computes"


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """Print stages, the first divergence, causes with code hints, and the verdict."""
    print_stages(diagnosis.stages, diagnosis.first_divergence, console, diagnosis.supposition)
    print_answers(diagnosis, console)


def print_stages(
    stages: Sequence[StageVerdict], first: Divergence | None, console: Console, supposition: str | None = None
) -> None:
    """Print what is known before anything is searched: every stage, who differs and when, and where it begins.

    supposition: the other choice of files under which they were judged.
    """
    judged = [stage for stage in stages if stage.ok is not None]
    if judged:
        columns = ("stage", "own error", "inherited", "unit", "worst channel", "tolerance", "ratio", "")
        supposed = "" if supposition is None else f", supposing that {plain(supposition)}"
        title = f"Stages, each replayed from its own recorded inputs{supposed}"
        console.print(table(title, columns, map(_row, judged)))
    for stage in stages:
        if stage.needs is not None:
            console.print(Text(f"  {stage.stage}: not judged; {stage.needs}", style="dim"))
        if stage.sampled is not None:
            console.print(Text(f"  {stage.stage}: {stage.sampled.words}", style="dim"))
    for stage in stages:
        if stage.differs is not None:
            console.print(Text(f"{stage.stage} differs: {plain(stage.differs.sentence)}"))
    _print_divergence("First divergence", first, console)


def print_answers(diagnosis: Diagnosis, console: Console) -> None:
    """Print what the search found: the causes, the relations, what is left, what the answer rests on, and the verdict."""
    if diagnosis.supposition is not None:
        console.print(Text(f"Supposing that {plain(diagnosis.supposition)}:", style="bold"))
    _print_found(diagnosis, console)
    if untold := untold_text(diagnosis):
        console.print(Text(untold, style="dim"))
    for words in remains_texts(diagnosis):
        console.print(Text(f"Remains: {plain(words)}"))
    if diagnosis.verdict == "partly_explained" or diagnosis.is_cut:
        _print_divergence("First unexplained", diagnosis.first_unexplained, console)
    for said in (answers_text(diagnosis), agreement_text(diagnosis)):
        if said:
            console.print(Text(plain(said)))
    if diagnosis.rests_on is not None:
        console.print(Text(f"Rests on {plain(diagnosis.rests_on.words)}", style="bold"))
    if diagnosis.search is not None and not diagnosis.search.is_complete:
        console.print(Text(plain(diagnosis.search.sentence), style="yellow"))
    line = Text(diagnosis.word, style=_STYLE[diagnosis.verdict])
    sum_up(line.append(f": {verdict_text(diagnosis)}{rests_text(diagnosis)}", style="default"), console)


def _print_found(diagnosis: Diagnosis, console: Console) -> None:
    for cause in diagnosis.causes:
        _print_cause(cause, console)
    for relation in diagnosis.relations:
        console.print(Text(f"Relation: {plain(relation.sentence)}"))
    for contradiction in diagnosis.contradictions:
        console.print(Text(f"Against the contract: {plain(contradiction)}", style="bold"))


def answers_text(diagnosis: Diagnosis) -> str:
    """What the recording answers of what the contract leaves open, where the verdict does not say it; else ''."""
    is_said = diagnosis.verdict == "agrees" or not diagnosis.answered
    return "" if is_said else f"Left open, and answered by this recording: {answered_text(diagnosis.answered)}"


def untold_text(diagnosis: Diagnosis) -> str:
    """The readings that this recording cannot tell from what the contract says; '' where it tells all."""
    words = ", ".join(f"{knob}={shown_value(value)}" for knob, value in diagnosis.indistinguishable)
    return words and f"Not told apart by this data: {words}"


def agreement_text(diagnosis: Diagnosis) -> str:
    """Where to look if something is wrong although all agrees; '' for any other verdict."""
    return _ELSEWHERE if diagnosis.verdict == "agrees" else ""


_ELSEWHERE = "If it still moves wrong, look outside the contract: physics, undocumented gains, latency, the task."


def remains_texts(diagnosis: Diagnosis) -> list[str]:
    """Of each stage, what nothing that was found explains: who and when; nothing where nothing was found."""
    if diagnosis.verdict != "partly_explained" and not diagnosis.is_cut:
        return []
    return [f"{stage.stage}: {stage.remains.sentence}" for stage in diagnosis.stages if stage.remains is not None]


def verdict_text(diagnosis: Diagnosis) -> str:
    """What the verdict means for this recording, in a sentence without an end."""
    is_sound = all(stage.ok is not False for stage in diagnosis.stages)
    if diagnosis.supposition is not None and is_sound and not diagnosis.contradictions:
        return "supposing that, every stage that could be judged computes what the contract says"
    if diagnosis.is_one_set_of_conventions and diagnosis.causes:
        return "one set of conventions explains every stage that was judged"
    is_part = not diagnosis.stages or any(stage.ok for stage in diagnosis.stages)
    if diagnosis.verdict == "undetermined" and is_part and not diagnosis.is_cut:
        names = ", ".join(diagnosis.unjudged)
        needs = f"nothing judged all of {names}: record or give what is named above, or --allow-unjudged STAGE"
        return needs if diagnosis.stages else _ONLY_GIVEN
    left = [stage.stage for stage in diagnosis.stages if stage.remains is not None]
    if diagnosis.verdict == "partly_explained" and left:
        return f"{_SENTENCE[diagnosis.verdict]}; of {', '.join(left)} remains what it says above"
    if diagnosis.verdict == "agrees" and diagnosis.answered:
        return f"open: {answered_text(diagnosis.answered)}; everything else agrees"
    return _CUT if diagnosis.is_cut else _SENTENCE[diagnosis.verdict]


def rests_text(diagnosis: Diagnosis) -> str:
    """What a verdict rests on: of an agreement, how far it saw; else the recorded stages that were judged."""
    if diagnosis.verdict == "agrees" and diagnosis.seen is not None:
        return f". {diagnosis.seen.sentence}"
    return f" ({len(diagnosis.stages) - len(diagnosis.unjudged)} of {len(diagnosis.stages)} recorded stages judged)"


def _row(stage: StageVerdict) -> tuple[str, ...]:
    unit = stage.unit if stage.unit != "raw" else ""
    verdict = "ok" if stage.ok else "DIFFERS"
    return (
        stage.stage,
        _number(stage.local_error),
        _number(stage.inherited_error),
        unit,
        _number(stage.channel_error),
        _number(stage.tolerance),
        _number(stage.ratio),
        verdict,
    )


def _print_divergence(title: str, first: Divergence | None, console: Console) -> None:
    if first is None:
        return
    console.print(Text(f"{title}: {divergence_text(first)}", style="bold"))


def divergence_text(first: Divergence) -> str:
    """The place of a divergence, and its size."""
    size = "a value that is not finite" if first.error is None else f"{first.error:.3g} {first.unit}"
    return f"frame {first.frame}, stage {first.stage}, {plain(first.address)}: {size}"


def _print_cause(cause: Cause, console: Console) -> None:
    console.print(Text(f"With {changes_text(cause.changes)} {effect_text(cause)}"))
    for hint in cause.code_hints:
        console.print(Text(f"  {hint}", style="cyan"))
    if cause.equivalents:
        words = "; ".join(changes_text(changes) for changes in cause.equivalents[:6])
        console.print(Text(f"  the same on this data: {words}"))


def effect_text(cause: Cause) -> str:
    """What the changes of a cause do to the error of its stage: bring it within rounding, or only partly."""
    unit = f" {cause.unit}" if cause.unit != "raw" else ""
    fall = f"the error of {cause.stage} falls from {cause.error_before:.3g} to {cause.error_after:.2g}{unit}"
    if not cause.is_partial:
        alone = f", but only there: {', '.join(cause.breaks)} would differ with it" if cause.breaks else ""
        return f"{fall}, everywhere within rounding (ratio {_number(cause.ratio)}){alone}"
    within = f"{cause.stage} is partly explained: {cause.frames_explained} of {cause.frames} frames are within rounding"
    return f"{within}, all but {frames_words(cause.frames_left)}; {fall}, still {_number(cause.ratio)} tolerances"


def changes_text(changes: dict[str, Any]) -> str:
    """Changes of conventions in words: `compose_order = prev_delta and …`."""
    return " and ".join(f"{knob} = {shown_value(value)}" for knob, value in changes.items())


def shown_value(value: Any) -> str:
    """A convention's value as text."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
