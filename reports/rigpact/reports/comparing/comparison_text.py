"""A comparison in words, in degrees and centimetres."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from rigpact.contract.findings import FindingsReport, Severity
from rigpact.reports.answer import Answer, Figures, Line, number_text, print_body
from rigpact.reports.comparing.checkpoints.words import group_table, sentences
from rigpact.reports.terminal import account_text, print_report

_BONES_SHOWN = 8
_number = partial(number_text, unknown="not finite")


def print_comparison(report: FindingsReport, console: Console) -> None:
    """Print the answer about two predictions, stages, bones and the baseline, then the findings and the verdict."""
    print_body(_body(report), console)
    print_report(report, console, _headline(report))


def answer_of_comparison(report: FindingsReport, *, strict: bool) -> Answer:
    """Which prediction is better, or where the two first differ."""
    findings = [each for each in report.findings if each.rule.severity is not Severity.INFO]
    said = [f"{each.rule.code}: {each.message}" for each in findings] + [account_text(report.ledger)]
    body = (*_body(report), *(Line(each, "", 2) for each in said))
    return Answer("", _headline(report), report.exit_code(strict=strict), body)


def _headline(report: FindingsReport) -> str:
    return next(sentences(report.summary), _divergence(report))


def _divergence(report: FindingsReport) -> str:
    first = report.summary["first_divergence"]
    if first is not None:
        return f"the recordings differ from frame {first['frame']}, stage {first['stage']} on"
    agrees = f"the recordings agree within rounding, over {report.summary['frames']} frames"
    return agrees if report.verdict == "pass" else "not everything could be compared"


def _body(report: FindingsReport) -> Iterator[Line | Figures]:
    summary, said = report.summary, [*sentences(report.summary)]
    yield from (Line(sentence, "bold", 0 if place else None) for place, sentence in enumerate(said))
    yield from _stages(summary)
    yield from _bones(summary)
    baseline = summary["baseline"]
    if baseline is not None:
        columns, rows = group_table(summary)
        names = f"a: {Path(summary['a']).name}, b: {Path(summary['b']).name}, copy-last: nothing moves"
        yield Figures(f"Mean error against the clip's next pose, {baseline['frames']} frames ({names})", columns, rows)
        if baseline["parting"]:
            yield Figures("", columns, rows, is_short=True)
    if said:
        yield Line(_divergence(report), "bold", 1)


def _stages(summary: Any) -> Iterator[Line | Figures]:
    rows = [_stage_row(entry) for entry in summary["stages"]]
    if rows:
        columns = ("stage", "max |a-b|", "tolerance there", "frame", "worst at", "")
        yield Figures(f"Stages over {summary['frames']} frames", columns, rows)
    for reason in dict.fromkeys(summary["waived"].values()):
        stages = [stage for stage, why in summary["waived"].items() if why == reason]
        yield Line(f"  waived, {reason}: {', '.join(stages)}", "dim")
    if "some_bones" in summary:
        some = summary["some_bones"]
        held, others = len(some["bones"]), len(some["not_recorded"])
        missing = ", ".join(some["not_recorded"]) or "none"
        yield Line(f"  rests on {held} of {held + others} bones; waived, not recorded: {missing}", "bold")
        if some["whole_stages"]:
            yield Line(f"  with all bones: {', '.join(some['whole_stages'])}", "dim")
    for stage, left in summary["left_out"].items():
        count = "1 frame" if left["frames"] == 1 else f"{left['frames']} frames"
        yield Line(f"  waived, {left['reason']}: {count} of {stage}", "dim")


def _stage_row(entry: Any) -> tuple[str, ...]:
    worst, verdict = entry["worst"], _verdict(entry)
    if worst["error"] == 0.0:
        return entry["stage"], "0", "", "", "", verdict
    sizes = (_number(worst["error"]), _number(worst["tolerance"]))
    return entry["stage"], *sizes, str(worst["frame"]), worst["address"], verdict


def _verdict(entry: Any) -> str:
    """The word for a stage. A stage that only inherits a difference counts as the same; one value not judged does not."""
    if not entry["ok"]:
        return "DIFFERS"
    if entry["undetermined"]:
        return "not judged"
    return "inherits" if entry["inherits"] else "same"


def _bones(summary: Any) -> Iterator[Line | Figures]:
    bones, has_cm = summary["bones"], summary["measures_cm"]
    if not bones:
        return
    columns = ("worst bones", "max deg", "mean deg", *(["max cm"] if has_cm else []), "frame", "s")
    rows = [_bone_row(entry, measures_cm=has_cm) for entry in bones[:_BONES_SHOWN]]
    if summary["first_divergence"] is not None:
        yield Figures("", columns, rows, is_short=True)
    if all(_verdict(entry) == "same" for entry in summary["stages"] if entry["stage"] == summary["posed"]):
        yield Line(f"Poses agree: at most {bones[0]['max_deg']:.2g} deg apart ({bones[0]['bone']})")
        return
    cm = "cm: three points 3 cm off the bone, down the skeleton" if has_cm else "no centimetres"
    yield Figures(f"Worst {len(rows)} of {len(bones)} bones ({cm})", columns, rows)


def _bone_row(entry: Any, *, measures_cm: bool) -> tuple[str, ...]:
    sizes = [entry["max_deg"], entry["mean_deg"], *([entry["max_cm"]] if measures_cm else [])]
    shown = ("not finite" if size is None else f"{size:.3f}" for size in sizes)
    return entry["bone"], *shown, str(entry["frame"]), f"{entry['time_s']:.2f}"
