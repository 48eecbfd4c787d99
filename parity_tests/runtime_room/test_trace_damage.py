"""Trace files that are cut off, damaged or wrong: whole frames are kept and counted, errors are named."""

import gzip
import json
import math

import numpy as np
import pytest
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace

from ..every_case import every_case
from .safetensors_by_hand import HEADER, with_metadata


def line(frame, **changes):
    stages = {"cond": [0.5, -1.25], "quat": [0.0, 0.0, 0.0, 1.0]}
    return {"frame": frame, "time": frame / 60, "stages": stages} | changes


def written(folder, *entries, name="a.trace.jsonl"):
    text = "".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in entries)
    (folder / name).write_bytes(text.encode())
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damage")


# --- cut off ----------------------------------------------------------------------------------------------------------


def test_cut_at_any_byte_of_the_last_line_keeps_the_whole_frames(folder):
    """The game crashed while it wrote: the frames before are the evidence."""
    whole = written(folder, HEADER, line(0), line(1), line(2)).read_bytes()
    last = whole.rindex(b"{", 0, whole.rindex(b'"frame"'))
    for size in range(last, len(whole) + 1):
        path = folder / "cut.trace.jsonl"
        path.write_bytes(whole[:size])
        trace = read_trace(path)
        complete = size >= len(whole) - 1  # only the newline is missing
        assert trace.frame.tolist() == ([0, 1, 2] if complete else [0, 1]), size
        assert (trace.truncation is None) == (complete or size == last), size
        if trace.truncation:
            assert "line 4" in trace.truncation
            assert "2 whole frames" in trace.truncation


def test_cut_inside_a_bare_c_token_is_a_cut_and_not_a_number(folder):
    """`-nan(i` must not be read as something that ended there."""
    head = json.dumps(HEADER) + "\n" + json.dumps(line(0)) + "\n"
    text = '{"frame": 1, "time": 0, "stages": {"quat": [0, 0, 0, 1], "cond": [inf, -nan(ind)]}}'
    for size in range(1, len(text)):
        (folder / "c.trace.jsonl").write_text(head + text[:size])
        trace = read_trace(folder / "c.trace.jsonl")
        assert trace.frame.tolist() == [0]
        assert trace.truncation is not None


def test_cut_before_the_first_whole_frame_is_refused(folder):
    """Nothing to compare is not a pass."""
    for content in (json.dumps(HEADER), json.dumps(HEADER) + "\n", json.dumps(HEADER) + '\n{"frame": 0'):
        (folder / "h.trace.jsonl").write_text(content)
        with pytest.raises(UnusableInput, match="no whole frame"):
            read_trace(folder / "h.trace.jsonl")


def stages_at(k):
    return {"cond": [math.sin(k), k / 7], "quat": [k, 0, 0, 1]}


BLOCK = 1 << 17
"""zstd packs this many bytes at a time: a file that is cut off gives back whole blocks."""


def lines_that_end_at(place):
    """A trace with a line that ends exactly at `place`; the length of the clip's name is chosen for that."""
    frames = LONG[1:]
    used, count = len(LONG[0]) + 1, 0
    while used + len(frames[count]) + 1 <= place:
        used, count = used + len(frames[count]) + 1, count + 1
    padded = json.dumps({**HEADER, "clip": "Walk_Left" + "x" * (place - used)})
    return [padded, *frames], count


LONG = [json.dumps({**HEADER, "clip": "Walk_Left"}), *(json.dumps(line(k, stages=stages_at(k))) for k in range(4000))]


def compressed(suffix):
    text = ("\n".join(LONG) + "\n").encode()
    return gzip.compress(text, mtime=0) if suffix == "gz" else zstandard.ZstdCompressor().compress(text)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed_file_cut_in_the_middle_keeps_its_whole_frames(folder, suffix):
    """If a trace that ends early gives no message, it looks like a shorter run that agrees."""
    content = compressed(suffix)
    path = folder / f"z.trace.jsonl.{suffix}"
    counts = []
    for size in [*np.linspace(60, len(content) - 1, 10).astype(int).tolist(), *range(len(content) - 12, len(content))]:
        path.write_bytes(content[:size])
        try:
            trace = read_trace(path)
        except UnusableInput:
            continue  # not one whole frame was in what is left
        frames = trace.frame.tolist()
        assert frames == list(range(len(frames)))
        expected = np.array([[math.sin(k), k / 7] for k in frames], np.float32)
        np.testing.assert_array_equal(trace.stages["cond"], expected)
        assert trace.truncation is not None or len(frames) == 4000
        counts.append(len(frames))
    assert 0 < min(counts) < 4000  # the test has seen real cuts


@pytest.mark.parametrize("newline_is_in_the_next_block", [False, True])
def test_zst_cut_where_a_block_ends_with_a_line_says_so(folder, newline_is_in_the_next_block):
    """Without a message, a trace that lost its last frames passes as a complete run."""
    lines, count = lines_that_end_at(BLOCK + newline_is_in_the_next_block)
    content = zstandard.ZstdCompressor().compress(("\n".join(lines) + "\n").encode())
    path = folder / "b.trace.jsonl.zst"
    path.write_bytes(content[: len(content) // 3])
    trace = read_trace(path)
    assert len(trace.frame) in (count, count - newline_is_in_the_next_block)
    assert trace.truncation is not None


def test_gz_cut_after_a_closing_brace_says_so(folder):
    """Stored blocks end where the recorder flushed: after a whole object, before its newline."""
    text = ("\n".join(LONG[:4]) + "\n").encode()
    content = gzip.compress(text, compresslevel=0, mtime=0)  # stored: byte k of the text is byte 15 + k of the file
    assert content[15 : 15 + len(text)] == text
    path = folder / "g.trace.jsonl.gz"
    for end in (len(text) - 1, len(text) - 1 - len(LONG[3]) - 1):
        path.write_bytes(content[: 15 + end])
        assert text[:end].endswith(b"}")
        assert read_trace(path).truncation is not None


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_compressed_file_with_a_flipped_byte_never_gives_other_numbers(folder, suffix):
    """A damaged copy may lose its end; it may not change its middle unseen."""
    content = bytearray(compressed(suffix))
    path = folder / f"f.trace.jsonl.{suffix}"
    if suffix == "zst":  # with a checksum, as the zstd command line writes it
        text = ("\n".join(LONG) + "\n").encode()
        content = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(text))
    for place in np.linspace(20, len(content) - 20, 12).astype(int).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        path.write_bytes(bytes(damaged))
        try:
            trace = read_trace(path)
        except UnusableInput:
            continue
        assert trace.truncation is not None


def test_cut_safetensors_are_refused_at_every_byte(folder):
    """Its header promises more than there is: half a tensor is not a shorter one."""
    frames = np.arange(3)
    stages = {"cond": np.ones((3, 2), np.float32)}
    write_trace(Trace(TraceHeader(60.0, "free"), frames, frames / 60.0, stages), folder / "s.trace.safetensors")
    content = (folder / "s.trace.safetensors").read_bytes()
    for size in range(len(content)):
        (folder / "t.trace.safetensors").write_bytes(content[:size])
        with pytest.raises(UnusableInput):
            read_trace(folder / "t.trace.safetensors")


# --- wrong ------------------------------------------------------------------------------------------------------------

BROKEN_LINES = {
    "frames that stand still": ([line(0), line(0)], "#/frame", "a number above 0"),
    "frames that run backwards": ([line(5), line(3)], "#/frame", "a number above 5"),
    "no frame number": ([{"time": 0, "stages": {}}], "#/frame", "a frame number"),
    "a frame number that is not an integer": ([line(0.5)], "#/frame", "a frame number"),
    "a frame that is true": ([line(True)], "#/frame", "a frame number"),
    "a row too short": ([line(0, stages={"cond": [1], "quat": [0, 0, 0, 1]})], "#/stages/cond", "2 numbers"),
    "a row too long": ([line(0), line(1, stages={"cond": [1, 2, 3], "quat": [0, 0, 0, 1]})], ":3#/stages/cond", "2 numbers"),
    "a stage missing in one frame": ([line(0), line(1, stages={"cond": [1, 2]})], ":3#/stages", "cond, quat"),
    "a stage that the header does not name": (
        [line(0, stages={"cond": [1, 2], "quat": [0, 0, 0, 1], "state": [1]})], "#/stages", "cond, quat"),
    "a word": ([line(0, stages={"cond": [1, "two"], "quat": [0, 0, 0, 1]})], "#/stages/cond/1", "a number"),
    "null": ([line(0, stages={"cond": [None, 2], "quat": [0, 0, 0, 1]})], "#/stages/cond/0", "a number"),
    "true": ([line(0, stages={"cond": [True, 2], "quat": [0, 0, 0, 1]})], "#/stages/cond/0", "a number"),
    "no row": ([line(0, stages={"cond": 7, "quat": [0, 0, 0, 1]})], "#/stages/cond", "2 numbers"),
    "no object": (["[1, 2]"], ":2", "frame"),
    "a broken line in the middle": ([line(0), '{"frame": 1, "ti', line(2)], ":3", "a JSON object"),
}  # fmt: skip


@every_case("case", BROKEN_LINES)
def test_wrong_frame_is_named_with_its_line(folder, case):
    """With 'could not parse' alone, an engine programmer must search 40 MB of numbers."""
    entries, place, expected = BROKEN_LINES[case]
    with pytest.raises(UnusableInput) as refusal:
        read_trace(written(folder, HEADER, *entries))
    assert place in refusal.value.place
    assert expected in refusal.value.expected


def with_header(**changes):
    return {name: value for name, value in (HEADER | changes).items() if value is not ...}


BROKEN_HEADERS = {
    "no header": line(0), "another format": with_header(format="rigpact"), "no format": with_header(format=...),
    "another version": with_header(version=2), "no version": with_header(version=...),
    "no stages": with_header(stages=...), "an empty set of stages": with_header(stages={}),
    "an unknown stage": with_header(stages={"hips": 3}), "a width of zero": with_header(stages={"cond": 0}),
    "a width that is not a number": with_header(stages={"cond": "2"}), "stages as a list": with_header(stages=["cond"]),
    "no fps": with_header(fps=...), "fps zero": with_header(fps=0), "fps as text": with_header(fps="60"),
    "another mode": with_header(mode="live"), "no mode": with_header(mode=...), "a list": [1], "a number": 3,
}  # fmt: skip


@every_case("case", BROKEN_HEADERS)
@every_case("format_of", ["jsonl", "safetensors"])
def test_wrong_header_is_refused(folder, case, format_of):
    """A trace of another contract must not be compared by luck."""
    if format_of == "jsonl":
        path = written(folder, BROKEN_HEADERS[case], line(0))
    else:
        path = with_metadata(folder, {"rigpact": json.dumps(BROKEN_HEADERS[case])})
    with pytest.raises(UnusableInput):
        read_trace(path)


@pytest.mark.parametrize(
    "name", ["e.trace.jsonl", "e.trace.jsonl.gz", "e.trace.jsonl.zst", "e.trace.bin", "e.trace.safetensors"]
)
def test_empty_missing_junk_and_directory_are_refused(folder, name):
    """One line, the place, no traceback."""
    path = folder / "kinds" / name
    path.parent.mkdir(exist_ok=True)
    with pytest.raises(UnusableInput, match="existing file"):
        read_trace(path)
    for content in (b"", b"\x00\xff\xfejunk" * 40, b"{}\n", b"[" * 5000):
        path.write_bytes(content)
        with pytest.raises(UnusableInput):
            read_trace(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(UnusableInput, match="directory"):
        read_trace(path)
    path.rmdir()


HOSTILE = {
    "a list in a row": lambda: [HEADER, line(0, stages={"cond": [[1], 2], "quat": [0, 0, 0, 1]})],
    "an object in a row": lambda: [HEADER, line(0, stages={"cond": [{}, 2], "quat": [0, 0, 0, 1]})],
    "a number of 400 digits": lambda: [HEADER, line(0, stages={"cond": [10**400, 2], "quat": [0, 0, 0, 1]})],
    "a time in words": lambda: [HEADER, line(0, time="soon")],
    "a time of null": lambda: [HEADER, line(0, time=None)],
    "a producer in words": lambda: [with_header(producer="UE5"), line(0)],
    "a contract in words": lambda: [with_header(contract="abc"), line(0)],
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_values_are_refused_in_words(folder, case):
    """Bad input gets one line and exit 2; a traceback is exit 3 and reads as our defect."""
    with pytest.raises(UnusableInput):
        read_trace(written(folder, *HOSTILE[case]()))


@pytest.mark.parametrize("version", [True, 1.0, "1", 2, None])
def test_another_version_is_not_taken_for_the_first(folder, version):
    """A reader that guesses a format reads numbers that were never written."""
    with pytest.raises(UnusableInput) as refusal:
        read_trace(written(folder, HEADER | {"version": version}, line(0)))
    assert refusal.value.place.endswith("#/version")
