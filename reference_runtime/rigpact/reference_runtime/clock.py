"""When the engine runs a model step: a fixed step under a varying frame time.

Engine: at most one step per rendered frame; accumulated time is capped at two steps, so that a hitch is not made up for.
"""

from __future__ import annotations

from typing import NamedTuple

MAX_STEPS_ACCUMULATED = 2.0


class Tick(NamedTuple):
    """Whether this rendered frame runs a model step, and the time carried to the next."""

    steps: bool
    accumulated_s: float


def tick(accumulated_s: float, frame_time_s: float, step_s: float) -> Tick:
    """Add a rendered frame's time and take out one step if there is one."""
    accumulated_s = min(accumulated_s + max(frame_time_s, 0.0), MAX_STEPS_ACCUMULATED * step_s)
    due = accumulated_s >= step_s
    return Tick(steps=due, accumulated_s=accumulated_s - step_s * due)
