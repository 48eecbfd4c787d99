"""Whether the times of a recording are those of its frame rate, and whether the frame rate is the contract's.

What is allowed, and why. A step is stamped with the engine's clock when it runs: at the moment when it is due, or later, but
before the next step is due. So the times of two steps are off by less than one step against each other, and over n steps the
measured rate is off by less than 1 / n. Two more things are no defect: a clock that calls 59.94 Hz "60" (one per mille), and
a hitch, in which time goes on and no step runs. So the rate is the median over spans of a quarter of the recording, in which
one hitch reaches fewer than half of the spans; and it may be off by 1 % besides, between the one per mille of television rates
and the 4 % between 24 and 25 frames a second. Frames that were not recorded do no harm: a span counts frame numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import comparison as rules
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace

SAME_RATE = 0.01
"""Two rates that differ by less are one rate on two clocks: see the module's text."""


def about_clock(recording: Recording, contract: Any) -> Iterator[Finding]:
    """Findings about the clock of a trace; the times of other kinds of files are made from their rate."""
    if recording.title != "trace":
        return
    trace, name = recording.trace, recording.path.name
    fps = trace.header.fps
    found = clock_contradiction(trace)
    if found:
        yield rules.CLOCK_CONTRADICTS.at(recording.path, "/time", holder=name, fps=fps, found=found)
    expected = getattr(contract, "fps", None)
    if expected and _apart(fps, expected) > SAME_RATE:
        yield rules.RATE_NOT_OF_BUNDLE.at(recording.path, "/fps", holder=name, found=fps, expected=expected)


def clock_contradiction(trace: Trace) -> str:
    """What the times say instead of the header's rate, in words; empty where they agree, or where there are too few."""
    frame, time_s = trace.frame, trace.time_s
    backwards = np.flatnonzero(np.diff(time_s) < 0.0)
    if len(backwards):
        return f"frame {frame[backwards[0] + 1]} comes before frame {frame[backwards[0]]}"
    span = max((len(frame) - 1) // 4, min(len(frame) - 1, 2))
    if span < 2:
        return ""
    steps = (frame[span:] - frame[:-span]).astype(np.float64)
    seconds = time_s[span:] - time_s[:-span]
    step_s = float(np.median(seconds / steps))
    if step_s <= 0.0:
        return "that no time passes"
    allowed = SAME_RATE + 1.0 / float(np.median(steps))
    return "" if _apart(1.0 / step_s, trace.header.fps) <= allowed else f"{1.0 / step_s:.4g}"


def _apart(a: float, b: float) -> float:
    """By which part of the slower rate two rates differ; the same for a step that is twice as long and one half as long."""
    return max(a, b) / min(a, b) - 1.0
