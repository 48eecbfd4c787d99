"""The words of a comparison of two predictions, in sentences and as a table; for the terminal, Markdown and HTML alike."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rigpact.reports.comparing.checkpoints.bone_groups import OTHER

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
