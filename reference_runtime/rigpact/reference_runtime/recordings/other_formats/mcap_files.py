"""MCAP: chunks of messages with their schemas. Topics in CDR of ROS 2 or in JSON are read, others are passed over.

A file that was cut off is read up to its last whole record.
"""

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.libraries import library
from rigpact.reference_runtime.recordings.other_formats.topics import Message, topics_to_table, words_of

# Messages of ROS 2 as data: CDR, after the definition that stands in the bag.
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
            raise UnusableInput(
                where, f"bytes that are not {kind} ({type(error).__name__} {error})", "a message"
            ) from None

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
    messages = list(bag.messages())
    return topics_to_table(messages, path, tick, bag.truncation)


def mcap_words(path: Path) -> dict[str, str]:
    """What the metadata records and the topics of one message say."""
    bag = _Bag(path)
    messages = list(bag.messages())
    return {**words_of(messages, path), **bag.metadata}


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
        """The message, or nothing where its encoding is none that has numbers here."""
        channel = self._channels.get(record.channel_id)
        if channel is None:
            raise UnusableInput(
                self.path, f"a message of the channel {record.channel_id}", "a channel that stands before"
            )
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
        if (
            channel.message_encoding != "cdr"
            or schema is None
            or schema.encoding != "ros2msg"
            or schema.name in WITHOUT_COLUMNS
        ):
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
                for record in reader.StreamReader(
                    stream, emit_chunks=True, validate_crcs=True, record_size_limit=size
                ).records:
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
