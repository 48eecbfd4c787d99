"""HDF5: every data set of numbers as a column, by its path.

Links, virtual and external data sets, words and images are passed over. A chunk that unpacks to more than its size is refused
before the library sees it: that grows its memory until the chunk is whole.
"""

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library

_MAX_DEPTH, _MAX_AXES, _MAX_COLUMNS = 16, 3, 1 << 16
_DAMAGED = (OSError, KeyError, RuntimeError, ValueError, TypeError, UnicodeDecodeError, OverflowError, MemoryError)


def read_hdf5(path: Path) -> Table:
    """The columns of an HDF5 file: `observations/qpos` is the column observations.qpos."""
    h5py = library("h5py", path)
    columns: dict[str, Any] = {}
    with opened(path):
        size = path.stat().st_size
        refuse_too_large(path, size)
        try:
            with h5py.File(path, "r") as root:
                unpacked = 0
                for name, data in _data_sets(h5py, root, "", {_address(h5py, root)}):
                    unpacked += max(data.size, math.prod(data.chunks or ())) * data.dtype.itemsize
                    refuse_bomb(path, size, unpacked)
                    if len(columns) == _MAX_COLUMNS:
                        raise UnusableInput(path, f"more than {_MAX_COLUMNS} data sets", "a part of it")
                    _refuse_lies(h5py, data, f"{path}#{name}")
                    columns[name] = np.asarray(data[()])
        except _DAMAGED as error:
            raise UnusableInput(path, f"bytes that are not HDF5 ({error})", "an HDF5 file") from None
    if not columns:
        raise UnusableInput(path, "no data set of numbers", "data sets, one row for each frame")
    return Table(columns)


def _refuse_lies(h5py: Any, data: Any, place: str) -> None:
    """UnusableInput for a chunk that unpacks to more than it may, or by a filter that cannot be measured."""
    if data.chunks is None:
        return
    pipeline = data.id.get_create_plist()
    filters = [pipeline.get_filter(index)[0] for index in range(pipeline.get_nfilters())]
    kept = [each for each in filters if each != h5py.h5z.FILTER_FLETCHER32]
    if {*filters} - {h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_LZF}:
        raise UnusableInput(place, f"numbers packed by the filters {filters}", "gzip or lzf", "save it with gzip")
    if h5py.h5z.FILTER_DEFLATE not in filters:  # lzf unpacks a byte to 88 at most
        return
    if kept[-1] != h5py.h5z.FILTER_DEFLATE or filters.count(h5py.h5z.FILTER_DEFLATE) > 1:
        raise UnusableInput(place, f"the filters {filters}", "gzip as the last one")
    most = math.prod(data.chunks) * data.dtype.itemsize
    chunks: list[Any] = []
    data.id.chunk_iter(chunks.append)
    for info in chunks:
        mask, content = data.id.read_direct_chunk(info.chunk_offset)
        packed = content[:-4] if len(kept) < len(filters) else content
        if not mask and _unpacks_to_more(packed, most):
            raise UnusableInput(place, "a chunk that unpacks to more", f"at most {most} bytes")


def _unpacks_to_more(packed: bytes, most: int) -> bool:
    """Whether bytes of zlib or gzip (47) unpack to more than `most`, or to several streams; so many are unpacked at most."""
    unpacker = zlib.decompressobj(47)
    try:
        return len(unpacker.decompress(packed, most + 1)) > most or bool(unpacker.unused_data)
    except zlib.error as error:
        raise ValueError(str(error)) from None


def _data_sets(h5py: Any, group: Any, name: str, entered: set[Any]) -> Iterator[tuple[str, Any]]:
    """Data sets by their paths. entered: the addresses of the groups so far: hard links may make rings of them."""
    for key in group:
        if name.count(".") >= _MAX_DEPTH or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        inside, own = group[key], f"{name}.{key}" if name else str(key)
        if isinstance(inside, h5py.Group) and (address := _address(h5py, inside)) not in entered:
            entered.add(address)
            yield from _data_sets(h5py, inside, own, entered)
        elif isinstance(inside, h5py.Dataset) and _is_column(inside):
            yield own, inside


def _address(h5py: Any, group: Any) -> Any:
    """Where a group stands in its file."""
    return h5py.h5o.get_info(group.id).addr


def _is_column(data: Any) -> bool:
    is_here = not data.is_virtual and not data.external
    return is_here and data.dtype.kind in "fiub" and 0 < data.ndim <= _MAX_AXES and bool(data.size)
