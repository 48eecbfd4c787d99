"""Lines of plain and compressed files, and the JSON of one line: ends, limits, words for what is not finite. Written by hand."""

import gzip
import json

import pytest
import zstandard

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import reading
from rigpact.reference_runtime.recordings.json_lines import cut_off_text, json_line, lines_of

from ..every_case import every_case


def test_lines_and_the_rest_after_the_last(tmp_path):
    """A last line without its end was cut off, or is being written."""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\n\nb\nc")
    assert list(lines_of(path)) == [(b"a", True), (b"", True), (b"b", True), (b"c", False)]
    path.write_bytes(b"a\n")
    assert list(lines_of(path)) == [(b"a", True)]


@pytest.mark.parametrize(("empty", "is_refused"), [(4096, False), (4097, True)])
def test_thousands_of_empty_lines_in_succession_are_refused(tmp_path, empty, is_refused):
    """A file of nothing but line ends would be read for hours; a few thousand between two frames are a log's habit."""
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\n" * empty)
    if is_refused:
        with pytest.raises(UnusableInput, match="more than 4096 empty lines"):
            list(lines_of(path))
    else:
        assert len(list(lines_of(path))) == 4096
    path.write_bytes(b"a\n" + b"\n" * 4096 + b"b\n" + b"\n" * empty + b"c\n")
    if is_refused:
        with pytest.raises(UnusableInput, match="more than 4096 empty lines"):
            list(lines_of(path))
    else:
        assert len(list(lines_of(path))) == 3 + 2 * 4096


@pytest.mark.parametrize(
    ("line", "found"),
    [(b"password", "'p'"), (b'{"a": [' + b"1, " * 40, repr('{"a": [' + "1, " * 11)), (b"[1,\xff", "'[1,\ufffd'")],
)
def test_of_a_line_that_is_no_json_its_beginning_is_shown(line, found):
    """Of a file that nobody meant to show, its first character; of a torn frame enough to know it again."""
    with pytest.raises(UnusableInput) as refused:
        json_line(line, "here")
    assert (refused.value.place, refused.value.found) == ("here", found)


@pytest.mark.parametrize("before", [b"", b"a\n"])
@pytest.mark.parametrize(("size", "is_refused"), [(1 << 26, False), ((1 << 26) + 1, True)])
def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, before, size, is_refused):
    """Three million numbers are one frame; more is a file that never ends its line."""
    path = tmp_path / "line.jsonl"
    with path.open("wb") as stream:
        stream.write(before)
        stream.truncate(len(before) + size)
    if is_refused:
        with pytest.raises(UnusableInput, match=f"a line of more than {1 << 26} bytes"):
            list(lines_of(path))
    else:
        line, whole = [*lines_of(path)][-1]
        assert (len(line), whole) == (size, False)


@pytest.mark.parametrize("lost", [1, 4, 8])
def test_a_compressed_file_that_was_cut_off_says_so_after_its_last_line(tmp_path, lost):
    """Every line is there and only the checksum is missing: still nobody knows what came after."""
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip.compress(b"a\nb\n")[:-lost])
    assert list(lines_of(path)) == [(b"a", True), (b"b", True), (b"", False)]


def packed(text):
    return zstandard.ZstdCompressor().compress(text)


PASSED_OVER = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"any"
"""A frame that holds no text: RFC 8878, section 3.1.2."""


@pytest.mark.parametrize(
    ("content", "lines", "is_whole"),
    [
        (packed(b"a\n") + packed(b"b\nc\n"), b"abc", True),
        (packed(b"a\n") + PASSED_OVER + packed(b"b\n"), b"ab", True),
        (packed(b"a\n") + PASSED_OVER, b"a", True),
        (packed(b"a\n") + packed(b"b\n")[:3], b"a", False),
        (packed(b"a\n") + packed(b"b\n")[:4], b"a", False),
        (packed(b"a\nb\n")[:7], b"", False),
    ],
)
def test_frames_of_zstandard_one_after_the_other_are_one_file(tmp_path, content, lines, is_whole):
    """A recorder that goes on appends a frame; one that was stopped leaves the beginning of one."""
    path = tmp_path / "lines.jsonl.zst"
    path.write_bytes(content)
    found = [*lines_of(path)]
    assert b"".join(line for line, whole in found if whole) == lines
    assert [each for each in found if not each[1]] == ([] if is_whole else [(b"", False)])


@pytest.mark.parametrize("after", [b"x", b"xyz", b"\x28x", b"xyzabc"])
def test_bytes_after_the_end_are_damage(tmp_path, after):
    """Something else was written there: nobody knows what it replaced."""
    path = tmp_path / "lines.jsonl.zst"
    path.write_bytes(packed(b"a\n") + after)
    with pytest.raises(UnusableInput, match="damaged data"):
        list(lines_of(path))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_lines_that_a_windows_shell_wrote(tmp_path, encoding):
    """`>` of an old one writes UTF-16."""
    path = tmp_path / "lines.jsonl"
    path.write_bytes('["ä"]\n[2]\n'.encode(encoding))
    assert [(line.decode(), whole) for line, whole in lines_of(path)] == [('["ä"]', True), ("[2]", True)]


@pytest.mark.parametrize(("times", "more"), [(3, 0), (3, 1)])
def test_a_few_bytes_that_unpack_without_end_are_refused(tmp_path, monkeypatch, times, more):
    """At most so many bytes and so many times the file's own: one byte more is refused, and no byte less."""
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip.compress(b"a\n" * 5000))
    monkeypatch.setattr(reading, "_UNPACKED_TIMES", times)
    monkeypatch.setattr(reading, "_UNPACKED_BYTES", 10_000 - more - times * path.stat().st_size)
    if more:
        with pytest.raises(UnusableInput, match="that unpack to 10000 or more"):
            list(lines_of(path))
    else:
        assert len(list(lines_of(path))) == 5000


def test_words_that_c_prints_for_what_is_not_finite():
    """NaN has no sign; an infinite number keeps it. In a name they are left alone."""
    line = b'{"nan": [nan, -nan, NaN(0x1), 1.#QNAN, -1.#IND], "inf": [inf, -inf, +Infinity, -1.#INF00 , 1.#INF], "a": "nan"}'
    assert json_line(line, "here") == {
        "nan": ["NaN"] * 5, "inf": ["Infinity", "-Infinity", "Infinity", "-Infinity", "Infinity"], "a": "nan",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "key"),
    [(b'{"a": 1, "a": 2}', "/a"), (b'{"a": {"b": 1, "c": 2, "b": 1}}', "/a/b"), (b'{"a": nan, "a": 2}', "/a")],
)
def test_a_key_that_stands_twice_is_refused(line, key):
    """Two parsers read two different frames."""
    with pytest.raises(UnusableInput, match="a key that stands twice") as refused:
        json_line(line, "here")
    assert refused.value.place == f"here#{key}"


@pytest.mark.parametrize("value", [{"a": {"b": 1}, "c": [{"d": 1}]}, {"a": 'x":y'}, [{"a": 1}, {"a": 2}], {}, 3])
def test_a_key_that_stands_once_in_each_object_is_none(value):
    """Frames in a list have the same names."""
    assert json_line(json.dumps(value).encode(), "here") == value


@every_case(
    ("line", "whole", "is_cut_off"),
    [
        (b"", False, True), (b" ", False, True), (b'{"a": [1, 2', False, True), (b' {"a', False, True),
        (b'{"a": nan', False, True),
        (b"[1, 2", False, False), (b"abc", False, False), (b'{"a": 1} x', False, False), (b'{"a": 1}}', False, False),
        (b"", True, False), (b'{"a": [1, 2', True, False),
    ],
)  # fmt: skip
def test_the_beginning_of_a_frame_was_cut_off_and_anything_else_is_damage(line, whole, is_cut_off):
    """A frame with other bytes behind it was not cut off: something wrote over the file."""
    said = "cut off in line 7, after 3 whole frames" if is_cut_off else None
    assert cut_off_text(line, whole, 7, 3) == said


@pytest.mark.parametrize(
    "value", [b"[" * 65 + b"]" * 65, b'{"a":' * 70 + b"1" + b"}" * 70, b"[" * 900 + b"NaN" + b"]" * 900]
)
def test_a_line_that_is_nested_without_sense_is_refused_at_once(value):
    """Whoever shows a part of it, or compares two of it, ends in a recursion that nobody expects."""
    with pytest.raises(UnusableInput, match="nested"):
        json_line(b'{"bones": ' + value + b"}", "t:1")


@pytest.mark.parametrize("value", [b"[" * 63 + b"]" * 63, b'"' + b"[" * 70 + b'"', b"[" + b"[1]," * 70 + b"[1]]"])
def test_brackets_that_are_no_depth_are_read(value):
    """A recording has a pair of brackets for each bone, and a name may hold any."""
    assert json_line(b'{"bones": ' + value + b"}", "t:1") == json.loads(b'{"bones": ' + value + b"}")
