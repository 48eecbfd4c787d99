"""The C++ loop from Python: ctypes mirrors of its plain structs, and a run that gives the same stages as the Python loop."""

import ctypes as c
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract import Contract
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import RawClip
from rigpact.reference_runtime.systems.enemy_animation.cpp.views import (
    FLOATS,
    INTS,
    ContractStruct,
    ConventionsStruct,
    KeptContract,
)

STAGE_NAMES = find_system("enemy_animation").graph.names

NETWORK = c.CFUNCTYPE(c.c_int, c.POINTER(FLOATS), INTS, FLOATS, c.c_int)
Network = Callable[..., np.ndarray]


class ClipStruct(c.Structure):
    _fields_ = (
        ("frames", c.c_int), ("steps", c.c_int), ("fps", c.c_double), ("x_raw", FLOATS), ("state", FLOATS),
        ("cond_raw", FLOATS), ("wishes", FLOATS), ("contact_scores", FLOATS), ("angvel", FLOATS), ("pose_hist", FLOATS),
    )  # fmt: skip


class HeaderStruct(c.Structure):
    _fields_ = (
        ("producer", c.c_char_p), ("producer_version", c.c_char_p), ("bundle_sha256", c.c_char_p),
        ("fps", c.c_double), ("mode", c.c_char_p), ("clip", c.c_char_p), ("companion_sha256", c.c_char_p),
        ("meaning_sha256", c.c_char_p), ("conventions_sha256", c.c_char_p), ("model_sha256", c.c_char_p),
        ("system", c.c_char_p), ("bones", c.c_void_p), ("bone_indices", c.c_void_p), ("bone_count", c.c_int),
    )  # fmt: skip


class OptionsStruct(c.Structure):
    _fields_ = (("queue_frames", c.c_int), ("when_full", c.c_int))


DROP, WAIT = 0, 1


class RunStruct(c.Structure):
    _fields_ = (
        ("contract", c.POINTER(ContractStruct)), ("conventions", c.POINTER(ConventionsStruct)),
        ("clip", c.POINTER(ClipStruct)), ("is_teacher", c.c_int), ("frames", c.c_int), ("network", NETWORK),
        ("replay", FLOATS), ("bound", INTS), ("out", c.POINTER(FLOATS)), ("present", c.POINTER(c.c_ubyte)),
        ("header", c.POINTER(HeaderStruct)), ("trace", c.c_char_p), ("options", c.POINTER(OptionsStruct)),
        ("recorded", c.c_uint), ("seconds", c.c_double), ("aligned", c.c_uint),
    )  # fmt: skip


class Kept(KeptContract):
    """Arrays that C++ holds pointers into, alive for as long as this is."""

    def clip(self, clip: RawClip, contract: Contract) -> ClipStruct:
        """A raw clip's rows and wishes."""
        middle = clip.trajectory_direction[:, clip.trajectory_direction.shape[1] // 2]
        wishes = np.concatenate((clip.action_bits, clip.root_velocity_m_s, middle), axis=-1)
        rows = clip.state_rows(contract.numbers.state)
        return ClipStruct(
            clip.frame_count, clip.frame_count - 1, clip.fps, self.floats(rows), None, None, self.floats(wishes),
            self.floats(clip.contact_scores), None, None,
        )  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Stages (T, width) of a run, only those that every frame has; loop seconds; bits of aligned inputs."""

    stages: dict[str, np.ndarray]
    seconds: float
    aligned: int


def called_back(network: Network, fixed: Sequence[int | None] = (None,) * 5) -> Any:
    """A network (five (1, width) matrices -> (1, Dy)) as a C function."""

    def call(data: Any, widths: Any, out: Any, width: int) -> int:
        vectors = [np.ctypeslib.as_array(data[i], (widths[i],)).reshape(1, -1) for i in range(5)]
        np.ctypeslib.as_array(out, (width,))[:] = network(*vectors)[0]
        return 1

    return NETWORK(call)


class CppLoop:
    """The library, with a run that mirrors `run_frames(open_run(...))`."""

    def __init__(self, path: Path) -> None:
        self.library = c.CDLL(str(path))
        for width in ("f64", "f32"):
            getattr(self.library, f"rigpact_run_{width}").restype = c.c_char_p

    def run(
        self, contract: Contract, clip: RawClip, mode: str, frames: int, *, replay: Any = None, network: Any = None,
        bound: Sequence[int] | None = None, trace: Path | None = None, queue_frames: int = 0,
        recorded: int = 0xFFFFFFFF, keep: bool = True,
    ) -> Answer:  # fmt: skip
        """Run the C++ loop; `replay` (T, Dy) or `network` (a called_back function) answers. `recorded`: bits of stages."""
        kept = Kept()
        widths = [int(contract.stage_widths[name] or 0) for name in STAGE_NAMES]
        widths[STAGE_NAMES.index("contacts")] = 2
        out = [np.full((frames, width), np.nan, np.float32) for width in widths]
        pointers = (FLOATS * len(out))(*(array.ctypes.data_as(FLOATS) for array in out))
        present = np.zeros((frames, len(STAGE_NAMES)), np.uint8)
        header = HeaderStruct(
            b"cpp_room", b"1", contract.sha256.encode(), clip.fps, mode.encode(), clip.path.stem.encode(), None,
            str(contract.hashes["meaning_sha256"]).encode(), str(contract.hashes["conventions_sha256"]).encode(),
        )  # fmt: skip
        run = RunStruct(
            c.pointer(kept.contract(contract)), c.pointer(kept.conventions(contract)), c.pointer(kept.clip(clip, contract)),
            mode == "teacher", frames, network or NETWORK(), kept.floats(replay), kept.ints(bound),
            pointers if keep else None, present.ctypes.data_as(c.POINTER(c.c_ubyte)),
            c.pointer(header) if trace else None, str(trace).encode(), c.pointer(OptionsStruct(queue_frames, WAIT)), recorded,
            0.0, 0,
        )  # fmt: skip
        defect = getattr(self.library, f"rigpact_run_{contract.conventions.math}")(c.byref(run))
        assert defect is None, defect
        everywhere = present.all(axis=0)
        stages = {name: out[i] for i, name in enumerate(STAGE_NAMES) if everywhere[i]}
        return Answer(stages, run.seconds, run.aligned)


def excess(name: str, found: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> float:
    """How far the worst number lies above its tolerance; q and -q are one rotation."""
    other = found.astype(np.float64)
    if name == "quat":
        quats, others = expected.reshape(-1, 4), other.reshape(-1, 4)
        other = (others * np.where(np.sum(quats * others, axis=-1, keepdims=True) < 0, -1, 1)).reshape(expected.shape)
    return float(np.max(np.abs(other - expected) - bound))
