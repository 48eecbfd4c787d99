"""Strictness of reading JSON does not depend on how quickly it is read: what hides behind a number is found too."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json

LEAVES = st.one_of(
    st.integers(-9, 9), st.floats(allow_nan=False, width=16), st.sampled_from(["", "[", "{", '":', "\\"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab["), inner, max_size=3),
    max_leaves=30,
)


def depth_of(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max((depth_of(child) for child in children), default=0)


def nested(value: Any, levels: int) -> Any:
    """Wrap a value in lists that begin with a number."""
    for _ in range(levels):
        value = [0.5, value]
    return value


@example([1, {"a": 1}], MAX_JSON_DEPTH - 2, None)
@example([1, {"a": 1}], MAX_JSON_DEPTH - 1, None)
@given(VALUES, st.integers(MAX_JSON_DEPTH - 5, MAX_JSON_DEPTH + 2), st.sampled_from([None, 1]))
def test_nesting_is_refused_where_it_is_too_deep_and_nowhere_else(value: Any, levels: int, indent: int | None) -> None:
    """A hostile file that nests behind numbers must not reach code that recurses."""
    deep = nested(value, levels)
    content = json.dumps(deep, indent=indent).encode()
    if depth_of(deep) > MAX_JSON_DEPTH:
        with pytest.raises(UnusableInput, match="nested levels"):
            bytes_to_json(content, "deep.json")
    else:
        assert bytes_to_json(content, "deep.json").data == deep


@pytest.mark.parametrize("space", ["", " ", "\n\t"])
@pytest.mark.parametrize("place", ['[1, {"a"S:1, "a"S:2}]', '{"rows"S:[0.5, 1, {"a"S:[2], "a"S:[3]}]}'])
def test_a_repeated_key_behind_numbers_is_found(place: str, space: str) -> None:
    """The engine keeps the first value, Python the last: they load different numbers."""
    found = bytes_to_json(place.replace("S", space).encode(), Path("x.json")).repeated_keys
    assert [pointer.rsplit("/", 1)[1] for pointer in found] == ["a"]


def test_text_that_looks_like_structure_is_text() -> None:
    """A bone called `"[{":` is an odd name and no repeated key."""
    assert bytes_to_json(json.dumps({"names": [1, '"[{":', "[[["], '":': 2}).encode(), "x.json").repeated_keys == ()
