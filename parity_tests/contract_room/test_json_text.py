"""JSON and TOML as text: what is read, what is refused and where; keys that stand twice, levels too deep."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH
from rigpact.contract.files.json_text import bytes_to_json, bytes_to_toml

from ..every_case import every_case

LEAVES = st.one_of(
    st.integers(-9, 9), st.floats(allow_nan=False, width=16), st.sampled_from(["", "[", "{", '":', "\\", 'x":y'])
)
KEYS = st.sampled_from(["a", "b/c", "~", 'q"', ":", "["])
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(KEYS, inner), max_size=4), max_leaves=30
)
"""Objects are lists of pairs, so that a key can stand twice."""


def refused(content, read=bytes_to_json):
    with pytest.raises(UnusableInput) as error:
        read(content, "a.json")
    return error.value


@every_case(
    ("content", "place", "found"),
    [
        (b'{"a": }', "a.json:1:7", "'}'"), (b'{"a": ', "a.json:1:7", "the end of the file"),
        (b'{"a":\n 1,\n}', "a.json:3:1", "'}'"), (b'["a\nb"]', "a.json:1:4", repr("\n")), (b'["a', "a.json:1:2", "'\"'"),
        (b"[1, 2", "a.json:1:6", "the end of the file"), (b"secret = 1", "a.json:1:1", "'s'"),
        (b"[" + b"9" * 5000 + b"]", "a.json", "a whole number with thousands of digits"),
        *((content, "a.json:1:", "bytes that are not text")
          for content in (b'{"a": "\xff"}', b'{"a": "\x00"}', b"\x89PNG\r\n\x1a\n\x00")),
    ],
)  # fmt: skip
def test_the_place_of_what_is_no_json_is_its_line_and_column(content, place, found):
    """Somebody opens the file there; of a file that nobody meant to show, no more than one character is shown."""
    error = refused(content)
    assert error.found == found
    assert error.place.startswith(place) if place.endswith(":") else error.place == place


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_json_does_not_have_are_read_and_said(number):
    """Python writes them; the engine's parser refuses the file."""
    read = bytes_to_json(b'{"a": [1, ' + number + b"]}", "a.json")
    assert not read.standard
    assert not math.isfinite(read.data["a"][1])
    assert bytes_to_json(b'{"a": [1, 2]}', "a.json").standard


PIECE = 1 << 17
"""The text is looked at in pieces of this size; a quote at the end of one belongs to the colon of the next."""


@every_case(
    ("content", "pointers"),
    [
        (b"{}", ()), (b"[]", ()), (b'{"a": 1, "b": {"a": 1}}', ()), (b'{"a": 1, "a": 2}', ("/a",)),
        (b'{"a" : 1, "a" \t: 2}', ("/a",)), (b'{"a": {"b": 1, "b": 2, "c": 3, "c": 4}}', ("/a/b", "/a/c")),
        (b'[{"x": 1}, {"x": 1, "x": 1}]', ("/1/x",)), (b'{"a/b": 1, "a/b": 2}', ("/a~1b",)),
        (b'{"a": {"b": 1, "b": 2}, "a": 3}', ("/a",)), (b'{"text": "\\": 1", "b": 2}', ()),
        (b'{"a": [[1, 2], {"k": 1, "k": 2}]}', ("/a/1/k",)), (b'{"a": [1, {"k": 1, "k": 2}]}', ("/a/1/k",)),
        (b'{"a": 1, "a": 1, "a": 1}', ("/a",)), (b'{"a": 1, "a": [1, []]}', ("/a",)), (b'{"a": 1, "a": ["x", "y"]}', ("/a",)),
        (b'[1, {"a": 1, "a": 2}]', ("/1/a",)), (b'{"a":"x:","a":1}', ("/a",)), (b'{"a":"x","a":1}', ("/a",)),
        (b'{"a":1,"a" :2}', ("/a",)), (b'{":a":":x",":a":1}', ("/:a",)), (b'"abc"', ()), (b"3", ()),
        (b'{"rows"\n\t:[0.5, 1, {"a"\n\t:[2], "a"\n\t:[3]}]}', ("/rows/2/a",)),
        (json.dumps({"names": [1, '"[{":', "[[["], '":': 2}).encode(), ()),
        (b'{"a": "' + b"x" * 140_000 + b'[", "b": 1, "b": 2}', ("/b",)),
        *((b'{"p": "' + b"x" * filler + b'", "k": 1, "k": 2}', ("/k",)) for filler in range(PIECE - 14, PIECE + 2)),
        *((b'{"p": "' + b"x" * filler + b'", "k": 1, "m": 2}', ()) for filler in range(PIECE - 14, PIECE + 2)),
        (b'{"k": 1, "k": 2, "p": "' + b"x" * PIECE + b'", "z": 1}', ("/k",)),
        (b'{"k":1,"k":2,"p":"' + b"x" * PIECE + b'","z":1}', ("/k",)),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_every_key_that_stands_twice_is_found(content, pointers):
    """One parser takes the first, another the last: the two halves then have different numbers."""
    assert bytes_to_json(content, "a.json").repeated_keys == pointers


def is_object(tree):
    return isinstance(tree, list) and bool(tree) and all(isinstance(child, tuple) for child in tree)


def as_text(tree, repeated, path=""):
    """Write a tree as a JSON writer that knows no dictionary would; note the keys that stand twice."""
    if is_object(tree):
        here = [f"{path}/{name.replace('~', '~0').replace('/', '~1')}" for name, _ in tree]
        repeated += sorted({place for place in here if here.count(place) > 1})
        last, parts = {name: index for index, (name, _) in enumerate(tree)}, []
        for index, (name, child) in enumerate(tree):
            inner: list[str] = []
            parts.append(f"{json.dumps(name)} : {as_text(child, inner, here[index])}")
            repeated += inner if last[name] == index else []
        return "{" + ", ".join(parts) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(as_text(child, repeated, f"{path}/{index}") for index, child in enumerate(tree)) + "]"
    return json.dumps(tree)


def depth_of(tree):
    children = dict(tree).values() if is_object(tree) else tree  # what a repeated key loses is nowhere any more
    return 1 + max(map(depth_of, children), default=0) if isinstance(tree, list) else 0


@example([1, [("a", 1)]], MAX_JSON_DEPTH - 2)
@example([1, [("a", 1)]], MAX_JSON_DEPTH - 1)
@example([("a", 1), ("a", [])], 1)
@given(TREES, st.integers(0, 3) | st.integers(MAX_JSON_DEPTH - 5, MAX_JSON_DEPTH + 2))
def test_nesting_and_repeated_keys_hide_behind_nothing(tree, levels):
    """A hostile file that nests behind numbers must not reach code that recurses; a repeated key is found at any depth."""
    for _ in range(levels):
        tree = [0.5, tree]
    expected: list[str] = []
    content = as_text(tree, expected).encode()
    if depth_of(tree) > MAX_JSON_DEPTH:
        assert "more than 64 nested levels" in refused(content).found
    else:
        assert sorted(bytes_to_json(content, "tree.json").repeated_keys) == sorted(expected)


@every_case(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[0, {"a":', b"}]")])
def test_sixty_four_levels_are_read_and_one_more_is_not(opening, closing):
    """The deepest valid file has six levels; a bomb of brackets must not end the process."""
    most = 64 // (opening.count(b"[") + opening.count(b"{"))
    assert bytes_to_json(opening * most + b"1" + closing * most, "a.json").standard
    for levels in (most + 1, 1500, 100_000):
        assert "more than 64 nested levels" in refused(opening * levels + b"1" + closing * levels).found


def test_a_mark_of_the_byte_order_is_no_part_of_the_text():
    """Windows editors put it there; a message about a clip must not hold a hundred megabytes."""
    read = bytes_to_json(b'\xef\xbb\xbf{"a": 1, "a": 2}', "a.json")
    assert (read.data, read.standard, read.repeated_keys) == ({"a": 2}, True, ("/a",))
    assert "content" not in repr(read)


def test_toml_is_refused_as_json_is():
    """Settings are read by the same rules."""
    assert bytes_to_toml(b"\xef\xbb\xbfa = 1\n", "a.toml").data == {"a": 1}
    assert refused(b"a = \xff", bytes_to_toml).found == "bytes that are not text"
    for content in (b"a = ", b"a = " + b"9" * 5000):
        assert refused(content, bytes_to_toml).found.startswith("text that is not TOML")
    assert "more than 64 nested levels" in refused(b"a = " + b"[" * 64 + b"]" * 64, bytes_to_toml).found
    assert bytes_to_toml(b"a = " + b"[" * 63 + b"]" * 63, "a.toml").standard
