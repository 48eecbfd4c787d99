"""Traces that are cut off, damaged or wrong: whole frames are kept and counted, everything else is refused at its place."""

import gzip
import json
import math
import struct

import numpy as np
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import reading
from rigpact.reference_runtime import ReplayNetwork, open_run, read_trace, run_frames, write_trace
from rigpact.reference_runtime.recordings.trace_lines import json_line, lines_of
from rigpact.reports.command_line import run_command_line

from ..every_case import every_case
from . import tiny_character as tiny
from .trace_files import BINARY_FRAME, HEADER, MAGIC, binary, frame, lines, refused, tampered, tensors, text

BARE = '{{"frame": {0}, "time": 0, "stages": {{"quat": [0, 0, 0, 1], "cond": [inf, -nan(ind)]}}}}'
LINES = text(HEADER, *(BARE.format(k) for k in range(3)))
ENDS = {
    ".jsonl": (LINES, [place - 1 for place in np.cumsum([len(each) + 1 for each in LINES.split(b"\n")[:4]])[1:].tolist()]),
    ".bin": (binary(0, 1, 2), [len(binary()) + BINARY_FRAME * k for k in (1, 2, 3)]),
    ".safetensors": (tensors(), [len(tensors())] * 2),
}  # fmt: skip


def written(folder, ending, content):
    (folder / f"t.trace{ending}").write_bytes(content)
    return folder / f"t.trace{ending}"


def whole_frames(path):
    """The number of frames of a file and what is said of its end; None and None where it is refused."""
    try:
        trace = read_trace(path)
    except UnusableInput:
        return None, None
    return len(trace.frame), trace.truncation


@every_case("ending", ENDS)
def test_a_file_cut_at_any_byte_is_read_up_to_its_last_whole_frame(tmp_path, ending):
    """A crash tears at most the frame that was being written; half a tensor, or `-nan(i`, is nothing that ended there."""
    content, ends = ENDS[ending]
    near = {end + shift for end in ends for shift in range(-3, 3)}
    sizes = sorted({*range(0, len(content), 5), *near} & {*range(len(content) + 1)})
    found, expected = [], []
    for size in sizes:
        frames, end = whole_frames(written(tmp_path, ending, content[:size]))
        whole, is_end = sum(end <= size for end in ends), size in ends or (ending == ".jsonl" and size - 1 in ends)
        found.append((size, frames, end is None))
        expected.append((size, whole or None, is_end or not whole))
    assert found == expected
    assert len(sizes) > 50


PACK = {
    ".jsonl.gz": lambda each: gzip.compress(each, mtime=0),
    ".jsonl.zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}
LONG = [json.dumps(HEADER), *(json.dumps(frame(k, time=math.sin(k))) for k in range(4000))]


@every_case("ending", [*PACK, ".bin"])
def test_a_changed_byte_never_gives_other_numbers(tmp_path, ending):
    """A copy over a bad line changes a number by one bit, and an engineer looks for a cause for days."""
    content = PACK[ending](text(*LONG[:900])) if ending in PACK else binary(0, 1, 2, 3)
    places = np.linspace(20, len(content) - 20, 8).astype(int) if ending in PACK else range(len(content) - BINARY_FRAME)
    found = []
    for place in places:
        damaged = content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :]
        frames, end = whole_frames(written(tmp_path, ending, damaged))
        found.append(frames is None or (ending in PACK and end is not None))
    assert found == [True] * len(places)


@every_case("ending", PACK)
def test_a_compressed_file_cut_anywhere_keeps_its_whole_frames_and_says_so(tmp_path, ending):
    """If a trace that ends early gives no message, it looks like a shorter run that agrees."""
    content, counts = PACK[ending](text(*LONG)), []
    for size in (len(content) // 2, len(content) - 9, len(content) - 1):
        trace = read_trace(written(tmp_path, ending, content[:size]))
        counts.append(len(trace.frame))
        assert trace.time_s.tolist() == [math.sin(k) for k in range(counts[-1])]
        assert trace.truncation is not None
    assert 0 < min(counts) < max(counts) == 4000


BLOCK = 1 << 17
"""zstd packs this many bytes at a time: a file that is cut off gives back whole blocks."""


@every_case("beyond", [0, 1])
def test_a_cut_where_a_block_ends_with_a_line_is_said(tmp_path, beyond):
    """Without a message, a trace that lost its last frames passes as a complete run."""
    used, count = len(LONG[0]) + 1, 0
    while used + len(LONG[count + 1]) + 1 <= BLOCK + beyond - 100:
        used, count = used + len(LONG[count + 1]) + 1, count + 1
    head = json.dumps(HEADER | {"clip": ""})
    padded = json.dumps(HEADER | {"clip": "x" * (BLOCK + beyond - used - len(head) + len(LONG[0]))})
    assert len(text(padded, *LONG[1 : count + 1])) == BLOCK + beyond
    content = zstandard.ZstdCompressor().compress(text(padded, *LONG[1:]))
    trace = read_trace(written(tmp_path, ".jsonl.zst", content[: len(content) // 2]))
    assert len(trace.frame) in (count, count - beyond)
    assert trace.truncation is not None


def test_a_cut_after_a_closing_brace_is_said(tmp_path):
    """Stored blocks of gzip end where the recorder flushed: after a whole object, before its newline."""
    whole = text(*LONG[:4])
    content = gzip.compress(whole, compresslevel=0, mtime=0)  # stored: byte k of the text is byte 15 + k of the file
    assert content[15 : 15 + len(whole)] == whole
    for end in (len(whole) - 1, len(whole) - 1 - len(LONG[3]) - 1):
        assert whole[:end].endswith(b"}")
        assert read_trace(written(tmp_path, ".jsonl.gz", content[: 15 + end])).truncation is not None


# --- wrong ------------------------------------------------------------------------------------------------------------


def of(cond, quat=(0, 0, 0, 1), **more):
    """Lines of one frame with these numbers."""
    return text(HEADER, frame(0, stages={"cond": cond, "quat": quat} | more))


def after(*entries):
    return text(HEADER, *entries)


HALF = np.ones((2, 2), np.float16)
NO_FRAMES = {"frame": np.arange(0), "time": np.zeros(0), "cond": np.ones((0, 2), "f4"), "quat": np.ones((0, 4), "f4")}
CUT_HEADER = [
    MAGIC, MAGIC + bytes(7), MAGIC + bytes(8), binary()[:20], *(MAGIC + struct.pack("<II", k, 0) for k in (1, 1 << 24)),
]  # fmt: skip
WIDE = {f"s{k}": 1 << 24 for k in range(60)}
LONG_WORD = "x" * 100
DAMAGED = {
    ".jsonl": [
        (after(frame(0), frame(0)), ":3#/frame", "0"), (after(frame(3), frame(7), frame(4)), ":4#/frame", "4"),
        (after({"time": 0, "stages": {}}), ":2#/frame", "None"), (after(frame(0.5)), ":2#/frame", "0.5"),
        *((after(frame(0, frame=value)), ":2#/frame", None) for value in (True, 1.0, None, "1", -(1 << 62), 1 << 62)),
        (of([1]), ":2#/stages/cond", None),
        (after(frame(0), frame(1, stages={"cond": [1, 2, 3], "quat": [0] * 4})), ":3#/stages/cond", None),
        (after(frame(0), frame(1, stages={"cond": [1, 2]})), ":3#/stages", "cond"),
        (of([1, 2], state=[1]), ":2#/stages", "cond, quat, state"),
        (after(frame(0, stages=None)), ":2#/stages", "None"), (after(frame(0, stages=[1])), ":2#/stages", "[1]"),
        (of([1, "two"]), ":2#/stages/cond/1", "'two'"), (of([None, 2]), ":2#/stages/cond/0", "None"),
        (of([1, True]), ":2#/stages/cond/1", "True"),
        (of(7), ":2#/stages/cond", "7"), (of([[1], 2]), ":2#/stages/cond/0", "[1]"), (of([{}, 2]), ":2#/stages/cond/0", "{}"),
        (of([10**400, 2]), ":2#/stages/cond/0", None), (of(LONG_WORD), ":2#/stages/cond", "'" + "x" * 59),
        (of([LONG_WORD, 1]), ":2#/stages/cond/0", "'" + "x" * 59),
        (after(frame(0, frame=LONG_WORD)), ":2#/frame", "'" + "x" * 59),
        (after(frame(0, time="soon")), ":2#/time", "'soon'"), (after(frame(0), frame(1, time=None)), ":3#/time", "None"),
        (after("[1, 2]"), ":2#/frame", "None"), (after(frame(0), '{"frame": 1, "ti', frame(2)), ":3", None),
        (after(frame(0), '{"f": ?}', frame(2)), ":3", None),
        (text(HEADER | {"fps": 0}, frame(0)), ":1#/fps", "0"), (text([1], frame(0)), None, None), (text(HEADER), None, None),
        (after('{"frame": 0')[:-1], None, None),
        (b"{}\n", None, None), (b"[" * 5000, None, None),
        *((after(frame(0), last)[:-1], ":3", None) for last in ("[1, 2", "abc", '{"a": 1} x', '{"a": 1}}')),
    ],
    ".bin": [
        (binary(0, 0), "#/frames/1", "0"), (binary(3, 2), "#/frames/1", "2"),
        (binary(0, (1, math.inf), 2), "#/frames/1/time", "inf"),
        (binary((0, math.nan)), "#/frames/0/time", "nan"), (binary(), None, None), (binary(0, version=2), "#/version", "2"),
        (binary(0, float64=["pose"]), "#/float64", None), (binary(0, float64=3), "#/float64", "3"),
        (binary(0, float64=LONG_WORD), "#/float64", "'" + "x" * 59),
        (binary(0, stages=WIDE | {"cond": 1}, system="studio", float64=["pose"]), "#/float64", None),
        (binary(0, stages=WIDE, system="studio", float64=[]), None, None),
        *((content, "", "a header that was cut off") for content in CUT_HEADER),
    ],
    ".safetensors": [
        *((tensors(**{name: None}), f"#{name}", "no tensor") for name in ("quat", "frame")),
        (tensors(cond=HALF), "#cond", "F16 of rank 2"),
        (tensors(cond=np.ones((2, 2))), "#cond", "float64 of rank 2"),
        (tensors(cond=np.ones(4, "f4")), "#cond", "float32 of rank 1"),
        (tensors(time=np.zeros(2, "f4")), "#time", None),
        (tensors(time=np.array([0.0, np.inf])), "#time", "a time that is not finite"),
        (tensors(time=np.zeros(3)), "#frame", None), (tensors(frame=np.array([1, 1])), "#frame", None),
        (tensors(frame=np.array([0, 1, 1]), time=np.zeros(3)), "#frame", None), (tensors(**NO_FRAMES), "#frame", None),
        (tensors(quat=np.ones((2, 3), "f4")), "#quat", "shape (2, 3)"),
        (tensors(quat=np.ones((3, 4), "f4")), "#quat", "shape (3, 4)"),
        (tensors(metadata={"made by": "torch"}), None, "safetensors without a rigpact header"), (tensors(header=3), None, None),
        (tensors(header=HEADER | {"stages": {}}), "#rigpact#/stages", "{}"), (tampered(__metadata__=5), None, None),
        *((tampered(cond=entry), None, None) for entry in (
            {"dtype": "F16", "shape": [2, 4], "data_offsets": [0, 16]}, {"dtype": "F32", "shape": [2, 3],
            "data_offsets": [0, 16]},
            {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 1 << 40]}, {"dtype": "F32", "shape": [2, 2],
            "data_offsets": [16, 0]},
            {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 16]}, {"dtype": "F32", "shape": [2, 2]}, [1],
            {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]})),
    ],
}  # fmt: skip
JUNK = [b"", b"\x00\xff\xfejunk" * 40]
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".bin", ".safetensors")


@every_case(
    ("ending", "content", "place", "found"),
    [(ending, *row) for ending, rows in DAMAGED.items() for row in rows]
    + [(ending, junk, None, None) for ending in ENDINGS for junk in JUNK],
    ids=lambda each: str(each)[:60],
)
def test_what_is_no_trace_is_refused_at_its_place(tmp_path, ending, content, place, found):
    """With 'could not parse' alone, an engine programmer searches 40 MB of numbers; an offset must not become an allocation."""
    said = refused(read_trace, written(tmp_path, ending, content))
    assert (place, found) in ((said[0], said[1]), (said[0], None), (None, said[1]), (None, None))


@every_case("ending", ENDINGS)
def test_what_is_no_file_is_refused(tmp_path, ending):
    """One line, the place, no traceback."""
    path = tmp_path / f"t.trace{ending}"
    for found in ("no file", "a directory"):
        place, *said = refused(read_trace, path)
        assert (place, found in " ".join(said) or "existing file" in said[1]) == ("", True)
        path.mkdir(exist_ok=True)


@every_case("first", [-(1 << 62) + 1, -1, 1, (1 << 62) - 1])
def test_a_run_may_begin_at_any_frame_that_an_integer_holds(tmp_path, first):
    """An engine counts frames since it was started, or from the end of a warm-up."""
    assert read_trace(lines(tmp_path / "t.trace.jsonl", HEADER, frame(0, frame=first))).frame.tolist() == [first]


MIB = 1 << 20


@every_case("size", [MIB, MIB + 1])
def test_a_header_of_one_mebibyte_is_read_and_a_longer_one_is_not(tmp_path, size):
    """The header says how long it is: nothing is allocated for one that no recorder writes."""
    content = tensors()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    path = written(tmp_path, ".safetensors", struct.pack("<Q", size) + content[8:begin].ljust(size) + content[begin:])
    if size > MIB:
        assert refused(read_trace, path)[1] == f"a header of {size} bytes"
    else:
        assert read_trace(path).stages["cond"].tolist() == [[0, 0], [1, -1]]


def test_a_torn_recording_is_said_by_diff_and_explain(tmp_path, capfd):
    """The commands take the file as any other trace; what is missing stands in the answer."""
    contract = tiny.contract(tmp_path)
    outputs = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * number) for number in range(8)], np.float32)
    run = open_run(contract, ReplayNetwork(outputs), tiny.clip(tmp_path), "teacher")
    whole, torn = tmp_path / "a.trace.bin", tmp_path / "b.trace.bin"
    write_trace(run_frames(run, range(6), "W", "teacher"), whole)
    torn.write_bytes(whole.read_bytes()[:-9])
    unjudged = [word for stage in ("x_raw", "cond_raw", "contacts", "y_norm") for word in ("--allow-unjudged", stage)]
    for command, status in ((["diff", str(whole), str(torn)], 1), (["explain", str(torn), *unjudged], 0)):
        assert run_command_line([*command, "--contract", str(contract.path)]) == status
        said = " ".join(capfd.readouterr().out.split())
        assert ("cut off in frame 6 of the file, after 5 whole frames" in said, "RP808" in said) == (True, status == 1)


EMPTY, LONGEST = 4096, 1 << 26


def packed(content):
    return zstandard.ZstdCompressor().compress(content)


@every_case(
    ("ending", "content", "expected"),
    [
        ("txt", b"a\n\nb\nc", [(b"a", True), (b"", True), (b"b", True), (b"c", False)]), ("txt", b"a\n", [(b"a", True)]),
        ("gz", gzip.compress(b"a\nb\n")[:-4], [(b"a", True), (b"b", True), (b"", False)]),
        ("zst", packed(b"a\n") + packed(b"b\nc\n"), [(b"a", True), (b"b", True), (b"c", True)]),
        ("zst", packed(b"a\n") + packed(b"b\n")[:4], [(b"a", True), (b"", False)]),
        ("zst", packed(b"a\nb\n")[:7], [(b"", False)]),
        ("txt", '["ä"]\n[2]\n'.encode("utf-16"), [('["ä"]'.encode(), True), (b"[2]", True)]),
        ("txt", b"\n" * EMPTY, [(b"", True)] * EMPTY),
        ("txt", b"a\n" + b"\n" * EMPTY + b"b\n" + b"\n" * EMPTY + b"c\n", [(b"a", True), *[(b"", True)] * EMPTY, (b"b", True),
         *[(b"", True)] * EMPTY, (b"c", True)]),
    ],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_lines_and_whether_each_has_its_end(tmp_path, ending, content, expected):
    """A last line without its end was cut off, or is being written; a few thousand empty ones are a log's habit."""
    path = tmp_path / f"lines.{ending}"
    path.write_bytes(content)
    assert [*lines_of(path)] == expected


@every_case(
    ("ending", "content"),
    [("txt", b"\n" * (EMPTY + 1)), ("txt", b"a\n" + b"\n" * EMPTY + b"b\n" + b"\n" * (EMPTY + 1) + b"c\n")]
    + [("zst", packed(b"a\n") + after) for after in (b"x", b"xyz", b"\x28x", b"xyzabc")],
    ids=lambda each: str(each)[:30],
)
def test_lines_that_no_recorder_writes_are_refused(tmp_path, ending, content):
    """A file of nothing but line ends would be read for hours; of bytes after the end nobody knows what they replaced."""
    path = tmp_path / f"lines.{ending}"
    path.write_bytes(content)
    assert refused(lambda: list(lines_of(path)))[0] == str(path)


@every_case(("before", "more"), [(b"", 0), (b"a\n", 1)])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, before, more):
    """Three million numbers are one frame; more is a file that never ends its line."""
    path = tmp_path / "line.jsonl"
    with path.open("wb") as stream:
        stream.write(before)
        stream.truncate(len(before) + LONGEST + more)
    if more:
        assert f"a line of more than {LONGEST} bytes" in refused(lambda: list(lines_of(path)))[1]
    else:
        assert [(len(line), whole) for line, whole in lines_of(path)] == [(LONGEST, False)]


@every_case("more", [0, 1])
def test_a_few_bytes_that_unpack_without_end_are_refused(tmp_path, monkeypatch, more):
    """At most so many bytes and so many times the file's own: one byte more is refused, and no byte less."""
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip.compress(b"a\n" * 5000))
    monkeypatch.setattr(reading, "_UNPACKED_TIMES", 3)
    monkeypatch.setattr(reading, "_UNPACKED_BYTES", 10_000 - more - 3 * path.stat().st_size)
    if more:
        assert "10000 or more" in refused(lambda: list(lines_of(path)))[1]
    else:
        assert len(list(lines_of(path))) == 5000


@every_case(
    ("line", "place", "found"),
    [
        (b"password", "", "'p'"), (b'{"a": [' + b"1, " * 40, "", repr('{"a": [' + "1, " * 11)), (b"[1,\xff", "", "'[1,\ufffd'"),
        (b'{"a": 1, "a": 2}', "#/a", None), (b'{"a": {"b": 1, "c": 2, "b": 1}}', "#/a/b", None),
        (b'{"a": nan, "a": 2}', "#/a", None),
        (b'{"b": ' + b"[" * 65 + b"]" * 65 + b"}", "", None), (b'{"b": ' + b'{"a":' * 70 + b"1" + b"}" * 71, "", None),
        (b'{"b": ' + b"[" * 900 + b"NaN" + b"]" * 900 + b"}", "", None),
    ],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_a_line_that_is_no_frame_is_refused_and_its_beginning_shown(line, place, found):
    """Of a file that nobody meant to show, its first character; two parsers read two frames where a key stands twice."""
    said = refused(lambda: json_line(line, "here"))
    assert (said[0], found or said[1]) == (f"here{place}", said[1])
    assert found or {"#": "twice"}.get(place[:1], "nested") in said[1]


@every_case(
    "value",
    [b'{"a": {"b": 1}, "c": [{"d": 1}]}', rb'{"a": "x\":y"}', b'[{"a": 1}, {"a": 2}]', b"{}", b"3", b"[" * 63 + b"]" * 63,
     b'"' + b"[" * 70 + b'"', b"[" + b"[1]," * 70 + b"[1]]"],
)  # fmt: skip
def test_keys_of_other_objects_and_brackets_that_are_no_depth_are_read(value):
    """Frames in a list have the same names; a recording has a pair of brackets for each bone, and a name may hold any."""
    assert json_line(b'{"bones": ' + value + b"}", "here") == json.loads(b'{"bones": ' + value + b"}")
