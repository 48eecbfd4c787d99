"""Recordings as named columns: which file is one, which vectors it holds, and when each row was. Files are written by hand."""

import math

import numpy as np
import pytest

from rigpact.contract.documents import Kind
from rigpact.reference_runtime.recordings.named_columns import NoVector, read_named_columns
from rigpact.reference_runtime.recordings.opened import open_file

from ..every_case import every_case
from .column_files import A, B, C, contract, npz, refused, side_by_side, stages, table

# --- which file, and which vectors of it ------------------------------------------------------------------------------


def test_a_log_of_frames_is_named_columns_and_a_trace_is_none(tmp_path):
    """Both end in .trace.jsonl; only the trace begins with a header."""
    log, trace, other = (tmp_path / name for name in ("log.trace.jsonl", "run.trace.jsonl", "notes.md"))
    log.write_text('{"q": [1.0]}\n', encoding="utf-8")
    trace.write_text('{"format": "rigpact-trace", "version": 1}\n', encoding="utf-8")
    other.write_text("# q\n", encoding="utf-8")
    paths = (log, trace, tmp_path / "run.csv", other)
    assert [open_file(path).kind for path in paths] == [Kind.COLUMNS, Kind.TRACE, Kind.COLUMNS, None]


@pytest.mark.parametrize("held", [1, 13])
def test_a_file_of_no_vector_says_how_much_it_holds_and_no_name(tmp_path, held):
    """The names of somebody else's table are not for a public log."""
    path = npz(tmp_path, **{f"c{place:02}": A for place in range(held)})
    with pytest.raises(NoVector) as raised:
        read_named_columns(path, contract())
    assert raised.value.found == f"{held} columns of other names"


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"old": [A], "new": [B], "newest": [C]}, [C]),
        ({"old": [A], "new": [B]}, [B]),
        ({"old": [A]}, [A]),
        ({"new": [B], "own": [C]}, [C]),
    ],
)
def test_of_the_names_that_a_project_published_the_last_one_held_is_read(tmp_path, columns, expected):
    """A file by the contract's own name, or by the vector's, needs no guess."""
    published = {"q": ("old", "new", "newest")}
    path = npz(tmp_path, **columns)
    assert stages(path, contract(q=3, recordings={"q": "own"}, published=published)) == {"q": expected}
    assert stages(npz(tmp_path, old=[A], q=[C]), contract(q=3, published=published)) == {"q": [C]}


@pytest.mark.parametrize("name", ["q", "said", "other", "known"])
def test_the_one_array_of_a_file_has_the_files_name(tmp_path, name):
    """Training code saves one vector to a file: q.npy."""
    path = tmp_path / f"{name}.npy"
    np.save(path, side_by_side(A, B))
    of = contract(
        q=2,
        r=2,
        recordings={"q": "said", "r": ["other"]} if name in {"said", "other"} else {},
        published={"q": ("known",)} if name == "known" else {},
    )
    assert stages(path, of) == {"r" if name == "other" else "q": side_by_side(A, B)}


def test_a_file_whose_name_says_nothing_needs_to_be_told_what_it_holds(tmp_path):
    """Six numbers a frame may be anything."""
    path, of = tmp_path / "run.npy", contract(q=2, r=1)
    np.save(path, side_by_side(A, B, C)[:2])
    assert refused(path, of) == ("", "3 numbers a frame without a name", "a name for every column")
    assert stages(path, of, unnamed=("q", "r")) == {"q": side_by_side(A, B)[:2], "r": side_by_side(C)[:2]}
    assert stages(path, of, unnamed=("r", "q")) == {"r": side_by_side(A)[:2], "q": side_by_side(B, C)[:2]}
    assert refused(path, of, unnamed=("q", "p")) == ("--as", "'p'", "some of q, r")
    assert refused(path, of, unnamed=("q",)) == ("", "3 numbers a frame", "2: q 2")
    assert refused(path, of, unnamed=("q", "q")) == ("", "3 numbers a frame", "4: q 2 + q 2")


@pytest.mark.parametrize("values", [3.0, np.zeros((0, 2)), np.zeros((1, 0, 2))])
@pytest.mark.parametrize("name", ["run", "q"])
def test_arrays_without_a_frame_are_refused(tmp_path, values, name):
    """A recorder that was stopped at once writes one; nothing compared is not a pass."""
    path = tmp_path / f"{name}.npy"
    np.save(path, values)
    place = "#q" if name == "q" else ""
    assert refused(path, contract(), unnamed=("q",)) == (place, "no frames", "one row of numbers for each frame")


def test_numbers_and_empty_arrays_beside_a_vector_are_passed_over(tmp_path):
    """A step size, or a list of events of which there were none."""
    path = npz(tmp_path, q=side_by_side(A, B), rate=50.0, events=[], torn=np.zeros((2, 0)))
    assert stages(path, contract()) == {"q": side_by_side(A, B)}


def test_what_is_said_once_of_a_window_stands_in_every_row(tmp_path):
    """A command for two seconds is one row of the file and a hundred of the recording."""
    path = npz(tmp_path, command=[[1.0, 2.0]], q=side_by_side(A, B))
    of_window = contract(command=2, q=2, windowed=True)
    assert stages(path, of_window) == {"command": [[1.0, 2.0]] * 3, "q": side_by_side(A, B)}
    assert stages(npz(tmp_path, command=[[1.0, 2.0]]), of_window) == {"command": [[1.0, 2.0]]}
    found = refused(npz(tmp_path, command=[[1.0, 2.0]], q=side_by_side(A, B)), contract(command=2, q=2))
    assert found == ("", "{'command': 1, 'q': 3} rows", "as many rows of each vector")
    found = refused(npz(tmp_path, command=side_by_side(A[:2], B[:2]), q=side_by_side(A, B)), of_window)
    assert found == ("", "{'command': 2, 'q': 3} rows", "as many rows of each vector")


@pytest.mark.parametrize(
    ("said", "feeds_itself", "published", "mode"),
    [
        ("playback", True, {}, "playback"), ("game", True, {}, "free"), (None, True, {}, "free"),
        (None, False, {}, "teacher"), (None, True, {"q": ("x",)}, "teacher"), (None, False, {"q": ("x",)}, "teacher"),
    ],
)  # fmt: skip
def test_who_drove_a_run_is_what_the_file_says_or_a_guess(tmp_path, said, feeds_itself, published, mode):
    """A guess is marked as one: a project may say otherwise."""
    columns = {"q": side_by_side(A, B), "clip": "Walk"} | ({"mode": said} if said else {})
    header = read_named_columns(
        table(tmp_path, **columns), contract(feeds_itself=feeds_itself, published=published)
    ).header
    assert (header.mode, header.says_mode, header.clip) == (mode, said == "playback", "Walk")
    assert (header.system, header.producer, header.producer_version) == ("rig", "unknown", "unknown")
    assert read_named_columns(table(tmp_path, q=[[1, 2]], clip=3), contract()).header.clip is None


def test_only_printed_numbers_may_have_lost_digits(tmp_path):
    """Two decimals of a table move each number by up to 0.005; the same numbers in an array are as they were."""
    rows = [[round(0.37 * k, 2), round(1.53 - 0.41 * k, 2)] for k in range(40)]
    assert read_named_columns(table(tmp_path, q=rows), contract()).of_text.decimals == 2
    assert read_named_columns(npz(tmp_path, q=rows), contract()).of_text is None


# --- frames and times -------------------------------------------------------------------------------------------------

BELOW = float(np.nextafter(2.0**62, 0))


@pytest.mark.parametrize(
    "frames", [[0, 1, 2], [7, 9, 10], [0.0, 1.0, BELOW], np.array([0, 2, 5], np.uint8), np.array([1, 2, 3], np.float16)]
)
def test_frames_that_rise_are_read_as_they_are(tmp_path, frames):
    """Frames that the game skipped stay a gap."""
    trace = read_named_columns(npz(tmp_path, q=side_by_side(A, B), frame=frames), contract(50.0))
    assert (trace.frame.dtype, trace.frame.tolist()) == (np.int64, [int(each) for each in frames])
    np.testing.assert_array_equal(trace.time_s, [int(each) / 50.0 for each in frames])


@every_case(
    "frames",
    [
        [-1, 0, 1], [0, 1, 1], [0, 2, 1], [2, 1, 0], [0, 1, 1.5], [0, 1, 2.5], [0.5, 1.5, 2.5], [0, 1, math.nan],
        [0, 1, math.inf],
        [0.0, 1.0, 2.0**62], np.array([5, 3, 1], np.uint8), [math.nan] * 3,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_frames_that_do_not_rise_are_refused(tmp_path, frames):
    """A frame that stands twice hides one that was lost."""
    found = refused(npz(tmp_path, q=side_by_side(A, B), frame=frames), contract())
    assert found == ("#frame", "frame numbers that do not rise", "whole numbers, each above the one before")


def test_a_column_of_another_length_is_no_clock(tmp_path):
    """A vector called `t`, or a count of frames, says nothing of the rows."""
    path = npz(tmp_path, q=side_by_side(A, B), frame=3, frames=[4, 5, 6], time=side_by_side(A, B), t=[0.5, 0.75, 1.0])
    trace = read_named_columns(path, contract())
    assert (trace.frame.tolist(), trace.time_s.tolist()) == ([4, 5, 6], [0.5, 0.75, 1.0])
    trace = read_named_columns(npz(tmp_path, q=side_by_side(A, B), frame=[1, 2], time=[[1.0]] * 3), contract(4.0))
    assert (trace.frame.tolist(), trace.time_s.tolist()) == ([0, 1, 2], [0.0, 0.25, 0.5])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_time_that_is_none_is_refused(tmp_path, value):
    """One such time makes every velocity after it nonsense."""
    found = refused(npz(tmp_path, q=side_by_side(A, B), time=[0.0, value, 2.0]), contract())
    assert found == ("#time", "a time that is not finite", "seconds")


@every_case(
    ("said", "declared", "time", "expected"),
    [
        (0.5, 50.0, None, 0.5), (30, 50.0, [0.0, 0.1, 0.2], 30.0), (0, 50.0, None, 50.0), (-30, 50.0, None, 50.0),
        (True, 50.0, None, 50.0), ("30", 50.0, None, 50.0), (1e39, 50.0, None, 50.0), (None, 50.0, [0.0, 0.1, 0.2], 50.0),
        (None, None, [0.0, 0.25, 4.0], 1 / 2.0), (None, None, [0.0, 0.25, 0.5], 4.0), (0, None, [0.0, 0.25, 0.5], 4.0),
        (None, None, [3.0, 3.125, 3.25], 8.0),
    ],
)  # fmt: skip
def test_frames_per_second_are_said_declared_or_measured(tmp_path, said, declared, time, expected):
    """What the file says goes first. A pause does not change the middle step between frames."""
    columns = {"fps": said, "time": time}
    path = table(tmp_path, q=side_by_side(A, B), **{name: each for name, each in columns.items() if each is not None})
    assert read_named_columns(path, contract(declared)).header.fps == expected


def test_a_pause_does_not_change_the_rate_that_is_measured(tmp_path):
    """The median of the steps: the mean would be off by the length of the pause."""
    path = table(tmp_path, q=[[1, 2]] * 4, time=[0.0, 0.25, 0.5, 9.0])
    assert read_named_columns(path, contract(None)).header.fps == 4.0
    path = table(tmp_path, q=[[1, 2]] * 2, time=[0.5, 0.625])
    assert read_named_columns(path, contract(None)).header.fps == 8.0


@pytest.mark.parametrize(
    "time", [[0.0, 0.0, 0.0], [3.0, 2.0, 1.0], [0.0, 1e-320, 2e-320], np.array([3, 2, 1], np.uint8), [0.5]]
)
@pytest.mark.filterwarnings("error")
def test_times_that_do_not_rise_tell_no_rate(tmp_path, time):
    """A clock that stands still or runs backwards would give an endless or a negative rate."""
    found = refused(npz(tmp_path, q=side_by_side(A, B)[: len(time)], time=time), contract(None))
    assert found == ("", "no frames per second", "fps in the contract, or a column time that rises")
