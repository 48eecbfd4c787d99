"""Changes of a file as damage, slips and malice make them: drawn from a seed, so that each can be made again."""

import copy
import io
import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
import yaml
from mcap.writer import CompressionType, Writer

Change = Callable[[bytes, random.Random], bytes]
_TOKEN = re.compile(rb'-?\d[\d.eE+-]*|"[^"\n]*"|[A-Za-z_]+|[\[\]{}:,=]')
_ENTRY = re.compile(rb'"[^"\n]{1,40}"\s*:\s*(?:-?[\d.eE+-]+|"[^"\n]*"|\[[^\[\]{}]{0,80}\])\s*,')
_WORDS: Sequence[bytes] = (
    b"-1", b"0", b"1e999", b"1e308", b"1e-320", b"NaN", b"-Infinity", b"nan(ind)", b"9" * 5000, b"18446744073709551616",
    b"9223372036854775807", b"2147483648", b"1000000000", b"0.1", b"null", b"true", b"{}", b"[]", b"[[]]", b'[{"a":[null]}]',
    b'""', b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m\\n::error::x"', b'"../../../etc/passwd"', b'"/dev/zero"', b"[" * 300,
    b"[" * 3000 + b"]" * 3000, b'{"a":' * 900 + b"1" + b"}" * 900, b"a" * 4000, b",nan(" * 500, b"\n" * 300, b"\xff\xfe", b"\0",
)  # fmt: skip
_VALUE = re.compile(rb"^[ -]*[\w.\"-]+ ?[=:] ?([^\n]+)$", re.MULTILINE)
_INLINE = re.compile(rb'\b\w+ = (\[[^][{}]*\]|"[^"\n]*"|-?[\d.][\d.e+-]*|true|false)(?= ?[,}])')
"""A value of an inline table."""
_LITERALS = (
    b"0", b"1", b"-1", b"2", b"1.5", b"1e300", b"9223372036854775807", b"true", b"false", b'""', b'"a"', b'"none"',
    b"[]",     b"[[]]", b"[0]", b"[1, 2]", b'["a"]', b"[[1], [2]]", b"{}", b'"0,1,2"', b'"2,1,0"', b"1979-05-27",
    b"1979-05-27T07:32:00Z",     b"inf", b"nan", b"-inf", b".inf", b"null", b"~", b"!!timestamp x", b"!!bool x",
    b"!!int ''",     b"!!set {a}", b"!!binary x", b"&a [1]", b'"\\u0000"', b'"a.json"', b'"../x"', b"0x1F", b"07:32:00",
    b"1_000", b"[1, 'a', {}]", b"9" * 400,
)  # fmt: skip
_FOUR_BYTES = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\xc0\x7f", b"\x01\0\0\0")


def changed(content: bytes, rng: random.Random) -> bytes:
    """The bytes after one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(_CHANGES)(content, rng)
    return content


def _flipped(content: bytes, rng: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(rng.randint(1, 8) if made else 0):
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return bytes(made)


def _span(content: bytes, rng: random.Random, most: int = 64) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.randint(1, most))


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _removed(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng)
    return content[:start] + content[stop:]


def _inserted(content: bytes, rng: random.Random) -> bytes:
    start, _ = _span(content, rng)
    return content[:start] + rng.choice((rng.randbytes(rng.randint(1, 16)), rng.choice(_WORDS))) + content[start:]


def _repeated(content: bytes, rng: random.Random) -> bytes:
    start, stop = _span(content, rng, 256)
    return content[:stop] * rng.choice((1, 1, 2)) + content[start:stop] * rng.randint(1, 20) + content[stop:]


def _numbered(content: bytes, rng: random.Random) -> bytes:
    """Four bytes that are a size, or a number that is none."""
    start, _ = _span(content, rng)
    return content[:start] + rng.choice(_FOUR_BYTES) + content[start + 4 :]


def _tokens(content: bytes, rng: random.Random) -> Sequence[tuple[int, int]]:
    """The places of tokens in a part of the file: a long file is not read whole for one change."""
    start = rng.randrange(max(len(content) - 4096, 1))
    return [(found.start(), found.end()) for found in _TOKEN.finditer(content, start, start + 4096)]


def _reworded(content: bytes, rng: random.Random) -> bytes:
    """A token that becomes something else."""
    places = _tokens(content, rng)
    if not places:
        return _flipped(content, rng)
    start, stop = rng.choice(places)
    return content[:start] + rng.choice(_WORDS) + content[stop:]


def _swapped(content: bytes, rng: random.Random) -> bytes:
    """Two tokens in each other's place."""
    places = _tokens(content, rng)
    if len(places) < 2:
        return _flipped(content, rng)
    (a, b), (c, d) = sorted(rng.sample(places, 2))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _twice(content: bytes, rng: random.Random) -> bytes:
    """A key that stands twice."""
    found = _ENTRY.search(content, rng.randrange(max(len(content), 1)))
    if found is None:
        return _repeated(content, rng)
    return content[: found.end()] + found[0] + content[found.end() :]


def restructured(content: bytes, rng: random.Random) -> bytes:
    """JSON that stays JSON, one line of it where each is one: a value somewhere inside becomes another, or is gone."""
    lines = [content] if content.startswith(b"{\n") else content.split(b"\n")
    place = rng.randrange(len(lines))
    try:
        root = [json.loads(lines[place])]
    except (ValueError, RecursionError):
        return _reworded(content, rng)
    holder, key = place_in(root, rng)
    if rng.random() < 0.2 and holder is not root:
        del holder[key]
    else:
        holder[key] = rng.choice((*VALUES, holder[key], [holder[key]], {"a": holder[key]}))
    return b"\n".join([*lines[:place], json.dumps(root[0]).encode(), *lines[place + 1 :]])


def revalued(content: bytes, rng: random.Random) -> bytes:
    """TOML or YAML that stays so: a value behind `=` or `:` becomes one of another type."""
    for _ in range(rng.choice((1, 1, 2))):
        places = [*_VALUE.finditer(content), *_INLINE.finditer(content)]
        if places:
            chosen = rng.choice(places)
            other = rng.choice((*_LITERALS, *(place[1] for place in places)))
            content = content[: chosen.start(1)] + other + content[chosen.end(1) :]
    return content


def place_in(root: list[Any], rng: random.Random) -> tuple[Any, Any]:
    """A container somewhere inside, and a key or an index of it."""
    holder: Any = root
    while True:
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        inside = holder[key]
        if not isinstance(inside, dict | list) or not inside or rng.random() < 0.25:
            return holder, key
        holder = inside


VALUES: Sequence[Any] = (
    None, True, 0, -1, 1, 2, 3, 0.5, 1e39, -1e308, 1 << 31, 1 << 63, 1 << 64, 10**18, math.nan, math.inf, "", "a", "0", "NaN",
    "\ud800", "\x00", "\x1b[31m\n::error::x", "../../x", "/dev/zero", [], [[]], [0], [None], ["a"], {}, {"a": 1}, [1, 2, 3],
)  # fmt: skip


_CHANGES: Sequence[Change] = (
    _flipped, _cut, _removed, _inserted, _repeated, _numbered, _reworded, _reworded, _reworded, _swapped, _twice,
    *(restructured,) * 6,
)  # fmt: skip


_NAMES = ("", "a.b", "a[0]", "frame", "time", "fps", "mode", "episode_index", "q_3", "\x1b]0;x\x07", "\u00e4", "x" * 300, "a/b",
          "..")  # fmt: skip
_KINDS = ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "u1", "?", "c8", "S3", "U2", "M8[s]", ">f4", "V4")
_NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 1e-320, 3.5e38, 2.0**53, -(2.0**63))


def tree_changed(root: Any, rng: random.Random) -> Any:
    """Nested tables and lists after one to three changes: a value is another, is gone, is nested, stands under another key."""
    whole = [root]
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = place_in(whole, rng)
        kind, held = rng.random(), copy.deepcopy(holder[key])  # a copy: what stands twice must not hold itself
        if kind < 0.15 and holder is not whole:
            del holder[key]
        elif kind < 0.25 and isinstance(holder, dict):
            holder[rng.choice((*_NAMES, *holder))] = held
        elif kind < 0.35 and isinstance(holder, list):
            holder.append(held)
        elif kind < 0.5:
            other, place = place_in(whole, rng)
            holder[key] = copy.deepcopy(other[place])
        else:
            holder[key] = copy.deepcopy(rng.choice((*VALUES, [held], {"a": held}, str(held), [held] * 3)))
    return whole[0]


def json_changed(content: bytes, rng: random.Random) -> bytes:
    """JSON, or lines of it of which one changes; now and then a key stands twice."""
    lines = content.split(b"\n") if content.count(b"\n{") else [content]
    place = rng.randrange(len(lines))
    lines[place] = json.dumps(tree_changed(json.loads(lines[place] or b"{}"), rng)).encode()
    if rng.random() < 0.1:
        lines[place] = lines[place].replace(b"{", b'{"fps": 1, ', 1)
    return b"\n".join(lines)


def yaml_changed(content: bytes, rng: random.Random) -> bytes:
    """YAML with plain tags."""
    loader = yaml.SafeLoader if b"!!" not in content else yaml.BaseLoader
    return yaml.dump(tree_changed(yaml.load(content, loader), rng), allow_unicode=True, sort_keys=False).encode()  # noqa: S506


def arrays_changed(arrays: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Arrays of which one or two have another type, shape, name or odd numbers."""
    made = {name: np.array(rows) for name, rows in arrays.items()}
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(made))
        rows, kind = np.atleast_1d(made[name]), rng.randrange(7)
        if kind == 0:
            with np.errstate(all="ignore"):
                made[name] = rows.astype(rng.choice(_KINDS)) if rows.dtype.kind in "fiub" else rows
        elif kind == 1:
            made[name] = rng.choice(
                (rows[:0], rows[:1], rows[..., None], rows.reshape(-1), np.atleast_2d(rows).T, rows[::-1])
            )
        elif kind == 2:
            made[name] = np.array(rng.choice(("words", True, 7, 1 << 63, np.nan)))
        elif kind == 3:
            made[rng.choice(_NAMES)] = made.pop(name) if len(made) > 1 else rows
        elif kind == 4:
            made[rng.choice(_NAMES)] = rows
        elif rows.size and rows.dtype.kind in "f":
            flat = rows.reshape(-1).copy()
            flat[rng.randrange(len(flat)) :: rng.randint(1, 9)] = rng.choice(_NUMBERS)
            made[name] = flat.reshape(rows.shape)
        else:
            made[name] = np.repeat(rows, 2, axis=0) if rows.ndim else rows
    return made


def npz_changed(content: bytes, rng: random.Random) -> bytes:
    """A .npz, or one array as .npy."""
    stream, loaded = io.BytesIO(), np.load(io.BytesIO(content))
    if not hasattr(loaded, "files"):
        np.save(stream, next(iter(arrays_changed({"a": loaded}, rng).values())))
        return stream.getvalue()
    made = arrays_changed(dict(loaded), rng)
    np.savez(stream, **{name.replace("file", "f"): rows for name, rows in made.items()})
    return stream.getvalue()


def safetensors_changed(content: bytes, rng: random.Random) -> bytes:
    """Tensors with the metadata that they had."""
    size = int.from_bytes(content[:8], "little")
    said = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    if said and rng.random() < 0.5:
        key = rng.choice(list(said))
        said[key] = json_changed(said[key].encode(), rng).decode() if said[key].startswith("{") else rng.choice(_NAMES)
    made = arrays_changed(safetensors.numpy.load(content), rng)
    plain = {
        name: np.ascontiguousarray(rows)
        for name, rows in made.items()
        if rows.dtype.kind in "fiub" and rows.dtype.isnative
    }
    return safetensors.numpy.save(plain, said or None)


_ARROW: tuple[Callable[[Any], Any], ...] = (
    lambda each: None, lambda each: [each, None], lambda each: {"a": each}, str, lambda each: [[each]], bool,
    lambda each: [each] * (len(str(each)) % 3), lambda each: float("nan"), lambda each: str(each).encode(),
)  # fmt: skip


def parquet_changed(content: bytes, rng: random.Random) -> bytes:
    """Columns of other types, with nulls in them, under other names."""
    table = pq.read_table(io.BytesIO(content))
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    for _ in range(rng.choice((1, 2, 3))):
        name, turn = rng.choice(list(columns)), rng.choice(_ARROW)
        rows, where = columns[name], rng.choice(((0, 1), (0, 3), (1, 2)))
        if rng.random() < 0.2:
            columns[rng.choice(_NAMES)] = columns.pop(name)
            continue
        columns[name] = [turn(each) if index % where[1] >= where[0] else each for index, each in enumerate(rows)]
    made: dict[str, Any] = {}
    for name, rows in columns.items():
        try:
            made[name] = pa.array(rows)
        except (pa.ArrowException, OverflowError, TypeError):
            made[name] = pa.array([None if each is None else str(each) for each in rows])
    if rng.random() < 0.3:
        count = rng.randrange(2)
        made = {name: each[:count] for name, each in made.items()}
    stream = io.BytesIO()
    pq.write_table(pa.table(made), stream)
    return stream.getvalue()


def mcap_changed(content: bytes, rng: random.Random) -> bytes:
    """Messages in JSON, of which some hold something else, at odd times."""
    from mcap.reader import make_reader

    stream = io.BytesIO()
    writer = Writer(stream, compression=rng.choice(list(CompressionType)), use_chunking=rng.random() < 0.7)
    writer.start()
    channels = {
        name: writer.register_channel(name, "json", 0) for name in ("/state", "/joint_states", rng.choice(_NAMES))
    }
    for _, channel, message in make_reader(io.BytesIO(content)).iter_messages():
        value: Any = json.loads(message.data) if channel.message_encoding == "json" else {"data": [1.0, 2.0]}
        if rng.random() < 0.2:
            value = {"name": ["a", "b"], "position": [1.0, 2.0], "velocity": [], "layout": {}}
        if rng.random() < 0.2:
            value = tree_changed(value, rng)
        time_ns = rng.choice((message.log_time, message.log_time, message.log_time, 0, 1 << 62, (1 << 64) - 1))
        writer.add_message(rng.choice(list(channels.values())), time_ns, json.dumps(value).encode(), 0)
    writer.finish()
    return stream.getvalue()


def metadata_changed(content: bytes, rng: random.Random) -> bytes:
    """A model whose metadata say something else."""
    model = onnx.load_model_from_string(content)
    for entry in rng.sample(list(model.metadata_props), rng.randint(1, 2)):
        bytewise = changed(entry.value.encode(), rng).decode(errors="ignore")
        other = rng.choice((entry.value, *_NAMES, "1e999", "nan", ",", "1,2;3", "-inf;inf", "9" * 400, bytewise))
        entry.value = rng.choice((other, f"{entry.value},{other}", entry.value.partition(",")[2]))
    made: bytes = model.SerializeToString()
    return made


def file_changed(path: Path) -> Callable[[bytes, random.Random], bytes] | None:
    """The change of a file of this name; None for text that is changed as bytes."""
    endings = {
        ".npz": npz_changed, ".npy": npz_changed, ".safetensors": safetensors_changed,
        ".parquet": parquet_changed, ".mcap": mcap_changed, ".onnx": metadata_changed, ".json": json_changed,
        ".jsonl": json_changed, ".yaml": yaml_changed,
    }  # fmt: skip
    return endings.get(path.suffix)
