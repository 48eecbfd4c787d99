"""Zarr, versions 2 and 3, a folder or a .zip: every array of numbers as a column, by its path.

What an array is packed with is read from its metadata first: a codec that runs code, such as pickle, never sees a byte.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import DAMAGED
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, read_bytes, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library

_PLAIN = frozenset((
    "blosc", "zstd", "lz4", "zlib", "gzip", "bz2", "lzma", "delta", "shuffle", "bytes", "transpose", "crc32c", "sharding_indexed",
))  # fmt: skip
"""Codecs that unpack numbers, and nothing else."""
_METADATA, _MAX_AXES, _MAX_FILES = (".zarray", "zarr.json"), 3, 1 << 18
ENDS = "meta.episode_ends"


def read_zarr(path: Path, episode: int | None = None) -> Table:
    """The columns of a store: `data/action` is the column data.action. episode: only its rows, by meta/episode_ends."""
    zarr = library("zarr", path)
    arrays, packed = _described(path)
    refuse_bomb(path, packed, sum(int(np.prod(shape)) * size for shape, size in arrays.values()))
    columns: dict[str, Any] = {}
    try:
        store = zarr.storage.ZipStore(str(path), mode="r") if path.is_file() else str(path)
        root = zarr.open_group(store=store, mode="r")
        for name in arrays:
            columns[name.replace("/", ".")] = np.asarray(root[name][...])
    except (*DAMAGED, ArithmeticError) as error:
        raise UnusableInput(path, f"arrays that zarr does not read ({error})", "a zarr store") from None
    return Table(columns if episode is None else _rows_of(columns, episode, path))


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


def _described(path: Path) -> tuple[dict[str, tuple[tuple[int, ...], int]], int]:
    """Shape and bytes of a number of each array that is a column, by its path; and the bytes of the store."""
    found: dict[str, tuple[tuple[int, ...], int]] = {}
    names, packed = _names_in(path)
    for name in names:
        parent, _, last = name.rpartition("/")
        if last not in _METADATA or not parent:
            continue
        said = _parsed(path, name)
        if isinstance(said, Mapping) and (last == ".zarray" or said.get("node_type") == "array"):
            own = _numbers_of(said, f"{path}#{parent}")
            if own is not None:
                found[parent] = own
    if not found:
        raise UnusableInput(path, "no array of numbers", "a zarr store: arrays, one row for each frame")
    return found, packed


def _names_in(path: Path) -> tuple[list[str], int]:
    if path.is_file():
        with opened(path):
            refuse_too_large(path, path.stat().st_size)
            try:
                with zipfile.ZipFile(path) as archive:
                    return archive.namelist()[:_MAX_FILES], path.stat().st_size
            except DAMAGED as error:
                raise UnusableInput(path, f"bytes that are no zip ({error})", "a zarr store in a .zip") from None
    if not path.is_dir():
        raise UnusableInput(path, "nothing", "a zarr store: a folder, or a .zip")
    names, packed = [], 0
    for count, each in enumerate(sorted(path.rglob("*"))):
        if count > _MAX_FILES:
            raise UnusableInput(path, f"more than {_MAX_FILES} files", "a part of it")
        if each.is_symlink():
            raise UnusableInput(each, "a link", "files of the store itself")
        if each.is_file():
            packed += each.stat().st_size
            names.append(each.relative_to(path).as_posix())
    refuse_too_large(path, packed)
    return names, packed


def _parsed(path: Path, name: str) -> Any:
    try:
        if path.is_dir():
            return json.loads(read_bytes(path / PurePosixPath(name)))
        with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
            return json.loads(stream.read(1 << 20))
    except DAMAGED as error:
        raise UnusableInput(f"{path}#{name}", f"text that is not JSON ({error})", "the metadata of an array") from None


def _numbers_of(said: Mapping[str, Any], place: str) -> tuple[tuple[int, ...], int] | None:
    """Shape and bytes of a number; None for words, objects, images and empty arrays, and for codecs that are not plain."""
    shape, kind = said.get("shape"), said.get("dtype", said.get("data_type"))
    if not isinstance(shape, list) or not all(isinstance(each, int) and each > 0 for each in shape):
        return None
    try:
        dtype = np.dtype(kind) if isinstance(kind, str) else None
    except TypeError:
        return None
    if dtype is None or dtype.kind not in "fiub" or not 0 < len(shape) <= _MAX_AXES:
        return None
    other = sorted(_codecs(said) - _PLAIN)
    if other:
        raise UnusableInput(place, f"an array packed by {', '.join(other)}", f"one of {', '.join(sorted(_PLAIN))}")
    return tuple(shape), dtype.itemsize


def _codecs(said: Any) -> set[str]:
    """Names of every codec, inner ones too."""
    if isinstance(said, list):
        return {name for each in said for name in _codecs(each)}
    if not isinstance(said, Mapping):
        return set()
    named = {str(said[key]) for key in ("id", "name") if key in said and "shape" not in said}
    inner = [said.get(key) for key in ("compressor", "filters", "codecs", "index_codecs", "configuration")]
    return named | {name for each in inner for name in _codecs(each)}
