"""One cell of a sweep: run the loop, hold it against the clip, judge. Runs in whatever process asks for it.

Nothing here depends on the machine's clock, on other cells or on who asks, so a cell measured twice gives the same bytes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from rigpact.contract import Contract, load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.version import rigpact_version
from rigpact.reference_runtime import Loop, OnnxNetwork, read_clip
from rigpact.reference_runtime.network import Network
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.clip import Clip
from rigpact.reference_runtime.systems.enemy_animation.drive import Stages, clip_rows
from rigpact.reference_runtime.systems.enemy_animation.lockstep import Lockstep
from rigpact.reference_runtime.systems.enemy_animation.loop import Mode
from rigpact.reference_runtime.systems.enemy_animation.sentinel import Watched, watch_run
from rigpact.reports.comparing.pose_error import pose_error
from rigpact.reports.nonfinite.drift import RUNS_PER_SIZE, growth_per_frame, largest_angle_deg, perturbed_starts
from rigpact.reports.sweep.plan import Cell, Changes, SweptFile, file_sha256

PASS, NOT_FINITE, ALIGNED, COPY_LAST_IS_BETTER, ERROR = (
    "pass", "nonfinite", "input_aligned", "copy_last_is_better", "error",
)  # fmt: skip
VERDICTS = (PASS, COPY_LAST_IS_BETTER, ALIGNED, NOT_FINITE, ERROR)
"""From good to bad."""
UNUSABLE, DEFECT, DIED = "unusable", "internal", "died"
_MODELS_KEPT, _CLIPS_KEPT = 32, 8
"""What a process keeps open between cells: a sweep goes clip by clip through its checkpoints."""


@dataclass(frozen=True)
class Measured:
    """What a cell showed. Numbers are None where there is nothing to measure.

    frames: run and finite. judged_frames: of them, those whose next pose the clip has. deg, cm: the mean, and the worst bone
    and frame. copy_last: repeating the last pose that the clip gave: each frame's own where the clip drives the run, the first
    one in free-run. growth_per_frame: factor by which small differences of the start change (free-run).
    """

    verdict: str
    error_kind: str | None = None
    error: str | None = None
    frames: int = 0
    judged_frames: int = 0
    first_bad_frame: int | None = None
    first_bad_stage: str | None = None
    inputs_aligned: str | None = None
    mean_deg: float | None = None
    max_deg: float | None = None
    worst_bone: str | None = None
    worst_frame: int | None = None
    mean_cm: float | None = None
    max_cm: float | None = None
    copy_last_mean_deg: float | None = None
    copy_last_mean_cm: float | None = None
    last_second_deg: float | None = None
    growth_per_frame: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Every field by its name."""
        return asdict(self)


def measure_cell(cell: Cell) -> Measured:
    """Measure a cell; what goes wrong inside it is told in the result and never stops a sweep."""
    try:
        return _measured(cell)
    except UnusableInput as refusal:
        return failure(UNUSABLE, _with_given_names(refusal.one_line(), cell))
    except Exception as defect:  # noqa: BLE001 - one cell's defect must not lose the others; the sweep ends with status 3
        return failure(DEFECT, _with_given_names(f"{type(defect).__name__}: {defect}", cell))


def failure(kind: str, text: str) -> Measured:
    """A cell that could not be measured."""
    return Measured(ERROR, kind, text)


def _with_given_names(text: str, cell: Cell) -> str:
    """The same text on every machine: files as the user calls them."""
    for entry in (cell.clip, cell.model, cell.companion, cell.bundle):
        text = text if entry is None else text.replace(entry.path, entry.name)
    return text


def _measured(cell: Cell) -> Measured:
    if cell.version != rigpact_version():
        raise UnusableInput(
            "rigpact", f"version {rigpact_version()} on the worker", cell.version, "install the same one"
        )
    contract = _contract(cell.bundle, cell.companion, cell.changes)
    network, clip = _network(cell.model, cell.bundle, cell.companion, cell.changes), _clip(cell.clip)
    mode = cast(Mode, cell.mode)
    loop = Loop(contract, network, clip, mode)
    poses = clip_rows(clip, loop.contract).poses
    steps = _steps(cell.frames, loop.frame_limit, len(poses) - 1)
    published: list[FloatArray] = []
    watched = watch_run(loop, range(steps), [lambda _frame, stages: published.append(_rotations(stages, contract))])
    if watched.refusal is not None:
        raise watched.refusal
    aligned = " ".join(f"{event.name}:{event.given}->{event.bound}" for event in sorted(loop.alignments))
    errors = _errors(published, poses, loop, mode)
    growth = _growth(loop.contract, network, clip, watched.finite_frames) if mode == "free" else None
    return Measured(
        verdict=_verdict(watched, aligned, errors), frames=watched.finite_frames, inputs_aligned=aligned or None,
        first_bad_frame=watched.failing_frame if watched.alarm else None,
        first_bad_stage=watched.alarm[0] if watched.alarm else None,
        growth_per_frame=growth, **errors,
    )  # fmt: skip


def _steps(wanted: int | None, limit: int | None, with_target: int) -> int:
    """Frames to run: the clip's own where none are asked for; a clip that drives the run cannot give more than it has."""
    steps = min(wanted or with_target, limit or wanted or with_target)
    if steps < 1 or with_target < 1:
        raise UnusableInput("the clip", "no frame with a pose after it", "at least two frames")
    return steps


def _rotations(stages: Stages, contract: Contract) -> FloatArray:
    return stages["y_out"][contract.output[ROTATIONS].range]


def _errors(published: list[FloatArray], poses: FloatArray, loop: Loop, mode: Mode) -> dict[str, Any]:
    """Fields of `Measured`: the published poses against the clip's next ones, beside copying the last."""
    contract, judged = loop.contract, min(len(published), len(poses) - 1)
    if judged == 0:
        return {}
    codec, targets = Rot6d(contract.conventions), poses[1 : judged + 1]
    copied = poses[:judged] if mode == "teacher" else np.repeat(poses[:1], judged, axis=0)
    own = pose_error(np.stack(published[:judged]), targets, codec, contract.skeleton)
    baseline = pose_error(copied, targets, codec, contract.skeleton)
    frame, bone = np.unravel_index(int(np.argmax(own.deg)), own.deg.shape)
    last_second = own.deg[-max(1, round(loop.fps)) :]
    return {
        "judged_frames": judged,
        "mean_deg": float(own.deg.mean()), "max_deg": float(own.deg.max()),
        "worst_bone": contract.bone_names[bone], "worst_frame": int(frame),
        "mean_cm": _mean(own.cm), "max_cm": None if own.cm is None else float(own.cm.max()),
        "copy_last_mean_deg": float(baseline.deg.mean()), "copy_last_mean_cm": _mean(baseline.cm),
        "last_second_deg": float(last_second.mean()),
    }  # fmt: skip


def _mean(values: FloatArray | None) -> float | None:
    return None if values is None else float(values.mean())


def _verdict(watched: Watched, aligned: str, errors: dict[str, Any]) -> str:
    if watched.alarm:
        return NOT_FINITE
    if aligned:
        return ALIGNED
    return PASS if errors["mean_deg"] <= errors["copy_last_mean_deg"] else COPY_LAST_IS_BETTER


def _growth(contract: Contract, network: Network, clip: Clip, frames: int) -> float | None:
    """Factor by which a difference of the start changes each frame: one start of each size, run in lockstep.

    None where the run is too short for a trend, or not finite.
    """
    if frames < 3:
        return None
    seed = clip_rows(clip, contract).x_raw[0]
    starts, _ = perturbed_starts(seed, contract.state[ROTATIONS].range)
    chosen = np.concatenate((starts[:1], starts[1::RUNS_PER_SIZE]))
    many, place, spread = Lockstep(contract, network, clip, chosen), contract.output[ROTATIONS].range, []
    with np.errstate(all="ignore"):
        for _ in range(frames):
            spread.append(np.median(largest_angle_deg(many.step()["y_out"][:, place], contract)[1:]))
        growth = growth_per_frame(np.arange(frames, dtype=np.float64), np.array(spread))
    return growth if np.isfinite(growth) else None


def _checked(file: SweptFile) -> Path:
    """The file's path, once its bytes are known to be those that were planned."""
    path = Path(file.path)
    found = file_sha256(path)
    if found != file.sha256:
        hint = "did it change since the sweep began, or is it another file on this worker?"
        raise UnusableInput(file.name, f"a file of SHA-256 {found[:12]}", f"{file.sha256[:12]} as planned", hint)
    return path


@lru_cache(maxsize=4)
def _declared(bundle: SweptFile, companion: SweptFile | None) -> Contract:
    return load_contract(_checked(bundle), _checked(companion) if companion else None)


def _contract(bundle: SweptFile, companion: SweptFile | None, changes: Changes) -> Contract:
    return _declared(bundle, companion).with_conventions(dict(changes))


@lru_cache(maxsize=_MODELS_KEPT)
def _network(model: SweptFile, bundle: SweptFile, companion: SweptFile | None, changes: Changes) -> OnnxNetwork:
    return OnnxNetwork(_checked(model), _contract(bundle, companion, changes))


@lru_cache(maxsize=_CLIPS_KEPT)
def _clip(clip: SweptFile) -> Clip:
    return read_clip(_checked(clip))
