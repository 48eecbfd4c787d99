"""Files of several recordings: a character that started again, or whose mode changed."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings.trace import segments
from rigpact.reports.command_line import run_command_line

ENDINGS = pytest.mark.parametrize("ending", [".trace.bin", ".trace.jsonl"])
PARTS = (("free", range(4)), ("free", range(3)), ("teacher", range(3, 6)))


def part(number):
    mode, frames = PARTS[number]
    frame = np.array(frames)
    header = TraceHeader(60.0, mode, system="studio", producer="MyGame", about=(("actor", "Wolf"),))
    return Trace(header, frame, frame / 60, {"pose": np.full((len(frame), 2), number, np.float32)})


def content_of(number, tmp_path, ending):
    path = tmp_path / f"part-{number}{ending}"
    write_trace(part(number), path)
    return path.read_bytes()


@pytest.fixture
def parts(tmp_path):
    return lambda ending: [content_of(number, tmp_path, ending) for number in range(len(PARTS))]


def agrees(trace, number):
    expected = part(number)
    assert (trace.header, trace.truncation) == (expected.header, None)
    np.testing.assert_array_equal(trace.frame, expected.frame)
    np.testing.assert_array_equal(trace.stages["pose"], expected.stages["pose"])


@ENDINGS
def test_segments_are_told_apart(parts, tmp_path, ending):
    """Frames of two lives judged as one run: the history of the second begins in the first."""
    path = tmp_path / f"run{ending}"
    path.write_bytes(b"".join(parts(ending)))
    with segments(path) as found:
        assert found.tail is None
        for number, each in enumerate(found.paths):
            agrees(read_trace(each), number)
        assert len(found.paths) == 3
        with pytest.raises(UnusableInput, match="3 recordings, one behind the other"):
            found.at(None, path)
        with pytest.raises(UnusableInput, match="3 segments"):
            found.at(4, path)
    with pytest.raises(UnusableInput, match="another recording begins, after 4 frames"):
        read_trace(path)


@ENDINGS
def test_a_file_of_several_segments_may_end_at_any_byte(parts, tmp_path, ending):
    """A crash comes in the header of a segment too: no frame may be lost, none taken for another's."""
    contents = parts(ending)
    whole, path = b"".join(contents), tmp_path / f"run{ending}"
    begins = np.cumsum([0, *map(len, contents)])
    for end in sorted(
        {*range(1, len(whole) + 1, 7), *(place + shift for place in begins for shift in range(-3, 4))}
        & {*range(1, len(whole) + 1)}
    ):
        path.write_bytes(whole[:end])
        try:
            with segments(path) as found:
                lengths = [len(read_trace(each).frame) for each in found.paths]
        except UnusableInput:
            assert end < begins[1], end  # before the first frame was whole
            continue
        full = [len(frames) for _, frames in PARTS]
        assert lengths[:-1] == full[: len(lengths) - 1], end
        assert 0 < lengths[-1] <= full[len(lengths) - 1], end
        if end in begins:
            assert lengths == full[: len(lengths)]
            assert found.tail is None


def test_damage_in_a_segment_is_no_end(parts, tmp_path):
    """A copy that lost a bit would be judged as a shorter run."""
    contents = parts(".trace.bin")
    damaged = bytearray(contents[1])
    damaged[-60] ^= 1
    path = tmp_path / "run.trace.bin"
    path.write_bytes(contents[0] + bytes(damaged) + contents[2])
    with pytest.raises(UnusableInput, match="does not match its checksum"), segments(path):
        pass


def test_one_segment_can_be_converted(parts, tmp_path, capsys):
    """Every other command takes one recording."""
    path, out = tmp_path / "run.trace.bin", tmp_path / "second.trace.jsonl"
    path.write_bytes(b"".join(parts(".trace.bin")))
    assert run_command_line(["convert", str(path), "-o", str(out)]) == 2
    assert "--segment" in capsys.readouterr().err
    assert run_command_line(["convert", str(path), "--segment", "2", "-o", str(out)]) == 0
    agrees(replace(read_trace(out), truncation=None), 1)
