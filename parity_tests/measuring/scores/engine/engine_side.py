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

from ..grading import Right, right

SOURCE = Path(__file__).parent / "engine_loop.cpp"
RECORDER = Path(__file__).parents[4] / "reference_runtime" / "cpp" / "include"
FLOATS, INTS = c.POINTER(c.c_float), c.POINTER(c.c_int)
NETWORK = c.CFUNCTYPE(c.c_int, c.POINTER(FLOATS), INTS, FLOATS, c.c_int)


def compiler() -> str | None:
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


OTHER_STATISTICS = ("constants of its own in each channel, as with other statistics",)
CLIP_STAGES = "x_raw cond_raw contacts x_raw_next"
# fmt: off
DEFECTS: Mapping[str, Right] = {
    "previous_pose_next_bone": right("next6d", ("x_raw read 6 channels too late",)),
    "writeback_six_late": right("x_raw_next", (r"\[12:288\] from (x_raw_next\[6:282\]|y_out\[0:276\])",),
        ("x_raw_next of pelvis is (stuck at|x_raw)",)),
    "angvel_three_early": right("angvel", ("x_raw read 3 channels too early",)),
    "state_by_output_statistics": right("state", OTHER_STATISTICS),
    "history_statistics_of_oldest": right("pose_hist", OTHER_STATISTICS),
    "angvel_by_state_statistics": right("angvel", "angvel_source=state_slice"),
    "mean_added_to_residual": right("y_raw", "output_mode=delta", "output_mode=absolute"),
    "identity_in_xy_columns": right("delta6d", "rot6d_columns=xy", (r"\(0, 0, 0, 0, \+1, -1\)",)),
    "identity_forgotten": right("delta6d", "output_mode=delta denorm=std_only", (r"\(-1, 0, 0, 0, 0, -1\)",)),
    "sigma_floor": right("state", ("state_statistics.std no smaller than", 0.05)),
    "history_never_seeded": right("pose_hist_raw", ("the number 0, wherever it differs",), "pose_history_start=zeros"),
    "history_seeded_twice": right("pose_hist_raw", ("began again at frame 1",)),
    "history_identity_after_seed": right("pose_hist_raw", "pose_history_start=identity_after_seed"),
    "history_uninitialised": right("pose_hist_raw", (r"memory that was never set \(0xCD",)),
    "quats_turned": right("quat", ("turned by -90° about z",)),
    "quats_change_of_basis": right("quat", ("in another basis", "120°"),
        ("quat is what it should be with z, x, y, w in place of x, y, z, w",)),
    "root_turned_by_heading": right("quat", (r"pelvis is turned about z by x_raw\[RootYaw\]",)),
    "answer_one_frame_late": right("y_norm", ("frame t-1",)),
    "half_precision_inputs": right("y_norm", ("inputs that were rounded to float16",)),
    "yaw_in_degrees": right("x_raw x_raw_next", (r"RootYaw\] is 180/π times",)),
    "left_right_swapped": right("y_out", "bone_order=left_right_swapped"),
    "thirty_hertz": right(CLIP_STAGES, ("the clip's frame 2·t",)),
    "stale_header": right("state", OTHER_STATISTICS),
    "missing_tanh": right("state", "angvel_squash=linear"),
    "squashed_twice": right("pose_hist", (r"tanh\(pose_hist_raw", "squashed once more")),
    "hysteresis_off_by_one": right("contacts"),
    "clamped_step": right(CLIP_STAGES, ("the clip's frame 3·t/4",)),
    "float_accumulation": right(CLIP_STAGES, ("the clip's frame before or after its own in",),
        ("the answer of frame t-1 (in|from)",)),
    "published_late": right("quat", ("frame t-1",)),
    "wrong_bone_subset": right("quat", (r"the part \+1 places on, in 45 parts",)),
    "previous_pose_transposed": right("next6d", (r"the inverse \(transposed\) rotations of x_raw",)),
    "quats_conjugated": right("quat", (r"the inverse \(transposed, conjugated\)",)),
    "component_space": right("quat", ("in component space",)),
    "doubled_scale": right("state", ("angvel_scales", "doubled|twice|2 times")),
    "state_clamped": right("state", ("clipped", 1.5)),
    "previous_pose_is_own": right("next6d", (r"y_out\[BoneRotations6D\] of frame t-1 in place of x_raw",)),
}
# fmt: on
NUMBERS = {name: number for number, name in enumerate(DEFECTS, start=1)}
"""Of every mistake in the loop."""
FREE_RUNS = ("writeback_six_late", "history_never_seeded", "history_identity_after_seed")
"""Those that show in a free run only."""
FRAMES = {"thirty_hertz": 44}
