"""Which column of a recording holds which vector: guessed by names and widths, and marked as a guess."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rigpact.reference_runtime.recordings.named_columns import vectors_of
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


def map_columns(draft: Draft, vectors: Widths, path: Path) -> None:
    """Write [recordings] of a draft; vectors: the width of each of its vectors."""
    columns = {name: int(rows.shape[1]) for name, rows in vectors_of(path).items()}
    guessed = _guessed(vectors, columns, _field_names(draft))
    draft.recordings = {vector: column for vector, column in guessed.items() if vector != column}
    left = [f"{name} ({columns[name]})" for name in columns if name not in guessed.values() and name not in _CLOCK]
    draft.recordings_comments = [f"Guessed from the names and widths in {path.name}: look at every line."]
    if left:
        draft.recordings_comments.append(f"Columns that belong to no vector here: {', '.join(left[:20])}.")
    _take_quaternion_orders(draft, guessed, path)


_CLOCK = ("frame", "frames", "time", "time_s", "t", "timestamp")


def _guessed(vectors: Widths, columns: Widths, fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Vector -> column, the best pair first; a pair that another is as good as is left out."""
    scores = {
        (vector, column): score
        for vector, width in vectors.items()
        for column, own in columns.items()
        if own == width and (score := _likeness(vector, column, fields.get(vector, ()))) > 0.0
    }
    found: dict[str, str] = {}
    for (vector, column), score in sorted(scores.items(), key=lambda pair: -pair[1]):
        rivals = [
            other for other, value in scores.items()
            if value == score and other != (vector, column) and (other[0] == vector or other[1] == column)
            and other[0] not in found and other[1] not in found.values()
        ]  # fmt: skip
        if vector not in found and column not in found.values() and not rivals:
            found[vector] = column
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
            comment = f"the order is the one that the column {column} of {path.name} names"
            draft.given[place] = Entry({**table, "kind": said[0]}, (*_without_open_kind(entry.comments), comment))


def _without_open_kind(comments: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in comments if not each.startswith("LEFT OPEN: kind"))
