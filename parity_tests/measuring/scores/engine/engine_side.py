"""Drives the engine's own loop: compiles it, gives it the numbers of the files as they stand in JSON, answers its network.

Nothing here uses rigpact: the files are read with the json module, the model runs in an onnxruntime session of its own.
"""

from __future__ import annotations

import ctypes as c
import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

SOURCE = Path(__file__).parent / "engine_loop.cpp"
RECORDER = Path(__file__).parents[4] / "reference_runtime" / "cpp" / "include"
FLOATS, INTS = c.POINTER(c.c_float), c.POINTER(c.c_int)
NETWORK = c.CFUNCTYPE(c.c_int, c.POINTER(FLOATS), INTS, FLOATS, c.c_int)


def compiler() -> str | None:
    """A C++ compiler of this machine, if there is one."""
    return next((name for name in ("g++", "clang++") if shutil.which(name)), None)


def compiled(folder: Path) -> c.CDLL:
    """The loop as a library."""
    library = folder / "engine_loop.so"
    words = [str(compiler()), "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"]
    words += ["-DRIGPACT_TRACE=1", f"-I{RECORDER}", str(SOURCE), "-o", str(library)]
    subprocess.run(words, check=True)
    loaded = c.CDLL(str(library))
    loaded.engine_new.restype = c.c_void_p
    loaded.engine_give.argtypes = (c.c_void_p, c.c_char_p, c.POINTER(c.c_double), c.c_int)
    loaded.engine_run.restype = c.c_char_p
    loaded.engine_run.argtypes = (
        c.c_void_p, NETWORK, c.c_int, c.c_int, c.c_ulonglong, c.c_double, c.c_char_p, c.c_char_p, c.c_char_p,
    )  # fmt: skip
    return loaded


@dataclass(frozen=True)
class Files:
    """A bundle, its companion, its model and a clip."""

    bundle: Path
    companion: Path | None
    model: Path
    clip: Path

    @classmethod
    def of_demo(cls, folder: Path, clip: str) -> Files:
        """The files of the demo character."""
        return cls(
            folder / "norm_template.json",
            folder / "pretrain_template.json",
            folder / "model.onnx",
            folder / "clips" / f"{clip}.json",
        )


class Engine:
    """The loop on some files. run records one run."""

    def __init__(self, library: c.CDLL, files: Files) -> None:
        """Read the files, as an engine does when a level is loaded."""
        self._library, self.files = library, files
        self._bundle, self._clip = (json.loads(path.read_bytes()) for path in (files.bundle, files.clip))
        companion = {} if files.companion is None else json.loads(files.companion.read_bytes())
        self._arrays = {**_of_bundle(self._bundle, companion), **_of_clip(self._clip, self._bundle)}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        names = [entry.name for entry in session.get_inputs()]

        def call(inputs: Any, widths: Any, answer: Any, width: int) -> int:
            rows = [np.ctypeslib.as_array(inputs[i], (widths[i],)).reshape(1, -1) for i in range(5)]
            np.ctypeslib.as_array(answer, (width,))[:] = session.run(None, dict(zip(names, rows, strict=True)))[0][0]
            return 1

        self._network = NETWORK(call)

    @property
    def clip_frames(self) -> int:
        """Number of frames of the clip."""
        return len(self._clip["Frames"])

    def run(self, path: Path, mode: str, frames: int, *defects: int) -> Path:
        """Record `frames` frames to a trace, with the mistakes of these numbers."""
        schema = self._library.engine_new()
        for name, values in self._arrays.items():
            numbers = np.ascontiguousarray(values, np.float64).ravel()
            pointer = numbers.ctypes.data_as(c.POINTER(c.c_double))
            self._library.engine_give(schema, name.encode(), pointer, len(numbers))
        sha256 = hashlib.sha256(self.files.bundle.read_bytes()).hexdigest()
        wrong = self._library.engine_run(
            schema,
            self._network,
            mode == "teacher",
            frames,
            sum(1 << number for number in defects),
            self._bundle["fps"],
            sha256.encode(),
            self.files.clip.stem.encode(),
            str(path).encode(),
        )
        assert wrong is None, wrong
        return path


def _of_bundle(bundle: Mapping[str, Any], companion: Mapping[str, Any]) -> dict[str, Any]:
    names = ("MuX", "StdX", "MuY", "StdY", "tanh_scales_rootvel", "tanh_scales_angvel")
    arrays = {name: bundle[name] for name in names}
    arrays |= {name: [bundle[name]] for name in ("input_dim", "output_dim", "pose_hist_len")}
    for scale, name in (("angvel", "AngVel"), ("pose_hist", "PoseHist")):
        keys = (f"tanh_scales_{scale}", f"Mu{name}", f"Std{name}")
        arrays |= {f"aux/{key}": {**bundle, **companion}[key] for key in keys if key in {**bundle, **companion}}
    for name, place in bundle["meta"]["state_layout"].items():
        arrays[f"state/{name}"] = [place["start"], place["size"]]
    bones = bundle["meta"]["bone_names"]
    arrays["twin"] = [_twin(name, bones) for name in bones]
    arrays["parents"] = bundle["meta"]["skeleton"]["parents"]
    return arrays


def _twin(name: str, bones: Sequence[str]) -> int:
    other = {"_l": "_r", "_r": "_l"}.get(name[-2:])
    return bones.index(name if other is None else name[:-2] + other)


def _of_clip(clip: Mapping[str, Any], bundle: Mapping[str, Any]) -> dict[str, Any]:
    frames, layout = clip["Frames"], bundle["meta"]["state_layout"]
    rows = np.zeros((len(frames), bundle["input_dim"]))
    fields = {"RootPosition": "RootPosition", "RootVelocity": "RootVelocityXY", "RootYaw": "RootYaw"}
    fields |= {"BoneRotations6D": "BoneRotations", "BoneAngularVelocities": "BoneAngularVelocities"}
    contacts = [[frame["FootEvidence"][side]["soft_contact_score"] for side in "LR"] for frame in frames]
    for name, place in layout.items():
        values = contacts if name == "Contacts" else [np.ravel(frame[fields[name]]) for frame in frames]
        rows[:, place["start"] : place["start"] + place["size"]] = np.reshape(values, (len(frames), -1))
    return {
        "clip/frames": [len(frames)], "clip/x_raw": rows, "clip/contacts": contacts,
        "clip/action": [frame["ActionBits"] for frame in frames],
        "clip/velocity": [frame["RootVelocityXY"] for frame in frames],
        "clip/trajectory": [frame["TrajectoryDir"][len(frame["TrajectoryDir"]) // 2] for frame in frames],
    }  # fmt: skip
