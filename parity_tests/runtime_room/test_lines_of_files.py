"""Lines of plain and compressed files, and the JSON of one line: ends, limits, words for what is not finite. Written by hand."""

import gzip
import json

import zstandard

from rigpact.contract.files import reading
from rigpact.reference_runtime.recordings.trace_lines import json_line, lines_of

from ..every_case import every_case
from .trace_files import refused

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
