"""The vectors of a recording as the file itself names them: no contract says what its columns mean."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.named_columns import PLACE
from rigpact.reference_runtime.recordings.number_rows import Columns
from rigpact.reference_runtime.recordings.opened import Opened

Labelled = Mapping[str, tuple[FloatArray, tuple[str, ...]]]
"""(T, width) float64 by name, and what the file calls each of the numbers."""


def labelled_vectors(file: Opened) -> Labelled:
    """Every vector of a recording, those of a trace with frame numbers and times.

    Columns `q[0]`, `q.0`, `q/0`, `q.knee`, a whole run `q_0 …` and `q_x`, `q_y`, `q_z` of a table are one vector `q`. Columns of
    other lengths than each other are vectors of their own, unless their numbers say that they are one: UnusableInput.
    """
    if file.kind is not Kind.COLUMNS:
        trace = file.trace
        stages = {name: np.asarray(rows, np.float64) for name, rows in trace.stages.items()}
        found = {name: (rows, _numbered(name, rows.shape[1])) for name, rows in stages.items()}
        clock = {"frame": trace.frame.astype(np.float64), "time": trace.time_s}
        return found | {name: (each[:, None], (name,)) for name, each in clock.items()}
    return _of_columns({name: values for name, values in file.table.columns.items() if values.size}, file.path)


def _of_columns(columns: Columns, path: Path) -> Labelled:
    owners = {name: (name, -1) if values.ndim != 1 else _owner(name) for name, values in columns.items()}
    owners |= _runs([name for name, (owner, _) in owners.items() if owner == name and columns[name].ndim == 1], owners)
    parts: dict[str, dict[str, FloatArray]] = {}
    for name in sorted(columns, key=lambda name: owners[name][1]):
        rows = columns[name].reshape(len(columns[name]) if columns[name].ndim else 1, -1).astype(np.float64)
        parts.setdefault(owners[name][0], {})[name] = rows
    found: dict[str, tuple[FloatArray, tuple[str, ...]]] = {}
    for owner, held in parts.items():
        counts = sorted({len(rows) for rows in held.values()})
        if len(counts) > 1 and all(owners[name][1] >= 0 for name in held):
            words = f"columns of {' and '.join(map(str, counts))} rows"
            raise UnusableInput(f"{path}#{owner}", words, "as many rows of each number of a vector", "a cut recording?")
        for name, one in {owner: held}.items() if len(counts) == 1 else ((name, {name: held[name]}) for name in held):
            labels = [label for part, rows in one.items() for label in _numbered(part, rows.shape[1])]
            found[name] = np.hstack(list(one.values())), tuple(labels)
    return found


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


def _numbered(name: str, width: int) -> tuple[str, ...]:
    return (name,) if width == 1 else tuple(f"{name}[{place}]" for place in range(width))
