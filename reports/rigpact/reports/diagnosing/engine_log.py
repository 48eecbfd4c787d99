"""Read a pasted engine log as a partial recording.

The deployed engine prints the first steps of bone 0: `[DeltaCompose] frame=… prevX=(…) … nextZ=(…)`, three decimals.
That is enough to find the composition order. Lines may contain the engine's prefix, CRLF and other text. A line that
was cut off is skipped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROOT_YAW, ROTATIONS, Layout, Slice
from rigpact.contract.statistics import FloatArray, Statistics, frozen_float32
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.enemy_animation import knobs
from rigpact.reports.diagnosing.diagnose import Diagnosis, diagnose

_VECTOR = r"\(\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*\)"
_NAMES = ("prevX", "prevZ", "deltaX", "deltaZ", "nextX", "nextZ")
_COMPOSE = re.compile(r"\[DeltaCompose\]\s*frame=(\d+)\s+" + r"\s+".join(f"{name}={_VECTOR}" for name in _NAMES))
_SCHEMA = re.compile(r"\[Schema OK\]\s*X=(?P<state>\d+)\s+Y=(?P<output>\d+)\s+C=(?P<cond>\d+)\s+fps=(?P<fps>[\d.]+)")
_DIMS = re.compile(
    r"\[FusedModel\] Requested dims:\s*motion=(?P<state>\d+)\s+cond=(?P<cond>\d+)\s+contacts=(?P<contacts>\d+)"
    r"\s+angvel=(?P<angvel>\d+)\s+pose_hist=(?P<pose_hist>\d+)"
)
_MARKS = ("[DeltaCompose]", "[Schema OK]", "[FusedModel]", "[TDbg]", "[PoseHist]", "[Probe-CS]")
_FALLBACK_HISTORY = "[PoseHist] Fallback enabled"
_PRINTED_HALF_DIGIT = 5e-4


@dataclass(frozen=True, eq=False)
class EngineLog:
    """The content of a log: compositions of bone 0 by frame, declared widths, and the number of cut-off lines."""

    path: Path
    frames: tuple[int, ...]
    vectors: FloatArray
    widths: Mapping[str, int]
    fps: float | None
    history_fell_back: bool
    cut_off: int


def is_engine_log(path: str | Path) -> bool:
    """Whether a file is text with lines of the engine's motion model in it."""
    place = Path(path)
    if not place.is_file() or place.suffix.lower() in {".json", ".jsonl", ".gz", ".zst", ".safetensors", ".onnx"}:
        return False
    text = read_bytes(place).decode("utf-8", "replace")
    return any(mark in text for mark in _MARKS)


def read_engine_log(path: str | Path) -> EngineLog:
    """Read the lines of the engine's motion model; skip all other lines."""
    text = read_bytes(path).decode("utf-8", "replace")
    matches = list(_COMPOSE.finditer(text))
    frames = [int(match[1]) for match in matches]
    vectors = np.array([[float(number) for number in match.groups()[1:]] for match in matches], np.float32)
    widths: dict[str, int] = {}
    fps = None
    for match in (*_SCHEMA.finditer(text), *_DIMS.finditer(text)):
        found = match.groupdict()
        fps = float(found.pop("fps")) if "fps" in found else fps
        widths |= {name: int(width) for name, width in found.items()}
    return EngineLog(
        path=Path(path),
        frames=tuple(frames),
        vectors=vectors.reshape(len(matches), 18),
        widths=widths,
        fps=fps,
        history_fell_back=_FALLBACK_HISTORY in text,
        cut_off=text.count("[DeltaCompose]") - len(matches),
    )


def explain_log(path: Path, contract: Any, changes: Mapping[str, Any]) -> tuple[Diagnosis, list[str]]:
    """Explain a log; a bundle is optional."""
    log = read_engine_log(path)
    notes = width_disagreements(log, contract) if contract else []
    if log.cut_off:
        notes.append(f"{log.cut_off} [DeltaCompose] lines are cut off and were passed over")
    declared = contract.conventions if contract else knobs.enemy_conventions(changes)
    return diagnose(*log_evidence(log, declared), allow_unjudged=("delta6d",)), notes  # the log gives this factor


def log_evidence(log: EngineLog, conventions: Conventions) -> tuple[Evidence, Contract]:
    """The compositions of a log as evidence about a character of one bone.

    UnusableInput when the log has no whole `[DeltaCompose]` line.
    """
    if not log.frames:
        found = f"{log.cut_off} cut off" if log.cut_off else "none"
        raise UnusableInput(
            log.path, f"{found} [DeltaCompose] lines", "at least one whole line", "log the first 4 steps"
        )
    order = np.unique(log.frames, return_index=True)[1]
    vectors = log.vectors[order]
    x_raw = np.zeros((len(order), _LAYOUT.width), np.float32)
    x_raw[:, _LAYOUT[ROTATIONS].range] = vectors[:, 0:6]
    recorded = {"x_raw": x_raw, "delta6d": vectors[:, 6:12], "next6d": vectors[:, 12:18]}
    frame = np.array(log.frames, np.int64)[order]
    contract = _one_bone(conventions, log.path)
    return Evidence(frame, log.fps or 60.0, "teacher", recorded, resolution=_PRINTED_HALF_DIGIT), contract


_LAYOUT = Layout(
    (Slice(0, 6, ROTATIONS), Slice(6, 1, ROOT_YAW), Slice(7, 2, ROOT_VELOCITY), Slice(9, 3, ANGULAR_VELOCITIES)), 12
)


def _one_bone(conventions: Conventions, path: Path) -> Contract:
    def unit(width: int) -> Statistics:
        return Statistics(frozen_float32(np.zeros(width)), frozen_float32(np.ones(width)))

    return Contract(
        path=path,
        sha256="",
        fps=60.0,
        bone_names=("bone 0",),
        state=_LAYOUT,
        output=Layout((Slice(0, 6, ROTATIONS),), 6),
        state_statistics=unit(_LAYOUT.width),
        output_statistics=unit(6),
        rootvel_scales=frozen_float32(np.ones(2)),
        angvel_scales=frozen_float32(np.ones(3)),
        pose_history_length=1,
        pose_history=None,
        angular_velocity=None,
        skeleton=None,
        # the log prints the axes X and Z by name, whatever the bundle's packing
        conventions=conventions.replaced({"rot6d_columns": "xz", "rot6d_packing": "columns", "angvel_source": "zeros"}),
    )


def width_disagreements(log: EngineLog, contract: Contract) -> list[str]:
    """Where widths and rate in the log differ from the bundle, in words."""
    expected: dict[str, int | None] = {"output": contract.output.width, **contract.input_widths}
    found = [
        f"the engine reports {name} = {width}, the bundle gives {expected[name]}"
        for name, width in log.widths.items()
        if expected.get(name) not in (None, width)
    ]
    if log.fps is not None and log.fps != contract.fps:
        found.append(f"the engine reports fps = {log.fps:g}, the bundle gives {contract.fps:g}")
    if log.history_fell_back:
        found.append("the engine fell back on pose-history statistics of its own: none are in its bundle")
    return found
