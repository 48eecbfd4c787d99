"""MCAP: messages under topics as columns, `topic.field`, a row for each message of the topic that gives the tick.

Topics in CDR of ROS 2 or in JSON are read, others are passed over; a file that was cut off is read up to its last whole record.
A JointState is read by the names in each message: its order is not a contract and may change. A bag does not say which topic
gives the tick: topics that come once a step, as many of each, are joined as they are; others need `tick`. What comes once a step
is of the step whose tick is nearest; what comes at another rate is held: its last message up to the tick.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.tables import Columns, Table, flat, library, table_of_rows

_UNSURE = 0.01
"""So many messages of a topic may come at a moment that says nothing: a machine stalls now and then."""
Times = Mapping[str, Any]
_PER_JOINT = ("position", "velocity", "effort")


@dataclass(frozen=True)
class Message:
    """A message: its topic, when it was logged in nanoseconds, what it holds as tables, lists, numbers and words."""

    topic: str
    time_ns: int
    value: Any


def topics_to_table(messages: Iterable[Message], path: Path, tick: str | None, truncation: str | None = None) -> Table:
    """The columns of a bag. tick: the topic whose messages are the frames; None where all topics come together."""
    found = _by_topic(messages)
    moving = {name: each for name, each in found.items() if len(each) > 1} or found
    rows = {name: _rows(each, f"{path}#{name}") for name, each in moving.items()}
    columns = {name: _named(each, name) for name, each in rows.items() if each}
    if not columns:
        raise UnusableInput(path, f"topics without numbers: {', '.join(found) or 'none'}", "messages with numbers")
    times = {name: np.array([each.time_ns for each in moving[name]], np.int64) for name in columns}
    if tick is not None and tick not in times:
        raise UnusableInput(f"{path}#{tick}", "no such topic with numbers", f"one of {', '.join(times)}")
    rows_of, frames, notes = _Pairing(path, times, tick or next(iter(times)), is_said=tick is not None).paired()
    held = {name: rows[rows_of[topic]] for topic, each in columns.items() for name, rows in each.items()}
    left = [f"{name} ({len(each)})" for name, each in found.items() if name not in columns]
    notes += [f"in no row, of one message or without numbers: {', '.join(left)}"] if left else []
    return Table({**held, "time": (frames - frames[0]) * 1e-9}, truncation=truncation, notes=tuple(notes))


def words_of(messages: Iterable[Message], path: Path) -> dict[str, str]:
    """What topics of one message say: names, scales and poses as text, lists joined by commas."""
    said: dict[str, str] = {}
    for name, each in _by_topic(messages).items():
        value = _parsed(each[0].value, f"{path}#{name}") if len(each) == 1 else None
        if isinstance(value, Mapping):
            words = ((key, inside if isinstance(inside, list) else [inside]) for key, inside in value.items())
            said.update({str(key): ",".join(map(str, inside)) for key, inside in words})
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


def _by_topic(messages: Iterable[Message]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for message in messages:
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
    names, held = value.get("name"), {key: value[key] for key in _PER_JOINT if key in value}
    if not isinstance(names, list) or not held or not all(isinstance(each, list) for each in held.values()):
        return value
    if not all(isinstance(each, str) for each in names):
        return value
    table = {key: each for key, each in value.items() if key not in ("name", *_PER_JOINT)}
    for key, numbers in held.items():
        if len(numbers) not in (0, len(names)) or len(set(names)) != len(names):
            found = f"{len(numbers)} numbers for {len(names)} names"
            raise UnusableInput(f"{place}/{key}", found, "one for each, or none")
        table[key] = dict(zip(names, numbers, strict=False))
    return table


def _named(columns: Columns, topic: str) -> Columns:
    first = topic.strip("/").replace("/", ".")
    only = next(iter(columns)) if len(columns) == 1 else None
    is_alone = {"", only} if only == "data" else {""}
    return {first if name in is_alone else f"{first}.{name}": each for name, each in columns.items()}


@dataclass(frozen=True, eq=False)
class _Pairing:
    """Which message of every topic stands in which row. times: topic -> (n,) ns, rising. is_said: the user named the tick."""

    path: Path
    times: Times
    tick: str
    is_said: bool

    @property
    def ticks(self) -> Any:
        return self.times[self.tick]

    @property
    def step(self) -> float:
        return float(np.median(np.diff(self.ticks))) if len(self.ticks) > 1 else 0.0

    def paired(self) -> tuple[dict[str, Any], Any, list[str]]:
        """Topic -> the place of its message in each row; when each row is, in ns; what was paired with what, in words."""
        if len(self.ticks) > 1 and self.step == 0.0:
            found = f"{len(self.ticks)} messages, most of them at the time of the one before"
            hint = "the recorder wrote no log times: record with the clock of the run"
            raise UnusableInput(f"{self.path}#{self.tick}", found, "log times that rise", hint)
        places = {name: self._in_step(name) if self._is_once(name) else self._held(name) for name in self.times}
        every = {name: np.arange(len(each)) for name, each in self.times.items()}
        if not self.is_said and not all(np.array_equal(places[name], each) for name, each in every.items()):
            raise self._apart()
        start = max(int(np.argmax(each >= 0)) if (each >= 0).any() else len(each) for each in places.values())
        frames = self.ticks[start:]
        if not len(frames):
            found = "no message behind the first of the other topics"
            raise UnusableInput(f"{self.path}#{self.tick}", found, "topics of one run")
        rows = {name: each[start:] for name, each in places.items()}
        early = f"; {start} left out, before every topic had a message" if start else ""
        said = [f"a row for each of {len(frames)} messages of {self.tick}, {_ms(self.step)} apart{early}"]
        said += [self._words(name, each, frames) for name, each in rows.items() if name != self.tick]
        return rows, frames, said

    def _is_once(self, name: str) -> bool:
        own = self.times[name]
        if min(len(own), len(self.ticks)) < 2:
            return len(own) == len(self.ticks)
        return bool(abs(float(np.median(np.diff(own))) - self.step) < self.step / 4)

    def _held(self, name: str) -> Any:
        return np.searchsorted(self.times[name], self.ticks, side="right") - 1

    def _in_step(self, name: str) -> Any:
        """(ticks,): the message of the step whose tick is nearest, where none came the one before; -1 before the first.

        UnusableInput where many come so long behind a tick that they may be late for it or early for the next.
        """
        own = self.times[name]
        nearest = np.atleast_1d(np.searchsorted((self.ticks[1:] + self.ticks[:-1]) // 2, own))
        behind = own - self.ticks[nearest]
        unsure = (behind > self.step / 4) & (behind <= self.step / 2)
        if np.count_nonzero(unsure) > _UNSURE * len(own):
            found = f"{name} comes {_ms(*np.quantile(behind, (0, 1)))} behind {self.tick}, in steps of {_ms(self.step)}"
            found += ": of which step it is, is not told"
            hint = "--tick TOPIC with what a step publishes last; `mcap filter` leaves out a topic of another clock"
            raise UnusableInput(self.path, found, "at most a quarter of a step", hint)
        places = np.full(len(self.ticks), -1)
        inside = np.flatnonzero(np.abs(behind) <= self.step / 2)
        places[nearest[inside]] = inside
        return np.maximum.accumulate(places)

    def _words(self, name: str, places: Any, frames: Any) -> str:
        own = self.times[name]
        behind = own[places] - frames
        count, unused = len(own), len(own) - len(np.unique(places))
        more = f"; {unused} of {count} in no row" if unused else ""
        if not self._is_once(name):
            return f"{name}: held, the last message up to the tick, {_ms(*np.quantile(-behind, (0, 1)))} old{more}"
        lost = np.count_nonzero(np.diff(places) == 0)
        more += f"; its own is lost in {lost} of the rows, which hold the one before" if lost else ""
        lies = "behind" if np.median(behind) >= 0 else "before"
        return f"{name}: the message of the step, {_ms(abs(float(np.median(behind))))} {lies} the tick{more}"

    def _apart(self) -> UnusableInput:
        counts = ", ".join(f"{name} {len(each)}" for name, each in self.times.items())
        hint = "`rigpact convert BAG -o NAME.npz --tick TOPIC` takes a row for each of its messages"
        return UnusableInput(self.path, f"topics that do not come together: {counts}", "as many messages of each", hint)


def _ms(low: float, high: float | None = None) -> str:
    ends = [f"{each / 1e6:.3g}" for each in ((low,) if high is None else (low, high))]
    return f"{' to '.join(dict.fromkeys(ends))} ms"


WITHOUT_COLUMNS = frozenset(f"sensor_msgs/msg/{kind}" for kind in ("Image", "CompressedImage", "PointCloud2"))
"""Types of which a column makes nothing."""
_UNREADABLE_MESSAGE = (
    ValueError, TypeError, LookupError, EOFError, RecursionError, OverflowError, MemoryError, AttributeError, struct.error,
    NotImplementedError, NameError,
)  # fmt: skip


def decoder_of(kind: str, definition: str, place: str) -> Callable[[bytes, str], Any]:
    """What reads the bytes of a message of a type; UnusableInput for a definition that is none."""
    dynamic, exceptions = library("mcap_ros2._dynamic", place), library("mcap.exceptions", place)
    parser = library("mcap_ros2._vendor.rosidl_adapter.parser", place)
    damaged = (*_UNREADABLE_MESSAGE, exceptions.McapError, parser.InvalidSpecification)
    try:
        with redirect_stderr(StringIO()), redirect_stdout(StringIO()):  # the parser prints what it cannot read
            read = dynamic.generate_dynamic(kind, definition)[kind]
    except damaged as error:
        raise UnusableInput(place, f"a definition of {kind} that cannot be read ({error})", "ros2msg") from None

    def decode(content: bytes, where: str) -> Any:
        try:
            return plain(read(content))
        except damaged as error:
            found = f"bytes that are not {kind} ({type(error).__name__} {error})"
            raise UnusableInput(where, found, "a message") from None

    return decode


def plain(value: Any) -> Any:
    """A decoded message as tables, lists, numbers and words."""
    names = getattr(type(value), "__slots__", None)
    if names is not None and not isinstance(value, str | bytes):
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, bytes | bytearray | memoryview):
        return list(bytes(value))
    if isinstance(value, int | float | str):
        return value
    return [plain(each) for each in value]


MAX_RECORDS, _LATEST_NS = 1 << 21, (1 << 63) - 1
"""Messages, and what stands between them; the last moment that 64 bits with a sign say, in the year 2262."""
_DAMAGED = (ValueError, EOFError, struct.error, zlib.error, OverflowError, MemoryError, RuntimeError)


def read_mcap(path: Path, tick: str | None = None) -> Table:
    """The columns of an MCAP file."""
    bag = _Bag(path)
    return topics_to_table(list(bag.messages()), path, tick, bag.truncation)


def mcap_words(path: Path) -> dict[str, str]:
    """What the metadata records and the topics of one message say."""
    bag = _Bag(path)
    return {**words_of(list(bag.messages()), path), **bag.metadata}


class _Bag:
    """The records of a file. truncation: where a file that was cut off ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truncation: str | None = None
        self.metadata: dict[str, str] = {}
        self._schemas: dict[int, Any] = {}
        self._channels: dict[int, Any] = {}
        self._decoders: dict[int, Callable[[bytes, str], Any] | None] = {}
        self._unpacked = self._counted = 0

    def messages(self) -> Iterator[Message]:
        records = library("mcap.records", self.path)
        for record in self._records():
            if isinstance(record, records.Schema):
                self._schemas[record.id] = record
            elif isinstance(record, records.Channel):
                self._channels[record.id] = record
            elif isinstance(record, records.Metadata):
                self.metadata.update(record.metadata)
            elif isinstance(record, records.Message):
                yield from self._message(record)

    def _message(self, record: Any) -> Iterator[Message]:
        channel = self._channels.get(record.channel_id)
        if channel is None:
            found = f"a message of the channel {record.channel_id}"
            raise UnusableInput(self.path, found, "a channel that stands before")
        if record.channel_id not in self._decoders:
            self._decoders[record.channel_id] = self._decoder(channel)
        where, decode = f"{self.path}#{channel.topic}, message {record.sequence}", self._decoders[record.channel_id]
        if record.log_time > _LATEST_NS:
            raise UnusableInput(where, f"a time of {record.log_time} ns", f"at most {_LATEST_NS}")
        if decode is not None:
            yield Message(channel.topic, record.log_time, decode(record.data, where))

    def _decoder(self, channel: Any) -> Callable[[bytes, str], Any] | None:
        place, schema = f"{self.path}#{channel.topic}", self._schemas.get(channel.schema_id)
        if channel.message_encoding == "json":
            return _json
        is_ros = channel.message_encoding == "cdr" and schema is not None and schema.encoding == "ros2msg"
        if schema is None or not is_ros or schema.name in WITHOUT_COLUMNS:
            return None
        try:
            return decoder_of(schema.name, schema.data.decode(), place)
        except UnicodeDecodeError:
            raise UnusableInput(place, "a schema that is not text", "ros2msg in UTF-8") from None

    def _records(self) -> Iterator[Any]:
        reader, exceptions = library("mcap.stream_reader", self.path), library("mcap.exceptions", self.path)
        records = library("mcap.records", self.path)
        with opened(self.path) as stream:
            size = self.path.stat().st_size
            refuse_too_large(self.path, size)
            count = 0
            try:
                read = reader.StreamReader(stream, emit_chunks=True, validate_crcs=True, record_size_limit=size)
                for record in read.records:
                    count += 1
                    if isinstance(record, records.Chunk):
                        chunk = self._unpacked_chunk(record, size)
                        self._count(_records_in(chunk.data))
                        yield from reader.breakup_chunk(chunk, validate_crc=True)
                    else:
                        self._count(range(1))
                        yield record
            except (exceptions.EndOfFile, struct.error) as error:
                if stream.tell() < size or not count:
                    raise UnusableInput(self.path, f"no whole record ({error})", "an MCAP file") from None
                self.truncation = f"after record {count}"
            except (*_DAMAGED, exceptions.McapError) as error:
                raise UnusableInput(self.path, f"bytes that are not MCAP ({error})", "an MCAP file") from None

    def _count(self, records: Iterable[Any]) -> None:
        """UnusableInput for too many records: asked before one of them is made."""
        for _ in records:
            self._counted += 1
            if self._counted > MAX_RECORDS:
                raise UnusableInput(self.path, f"more than {MAX_RECORDS} messages", "a part of it")

    def _unpacked_chunk(self, chunk: Any, size: int) -> Any:
        """The chunk without compression, never unpacked beyond what it says and what the file may hold."""
        self._unpacked += chunk.uncompressed_size
        refuse_bomb(self.path, size, self._unpacked)
        if not chunk.compression:
            return chunk
        if chunk.compression not in _UNPACK:
            raise UnusableInput(self.path, f"a chunk packed by {chunk.compression[:20]!r}", "zstd or lz4")
        data = _UNPACK[chunk.compression](chunk.data, chunk.uncompressed_size)
        if len(data) != chunk.uncompressed_size:
            raise UnusableInput(self.path, f"a chunk of {len(data)} bytes", f"{chunk.uncompressed_size}, as it says")
        return replace(chunk, compression="", data=data)


def _records_in(data: bytes) -> Iterator[int]:
    """Where each record of an unpacked chunk begins: a byte for its kind, eight for its length."""
    place = 0
    while place + 9 <= len(data):
        yield place
        place += 9 + int.from_bytes(data[place + 1 : place + 9], "little")


def _zstd(data: bytes, size: int) -> bytes:
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as stream:
            return stream.read(size + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _lz4(data: bytes, size: int) -> bytes:
    unpacked: bytes = library("lz4.frame", "lz4").LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    return unpacked


_UNPACK = {"zstd": _zstd, "lz4": _lz4}


def _json(content: bytes, where: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableInput(where, f"bytes that are not JSON ({error})", "JSON") from None
