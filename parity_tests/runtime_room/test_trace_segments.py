"""Several recordings in one file: told apart, ended at any byte, damaged in one of them."""

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings.trace_bytes import segments

from ..every_case import every_case
from .trace_files import refused

PARTS = (("free", range(4)), ("free", range(3)), ("teacher", range(3, 6)))


def part(number):
    mode, frames = PARTS[number]
    frame = np.array(frames)
    header = TraceHeader(60.0, mode, system="studio", producer="MyGame", about=(("actor", "Wolf"),))
    return Trace(header, frame, frame / 60, {"pose": np.full((len(frame), 2), number, np.float32)})


def contents(folder, ending):
    for number in range(3):
        path = folder / f"part{ending}"
        write_trace(part(number), path)
        yield path.read_bytes()


def agrees(trace, number):
    expected = part(number)
    assert (trace.header, trace.truncation) == (expected.header, None)
    assert (trace.frame.tolist(), trace.stages["pose"].tolist()) == (
        expected.frame.tolist(),
        expected.stages["pose"].tolist(),
    )


def lengths_of(path):
    """The numbers of frames of the segments, and what is left behind them; none where the file is refused."""
    try:
        with segments(path) as found:
            return [len(read_trace(each).frame) for each in found.paths], found.tail
    except UnusableInput:
        return [], None


@every_case("ending", [".trace.bin", ".trace.jsonl"])
def test_segments_are_told_apart_and_may_end_at_any_byte(tmp_path, ending):
    """Frames of two lives judged as one run: the history of the second begins in the first; a crash comes in a header too."""
    parts, path = [*contents(tmp_path, ending)], tmp_path / f"run{ending}"
    whole, begins, full = (
        b"".join(parts),
        np.cumsum([0, *map(len, parts)]).tolist(),
        [len(frames) for _, frames in PARTS],
    )
    path.write_bytes(whole)
    with segments(path) as found:
        for number, each in enumerate(found.paths):
            agrees(read_trace(each), number)
        assert (found.tail, len(found.paths)) == (None, 3)
        for number in (None, 4):
            with pytest.raises(UnusableInput):
                found.at(number, path)
    assert refused(read_trace, path)[1].startswith("another recording")
    near = {place + shift for place in begins for shift in range(-3, 4)}
    for end in sorted({*range(1, len(whole), 29), *near} & {*range(1, len(whole) + 1)}):
        path.write_bytes(whole[:end])
        lengths, tail = lengths_of(path)
        assert lengths or end < begins[1], end  # before the first frame was whole
        assert lengths[:-1] == full[: max(len(lengths) - 1, 0)], end
        assert not lengths or 0 < lengths[-1] <= full[len(lengths) - 1], end
        assert end not in begins[1:] or (lengths, tail) == (full[: len(lengths)], None)


def test_damage_in_a_segment_is_no_end_and_one_segment_can_be_converted(tmp_path, command):
    """A copy that lost a bit would be judged as a shorter run; every other command takes one recording."""
    parts, path, out = [*contents(tmp_path, ".trace.bin")], tmp_path / "run.trace.bin", tmp_path / "2.trace.jsonl"
    path.write_bytes(b"".join(parts))
    assert command("convert", path, "-o", out).status == 2
    assert command("convert", path, "--segment", 2, "-o", out).status == 0
    agrees(read_trace(out), 1)
    lines = tmp_path / "run.trace.jsonl"
    first, second, _ = contents(tmp_path, ".trace.jsonl")
    lines.write_bytes(first + second.replace(b'"frame":1', b'"frame":0'))
    said = command("convert", lines, "--segment", 2, "-o", out)
    assert (said.status, said.err.partition(": found")[0]) == (2, f"rigpact: error: {lines}#segment=2:3#/frame")
    path.write_bytes(parts[0] + parts[1][:-60] + bytes([parts[1][-60] ^ 1]) + parts[1][-59:] + parts[2])
    with pytest.raises(UnusableInput), segments(path):
        pass
