"""What a file is, and tables as files: their columns, and of damaged ones their place. Files are written by hand."""

import gzip
import io
import json
import math
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import TraceHeader
from rigpact.reference_runtime.recordings import opened
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import open_file, read_table, write_recording
from rigpact.reference_runtime.recordings.tables import (
    UNNAMED,
    Table,
    left_out,
    table_of_rows,
)
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reports.gate.found_files import find_files
from rigpact.reports.importing.drafting import draft_of_folder, look_into

from ..every_case import every_case
from .trace_files import HEADER, frame, refused, text

NAN, LARGEST = math.nan, int(sys.float_info.max)


def written(folder, name, content):
    """A file of text, of bytes, or of JSON."""
    content = content if isinstance(content, str | bytes) else json.dumps(content)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


def nested(levels, inside):
    entry = {"q": 1}
    for _ in range(levels):
        entry = inside(entry)
    return entry


IN_NAMES, IN_LISTS = (lambda entry: {"a": entry}), (lambda entry: {"a": [entry]})
NESTED = {
    "t": 1, "imu": {"o": {"x": 2}}, "legs": [{"q": 3}, {"q": 4}], "v": [5, 6], "who": "me", "tags": ["a"],
    "mixed": [7, {"q": 8}],
}  # fmt: skip
FLAT = {"t": [1], "imu.o.x": [2], "legs[0].q": [3], "legs[1].q": [4], "v": [[5, 6]], "mixed[0]": [7], "mixed[1].q": [8]}
SAID = {"fps": 30, "mode": "free", "clip": "Walk"}
LISTS = {"fps": 30, "frames": [{"q": 1}, {"q": 2}], "events": [{"at": 7}, {"at": 8}], "steps": [{"n": 0}]}
OF_TRACE = {"frame": [0, 1], "time": [0, 1 / 60], "cond": [[0, 0], [1, -1]], "quat": [[0, 0, 0, 1]] * 2}
TABLES = [
    ("a.csv", "a,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}), ("a.csv", " a ;b\r\n 1 ; 2\r\n", {"a": [1], "b": [2]}),
    ("a.csv", "a\tb,c\td\n1\t2\t3\n", {"a": [1], "b,c": [2], "d": [3]}), ("a.csv", "a;b\n1;2\n", {"a": [1], "b": [2]}),
    ("a.csv", "a\n1\n2\n", {"a": [1, 2]}), ("a.csv", "a,1\n5,6\n", {"a": [5], "1": [6]}), ("a.csv", "1\n", {UNNAMED: [[1]]}),
    ("a.csv", "a\n1.5\n inf\n-Infinity \n1.#INF\n-1.#IND\n-nan(ind)\n", {"a": [1.5, math.inf, -math.inf, math.inf, NAN, NAN]}),
    ("a.csv", "a,b\n1,2\n,\n  ,\n\n", {"a": [1], "b": [2]}), ("a.csv", "1;2;3\n4;5;6\n;;\n", {UNNAMED: [[1, 2, 3], [4, 5, 6]]}),
    ("a.csv", "mode,a,clip,fps\nfree,1,Walk,30\n free ,2,Walk,30\n", {"a": [1, 2], "fps": [30, 30]},
    {"mode": "free", "clip": "Walk"}),
    *((f"a.{ending}", *row) for ending in ("txt", "log") for row in (
        ('{"q": 1}\n{"q": 2}\n', {"q": [1, 2]}), (' \n{"q": 3}\n', {"q": [3]}), ("q,p\n1,2\n", {"q": [1], "p": [2]}),
        ("1,2\n3,4\n", {UNNAMED: [[1, 2], [3, 4]]}))),
    ("a.json", [NESTED], FLAT), ("a.json", [{"q": None}], {"q": [NAN]}),
    ("a.json", {"q": [[[1, 2]], [[3, None]]]}, {"q": [[[1, 2]], [[3, NAN]]]}),
    ("a.json", {"q": [LARGEST, " -Inf ", -LARGEST]}, {"q": [LARGEST, -math.inf, -LARGEST]}),
    ("a.json", [{"a": {"stages": {"q": 1}}}], {"a.stages.q": [1]}),
    ("a.json", [{"frame": 3, "stages": {"q": [1, 2]}}], {"frame": [3], "q": [[1, 2]]}),
    ("a.json", LISTS, {"q": [1, 2]}, {"fps": 30}),
    ("a.json", {"fps": 30, "clip": None, "q": [1, 2]}, {"q": [1, 2]}, {"fps": 30}),
    ("a.json", [[1, 2], [3, 4]], {UNNAMED: [[1, 2], [3, 4]]}),
    ("a.json", {"q": [1, 2], "odd": [3, {"q": 4}], "stages": {"p": [[5, 6], [7, 8]]}}, {"q": [1, 2], "p": [[5, 6], [7, 8]]}),
    ("a.json", {"q": ["NaN", "-Infinity"], "names": ["hip", "knee"], "p": [1.5, "NaN"]}, {"q": [NAN, -math.inf],
    "p": [1.5, NAN]}),
    ("a.jsonl", text({**SAID, "q": 1}, {**SAID, "q": 2}), {"fps": [30, 30], "q": [1, 2]}, SAID),
    ("a.jsonl", text([1, 2], [3, 4]), {UNNAMED: [[1, 2], [3, 4]]}),
    ("a.jsonl", b'\xef\xbb\xbf{"q": 1}\n\n{"q": 2}\n{"q":', {"q": [1, 2]}, {}, "cut off in line 4, after 2 whole frames"),
    ("a.jsonl.gz", gzip.compress(b'{"q": 1}\n{"q": 2}\n')[:-4], {"q": [1, 2]}, {}, "cut off in line 3, after 2 whole frames"),
    ("a.jsonl", text(HEADER, frame(0), frame(1)), OF_TRACE, {"fps": 60.0, "mode": "free"}),
    ("a.jsonl", text(nested(63, IN_NAMES)), {"a." * 63 + "q": [1]}),
    ("a.jsonl", text(nested(31, IN_LISTS)), {"a[0]." * 31 + "q": [1]}),
]  # fmt: skip


@every_case("row", TABLES, ids=lambda row: f"{row[0]} {str(row[1])[:40]}")
def test_a_file_has_the_columns_that_were_written(tmp_path, row):
    """The mark is the one that the first line has most of; words that are the same in every row are of the recording."""
    name, content, columns, said, truncation = row + ({}, None)[len(row) - 3 :]
    table = read_table(written(tmp_path, name, content))
    assert list(table.columns) == list(columns)
    for column, values in columns.items():
        np.testing.assert_array_equal(table.columns[column], values)
    assert (table.said, table.is_text, table.truncation) == (said, True, truncation)


POINT, LOST = "write a point, not a comma, before the decimals", "a frame that was lost?"
DAMAGED = [
    ("a.csv", "a;b\n1,5;2,5\n1,5;2,5\n", ":2", "'1,5' in the column a", POINT),
    ("a.csv", "a;b\n1;1,2,3\n", ":2", "'1,2,3' in the column b", ""),
    ("a.csv", "a,b\n1,2\n3,x\n", ":3", "'x' in the column b"), ("a.csv", "a,b\n1,2\n3,\n", ":3", "'' in the column b"),
    ("a.csv", "a,b\n1,2\n,3\n4,5\n", ":3", "'' in the column a"), ("a.csv", "a,b\n1,2\n,\n4,5\n", ":3", "an empty row", LOST),
    ("a.csv", "a,b\n1,2\n3\n", ":3", "1 values"), ("a.csv", "a,b\n1,2,3\n", ":2", "3 values"),
    ("a.csv", "\n1,2\n", ":1", "an empty row", LOST),
    ("a.csv", "1,2\n3\n", ":2", "1 values"), ("a.csv", "1,2\n3,x\n", ":2", "'x' in the column 2"),
    ("a.csv", "a,b\n", "", "no row of numbers"),
    ("a.csv", "a,b,b,a\n1,2,3,4\n", ":1", "two columns 'a'"),
    ("a.csv", "a\n" + "y" * 50 + "\n", ":2", repr("y" * 40) + " in the column a"),
    ("a.csv", "clip,a\nWalk,1\nRun,2\n", ":2", "'Walk' in the column clip"),
    ("a.csv", "who,a\nme,1\nme,2\n", ":2", "'me' in the column who"),
    ("a.md", "a,b\n1,2\n", "", "the name a.md"), ("a.json", [[1], {"q": 1}], "#/1", None),
    ("a.json", [{"q": 1}, {"q": 2}, [1]], "#/2", None),
    *(("a.json", {"q": [1, each]}, "#/q, frame 2 of the file", repr(each)[:60]) for each in (
        "x" * 100, "1", True, 10**309)),
    ("a.json", {"q": [[1, 2], [1, 2, 3], [1]]}, "#/q, frame 2 of the file", "3 numbers"),
    ("a.json", {"q": [[[1], [1, 2]]]}, "#/q, frame 1 of the file", "rows of different lengths"),
    ("a.json", [], "#", None), ("a.json", 3, "#", None), ("a.json", {"mixed": ["hip", 1.5]}, None, None),
    ("a.jsonl", '{"q": 1}\n3\n', ":2", "int"),
    ("a.jsonl", '{"q": 1}\n{"q":\n{"q": 3}\n', ":2", None), ("a.jsonl", text(nested(64, IN_NAMES)), None, None),
    ("a.jsonl", text(nested(32, IN_LISTS)), None, None),
]  # fmt: skip


@every_case("row", DAMAGED, ids=lambda row: f"{row[0]} {str(row[1])[:40]}")
def test_what_is_no_table_is_refused_at_its_place(tmp_path, row):
    """Somebody opens the file there. Nothing is padded, and nothing is passed over."""
    name, content, place, found, *hint = row
    path = written(tmp_path, name, content)
    with pytest.raises(UnusableInput) as raised:
        read_table(path)
    said = raised.value
    assert place is None or said.place == f"{path}{place}"
    assert found is None or said.found == found
    assert not hint or said.hint == hint[0]


def test_what_is_no_file_is_refused(tmp_path):
    """Of a folder is said that it is one."""
    (tmp_path / "runs.csv").mkdir()
    for name in ("runs.csv", "none.csv", "none.jsonl"):
        assert refused(read_table, tmp_path / name)[0] == ""


ROWS = [
    [[1, 2]], [{"q": [1]}], [{"q": 1}], {"q": [1, 2]}, {"q": [[1], [2]]}, {"a": "x", "q": [1]}, {"stages": {"q": [[1]]}},
]  # fmt: skip
NO_ROWS = [
    [], [1, 2], ["a"], {"q": []}, {"q": ["a"]}, {"stages": {"q": 1}}, 3, ["a", 1], [1, [2]], {"q": ["a", {"x": 1}]},
    {"name": "q"},
]  # fmt: skip


@every_case(
    ("name", "content", "expected"),
    [(name, None, True) for name in ("A.CSV", "a.tsv", "a.log", "a.txt", "a.jsonl.zst")]
    + [(name, None, False) for name in ("a.md", "csv", "none.json")]
    + [("a.json", rows, True) for rows in (*ROWS, {"stages": {"a": "x", "q": [1]}}, {"frames": [{"q": 1}]}, [[1, "a"]])]
    + [("a.json", rows, False) for rows in (*NO_ROWS, b"[[1, 2", b"[[1]]]", b"\xff[1]")],
)
def test_a_table_is_known_by_its_name_and_json_by_its_content(tmp_path, name, content, expected):
    """A missing file is refused as one, and not passed over; a settings file beside the recordings must not be read as one."""
    path = tmp_path / name if content is None else written(tmp_path, name, content)
    assert open_file(path).is_recording is expected


def test_arrays_keep_their_types_and_single_numbers_say_something_of_the_recording(tmp_path):
    """A rate is said once; an array of rates is a column."""
    path, flags = tmp_path / "run.npz", np.array([True, False])
    np.savez(path, q=np.ones((2, 3), "f4"), flags=flags, n=np.arange(2), scale=2.0, fps=[30], mode="free", clip=["a"])
    table = read_table(path)
    assert (table.said, table.is_text, table.truncation) == ({"fps": 30, "mode": "free", "clip": "a"}, False, None)
    assert {name: (values.dtype.kind, values.shape) for name, values in table.columns.items()} == {
        "q": ("f", (2, 3)), "flags": ("b", (2,)), "n": ("i", (2,)), "scale": ("f", ()),
    }  # fmt: skip
    np.savez(path, q=np.ones(2), fps=[30.0, 60.0])
    assert {name: values.tolist() for name, values in read_table(path).columns.items()} == {
        "q": [1, 1],
        "fps": [30, 60],
    }
    np.savez(path, q=["a", "b"])
    assert refused(read_table, path)[:2] == ("#q", "values of the type <U1")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("q.npy", archive.read("q.npy"))
    assert refused(read_table, path)[:2] == ("", "two arrays 'q'")
    np.savez(path, q=np.array([{"a": 1}], object))
    assert "without pickle" in refused(read_table, path)[2]
    np.save(tmp_path / "run.npy", np.array([1j]))
    assert refused(read_table, tmp_path / "run.npy")[:2] == ("", "values of the type complex128")
    np.save(tmp_path / "run.npy", np.uint8([1, 2]))
    assert read_table(tmp_path / "run.npy").columns[UNNAMED].tolist() == [1, 2]
    assert Table({}).is_text is False


def test_a_recording_is_written_as_a_table_and_as_arrays(tmp_path):
    """Each number in the shortest text that reads back as the same float32; rate and mode, which the arrays do not say."""
    rows = {"q": np.array([[0.1, -2.0], [NAN, 4.0]], np.float32), "p": np.array([[5.0], [6.0]], np.float32)}
    trace = Trace(TraceHeader(50.0, "free"), np.array([3, 5]), np.array([0.06, 0.1]), rows)
    for name in ("run.csv", "run.NPZ", "run.json"):
        write_recording(trace, tmp_path / name)
    lines = (tmp_path / "run.csv").read_text(encoding="utf-8")
    assert lines == "frame,time,mode,q[0],q[1],p[0]\n3,0.06,free,0.1,-2.0,5.0\n5,0.1,free,nan,4.0,6.0\n"
    with np.load(io.BytesIO((tmp_path / "run.NPZ").read_bytes())) as held:
        assert set(held.files) == {"frame", "time", "fps", "mode", "q", "p"}
        assert (held["fps"].item(), held["mode"].item(), held["frame"].tolist()) == (50.0, "free", [3, 5])
        np.testing.assert_array_equal(held["q"], rows["q"])
    stages = {"q": [[0.1, -2.0], ["NaN", 4.0]], "p": [[5.0], [6.0]]}
    said = {"fps": 50.0, "mode": "free", "frame": [3, 5], "time": [0.06, 0.1], "stages": stages}
    assert json.loads((tmp_path / "run.json").read_bytes()) == said
    assert refused(write_recording, trace, tmp_path / "run.xlsx")[1] == "the name run.xlsx"


def test_a_name_of_some_rows_is_left_out_and_said(tmp_path):
    """A network that is asked every second frame is logged every second frame; parts of a known vector are not unknown."""
    table = table_of_rows([{"a": 1}, {"a": 2, "b": 1}, {"b": 2, "a": 3}], tmp_path)
    assert ({name: each.tolist() for name, each in table.columns.items()}, table.partial) == (
        {"a": [1, 2, 3]},
        {"b": "2 of 3 frames"},
    )
    for rows in ([{"a": 1}, {"b": 1}], []):
        refused(table_of_rows, rows, tmp_path)
    names = ["q.hip", "q/knee", "q[2]", "temp", "temp[1]", "quat"]
    late, unknown = left_out(Table({}, partial={"late": "2 of 9 rows"}), names, {"q"})
    assert ("late" in late, "temp, quat" in unknown, "q." in unknown) == (True, True, False)
    assert list(left_out(Table({}), ["q.hip"], {"q[0]"})) == []


CONTRACT = """format = "rigpact-contract"
version = 1
name = "one_number"
fps = 30
given = [{ name = "q", size = 1 }]
stages = [{ name = "twice", operation = "affine", of = "q", scale = 2 }]
"""


def test_a_new_format_is_known_to_every_command_from_its_row(tmp_path, monkeypatch):
    """A list that was forgotten leaves recordings unread without a word, and the gate passes without them."""
    row = opened.Format(columns=lambda file: Table({"q": np.array([*map(float, file.content.decode().split("|"))])}))
    monkeypatch.setitem(opened.FORMATS, ".barred", row)
    (tmp_path / "one.toml").write_text(CONTRACT, encoding="utf-8")
    path, contract = tmp_path / "run.barred", open_contract(tmp_path / "one.toml")
    path.write_text("1|2|4", encoding="utf-8")
    assert open_file(path).is_recording
    assert opened_recording(path, contract).stages["q"].ravel().tolist() == [1.0, 2.0, 4.0]
    assert refused(opened_recording, path, None)[0] == "--contract"
    assert find_files(tmp_path).columns == [Path("run.barred")]
    shutil.copy(next(Path("fixtures/bundles").glob("*/*.onnx")), tmp_path / "policy.onnx")
    assert "run.barred" in draft_of_folder(look_into(tmp_path)).header[0]
    path.write_text("[DeltaCompose]|", encoding="utf-8")
    assert open_file(path).kind is Kind.COLUMNS


def test_every_format_that_is_written_is_read_again():
    """A file that rigpact converts to and cannot open is lost work."""
    written = [each for each in opened.FORMATS.values() if each.write]
    assert len(written) >= 3
    assert [each for each in written if not (each.columns or each.trace)] == []


BUNDLES = Path("fixtures/bundles")
KINDS = {
    BUNDLES / "demo/norm_template.json": Kind.BUNDLE, BUNDLES / "demo/pretrain_template.json": Kind.COMPANION,
    BUNDLES / "demo/model.onnx": Kind.MODEL, BUNDLES / "demo/clips/Run_F.json": Kind.RAW_CLIP,
    BUNDLES / "robot/contract.toml": Kind.DECLARATION, BUNDLES / "robot/run.csv": Kind.COLUMNS,
    Path("pyproject.toml"): Kind.SETTINGS,
    Path("README.md"): None, BUNDLES / "imu_pose/imu_pose.json": Kind.SYSTEM_CONTRACT, Path(__file__): Kind.SCRIPT,
    Path("none.trace.bin"): Kind.TRACE,
}  # fmt: skip
CONTENTS = [
    ("engine.out", b"LogTemp: [DeltaCompose] frame=1 \n", Kind.ENGINE_LOG),
    ("engine.csv", "[Schema OK] X=1".encode("utf-16"), Kind.ENGINE_LOG),
    ("template.bak", b'{"MuX": [1], "MuY": [2]}', Kind.BUNDLE),
    ("table.json", b'{"q": [1.0, 2.0]}', Kind.COLUMNS), ("cut.json", b'{"MuX": [1', None),
    ("other.json", b'{"name": "q"}', None),
    ("log.trace.jsonl", b'{"q": [1.0]}\n', Kind.COLUMNS),
    *(("a.trace.jsonl", each.encode(), Kind.COLUMNS) for each in (
        '{"frame": 0, "q": 1.0}', "[1.0, 2.0]", '{"a": 1, "q": [1.0]}')),
    *(("a.trace.jsonl", each.encode(), Kind.TRACE) for each in (
        '{"format": "rigpact-trace", "version": 1}\n', '{"format": "x", "q": [1.0]}', '{"version": 1, "frame": 0}',
        '{"producer": {}, "frame": 0}', '{"q": 1.0}', "3", "", "\n", "{")),
]  # fmt: skip


@every_case(("path", "content", "kind"), [*((path, None, kind) for path, kind in KINDS.items()), *CONTENTS])
def test_a_kind_is_told_by_what_a_file_holds(tmp_path, path, content, kind):
    """A file that one module took for a table was a document for the next; its name counts only where files look alike."""
    if content is not None:
        path = tmp_path / path
        path.write_bytes(content)
    assert open_file(path).kind is kind
