"""A run of the reference runtime: recorded, written, and told in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rules.answers import comparison as rules
from rigpact.reference_runtime.recordings.clip import Clip, RawClip
from rigpact.reference_runtime.recordings.prediction import diagnostics, write_prediction
from rigpact.reference_runtime.recordings.trace import Trace, is_trace_path, write_trace
from rigpact.reference_runtime.systems.enemy_animation.loop import Loop, Mode, Playback, run_frames
from rigpact.reports.comparing.address import channel_address
from rigpact.reports.terminal import print_report, tracked

FREE_RUN_FRAMES = 600
"""Ten seconds at 60 frames per second, when free-run or playback is given no number of frames."""


def record_run(runner: Loop | Playback, clip: Clip, mode: Mode, frames: int | None) -> Trace:
    """Step the runner and keep every stage; `frames` defaults to the clip, or ten seconds where there is no end."""
    limit = runner.frame_limit
    if limit is not None and frames is not None and frames > limit:
        raise UnusableInput("--frames", str(frames), f"at most {limit}, the steps of {clip.path.name}")
    count = frames or limit or FREE_RUN_FRAMES
    return run_frames(runner, tracked(range(count), f"{mode} run"), clip.path.stem, mode)


def write_run(out: Path, trace: Trace, contract: Contract, clip: Clip, *, model: str) -> None:
    """Write a trace, or a teacher prediction for a name that ends in .json."""
    if is_trace_path(out):
        write_trace(trace, out)
    elif out.name.endswith(".json"):
        write_prediction(
            trace, contract, out, model=model, source=clip.path.name, last_target=last_target(trace, clip)
        )  # fmt: skip
    else:
        raise UnusableInput(out, f"the name {out.name}", "a name ending in .trace.jsonl, .trace.safetensors or .json")


def last_target(trace: Trace, clip: Clip) -> Any:
    """The pose after the run's last step, (6·B,); None when the clip does not have it."""
    following = int(trace.frame[-1]) + 1
    return clip.rotations6d[following] if isinstance(clip, RawClip) and following < clip.frame_count else None


def describe_run(runner: Loop | Playback, trace: Trace, bundle: Path, out: Path) -> FindingsReport:
    """What is to be said about a run: silent alignments and values that are not finite, beside a summary."""
    findings = (*_alignments(runner, bundle), *_not_finite(runner.contract, trace, out))
    values = sum(rows.size for rows in trace.stages.values())
    return FindingsReport(findings, Ledger(values, values), _summary(runner, trace, out))


def _alignments(runner: Loop | Playback, bundle: Path) -> Iterator[Finding]:
    for event in sorted(runner.alignments):
        yield rules.INPUT_ALIGNED.at(
            bundle, f"/{event.name}", position=event.position, input=event.name, given=event.given, bound=event.bound,
            what="cuts it" if event.given > event.bound else "pads it with zeros",
        )  # fmt: skip


def _not_finite(contract: Contract, trace: Trace, out: Path) -> Iterator[Finding]:
    for name, rows in trace.stages.items():
        bad = np.argwhere(~np.isfinite(rows))
        if len(bad):
            row, channel = (int(index) for index in bad[0])
            yield rules.NOT_FINITE.at(
                out, f"/stages/{name}/{channel}", stage=name, holder="the run", value=str(rows[row, channel]),
                frame=int(trace.frame[row]), count=len(bad),
                address=channel_address(name, channel, contract, contract.bone_names),
            )  # fmt: skip


def _summary(runner: Loop | Playback, trace: Trace, out: Path) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "out": str(out),
        "mode": trace.header.mode,
        "frames": len(trace.frame),
        "fps": trace.header.fps,
        "stages": trace.widths,
        "conventions": {name: str(value) for name, value in vars(runner.contract.conventions).items()},
    }
    if trace.header.mode == "teacher" and "x_raw" in trace.stages:
        summary["diagnostics"] = diagnostics(
            trace.stages["x_raw"], trace.stages["y_out"], runner.contract, _next_pose(trace, runner.contract)
        )
    return summary


def _next_pose(trace: Trace, contract: Contract) -> Any:
    following = trace.stages.get("x_raw_next")
    return None if following is None else following[-1, contract.state[ROTATIONS].range]


def print_run(report: FindingsReport, console: Console) -> None:
    """Print what a run did and where it was written."""
    summary = report.summary
    console.print(
        Text(f"{summary['mode']} run: {summary['frames']} frames at {summary['fps']:g} per second, "
             f"{len(summary['stages'])} stages -> {Path(summary['out']).name}")
    )  # fmt: skip
    errors = summary.get("diagnostics") or {}
    if errors.get("GeoDeg") is not None:
        console.print(
            Text(f"mean error against the clip's next pose {errors['GeoDeg']:.4f} deg; "
                 f"copy-last {errors['CopyLastGeoDeg']:.4f} deg")
        )  # fmt: skip
    print_report(report, console)
