"""The C++ of one compiler from Python: runs whose stages it computes, and recordings that it writes of them."""

import ctypes as c
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from rigpact.contract import Contract
from rigpact.contract.character import character_of
from rigpact.contract.layout import Layout
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import CallableNetwork, RawClip, ReplayNetwork
from rigpact.reference_runtime.graph import native_plan as plan
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.native.library import _typed
from rigpact.reference_runtime.network import CheckedNetwork
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, free_frames

STAGE_NAMES = find_system("enemy_animation").graph.names
FLOATS = c.POINTER(c.c_float)
Network = Callable[..., np.ndarray]


class SliceStruct(c.Structure):
    """`Slice`."""

    _fields_ = (("name", c.c_char_p), ("start", c.c_int), ("size", c.c_int))


class LayoutStruct(c.Structure):
    """`Layout`."""

    _fields_ = (("slices", c.POINTER(SliceStruct)), ("count", c.c_int), ("width", c.c_int))


class SquashedStruct(c.Structure):
    """`SquashedStatistics`."""

    _fields_ = (("scale", FLOATS), ("mean", FLOATS), ("std", FLOATS))


class ContractStruct(c.Structure):
    """`ContractView`."""

    _fields_ = (
        ("state", LayoutStruct), ("output", LayoutStruct), ("bones", c.c_int), ("history_length", c.c_int),
        ("mu_x", FLOATS), ("std_x", FLOATS), ("mu_y", FLOATS), ("std_y", FLOATS),
        ("rootvel_scales", FLOATS), ("angvel_scales", FLOATS),
        ("angvel", SquashedStruct), ("pose_hist", SquashedStruct),
    )  # fmt: skip


class HeaderStruct(c.Structure):
    _fields_ = (
        ("producer", c.c_char_p), ("producer_version", c.c_char_p), ("bundle_sha256", c.c_char_p),
        ("fps", c.c_double), ("mode", c.c_char_p), ("clip", c.c_char_p), ("companion_sha256", c.c_char_p),
        ("meaning_sha256", c.c_char_p), ("conventions_sha256", c.c_char_p), ("model_sha256", c.c_char_p),
        ("system", c.c_char_p), ("bones", c.c_void_p), ("bone_indices", c.c_void_p), ("bone_count", c.c_int),
        ("about", c.c_void_p), ("about_count", c.c_int),
    )  # fmt: skip


class OptionsStruct(c.Structure):
    _fields_ = (("queue_frames", c.c_int), ("when_full", c.c_int), ("output", c.c_void_p))


DROP, WAIT = 0, 1


class RecordingStruct(c.Structure):
    _fields_ = (
        ("header", c.POINTER(HeaderStruct)), ("options", c.POINTER(OptionsStruct)), ("trace", c.c_char_p),
        ("frames", c.c_int), ("rows", c.POINTER(FLOATS)), ("widths", c.POINTER(c.c_int)),
    )  # fmt: skip


@dataclass
class Kept:
    """A bundle as `contract_view.hpp` sees it; its arrays live for as long as this does."""

    arrays: list[Any] = field(default_factory=list)

    def floats(self, values: Any) -> Any:
        """A pointer to float32 numbers, copied where they are not; null for None."""
        if values is None:
            return None
        array = np.ascontiguousarray(values, np.float32)
        self.arrays.append(array)
        return array.ctypes.data_as(FLOATS)

    def layout(self, layout: Layout) -> LayoutStruct:
        """A layout and its table of slices."""
        slices = (SliceStruct * len(layout.slices))(*(SliceStruct(s.name.encode(), s.start, s.size) for s in layout))
        self.arrays.append(slices)
        return LayoutStruct(slices, len(slices), layout.width)

    def squashed(self, own: Any) -> SquashedStruct:
        """Auxiliary statistics; nulls where no file has them."""
        parts = (None,) * 3 if own is None else (own.scale, own.statistics.mean, own.statistics.std)
        return SquashedStruct(*map(self.floats, parts))

    def contract(self, contract: Contract) -> ContractStruct:
        """The bundle as the engine's own loader reads it."""
        character = character_of(contract)
        x, y = character.state_statistics, character.output_statistics
        arrays = (x.mean, x.std, y.mean, y.std, character.rootvel_scales, character.angvel_scales)
        return ContractStruct(
            self.layout(character.state),
            self.layout(character.output),
            character.bone_count,
            character.pose_history_length or 0,
            *map(self.floats, arrays),
            self.squashed(character.angular_velocity),
            self.squashed(character.pose_history),
        )


@dataclass(frozen=True)
class Answer:
    """Stages (T, width) of a run, only those that every frame has."""

    stages: dict[str, np.ndarray]


class CppLoop:
    """The library, with a run that mirrors `run_frames(open_run(...))`."""

    def __init__(self, path: Path, plans: c.CDLL | None) -> None:
        self.library = c.CDLL(str(path))
        self.library.rigpact_record.restype = c.c_char_p
        self._plans = _typed(self.library) if plans is None else plans

    def run(
        self,
        contract: Contract,
        clip: RawClip,
        mode: str,
        frames: int,
        *,
        replay: Any = None,
        network: Network | None = None,
        trace: Path | None = None,
        queue_frames: int = 0,
    ) -> Answer:
        """Every stage, by the plan; `replay` (T, Dy) or `network` answers. With `trace` the recorder writes them down."""
        rows, width = clip_rows(clip, contract), contract.numbers.output.width
        answers = ReplayNetwork(replay) if network is None else CallableNetwork(network)
        with patch.object(plan, "library", lambda: self._plans), np.errstate(all="ignore"):
            if mode == "free":
                run = free_frames(contract, answers, [rows], rows.x_raw[:1], kind=NativeFrames)
            else:
                run = NativeFrames(contract, [rows], CheckedNetwork(answers, width, one_by_one=False), frames, mode)
            stages = {name: values[:, 0] for name, values in run.record(range(frames)).items()}
        if trace is not None:
            self._record(contract, clip, mode, stages, trace, queue_frames)
        return Answer(stages)

    def _record(
        self, contract: Contract, clip: RawClip, mode: str, stages: Any, trace: Path, queue_frames: int
    ) -> None:
        kept = Kept()
        rows = (FLOATS * len(STAGE_NAMES))(*(kept.floats(stages.get(name)) for name in STAGE_NAMES))
        widths = (c.c_int * len(STAGE_NAMES))(*(stages[name].shape[1] if name in stages else 0 for name in STAGE_NAMES))
        hashes = (str(contract.hashes[name]).encode() for name in ("meaning_sha256", "conventions_sha256"))
        header = HeaderStruct(
            b"cpp_room", b"1", contract.sha256.encode(), clip.fps, mode.encode(), clip.path.stem.encode(), None, *hashes
        )  # fmt: skip
        options = OptionsStruct(queue_frames, WAIT)
        count = len(next(iter(stages.values())))
        run = RecordingStruct(c.pointer(header), c.pointer(options), str(trace).encode(), count, rows, widths)
        defect = self.library.rigpact_record(c.byref(run))
        assert defect is None, defect


def excess(name: str, found: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> float:
    """How far the worst number lies above its tolerance; q and -q are one rotation."""
    other = found.astype(np.float64)
    if name == "quat":
        quats, others = expected.reshape(-1, 4), other.reshape(-1, 4)
        other = (others * np.where(np.sum(quats * others, axis=-1, keepdims=True) < 0, -1, 1)).reshape(expected.shape)
    return float(np.max(np.abs(other - expected) - bound))
