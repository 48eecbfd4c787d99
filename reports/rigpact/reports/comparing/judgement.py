"""Turn a comparison's measurements into findings and a summary."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import bone_names_of, is_character
from rigpact.contract.documents import read_document
from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.rules.prediction import SAY_NOTHING
from rigpact.contract.rules.recorded_sizes import size_findings
from rigpact.contract.rules.system_view import SystemFiles
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader
from rigpact.reports.comparing.clock import about_clock
from rigpact.reports.comparing.compare import FRAMES_AT_ONCE, NEXT_NOT_RECORDED, Comparison
from rigpact.reports.comparing.pose_meter import bone_name, summary_of
from rigpact.reports.comparing.stage_comparison import StageComparison

# With which contract, conventions and model a recording was made, and what that means for a verdict about it
Hashes = Mapping[str, str | None]
HASHES = ("bundle_sha256", "companion_sha256", "meaning_sha256", "conventions_sha256", "model_sha256")


def hashes_of(header: TraceHeader) -> dict[str, str | None]:
    """What a header says."""
    return {name: getattr(header, name) for name in HASHES}


def about_contract(recording: Recording, contract: Contract | None) -> Iterator[Finding]:
    """Findings about the contract that a trace was recorded with; other kinds of files do not name theirs."""
    if recording.title != "trace" or contract is None or not contract.sha256:
        return
    said, own = hashes_of(recording.trace.header), contract.hashes
    file = "bundle" if is_character(contract) else "contract file"
    yield from _about_numbers(recording, said, own, file)
    if _differ(said, own, "conventions_sha256"):
        yield _other(recording, "conventions_sha256", "other conventions", said, own)
    names = {"bundle_sha256": file, "conventions_sha256": "conventions"}
    unknown = [words for key, words in names.items() if not said[key]]
    if own["companion_sha256"] and not said["companion_sha256"] and not said["meaning_sha256"]:
        unknown.append("companion")
    if unknown:
        what = " and ".join(unknown)
        yield rules.NOT_VERIFIABLE.at(recording.path, "/contract", holder=recording.path.name, what=what)


def about_size(recording: Recording, contract: Contract) -> Iterator[Finding]:
    """Findings about vectors of another size than the contract's statistics, ranges and limits."""
    view = SystemFiles(read_document(contract.path), contract).declared if contract.path.is_file() else None
    if view is not None:
        yield from size_findings(view, recording.trace.stages, recording.path)


def about_precision(recording: Recording) -> Iterator[Finding]:
    """A finding about numbers that are written coarsely, unless the user said so."""
    precision = recording.trace.precision
    if recording.trace.resolution is None and precision is not None and precision.is_coarse:
        yield rules.WRITTEN_COARSELY.at(recording.path, "", holder=recording.path.name, precision=str(precision))


def _about_numbers(recording: Recording, said: Hashes, own: Hashes, file: str) -> Iterator[Finding]:
    """Equal meanings are enough, whatever the bytes are. Without a meaning, other bytes may be another formatting only."""
    if said["meaning_sha256"] and said["meaning_sha256"] == own["meaning_sha256"]:
        return
    if _differ(said, own, "meaning_sha256"):
        is_companion = said["bundle_sha256"] == own["bundle_sha256"]
        if is_companion and not own["companion_sha256"]:
            return  # this comparison was not given the companion, so it cannot say that it is another
        key, words = ("companion_sha256", "another companion") if is_companion else ("bundle_sha256", f"another {file}")
        yield _other(recording, key, words, said, own)
        return
    if _differ(said, own, "bundle_sha256"):
        values = {"found": str(said["bundle_sha256"])[:12], "expected": str(own["bundle_sha256"])[:12]}
        yield rules.OTHER_BUNDLE.at(recording.path, "/contract/bundle_sha256", holder=recording.path.name, **values)
    if _differ(said, own, "companion_sha256"):
        yield _other(recording, "companion_sha256", "another companion", said, own)


def _differ(said: Hashes, own: Hashes, key: str) -> bool:
    return bool(said[key] and own[key]) and said[key] != own[key]


def _other(recording: Recording, key: str, what: str, said: Hashes, own: Hashes) -> Finding:
    values = {"what": what, "found": (said[key] or "none")[:12], "expected": (own[key] or "none")[:12]}
    return rules.RECORDED_WITH_OTHER.at(recording.path, f"/contract/{key}", holder=recording.path.name, **values)


def judge(comparison: Comparison, of_inputs: tuple[Finding, ...] = ()) -> FindingsReport:
    """Turn a comparison into findings: differences, stages not compared, values that cannot be trusted.

    of_inputs: what is wrong with the files of either side by themselves: such a file says nothing of its network.
    """
    findings = (
        *of_inputs,
        *_about_files(comparison),
        *comparison.missing.values(),
        *_frames_missing(comparison),
        *_behind_a_gap(comparison),
        *_not_finite(comparison),
        *_differences(comparison),
        *_undetermined(comparison),
    )
    return FindingsReport(findings, comparison.ledger, summarise(comparison, of_inputs))


def _about_files(comparison: Comparison) -> Iterator[Finding]:
    a, b = comparison.a, comparison.b
    fps_a, fps_b = a.trace.header.fps, b.trace.header.fps
    if fps_a != fps_b:
        yield rules.RATE_DIFFERS.at(b.path, "/fps", name_a=a.path.name, name_b=b.path.name, fps_a=fps_a, fps_b=fps_b)
    said, own = hashes_of(b.trace.header), hashes_of(a.trace.header)
    if _differ(said, own, "model_sha256"):
        yield _other(b, "model_sha256", "another model", said, own)
    elif own["model_sha256"] and not said["model_sha256"] and b.title == "trace":
        yield rules.NOT_VERIFIABLE.at(b.path, "/contract/model_sha256", holder=b.path.name, what="model")
    for side in (a, b):
        yield from about_contract(side, comparison.contract)
        yield from about_clock(side, comparison.contract)
        yield from about_precision(side)
        yield from _about_bones(side, comparison)
        if side.trace.truncation:
            yield rules.CUT_OFF.at(side.path, "", holder=side.path.name, truncation=side.trace.truncation)


def _about_bones(side: Recording, comparison: Comparison) -> Iterator[Finding]:
    if comparison.some_bones is None or side.path not in comparison.some_bones.held:
        return
    every = bone_names_of(comparison.contract and comparison.contract.of_all_bones)
    held = comparison.some_bones.held[side.path]
    others = [name for name in every if name not in held]
    if others:
        named = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
        values = {"holder": side.path.name, "count": len(held), "total": len(every), "others": named}
        yield rules.BONES_NOT_RECORDED.at(side.path, "/bones", **values)


def _frames_missing(comparison: Comparison) -> Iterator[Finding]:
    for holder, other in ((comparison.a, comparison.b), (comparison.b, comparison.a)):
        extra = np.setdiff1d(holder.trace.frame, other.trace.frame)
        if len(extra):
            values = {"count": len(extra), "holder": holder.path.name, "frame": int(extra[0])}
            yield rules.FRAMES_NOT_COMPARED.at(other.path, f"/frames/{extra[0]}", **values)


def _behind_a_gap(comparison: Comparison) -> Iterator[Finding]:
    """In a free run, frames after one that was not recorded: nothing says what they should be."""
    if comparison.behind_a_gap:
        first = int(comparison.frames[-1]) + 1
        holders = [side for side in (comparison.a, comparison.b) if first not in side.trace.frame]
        last = min(int(side.trace.frame[np.searchsorted(side.trace.frame, first)]) for side in holders) - 1
        path, values = holders[-1].path, {"first": first, "last": last, "count": comparison.behind_a_gap}
        yield rules.FRAMES_NOT_FROM_START.at(path, f"/frames/{first}", holder=path.name, **values)


def _not_finite(comparison: Comparison) -> Iterator[Finding]:
    for side in (comparison.a, comparison.b):
        for name in comparison.stages:
            values = side.trace.stages[name]
            row, channel, count = _first_not_finite(side.trace, name, _judged_rows(comparison, side.trace, name))
            if count:
                yield rules.NOT_FINITE.at(
                    side.path, f"/stages/{name}/{channel}", stage=name, holder=side.path.name,
                    value=str(values[row, channel]), frame=int(side.trace.frame[row]), count=count,
                    address=comparison.address(name, channel),
                )  # fmt: skip


def _judged_rows(comparison: Comparison, trace: Trace, stage: str) -> NDArray[np.bool_]:
    """The rows of a side that can be known: not those that the clip gives a frame that is not recorded."""
    contract = comparison.contract
    ahead = contract and comparison.left_out.get(stage) and contract.system.graph[stage].driven_ahead
    return np.isin(trace.frame + ahead, trace.frame) if ahead else np.ones(len(trace.frame), bool)


def _first_not_finite(trace: Trace, stage: str, judged: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Row and channel of the first non-finite value of a stage in the judged rows, and the number of such values."""
    values, place, count = trace.stages[stage], (0, 0), 0
    for start in range(0, len(values), FRAMES_AT_ONCE):
        part = slice(start, start + FRAMES_AT_ONCE)
        finite = np.isfinite(values[part]) | ~judged[part, None]
        trace.release()
        if finite.all():
            continue
        bad = np.argwhere(~finite)
        place = place if count else (start + int(bad[0, 0]), int(bad[0, 1]))
        count += len(bad)
    return *place, count


def _differences(comparison: Comparison) -> Iterator[Finding]:
    for name, result in comparison.stages.items():
        first = result.first_frame_over
        if first is None:
            continue
        channel = result.worst_channel
        yield rules.STAGE_DIFFERS.at(
            comparison.b.path, f"/stages/{name}/{channel}", stage=name, frame=first, channels=result.over,
            total=result.total, error=result.worst_error, tolerance=result.worst_tolerance,
            worst_frame=result.worst_frame, address=comparison.address(name, channel),
        )  # fmt: skip


def _undetermined(comparison: Comparison) -> Iterator[Finding]:
    for name, result in comparison.stages.items():
        count = comparison.undetermined(name)
        if count and result.first_unknown is not None:
            frame, channel = result.first_unknown
            place, values = f"/stages/{name}/{channel}", {"count": count, "total": result.total, "frame": frame}
            address = comparison.address(name, channel)
            yield rules.VALUE_UNDETERMINED.at(comparison.b.path, place, stage=name, address=address, **values)


def summarise(comparison: Comparison, of_inputs: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """The measurements as plain values, for machines and for the renderers."""
    divergence, left_out, some = comparison.first_divergence, comparison.left_out, comparison.some_bones
    return {
        "a": str(comparison.a.path),
        "b": str(comparison.b.path),
        "frames": len(comparison.frames),
        "first_divergence": None if divergence is None else {"frame": divergence[0], "stage": divergence[1]},
        "stages": [_stage_summary(comparison, result) for result in comparison.stages.values()],
        "waived": dict(comparison.waived),
        "left_out": {name: {"frames": count, "reason": NEXT_NOT_RECORDED} for name, count in left_out.items()},
        "posed": comparison.posed,
        "bones": _bone_summary(comparison),
        "measures_cm": comparison.pose is not None and comparison.pose.cm is not None,
        "baseline": _baseline_summary(comparison, of_inputs),
        **({} if some is None else {"some_bones": {name: list(getattr(some, name)) for name in _OF_SOME_BONES}}),
    }


_OF_SOME_BONES = ("bones", "not_recorded", "whole_stages")


def _stage_summary(comparison: Comparison, result: StageComparison) -> dict[str, Any]:
    return {
        "stage": result.stage,
        "worst": {
            "error": _finite_or_none(result.worst_error),
            "tolerance": result.worst_tolerance,
            "frame": result.worst_frame,
            "time_s": float(result.worst_frame / comparison.a.trace.header.fps),
            "channel": result.worst_channel,
            "address": str(comparison.address(result.stage, result.worst_channel)),
        },
        "channels_unjudged": int((~result.judged).sum()),
        "first_frame_over": result.first_frame_over,
        "ok": result.first_frame_over is None,
        "inherits": result.stage in comparison.inheriting,
        "undetermined": comparison.undetermined(result.stage),
    }


def _bone_summary(comparison: Comparison) -> list[dict[str, Any]]:
    """The errors of every bone in degrees and centimetres, the worst bone first."""
    pose = comparison.pose
    if pose is None:
        return []
    deg = np.where(np.isfinite(pose.deg), pose.deg, np.inf)
    frames = comparison.frames[np.argmax(deg, axis=0)]
    order = np.argsort(-deg.max(axis=0), kind="stable")
    return [
        {
            "bone": bone_name(comparison.bones, bone),
            "max_deg": _finite_or_none(deg[:, bone].max()),
            "mean_deg": _finite_or_none(deg[:, bone].mean(dtype=np.float64)),
            "max_cm": None if pose.cm is None else _finite_or_none(pose.cm[:, bone].max()),
            "frame": int(frames[bone]),
            "time_s": float(frames[bone] / comparison.a.trace.header.fps),
        }
        for bone in order.tolist()
    ]


def _baseline_summary(comparison: Comparison, of_inputs: tuple[Finding, ...]) -> dict[str, Any] | None:
    if comparison.baseline is None or comparison.pose is None:
        return None
    are_rivals, is_earned = _are_rivals(comparison), not any(each.rule in SAY_NOTHING for each in of_inputs)
    ranked = {"are_rivals": are_rivals, "is_earned": is_earned}
    return summary_of(comparison.baseline, comparison.pose, comparison.bones, **ranked)


def _are_rivals(comparison: Comparison) -> bool:
    """Whether one of two predictions may be better: their networks answer otherwise, or a teacher is named to judge them.

    A raw clip is not a rival. Where a later stage is the first that differs, one side computes it wrongly: that is not a contest.
    """
    first, sides = comparison.first_divergence, (comparison.a, comparison.b)
    if first is None or comparison.baseline is None or any(side.is_the_clip for side in sides):
        return False
    answers = comparison.answers & comparison.stages.keys()
    return comparison.baseline.holder not in sides or first[1] in (answers or {comparison.posed})


def _finite_or_none(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
