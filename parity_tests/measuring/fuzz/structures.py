"""Changes of what stands in a file, which stays one of its format: types exchanged, nulls, huge numbers, other shapes, nesting.

A byte that is changed is mostly refused by the library that reads the format. Here rigpact itself must see what is odd.
"""

import copy
import io
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
import yaml
from mcap.writer import CompressionType, Writer

from .mutations import VALUES, changed, place_in

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


def hdf5_changed(content: bytes, rng: random.Random) -> bytes:
    """Data sets, some packed, some in groups that hold each other."""
    with h5py.File(io.BytesIO(content), "r") as root:
        found: dict[str, Any] = {}
        root.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    numbers = {name: np.asarray(rows) for name, rows in found.items() if np.asarray(rows).dtype.kind in "fiub"}
    stream = io.BytesIO()
    with h5py.File(stream, "w") as root:
        for index, (name, rows) in enumerate(arrays_changed(numbers, rng).items()):
            place = name.strip("/.\0").replace("//", "/") or f"x{index}"
            if place not in root and rows.dtype.kind in "fiubcSV":
                packed = (
                    {"compression": rng.choice(("gzip", "lzf"))}
                    if rows.ndim and rows.size and rng.random() < 0.5
                    else {}
                )
                root.create_dataset(place, data=rows, **packed)
        if rng.random() < 0.3 and len(root):
            root["again"] = root[rng.choice(list(root))]
    return stream.getvalue()


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
        ".npz": npz_changed, ".npy": npz_changed, ".safetensors": safetensors_changed, ".h5": hdf5_changed,
        ".parquet": parquet_changed, ".mcap": mcap_changed, ".onnx": metadata_changed, ".json": json_changed,
        ".jsonl": json_changed, ".yaml": yaml_changed,
    }  # fmt: skip
    return endings.get(path.suffix)
