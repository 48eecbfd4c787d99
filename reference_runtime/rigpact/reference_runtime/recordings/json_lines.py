"""JSON Lines, plain or compressed: the lines of a file, and the JSON value of one line.

A file that is damaged is refused: a failing checksum, bytes after the end, a key that stands twice. One that was cut off is
read up to its last whole line.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_JSON_DEPTH, bytes_to_json, opened, read_bytes, refuse_bomb
from rigpact.contract.files.text import UTF16_MARKS, decoded

_C_TOKENS = re.compile(
    r"(?<=[\[,:\s])([+-]?)(nan(?:\([^)\]]{0,32}\))?|1\.#(?:IND|QNAN|SNAN)\d*|inf(?:inity)?|1\.#INF\d*)(?=\s*[,\]}])",
    re.IGNORECASE,
)
_CHUNK_BYTES = 1_048_576
_ZST_BYTES = 2048
"""Read at once of a zstd file: four bytes of it can be 128 KiB of text, so these are 64 MiB at most."""
_LINE_BYTES = 1 << 26
"""The longest line: three million numbers in one frame."""
_EMPTY_LINES = 1 << 12
_DAMAGED = (zlib.error, gzip.BadGzipFile)


def lines_of(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield (line, whole): `whole` is False for a last line that was cut off."""
    rest, broken = _Rest(path), False
    try:
        for chunk in _bounded(path):
            *lines, last = chunk.split(b"\n")
            for line in lines:
                yield rest.ended_by(line), True
            rest.add(last)
    except EOFError:
        broken = True
    except _DAMAGED as error:
        hint = "copy it again, or record again"
        raise UnusableInput(path, f"damaged data ({error})", "a whole compressed file", hint) from None
    if rest.size:
        yield rest.ended_by(b""), False
    if broken:  # even if the rest is a complete object
        yield b"", False


class _Rest:
    """The pieces of a line whose end was not read yet; UnusableInput for a line without end, and for nothing but empty lines."""

    def __init__(self, path: Path) -> None:
        self._path, self._pieces, self.size, self._empty = path, list[bytes](), 0, 0

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self.size += len(piece)
        if self.size > _LINE_BYTES:
            raise UnusableInput(self._path, f"a line of more than {_LINE_BYTES} bytes", "one frame a line")

    def ended_by(self, piece: bytes) -> bytes:
        line = b"".join([*self._pieces, piece]) if self.size else piece
        self._pieces, self.size = [], 0
        self._empty = 0 if line.strip() else self._empty + 1
        if self._empty > _EMPTY_LINES:
            raise UnusableInput(self._path, f"more than {_EMPTY_LINES} empty lines in succession", "one frame a line")
        return line


def _bounded(path: Path) -> Iterator[bytes]:
    """Pieces of a file, unpacked; UnusableInput before they become too many."""
    packed, total = path.stat().st_size, 0
    for chunk in _chunks(path):
        total += len(chunk)
        refuse_bomb(path, packed, total)
        yield from (chunk[start : start + _CHUNK_BYTES] for start in range(0, len(chunk), _CHUNK_BYTES))


def _chunks(path: Path) -> Iterator[bytes]:
    """Decompressed pieces of a file; EOFError if a compressed stream ends too early."""
    with opened(path) as raw:
        if path.name.endswith(".zst"):
            yield from _zst_chunks(raw)
            return
        if raw.read(2) in UTF16_MARKS:  # as `>` of a Windows shell writes it
            yield decoded(read_bytes(path), path).encode()
            return
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if path.name.endswith(".gz") else raw
        while chunk := stream.read1(_CHUNK_BYTES) if hasattr(stream, "read1") else stream.read(_CHUNK_BYTES):
            yield chunk


def _zst_chunks(raw: IO[bytes]) -> Iterator[bytes]:
    """A file may have several zstd frames; the last one must be complete. zlib.error for damaged data, as of a .gz file."""
    import zstandard

    decompressor, begin, magic = zstandard.ZstdDecompressor().decompressobj(), b"", zstandard.FRAME_HEADER
    while chunk := raw.read(_ZST_BYTES):
        while chunk:
            if decompressor.eof:
                decompressor, begin = zstandard.ZstdDecompressor().decompressobj(), b""
            begin = (begin + chunk)[: len(magic)]
            try:
                unpacked = decompressor.decompress(chunk)
            except zstandard.ZstdError as error:
                raise zlib.error(str(error)) from None
            yield unpacked
            chunk = decompressor.unused_data
    if len(begin) < len(magic) and not magic.startswith(begin):  # too few bytes for zstandard to say so
        raise zlib.error("bytes after the end")
    if not decompressor.eof:
        raise EOFError


def json_line(line: bytes, place: str) -> Any:
    """The value of one line, with NaN as C and C++ print it; UnusableInput names its place."""
    try:
        return _checked(orjson.loads(line), line, place)
    except orjson.JSONDecodeError:
        pass
    except RecursionError:
        raise UnusableInput(place, "names in names without end", "a JSON object on one line") from None
    try:  # NaN as C and C++ print it
        text = _C_TOKENS.sub(_standard_token, line.decode("utf-8"))
        return _checked(json.loads(text), text.encode("utf-8"), place)
    except (ValueError, RecursionError):
        is_json = line.lstrip()[:1] in (b"{", b"[")  # of another file no more is shown than its first character
        shown = line[: 40 if is_json else 1].decode("utf-8", "replace")
        raise UnusableInput(place, repr(shown), "a JSON object on one line", "a truncated line?") from None


def _checked(entry: Any, line: bytes, place: str) -> Any:
    """The entry; UnusableInput for one that is nested too deep, and for a key that stands twice.

    As a rule, counting brackets and `":` is enough to know.
    """
    if line.count(b"[") + line.count(b"{") > MAX_JSON_DEPTH and _most_open(line) > MAX_JSON_DEPTH:
        bytes_to_json(line, place)  # a text may hold brackets
    if line.count(b'":') != _keys(entry):
        for pointer in bytes_to_json(line, place).repeated_keys:
            raise UnusableInput(f"{place}#{pointer}", "a key that stands twice", "every key once", "two parsers differ")
    return entry


def _most_open(line: bytes) -> int:
    """How many brackets are open at once at most, those in texts too."""
    steps = np.zeros(256, np.int8)
    steps[list(b"[{")], steps[list(b"]}")] = 1, -1
    return int(np.cumsum(steps[np.frombuffer(line, np.uint8)], dtype=np.int32).max())


def _keys(entry: Any) -> int:
    return len(entry) + sum(map(_keys, entry.values())) if isinstance(entry, dict) else 0


def _standard_token(match: re.Match[str]) -> str:
    is_infinite = "inf" in match.group(2).lower()
    return f'"{"-" if is_infinite and match.group(1) == "-" else ""}{"Infinity" if is_infinite else "NaN"}"'


def cut_off_text(line: bytes, whole: bool, number: int, frames: int) -> str | None:  # noqa: FBT001 - as `lines_of` yields it
    """Where a file ends whose last line cannot be read; None where the line is not a frame that was cut off."""
    if whole or not _is_cut_off(line):
        return None
    return f"cut off in line {number}, after {frames} whole frames"


def _is_cut_off(line: bytes) -> bool:
    """Whether a last line that cannot be read is the beginning of a frame, and not a frame with other bytes after it."""
    text = line.strip().decode("utf-8", "replace")
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return not text or text.startswith("{")
    return False
