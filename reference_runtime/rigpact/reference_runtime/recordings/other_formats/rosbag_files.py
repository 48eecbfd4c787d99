"""rosbag2 in SQLite (.db3): topics and messages in CDR; topics of unknown types are passed over.

The database is opened for reading only, and its own triggers and views are never asked.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, refuse_bomb
from rigpact.contract.files.reading import refuse_too_large
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.ros_messages import OWN_DEFINITIONS, WITHOUT_COLUMNS, decoder_of
from rigpact.reference_runtime.recordings.other_formats.topics import Message, topics_to_table, words_of


def read_rosbag(path: Path, tick: str | None = None) -> Table:
    """The columns of a .db3."""
    return topics_to_table(list(_messages(path)), path, tick)


def rosbag_words(path: Path) -> dict[str, str]:
    """What the topics of one message say."""
    return words_of(list(_messages(path)), path)


def _messages(path: Path) -> Iterator[Message]:
    with opened(path):  # remembers the file, and refuses what is none
        refuse_too_large(path, path.stat().st_size)
        try:
            with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)) as base:
                base.execute("PRAGMA trusted_schema = OFF")
                base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, path.stat().st_size)  # a column may be computed
                yield from _of_base(base, path)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise UnusableInput(
                path, f"bytes that are not a database of rosbag2 ({error})", "topics and messages"
            ) from None


def _of_base(base: sqlite3.Connection, path: Path) -> Iterator[Message]:
    tables = dict(base.execute("SELECT name, type FROM sqlite_master").fetchall())
    for name in ("topics", "messages"):
        if tables.get(name) != "table":
            raise UnusableInput(path, f"no table {name}", "topics and messages of rosbag2")
    definitions = dict(OWN_DEFINITIONS)
    if tables.get("message_definitions") == "table":
        every = base.execute("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
        definitions.update({kind: text for kind, encoding, text in every if encoding == "ros2msg"})
    decoders: dict[int, tuple[str, Callable[[bytes, str], Any]]] = {}
    for number, topic, kind, form in base.execute("SELECT id, name, type, serialization_format FROM topics"):
        if form == "cdr" and kind in definitions and kind not in WITHOUT_COLUMNS:
            decoders[number] = (str(topic), decoder_of(str(kind), str(definitions[kind]), f"{path}#{topic}"))
    size, taken = path.stat().st_size, 0
    for number, time_ns, data in base.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"):
        if number not in decoders:
            continue
        taken += len(data) if isinstance(data, bytes) else 0
        refuse_bomb(path, size, taken)
        if not isinstance(time_ns, int) or not isinstance(data, bytes):
            raise UnusableInput(f"{path}#{decoders[number][0]}", "a message without a time or bytes", "both")
        topic, decode = decoders[number]
        yield Message(topic, time_ns, decode(data, f"{path}#{topic}, at {time_ns}"))
