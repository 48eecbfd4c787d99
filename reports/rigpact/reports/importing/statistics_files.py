"""Files of statistics: pairs of a mean and a std of one width, in .npz, .safetensors or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, read_json
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.draft import word

_MEAN, _STD = ("mean", "mu"), ("std", "sigma")
_SUFFIXES = (".npz", ".safetensors", ".json")


@dataclass(frozen=True, eq=False)
class Statistics:
    """A mean and a std: their file, their places in it, the word that both names share."""

    path: Path
    file: str
    label: str
    mean_at: str
    std_at: str
    mean: FloatArray
    std: FloatArray

    @property
    def width(self) -> int:
        """How many numbers each has."""
        return int(self.mean.size)

    @property
    def mean_name(self) -> str:
        """A name among the declaration's numbers."""
        return word(f"{self.label}_mean" if self.label else "mean", "mean")

    @property
    def std_name(self) -> str:
        """A name among the declaration's numbers."""
        return word(f"{self.label}_std" if self.label else "std", "std")


def find_statistics(path: Path, folder: Path) -> Iterator[Statistics]:
    """The pairs that a file holds; none where it is no such file."""
    if path.suffix.lower() not in _SUFFIXES:
        return
    vectors = dict(_vectors(path))
    for key, mean in vectors.items():
        for one, other in zip(_MEAN, _STD, strict=True):
            partner = _partner(key, one, (other, *_STD), vectors)
            if partner is not None and vectors[partner].size == mean.size:
                label = re.sub(r"[^a-z0-9]+", "_", re.sub(one, "", key.lower())).strip("_")
                yield Statistics(path, path.relative_to(folder).as_posix(), label, key, partner, mean, vectors[partner])
                break


def _partner(key: str, one: str, others: tuple[str, ...], vectors: Mapping[str, FloatArray]) -> str | None:
    """The key that says std where this one says mean."""
    if one not in key.lower():
        return None
    for other in others:
        wanted = key.lower().replace(one, other)
        found = next((each for each in vectors if each.lower() == wanted), None)
        if found is not None:
            return found
    return None


def _vectors(path: Path) -> Iterator[tuple[str, FloatArray]]:
    if path.suffix.lower() == ".json":
        entries: Mapping[str, Any] = _lists(read_json(path).data)
    else:
        try:
            arrays = read_arrays(read_bytes(path), path)
        except UnusableInput:
            return  # a file that holds no arrays is no statistics; reading it as a recording says what is wrong
        entries = arrays if isinstance(arrays, Mapping) else {}
    for name, value in entries.items():
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.ndim <= 1 and array.size and np.isfinite(array).all():
            yield str(name), array.astype(np.float64).reshape(-1)


def _lists(root: Any, prefix: str = "") -> dict[str, Any]:
    """The lists of numbers of a JSON object and of the objects in it, by their path."""
    found: dict[str, Any] = {}
    for key, value in root.items() if isinstance(root, dict) else ():
        if isinstance(value, dict) and not prefix:
            found |= _lists(value, f"{prefix}/{key}")
        elif isinstance(value, list) and value and all(type(each) in (int, float) for each in value):
            found[f"{prefix}/{key}" if prefix else key] = np.array(value, np.float64)
    return found
