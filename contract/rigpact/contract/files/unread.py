"""Formats that rigpact does not read, each with what to do instead. `opened` asks here before it hands out a byte.

A format stands here where reading it safely takes more than it gives: its content runs as a program, or points out of the file.
To add one: a row in `_UNREAD`.
"""

import os
import re
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from rigpact.contract.errors import UnusableInput


@dataclass(frozen=True)
class Unread:
    """A format. ending: of its names; mark: of the first and last bytes of its files; folder: what its folders hold."""

    what: str
    instead: str
    hint: str
    ending: re.Pattern[str]
    mark: re.Pattern[bytes] | None = None
    folder: tuple[str, ...] = ()


def refuse_unread(path: Path, stream: BufferedReader) -> None:
    """UnusableInput for a file of a format that is not read, by its name or its content; the stream is at its start again."""
    try:
        start = stream.read(_START)
        if start[:2] == b"PK":  # an archive: the names of its members stand at its end
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _END))
            start += stream.read(_END)
        stream.seek(0)
    except OSError as error:
        raise UnusableInput(path, f"a file that cannot be read ({error})", "a readable file") from None
    for each in _UNREAD:
        if each.ending.search(path.name.lower()) or (each.mark is not None and each.mark.search(start)):
            raise UnusableInput(path, each.what, each.instead, each.hint)


def refuse_unread_folder(path: Path) -> None:
    """UnusableInput for a folder that is a store of a format that is not read."""
    for each in _UNREAD:
        if each.ending.search(path.name.lower()) or any((path / name).is_file() for name in each.folder):
            raise UnusableInput(path, each.what, each.instead, each.hint)


_START, _END = 512, 1 << 16


def _member(name: bytes) -> re.Pattern[bytes]:
    """An archive with a member of this name, in the head of the member or in the list at the end."""
    return re.compile(rb"PK(?:\x03\x04.{26}|\x01\x02.{42})[^\0]{0,200}?" + name, re.DOTALL)


_TORCH = "a model in ONNX"
_UNREAD = (
    Unread(
        "a TorchScript",
        _TORCH,
        "torch.onnx.export(torch.jit.load('FILE'), (torch.zeros(1, WIDTH),), 'model.onnx', input_names=['obs'], "
        "dynamic_axes={'obs': [0]}, dynamo=False)",
        re.compile(r"\.torchscript$"),
        _member(rb"/constants\.pkl"),
    ),
    Unread(
        "a pickle, as torch writes weights and modules",
        _TORCH,
        "in the program that defines the network: model.load_state_dict(torch.load('FILE')); "
        "torch.onnx.export(model.eval(), (torch.zeros(2, WIDTH),), 'model.onnx', dynamic_shapes=({0: 'batch'},))",
        re.compile(r"\.(pt|pth|pth\.tar|ckpt|pkl|pickle)$"),
        re.compile(_member(rb"/data\.pkl").pattern + rb"|\A\x80[\x02-\x05](?!.{6}\{)", re.DOTALL),
    ),
    Unread(
        "a pickled object in a .npy",
        "plain arrays",
        "where you trust it: numpy.savez('plain.npz', **numpy.load('FILE', allow_pickle=True).item())",
        re.compile(r"(?!)"),
        re.compile(rb"\A\x93NUMPY[^\n]*'\|O'"),
    ),
    Unread(
        "numbers without names or a graph",
        "a model in ONNX, or arrays with names",
        "onnx.helper writes a model of weights, numpy.savez a file of arrays: docs/importing.md, Weights without a graph",
        re.compile(r"(?<!\.trace)\.bin$"),
    ),
    Unread(
        "a glTF animation",
        "BVH, or columns in a .npz",
        "export it as BVH (Blender does), or numpy.savez one array rotation.JOINT (T, 4) x, y, z, w of each joint",
        re.compile(r"\.(gltf|glb)$"),
        re.compile(rb"\AglTF[\1\2]\0\0\0"),
    ),
    Unread(
        "a bag in SQLite (rosbag2)",
        "MCAP",
        "ros2 bag convert -i FILE.db3 -o to_mcap.yaml, with output_bags: [{uri: as_mcap, storage_id: mcap, all: true}] in it",
        re.compile(r"\.db3$"),
        re.compile(rb"\ASQLite format 3\0"),
    ),
    Unread(
        "a Zarr store",
        "its arrays in a .npz",
        "root = zarr.open_group('FOLDER', mode='r'); "
        "numpy.savez('run.npz', **{name: each[:] for name, each in root['data'].arrays()})",
        re.compile(r"\.zarr(\.zip)?$"),
        _member(rb"(?:\.zgroup|\.zarray|zarr\.json)"),
        (".zgroup", ".zarray", "zarr.json"),
    ),
)
