"""Traces as lines of JSON at their edges: the first line, the last one, a row that is none. Written here by hand."""

import json
import math

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings.json_lines import lines_of
from rigpact.reference_runtime.recordings.trace_json_lines import FrameRows, begins_with_a_frame
from rigpact.reference_runtime.recordings.trace_model import Trace

from .json_lines_by_hand import HEADER, frame, lines


@pytest.mark.parametrize("first", [-(1 << 62) + 1, -1, 0, 1, (1 << 62) - 1])
def test_a_run_may_begin_at_any_frame_that_an_integer_holds(tmp_path, first):
    """An engine counts frames since it was started, or from the end of a warm-up."""
    trace = read_trace(lines(tmp_path / "t.trace.jsonl", HEADER, frame(0, frame=first)))
    assert trace.frame.tolist() == [first]


@pytest.mark.parametrize("first", [-(1 << 62), 1 << 62, True, 1.0, None, "1"])
def test_what_no_frame_number_can_be_is_refused(tmp_path, first):
    """Beyond 2**62 the difference of two frames overflows, and true is not frame one."""
    with pytest.raises(UnusableInput, match="a frame number"):
        read_trace(lines(tmp_path / "t.trace.jsonl", HEADER, frame(0, frame=first)))


@pytest.mark.parametrize("number", [3, 4])
def test_the_place_of_a_wrong_frame_is_its_line(tmp_path, number):
    """Somebody opens the file at this line."""
    entries = [HEADER, *(frame(k) for k in range(number - 2)), frame(99, time=None), frame(100)]
    with pytest.raises(UnusableInput, match=rf"t\.trace\.jsonl:{number}#/time"):
        read_trace(lines(tmp_path / "t.trace.jsonl", *entries))


@pytest.mark.parametrize("entry", [{"frame": 0, "q": 1.0}, {"q": [1.0]}, [1.0, 2.0], {"a": 1, "q": [1.0]}])
def test_lines_without_a_header_are_seen(tmp_path, entry):
    """A recorder that writes no header writes a table, and not a damaged trace."""
    assert begins_with_a_frame(lines(tmp_path / "t.jsonl", entry))


@pytest.mark.parametrize(
    "entry",
    [HEADER, {"format": "x", "q": [1.0]}, {"version": 1, "frame": 0}, {"producer": {}, "frame": 0}, {"q": 1.0}, 3],
)
def test_what_says_who_wrote_it_is_a_header(tmp_path, entry):
    """A damaged header must be refused as one, and not be read as a frame of somebody's table."""
    assert begins_with_a_frame(lines(tmp_path / "t.jsonl", entry)) is False


def test_a_file_without_a_line_begins_with_no_frame(tmp_path):
    """A recorder that was stopped at once leaves such a file."""
    for content in (b"", b"\n", b"{"):
        (tmp_path / "t.jsonl").write_bytes(content)
        assert begins_with_a_frame(tmp_path / "t.jsonl") is False


def test_a_mark_of_the_byte_order_is_no_part_of_a_header(tmp_path):
    """Windows editors put it there."""
    path = lines(tmp_path / "t.trace.jsonl", HEADER, frame(0))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_trace(path).frame.tolist() == [0]


@pytest.mark.parametrize("second", [7, 6, 4])
def test_a_frame_that_goes_back_is_refused_though_it_is_after_the_first(tmp_path, second):
    """Two runs in one file: the frames of one would be compared with those of the other."""
    with pytest.raises(UnusableInput) as refused:
        read_trace(lines(tmp_path / "t.trace.jsonl", HEADER, frame(3), frame(7), frame(second)))
    assert (refused.value.found, refused.value.expected) == (str(second), "a number above 7")


@pytest.mark.parametrize(
    ("stages", "found"),
    [
        ({"cond": [0.0] * 7}, "cond"),
        (frame(0)["stages"] | {"quat": [0.0]}, "cond, contacts, quat"),
        (None, "None"),
        ([1], "[1]"),
    ],
)
def test_a_frame_has_the_headers_stages(stages, found):
    """A stage that is missing in one frame would be compared with the frame before."""
    rows = FrameRows({"cond": 7, "contacts": 2})
    with pytest.raises(UnusableInput) as refused:
        rows.append(frame(0, stages=stages), "here")
    assert (refused.value.place, refused.value.found) == ("here#/stages", found)
    assert refused.value.expected == "the header's stages: cond, contacts"


def test_empty_lines_between_frames_are_passed_over(tmp_path):
    """And the last frame, which has no end, is read where it is whole."""
    path = tmp_path / "t.trace.jsonl"
    path.write_text("\n\n".join(map(json.dumps, (HEADER, frame(0), frame(1), frame(2)))), encoding="utf-8")
    trace = read_trace(path)
    assert (trace.frame.tolist(), trace.truncation) == ([0, 1, 2], None)
    path.write_text(path.read_text(encoding="utf-8")[:-1], encoding="utf-8")
    trace = read_trace(path)
    assert (trace.frame.tolist(), trace.truncation) == ([0, 1], "cut off in line 7, after 2 whole frames")
    path.write_text(path.read_text(encoding="utf-8").replace('"time": 0.0,', '"time": ?,'), encoding="utf-8")
    with pytest.raises(UnusableInput, match=r"t\.trace\.jsonl:3"):
        read_trace(path)


# --- numbers and blocks -----------------------------------------------------------------------------------------------


def test_what_is_not_finite_is_written_as_a_word_and_compressed_files_have_the_same_bytes_twice(tmp_path):
    """JSON knows no NaN, and a time inside the file would make two equal runs differ."""
    rows = np.array([[math.nan, -math.inf], [math.inf, 0.1]], np.float32)
    trace = Trace(TraceHeader(60.0, "free"), np.arange(2), np.arange(2) / 60.0, {"contacts": rows})
    for ending in (".jsonl", ".jsonl.gz", ".jsonl.zst"):
        path = tmp_path / f"t.trace{ending}"
        write_trace(trace, path)
        np.testing.assert_array_equal(read_trace(path).stages["contacts"], rows)
        frames = [json.loads(line)["stages"]["contacts"] for line, _ in [*lines_of(path)][1:]]
        assert frames == [["NaN", "-Infinity"], ["Infinity", 0.1]]
    assert (tmp_path / "t.trace.jsonl.gz").read_bytes()[4:8] == bytes(4)


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ([1.0], "cond"),
        ([1.0] * 8, "cond"),
        (3, "cond"),
        ([1, "x", *[1.0] * 5], "cond/1"),
        ([1.0, 1, True, *[1.0] * 4], "cond/2"),
    ],
)
def test_a_row_that_is_none_is_refused_at_its_number(row, place):
    """A shorter row is a frame that was torn, and true is not a coordinate."""
    rows, entry = FrameRows({"cond": 7, "contacts": 2}), frame(0)
    with pytest.raises(UnusableInput) as refused:
        rows.append(entry | {"stages": entry["stages"] | {"cond": row}}, "here")
    assert refused.value.place == f"here#/stages/{place}"
    rows.append(entry | {"stages": entry["stages"] | {"cond": [1, "NaN", 2.5, "Infinity", 1, 1, 1]}}, "here")
    np.testing.assert_array_equal(rows.joined("cond"), [[1, math.nan, 2.5, math.inf, 1, 1, 1]])


@pytest.mark.parametrize("place", ["frame", "time", "stages", "stages/cond", "stages/cond/0"])
def test_of_a_long_value_its_beginning_is_shown(place):
    """A page of base64 in place of a number must not fill the terminal."""
    rows, long = FrameRows({"cond": 7, "contacts": 2}), "x" * 100
    entry = frame(0)
    if place == "stages/cond":
        entry["stages"]["cond"] = long
    elif place == "stages/cond/0":
        entry["stages"]["cond"] = [long, *[1.0] * 6]
    else:
        entry[place] = long
    with pytest.raises(UnusableInput) as refused:
        rows.append(entry, "here")
    assert (refused.value.place, refused.value.found) == (f"here#/{place}", "'" + "x" * 59)


def test_more_frames_than_a_block_holds_keep_their_order():
    """Blocks of 512 frames are joined; the last one is not full."""
    rows = FrameRows({"cond": 7, "contacts": 2})
    for number in range(1025):
        rows.append(frame(number), "here")
    assert rows.joined("cond")[:, 3].tolist() == list(range(1025))
    assert rows.joined("contacts").shape == (1025, 2)


def test_a_block_of_a_wide_stage_has_fewer_rows():
    """Sixteen megabytes are kept at once, however wide a stage is: a crowd's frame is a million numbers."""
    widths = {"narrow": 7, "wide": 1 << 14, "widest": (1 << 22) + 1}
    rows = FrameRows(widths)
    for name, width in widths.items():
        rows._keep(name, np.zeros(width))
    assert {name: blocks[0].shape for name, (*blocks,) in rows._blocks.items()} == {
        "narrow": (512, 7), "wide": (256, 1 << 14), "widest": (1, (1 << 22) + 1),
    }  # fmt: skip
