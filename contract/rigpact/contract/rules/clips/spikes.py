"""Frames that leave the motion and come back: a pulse of one frame. clip_rotations.py and root_motion.py have the rules."""

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray

TIMES_AROUND = 10.0
"""No body accelerates so that one step is ten times the steps beside it together."""


def spikes(steps: FloatArray, across: FloatArray, smallest: float) -> NDArray[np.bool_]:
    """Which frames lie far from both neighbours, while the neighbours lie near each other; the first and last never do.

    steps: (T - 1, ...) from each frame to the next; across: (T - 2, ...) from each frame to the next but one.
    Returns (T, ...). The detour by way of a frame is what its two steps are longer than the straight way: 0 in steady
    motion, twice the pulse at a pulse. Half of it must be more than `smallest`, and ten times the detour of an ordinary
    frame (the median): what shakes throughout has no odd frame.
    """
    found = np.zeros((len(steps) + 1, *steps.shape[1:]), dtype=np.bool_)
    if len(steps) > 1:
        detour = (steps[:-1] + steps[1:] - across) / 2
        came_back = across < np.minimum(steps[:-1], steps[1:])
        found[1:-1] = came_back & (detour > smallest) & (detour > TIMES_AROUND * np.median(detour, axis=0))
    return found
