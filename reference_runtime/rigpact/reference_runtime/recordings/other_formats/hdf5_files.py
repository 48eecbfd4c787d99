"""HDF5: every data set of numbers as a column, by its path.

Links, virtual and external data sets, words and images are passed over.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library

_MAX_DEPTH, _MAX_AXES = 16, 3
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
                for name, data in _data_sets(h5py, root, "", 0):
                    unpacked += data.size * data.dtype.itemsize
                    refuse_bomb(path, size, unpacked)
                    columns[name] = np.asarray(data[()])
        except _DAMAGED as error:
            raise UnusableInput(path, f"bytes that are no HDF5 ({error})", "an HDF5 file") from None
    if not columns:
        raise UnusableInput(path, "no data set of numbers", "data sets, one row for each frame")
    return Table(columns)


def _data_sets(h5py: Any, group: Any, name: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key in group:
        if depth >= _MAX_DEPTH or not isinstance(group.get(key, getlink=True), h5py.HardLink):
            continue
        inside, own = group[key], f"{name}.{key}" if name else str(key)
        if isinstance(inside, h5py.Group):
            yield from _data_sets(h5py, inside, own, depth + 1)
        elif isinstance(inside, h5py.Dataset) and _is_column(inside):
            yield own, inside


def _is_column(data: Any) -> bool:
    is_here = not data.is_virtual and not data.external
    return is_here and data.dtype.kind in "fiub" and 0 < data.ndim <= _MAX_AXES and bool(data.size)
