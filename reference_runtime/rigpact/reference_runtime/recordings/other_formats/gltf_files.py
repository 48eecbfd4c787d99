"""glTF 2.0 (.gltf, .glb): the nodes that an animation moves, and the joints of skins, sampled where any channel has a key.

Quaternions are x, y, z, w, in axes of the parent; metres, +y up. A channel holds its end values outside its keys; a path that is
not animated keeps the node's own. Sparse accessors and compressed buffers are refused.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import bytes_to_json, read_bytes, refuse_bomb
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import matrix_to_quat
from rigpact.reference_runtime.recordings.number_rows import Table
from rigpact.reference_runtime.recordings.other_formats.animation import (
    Animation,
    Joint,
    animation_to_table,
    refuse_repeated,
)

_MAGIC, _JSON, _BIN = b"glTF", 0x4E4F534A, 0x004E4942
_TYPES = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_NORMALISED = {5120: 127.0, 5121: 255.0, 5122: 32767.0, 5123: 65535.0}
_DEFAULTS = {"rotation": (0.0, 0.0, 0.0, 1.0), "translation": (0.0, 0.0, 0.0)}
MAX_KEYS, MAX_NODES = 1 << 20, 1 << 14
_BYTES_OF_A_KEY = 7 * 8
"""A rotation and a position; several channels may read the same bytes."""


def read_gltf(path: Path, animation: int | None = None) -> Table:
    """The columns of an animation of a glTF file."""
    return animation_to_table(read_gltf_animation(path, animation))


def read_gltf_animation(path: Path, animation: int | None = None) -> Animation:
    """An animation by its number; without one the file must hold one. UnusableInput names the place in the JSON."""
    file = _File(path)
    listed = file.tables("animations")
    if not listed or (animation is None and len(listed) > 1):
        hint = "`rigpact import FILE -o NAME.npz --episode N` takes one" if listed else ""
        raise UnusableInput(f"{path}#/animations", f"{len(listed)} animations", "one", hint)
    number = animation or 0
    if number >= len(listed):
        raise UnusableInput("--episode", str(number), f"one of 0 to {len(listed) - 1}")
    curves = _curves(file, number)
    nodes, parents = file.nodes(), {}
    for index, node in enumerate(nodes):
        parents.update(dict.fromkeys(_places(node.get("children")), index))
    moved = {node for node, _ in curves} | {
        joint for skin in file.tables("skins") for joint in _places(skin.get("joints"))
    }
    if any(index >= len(nodes) for index in moved):
        raise UnusableInput(f"{path}#/skins", "a joint that is not a node", f"0 to {len(nodes) - 1}")
    names = {index: str(nodes[index].get("name") or f"node_{index}") for index in sorted(moved)}
    refuse_repeated(list(names.values()), f"{path}#/nodes")
    times = np.unique(np.concatenate([curve.times for curve in curves.values()]))
    refuse_bomb(path, file.size, len(times) * len(names) * _BYTES_OF_A_KEY)
    own = {index: {key: _of_node(nodes[index], key, f"{path}#/nodes/{index}") for key in _DEFAULTS} for index in names}
    sampled = {
        key: {
            name: curves[index, key].at(times) if (index, key) in curves else np.tile(own[index][key], (len(times), 1))
            for index, name in names.items()
        }
        for key in _DEFAULTS
    }
    joints = [
        Joint(
            name,
            names.get(parents.get(index, -1), ""),
            tuple(own[index]["translation"]),
            "",
            tuple(own[index]["rotation"]),
        )
        for index, name in names.items()
    ]
    return Animation(joints, times, sampled["rotation"], sampled["translation"])


class _File:
    """The JSON of a file and its buffers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        content = read_bytes(path)
        text, self._binary = _chunks(content, path) if content[:4] == _MAGIC else (content, None)
        self.root: Any = bytes_to_json(text, path).data
        asset = self.root.get("asset") if isinstance(self.root, Mapping) else None
        if not isinstance(asset, Mapping) or not str(asset.get("version", "")).startswith("2."):
            raise UnusableInput(f"{path}#/asset/version", "no version 2", "a glTF 2.0 file")
        self._buffers: dict[int, bytes] = {}
        self._size = len(content)

    @property
    def size(self) -> int:
        """Bytes of the file and of the buffers that were read."""
        return self._size + sum(map(len, self._buffers.values()))

    def tables(self, key: str) -> list[Any]:
        """A list of tables at the root."""
        found = self.root.get(key, [])
        if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
            raise UnusableInput(f"{self.path}#/{key}", "no list of tables", "a list of tables")
        return found

    def nodes(self) -> list[Any]:
        """Every node."""
        found = self.tables("nodes")
        if len(found) > MAX_NODES:
            raise UnusableInput(f"{self.path}#/nodes", f"{len(found)} nodes", f"at most {MAX_NODES}")
        return found

    def entry(self, key: str, index: Any) -> tuple[Any, str]:
        """The table of a list by its number, and its place."""
        listed = self.tables(key)
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(listed):
            raise UnusableInput(f"{self.path}#/{key}", f"the number {index!r}"[:40], f"0 to {len(listed) - 1}")
        return listed[index], f"{self.path}#/{key}/{index}"

    def numbers(self, index: Any) -> FloatArray:
        """The rows of an accessor, float64; integers only where they are normalised."""
        accessor, place = self.entry("accessors", index)
        if "sparse" in accessor or "bufferView" not in accessor:
            raise UnusableInput(
                place, "a sparse accessor", "numbers in one buffer view", "export without sparse accessors"
            )
        view, _ = self.entry("bufferViews", accessor["bufferView"])
        if view.get("extensions"):
            raise UnusableInput(place, "a compressed buffer view", "plain bytes", "export without compression")
        kind, width = _code(accessor.get("componentType")), _TYPES.get(str(accessor.get("type")))
        is_float = kind == 5126
        if (
            width is None
            or kind not in _COMPONENTS
            or not (is_float or (kind in _NORMALISED and accessor.get("normalized")))
        ):
            raise UnusableInput(place, f"numbers of the kind {kind!r}"[:40], "floats, or normalised integers")
        rows = _strided(self._buffer(view.get("buffer")), view, accessor, np.dtype(_COMPONENTS[kind]), width, place)
        found = rows.astype(np.float64) / (1.0 if is_float else _NORMALISED[kind])
        if not np.isfinite(found).all():
            raise UnusableInput(place, "a number that is not finite", "finite numbers")
        return np.maximum(found, -1.0) if not is_float else found

    def _buffer(self, index: Any) -> bytes:
        buffer, place = self.entry("buffers", index)
        if index not in self._buffers:
            self._buffers[index] = self._loaded(buffer, place)
        return self._buffers[index]

    def _loaded(self, buffer: Any, place: str) -> bytes:
        uri = buffer.get("uri")
        if uri is None and self._binary is not None:
            return self._binary
        if isinstance(uri, str) and uri.startswith("data:"):
            try:
                return base64.b64decode(uri.partition(",")[2], validate=True)
            except (binascii.Error, ValueError):
                raise UnusableInput(f"{place}/uri", "data that is not base64", "base64") from None
        inside = PurePosixPath(uri) if isinstance(uri, str) else None
        folder = self.path.resolve().parent
        if inside is None or ":" in str(uri) or not (folder / inside).resolve().is_relative_to(folder):
            raise UnusableInput(f"{place}/uri", repr(uri)[:60], "a file in the folder of this one")
        return read_bytes(self.path.parent / inside)


def _code(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _places(value: Any) -> list[int]:
    """The whole numbers of a list."""
    return [each for each in value if _code(each) == each and each >= 0] if isinstance(value, list) else []


def _chunks(content: bytes, path: Path) -> tuple[bytes, bytes | None]:
    """JSON and binary of a .glb."""
    found: dict[int, bytes] = {}
    place = 12
    while place + 8 <= len(content):
        length, kind = struct.unpack_from("<II", content, place)
        if place + 8 + length > len(content):
            raise UnusableInput(
                f"{path}, byte {place}", f"a chunk of {length} bytes", f"{len(content) - place - 8} that are left"
            )
        found.setdefault(kind, content[place + 8 : place + 8 + length])
        place += 8 + length
    if _JSON not in found:
        raise UnusableInput(path, "no chunk of JSON", "a .glb")
    return found[_JSON].rstrip(b" \0"), found.get(_BIN)


def _strided(content: bytes, view: Any, accessor: Any, dtype: np.dtype[Any], width: int, place: str) -> FloatArray:
    said = [view.get("byteOffset", 0), accessor.get("byteOffset", 0), accessor.get("count"), view.get("byteStride", 0)]
    if not all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 1 << 32 for each in said):
        raise UnusableInput(place, f"offsets, count, stride {said}"[:80], "whole numbers")
    start, count = said[0] + said[1], said[2]
    size = dtype.itemsize * width
    stride = said[3] or size
    if not 0 < count <= MAX_KEYS or stride < size or start + (count - 1) * stride + size > len(content):
        raise UnusableInput(
            place, f"{count} rows of {size} bytes from byte {start} on", f"rows in {len(content)} bytes"
        )
    rows = np.ndarray((count, width), dtype, content, start, (stride, dtype.itemsize))
    return np.array(rows)


class _Curve:
    """A channel: key times, values, and how it goes from one to the next."""

    def __init__(self, times: FloatArray, values: FloatArray, how: str, *, is_rotation: bool) -> None:
        self.times, self.values, self.how, self.is_rotation = times, values, how, is_rotation

    def at(self, times: FloatArray) -> FloatArray:
        """(T, n) values at some times; the end values outside the keys."""
        within = np.clip(times, self.times[0], self.times[-1])
        left = np.clip(np.searchsorted(self.times, within, side="right") - 1, 0, max(0, len(self.times) - 2))
        right = np.minimum(left + 1, len(self.times) - 1)
        step = np.where(right > left, self.times[right] - self.times[left], 1.0)
        share = ((within - self.times[left]) / step)[:, None]
        if self.how == "STEP":
            return np.where(share >= 1.0, self.values[right], self.values[left])
        if self.how == "CUBICSPLINE":
            found = _hermite(self.values, left, right, share, step[:, None])
            return found / np.linalg.norm(found, axis=1, keepdims=True) if self.is_rotation else found
        if self.is_rotation:
            return _slerp(self.values[left], self.values[right], share)
        return np.asarray(self.values[left] * (1.0 - share) + self.values[right] * share)


def _hermite(values: FloatArray, left: Any, right: Any, t: FloatArray, step: FloatArray) -> FloatArray:
    """values (K, 3, n): in-tangent, value, out-tangent of each key."""
    start, end = values[left, 1], values[right, 1]
    out, into = step * values[left, 2], step * values[right, 0]
    return np.asarray(
        (2 * t**3 - 3 * t**2 + 1) * start
        + (t**3 - 2 * t**2 + t) * out
        + (3 * t**2 - 2 * t**3) * end
        + (t**3 - t**2) * into
    )


def _slerp(first: FloatArray, second: FloatArray, share: FloatArray) -> FloatArray:
    """On the shorter arc."""
    dot = (first * second).sum(axis=1, keepdims=True)
    second, dot = np.where(dot < 0.0, -second, second), np.clip(np.abs(dot), 0.0, 1.0)
    angle = np.arccos(dot)
    is_near = angle < 1e-6
    sine = np.where(is_near, 1.0, np.sin(angle))
    one = np.where(is_near, 1.0 - share, np.sin((1.0 - share) * angle) / sine)
    other = np.where(is_near, share, np.sin(share * angle) / sine)
    found = one * first + other * second
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _curves(file: _File, number: int) -> dict[tuple[int, str], _Curve]:
    """The channels of an animation by node and path; scale and weights are passed over."""
    animation, place = file.entry("animations", number)
    channels, samplers = animation.get("channels"), animation.get("samplers")
    if not isinstance(channels, list) or not isinstance(samplers, list):
        raise UnusableInput(place, "no channels or no samplers", "lists of both")
    found: dict[tuple[int, str], _Curve] = {}
    for index, channel in enumerate(channels):
        target = channel.get("target") if isinstance(channel, Mapping) else None
        where = f"{place}/channels/{index}"
        if not isinstance(target, Mapping):
            raise UnusableInput(where, "no target", "a node and a path")
        key = str(target.get("path"))
        if key not in _DEFAULTS or "node" not in target:
            continue
        file.entry("nodes", target["node"])
        sampler = channel.get("sampler")
        if (
            not isinstance(sampler, int)
            or not 0 <= sampler < len(samplers)
            or not isinstance(samplers[sampler], Mapping)
        ):
            raise UnusableInput(where, f"the sampler {sampler!r}"[:40], f"0 to {len(samplers) - 1}")
        if (target["node"], key) in found:
            raise UnusableInput(where, f"a second channel of node {target['node']}, {key}", "one for each path")
        found[target["node"], key] = _curve(file, samplers[sampler], key, where)
        refuse_bomb(file.path, file.size, sum(curve.values.nbytes for curve in found.values()))
    if not found:
        raise UnusableInput(place, "no channel of a rotation or a translation", "at least one")
    return found


def _curve(file: _File, sampler: Any, key: str, place: str) -> _Curve:
    how, width = sampler.get("interpolation", "LINEAR"), len(_DEFAULTS[key])
    times, values = file.numbers(sampler.get("input"))[:, 0], file.numbers(sampler.get("output"))
    if how not in ("LINEAR", "STEP", "CUBICSPLINE"):
        raise UnusableInput(place, f"interpolation {how!r}"[:40], "LINEAR, STEP or CUBICSPLINE")
    each = 3 if how == "CUBICSPLINE" else 1
    if np.any(np.diff(times) <= 0) or values.shape != (len(times) * each, width):
        found = f"{len(times)} times and {values.shape[0]} rows of {values.shape[1]} numbers"
        raise UnusableInput(place, found, f"rising times, {each} rows of {width} for each")
    if each == 3:
        return _Curve(times, values.reshape(-1, 3, width), how, is_rotation=key == "rotation")
    if key == "rotation":
        length = np.linalg.norm(values, axis=1, keepdims=True)
        if length.min() < 0.5:
            raise UnusableInput(place, "a quaternion that is nearly zero", "unit quaternions")
        values = values / length
    return _Curve(times, values, how, is_rotation=key == "rotation")


def _of_node(node: Any, key: str, place: str) -> FloatArray:
    """The node's own rotation or translation, of its matrix where it has one."""
    matrix = node.get("matrix")
    value = node.get(key, _DEFAULTS[key]) if matrix is None else _of_matrix(matrix, key, place)
    if (
        not isinstance(value, list | tuple)
        or len(value) != len(_DEFAULTS[key])
        or not all(isinstance(each, int | float) for each in value)
    ):
        raise UnusableInput(f"{place}/{key}", repr(value)[:60], f"{len(_DEFAULTS[key])} numbers")
    return np.asarray(value, np.float64)


def _of_matrix(matrix: Any, key: str, place: str) -> tuple[float, ...]:
    if not isinstance(matrix, list) or len(matrix) != 16 or not all(isinstance(each, int | float) for each in matrix):
        raise UnusableInput(f"{place}/matrix", "no 16 numbers", "a matrix, column by column")
    columns = np.asarray(matrix, np.float64).reshape(4, 4).T
    if key == "translation":
        return tuple(columns[:3, 3])
    lengths = np.linalg.norm(columns[:3, :3], axis=0)
    if not lengths.min() > 0.0:
        raise UnusableInput(f"{place}/matrix", "an axis of no length", "a rotation with a scale")
    return tuple(matrix_to_quat(columns[:3, :3] / lengths))
