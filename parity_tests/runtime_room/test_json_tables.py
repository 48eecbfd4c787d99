"""Recordings as JSON: rows of names and numbers, one a line or in a list, or an object of arrays. Written here by hand."""

import json
import math

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.json_tables import read_json_lines_table
from rigpact.reference_runtime.recordings.number_rows import UNNAMED
from rigpact.reference_runtime.recordings.opened import open_file, read_table

from ..every_case import every_case
from .json_lines_by_hand import HEADER, frame, lines


@every_case(
    ("content", "expected"),
    [
        ([[1, 2]], True), ([{"q": [1]}], True), ([{"q": 1}], True), ([], False), ([1, 2], False), (["a"], False),
        ({"q": [1, 2]}, True), ({"q": [[1], [2]]}, True), ({"q": []}, False), ({"q": ["a"]}, False), ({"a": "x", "q": [1]}, True),
        ({"stages": {"q": [[1]]}}, True), ({"stages": {"q": 1}}, False), ({"stages": {"a": "x", "q": [1]}}, True), (3, False),
        ({"frames": [{"q": 1}]}, True), (["a", 1], False), ([[1, "a"]], True), ([1, [2]], False), ({"q": ["a", {"x": 1}]}, False),
    ],
)  # fmt: skip
def test_a_json_file_is_a_table_where_it_holds_rows_of_numbers(tmp_path, content, expected):
    """A settings file beside the recordings must not be read as one."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert open_file(path).is_recording is expected
    assert open_file(tmp_path / "none.json").is_recording is False


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
    found = columns(read_table(lines(tmp_path / "a.json", [row])))
    assert found == {
        "t": [1], "imu.o.x": [2], "legs[0].q": [3], "legs[1].q": [4], "v": [[5, 6]], "mixed[0]": [7], "mixed[1].q": [8],
    }  # fmt: skip
    (missing,) = columns(read_table(lines(tmp_path / "b.json", [{"q": None}])))["q"]
    assert math.isnan(missing)


def test_vectors_under_stages_have_their_own_names(tmp_path):
    """A frame of a trace, without the trace's header."""
    found = columns(read_table(lines(tmp_path / "a.json", [{"frame": 3, "stages": {"q": [1, 2]}}])))
    assert found == {"frame": [3], "q": [[1, 2]]}
    deeper = columns(read_table(lines(tmp_path / "b.json", [{"a": {"stages": {"q": 1}}}])))
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
    arrays = read_table(lines(tmp_path / "a.json", {"fps": 30, "clip": None, "q": [1, 2]}))
    assert (arrays.said, columns(arrays), arrays.is_text) == ({"fps": 30}, {"q": [1, 2]}, True)
    nameless = read_table(lines(tmp_path / "b.json", [[1, 2], [3, 4]]))
    assert (columns(nameless), nameless.is_text) == ({UNNAMED: [[1, 2], [3, 4]]}, True)


@pytest.mark.parametrize(
    ("rows", "place"), [([[1], {"q": 1}], "#/1"), ([{"q": 1}, {"q": 2}, [1]], "#/2"), ([], "#"), (3, "#")]
)
def test_rows_of_two_kinds_are_refused_at_the_other_one(tmp_path, rows, place):
    """Half of a file that two recorders wrote."""
    with pytest.raises(UnusableInput) as refused:
        read_table(lines(tmp_path / "a.json", rows))
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


@pytest.mark.parametrize("content", [b"[[1, 2", b"[[1]]]", b"\xff[1]"])
def test_a_file_that_is_no_json_is_no_table(tmp_path, content):
    """Its own reader says what is wrong with it."""
    (tmp_path / "a.json").write_bytes(content)
    assert open_file(tmp_path / "a.json").is_recording is False


def test_the_header_of_a_trace_is_no_row(tmp_path):
    """A trace is read as a table too, by your own contract: its first line is passed over, and what it says is kept."""
    table = read_json_lines_table(lines(tmp_path / "a.jsonl", HEADER, frame(0), frame(1)))
    assert table.said == {"fps": 60.0, "mode": "free"}
    assert columns(table) == {
        "frame": [0, 1], "time": [0.0, 1 / 60.0], "cond": [[0.0] * 7, [1.0] * 7], "contacts": [[0.5, -0.5]] * 2,
    }  # fmt: skip
    nameless = read_json_lines_table(lines(tmp_path / "b.jsonl", [1, 2], [3, 4]))
    assert columns(nameless) == {UNNAMED: [[1, 2], [3, 4]]}


def test_of_two_lists_of_rows_the_first_is_read(tmp_path):
    """Frames, and behind them what happened meanwhile."""
    content = {"fps": 30, "frames": [{"q": 1}, {"q": 2}], "events": [{"at": 7}, {"at": 8}], "steps": [{"n": 0}]}
    table = read_table(lines(tmp_path / "a.json", content))
    assert (columns(table), table.said) == ({"q": [1, 2]}, {"fps": 30})


def test_a_list_that_only_ends_in_an_object_is_no_list_of_rows(tmp_path):
    """Arrays of numbers stand beside it, and they are the recording."""
    content = {"q": [1, 2], "odd": [3, {"q": 4}], "stages": {"p": [[5, 6], [7, 8]]}}
    assert columns(read_table(lines(tmp_path / "a.json", content))) == {"q": [1, 2], "p": [[5, 6], [7, 8]]}


def nested(levels, inside):
    entry = {"q": 1}
    for _ in range(levels):
        entry = inside(entry)
    return entry


@pytest.mark.parametrize(
    ("most", "inside"), [(63, lambda entry: {"a": entry}), (31, lambda entry: {"a": [entry]})], ids=["names", "lists"]
)
def test_sixty_four_levels_of_names_are_read_and_one_more_is_not(tmp_path, most, inside):
    """No engine nests its names so deep, and a line of a million brackets must not fill the memory."""
    ((name, values),) = columns(read_json_lines_table(lines(tmp_path / "a.jsonl", nested(most, inside)))).items()
    assert (name.count("a"), values) == (most, [1])
    with pytest.raises(UnusableInput, match=r"nested (names without end|levels)"):
        read_json_lines_table(lines(tmp_path / "a.jsonl", nested(most + 1, inside)))


def test_words_that_are_numbers_are_not_passed_over(tmp_path):
    """JSON has no word for what is not finite, so recorders write one; a list of names is none."""
    content = {"q": ["NaN", "-Infinity"], "names": ["hip", "knee"], "p": [1.5, "NaN"]}
    found = columns(read_table(lines(tmp_path / "a.json", content)))
    assert list(found) == ["q", "p"]
    np.testing.assert_array_equal(found["q"], [math.nan, -math.inf])
    np.testing.assert_array_equal(found["p"], [1.5, math.nan])
    with pytest.raises(UnusableInput, match="/mixed"):
        read_table(lines(tmp_path / "a.json", {"mixed": ["hip", 1.5]}))
