"""Whether the times of a recording are those of its frame rate, and whether the frame rate is the contract's.

What is allowed, and why. A step is stamped with the engine's clock when it runs: at the moment when it is due, or later, but
before the next step is due. So the times of two steps are off by less than one step against each other, and over n steps the
measured rate is off by less than 1 / n. Two more things are not defects: a clock that calls 59.94 Hz "60" (one per mille), and
a hitch, in which time goes on and no step runs. So a rate may be off by 1 % besides, between the one per mille of television
rates and the 4 % between 24 and 25 frames a second; and it is measured over spans of frames, of which a hitch reaches a few.
Over a quarter of the recording, the median span must have the rate: one hitch reaches a third of such spans. Over a sixteenth,
the slowest and the fastest quarter of the spans are left out, so three hitches do no harm, and an engine that runs a third of
the recording at half the rate is seen. Frames that were not recorded do no harm either: a span counts frame numbers.

A clock whose times lie on one line, but for the rounding of their last digit, has one rate, known as well as its first and last
time are written. Steps that wait for a display can lie on a line too, until the next would be a whole step late. So once such a
clock is off by more than one step, only the rounding is allowed instead of 1 / n.
"""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace

SAME_RATE = 0.01
"""Two rates that differ by less are one rate on two clocks: see the module's text."""

BY_CHANCE = 1e-6
"""Late steps that lie on a line by chance are as rare as this, or the times prove no regular clock."""
MOST_DECIMALS = 9
"""More decimals of a second than clocks have: times that need more are binary numbers."""

SPANS = ((4, (0.5,)), (16, (0.25, 0.75)))
"""Lengths of spans as parts of the recording, and the quantiles that must have the rate: see the module's text."""


def about_clock(recording: Recording, contract: Contract | None) -> Iterator[Finding]:
    """Findings about the clock of a trace; the times of other kinds of files are made from their rate."""
    if recording.title != "trace":
        return
    trace, name = recording.trace, recording.path.name
    fps = trace.header.fps
    found = clock_contradiction(trace)
    if found:
        yield rules.CLOCK_CONTRADICTS.at(recording.path, "/time", holder=name, fps=fps, found=found)
    expected = None if contract is None else contract.fps
    if expected and _apart(fps, expected) > SAME_RATE:
        yield rules.RATE_NOT_OF_BUNDLE.at(recording.path, "/fps", holder=name, found=fps, expected=expected)


def clock_contradiction(trace: Trace) -> str:
    """What the times say instead of the header's rate, in words; empty where they agree, or where there are too few."""
    frame, time_s = trace.frame, trace.time_s
    backwards = np.flatnonzero(np.diff(time_s) < 0.0)
    if len(backwards):
        return f"frame {frame[backwards[0] + 1]} comes before frame {frame[backwards[0]]}"
    if len(frame) < 3:
        return ""
    regular = _regular_contradiction(trace)
    if regular:
        return regular
    for share, quantiles in SPANS:
        contradiction = _in_spans(trace, max((len(frame) - 1) // share, 2), quantiles)
        if contradiction:
            return contradiction
    return ""


def _regular_contradiction(trace: Trace) -> str:
    """The rate of a clock without a late step, in words, where it is not the header's; empty also for any other clock."""
    steps = (trace.frame - trace.frame[0]).astype(np.float64)
    since_s = trace.time_s - trace.time_s[0]
    step_s, due_s = float(since_s[-1] / steps[-1]), 1.0 / trace.header.fps
    off_s = float(np.abs(since_s - step_s * steps).max())
    is_chance = 2.0 * off_s / due_s > BY_CHANCE ** (1.0 / (len(steps) - 2))
    written_s = next((each for each in written_to_s(trace.time_s) if off_s <= each), None)
    if step_s <= 0.0 or written_s is None or is_chance:
        return ""
    is_a_step_off = abs(since_s[-1] - steps[-1] * due_s) > due_s + written_s
    allowed = SAME_RATE + written_s / (steps[-1] * min(step_s, due_s))
    is_off = is_a_step_off and _apart(1.0 / step_s, trace.header.fps) > allowed
    return f"{1.0 / step_s:.4g}" if is_off else ""


def written_to_s(time_s: FloatArray) -> tuple[float, ...]:
    """How far apart two times can be that are written alike, in seconds: by their last decimal, else by their last bit.

    A clock that adds its steps up loses up to half a bit at each: its times are off their line by up to n / 2 bits.
    """
    exact = time_s.astype(np.float64)
    bit_s = float(np.spacing(np.abs(exact).max()))
    for decimals in range(MOST_DECIMALS + 1):
        if np.abs(exact - np.round(exact, decimals)).max() <= bit_s:
            return (float(10.0**-decimals) + 4.0 * bit_s,)  # a distance from the line is made of four times
    if np.array_equal(exact, exact.astype(np.float32)):
        bit_s = float(np.spacing(np.abs(exact).max().astype(np.float32)))
    return 4.0 * bit_s, (4.0 + 0.5 * len(exact)) * bit_s


def _in_spans(trace: Trace, span: int, quantiles: tuple[float, ...]) -> str:
    """The rate at some quantiles of all spans of so many recorded frames, in words, where it is not the header's."""
    steps = (trace.frame[span:] - trace.frame[:-span]).astype(np.float64)
    step_s = (trace.time_s[span:] - trace.time_s[:-span]) / steps
    allowed = SAME_RATE + 1.0 / float(np.median(steps))
    for found in np.quantile(step_s, quantiles, method="nearest").tolist():
        if found <= 0.0:
            return "that no time passes"
        if _apart(1.0 / found, trace.header.fps) > allowed:
            return f"{1.0 / found:.4g}"
    return ""


def _apart(a: float, b: float) -> float:
    return max(a, b) / min(a, b) - 1.0
