"""A mean and a std of a file beside the model: found by the words of their names, used where the numbers bear it out."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.declared.sources import numbers_inside
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.draft import Draft, word

_MEAN, _STD = ("mean", "mu", "offset"), ("std", "sigma", "scale")
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
    def is_said(self) -> bool:
        """Whether the words are those of statistics: an offset and a scale may be anything."""
        return "offset" not in self.mean_at.lower()

    def stage(self, draft: Draft, name: str, operation: str, of: str, comment: str = "") -> str:
        """Write both arrays among the numbers of a draft, and the stage that normalises or denormalises with them."""
        draft.numbers[self.mean_name] = {"file": self.file, "at": self.mean_at}
        draft.numbers[self.std_name] = {"file": self.file, "at": self.std_at}
        said = comment or f"GUESSED: {self.path.name} has a mean and a std of {self.width} numbers"
        return draft.compute(name, operation, of, said, mean=self.mean_name, std=self.std_name)

    @property
    def width(self) -> int:
        """How many numbers each has."""
        return int(self.mean.size)

    @property
    def mean_name(self) -> str:
        """A name among the declaration's numbers."""
        return self._name("mean", self.mean_at)

    @property
    def std_name(self) -> str:
        """A name among the declaration's numbers."""
        return self._name("std", self.std_at)

    def _name(self, usual: str, at: str) -> str:
        """The usual word for statistics, `offset` for an offset."""
        own = usual if self.is_said else at.lower()
        return word(f"{self.label}_{usual}" if self.label else own, usual)


def is_near(one: FloatArray, other: FloatArray) -> bool:
    """Whether two recorded vectors hold the same numbers, but for rounding."""
    return bool(np.allclose(one, other, rtol=SAME, atol=SAME * float(np.abs(other).max(initial=0.0))))


SAME = 2.0**-18
"""Relative to the largest number: a float32 that went through a mean and a std and back, and a little more."""


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
    try:
        inside = numbers_inside(read_bytes(path), path)
    except UnusableInput:
        if path.suffix.lower() == ".json":
            raise
        return  # a file that holds no arrays holds no statistics; reading it as a recording says what is wrong
    for name, array in inside.items():
        if array.ndim <= 1:
            yield name, array.reshape(-1)
