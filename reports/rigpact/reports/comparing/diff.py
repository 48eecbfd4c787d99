"""`rigpact diff`: two recordings of any system."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from rigpact.contract.character import bone_names_of, contract_of_bones
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import FindingsReport, Severity
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import ContractFiles, files_of, network_of
from rigpact.reference_runtime.recordings.recording import Recording, of_bones, read_recording, with_all_bones
from rigpact.reports.checking.check import said_of_inputs
from rigpact.reports.comparing.compare import Comparison, SomeBones, compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.comparing.pose_meter import OTHER, bone_name
from rigpact.reports.terminal import Answer, Figures, Sentence, account_text, number_text, print_with_findings

# The error of every bone in every frame as a table, for other tools.


def _write_error_table(comparison: Comparison, path: Path) -> None:
    """Write one row for each frame and bone as CSV: frame, time_s, bone, deg, cm (cm only with a skeleton).

    UnusableInput where no poses were compared, or for another name.
    """
    pose = comparison.pose
    if pose is None:
        raise UnusableInput("--table", "a recording without bones", "--format json")
    if path.suffix.lower() != ".csv":
        raise UnusableInput(path, f"the name {path.name}", "a name ending in .csv")
    frames, bones = pose.deg.shape
    names = [bone_name(comparison.bones, bone) for bone in range(bones)]
    time_s = comparison.frames / comparison.a.trace.header.fps
    columns = {"frame": np.repeat(comparison.frames, bones), "time_s": np.repeat(time_s, bones)}
    columns |= {"bone": np.tile(names, frames), "deg": pose.deg.reshape(-1)}
    table = pd.DataFrame(columns if pose.cm is None else {**columns, "cm": pose.cm.reshape(-1)})
    write_bytes(path, table.to_csv(index=False, lineterminator="\n").encode("utf-8"))


# Compare recordings of which at least one holds some of the bones
def compare_recordings(
    a: Recording,
    b: Recording,
    contract: Contract | None = None,
    *,
    only: Collection[str] = (),
    network: Any = None,
    teacher: Recording | None = None,
) -> Comparison:
    """Measure two recordings against each other, of all bones or of some. Only those of all bones are held against a teacher."""
    if not (a.bones or b.bones):
        return compare(a, b, contract, only=only, network=network, teacher=teacher)
    if teacher is not None:
        raise UnusableInput("--teacher", "a recording of some bones", "two recordings of all bones")
    if contract is None:
        raise UnusableInput("--contract", "none", "the bundle: it says which bones the recordings hold")
    bones = _common(a, b)
    own = contract_of_bones(contract, bones)
    cut = of_bones(a, contract, bones), of_bones(b, contract, bones)
    every = with_all_bones(a) or a, with_all_bones(b) or b
    held = {name for side in cut for name in side.trace.stages}
    first, second = (set() if side.bones else set(side.trace.stages) for side in every)
    whole = held & {name for name in first & second if any(field.bone for field in contract.fields(name))}
    asked = set(only) or held
    parts: dict[bool, Comparison] = {}
    if asked - whole:
        parts[False] = compare(cut[0], cut[1], own, only=sorted(asked - whole))
    if asked & whole:
        parts[True] = compare(every[0], every[1], contract, only=sorted(asked & whole), network=network)
    sides = _mixed(cut[0], every[0], whole), _mixed(cut[1], every[1], whole)
    joined = _joined(parts, sides, own, whole & asked)
    names = bone_names_of(contract)
    held_by = {side.path: tuple(names[bone] for bone in side.bones) for side in (a, b) if side.bones}
    missing = tuple(name for name in names if name not in bone_names_of(own))
    rests = SomeBones(bone_names_of(own), missing, tuple(sorted(whole & asked)), held_by)
    return replace(joined, some_bones=rests)


def _common(a: Recording, b: Recording) -> tuple[int, ...]:
    """The bones that both have, in the order of the recording of some bones; UnusableInput where there is none."""
    bones = a.bones or b.bones
    shared = tuple(bone for bone in bones if not b.bones or bone in b.bones)
    if not shared:
        raise UnusableInput(f"{b.path}#/bones", f"no bone that {a.path.name} holds", "at least one bone that both hold")
    return shared


def _mixed(cut: Recording, every: Recording, whole: Collection[str]) -> Recording:
    stages = {name: (every if name in whole else cut).trace.stages[name] for name in cut.trace.stages}
    return replace(cut, trace=replace(cut.trace, stages=stages, mapping=None))


def _joined(
    parts: Mapping[bool, Comparison], sides: tuple[Recording, Recording], own: Contract, whole: Collection[str]
) -> Comparison:
    """Both comparisons as one. parts: of some bones (False) and of all (True)."""
    some = next(iter(parts.values()))

    def of_both(what: str) -> dict[str, Any]:
        items = [(key, *item) for key, part in parts.items() for item in getattr(part, what).items()]
        found = {name: value for key, name, value in items if (name in whole) is key}
        return {name: found[name] for name in some.stage_order if name in found}

    stages, waived, is_posed_whole = of_both("stages"), of_both("waived"), some.posed in whole
    posed = parts.get(is_posed_whole, some)
    inheriting = [name for key, part in parts.items() for name in part.inheriting if (name in whole) is key]
    return replace(
        some, a=sides[0], b=sides[1], contract=own, bones=posed.bones, stages=stages, waived=waived,
        missing=of_both("missing"), pose=posed.pose, baseline=posed.baseline, inheriting=inheriting,
    )  # fmt: skip


def diff(
    a: Path,
    b: Path,
    files: ContractFiles,
    *,
    stages: Sequence[str] = (),
    table: Path | None = None,
    onnx: Path | None = None,
    resolution: str | None = None,
    teacher: Path | None = None,
) -> FindingsReport:
    """Compare any two recordings of one system; without a contract, only published poses are compared.

    stages: empty for all. table: the file for the table of errors. onnx: the model of both. resolution: how finely the numbers
    of both are written, in words; None where the numbers show it. teacher: the clip that both predict, or a teacher batch of it.
    """
    contract = files.opened_if_given()
    first, second = (_recording(path, contract, resolution) for path in (a, b))
    target = None if teacher is None else _recording(teacher, contract)
    if contract is None and onnx is not None:
        raise UnusableInput("--onnx", "no --contract beside it", "the bundle of the model")
    network = None if contract is None else network_of(contract, onnx)
    comparison = compare_recordings(first, second, contract, only=stages, network=network, teacher=target)
    if target is not None and comparison.baseline is None:
        expected = "two recordings of y_out with the bones of the clip"
        raise UnusableInput("--teacher", "no published pose with a known next one", expected)
    if table is not None:
        _write_error_table(comparison, table)
    return judge(comparison, said_of_inputs(files, (a, b, teacher)))


def _recording(path: Path, contract: Contract | None, resolution: str | None = None) -> Recording:
    found: Recording = read_recording(path) if contract is None else files_of(contract).recording(path, contract)
    return found.with_resolution(resolution)


# A comparison in words, in degrees and centimetres.
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
