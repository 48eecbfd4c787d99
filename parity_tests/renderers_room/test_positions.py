"""Line and column of a JSON pointer, against a writer that knows where it put each value."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigpact.reports.renderers.places import Position, positions

from ..every_case import every_case

KEYS = st.sampled_from(["a", "b", "~1", "~0", "a/b", "/", "", "0", "é😀", '"\\', "\u2028 "])  # few, so that keys repeat
SCALARS = st.sampled_from(
    ["1", "-0.5e+3", "true", "null", "NaN", "-Infinity", '"x"', '"]}\\",:["', '"é😀"', '"\\u0041\\\\"']
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(KEYS, inner), max_size=4).map(tuple),
    max_leaves=12,
)  # fmt: skip
SPACES = st.sampled_from(["", "", " ", "\n", "\r\n", "\t", " \r\n\n "])


class Writer:
    """Writes JSON with any spacing and notes the offset of every value; of a repeated key the last counts."""

    def __init__(self, space, *, escape_keys):
        self.text, self.at, self.space, self.escape_keys = "", {}, space, escape_keys

    def write(self, value, pointer):
        for known in [each for each in self.at if each.startswith(pointer + "/")]:
            del self.at[known]
        if isinstance(value, str):
            self.at[pointer] = (len(self.text), len(value))
            self.text += value
            return
        self.at[pointer] = (len(self.text), 1)
        self.text += ("{" if isinstance(value, tuple) else "[") + self.space()
        for index, item in enumerate(value):
            if index:
                self.text += "," + self.space()
            if isinstance(value, tuple):
                key, inner = item
                self.text += json.dumps(key, ensure_ascii=self.escape_keys) + self.space() + ":" + self.space()
                self.write(inner, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
            else:
                self.write(item, f"{pointer}/{index}")
            self.text += self.space()
        self.text += "}" if isinstance(value, tuple) else "]"


def counted(text, offset, length):
    """Line and column by walking over every character."""
    line, column = 1, 1
    for character in text[:offset]:
        line, column = (line + 1, 1) if character == "\n" else (line, column + 1 + (ord(character) > 0xFFFF))
    return Position(line, column, column + sum(1 + (ord(each) > 0xFFFF) for each in text[offset : offset + length]))


@settings(deadline=None)
@given(value=VALUES, data=st.data(), mark=st.sampled_from(["", "\ufeff"]), escape_keys=st.booleans())
def test_every_value_is_found_where_it_was_written(value, data, mark, escape_keys):
    """An annotation one line off sends its reader to the wrong bone."""
    spacing = data.draw(st.lists(SPACES, min_size=1, max_size=6))
    count = iter(range(10**9))
    writer = Writer(lambda: spacing[next(count) % len(spacing)], escape_keys=escape_keys)
    writer.write(value, "")
    found = positions(mark + writer.text, list(writer.at))
    assert found == {pointer: counted(writer.text, *span) for pointer, span in writer.at.items()}


@settings(deadline=None)
@given(value=VALUES, tail=st.sampled_from(["/no", "/99", "/-", "/01", "/no/0/such"]))
def test_what_is_missing_is_found_at_the_nearest_value_around_it(value, tail):
    """`RP021 missing-key` points at a key that is not there; the reader wants to see where it should be."""
    writer = Writer(str, escape_keys=False)
    writer.write(value, "")
    for pointer, span in writer.at.items():
        if not any(known.startswith(f"{pointer}/{tail.split('/')[1]}") for known in writer.at):
            assert positions(writer.text, [pointer + tail])[pointer + tail] == counted(writer.text, *span)


@every_case(
    "text",
    ["", " ", "{", '{"a"', '{"a":}', '{"a":1,}', "[1,2", '{"a":1}{"a":2}', '{"a":1}\n{"a":2}\n', "[1]x", '"open', "\x08\x01"],
)  # fmt: skip
def test_nothing_is_found_in_what_is_not_one_json_value(text):
    """A trace is one JSON object a line: a finding about a later frame must not point at the first line."""
    assert positions(text, ["/a", ""]) == {}


@pytest.mark.parametrize(
    ("text", "pointer", "column"),
    [
        ('{"a": []}', "/a/3", 7), ('{"a": [ ]}', "/a/0", 7), ('{"a": [[], [1, 2]]}', "/a/1/1", 16),
        ('{"a": [{"b": [ {"c": "]"} ]}, 5]}', "/a/1", 31), ("[\t]", "/2", 1),
    ],
)  # fmt: skip
def test_places_in_arrays_without_that_place_are_those_of_the_array(text, pointer, column):
    """A finding about a row that is missing points at the array that should hold it."""
    found = positions(text, [pointer])[pointer]
    assert (found.line, found.column) == (1, column)
