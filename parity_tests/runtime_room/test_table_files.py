"""Tables as files: words and numbers of .csv, .txt and .npz, written here by hand; the least that is one, and what is refused."""

import io
import json
import math
import sys

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import TraceHeader
from rigpact.reference_runtime.recordings.number_rows import (
    UNNAMED,
    Table,
    is_number,
    stacked,
    table_of_rows,
    text_number,
)
from rigpact.reference_runtime.recordings.opened import open_file, read_table, write_recording
from rigpact.reference_runtime.recordings.trace_model import Trace

from ..every_case import every_case

POINT = "write a point, not a comma, before the decimals"


def written(folder, text, name="run.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


def columns(path):
    return {name: values.tolist() for name, values in read_table(path).columns.items()}


def refused(path):
    with pytest.raises(UnusableInput) as raised:
        read_table(path)
    return raised.value.place.removeprefix(str(path)), raised.value.found, raised.value.expected, raised.value.hint


# --- which files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [("A.CSV", True), ("a.tsv", True), ("a.log", True), ("a.txt", True), ("a.jsonl.zst", True), ("a.md", False), ("csv", False)],
)  # fmt: skip
def test_a_table_is_known_by_its_name(tmp_path, name, expected):
    """Whether it is there or not: a file that is missing is refused as one, and not passed over."""
    assert open_file(tmp_path / name).is_recording is expected


def test_a_json_file_is_a_table_by_its_content(tmp_path):
    """Settings end in .json, too."""
    assert open_file(written(tmp_path, '{"q": [1.0, 2.0]}', "run.json")).is_recording is True
    assert open_file(written(tmp_path, '{"name": "q"}', "Run.JSON")).is_recording is False


def test_a_name_that_no_reader_knows_and_a_file_that_is_none_are_refused(tmp_path):
    """The names that would do are said; of a folder, that it is one."""
    path = written(tmp_path, "a,b\n1,2\n", "run.md")
    place, found, expected, _ = refused(path)
    assert (place, found, expected[:32]) == ("", "the name run.md", "a name ending in .npz, .npy, .sa")
    (tmp_path / "runs.csv").mkdir()
    for name in ("runs.csv", "none.csv", "none.jsonl"):
        with pytest.raises(UnusableInput) as raised:
            read_table(tmp_path / name)
        assert raised.value.place == str(tmp_path / name)


@every_case("ending", [".txt", ".log"])
@every_case(
    ("text", "expected"),
    [
        ('{"q": 1}\n{"q": 2}\n', {"q": [1.0, 2.0]}), (' \n{"q": 3}\n', {"q": [3.0]}), ("q,p\n1,2\n", {"q": [1.0], "p": [2.0]}),
        ("1,2\n3,4\n", {UNNAMED: [[1.0, 2.0], [3.0, 4.0]]}),
    ],
)  # fmt: skip
def test_lines_under_a_name_that_says_nothing_are_what_they_look_like(tmp_path, ending, text, expected):
    """An engine logs rows of JSON, or of a table."""
    assert columns(written(tmp_path, text, f"run{ending}")) == expected


# --- tables of words --------------------------------------------------------------------------------------------------


@every_case(
    ("text", "expected"),
    [
        ("a,b\n1,2\n3,4\n", {"a": [1.0, 3.0], "b": [2.0, 4.0]}),
        (" a ;b\r\n 1 ; 2\r\n", {"a": [1.0], "b": [2.0]}),
        ("a\tb,c\td\n1\t2\t3\n", {"a": [1.0], "b,c": [2.0], "d": [3.0]}),
        ("a;b\n1;2\n", {"a": [1.0], "b": [2.0]}),
        ("a\n1\n2\n", {"a": [1.0, 2.0]}),
        ("a,1\n5,6\n", {"a": [5.0], "1": [6.0]}),
        ("a,b\n1,2\n,\n  ,\n\n", {"a": [1.0], "b": [2.0]}),
        ("1;2;3\n4;5;6\n;;\n", {UNNAMED: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}),
        ("1\n", {UNNAMED: [[1.0]]}),
    ],
)
def test_words_between_marks_are_columns(tmp_path, text, expected):
    """The mark is the one that the first line has most of; a table without names is one array."""
    table = read_table(written(tmp_path, text))
    assert {name: values.tolist() for name, values in table.columns.items()} == expected
    assert (table.is_text, table.said, table.truncation) == (True, {}, None)


@every_case(
    ("text", "found"),
    [
        ("a;b\n1,5;2,5\n1,5;2,5\n", (":2", "'1,5' in the column a", "a number", POINT)),
        ("a;b\n1;1,2,3\n", (":2", "'1,2,3' in the column b", "a number", "")),
        ("a,b\n1,2\n3,x\n", (":3", "'x' in the column b", "a number", "")),
        ("a,b\n1,2\n3,\n", (":3", "'' in the column b", "a number", "")),
        ("a,b\n1,2\n,3\n4,5\n", (":3", "'' in the column a", "a number", "")),
        ("a,b\n1,2\n,\n4,5\n", (":3", "an empty row", "a row for each frame", "a frame that was lost?")),
        ("a,b\n1,2\n3\n", (":3", "1 values", "2, one for each column", "")),
        ("a,b\n1,2,3\n", (":2", "3 values", "2, one for each column", "")),
        ("\n1,2\n", (":1", "an empty row", "a row for each frame", "a frame that was lost?")),
        ("1,2\n3\n", (":2", "1 values", "2, one for each column", "")),
        ("1,2\n3,x\n", (":2", "'x' in the column 2", "a number", "")),
        ("a,b,b,a\n1,2,3,4\n", (":1", "two columns 'a'", "each name once", "")),
        ("a\n" + "y" * 50 + "\n", (":2", repr("y" * 40) + " in the column a", "a number", "")),
        ("a,b\n", ("", "no row of numbers", "one row for each frame", "")),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_at_its_line(tmp_path, text, found):
    """Somebody opens the file at this line. Nothing is padded, and nothing is passed over."""
    assert refused(written(tmp_path, text)) == found


def test_words_that_are_the_same_in_every_row_say_something_of_the_recording(tmp_path):
    """`mode` and `clip` of every row; a clip that changes is not a recording of one, and a rate in numbers stays a column."""
    table = read_table(written(tmp_path, "mode,a,clip,fps\nfree,1,Walk,30\n free ,2,Walk,30\n"))
    assert table.said == {"mode": "free", "clip": "Walk"}
    assert {name: values.tolist() for name, values in table.columns.items()} == {"a": [1.0, 2.0], "fps": [30.0, 30.0]}
    assert table.is_text is True
    assert refused(written(tmp_path, "clip,a\nWalk,1\nRun,2\n"))[:2] == (":2", "'Walk' in the column clip")
    assert refused(written(tmp_path, "who,a\nme,1\nme,2\n"))[:2] == (":2", "'me' in the column who")


# --- arrays -----------------------------------------------------------------------------------------------------------


def test_arrays_keep_their_types_and_single_numbers_say_something_of_the_recording(tmp_path):
    """A rate is said once; an array of rates is a column."""
    path = tmp_path / "run.npz"
    flags = np.array([True, False])
    np.savez(
        path, q=np.ones((2, 3), np.float32), flags=flags, n=np.arange(2), scale=2.0, fps=[30], mode="free", clip=["a"]
    )
    table = read_table(path)
    assert table.said == {"fps": 30, "mode": "free", "clip": "a"}
    assert {name: (values.dtype.kind, values.shape) for name, values in table.columns.items()} == {
        "q": ("f", (2, 3)), "flags": ("b", (2,)), "n": ("i", (2,)), "scale": ("f", ()),
    }  # fmt: skip
    assert (table.is_text, table.truncation) == (False, None)
    np.savez(path, q=np.ones(2), fps=[30.0, 60.0])
    assert columns(path) == {"q": [1.0, 1.0], "fps": [30.0, 60.0]}
    np.savez(path, q=["a", "b"])
    assert refused(path)[:2] == ("#q", "values of the type <U1")
    np.save(tmp_path / "run.npy", np.array([1j]))
    assert refused(tmp_path / "run.npy")[:2] == ("", "values of the type complex128")
    np.save(tmp_path / "run.npy", np.uint8([1, 2]))
    assert columns(tmp_path / "run.npy") == {UNNAMED: [1, 2]}


# --- writing ----------------------------------------------------------------------------------------------------------


def trace():
    rows = {"q": np.array([[0.1, -2.0], [math.nan, 4.0]], np.float32), "p": np.array([[5.0], [6.0]], np.float32)}
    return Trace(TraceHeader(50.0, "free"), np.array([3, 5]), np.array([0.06, 0.1]), rows)


def test_a_recording_is_written_as_a_table(tmp_path):
    """Each number in the shortest text that reads back as the same float32."""
    write_recording(trace(), tmp_path / "run.csv")
    text = (tmp_path / "run.csv").read_text(encoding="utf-8")
    assert text == "frame,time,mode,q[0],q[1],p[0]\n3,0.06,free,0.1,-2.0,5.0\n5,0.1,free,nan,4.0,6.0\n"


def test_a_recording_is_written_as_arrays(tmp_path):
    """With its rate and its mode, which the arrays do not say."""
    write_recording(trace(), tmp_path / "run.NPZ")
    with np.load(io.BytesIO((tmp_path / "run.NPZ").read_bytes())) as held:
        assert set(held.files) == {"frame", "time", "fps", "mode", "q", "p"}
        assert (held["fps"].item(), held["mode"].item(), held["frame"].tolist()) == (50.0, "free", [3, 5])
        np.testing.assert_array_equal(held["q"], trace().stages["q"])
    write_recording(trace(), tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_bytes()) == {
        "fps": 50.0, "mode": "free", "frame": [3, 5], "time": [0.06, 0.1],
        "stages": {"q": [[0.1, -2.0], ["NaN", 4.0]], "p": [[5.0], [6.0]]},
    }  # fmt: skip


def test_a_recording_is_not_written_under_a_name_that_is_no_tables(tmp_path):
    """The names that would do are said."""
    with pytest.raises(UnusableInput) as raised:
        write_recording(trace(), tmp_path / "run.xlsx")
    assert raised.value.found == "the name run.xlsx"
    assert raised.value.expected.startswith("a name ending in .trace.jsonl, ")
    assert raised.value.expected.endswith(".npz, .csv, .json")


# --- rows of numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["-inf", " -Infinity ", "-1.#INF"])
def test_endless_numbers_keep_their_sign(word):
    """As C and Python print them."""
    assert text_number(word) == -math.inf
    assert text_number(word.replace("-", "")) == math.inf


def test_the_largest_number_is_one_and_a_larger_is_none():
    """An integer beyond every float would become endless silently."""
    largest = int(sys.float_info.max)
    assert [is_number(each) for each in (largest, -largest, largest + 1, -largest - 1)] == [True, True, False, False]
    assert [is_number(each) for each in (math.inf, {}, [], None, False)] == [True, False, False, False, False]


def test_a_name_of_some_rows_is_left_out_and_said(tmp_path):
    """A network that is asked every second frame is logged every second frame; the other columns are whole."""
    table = table_of_rows([{"a": 1}, {"a": 2, "b": 1}, {"b": 2, "a": 3}], tmp_path)
    assert table.columns["a"].tolist() == [1.0, 2.0, 3.0]
    assert table.columns.keys() == {"a"}
    assert table.partial == {"b": "2 of 3 frames"}
    with pytest.raises(UnusableInput, match="2 names, each in some of the 2 frames only"):
        table_of_rows([{"a": 1}, {"b": 1}], tmp_path)
    with pytest.raises(UnusableInput, match="no row of numbers"):
        table_of_rows([], tmp_path)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, None], [1.0, math.nan]), ([[], []], [[], []]), ([[[1], [2]]], [[[1.0], [2.0]]]), (["NaN", 2], [math.nan, 2.0]),
     ([], [])],
)  # fmt: skip
def test_lists_of_lists_become_one_array(values, expected):
    """Nothing between them is lost, also where there is nothing."""
    rows = stacked(values, "here")
    np.testing.assert_array_equal(rows, np.array(expected, np.float64))
    assert rows.shape == np.array(expected).shape


def test_what_is_no_number_is_shown_by_its_beginning():
    """A page of text in place of a number must not fill the terminal."""
    with pytest.raises(UnusableInput) as raised:
        stacked([1, "x" * 100], "here")
    assert (raised.value.place, raised.value.found) == ("here, frame 2 of the file", "'" + "x" * 59)


def test_a_table_is_of_arrays_unless_it_says_that_it_is_text():
    """Printed numbers may have lost digits, others have not."""
    assert Table({}).is_text is False


@every_case(
    ("value", "expected"),
    [(1, True), (-2.5, True), ("NaN", True), (" -Inf ", True), ("1.#QNAN", True), ("1", False), (True, False), (None, False),
     ([1], False), (int(1.7e308), True), (10**309, False), (-(10**309), False), (math.inf, True)],
)  # fmt: skip
def test_what_counts_as_a_number(value, expected):
    """true is not a coordinate, and a number beyond every float would become infinite silently."""
    assert is_number(value) is expected


def test_words_of_text_that_are_numbers():
    """A table has only words."""
    assert [text_number(word) for word in ("1.5", "-inf", "x", "")] == [1.5, -math.inf, None, None]


def test_rows_of_another_shape_are_refused_at_their_frame():
    """Nothing is padded: a shorter row is a frame that was torn."""
    np.testing.assert_array_equal(stacked([[[1, 2]], [[3, None]]], "here"), [[[1, 2]], [[3, math.nan]]])
    assert stacked([1, 2], "here").shape == (2,)
    with pytest.raises(UnusableInput, match=r"frame 2 of the file: found 3 numbers, expected 2"):
        stacked([[1, 2], [1, 2, 3], [1]], "here")
    with pytest.raises(UnusableInput, match=r"frame 1 of the file: found rows of different lengths"):
        stacked([[[1], [1, 2]]], "here")
