"""Zarr, versions 2 and 3, a folder or a .zip: every array of numbers as a column, by its path.

What an array is packed with is read from its metadata first: a codec that runs code, such as pickle, never sees a byte. A file
that unpacks to more than its metadata says is refused before zarr sees it.
"""

import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

import numpy as np

from rigpact.contract.declared.sources import DAMAGED
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, read_bytes, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library
from rigpact.reference_runtime.recordings.other_formats.packed import MEASURES, refuses_more

_SAME_SIZE = frozenset(("delta", "shuffle", "bytes", "transpose", "crc32c"))
"""Codecs that leave as many numbers as they get."""
_METADATA, _MAX_AXES, _MAX_FILES, _MAX_METADATA = (".zarray", "zarr.json"), 3, 1 << 18, 1 << 20
ENDS = "meta.episode_ends"


def read_zarr(path: Path, episode: int | None = None) -> Table:
    """The columns of a store: `data/action` is the column data.action. episode: only its rows, by meta/episode_ends."""
    zarr = library("zarr", path)
    files = _Files(path)
    arrays = _described(files)
    refuse_bomb(path, files.packed, files.unpacked + sum(max(each.size, each.chunk) for each in arrays.values()))
    _refuse_lies(files, arrays)
    columns: dict[str, Any] = {}
    try:
        store = zarr.storage.ZipStore(str(path), mode="r") if path.is_file() else str(path)
        root = zarr.open_group(store=store, mode="r")
        for name in arrays:
            columns[name.replace("/", ".")] = np.asarray(root[name][...])
    except (*DAMAGED, ArithmeticError) as error:
        raise UnusableInput(path, f"arrays that zarr does not read ({error})", "a zarr store") from None
    return Table(columns if episode is None else _rows_of(columns, episode, path))


@dataclass(frozen=True)
class _Array:
    """size: bytes of all its numbers; chunk: of those in one file; codec: what packs a file, and whether a checksum follows."""

    size: int
    chunk: int
    codec: str = ""
    is_checked: bool = False


def _rows_of(columns: Mapping[str, Any], episode: int, path: Path) -> dict[str, Any]:
    """Ends are exclusive, and count over all episodes."""
    ends = columns.get(ENDS)
    if ends is None or ends.ndim != 1 or ends.dtype.kind not in "iu" or not np.all(np.diff(ends) > 0):
        raise UnusableInput(f"{path}#meta/episode_ends", "no rising ends of episodes", "meta/episode_ends")
    if episode >= len(ends):
        raise UnusableInput("--episode", str(episode), f"one of 0 to {len(ends) - 1}")
    start = int(ends[episode - 1]) if episode else 0
    whole = {name: each for name, each in columns.items() if len(each) == int(ends[-1]) and name != ENDS}
    return {name: each[start : int(ends[episode])] for name, each in whole.items()}


class _Files:
    """The files of a store by their paths in it: a folder, or a .zip. packed: bytes on the disk; unpacked: out of the .zip."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_zip = path, path.is_file()
        sizes = self._of_zip() if self.is_zip else self._of_folder()
        self.names = list(sizes)
        self.packed = path.stat().st_size if self.is_zip else sum(sizes.values())
        self.unpacked = sum(sizes.values()) if self.is_zip else 0
        refuse_too_large(path, self.packed)
        refuse_bomb(path, self.packed, self.unpacked)

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        if not self.is_zip:
            return read_bytes(self.path / PurePosixPath(name))
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(name)
        except DAMAGED as error:
            raise UnusableInput(
                f"{self.path}#{name}", f"bytes that are not a zip file ({error})", "a file of a store"
            ) from None

    def _of_zip(self) -> dict[str, int]:
        with opened(self.path):
            try:
                with zipfile.ZipFile(self.path) as archive:
                    return {each.filename: each.file_size for each in archive.infolist()[:_MAX_FILES]}
            except DAMAGED as error:
                raise UnusableInput(
                    self.path, f"bytes that are not a zip file ({error})", "a zarr store in a .zip"
                ) from None

    def _of_folder(self) -> dict[str, int]:
        if not self.path.is_dir():
            raise UnusableInput(self.path, "nothing", "a zarr store: a folder, or a .zip")
        sizes: dict[str, int] = {}
        for count, each in enumerate(sorted(self.path.rglob("*"))):
            if count > _MAX_FILES:
                raise UnusableInput(self.path, f"more than {_MAX_FILES} files", "a part of it")
            if each.is_symlink():
                raise UnusableInput(each, "a link", "files of the store itself")
            if each.is_file():
                sizes[each.relative_to(self.path).as_posix()] = each.stat().st_size
        return sizes


def _described(files: _Files) -> dict[str, _Array]:
    """Each array that is a column, by its path."""
    found: dict[str, _Array] = {}
    for name in files.names:
        parent, _, last = name.rpartition("/")
        if last not in _METADATA or not parent:
            continue
        said = _parsed(files, name)
        if isinstance(said, Mapping) and (last == ".zarray" or said.get("node_type") == "array"):
            own = _array_of(said, f"{files.path}#{parent}")
            if own is not None:
                found[parent] = own
    if not found:
        raise UnusableInput(files.path, "no array of numbers", "a zarr store: arrays, one row for each frame")
    return found


def _refuse_lies(files: _Files, arrays: Mapping[str, _Array]) -> None:
    """UnusableInput for a file that unpacks to more than one chunk of its array."""
    for name in files.names:
        parent = next((each for each in arrays if name.startswith(f"{each}/")), None)
        if parent is None or not arrays[parent].codec or name.rpartition("/")[2] in (*_METADATA, ".zattrs"):
            continue
        own, content = arrays[parent], files.read(name)
        try:
            is_more = refuses_more(own.codec, content[:-4] if own.is_checked else content, own.chunk)
        except ValueError as error:
            raise UnusableInput(f"{files.path}#{name}", f"bytes that do not unpack ({error})", "a chunk") from None
        if is_more:
            raise UnusableInput(f"{files.path}#{name}", "a chunk that unpacks to more", f"at most {own.chunk} bytes")


def _parsed(files: _Files, name: str) -> Any:
    content = files.read(name)
    if len(content) > _MAX_METADATA:
        raise UnusableInput(f"{files.path}#{name}", f"{len(content)} bytes", f"at most {_MAX_METADATA} of metadata")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableInput(
            f"{files.path}#{name}", f"text that is not JSON ({error})", "the metadata of an array"
        ) from None


def _array_of(said: Mapping[str, Any], place: str) -> _Array | None:
    """None for words, objects, images and empty arrays; UnusableInput for codecs that are not plain."""
    shape, kind = said.get("shape"), said.get("dtype", said.get("data_type"))
    if not _are_sizes(shape):
        return None
    try:
        dtype = np.dtype(kind) if isinstance(kind, str) else None
    except TypeError:
        return None
    if dtype is None or dtype.kind not in "fiub" or not 0 < len(shape) <= _MAX_AXES:
        return None
    grid = said.get("chunk_grid")
    inside = grid.get("configuration") if isinstance(grid, Mapping) else None
    chunk = inside.get("chunk_shape") if isinstance(inside, Mapping) else said.get("chunks")
    if not _are_sizes(chunk):
        raise UnusableInput(place, "no sizes of chunks", "a regular grid of chunks")
    codecs = _codecs(said, place)
    packing = [each for each in codecs if each in MEASURES]
    other = sorted({*codecs} - _SAME_SIZE - MEASURES.keys())
    if other or len(packing) > 1:
        found = f"an array packed by {', '.join(other or packing)}"
        raise UnusableInput(place, found, f"one of {', '.join(sorted(MEASURES))}, or none")
    size, of_chunk = (math.prod(each) * dtype.itemsize for each in (shape, chunk))
    return _Array(size, of_chunk, packing[0] if packing else "", codecs[-1:] == ["crc32c"])


def _are_sizes(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(isinstance(each, int) and each > 0 for each in value)


def _codecs(said: Mapping[str, Any], place: str) -> list[str]:
    """The names of an array's codecs, from the numbers to the file."""
    compressor = said.get("compressor")
    every = said.get("codecs") or [*(said.get("filters") or []), *([compressor] if compressor else [])]
    if not isinstance(every, list) or not all(isinstance(each, Mapping) for each in every):
        raise UnusableInput(place, "codecs that are not a list of tables", "a list of tables")
    return [str(each.get("name", each.get("id"))) for each in every]
