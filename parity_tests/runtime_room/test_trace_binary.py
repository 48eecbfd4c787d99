"""Binary traces: torn at the end they are read up to the last whole frame; damaged anywhere else they are refused."""

import json
import math
import struct
import zlib

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import (
    ReplayNetwork,
    Trace,
    TraceHeader,
    open_run,
    read_trace,
    run_frames,
    write_trace,
)
from rigpact.reference_runtime.recordings.trace_binary import write_binary
from rigpact.reports.command_line import run_command_line

from . import tiny_character as tiny

HEADER = {"format": "rigpact-trace", "version": 1, "fps": 60, "mode": "free", "stages": {"cond": 7, "contacts": 2}}
MAGIC = b"\x89RPT\r\n\x1a\n"
FRAME_BYTES = 8 + 8 + 8 + 7 * 4 + 2 * 8


def sealed(body):
    return struct.pack("<II", len(body), zlib.crc32(body)) + body


def frame(number, time_s=None):
    """A frame as docs/trace-format.md defines it; contacts are float64."""
    clock = struct.pack("<qd", number, number / 60 if time_s is None else time_s)
    return sealed(clock + struct.pack("<7f", *range(7)) + struct.pack("<2d", number, -number))


def head(**changed):
    return MAGIC + sealed(json.dumps(HEADER | {"float64": ["contacts"]} | changed).encode())


@pytest.fixture
def content():
    return head() + b"".join(frame(number) for number in range(5))


def read(tmp_path, content):
    path = tmp_path / "t.trace.bin"
    path.write_bytes(content)
    return read_trace(path)


def test_a_file_written_from_the_description_is_read(tmp_path, content):
    """The page on the format is all that another engine has."""
    trace = read(tmp_path, content)
    assert (trace.header.fps, trace.header.mode, trace.truncation) == (60.0, "free", None)
    assert trace.frame.tolist() == list(range(5))
    np.testing.assert_array_equal(trace.time_s, np.arange(5) / 60)
    np.testing.assert_array_equal(trace.stages["cond"], np.tile(np.arange(7, dtype=np.float32), (5, 1)))
    np.testing.assert_array_equal(trace.stages["contacts"], [[k, -k] for k in range(5)])
    assert {rows.dtype for rows in trace.stages.values()} == {np.dtype(np.float32)}


def test_what_is_written_has_the_bytes_of_the_description(tmp_path):
    """Two writers of one format must not drift apart."""
    numbers = np.arange(3)
    stages = {"cond": np.tile(np.arange(7, dtype=np.float32), (3, 1)), "contacts": np.ones((3, 2), np.float32)}
    path = tmp_path / "w.trace.bin"
    write_trace(Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, stages), path)
    content = path.read_bytes()
    size = struct.unpack("<I", content[8:12])[0]
    assert json.loads(content[16 : 16 + size])["stages"] == {"cond": 7, "contacts": 2}
    second = struct.pack("<qd", 1, 1 / 60) + struct.pack("<9f", *range(7), 1, 1)
    assert content[16 + size :][len(second) + 8 : 2 * (len(second) + 8)] == sealed(second)


def test_a_file_cut_at_any_byte_is_read_up_to_its_last_whole_frame(tmp_path, content):
    """A crash tears at most the frame that was being written, and nobody may take half of it for a pose."""
    start = len(head())
    for size in range(1, len(content)):
        frames, rest = divmod(max(size - start, 0), FRAME_BYTES)
        if frames == 0:
            with pytest.raises(UnusableInput):
                read(tmp_path, content[:size])
            continue
        trace = read(tmp_path, content[:size])
        assert trace.frame.tolist() == list(range(frames)), size
        expected = f"cut off in frame {frames + 1} of the file, after {frames} whole frames" if rest else None
        assert trace.truncation == expected


def test_a_last_frame_that_the_disk_never_got_is_dropped_and_said(tmp_path, content):
    """After a power cut the file may have its length and zeros for its last block."""
    trace = read(tmp_path, content[:-40] + bytes(40))
    assert trace.frame.tolist() == list(range(4))
    assert trace.truncation == "cut off in frame 5 of the file, after 4 whole frames"


def test_any_changed_byte_before_the_last_frame_is_refused(tmp_path, content):
    """A copy over a bad line changes a number by one bit, and an engineer looks for a cause for days."""
    for place in range(len(content) - FRAME_BYTES):
        damaged = bytearray(content)
        damaged[place] ^= 0x20
        with pytest.raises(UnusableInput):
            read(tmp_path, bytes(damaged))
    with pytest.raises(UnusableInput, match="frame 3 of the file does not match its checksum, and more follows"):
        read(
            tmp_path,
            content[: len(head()) + 2 * FRAME_BYTES + 30] + b"?" + content[len(head()) + 2 * FRAME_BYTES + 31 :],
        )


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([frame(0), frame(0)], "a number above 0"),
        ([frame(3), frame(2)], "a number above 3"),
        ([frame(0, float("nan"))], "seconds"),
        ([], "whole frame"),
    ],
)
def test_frames_that_no_recorder_writes_are_refused(tmp_path, frames, words):
    """A whole checksum says nothing about order."""
    with pytest.raises(UnusableInput, match=words):
        read(tmp_path, head() + b"".join(frames))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": 2}, "update rigpact"),
        ({"float64": ["pose"]}, "recorded stages"),
        ({"float64": 3}, "recorded stages"),
        ({"stages": {"cond": 1 << 24, **{f"s{k}": 1 << 24 for k in range(60)}}, "system": "studio"}, "recorded stages"),
        ({"stages": {f"s{k}": 1 << 24 for k in range(60)}, "system": "studio", "float64": []}, "whole frame"),
    ],
)
def test_a_header_that_cannot_be_is_refused(tmp_path, changed, words):
    """A size of a damaged or foreign header must not ask for sixty gigabytes of memory."""
    with pytest.raises(UnusableInput, match=words):
        read(tmp_path, head(**changed) + frame(0))


def test_a_torn_recording_is_said_by_diff_and_explain(tmp_path, capfd):
    """The commands take the file as any other trace; what is missing stands in the answer."""
    contract = tiny.contract(tmp_path)
    outputs = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * number) for number in range(8)], np.float32)
    trace = run_frames(
        open_run(contract, ReplayNetwork(outputs), tiny.clip(tmp_path), "teacher"), range(6), "W", "teacher"
    )
    whole, torn = tmp_path / "a.trace.bin", tmp_path / "b.trace.bin"
    write_trace(trace, whole)
    torn.write_bytes(whole.read_bytes()[:-9])
    words = "cut off in frame 6 of the file, after 5 whole frames"

    assert run_command_line(["diff", str(whole), str(torn), "--contract", str(contract.path)]) == 1
    said = " ".join(capfd.readouterr().out.split())
    assert ("RP808" in said, words in said) == (True, True)
    unjudged = [word for stage in ("x_raw", "cond_raw", "contacts", "y_norm") for word in ("--allow-unjudged", stage)]
    assert run_command_line(["explain", str(torn), "--contract", str(contract.path), *unjudged]) == 0
    assert f"the recording is incomplete: {words}" in " ".join(capfd.readouterr().out.split())
    assert run_command_line(["diff", str(whole), str(whole), "--contract", str(contract.path)]) == 0


# --- cut off ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 300, 1 << 24])
def test_a_header_that_is_not_all_there_was_cut_off(tmp_path, size):
    """The recorder has said how long it will be."""
    path = tmp_path / "t.trace.bin"
    path.write_bytes(MAGIC + struct.pack("<II", size, 0))
    with pytest.raises(UnusableInput, match="a header that was cut off"):
        read_trace(path)


@pytest.mark.parametrize("held", [MAGIC, MAGIC + bytes(7), MAGIC + bytes(8), head()[:20]])
def test_a_header_that_was_cut_off_is_called_so(tmp_path, held):
    """Not a checksum that does not match: nothing was changed, and the rest is missing."""
    with pytest.raises(UnusableInput, match="a header that was cut off"):
        read(tmp_path, held)


def test_one_time_that_is_not_finite_is_refused_at_its_frame(tmp_path, content):
    """A clock that ran over: the frames before it have a time."""
    with pytest.raises(UnusableInput) as refused:
        read(tmp_path, head() + frame(0) + frame(1, math.inf) + frame(2))
    assert (refused.value.place.rpartition("#")[2], refused.value.found) == ("/frames/1/time", "inf")


def test_of_a_long_list_of_stages_its_beginning_is_shown(tmp_path):
    """A page of base64 must not fill the terminal."""
    with pytest.raises(UnusableInput) as refused:
        read(tmp_path, head(float64="x" * 100) + frame(0))
    assert (refused.value.place.rpartition("#")[2], refused.value.found) == ("/float64", "'" + "x" * 59)


def test_a_frame_that_stands_twice_is_refused_at_its_place(tmp_path):
    """A copied frame hides one that was lost."""
    path, numbers = tmp_path / "t.trace.bin", np.array([3, 4, 4])
    stages = {"contacts": np.zeros((3, 2), np.float32)}
    write_binary(Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, stages), path)
    with pytest.raises(UnusableInput, match=r"#/frames/2: found 4, expected a number above 4"):
        read_trace(path)
