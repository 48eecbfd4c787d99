"""Messages under topics as columns: `topic.field`, a row for each message of the topic that gives the tick.

A JointState is read by the names in each message: its order is not a contract and may change. A bag does not say which topic
gives the tick: topics whose messages come in pairs are joined as they are, others need `tick`, and each other topic holds its
last message.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.json_tables import flat
from rigpact.reference_runtime.recordings.number_rows import Columns, Table, table_of_rows

MAX_MESSAGES = 1 << 21
_PER_JOINT = ("position", "velocity", "effort")


@dataclass(frozen=True)
class Message:
    """A message: its topic, when it was logged in nanoseconds, what it holds as tables, lists, numbers and words."""

    topic: str
    time_ns: int
    value: Any


def topics_to_table(messages: Iterable[Message], path: Path, tick: str | None, truncation: str | None = None) -> Table:
    """The columns of a bag. tick: the topic whose messages are the frames; None where all topics come together."""
    found = _by_topic(messages, path)
    moving = {name: each for name, each in found.items() if len(each) > 1} or found
    rows = {name: _rows(each, f"{path}#{name}") for name, each in moving.items()}
    columns = {name: _named(each, name) for name, each in rows.items() if each}
    if not columns:
        raise UnusableInput(path, f"topics without numbers: {', '.join(found) or 'none'}", "messages with numbers")
    times = {name: np.array([each.time_ns for each in moving[name]], np.int64) for name in columns}
    frames, held = _together(columns, times, path) if tick is None else _held(columns, times, path, tick)
    return Table({**held, "time": (frames - frames[0]) * 1e-9}, truncation=truncation)


def words_of(messages: Iterable[Message], path: Path) -> dict[str, str]:
    """What topics of one message say: names, scales and poses as text, lists joined by commas."""
    said: dict[str, str] = {}
    for name, each in _by_topic(messages, path).items():
        value = _parsed(each[0].value, f"{path}#{name}") if len(each) == 1 else None
        if isinstance(value, Mapping):
            said.update({str(key): _joined(inside) for key, inside in value.items()})
    return said


def _parsed(value: Any, place: str) -> Any:
    """A std_msgs/String may hold JSON."""
    text = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return value
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UnusableInput(place, f"text that is not JSON ({error})", "JSON in a message of words") from None


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _by_topic(messages: Iterable[Message], path: Path) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for count, message in enumerate(messages):
        if count >= MAX_MESSAGES:
            raise UnusableInput(path, f"more than {MAX_MESSAGES} messages", "a part of it")
        found.setdefault(message.topic, []).append(message)
    return {name: sorted(each, key=lambda message: message.time_ns) for name, each in found.items()}


def _rows(messages: Sequence[Message], place: str) -> Columns:
    rows = [dict(flat(_by_joint(each.value, place), "", place, 0)) for each in messages]
    if not any(rows):
        return {}
    table = table_of_rows(rows, Path(place))
    for name, frames in table.partial.items():
        raise UnusableInput(place, f"{name} in {frames}", "the same fields in every message")
    return table.columns


def _by_joint(value: Any, place: str) -> Any:
    """A JointState as a table of joints; a MultiArray as its data."""
    if not isinstance(value, Mapping):
        return {"": value}
    if value.keys() == {"layout", "data"}:
        return {"": value["data"]}
    names = value.get("name")
    if (
        not isinstance(names, list)
        or not {*_PER_JOINT} & value.keys()
        or not all(isinstance(each, str) for each in names)
    ):
        return value
    table = {key: each for key, each in value.items() if key not in ("name", *_PER_JOINT)}
    for key in _PER_JOINT:
        numbers = value.get(key) or []
        if len(numbers) not in (0, len(names)) or len(set(names)) != len(names):
            raise UnusableInput(
                f"{place}/{key}", f"{len(numbers)} numbers for {len(names)} names", "one for each, or none"
            )
        table[key] = dict(zip(names, numbers, strict=False))
    return table


def _named(columns: Columns, topic: str) -> Columns:
    first = topic.strip("/").replace("/", ".")
    only = next(iter(columns)) if len(columns) == 1 else None
    return {
        first if name == "" or name == only == "data" else f"{first}.{name}": each for name, each in columns.items()
    }


def _together(columns: Mapping[str, Columns], times: Mapping[str, Any], path: Path) -> tuple[Any, Columns]:
    """Topics whose k-th messages belong together: as many of each, nearer to each other than to any other step."""
    first = next(iter(times))
    step = float(np.median(np.diff(times[first]))) if len(times[first]) > 1 else 0.0
    apart = [
        name
        for name, each in times.items()
        if len(each) != len(times[first]) or float(np.abs(each - times[first]).max()) > step / 2
    ]
    if apart:
        counts = ", ".join(f"{name} {len(each)}" for name, each in times.items())
        hint = "`rigpact import BAG -o NAME.npz --tick TOPIC` takes a row for each of its messages; the others hold their last"
        raise UnusableInput(path, f"topics that do not come together: {counts}", "as many messages of each", hint)
    return times[first], {name: rows for each in columns.values() for name, rows in each.items()}


def _held(columns: Mapping[str, Columns], times: Mapping[str, Any], path: Path, tick: str) -> tuple[Any, Columns]:
    """A row for each message of the tick from the first on at which every topic has spoken; each holds its last message."""
    if tick not in columns:
        raise UnusableInput(f"{path}#{tick}", "no such topic with numbers", f"one of {', '.join(columns)}")
    start = max(int(each[0]) for each in times.values())
    frames = times[tick][times[tick] >= start]
    if not len(frames):
        raise UnusableInput(f"{path}#{tick}", "no message behind the first of the other topics", "topics of one run")
    held: dict[str, Any] = {}
    for topic, each in columns.items():
        last = [bisect_right(times[topic], time) - 1 for time in frames]
        held.update({name: rows[last] for name, rows in each.items()})
    return frames, held
