"""Test cells for separate processes: cheap and counted; some kill their process on request.

Imported by its own name from this folder: a process that a test starts knows this folder, not the package of the tests.
"""

import os
import signal
import time
import uuid

from rigpact.reports.sweep.measure import MeasuredCell
from rigpact.reports.sweep.plan import Cell, SweptFile

DEADLY = "deadly"


def plan_of(count, *, deadly=None):
    """A plan of this many cells, one for each clip; their files are not opened."""

    def named(name, number):
        return SweptFile(f"/nowhere/{name}", name, f"{number:064x}")

    bundle, model = named("bundle", -1 % 2**200), named("model", 2**200)
    clips = [named(DEADLY if index == deadly else f"clip_{index}", index) for index in range(count)]
    return [Cell(bundle, None, model, clip, (), "teacher", None, "1.0") for clip in clips]


def measured(cell, *, marks, seconds=0.0):
    """Leave a mark for each time that the cell is measured; a deadly cell takes its process with it."""
    (marks / f"{cell.identity}.{uuid.uuid4().hex}").touch()
    if cell.clip.name == DEADLY:
        os.kill(os.getpid(), signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    time.sleep(seconds)
    number = int(cell.clip.sha256, 16)
    error = 0.1 * number
    return MeasuredCell(
        "pass", frames=5, judged_frames=5, mean_error=error, mean_deg=error, copy_last_mean_deg=1.0 + number
    )


def times_measured(marks):
    """How often each cell was begun."""
    counts: dict[str, int] = {}
    for mark in marks.iterdir():
        identity = mark.name.partition(".")[0]
        counts[identity] = counts.get(identity, 0) + 1
    return counts
