"""The training's processed clip, a .npz: it holds the rows of a teacher batch under other names, and is judged as one.

To add an array that a teacher batch has too: a row in `_ROWS`.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_chosen_arrays
from rigpact.contract.documents import Document, Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import JsonFile, read_bytes

_ROWS: Mapping[str, tuple[str, str]] = {
    "X_norm": ("state_norm", "Dx"),
    "cond_in": ("cond", "Dc"),
    "Y_norm": ("target_norm", "Dy"),
}
"""By its name in a processed clip: the array's name under `teacher`, and the entry of `dims` that is its width."""
_MARKS = ("X_norm", "Y_norm")


def is_processed_clip(path: str | Path) -> bool:
    """Whether a file is an archive of arrays that holds the normalised rows of both sides; only its list of names is read."""
    place = Path(path)
    if place.suffix.lower() != ".npz" or not zipfile.is_zipfile(place):
        return False
    try:
        with zipfile.ZipFile(place) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
    except zipfile.BadZipFile:
        return False  # the reader of recordings says what is wrong with it
    return names.issuperset(_MARKS)


def read_processed_clip(path: Path) -> Document:
    """The rows of a processed clip as a teacher batch; UnusableInput for arrays that are not rows of numbers."""
    content = read_bytes(path)
    arrays = read_chosen_arrays(content, path, _ROWS)
    held = {name: _rows(arrays[name], f"{path}#{name}") for name in _ROWS if name in arrays}
    dims = {_ROWS[name][1]: rows.shape[1] for name, rows in held.items()}
    teacher = {_ROWS[name][0]: rows.tolist() for name, rows in held.items()}
    return Document(Kind.TEACHER_BATCH, JsonFile(path, content, {"dims": dims, "teacher": teacher}, standard=True))


def _rows(values: Any, place: str) -> Any:
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" or array.ndim != 2:
        found = f"an array {array.shape} of the type {array.dtype}"
        raise UnusableInput(place, found, "real numbers, one row for each frame")
    return array
