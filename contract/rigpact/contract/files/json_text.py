"""Reading text, JSON and TOML strictly, so that the same bad input gives the same clear error in every command.

Text is UTF-8, with or without a byte order mark, or UTF-16, as Windows shells and Excel write it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files.reading import read_bytes
from rigpact.contract.json_pointer import json_containers, json_pointer

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def encoding_of(content: bytes) -> str:
    """The encoding of a text, by its first bytes. Plain text begins with a sign below 256: in UTF-16 a zero is beside it."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    begin = content[:2]
    if len(begin) == 2 and begin.count(0) == 1:
        return "utf-16-be" if begin[0] == 0 else "utf-16-le"
    return "utf-8"


def decoded(content: bytes, path: str | Path) -> str:
    """The text of a file; UnusableInput for bytes that are none."""
    encoding = encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"bytes that are not text (byte {error.start})"
        raise UnusableInput(path, where, "UTF-8 or UTF-16 text", "a binary file, or one that was cut off?") from None
    if "\0" in text:
        raise UnusableInput(path, "a zero in the text", "UTF-8 or UTF-16 text", "a binary file?")
    return text


MAX_JSON_DEPTH = 64
"""The deepest valid file (a raw clip) nests 6 levels; orjson itself stops at 1024."""
_KEY = rb"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_KEY = re.compile(rb"(?<![\w.-])(?:%s\.[ \t]*+){%d}" % (_KEY, MAX_JSON_DEPTH))
"""A dotted TOML key of as many parts: tomllib takes the square of its length, in time and in memory."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class JsonFile:
    """A parsed JSON file: where it came from, its bytes, the value.

    `standard` is False when the text held NaN, Infinity or a number beyond float64: the engine's parser refuses those.
    `repeated_keys` are pointers to the keys that stand more than once in their object; `data` holds the last of them.
    """

    path: Path
    content: bytes = field(repr=False)
    data: Any
    standard: bool
    repeated_keys: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the bytes, computed when first read."""
        return hashlib.sha256(self.content).hexdigest()

    def with_each_key_once(self) -> JsonFile:
        """The file; UnusableInput for a key that stands twice: two parsers read two files."""
        for pointer in self.repeated_keys:
            raise UnusableInput(
                f"{self.path}#{pointer}", "a key that stands twice", "every key once", "two parsers differ"
            )
        return self


def read_json(path: str | Path, *, is_updated: bool = False) -> JsonFile:
    """Parse a JSON file; UnusableInput names line and column when it is not JSON.

    NaN, Infinity and numbers beyond float64 are not JSON, but Python writes them. They are kept, and `standard` is False.
    is_updated: the command writes the file again.
    """
    return bytes_to_json(read_bytes(path, is_updated=is_updated), path)


def read_toml(path: str | Path) -> JsonFile:
    """Parse a TOML file; UnusableInput names line and column when it is not TOML."""
    return bytes_to_toml(read_bytes(path), path)


def bytes_to_toml(content: bytes, path: str | Path) -> JsonFile:
    """Parse the bytes of a TOML file; errors call it `path`."""
    if _DEEP_KEY.search(content):
        raise _too_deep(path)
    try:
        data = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UnusableInput(path, "bytes that are not text", "UTF-8 TOML", "a binary file?") from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:  # also of an integer with thousands of digits
        raise UnusableInput(path, f"text that is not TOML ({error})", "TOML") from None
    _refuse_deep_nesting(data, path)
    return JsonFile(Path(path), content, data, standard=True)


def bytes_to_json(content: bytes, path: str | Path) -> JsonFile:
    """Parse the bytes of a JSON file; errors call it `path`."""
    data, standard = _parsed(content, path)
    _refuse_deep_nesting(data, path)
    # Without escapes, text with more quotes than its value written anew has lost something on the way: a key that stands twice
    is_whole = standard and b"\\u" not in content and content.count(b'"') == orjson.dumps(data).count(b'"')
    repeated = () if is_whole else tuple(_repeated_keys(content))
    return JsonFile(Path(path), content, data, standard, repeated)


def _parsed(content: bytes, place: object) -> tuple[Any, bool]:
    """Return (value, standard) of JSON text; errors call it `place`."""
    content = content.removeprefix(_BYTE_ORDER_MARK)  # as Windows editors write it
    try:
        return orjson.loads(content), True
    except RecursionError:
        raise _too_deep(place) from None
    except orjson.JSONDecodeError as refusal:
        return _parse_leniently(content, place, refusal), False


def _parse_leniently(content: bytes, place: object, refusal: orjson.JSONDecodeError) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        where = f"{place}:{refusal.lineno}:{refusal.colno}"
        raise UnusableInput(where, "bytes that are not text", "UTF-8 JSON", "a binary file?") from None
    try:
        return json.loads(text)
    except RecursionError:
        raise _too_deep(place) from None
    except json.JSONDecodeError as error:
        rest = text[error.pos : error.pos + 1]  # not more: it may be a file that nobody meant to show
        found = repr(rest) if rest else "the end of the file"
        where, hint = f"{place}:{error.lineno}:{error.colno}", "a truncated or hand-edited file?"
        raise UnusableInput(where, found, f"JSON ({error.msg})", hint) from None
    except ValueError:
        raise UnusableInput(place, "a whole number with thousands of digits", "numbers that float64 can hold") from None


def _refuse_deep_nesting(data: Any, place: object) -> None:
    level = [data]
    for _ in range(MAX_JSON_DEPTH):
        level = [child for parent in level for child in _containers(parent)]
        if not level:
            return
    raise _too_deep(place)


def _containers(value: Any) -> list[Any]:
    children = value.values() if type(value) is dict else value if type(value) is list else ()
    return [child for child in children if type(child) in (dict, list)]


def _too_deep(place: object) -> UnusableInput:
    return UnusableInput(place, f"more than {MAX_JSON_DEPTH} nested levels", "a contract artefact (6 levels)")


def _repeated_keys(content: bytes) -> Iterator[str]:
    """Yield a pointer to every key that stands more than once in one object."""
    repeats: list[tuple[dict[str, Any], list[str]]] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            repeats.append((made, [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]))
        return made

    root = json.loads(content.removeprefix(_BYTE_ORDER_MARK), object_pairs_hook=collect)
    paths = {id(value): path for path, value in json_containers(root)}
    for made, names in repeats:
        if id(made) in paths:  # else the object itself was overwritten, by a repeated key that is reported
            yield from (json_pointer(*paths[id(made)], name) for name in names)
