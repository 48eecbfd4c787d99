"""Print a comparison for people, in degrees and centimetres."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import FindingsReport
from rigpact.reports.comparing.checkpoints.words import group_table, sentences
from rigpact.reports.terminal import plain, print_report, table

BONES_SHOWN = 8


def print_comparison(report: FindingsReport, console: Console) -> None:
    """Print the answer about two predictions, stages, bones and the baseline, then the findings and the verdict."""
    summary = report.summary
    for sentence in sentences(summary):
        console.print(Text(plain(sentence), style="bold"))
    _print_stages(summary, console)
    _print_bones(summary, console)
    _print_baseline(summary, console)
    first = summary["first_divergence"]
    if first is not None:
        console.print(Text(f"First divergence: frame {first['frame']}, stage {first['stage']}", style="bold"))
    print_report(report, console)


def _print_stages(summary: Any, console: Console) -> None:
    rows = [_stage_row(entry) for entry in summary["stages"]]
    if rows:
        title = f"Stages over {summary['frames']} frames"
        console.print(table(title, ("stage", "max |a-b|", "tolerance there", "frame", "worst at", ""), rows))
    for reason in dict.fromkeys(summary["waived"].values()):
        stages = [stage for stage, why in summary["waived"].items() if why == reason]
        console.print(Text(f"  waived, {reason}: {', '.join(stages)}", style="dim"))
    if "some_bones" in summary:
        some = summary["some_bones"]
        held, others = len(some["bones"]), len(some["not_recorded"])
        words = f"  rests on {held} of {held + others} bones; waived, not recorded: "
        console.print(Text(f"{words}{plain(', '.join(some['not_recorded']) or 'none')}", style="bold"))
        if some["whole_stages"]:
            console.print(Text(f"  with all bones: {', '.join(some['whole_stages'])}", style="dim"))
    for stage, left in summary["left_out"].items():
        count = "1 frame" if left["frames"] == 1 else f"{left['frames']} frames"
        console.print(Text(f"  waived, {left['reason']}: {count} of {stage}", style="dim"))


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


def _print_bones(summary: Any, console: Console) -> None:
    bones = summary["bones"]
    if not bones:
        return
    if all(_verdict(entry) == "same" for entry in summary["stages"] if entry["stage"] == summary["posed"]):
        console.print(Text(f"Poses agree: at most {bones[0]['max_deg']:.2g} deg apart ({plain(bones[0]['bone'])})"))
        return
    has_cm = summary["measures_cm"]
    rows = [_bone_row(entry, measures_cm=has_cm) for entry in bones[:BONES_SHOWN]]
    cm = "cm: three points 3 cm off the bone, down the skeleton" if has_cm else "no centimetres"
    columns = ("bone", "max deg", "mean deg", *(["max cm"] if has_cm else []), "frame", "s")
    console.print(table(f"Worst {len(rows)} of {len(bones)} bones ({cm})", columns, rows))


def _bone_row(entry: Any, *, measures_cm: bool) -> tuple[str, ...]:
    errors = (_number(entry["max_deg"], 3), _number(entry["mean_deg"], 3))
    cm = (_number(entry["max_cm"], 3),) if measures_cm else ()
    return entry["bone"], *errors, *cm, f"{entry['frame']}", f"{entry['time_s']:.2f}"


def _print_baseline(summary: Any, console: Console) -> None:
    baseline = summary["baseline"]
    if baseline is None:
        return
    columns, rows = group_table(summary)
    names = f"a: {Path(summary['a']).name}, b: {Path(summary['b']).name}, copy-last: nothing moves"
    title = f"Mean error against the clip's next pose, {baseline['frames']} frames ({plain(names)})"
    console.print(table(title, columns, rows))


def _number(value: float | None, digits: int | None = None) -> str:
    if value is None:
        return "not finite"
    return f"{value:.3g}" if digits is None else f"{value:.{digits}f}"
