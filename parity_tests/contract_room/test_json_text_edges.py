"""Text that is nearly JSON, written by hand: what is read, what is refused, and the place that the error names."""

import math

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files.json_text import bytes_to_json, bytes_to_toml

from ..every_case import every_case


def refused(content, read=bytes_to_json):
    with pytest.raises(UnusableInput) as error:
        read(content, "a.json")
    return error.value


@every_case(
    ("content", "place", "found"),
    [
        (b'{"a": }', "a.json:1:7", "'}'"), (b'{"a": ', "a.json:1:7", "the end of the file"),
        (b'{"a":\n 1,\n}', "a.json:3:1", "'}'"),
        (b'["a\nb"]', "a.json:1:4", repr("\n")), (b'["a', "a.json:1:2", "'\"'"),
        (b"[1, 2", "a.json:1:6", "the end of the file"), (b"secret = 1", "a.json:1:1", "'s'"),
        (b"[" + b"9" * 5000 + b"]", "a.json", "a whole number with thousands of digits"),
    ],
)  # fmt: skip
def test_the_place_of_what_is_no_json_is_its_line_and_column(content, place, found):
    """Somebody opens the file there; of a file that nobody meant to show, no more than one character is shown."""
    error = refused(content)
    assert (error.place, error.found) == (place, found)


@pytest.mark.parametrize("content", [b'{"a": "\xff"}', b'{"a": "\x00"}', b"\x89PNG\r\n\x1a\n\x00"])
def test_bytes_that_are_not_text_are_called_so(content):
    """Somebody gave the model in place of the bundle."""
    error = refused(content)
    assert (error.found, error.hint) == ("bytes that are not text", "a binary file?")
    assert error.place.startswith("a.json:1:")


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[0, {"a":', b"}]")])
def test_sixty_four_levels_are_read_and_one_more_is_not(opening, closing):
    """The deepest valid file has six levels; a bomb of brackets must not end the process."""
    levels = opening.count(b"[") + opening.count(b"{")
    most = 64 // levels
    assert bytes_to_json(opening * most + b"1" + closing * most, "a.json").standard
    assert "more than 64 nested levels" in refused(opening * (most + 1) + b"1" + closing * (most + 1)).found


def test_a_level_behind_a_number_counts():
    """Rows of numbers are not looked at one by one, and what stands behind them is."""
    most = b"[" * 62 + b"[1, []]" + b"]" * 62
    assert bytes_to_json(most, "a.json").standard
    assert "more than 64 nested levels" in refused(b"[" + most + b"]").found


def test_a_key_that_stands_twice_behind_a_long_text_is_found():
    """The brackets and the keys are counted in blocks; a bracket inside a text is none."""
    content = b'{"a": "' + b"x" * 140_000 + b'[", "b": 1, "b": 2}'
    assert bytes_to_json(content, "a.json").repeated_keys == ("/b",)


@pytest.mark.parametrize("levels", [1500, 100_000])
def test_a_bomb_of_brackets_is_refused(levels):
    """Parsers end at different depths, and one of them with an error of its own."""
    assert "more than 64 nested levels" in refused(b"[" * levels + b"]" * levels).found


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_json_does_not_have_are_read_and_said(number):
    """Python writes them; the engine's parser refuses the file."""
    read = bytes_to_json(b'{"a": [1, ' + number + b"]}", "a.json")
    assert not read.standard
    assert not math.isfinite(read.data["a"][1])
    assert bytes_to_json(b'{"a": [1, 2]}', "a.json").standard


def test_a_mark_of_the_byte_order_is_no_part_of_the_text():
    """Windows editors put it there."""
    read = bytes_to_json(b'\xef\xbb\xbf{"a": 1, "a": 2}', "a.json")
    assert (read.data, read.standard, read.repeated_keys) == ({"a": 2}, True, ("/a",))


@every_case(
    ("content", "pointers"),
    [
        (b"{}", ()), (b"[]", ()), (b'{"a": 1, "b": {"a": 1}}', ()), (b'{"a": 1, "a": 2}', ("/a",)),
        (b'{"a" : 1, "a" \t: 2}', ("/a",)), (b'{"a": {"b": 1, "b": 2, "c": 3, "c": 4}}', ("/a/b", "/a/c")),
        (b'[{"x": 1}, {"x": 1, "x": 1}]', ("/1/x",)), (b'{"a/b": 1, "a/b": 2}', ("/a~1b",)),
        (b'{"a": {"b": 1, "b": 2}, "a": 3}', ("/a",)), (b'{"text": "\\": 1", "b": 2}', ()),
        (b'{"a": [[1, 2], {"k": 1, "k": 2}]}', ("/a/1/k",)),
        (b'{"a": [1, {"k": 1, "k": 2}]}', ("/a/1/k",)), (b'{"a": 1, "a": 1, "a": 1}', ("/a",)),
        (b'{"a": 1, "a": [1, []]}', ("/a",)), (b'{"a": 1, "a": ["x", "y"]}', ("/a",)), (b'[1, {"a": 1, "a": 2}]', ("/1/a",)),
        (b'{"a":"x:","a":1}', ("/a",)), (b'{"a":"x","a":1}', ("/a",)), (b'{"a":1,"a" :2}', ("/a",)),
        (b'{":a":":x",":a":1}', ("/:a",)), (b'"abc"', ()), (b"3", ()),
    ],
)  # fmt: skip
def test_every_key_that_stands_twice_is_found(content, pointers):
    """One parser takes the first, another the last: the two halves then have different numbers."""
    assert bytes_to_json(content, "a.json").repeated_keys == pointers


def test_keys_are_counted_across_pieces_of_a_large_text():
    """The text is looked at in pieces; a quote at the end of one belongs to the colon of the next."""
    for filler in range((1 << 17) - 14, (1 << 17) + 2):
        content = b'{"p": "' + b"x" * filler + b'", "k": 1, "k": 2}'
        assert bytes_to_json(content, "a.json").repeated_keys == ("/k",)
        assert bytes_to_json(content.replace(b'"k": 2', b'"m": 2'), "a.json").repeated_keys == ()


def test_a_key_at_the_end_of_a_large_text_is_counted():
    """Only the last piece holds it."""
    content = b'{"k": 1, "k": 2, "p": "' + b"x" * (1 << 17) + b'", "z": 1}'
    assert bytes_to_json(content, "a.json").repeated_keys == ("/k",)
    assert bytes_to_json(content.replace(b" ", b""), "a.json").repeated_keys == ("/k",)


def test_the_bytes_of_a_file_are_not_shown_with_it():
    """A message about a clip must not hold a hundred megabytes."""
    assert "content" not in repr(bytes_to_json(b"[1]", "a.json"))


def test_toml_is_refused_as_json_is():
    """Settings are read by the same rules."""
    assert bytes_to_toml(b"\xef\xbb\xbfa = 1\n", "a.toml").data == {"a": 1}
    assert refused(b"a = \xff", bytes_to_toml).found == "bytes that are not text"
    assert refused(b"a = ", bytes_to_toml).found.startswith("text that is not TOML")
    assert refused(b"a = " + b"9" * 5000, bytes_to_toml).found.startswith("text that is not TOML")
    assert "more than 64 nested levels" in refused(b"a = " + b"[" * 64 + b"]" * 64, bytes_to_toml).found
    assert bytes_to_toml(b"a = " + b"[" * 63 + b"]" * 63, "a.toml").standard
