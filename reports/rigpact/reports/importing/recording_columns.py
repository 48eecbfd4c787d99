"""Which column of a recording holds which vector: guessed by numbers, then by names and widths, and marked as a guess."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.labelled_vectors import labelled_vectors
from rigpact.reference_runtime.recordings.named_columns import CLOCK
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reports.importing.columns_by_value import FRAMES, Paired, Pairing
from rigpact.reports.importing.draft import Draft, Entry

_SAME_WORDS = {
    "position": "pos", "positions": "pos", "velocity": "vel", "velocities": "vel", "quaternion": "quat", "orientation": "quat",
    "rotation": "quat", "observation": "obs", "observations": "obs", "angular": "ang", "linear": "lin", "cmd": "command",
    "torque": "tau", "gyroscope": "gyro", "joints": "joint",
}  # fmt: skip
_SAY_NOTHING = {"data", "value", "values", "robot"}
_OF_ANOTHER_MOMENT = {"last", "previous", "prev", "rel", "raw", "in", "out", "next"}
_ORDERS = {"wxyz": "quaternion_wxyz", "xyzw": "quaternion_xyzw"}
Widths = Mapping[str, int]


def map_columns(draft: Draft, contract: Contract, path: Path) -> None:
    """Write [recordings] of a draft that reads as this contract: by the recorded numbers, then by names and widths."""
    rows = {
        name: each
        for name, (each, _) in labelled_vectors(open_file(path)).items()
        if name not in CLOCK and np.isfinite(each).all()
    }
    vectors = {stage.name: stage.fields(None).width for stage in contract.system.stages}
    fields = _field_names(draft)
    named = _guessed(vectors, {name: int(each.shape[1]) for name, each in rows.items()}, fields)
    count = min((len(each) for each in rows.values()), default=0)
    first = {name: each[: min(count, FRAMES)] for name, each in rows.items()}
    frame = np.arange(min(count, FRAMES))

    def likeness(vector: str, column: str) -> float:
        return _likeness(vector, column, fields.get(vector, ()))

    found = Pairing(contract, first, frame, named, likeness).run()
    _cut(draft, found, contract)
    names: dict[str, str] = {}
    for old in found.misnamed:
        operation = next(entry.table.get("operation") for entry in draft.stages if entry.table["name"] == old)
        names[old] = draft.free_name(f"{old}_{_MADE.get(str(operation), 'made')}")
        draft.rename(old, names[old])
    kept = {vector: column for vector, column in found.columns.items() if vector not in draft.dropped}
    columns = {names.get(vector, vector): column for vector, column in kept.items()}
    draft.recordings = {vector: column for vector, column in columns.items() if vector != column}
    draft.recordings_comments = [f"Guessed from the numbers, names and widths in {path.name}: look at every line."]
    left = [f"{name} ({each.shape[1]})" for name, each in rows.items() if name not in columns.values()]
    if left:
        draft.recordings_comments.append(f"Columns that belong to no vector here: {', '.join(left[:20])}.")
    _take_quaternion_orders(draft, columns, path)


_MADE = {"affine": "scaled", "clip": "clipped", "select": "taken", "rotate": "turned", "history": "frames"}
"""What a stage is called besides, whose name the recording has for another vector."""


def _cut(draft: Draft, found: Paired, contract: Contract) -> None:
    """Stages that are given, because a column holds them and none holds what they are made of."""
    for name in found.cut:
        entry = next(each for each in draft.stages if each.table["name"] == name)
        table = {key: entry.table[key] for key in ("name", "names", "unit") if key in entry.table}
        size = {} if "names" in table else {"size": contract.fields(name).width}
        draft.stages.remove(entry)
        draft.given.append(Entry({**table, **size}, (f"the recording has {found.columns[name]} in its place",)))
    draft.drop_unused({name for cut in found.cut for name in contract.system.graph[cut].needs})


def _guessed(vectors: Widths, columns: Widths, fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Vector -> column, the best pair first; a pair that another is as good as is left out."""
    fitting = [pair for pair in product(vectors, columns) if vectors[pair[0]] == columns[pair[1]]]
    scores = {(vector, column): _likeness(vector, column, fields.get(vector, ())) for vector, column in fitting}
    found: dict[str, str] = {}
    for pair, score in sorted(scores.items(), key=lambda each: -each[1]):
        equal = [other for other, value in scores.items() if value == score and other != pair]
        free = [other for other in equal if other[0] not in found and other[1] not in found.values()]
        has_rival = any(other[0] == pair[0] or other[1] == pair[1] for other in free)
        if score > 0.0 and pair[0] not in found and pair[1] not in found.values() and not has_rival:
            found[pair[0]] = pair[1]
    return {vector: found[vector] for vector in vectors if vector in found}


def _likeness(vector: str, column: str, fields: Sequence[str]) -> float:
    """Which part of the words two names share; 0 where neither name is a part of the other."""
    if vector == column:
        return 2.0
    own, other = _words(vector), _words(column)
    with_fields = own | {each for field in fields for each in _words(field)}
    if not own or not other:
        return 0.0
    if own <= other and not (other - own) & _OF_ANOTHER_MOMENT:
        return max(len(own & other) / len(own | other), len(with_fields & other) / len(with_fields | other))
    if other <= own and not (own - other) & _OF_ANOTHER_MOMENT:
        return len(other) / len(own) - 0.01  # the longer name of a column says more
    return 0.0


def _words(name: str) -> frozenset[str]:
    parts = re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", name)
    lower = [part.lower() for part in parts if part]
    same = [_SAME_WORDS.get(each, each[:-1] if len(each) > 3 and each.endswith("s") else each) for each in lower]
    return frozenset(each for each in same if each not in _SAY_NOTHING)


def _field_names(draft: Draft) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for entry in (*draft.given, *draft.stages):
        names: Any = entry.table.get("names", ())
        listed = draft.names.get(names, ()) if isinstance(names, str) else names
        if 0 < len(listed) <= 4:
            found[entry.table["name"]] = listed
    return found


def _take_quaternion_orders(draft: Draft, guessed: Mapping[str, str], path: Path) -> None:
    """The order of a quaternion, where the name of its column says it: imu_quat_wxyz."""
    for place, entry in enumerate(draft.given):
        column = guessed.get(entry.table["name"], "")
        said = [kind for order, kind in _ORDERS.items() if order in re.split(r"[^a-z]+", column.lower())]
        if entry.table.get("size") == 4 and len(said) == 1:
            table = {key: value for key, value in entry.table.items() if key != "size"}
            comments = [each for each in entry.comments if not each.startswith("LEFT OPEN: kind")]
            comments.append(f"the order is the one that the column {column} of {path.name} names")
            draft.given[place] = Entry({**table, "kind": said[0]}, tuple(comments))
