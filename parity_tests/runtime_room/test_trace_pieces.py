"""Traces as JSON Lines are read in pieces: no frame is lost, doubled or moved where two pieces meet."""

import json
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.recordings import trace_json_lines

from ..every_case import every_case

HEADER = {"format": "rigpact-trace", "version": 1, "fps": 60.0, "mode": "free", "stages": {"cond": 7, "contacts": 2}}


@every_case("numbers", [7, 1 << 22])
@every_case("frames", [1, 3, 4, 5, 8, 9])
def test_every_frame_is_where_it_was_written(
    frames: int, numbers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame dropped at the edge of a buffer looks like a drift of the whole character afterwards."""
    monkeypatch.setattr(trace_json_lines, "_BLOCK_FRAMES", 4)
    monkeypatch.setattr(
        trace_json_lines, "_BLOCK_NUMBERS", numbers
    )  # a wide stage gets smaller pieces than a narrow one
    lines = [json.dumps(HEADER)]
    for k in range(frames):
        stages = {"cond": [10.0 * k + channel for channel in range(7)], "contacts": [k, -k]}
        lines.append(json.dumps({"frame": k, "time": k / 60.0, "stages": stages}))
    path = tmp_path / "pieces.trace.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    trace = read_trace(path)
    row = np.arange(frames, dtype=np.float32)
    assert trace.frame.tolist() == list(range(frames))
    np.testing.assert_array_equal(trace.stages["cond"], 10.0 * row[:, None] + np.arange(7, dtype=np.float32))
    np.testing.assert_array_equal(trace.stages["contacts"], np.stack((row, -row), axis=1))
    assert {rows.dtype for rows in trace.stages.values()} == {np.dtype(np.float32)}
