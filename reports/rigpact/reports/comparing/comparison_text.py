"""A comparison in words, in degrees and centimetres."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from rigpact.contract.findings import FindingsReport, Severity
from rigpact.reports.answer import Answer, Figures, Sentence, number_text, print_with_findings
from rigpact.reports.comparing.checkpoints.ranking import OTHER
from rigpact.reports.terminal import account_text

Row = tuple[str, ...]
_NAMED = 3
"""Bones of unknown names that are listed; the others are counted."""


def sentences(summary: Mapping[str, Any]) -> Iterator[str]:
    """The answer, worst first: who loses to a character that does not move, who is better, where they part."""
    baseline = summary["baseline"]
    if baseline is None:
        return
    yield from _still(summary, baseline)
    if baseline["better"] is not None:
        yield _better(summary, baseline)
    elif baseline["parting"]:
        nearer, errors = baseline["frames_nearer"], f"a {_deg(baseline['a_deg'])}, b {_deg(baseline['b_deg'])}"
        counts = f"a is nearer in {nearer['a']} of {baseline['frames']} frames, b in {nearer['b']}"
        yield f"Neither is better: {errors} from the clip's next pose; {counts}"
    if baseline["parting"]:
        yield f"They part most in {'; '.join(map(_stretch, baseline['parting']))}"


def _still(summary: Mapping[str, Any], baseline: Mapping[str, Any]) -> Iterator[str]:
    beaten = baseline["beaten_by_copy_last"]
    if not beaten:
        return
    own = ", ".join(f"{side} {_both(baseline, side)}" for side in beaten)
    who = "NEITHER BEATS COPY-LAST" if len(beaten) > 1 else f"{_name(summary, beaten[0])} LOSES TO COPY-LAST"
    better = [side for side in beaten if _less(baseline[f"{side}_cm"], baseline["copy_last_cm"])]
    only = f"; in centimetres {' and '.join(better)} would win" if better else ""
    yield f"{who}: standing still is {_both(baseline, 'copy_last')} from the clip's next pose, {own}{only}"


def _better(summary: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    best = baseline["better"]
    other = "b" if best == "a" else "a"
    least, most = baseline[f"{best}_deg"], baseline[f"{other}_deg"]
    words = f"{_name(summary, best)} is better: {_both(baseline, best)} against {_both(baseline, other)}, {1 - least / most:.0%}"
    words += f" less; nearer in {baseline['frames_nearer'][best]} of {baseline['frames']} frames"
    against = _less(baseline[f"{other}_cm"], baseline[f"{best}_cm"])
    return words + (f"; in centimetres {other} is better" if against else "")


def _less(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a < b


def _stretch(part: Mapping[str, Any]) -> str:
    frames = f"frame {part['frame']}" if part["first"] == part["last"] else f"frames {part['first']} to {part['last']}"
    return f"{frames} ({part['nearer']} nearer by {part['by_deg']:.2g}°; {part['bone']} by {part['bone_by_deg']:.2g}°)"


def _name(summary: Mapping[str, Any], side: str) -> str:
    return f"{side} ({Path(summary[side]).name})"


def _both(baseline: Mapping[str, Any], side: str) -> str:
    cm = baseline[f"{side}_cm"]
    return _deg(baseline[f"{side}_deg"]) + ("" if cm is None else f" / {cm:.3f} cm")


def _deg(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4f}°"


def group_table(summary: Mapping[str, Any]) -> tuple[Row, list[Row]]:
    """Columns and rows: all bones, then each group; mean errors against the clip's next pose."""
    baseline = summary["baseline"]
    units = ("deg",) if baseline["copy_last_cm"] is None else ("deg", "cm")
    columns = ("bones", *(f"{side} {unit}" for unit in units for side in ("a", "b", "copy-last")))
    bones = sum(len(group["bones"]) for group in baseline["groups"])
    rows = [(f"all ({bones})", *_numbers(baseline, units))]
    if len(baseline["groups"]) > 1:
        rows += [(_group_name(group), *_numbers(group, units)) for group in baseline["groups"]]
    return columns, rows


def _numbers(errors: Mapping[str, Any], units: tuple[str, ...]) -> Iterator[str]:
    for unit in units:
        for side in ("a", "b", "copy_last"):
            value = errors[f"{side}_{unit}"]
            yield "not finite" if value is None else f"{value:.4f}" if unit == "deg" else f"{value:.3f}"


def _group_name(group: Mapping[str, Any]) -> str:
    bones = group["bones"]
    if group["group"] != OTHER:
        return f"{group['group']} ({len(bones)})"
    more = f", {len(bones) - _NAMED} more" if len(bones) > _NAMED else ""
    return f"names that say no part: {', '.join(bones[:_NAMED])}{more}"


_BONES_SHOWN = 8
_number = partial(number_text, unknown="not finite")


def print_comparison(report: FindingsReport, console: Console) -> None:
    """Print the answer about two predictions, stages, bones and the baseline, then the findings and the verdict."""
    print_with_findings(_body(report), report, console, _headline(report))


def answer_of_comparison(report: FindingsReport, *, strict: bool) -> Answer:
    """Which prediction is better, or where the two first differ."""
    findings = [each for each in report.findings if each.rule.severity is not Severity.INFO]
    said = [f"{each.rule.code}: {each.message}" for each in findings] + [account_text(report.ledger)]
    body = (*_body(report), *(Sentence(each, "", 2) for each in said))
    return Answer("", _headline(report), report.exit_code(strict=strict), body)


def _headline(report: FindingsReport) -> str:
    return next(sentences(report.summary), _divergence(report))


def _divergence(report: FindingsReport) -> str:
    first = report.summary["first_divergence"]
    if first is not None:
        return f"the recordings differ from frame {first['frame']}, stage {first['stage']} on"
    agrees = f"the recordings agree within rounding, over {report.summary['frames']} frames"
    return agrees if report.verdict == "pass" else "not everything could be compared"


def _body(report: FindingsReport) -> Iterator[Sentence | Figures]:
    summary, said = report.summary, [*sentences(report.summary)]
    yield from (Sentence(sentence, "bold", 0 if place else None) for place, sentence in enumerate(said))
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
        yield Sentence(_divergence(report), "bold", 1)


def _stages(summary: Any) -> Iterator[Sentence | Figures]:
    rows = [_stage_row(entry) for entry in summary["stages"]]
    if rows:
        columns = ("stage", "max |a-b|", "tolerance there", "frame", "worst at", "")
        yield Figures(f"Stages over {summary['frames']} frames", columns, rows)
    for reason in dict.fromkeys(summary["waived"].values()):
        stages = [stage for stage, why in summary["waived"].items() if why == reason]
        yield Sentence(f"  waived, {reason}: {', '.join(stages)}", "dim")
    if "some_bones" in summary:
        some = summary["some_bones"]
        held, others = len(some["bones"]), len(some["not_recorded"])
        missing = ", ".join(some["not_recorded"]) or "none"
        yield Sentence(f"  rests on {held} of {held + others} bones; waived, not recorded: {missing}", "bold")
        if some["whole_stages"]:
            yield Sentence(f"  with all bones: {', '.join(some['whole_stages'])}", "dim")
    for stage, left in summary["left_out"].items():
        count = "1 frame" if left["frames"] == 1 else f"{left['frames']} frames"
        yield Sentence(f"  waived, {left['reason']}: {count} of {stage}", "dim")


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


def _bones(summary: Any) -> Iterator[Sentence | Figures]:
    bones, has_cm = summary["bones"], summary["measures_cm"]
    if not bones:
        return
    columns = ("worst bones", "max deg", "mean deg", *(["max cm"] if has_cm else []), "frame", "s")
    rows = [_bone_row(entry, measures_cm=has_cm) for entry in bones[:_BONES_SHOWN]]
    if summary["first_divergence"] is not None:
        yield Figures("", columns, rows, is_short=True)
    if all(_verdict(entry) == "same" for entry in summary["stages"] if entry["stage"] == summary["posed"]):
        yield Sentence(f"Poses agree: at most {bones[0]['max_deg']:.2g} deg apart ({bones[0]['bone']})")
        return
    cm = "cm: three points 3 cm off the bone, down the skeleton" if has_cm else "no centimetres"
    yield Figures(f"Worst {len(rows)} of {len(bones)} bones ({cm})", columns, rows)


def _bone_row(entry: Any, *, measures_cm: bool) -> tuple[str, ...]:
    sizes = [entry["max_deg"], entry["mean_deg"], *([entry["max_cm"]] if measures_cm else [])]
    shown = ("not finite" if size is None else f"{size:.3f}" for size in sizes)
    return entry["bone"], *shown, str(entry["frame"]), f"{entry['time_s']:.2f}"
