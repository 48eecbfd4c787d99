"""Readers at their edges: the smallest file, the last line, the first number. Written here by hand, byte by byte."""

from __future__ import annotations

import gzip
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.reference_runtime import TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings import recording
from rigpact.reference_runtime.recordings.json_lines import json_line, lines_of
from rigpact.reference_runtime.recordings.json_tables import is_json_table, read_json_lines_table, read_json_table
from rigpact.reference_runtime.recordings.number_rows import UNNAMED, is_number, stacked, stacked_rows, text_number
from rigpact.reference_runtime.recordings.trace_binary import read_frames_from, write_binary
from rigpact.reference_runtime.recordings.trace_json_lines import FrameRows, begins_with_a_frame
from rigpact.reference_runtime.recordings.trace_model import Trace

from . import tiny_character as tiny

HEADER = {"format": "rigpact-trace", "version": 1, "fps": 60.0, "mode": "free", "stages": {"cond": 7, "contacts": 2}}
LARGEST = float(np.finfo(np.float32).max)


def lines(path, *entries, end="\n"):
    path.write_text("\n".join(json.dumps(entry) for entry in entries) + end, encoding="utf-8")
    return path


def frame(number, **changed):
    stages = {"cond": [float(number)] * 7, "contacts": [0.5, -0.5]}
    return {"frame": number, "time": number / 60.0, "stages": stages, **changed}


# --- traces as lines of JSON ------------------------------------------------------------------------------------------


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


def test_frames_that_are_taken_are_forgotten_and_their_order_is_not():
    """`watch` takes frames while the game runs: none may come twice, none may be lost, and none may go back in time."""
    rows, header = FrameRows({"cond": 7, "contacts": 2}), TraceHeader(60.0, "free")
    assert rows.taken(header) is None
    for number in (4, 5):
        rows.append(frame(number), "here")
    first = rows.taken(header)
    assert (first.frame.tolist(), first.time_s.tolist()) == ([4, 5], [4 / 60.0, 5 / 60.0])
    assert first.stages["cond"][:, 0].tolist() == [4.0, 5.0]
    assert rows.taken(header) is None
    assert (rows.frames, rows.times_s) == ([5], [5 / 60.0])  # a game runs for hours
    with pytest.raises(UnusableInput, match="a number above 5"):
        rows.append(frame(5), "here")
    rows.append(frame(6), "here")
    second = rows.taken(header)
    assert (second.frame.tolist(), second.stages["cond"].tolist()) == ([6], [[6.0] * 7])


# --- lines ------------------------------------------------------------------------------------------------------------


def test_lines_and_the_rest_after_the_last(tmp_path):
    """A last line without its end was cut off, or is being written."""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\n\nb\nc")
    assert list(lines_of(path)) == [(b"a", True), (b"", True), (b"b", True), (b"c", False)]
    path.write_bytes(b"a\n")
    assert list(lines_of(path)) == [(b"a", True)]


@pytest.mark.parametrize(("empty", "is_refused"), [(4096, False), (4097, True)])
def test_thousands_of_empty_lines_in_succession_are_refused(tmp_path, empty, is_refused):
    """A file of nothing but line ends would be read for hours; a few thousand between two frames are a log's habit."""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\n" * empty)
    if is_refused:
        with pytest.raises(UnusableInput, match="more than 4096 empty lines"):
            list(lines_of(path))
    path.write_bytes(b"a\n" + b"\n" * 4096 + b"b\n" + b"\n" * empty + b"c\n")
    if is_refused:
        with pytest.raises(UnusableInput, match="more than 4096 empty lines"):
            list(lines_of(path))
    else:
        assert len(list(lines_of(path))) == 3 + 2 * 4096


@pytest.mark.parametrize(
    ("line", "found"),
    [(b"password", "'p'"), (b'{"a": [' + b"1, " * 40, repr('{"a": [' + "1, " * 11)), (b"[1,\xff", "'[1,\ufffd'")],
)
def test_of_a_line_that_is_no_json_its_beginning_is_shown(line, found):
    """Of a file that nobody meant to show, its first character; of a torn frame enough to know it again."""
    with pytest.raises(UnusableInput) as refused:
        json_line(line, "here")
    assert (refused.value.place, refused.value.found) == ("here", found)


@pytest.mark.parametrize(("size", "is_refused"), [(1 << 26, False), ((1 << 26) + 1, True)])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, size, is_refused):
    """Three million numbers are one frame; more is a file that never ends its line."""
    path = tmp_path / "line.jsonl"
    with path.open("wb") as stream:
        stream.truncate(size)
    if is_refused:
        with pytest.raises(UnusableInput, match=f"a line of more than {1 << 26} bytes"):
            list(lines_of(path))
    else:
        ((line, whole),) = lines_of(path)
        assert (len(line), whole) == (size, False)


@pytest.mark.parametrize("lost", [1, 4, 8])
def test_a_compressed_file_that_was_cut_off_says_so_after_its_last_line(tmp_path, lost):
    """Every line is there and only the checksum is missing: still nobody knows what came after."""
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip.compress(b"a\nb\n")[:-lost])
    assert list(lines_of(path)) == [(b"a", True), (b"b", True), (b"", False)]


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
    """A shorter row is a frame that was torn, and true is no coordinate."""
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


# --- the header -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"fps": 0}, "#/fps"), ({"fps": -1}, "#/fps"), ({"fps": LARGEST}, "#/fps"), ({"fps": True}, "#/fps"),
        ({"fps": 1 << 1000}, "#/fps"),
        ({"version": 2}, "#/version"), ({"version": 0}, "#/version"), ({"version": 1.0}, "#/version"),
        ({"stages": {}}, "#/stages"), ({"stages": {"cond": 0}}, "#/stages/cond"), ({"stages": {"x_raw": -1}}, "#/stages/x_raw"),
        ({"stages": {"cond": True}}, "#/stages/cond"), ({"stages": {"x_raw": (1 << 24) + 1}}, "#/stages/x_raw"),
        ({"bones": []}, "#/bones"), ({"bones": ["a", 1]}, "#/bones"), ({"bones": [1, 2, 1]}, "#/bones/2"),
        ({"bones": [True]}, "#/bones"), ({"clip": 3}, "/clip"),
        ({"producer": "me"}, "#/producer"), ({"contract": []}, "#/contract"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_a_header_that_no_recorder_writes_is_refused_at_its_field(tmp_path, changed, place):
    """A frame rate of nothing, a bone that stands twice: whatever is computed from them is nonsense."""
    with pytest.raises(UnusableInput) as refused:
        read_trace(lines(tmp_path / "t.trace.jsonl", HEADER | changed, frame(0)))
    assert refused.value.place.endswith(place)


@pytest.mark.parametrize("fps", [1e-3, 1, 60, LARGEST / 2])
def test_every_positive_frame_rate_is_read(tmp_path, fps):
    """A time lapse has fewer than one frame a second."""
    assert read_trace(lines(tmp_path / "t.trace.jsonl", HEADER | {"fps": fps}, frame(0))).header.fps == fps


def test_a_header_with_little_in_it_says_so(tmp_path):
    """Nobody may be named as the recorder who is not."""
    header = read_trace(lines(tmp_path / "t.trace.jsonl", HEADER, frame(0))).header
    assert (header.producer, header.producer_version, header.clip, header.system) == ("unknown", "unknown", None, None)
    assert (header.bones, header.says_mode, header.bundle_sha256) == (None, True, None)


def test_the_widest_vector_is_read_as_a_width_and_one_more_is_not(tmp_path):
    """Sixteen million numbers a frame are a damaged file; here the frame is refused, not the header."""
    with pytest.raises(UnusableInput, match=r":2#/stages: found cond, contacts, expected the header's stages: x_raw"):
        read_trace(lines(tmp_path / "t.trace.jsonl", HEADER | {"stages": {"x_raw": 1 << 24}}, frame(0)))


# --- traces as bytes --------------------------------------------------------------------------------------------------


def test_a_growing_file_is_read_on_from_the_byte_after_the_last_frame(tmp_path):
    """`watch` must see each frame of a running game once."""
    path, numbers = tmp_path / "t.trace.bin", np.arange(3)
    stages = {"contacts": np.arange(6, dtype=np.float32).reshape(3, 2)}
    write_binary(Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, stages), path)
    content = path.read_bytes()
    size = 8 + 16 + 2 * 4
    begin = len(content) - 3 * size
    for held in (0, 8, 15, 16, begin - 1):
        path.write_bytes(content[:held])
        assert read_frames_from(path, 0) == (None, 0)
    path.write_bytes(content[:begin])
    assert read_frames_from(path, 0) == (None, begin)
    path.write_bytes(content[: begin + 2 * size - 1])
    trace, after = read_frames_from(path, 0)
    assert (trace.frame.tolist(), after) == ([0], begin + size)
    path.write_bytes(content)
    trace, after = read_frames_from(path, after)
    assert (trace.frame.tolist(), after) == ([1, 2], len(content))
    np.testing.assert_array_equal(trace.stages["contacts"], stages["contacts"][1:])
    assert read_frames_from(path, after) == (None, len(content))


def test_a_frame_that_stands_twice_is_refused_at_its_place(tmp_path):
    """A copied frame hides one that was lost."""
    path, numbers = tmp_path / "t.trace.bin", np.array([3, 4, 4])
    stages = {"contacts": np.zeros((3, 2), np.float32)}
    write_binary(Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, stages), path)
    with pytest.raises(UnusableInput, match=r"#/frames/2: found 4, expected a number above 4"):
        read_trace(path)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, True), (-2.5, True), ("NaN", True), (" -Inf ", True), ("1.#QNAN", True), ("1", False), (True, False), (None, False),
     ([1], False), (int(1.7e308), True), (10**309, False), (-(10**309), False), (math.inf, True)],
)  # fmt: skip
def test_what_counts_as_a_number(value, expected):
    """true is no coordinate, and a number beyond every float would become infinite silently."""
    assert is_number(value) is expected


def test_words_of_text_that_are_numbers():
    """A table has only words."""
    assert [text_number(word) for word in ("1.5", "-inf", "x", "")] == [1.5, -math.inf, None, None]


def test_rows_of_another_shape_are_refused_at_their_frame(tmp_path):
    """Nothing is padded: a shorter row is a frame that was torn."""
    np.testing.assert_array_equal(stacked([[[1, 2]], [[3, None]]], "here"), [[[1, 2]], [[3, math.nan]]])
    assert stacked([1, 2], "here").shape == (2,)
    with pytest.raises(UnusableInput, match=r"frame 2 of the file: found 3 numbers, expected 2"):
        stacked([[1, 2], [1, 2, 3], [1]], "here")
    with pytest.raises(UnusableInput, match=r"frame 1 of the file: found rows of different lengths"):
        stacked([[[1], [1, 2]]], "here")
    with pytest.raises(UnusableInput, match=r"frame 3 of the file: found a frame with b"):
        stacked_rows([{"a": 1}, {"a": 2}, {"a": 3, "b": 1}], tmp_path)
    with pytest.raises(UnusableInput, match=r"frame 2 of the file: found a frame without b"):
        stacked_rows([{"a": 1, "b": 1}, {"a": 2}], tmp_path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([[1, 2]], True), ([{"q": [1]}], True), ([{"q": 1}], True), ([], False), ([1, 2], False), (["a"], False),
        ({"q": [1, 2]}, True), ({"q": [[1], [2]]}, True), ({"q": []}, False), ({"q": ["a"]}, False), ({"a": "x", "q": [1]}, True),
        ({"stages": {"q": [[1]]}}, True), ({"stages": {"q": 1}}, False), ({"stages": {"a": "x", "q": [1]}}, True), (3, False),
        ({"frames": [{"q": 1}]}, True), (["a", 1], False), ([[1, "a"]], True),
    ],
)  # fmt: skip
def test_a_json_file_is_a_table_where_it_holds_rows_of_numbers(tmp_path, content, expected):
    """A settings file beside the recordings must not be read as one."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert is_json_table(path) is expected
    assert is_json_table(tmp_path / "none.json") is False


def columns(table):
    return {name: values.tolist() for name, values in table.columns.items()}


def test_nested_names_are_read_as_one(tmp_path):
    """`imu.orientation.x`, a list of objects by its place, words passed over, null as not a number."""
    row = {
        "t": 1,
        "imu": {"o": {"x": 2}},
        "legs": [{"q": 3}, {"q": 4}],
        "v": [5, 6],
        "who": "me",
        "tags": ["a", "b"],
        "mixed": [7, {"q": 8}],
    }
    found = columns(read_json_table(lines(tmp_path / "a.json", [row])))
    assert found == {
        "t": [1], "imu.o.x": [2], "legs[0].q": [3], "legs[1].q": [4], "v": [[5, 6]], "mixed[0]": [7], "mixed[1].q": [8],
    }  # fmt: skip
    (missing,) = columns(read_json_table(lines(tmp_path / "b.json", [{"q": None}])))["q"]
    assert math.isnan(missing)


def test_vectors_under_stages_have_their_own_names(tmp_path):
    """A frame of a trace, without the trace's header."""
    found = columns(read_json_table(lines(tmp_path / "a.json", [{"frame": 3, "stages": {"q": [1, 2]}}])))
    assert found == {"frame": [3], "q": [[1, 2]]}
    deeper = columns(read_json_table(lines(tmp_path / "b.json", [{"a": {"stages": {"q": 1}}}])))
    assert deeper == {"a.stages.q": [1]}


def test_what_a_json_file_says_of_the_whole_recording(tmp_path):
    """fps, mode and clip of the first row that says any; rows without names are one array."""
    rows = [{"q": 1.0}, {"q": 2.0}]
    entries = [
        {"fps": 30, "mode": "free", "clip": "Walk", **rows[0]},
        {"fps": 30, "mode": "free", "clip": "Walk", **rows[1]},
    ]
    table = read_json_lines_table(lines(tmp_path / "a.jsonl", *entries))
    assert table.said == {"fps": 30, "mode": "free", "clip": "Walk"}
    assert (table.is_text, table.truncation) == (True, None)
    arrays = read_json_table(lines(tmp_path / "a.json", {"fps": 30, "clip": None, "q": [1, 2]}))
    assert (arrays.said, columns(arrays), arrays.is_text) == ({"fps": 30}, {"q": [1, 2]}, True)
    nameless = read_json_table(lines(tmp_path / "b.json", [[1, 2], [3, 4]]))
    assert (columns(nameless), nameless.is_text) == ({UNNAMED: [[1, 2], [3, 4]]}, True)


@pytest.mark.parametrize(
    ("rows", "place"), [([[1], {"q": 1}], "#/1"), ([{"q": 1}, {"q": 2}, [1]], "#/2"), ([], "#"), (3, "#")]
)
def test_rows_of_two_kinds_are_refused_at_the_other_one(tmp_path, rows, place):
    """Half of a file that two recorders wrote."""
    with pytest.raises(UnusableInput) as refused:
        read_json_table(lines(tmp_path / "a.json", rows))
    assert refused.value.place.endswith(f"a.json{place}")


def test_lines_of_a_table_are_read_up_to_a_torn_last_one(tmp_path):
    """A crash tears the last line; a torn line with others after it is damage."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"q": 1}\n\n{"q": 2}\n{"q":')
    table = read_json_lines_table(path)
    assert columns(table) == {"q": [1, 2]}
    assert table.truncation == "cut off in line 4, after 2 whole frames"
    path.write_bytes(b'{"q": 1}\n{"q":\n{"q": 3}\n')
    with pytest.raises(UnusableInput, match=r"a\.jsonl:2"):
        read_json_lines_table(path)
    path.write_bytes(b'{"q": 1}\n3\n')
    with pytest.raises(UnusableInput, match=r"a\.jsonl:2: found int, expected an object"):
        read_json_lines_table(path)


# --- what a recording is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("frames", "is_refused"), [(1, True), (2, False)])
def test_a_clip_of_one_frame_has_no_pose_after_the_first(tmp_path, frames, is_refused):
    """Nothing compared is not a pass."""
    path = lines(tmp_path / "Walk.json", tiny.clip_document(frames))
    if is_refused:
        with pytest.raises(UnusableInput, match="one frame"):
            recording.read_recording(path, None)
    else:
        assert len(recording.read_recording(path, None).trace.frame) == 1


def test_a_clip_of_other_bones_says_how_many_it_has(tmp_path):
    """Two characters share a folder more often than not."""
    document = tiny.clip_document()
    for each in document["Frames"]:
        each["BoneRotations"], each["BoneAngularVelocities"] = (
            each["BoneRotations"][:2],
            each["BoneAngularVelocities"][:2],
        )
    with pytest.raises(UnusableInput) as refused:
        recording.read_recording(lines(tmp_path / "Walk.json", document), tiny.contract(tmp_path))
    assert (refused.value.found, refused.value.expected) == ("2 bones", "3")


def test_a_folder_in_place_of_a_file_says_what_is_in_it(tmp_path):
    """Four names are enough to see which folder it is."""
    for name in ("e.json", "b.json", "d.onnx", "c.json", "a.txt", "f.json"):
        (tmp_path / name).touch()
    with pytest.raises(UnusableInput) as refused:
        read_bytes(tmp_path)
    assert refused.value.hint == "it holds b.json, c.json, d.onnx, e.json"


def test_the_bones_of_a_clip_are_those_that_it_names():
    """Bones that are guessed move the wrong limb."""
    names = recording._declared_bones
    assert names({"skeleton": {"bone_names": ["a", 1]}}) == ("a", "1")
    for meta in (None, {}, {"skeleton": 1}, {"skeleton": {}}, {"skeleton": {"bone_names": "ab"}}):
        assert names(meta) is None


def test_the_pose_after_a_row_is_that_of_the_next_frame():
    """Across a gap nobody knows the next pose: the row after it is another moment."""
    assert recording._following(np.array([3, 4, 6, 7, 8])).tolist() == [1, -1, 3, 4, -1]
    poses = np.arange(10, dtype=np.float32).reshape(5, 2)
    trace = SimpleNamespace()
    held = recording.Recording("x", "trace", trace, frozenset(), poses6d=poses, target_rows=np.array([1, -1, 3, 4, 0]))
    np.testing.assert_array_equal(held.targets_at(np.array([0, 1, 4])), [[2, 3], [np.nan, np.nan], [0, 1]])
    np.testing.assert_array_equal(held.copied_at(np.array([0, 4])), [[0, 1], [8, 9]])
    for other in ({"poses6d": poses}, {"target_rows": np.array([1])}, {}):
        with pytest.raises(UnusableInput):
            recording.Recording("x", "trace", trace, frozenset(), **other).targets_at(np.array([0]))


def test_some_bones_of_a_recording_keep_their_own_numbers(tmp_path):
    """An engine that draws two of three bones: the hand must not get the numbers of the foot."""
    contract = tiny.contract(tmp_path)
    poses, numbers = np.arange(36, dtype=np.float32).reshape(2, 18), np.arange(2)
    trace = Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"y_out": poses})
    held = recording.Recording("x", "trace", trace, frozenset(), poses6d=poses, bone_names=contract.bone_names)
    two = recording.of_bones(held, contract, (2, 0))
    expected = np.concatenate((poses[:, 12:], poses[:, :6]), axis=1)
    np.testing.assert_array_equal(two.poses6d, expected)
    np.testing.assert_array_equal(two.trace.stages["y_out"], expected)
    assert (two.bones, two.bone_names) == ((2, 0), None)
    one = recording.of_bones(two, contract, (0,))
    np.testing.assert_array_equal(one.poses6d, poses[:, :6])
    assert recording.of_bones(one, contract, (0,)) is one


def test_all_bones_of_a_recording_of_some_are_what_it_holds_of_them():
    """Nothing of all bones is None, and not an empty recording that agrees with everything."""
    numbers, rows = np.arange(2), np.zeros((2, 7), np.float32)
    trace = Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"cond": rows[:, :3]})
    some = recording.Recording("x", "trace", trace, frozenset(), bones=(1, 2), whole={"cond": rows})
    whole = recording.with_all_bones(some)
    assert (whole.bones, whole.whole, whole.trace.stages["cond"].shape) == ((), {}, (2, 7))
    assert recording.with_all_bones(whole) is None
