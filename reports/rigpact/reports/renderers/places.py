"""The places of findings, for tools that show a repository: paths from its root, lines and columns in JSON files.

The repository is the nearest folder with a `.git`, upward from the working directory; without one, it is the working
directory. A path inside it is relative with forward slashes, so it is the same on every machine. A path outside stays
absolute. Models, traces and other files that are not a single JSON value have no lines; a deleted file has none either.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, opened, read_bytes
from rigpact.contract.findings import Finding

# Find the line and column of the value at a JSON pointer, in one pass over the text.
_DECODER: Any = json.JSONDecoder(parse_float=str, parse_int=str, strict=False)
_SCAN: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once
_SPACE, _QUOTE = re.compile(r"[ \t\r\n]*"), re.compile('"')
_BEFORE = re.compile(rf"{_SPACE.pattern}:{_SPACE.pattern}")
_AFTER = re.compile(rf"{_SPACE.pattern}([,\]}}]){_SPACE.pattern}")
_MARK = "\ufeff"


@dataclass(frozen=True)
class Position:
    """The start of a value. `end_column` is after the value, or after the first bracket of an object or array."""

    line: int
    column: int
    end_column: int


@dataclass
class _Wanted:
    """A node in the tree of all pointers; -1: not found in the text."""

    children: dict[str, _Wanted] = field(default_factory=dict)
    start: int = -1
    end: int = -1


def positions(text: str, pointers: Iterable[str]) -> Mapping[str, Position]:
    """The position of every pointer (RFC 6901) in a JSON text; empty if the text is not one JSON value.

    text: as decoded from UTF-8, with or without its byte order mark.
    """
    text = text.removeprefix(_MARK)
    root = _Wanted()
    # readable files do not nest deeper
    tokens = {pointer: pointer.split("/")[1:][:MAX_JSON_DEPTH] for pointer in pointers}
    paths = {pointer: [each.replace("~1", "/").replace("~0", "~") for each in path] for pointer, path in tokens.items()}
    for path in paths.values():
        node = root
        for token in path:
            node = node.children.setdefault(token, _Wanted())
    try:
        behind = _matched(_SPACE, text, _walk(text, _matched(_SPACE, text, 0).end(), root)).end()
    except (ValueError, StopIteration, RecursionError):
        return {}
    if behind != len(text):
        return {}  # several values, one in each line: a trace
    spans = {pointer: _nearest(root, path) for pointer, path in paths.items()}
    placed = _line_columns(text, spans.values())
    return {pointer: placed[span] for pointer, span in spans.items()}


def _nearest(root: _Wanted, path: list[str]) -> tuple[int, int]:
    node = root
    for token in path:
        if node.children[token].start < 0:
            break
        node = node.children[token]
    return node.start, node.end


def _walk(text: str, at: int, node: _Wanted) -> int:
    """Record the positions of the value at `at` and of its wanted children; return the offset after the value."""
    for child in node.children.values():
        _forget(child)  # repeated key: the positions of the earlier value are overwritten
    opening = text[at : at + 1]
    behind = None if opening in {"{", "["} and node.children else _SCAN(text, at)[1]
    node.start, node.end = at, at + 1 if behind is None or opening in {"{", "["} else behind
    return _walk_inside(text, at, node) if behind is None else behind


def _forget(node: _Wanted) -> None:
    node.start = -1
    for child in node.children.values():
        _forget(child)


def _walk_inside(text: str, at: int, node: _Wanted) -> int:
    """The members of an object or an array."""
    is_object, closing = text[at] == "{", {"{": "}", "[": "]"}[text[at]]
    at = _matched(_SPACE, text, at + 1).end()
    if text.startswith(closing, at):
        return at + 1
    for index in count():
        key = str(index)
        if is_object:
            key, at = _SCAN(text, _matched(_QUOTE, text, at).start())
            at = _matched(_BEFORE, text, at).end()
        child = node.children.get(key)
        at = _SCAN(text, at)[1] if child is None else _walk(text, at, child)
        after = _matched(_AFTER, text, at)
        if after[1] == closing:
            return after.end(1)
        if after[1] != ",":
            break
        at = after.end()
    raise ValueError


def _matched(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    if found is None:
        raise ValueError
    return found


def _line_columns(text: str, spans: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Position]:
    """Lines and columns of (start, end) offsets; each character is read only once, even in a very long line."""
    starts = [0, *(newline.end() for newline in re.finditer("\n", text))]
    placed: dict[tuple[int, int], Position] = {}
    line, at, column = -1, 0, 1
    for start, end in sorted(set(spans)):
        here = bisect_right(starts, start)
        if here != line:
            line, at, column = here, starts[here - 1], 1
        column += _utf16_units(text[at:start])
        at = start
        placed[start, end] = Position(line, column, column + _utf16_units(text[start:end]))
    return placed


def _utf16_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


_HEAD_BYTES = 512
_JSON_BEGINS = (b"{", b"[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_URI_SAFE = "/!$&'()*+,;=@-._~"  # a colon would mark a scheme in a relative reference


@dataclass(frozen=True)
class FilePlace:
    """A file, and a position in it if there is one. path: from the repository's root if `inside`, else absolute."""

    path: str
    inside: bool
    position: Position | None = None

    @property
    def uri(self) -> str:
        """A reference relative to the repository, or a file URI."""
        if self.inside:
            return quote(self.path, safe=_URI_SAFE, errors="surrogatepass")
        return file_uri(self.path)

    @property
    def line(self) -> int:
        """The line to show; the first where there is none."""
        return self.position.line if self.position else 1


def file_uri(path: str) -> str:
    """The file URI of an absolute path with forward slashes; `C:/x` and `//server/x` are Windows paths."""
    rooted = path if path.startswith("/") else f"/{path}"
    scheme = "file:" if path.startswith("//") else "file://"
    return scheme + quote(rooted, safe=_URI_SAFE + ":", errors="surrogatepass")


def places_of(findings: Iterable[Finding]) -> Mapping[tuple[str, str], FilePlace]:
    """The place of every finding by (file, pointer); each file is read once."""
    pointers: dict[str, list[str]] = {}
    for finding in findings:
        pointers.setdefault(finding.file, []).append(finding.pointer)
    start = Path.cwd()
    folder = start.resolve()
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    located: dict[tuple[str, str], FilePlace] = {}
    for file, wanted in pointers.items():
        path, inside = path_from(root, Path(file))
        found = positions_in(Path(file), [pointer for pointer in wanted if pointer])
        located |= {(file, pointer): FilePlace(path, inside, found.get(pointer)) for pointer in wanted}
    return located


def path_from(root: PurePath, file: Path) -> tuple[str, bool]:
    """(path, whether it is inside `root`): relative to `root` if inside, else absolute; with forward slashes."""
    whole = PurePath(os.path.abspath(file))  # noqa: PTH100 - links are kept: the repository knows the link, not its target
    within = path_within(root, whole)
    with suppress(ValueError):  # of what is not a possible file name
        within = within or path_within(root, PurePath(os.path.realpath(whole)))
    return within or whole.as_posix(), within is not None


def path_within(root: PurePath, path: PurePath) -> str | None:
    """`path` relative to `root` with forward slashes, None if it is not below; both absolute, POSIX or Windows."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


def positions_in(file: Path, pointers: Iterable[str]) -> Mapping[str, Position]:
    """Positions in a JSON file; none for other files and for unreadable files."""
    wanted = list(pointers)
    with suppress(UnusableInput, OSError):
        if wanted:
            with opened(file) as stream:  # a model or a trace, which does not begin like JSON, can have gigabytes
                head = stream.read(_HEAD_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()
            if head.startswith(_JSON_BEGINS) and b"\0" not in head:
                return positions(read_bytes(file).decode("utf-8", "replace"), wanted)
    return {}
