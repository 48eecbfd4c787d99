"""The layout of a network's input from a recording."""

from __future__ import annotations

import numpy as np
import pytest

from rigpact.reports.importing.layout.fits import Line, line_between
from rigpact.reports.importing.layout.laid_out import Block, find_shifts

from ..every_case import every_case


def _history(rows, length, *, layout, order, start):
    """Two terms, of 2 and 1 numbers, kept by hand."""
    past = [rows[0] if start == "first" else np.zeros(3)] * length
    seen = []
    for row in rows:
        past = [*past[1:], row]
        frames = past if order == "oldest_first" else past[::-1]
        terms = [[frame[:2] for frame in frames], [frame[2:] for frame in frames]]
        seen.append(np.concatenate(frames if layout == "frame_major" else [each for term in terms for each in term]))
    return np.array(seen)


@every_case("layout", ["term_major", "frame_major"])
@every_case("order", ["oldest_first", "newest_first"])
@every_case("start", ["first", "zeros"])
def test_a_history_is_read_from_exact_copies(layout, order, start):
    """Each of the three words makes another vector of the same width; nothing crashes with the wrong one."""
    held = _history(np.random.default_rng(5).normal(size=(30, 3)), 4, layout=layout, order=order, start=start)
    found = find_shifts(held, np.arange(30) > 0)
    widths = (3,) if layout == "frame_major" else (2, 1)
    starts = np.concatenate(([0], 4 * np.cumsum(widths)[:-1]))
    assert found.blocks == tuple(Block(int(at), width, 4, order) for at, width in zip(starts, widths, strict=True))  # type: ignore[arg-type]
    assert found.start == start


def test_a_reset_in_the_middle_breaks_no_history():
    """A robot that falls is put up again while the log runs on."""
    rng = np.random.default_rng(6)
    held = np.vstack(
        [
            _history(rng.normal(size=(20, 3)), 3, layout="frame_major", order="oldest_first", start="zeros")
            for _ in range(2)
        ]
    )
    found = find_shifts(held, np.arange(40) > 0)
    assert (found.blocks, found.resets, found.start) == ((Block(0, 3, 3, "oldest_first"),), (0, 20), "zeros")


def test_columns_that_stand_still_are_not_told():
    """A dead term between two histories may be of any width: a guess would name the wrong sensor."""
    rows = _history(
        np.random.default_rng(7).normal(size=(30, 3)), 4, layout="term_major", order="oldest_first", start="first"
    )
    held = np.hstack([rows[:, :8], np.zeros((30, 8)), rows[:, 8:]])
    blocks = find_shifts(held, np.arange(30) > 0).blocks
    assert blocks is not None
    assert [each.is_told for each in blocks] == [True, False, True]


@pytest.mark.parametrize(
    ("scale", "subtract"), [(1.0, 0.0), (0.2, 0.0), (1.0, -0.35), (0.05, 1.25), (-2.0, 0.0), (57.29578, 0.0)]
)
def test_a_line_says_the_numbers_that_were_meant(scale, subtract):
    """0.2 that is read as 0.19999999 is a number that nobody finds in his code."""
    known = np.random.default_rng(8).normal(size=80).astype(np.float32)
    held = (known - np.float32(subtract)) * np.float32(scale)
    line = line_between(known.astype(float), held.astype(float), np.zeros(80), float(np.abs(known).max()))
    assert line is not None
    assert line.scale == pytest.approx(scale, rel=1e-6)
    assert line.subtract - line.offset / line.scale == pytest.approx(subtract, abs=1e-6)
    assert line_between(known.astype(float), np.tanh(held).astype(float), np.zeros(80), 4.0) in (None, Line(1.0, 0.0))
