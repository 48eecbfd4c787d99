"""The vectors of a recording as the file itself names them: no contract says what its columns mean."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.named_columns import PLACE, is_named_columns
from rigpact.reference_runtime.recordings.tables import read_table
from rigpact.reference_runtime.recordings.trace import read_trace


def recorded_vectors(path: Path) -> Mapping[str, FloatArray]:
    """Every vector of a recording as the file itself names it, (T, width): no contract says what they are."""
    return vectors_of(path) if is_named_columns(path) else read_trace(path).stages


def vectors_of(path: Path) -> dict[str, FloatArray]:
    """Every vector of a recording, (T, width), by the name that its columns share."""
    return {name: rows for name, (rows, _) in labelled_vectors(path).items()}


def labelled_vectors(path: Path) -> dict[str, tuple[FloatArray, tuple[str, ...]]]:
    """Every vector of a recording, (T, width), and what the file calls each of its numbers.

    Columns `q[0]`, `q.0`, `q/0`, `q.knee`, a whole run `q_0 …` and `q_x`, `q_y`, `q_z` of a table are one vector `q`. One whose
    columns are not equally long is left out.
    """
    columns = {name: values for name, values in read_table(path).columns.items() if values.size}
    owners = {name: (name, -1) if values.ndim != 1 else _owner(name) for name, values in columns.items()}
    owners |= _runs([name for name, (owner, _) in owners.items() if owner == name and columns[name].ndim == 1], owners)
    parts: dict[str, list[NDArray[Any]]] = {}
    labels: dict[str, list[str]] = {}
    for name in sorted(columns, key=lambda name: owners[name][1]):
        rows = columns[name].reshape(len(columns[name]) if columns[name].ndim else 1, -1)
        parts.setdefault(owners[name][0], []).append(rows)
        labels.setdefault(owners[name][0], []).extend(_labels(name, rows.shape[1]))
    return {
        name: (np.hstack(listed).astype(np.float64), tuple(labels[name]))
        for name, listed in parts.items()
        if len({len(each) for each in listed}) == 1
    }


def _owner(name: str) -> tuple[str, int]:
    """The vector that a column is of, and its place in it; -1 where the file's order says it."""
    if match := PLACE.match(name):
        return match[1], int(match[2])
    owner, *rest = re.split(r"[./]", name, maxsplit=1)
    return (owner, int(rest[0])) if rest and rest[0].isdecimal() else (owner, -1)


def _runs(names: Sequence[str], taken: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Columns `q_0`, `q_1`, … from 0 without a gap, and `q_x`, `q_y`, `q_z`, with or without `q_w`: vector and place of each."""
    by_stem: dict[str, dict[str, str]] = {}
    for name in names:
        stem, _, last = name.rpartition("_")
        if stem and stem not in taken:
            by_stem.setdefault(stem, {})[last] = name
    found: dict[str, tuple[str, int]] = {}
    for stem, held in by_stem.items():
        numbered = {int(last): name for last, name in held.items() if last.isdecimal()}
        if len(numbered) > 1 and sorted(numbered) == list(range(len(numbered))):
            found |= {name: (stem, place) for place, name in numbered.items()}
        elif {"x", "y", "z"} <= held.keys() <= {"x", "y", "z", "w"}:
            found |= dict.fromkeys(held.values(), (stem, -1))
    return found


def _labels(name: str, width: int) -> list[str]:
    return [name] if width == 1 else [f"{name}[{place}]" for place in range(width)]
