"""Traces that are whole: every format gives back every bit, and reads what its description says; what a header must say."""

import gzip
import json
import math
import mmap
import struct
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.reference_runtime import Trace, TraceHeader, read_trace, write_trace
from rigpact.reference_runtime.recordings.opened import is_trace_name
from rigpact.reference_runtime.recordings.precision import words_to_precision
from rigpact.reference_runtime.recordings.trace import json_to_header, run_header

from ..every_case import every_case
from .trace_files import HEADER, binary, frame, lines, refused, sealed, tensors, text

NAMES = ("a.trace.jsonl", "a.trace.jsonl.gz", "a.trace.jsonl.zst", "a.trace.bin", "a.trace.safetensors")
SPECIAL = [1e-45, -1.1754942e-38, 3.4028235e38, math.inf, -math.inf, math.nan, -0.0, 0.1, 16777217.0]
LARGEST = float(np.finfo(np.float32).max)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("traces")


def made(rows, frames=None, **header):
    numbers = np.arange(len(rows)) if frames is None else np.array(frames)
    stages = {"cond": np.array(rows, np.float32), "quat": np.ones((len(rows), 2), np.float32)}
    return Trace(TraceHeader(**{"fps": 60.0, "mode": "free", **header}), numbers, numbers / 60.0, stages)


def bits_or_nan(rows):
    """The bits of each float32; every NaN as one value, for text has no payload."""
    rows = np.array(rows, np.float32)
    return np.where(np.isnan(rows), np.uint32(0x7FC00000), rows.view(np.uint32)).tolist()


@pytest.mark.parametrize("name", NAMES)
@given(values=st.lists(st.floats(width=32), min_size=1, max_size=12))
@example(values=SPECIAL)
def test_numbers_come_back_to_the_last_bit(folder, name, values):
    """If the trace itself rounds, a rounding error of the engine cannot be found."""
    write_trace(made([values, values[::-1]]), folder / name)
    assert bits_or_nan(read_trace(folder / name).stages["cond"]) == bits_or_nan([values, values[::-1]])


@pytest.mark.parametrize("name", NAMES[3:])
def test_the_payload_of_a_nan_is_kept(folder, name):
    """The bits of a NaN can show which instruction made it."""
    bits = np.array([[0x7FC00001, 0xFFC12345, 0x7F800001]], np.uint32)
    write_trace(made(bits.view(np.float32)), folder / name)
    assert read_trace(folder / name).stages["cond"].view(np.uint32).tolist() == bits.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_header_frames_and_times_come_back_and_bytes_are_the_same_twice(folder, name):
    """A trace that starts at frame 1200 keeps its numbers; a cache and a code review both compare bytes."""
    said = {"fps": 29.97, "mode": "teacher", "clip": "Lauf_ß_歩", "bundle_sha256": "ab" * 32, "producer": "UE"}
    trace, contents = made([[1, 2, 3], [4, 5, 6]], [1200, 1207], **said, producer_version="5"), []
    for _ in range(2):
        write_trace(trace, folder / name)
        contents.append((folder / name).read_bytes())
    back = read_trace(folder / name)
    assert (back.header, back.frame.tolist(), back.time_s.tolist()) == (
        trace.header,
        [1200, 1207],
        trace.time_s.tolist(),
    )
    assert (back.widths, back.truncation) == ({"cond": 3, "quat": 2}, None)
    assert contents[0] == contents[1]
    assert not name.endswith("gz") or contents[0][4:8] == bytes(4)  # the time stamp of RFC 1952


@pytest.mark.parametrize("name", NAMES[:3])
def test_lines_are_the_published_format(folder, name):
    """The engine team writes this by hand in C++: names and nesting are public, and bare NaN is not JSON."""
    write_trace(made([[math.nan, math.inf, -math.inf]], clip="Walk_F"), folder / name)
    content = (folder / name).read_bytes()
    packed = {"gz": gzip.decompress, "zst": lambda each: zstandard.ZstdDecompressor().decompressobj().decompress(each)}
    header, row = packed.get(name.rpartition(".")[2], bytes)(content).decode().splitlines()
    assert json.loads(header) | {"producer": None} == HEADER | {
        "clip": "Walk_F", "stages": {"cond": 3, "quat": 2}, "producer": None, "contract": {"bundle_sha256": None},
    }  # fmt: skip
    assert set(json.loads(header)["producer"]) == {"name", "version"}
    stages = {"cond": ["NaN", "Infinity", "-Infinity"], "quat": [1, 1]}
    assert json.loads(row, parse_constant=pytest.fail) == {"frame": 0, "time": 0.0, "stages": stages}


def test_a_binary_trace_has_the_bytes_of_the_description(folder):
    """The page on the format is all that another engine has."""
    write_trace(made([[0, 1, 2]] * 3), folder / "w.trace.bin")
    content = (folder / "w.trace.bin").read_bytes()
    size = struct.unpack("<I", content[8:12])[0]
    assert json.loads(content[16 : 16 + size])["stages"] == {"cond": 3, "quat": 2}
    assert content[16 + size :] == b"".join(sealed(struct.pack("<qd5f", k, k / 60, 0, 1, 2, 1, 1)) for k in range(3))


def packed(*parts):
    return b"".join(map(zstandard.ZstdCompressor().compress, parts))


THREE = [HEADER, frame(0), frame(1), frame(2)]
ALL, TWO = text(*THREE), text(*THREE[:3])
SKIPPED = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"any"
"""A frame of zstandard that holds no text: RFC 8878, section 3.1.2."""
MEMBERS = [text(each) for each in (HEADER, *map(frame, range(3000)))]
CUT = "cut off in line {}, after {} whole frames"
CUT_FRAME = "cut off in frame {} of the file, after {} whole frames"
FILES = {
    "lines": (".jsonl", ALL, 3, None), "empty lines": (".jsonl", text(*THREE, end="\n\n"), 3, None),
    "of Windows": (".jsonl", text(*THREE, end="\r\n"), 3, None), "a byte order": (".jsonl", b"\xef\xbb\xbf" + ALL, 3, None),
    "of a Windows shell": (".jsonl", ALL.decode().encode("utf-16"), 3, None), "no last end": (".jsonl", ALL[:-1], 3, None),
    "no last brace": (".jsonl", ALL[:-2], 2, CUT.format(4, 2)), "a torn line": (".jsonl", ALL[:-30], 2, CUT.format(4, 2)),
    "gzip": (".jsonl.gz", gzip.compress(ALL), 3, None), "zstandard": (".jsonl.zst", packed(ALL), 3, None),
    "members": (".jsonl.gz", b"".join(map(gzip.compress, MEMBERS)), 3000, None),
    "frames of zstandard": (".jsonl.zst", packed(*MEMBERS), 3000, None),
    "a frame that is passed over": (".jsonl.zst", packed(TWO) + SKIPPED + packed(text(frame(2))) + SKIPPED, 3, None),
    "a member that was begun": (".jsonl.zst", packed(TWO) + packed(b"x\n")[:3], 2, CUT.format(4, 2)),
    **{f"a checksum without {k}": (".jsonl.gz", gzip.compress(ALL)[:-k], 3, CUT.format(5, 3)) for k in (1, 4, 8)},
    "binary": (".bin", binary(0, 1, 2), 3, None), "a torn frame": (".bin", binary(0, 1, 2)[:-1], 2, CUT_FRAME.format(3, 2)),
    "what the disk never got": (".bin", binary(0, 1, 2)[:-40] + bytes(40), 2, CUT_FRAME.format(3, 2)),
    "tensors": (".safetensors", tensors(), 2, None),
}  # fmt: skip


@every_case("case", FILES)
def test_a_file_has_the_frames_that_were_written(tmp_path, case):
    """A frame lost, doubled or moved looks like a drift of the character; a run that ends early and silently, like a pass."""
    ending, content, count, truncation = FILES[case]
    (tmp_path / f"t.trace{ending}").write_bytes(content)
    trace = read_trace(tmp_path / f"t.trace{ending}")
    numbers = np.arange(count)
    assert (trace.frame.tolist(), trace.truncation) == (numbers.tolist(), truncation)
    np.testing.assert_array_equal(trace.time_s, numbers / 60)
    np.testing.assert_array_equal(trace.stages["cond"], np.stack((numbers, -numbers), axis=1))
    np.testing.assert_array_equal(trace.stages["quat"], [[0, 0, 0, 1]] * count)
    assert {rows.dtype for rows in trace.stages.values()} == {np.dtype(np.float32)}


C_TOKENS = {
    math.nan: ["nan", "NaN", "-nan", "-nan(ind)", "nan(0x8000000000000)", "nan(snan)", "1.#QNAN", "-1.#IND00", '"NaN"'],
    math.inf: ["inf", "+inf", "INF", "infinity", "Infinity", "+Infinity", "1.#INF", '"Infinity"', "1e39"],
    -math.inf: ["-inf", "-Infinity", "-1.#INF00", '"-Infinity"', "-1e999"],
}  # fmt: skip


@every_case(("value", "token"), [(value, token) for value, tokens in C_TOKENS.items() for token in tokens])
def test_tokens_that_c_prints_are_read(tmp_path, value, token):
    """The trace of a run with non-finite values must load, because it is needed for the search; a clip may be called 'inf'."""
    row = '{{"frame":{},"time":0,"stages":{{"cond":[{}],"quat":[0,{} ,1,2]}}}}'.format
    rows = [row(0, f"{token},1", token), row(1, f"1,{token}", token)]
    trace = read_trace(lines(tmp_path / "c.trace.jsonl", HEADER | {"clip": "nan, inf"}, *rows))
    np.testing.assert_array_equal(trace.stages["cond"], [[value, 1], [1, value]])
    np.testing.assert_array_equal(trace.stages["quat"], [[0, value, 1, 2]] * 2)
    assert trace.header.clip == "nan, inf"


def test_safetensors_are_mapped_not_read(folder):
    """A ten-minute trace of every stage is two gigabytes: looking at one frame must not load it."""
    write_trace(made([[1, 2, 3]] * 4), folder / "m.trace.safetensors")
    trace = read_trace(folder / "m.trace.safetensors")
    for rows in (trace.frame, trace.time_s, *trace.stages.values()):
        owner = rows
        while isinstance(owner, np.ndarray):
            owner = owner.base
        assert isinstance(owner.obj, mmap.mmap)
        assert not rows.flags.writeable


@every_case("name", ["a.json", "a.trace", "trace.jsonl", "a.trace.jsonl.bz2", "a.safetensors"])
def test_other_names_are_refused(folder, name):
    """Guessing the format from the content would read a bundle as a trace."""
    assert not is_trace_name(name)
    for ask in (lambda: write_trace(made([[1, 2, 3]]), folder / name), lambda: read_trace(folder / name)):
        assert refused(ask)[2].startswith("a name ending in")


# --- headers ----------------------------------------------------------------------------------------------------------

WRONG = {
    "fps": [0, -1, LARGEST, True, 1 << 1000, "60", None, ...], "version": [2, 0, 1.0, True, "1", None, ...],
    "mode": ["live", ...], "stages": [{}, [], None, ["cond"], {"hips": 3}, ...], "bones": [[], ["a", 1], [True], "x" * 100],
    "stages/cond": [{"cond": 0}, {"cond": True}, {"cond": "2"}], "stages/x_raw": [{"x_raw": -1}, {"x_raw": (1 << 24) + 1}],
    "bones/2": [[1, 2, 1]], "clip": [3], "system": [3], "producer": ["me"], "contract": [[], "abc"],
    "contract/bundle_sha256": [{"bundle_sha256": 3}],
}  # fmt: skip


@every_case(("place", "value"), [(place, value) for place, values in WRONG.items() for value in values])
@pytest.mark.filterwarnings("error")
def test_a_header_that_no_recorder_writes_is_refused_at_its_field(place, value):
    """A frame rate of nothing, a bone that stands twice: whatever is computed from them is nonsense."""
    entry = {k: v for k, v in (HEADER | {place.partition("/")[0]: value}).items() if v is not ...}
    assert refused(json_to_header, entry, "here")[0].endswith(f"/{place}")


@every_case("entry", [HEADER | {"format": "x"}, {}, [HEADER], "rigpact-trace", None, 3])
def test_what_is_no_header_is_called_so(entry):
    """Somebody's log has the same ending."""
    assert refused(json_to_header, entry, "here")[:2] == ("here", "no trace header")


@every_case("changed", [{"fps": 1e-3}, {"fps": 1}, {"fps": LARGEST / 2}, {"stages": {"x_raw": 1 << 24}}])
def test_a_header_at_its_limits_is_read_and_says_no_more_than_it_holds(changed):
    """A time lapse has fewer than one frame a second; nobody may be named as the recorder who is not."""
    header, widths = json_to_header(HEADER | changed, "here")
    assert (header.fps, widths) == (changed.get("fps", 60.0), changed.get("stages", HEADER["stages"]))
    assert (header.producer, header.producer_version, header.clip, header.system) == ("unknown", "unknown", None, None)
    assert (header.bones, header.says_mode, header.bundle_sha256) == (None, True, None)


def test_a_header_is_written_as_it_is_read():
    """What is unknown is left out, or null where the format has always had it."""
    short = HEADER | {"producer": {"name": "UE", "version": "5.4"}, "contract": {"bundle_sha256": None}, "clip": None}
    hashes = {f"{name}_sha256": name[0] * 64 for name in ("bundle", "companion", "meaning", "conventions", "model")}
    long = short | {"contract": hashes, "clip": "Walk", "system": "enemy_animation", "bones": ["hip", "knee"]}
    for entry in (short, long):
        header, widths = json_to_header(entry, "here")
        assert header.to_json(widths) == entry


@every_case(
    ("network", "model"),
    [(None, None), (SimpleNamespace(signature=SimpleNamespace(sha256="n")), "n"), (SimpleNamespace(), None)],
)
def test_the_header_of_a_run_says_what_it_was_made_with(network, model):
    """A recording that another contract made is found by these."""
    hashes = MappingProxyType({f"{name}_sha256": name for name in ("bundle", "companion", "meaning", "conventions")})
    contract = SimpleNamespace(system=SimpleNamespace(name="rig"), hashes=hashes)
    header = run_header(contract, 30.0, "free", "Walk", network)
    said = (header.producer, header.fps, header.mode, header.clip, header.system)
    assert said == ("rigpact", 30.0, "free", "Walk", "rig")
    found = {name: getattr(header, f"{name}_sha256") for name in (*map(str, hashes.values()), "model")}
    assert found == {name: name for name in hashes.values()} | {"model": model}


def test_how_finely_numbers_are_written_is_declared_else_of_the_text_else_of_the_numbers():
    """A tolerance is as wide as the last digit that was written."""
    hundredths = np.round(np.random.default_rng(3).uniform(-9.0, 9.0, (64, 5)), 2)
    of_text, numbers = words_to_precision("3 decimals"), np.arange(64)
    for said, words in (
        ({}, "2"),
        ({"of_text": of_text}, "3"),
        ({"of_text": of_text, "resolution": "4 decimals"}, "4"),
    ):
        rows = {"q": hundredths.astype(np.float32)}
        held = Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, rows, mapping="the file", **said)
        assert held.precision == words_to_precision(f"{words} decimals")
        assert (held.widths, "the file" in repr(held)) == ({"q": 5}, False)


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system has no madvise")
def test_the_memory_of_a_mapped_file_is_given_back():
    """A long recording would fill the memory; one without a mapping, and one on Windows, has nothing to give back."""
    asked, numbers = [], np.arange(2)
    for mapping in (SimpleNamespace(madvise=asked.append), None, object()):
        Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {}, mapping=mapping).release()
    assert asked == [mmap.MADV_DONTNEED]


@every_case(
    ("written", "system", "widths"),
    [
        ("rig-inversion", "rig_inversion", {"mesh": 24, "vertex_error": 8}), (" Rig_Inversion ", "rig_inversion", {"mesh": 24}),
        ("imu_pose", "imu_pose", {"imu": 6, "exercise_logits": 40}), ("My-Rig", "My-Rig", {"whatever": 3}),
        ("enemy_animation", "enemy_animation", {"x_raw": 5}), (None, None, {"x_raw": 5, "quat": 12}),
    ],
)  # fmt: skip
def test_a_system_has_its_stages_and_a_declared_one_has_its_own(written, system, widths):
    """How many classes a character has is its contract's matter, and so is all of a contract that somebody declares."""
    header, found = json_to_header(HEADER | {"system": written, "stages": widths}, "here")
    assert (header.system, found) == (system, widths)


@every_case(
    ("system", "widths", "place", "found", "expected"),
    [
        ("rig-inversion", {"mesh": 24, "vertex_error": 9}, "/vertex_error", "9 numbers", "8"),
        ("rig_inversion", {"x_raw": 33}, "", "the stage 'x_raw'", "one of mesh, model_input, rig_parameters"),
        ("imu_pose", {"imu": 7, "exercise_logits": 40}, "/imu", "7 numbers", "6"),
        (None, {"x_raw": 5, "mesh": 24}, "", "the stage 'mesh'", "one of x_raw, state, cond_raw"),
        ("My-Rig", {"whatever": 0}, "/whatever", "0", "the stage's width"),
    ],
)
def test_a_stage_that_a_system_does_not_have_is_refused(system, widths, place, found, expected):
    """Frames of another system under this one's name: whatever is said of them is wrong."""
    entry = HEADER | {"system": system, "stages": widths}
    said = refused(json_to_header, entry, "here")
    assert (*said[:2], said[2].startswith(expected)) == (f"here#/stages{place}", found, True)
