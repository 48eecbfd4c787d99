"""The header of a trace: what it must say, what it may leave out, and which stages a system has. Written here by hand."""

import mmap
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import TraceHeader, read_trace
from rigpact.reference_runtime.recordings.precision import words_to_precision
from rigpact.reference_runtime.recordings.trace_model import Trace, is_number, json_to_header, run_header

from ..every_case import every_case
from .json_lines_by_hand import HEADER, frame, lines

LARGEST = float(np.finfo(np.float32).max)


@every_case(
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


def test_of_a_long_field_its_beginning_is_shown():
    """A page of base64 must not fill the terminal."""
    with pytest.raises(UnusableInput) as refused:
        json_to_header(HEADER | {"bones": "x" * 100}, "here")
    assert (refused.value.place, refused.value.found) == ("here#/bones", "'" + "x" * 59)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, True),
        (-1.5, True),
        (2**1000 - 1, True),
        (1 - 2**1000, True),
        (2**1000, False),
        (-(2**1000), False),
        (True, False),
    ],
)
def test_whole_numbers_that_no_float_could_hold_are_no_numbers(value, expected):
    """Half of them would become infinite, and none is a coordinate."""
    assert is_number(value) is expected


@pytest.mark.parametrize("entry", [HEADER | {"format": "x"}, {}, [HEADER], "rigpact-trace", None])
def test_what_is_no_header_is_called_so(entry):
    """Somebody's log has the same ending."""
    with pytest.raises(UnusableInput) as refused:
        json_to_header(entry, "here")
    assert (refused.value.place, refused.value.found) == ("here", "no trace header")


@pytest.mark.parametrize(("stages", "found"), [({}, "{}"), ([], "[]"), (None, "None")])
def test_a_header_without_stages_is_refused(stages, found):
    """Nothing recorded is not a recording."""
    with pytest.raises(UnusableInput) as refused:
        json_to_header(HEADER | {"stages": stages}, "here")
    assert (refused.value.place, refused.value.found) == ("here#/stages", found)
    assert json_to_header(HEADER | {"stages": {"x_raw": 1}}, "here")[1] == {"x_raw": 1}


def test_a_header_is_written_as_it_is_read():
    """What is unknown is left out, or null where the format has always had it."""
    short = {
        "format": "rigpact-trace", "version": 1, "producer": {"name": "engine", "version": "5.4"},
        "contract": {"bundle_sha256": None}, "fps": 30.0, "mode": "free", "clip": None, "stages": {"x_raw": 5},
    }  # fmt: skip
    hashes = {f"{name}_sha256": name[0] * 64 for name in ("bundle", "companion", "meaning", "conventions", "model")}
    long = short | {"contract": hashes, "clip": "Walk", "system": "enemy_animation", "bones": ["hip", "knee"]}
    for entry in (short, long):
        header, widths = json_to_header(entry, "here")
        assert header.to_json(widths) == entry


class Contract:
    """What a header asks of a contract."""

    system = SimpleNamespace(name="rig")
    hashes = MappingProxyType(
        {"bundle_sha256": "b", "companion_sha256": "c", "meaning_sha256": "m", "conventions_sha256": "v"}
    )


@pytest.mark.parametrize(
    ("network", "model"),
    [(None, None), (SimpleNamespace(signature=SimpleNamespace(sha256="n")), "n"), (SimpleNamespace(), None)],
)
def test_the_header_of_a_run_says_what_it_was_made_with(network, model):
    """A recording that another contract made is found by these."""
    header = run_header(Contract(), 30.0, "free", "Walk", network)
    assert (header.producer, header.fps, header.mode, header.clip, header.system) == (
        "rigpact",
        30.0,
        "free",
        "Walk",
        "rig",
    )
    assert (header.bundle_sha256, header.companion_sha256, header.meaning_sha256) == ("b", "c", "m")
    assert (header.conventions_sha256, header.model_sha256) == ("v", model)


def test_how_finely_numbers_are_written_is_what_is_declared_else_what_the_text_shows_else_what_the_numbers_show():
    """A tolerance is as wide as the last digit that was written."""
    numbers = np.arange(64)
    hundredths = np.round(np.random.default_rng(3).uniform(-9.0, 9.0, (64, 5)), 2).astype(np.float32)
    of_text = words_to_precision("3 decimals")

    def precision(**said):
        return Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"q": hundredths}, **said).precision

    assert precision() == words_to_precision("2 decimals")
    assert precision(of_text=of_text) == of_text
    assert precision(of_text=of_text, resolution="4 decimals") == words_to_precision("4 decimals")


def test_a_trace_knows_its_widths_and_does_not_show_its_mapping():
    """What is shown of a trace is its frames, not the bytes of a file."""
    numbers = np.arange(2)
    held = Trace(
        TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"q": np.zeros((2, 5), np.float32)}, mapping="the file"
    )
    assert held.widths == {"q": 5}
    assert "the file" not in repr(held)


# --- the stages of a system -------------------------------------------------------------------------------------------


def named(system, **widths):
    return json_to_header(HEADER | {"system": system, "stages": widths}, "here")


@pytest.mark.parametrize(
    ("written", "system", "widths"),
    [
        ("rig-inversion", "rig_inversion", {"mesh": 24, "vertex_error": 8}),
        (" Rig_Inversion ", "rig_inversion", {"mesh": 24}),
        ("imu_pose", "imu_pose", {"imu": 6, "exercise_logits": 40}),
        ("My-Rig", "My-Rig", {"whatever": 3}),
        ("enemy_animation", "enemy_animation", {"x_raw": 5}),
        (None, None, {"x_raw": 5, "quat": 12}),
    ],
)
def test_a_system_has_its_stages_and_a_declared_one_has_its_own(written, system, widths):
    """How many classes a character has is its contract's matter, and so is all of a contract that somebody declares."""
    header, found = named(written, **widths)
    assert (header.system, found) == (system, widths)


@pytest.mark.parametrize(
    ("system", "widths", "place", "found", "expected"),
    [
        ("rig-inversion", {"mesh": 24, "vertex_error": 9}, "/vertex_error", "9 numbers", "8, as the system has them"),
        ("rig_inversion", {"x_raw": 33}, "", "the stage 'x_raw'", "one of mesh, model_input, rig_parameters"),
        ("imu_pose", {"imu": 7, "exercise_logits": 40}, "/imu", "7 numbers", "6, as the system has them"),
        (None, {"x_raw": 5, "mesh": 24}, "", "the stage 'mesh'", "one of x_raw, state, cond_raw"),
        ("My-Rig", {"whatever": 0}, "/whatever", "0", "the stage's width"),
    ],
)
def test_a_stage_that_a_system_does_not_have_is_refused(system, widths, place, found, expected):
    """Frames of another system under this one's name: whatever is said of them is wrong."""
    with pytest.raises(UnusableInput) as refused:
        named(system, **widths)
    assert (refused.value.place, refused.value.found) == (f"here#/stages{place}", found)
    assert refused.value.expected.startswith(expected)


class Mapping:
    """A mapped file that remembers what was asked of it."""

    def __init__(self):
        self.asked = []

    def madvise(self, advice):
        """What the system is told."""
        self.asked.append(advice)


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="this system has no madvise")
def test_the_memory_of_a_mapped_file_is_given_back():
    """A long recording would fill the memory; one without a mapping, and one on Windows, has nothing to give back."""
    mapped, numbers = Mapping(), np.arange(2)
    for mapping in (mapped, None, object()):
        Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {}, mapping=mapping).release()
    assert mapped.asked == [mmap.MADV_DONTNEED]
