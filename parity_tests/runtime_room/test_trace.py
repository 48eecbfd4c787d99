"""Trace files that are whole: all formats and both compressions give back every bit."""

import gzip
import json
import math
import mmap

import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings.opened import is_trace_name

NAMES = ("a.trace.jsonl", "a.trace.jsonl.gz", "a.trace.jsonl.zst", "a.trace.bin", "a.trace.safetensors")
TEXT_NAMES = NAMES[:3]
HEADER = {
    "format": "rigpact-trace", "version": 1, "producer": {"name": "engine", "version": "5.4"},
    "contract": {"bundle_sha256": None}, "fps": 60, "mode": "free", "clip": "Walk_F", "stages": {"cond": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trace")


def made(rows, frames=None, **header):
    frame = np.arange(len(rows), dtype=np.int64) if frames is None else np.array(frames, np.int64)
    stages = {"cond": np.array(rows, np.float32), "quat": np.ones((len(rows), 2), np.float32)}
    return Trace(TraceHeader(**{"fps": 60.0, "mode": "free", **header}), frame, frame / 60.0, stages)


def write_lines(path, text):
    content = text.encode()
    if path.name.endswith(".gz"):
        content = gzip.compress(content)
    if path.name.endswith(".zst"):
        content = zstandard.ZstdCompressor().compress(content)
    path.write_bytes(content)
    return path


def bits_or_nan(rows):
    """The bits of each float32; every NaN as one value, for text has no payload."""
    rows = np.array(rows, np.float32)
    return np.where(np.isnan(rows), np.uint32(0x7FC00000), rows.view(np.uint32)).tolist()


floats = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)
SPECIAL = [1e-45, -1.1754942e-38, 3.4028235e38, math.inf, -math.inf, math.nan, -0.0, 0.1, 16777217.0]


@pytest.mark.parametrize("name", NAMES)
@given(values=st.lists(floats, min_size=1, max_size=12))
@example(values=SPECIAL)
@example(values=[1.0])
def test_numbers_come_back_to_the_last_bit(folder, name, values):
    """If the trace itself rounds, a rounding error of the engine cannot be found."""
    rows = [values, values[::-1]]
    write_trace(made(rows), folder / name)
    assert bits_or_nan(read_trace(folder / name).stages["cond"]) == bits_or_nan(rows)


def test_safetensors_keep_the_payload_of_a_nan(folder):
    """The bits of a NaN can show which instruction made it."""
    bits = np.array([[0x7FC00001, 0xFFC12345, 0x7F800001]], np.uint32)
    trace = Trace(TraceHeader(60.0, "free"), np.arange(1), np.zeros(1), {"cond": bits.view(np.float32)})
    write_trace(trace, folder / "nan.trace.safetensors")
    assert read_trace(folder / "nan.trace.safetensors").stages["cond"].view(np.uint32).tolist() == bits.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_header_frames_and_times_come_back(folder, name):
    """A trace that starts at frame 1200 of a play session keeps its numbers."""
    header = {
        "fps": 29.97, "mode": "teacher", "clip": "Lauf_ß_歩", "bundle_sha256": "ab" * 32, "producer": "UE",
        "producer_version": "5",
    }  # fmt: skip
    trace = made([[1, 2, 3], [4, 5, 6]], frames=[1200, 1207], **header)
    write_trace(trace, folder / name)
    back = read_trace(folder / name)
    assert back.header == trace.header
    assert back.frame.tolist() == [1200, 1207]
    assert back.time_s.tolist() == trace.time_s.tolist()
    assert back.widths == {"cond": 3, "quat": 2}
    assert back.truncation is None


def test_header_line_is_the_published_format(folder):
    """The engine team writes this by hand in C++: names and nesting are public."""
    write_trace(made([[1, 2, 3]], clip="Walk_F"), folder / "p.trace.jsonl")
    first, second = (folder / "p.trace.jsonl").read_text().splitlines()
    header = json.loads(first)
    assert {name: header[name] for name in ("format", "version", "fps", "mode", "clip", "stages")} == {
        "format": "rigpact-trace", "version": 1, "fps": 60.0, "mode": "free", "clip": "Walk_F",
        "stages": {"cond": 3, "quat": 2},
    }  # fmt: skip
    assert set(header["producer"]) == {"name", "version"}
    assert header["contract"] == {"bundle_sha256": None}
    assert json.loads(second) == {"frame": 0, "time": 0.0, "stages": {"cond": [1, 2, 3], "quat": [1, 1]}}


def test_non_finite_numbers_are_the_three_strings(folder):
    """Bare NaN is not JSON: a C++ reader would stop at the first frame that matters."""
    write_trace(made([[math.nan, math.inf, -math.inf]]), folder / "n.trace.jsonl")
    line = json.loads((folder / "n.trace.jsonl").read_text().splitlines()[1], parse_constant=pytest.fail)
    assert line["stages"]["cond"] == ["NaN", "Infinity", "-Infinity"]


C_TOKENS = [
    ("nan", math.nan), ("NaN", math.nan), ("-nan", math.nan), ("-nan(ind)", math.nan), ("nan(0x8000000000000)", math.nan),
    ("nan(snan)", math.nan), ("1.#QNAN", math.nan), ("-1.#IND", math.nan), ("-1.#IND00", math.nan), ("1.#SNAN", math.nan),
    ("inf", math.inf), ("+inf", math.inf), ("-inf", -math.inf), ("INF", math.inf), ("infinity", math.inf),
    ("-Infinity", -math.inf), ("Infinity", math.inf), ("1.#INF", math.inf), ("-1.#INF00", -math.inf),
    ('"NaN"', math.nan), ('"Infinity"', math.inf), ('"-Infinity"', -math.inf), ("1e39", math.inf), ("-1e999", -math.inf),
]  # fmt: skip


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_tokens_that_c_prints_are_read(folder, name):
    """The trace of a run with non-finite values must load, because it is needed for the search."""
    for place in range(3):
        lines = []
        for frame, (token, _) in enumerate(C_TOKENS):
            numbers = ["0.5", "-2", "1e-3"]
            numbers[place] = token
            lines.append(f'{{"frame":{frame},"time":0,"stages":{{"cond":[{", ".join(numbers)}]}}}}')
        path = write_lines(folder / name, "\n".join([json.dumps(HEADER), *lines]) + "\n")
        got = read_trace(path).stages["cond"]
        assert bits_or_nan(got[:, place]) == bits_or_nan([value for _, value in C_TOKENS])
        assert bits_or_nan(np.delete(got, place, 1)) == bits_or_nan(
            np.tile(np.delete(np.float32([0.5, -2, 1e-3]), place), (len(C_TOKENS), 1))
        )


def test_words_in_the_header_are_not_mistaken_for_numbers(folder):
    """A clip may be called 'inf'."""
    text = json.dumps({**HEADER, "clip": "nan, inf"}) + '\n{"frame":0,"time":0,"stages":{"cond":[nan,1,2]}}\n'
    assert read_trace(write_lines(folder / "w.trace.jsonl", text)).header.clip == "nan, inf"


@pytest.mark.parametrize("name", TEXT_NAMES)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings_and_blank_lines_do_not_matter(folder, name, ending):
    """The recorder may run on Windows."""
    lines = [json.dumps(HEADER), "", *(f'{{"frame":{k},"time":0,"stages":{{"cond":[1,2,3]}}}}' for k in (4, 9)), ""]
    trace = read_trace(write_lines(folder / name, ending.join(lines)))
    assert trace.frame.tolist() == [4, 9]
    assert trace.truncation is None


@pytest.mark.parametrize("count", [2, 3000])
@pytest.mark.parametrize("name", TEXT_NAMES[1:])
def test_compressed_members_one_after_the_other_are_one_trace(folder, name, count):
    """A recorder that flushes a member a second must not lose all seconds but the first."""
    compress = gzip.compress if name.endswith(".gz") else zstandard.ZstdCompressor().compress
    lines = [f'{{"frame":{k},"time":0,"stages":{{"cond":[{k},2.5,{k}.125]}}}}\n'.encode() for k in range(count)]
    parts = [json.dumps(HEADER).encode() + b"\n", b"".join(lines[: count // 2]), b"".join(lines[count // 2 :])]
    (folder / name).write_bytes(b"".join(map(compress, parts)))
    assert read_trace(folder / name).frame.tolist() == list(range(count))


def test_safetensors_are_mapped_not_read(folder):
    """A ten-minute trace of every stage is two gigabytes: looking at one frame must not load it."""
    write_trace(made([[1, 2, 3]] * 4), folder / "m.trace.safetensors")
    trace = read_trace(folder / "m.trace.safetensors")
    for rows in (trace.frame, trace.time_s, *trace.stages.values()):
        owner = rows
        while isinstance(owner, np.ndarray):
            owner = owner.base
        assert isinstance(owner, memoryview)
        assert isinstance(owner.obj, mmap.mmap)
        assert not rows.flags.writeable


class UnreadableAfterOneFrame:
    """A stage whose second row cannot be had: the disk under a mapped recording went away."""

    shape = (3, 3)

    def __getitem__(self, row):
        if row:
            raise OSError(5, "Input/output error")
        return np.ones(3, np.float32)

    def __array__(self, *_args, **_kwargs):
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fails", ["while writing", "while renaming"])
def test_failed_write_leaves_the_old_file(folder, name, fails, monkeypatch):
    """A full disk during the nightly run must not cost the reference trace."""
    path = folder / name
    write_trace(made([[1, 2, 3]]), path)
    before = path.read_bytes()
    following = made([[1, 2, 3]] * 3)
    if fails == "while writing":
        following.stages["cond"] = UnreadableAfterOneFrame()
    else:
        monkeypatch.setattr("pathlib.Path.replace", lambda *_: UnreadableAfterOneFrame()[1])
    with pytest.raises((UnusableInput, OSError), match="Input/output"):
        write_trace(following, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in folder.iterdir() if entry.name.endswith(".part")] == []


def test_same_trace_is_written_to_the_same_bytes(folder):
    """A cache and a code review both compare bytes: no time stamp belongs in a gz."""
    for name in NAMES:
        contents = []
        for _ in range(2):
            write_trace(made([SPECIAL, SPECIAL]), folder / name)
            contents.append((folder / name).read_bytes())
        assert contents[0] == contents[1]
    write_trace(made([SPECIAL]), folder / "t.trace.jsonl.gz")
    assert (folder / "t.trace.jsonl.gz").read_bytes()[4:8] == bytes(4)  # the time stamp of RFC 1952


@pytest.mark.parametrize("name", ["a.json", "a.trace", "trace.jsonl", "a.trace.jsonl.bz2", "a.safetensors"])
def test_other_names_are_refused(folder, name):
    """Guessing the format from the content would read a bundle as a trace."""
    assert not is_trace_name(name)
    with pytest.raises(UnusableInput, match="a name ending in"):
        write_trace(made([[1, 2, 3]]), folder / name)
    with pytest.raises(UnusableInput, match="a name ending in"):
        read_trace(folder / name)
