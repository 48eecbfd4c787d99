"""Measure one cell of a sweep: run the system, compare it with the clip, judge. Runs in any process.

Nothing here depends on the clock, on other cells or on the process, so a cell measured twice gives the same bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files.reading import inputs_remembered
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Stage
from rigpact.reference_runtime.files.declared import RunSetup, files_of
from rigpact.reference_runtime.files.run import Run
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.beside import use_operations
from rigpact.reports.comparing.pose_meter import pose_error
from rigpact.reports.comparing.stage_comparison import channel_address
from rigpact.reports.nonfinite import drift
from rigpact.reports.sweep.plan import Cell, Changes, SweptFile, file_sha256

Fields = dict[str, Any]
"""Names and values of fields of `MeasuredCell`."""


def judged_stage(contract: Contract, clip: Any, poses: FloatArray | None) -> Stage | None:
    """The stage to compare with the clip: the pose, else the last computed stage in the clip; None without one."""
    system = contract.system
    if poses is not None:
        found: Stage = system.graph[system.posed]
        return found
    recorded = getattr(clip, "stages", {})
    return next((each for each in reversed(system.stages) if each.compute is not None and each.name in recorded), None)


def pose_errors(contract: Contract, published: FloatArray, poses: FloatArray, mode: str, fps: float) -> Fields:
    """Errors of the published poses (T, Dy) against the clip's next poses, and errors of copying the last pose."""
    judged = min(len(published), len(poses) - 1)
    if judged == 0:
        return {}
    character = character_of(contract)
    codec, targets = Rot6d(contract.conventions), poses[1 : judged + 1]
    copied = poses[:judged] if mode == "teacher" else np.repeat(poses[:1], judged, axis=0)
    own = pose_error(published[:judged, character.output[ROTATIONS].range], targets, codec, character.skeleton)
    baseline = pose_error(copied, targets, codec, character.skeleton)
    frame, bone = np.unravel_index(int(np.argmax(own.deg)), own.deg.shape)
    last_second = own.deg[-max(1, round(fps)) :]
    return {
        "unit": "deg", "mean_error": float(own.deg.mean()), "max_error": float(own.deg.max()),
        "judged_frames": judged,
        "mean_deg": float(own.deg.mean()), "max_deg": float(own.deg.max()),
        "worst_bone": character.bone_names[bone], "worst_frame": int(frame),
        "mean_cm": _mean(own.cm), "max_cm": None if own.cm is None else float(own.cm.max()),
        "copy_last_mean_deg": float(baseline.deg.mean()), "copy_last_mean_cm": _mean(baseline.cm),
        "last_second_deg": float(last_second.mean()),
    }  # fmt: skip


def stage_errors(contract: Contract, stage: Stage, published: FloatArray, recorded: FloatArray) -> Fields:
    """Errors of a stage against the clip's recorded values, (T, width) each: the worst channel of each frame."""
    judged = min(len(published), len(recorded))
    if judged == 0:
        return {}
    ours, theirs = published[:judged], recorded[:judged]
    sizes = drift.distances(contract, stage, theirs, ours)
    frame = int(np.argmax(sizes))
    channel = int(np.argmax(np.abs(ours[frame].astype(np.float64) - theirs[frame])))
    return {
        "unit": stage.shown_unit, "mean_error": float(sizes.mean()), "max_error": float(sizes.max()),
        "judged_frames": judged, "worst_frame": frame,
        "worst_bone": str(channel_address(stage.name, channel, contract)),
    }  # fmt: skip


def _mean(values: FloatArray | None) -> float | None:
    return None if values is None else float(values.mean())


PASS, NOT_FINITE, ALIGNED, COPY_LAST_IS_BETTER, ERROR = (
    "pass", "nonfinite", "input_aligned", "copy_last_is_better", "error",
)  # fmt: skip
VERDICTS = (PASS, COPY_LAST_IS_BETTER, ALIGNED, NOT_FINITE, ERROR)
"""From best to worst."""
UNUSABLE, DEFECT, DIED = "unusable", "internal", "died"
_MODELS_KEPT, _CLIPS_KEPT = 32, 8
"""Number of files that a process keeps open between cells; a sweep runs all checkpoints on one clip, then the next."""


@dataclass(frozen=True)
class MeasuredCell:
    """The result of a cell. Numbers are None where there is nothing to measure.

    frames: frames that ran and are finite. judged_frames: those that can be compared with the clip. mean_error,
    max_error: of `stage` in `unit`; deg, cm: of poses; the worst bone or field, and frame. copy_last: the error of
    repeating the clip's last pose: each frame's own if the clip drives the run, the first one in a free run.
    growth_per_frame: factor by which small differences of the start change (free run).
    """

    verdict: str
    error_kind: str | None = None
    error: str | None = None
    frames: int = 0
    judged_frames: int = 0
    first_bad_frame: int | None = None
    first_bad_stage: str | None = None
    inputs_aligned: str | None = None
    stage: str | None = None
    unit: str | None = None
    mean_error: float | None = None
    max_error: float | None = None
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


def measure_cell(cell: Cell) -> MeasuredCell:
    """Measure a cell. An error in the cell becomes part of the result, and does not stop the sweep."""
    try:
        with inputs_remembered():  # a file that changes after its hash was taken
            return _measured(cell)
    except UnusableInput as refusal:
        return failure(UNUSABLE, _with_given_names(refusal.one_line(), cell))
    except Exception as defect:  # noqa: BLE001 - one cell's defect must not lose the others; the sweep ends with status 3
        return failure(DEFECT, _with_given_names(f"{type(defect).__name__}: {defect}", cell))


def failure(kind: str, text: str) -> MeasuredCell:
    """The result of a cell that could not be measured."""
    return MeasuredCell(ERROR, kind, text)


def _with_given_names(text: str, cell: Cell) -> str:
    """The error's text with the user's names of the files: the same on every machine."""
    for entry in (cell.clip, cell.model, cell.companion, cell.bundle, *cell.operations):
        text = text if entry is None else text.replace(entry.path, entry.name)
    return text


def _measured(cell: Cell) -> MeasuredCell:
    _bring(cell.operations, cell.sources)
    contract = _contract(cell.bundle, cell.companion, cell.changes)
    network = _network(cell.model, cell.bundle, cell.companion, cell.changes)
    subject = RunSetup(contract, network, _clip(cell.clip, cell.bundle, cell.companion), cell.mode, engine=cell.engine)
    runner = subject.start(cell.frames)
    poses = subject.files.next_poses(subject.clip, runner.contract)
    stage = judged_stage(contract, subject.clip, poses)
    published: list[FloatArray] = []

    def keep(_frame: int, stages: Mapping[str, FloatArray]) -> None:
        if stage is not None and stage.name not in stages:  # the clip lacks what the run computes the stage from
            found, hint = f"nothing that {stage.name} can be computed from", "a free run feeds itself: --mode free"
            raise UnusableInput(cell.clip.name, found, f"every vector that a {cell.mode} run takes from a clip", hint)
        if stage is not None:
            published.append(stages[stage.name])

    watched = watch_run(runner, range(_steps(cell.frames, subject, runner, poses)), [keep])
    if watched.refusal is not None:
        raise watched.refusal
    errors: Fields = {} if stage is None else {"stage": stage.name}
    if published and poses is not None:
        errors |= pose_errors(runner.contract, np.stack(published), poses, cell.mode, runner.fps)
    elif published and stage is not None:
        errors |= stage_errors(contract, stage, np.stack(published), subject.clip.stages[stage.name])
    aligned = " ".join(f"{event.name}:{event.given}->{event.bound}" for event in sorted(runner.alignments))
    copied = errors.get("copy_last_mean_deg")
    verdict = PASS if copied is None or errors["mean_deg"] <= copied else COPY_LAST_IS_BETTER
    verdict = NOT_FINITE if watched.alarm else ALIGNED if aligned else verdict
    return MeasuredCell(
        verdict=verdict, frames=watched.finite_frames, inputs_aligned=aligned or None,
        first_bad_frame=watched.failing_frame if watched.alarm else None,
        first_bad_stage=watched.alarm[0] if watched.alarm else None,
        growth_per_frame=_growth(subject, runner, watched.finite_frames) if cell.mode == "free" else None, **errors,
    )  # fmt: skip


def _steps(wanted: int | None, subject: RunSetup, runner: Run, poses: FloatArray | None) -> int:
    """Number of frames to run: by default the clip's; never more than a clip that drives the run has."""
    own = int(subject.rows().steps) if poses is None else len(poses) - 1
    steps = min(wanted or own, runner.frame_limit or wanted or own)
    if steps < 1 or own < 1:
        raise UnusableInput("the clip", "no frame with a pose after it", "at least two frames")
    return steps


def _growth(subject: RunSetup, runner: Run, frames: int) -> float | None:
    """Factor by which a difference of the start changes in each frame; one start of each size, run side by side.

    None if the run is too short for a trend, or not finite.
    """
    if frames < 3:
        return None
    contract = runner.contract
    starts, _ = drift.perturbed_starts(subject, contract)
    chosen = np.concatenate((starts[:1], starts[1 :: drift.RUNS_PER_SIZE]))
    many = subject.files.lockstep(contract, subject.network, subject.clip, chosen, frames, subject.engine)
    stage, spread = drift.published_stage(contract), []
    with np.errstate(all="ignore"):
        for _ in range(frames):
            rows = many.passing()[stage.name]
            spread.append(np.median(drift.distances(contract, stage, rows[1:], rows[0])))
        growth = drift.growth_per_frame(np.arange(frames, dtype=np.float64), np.array(spread))
    return growth if np.isfinite(growth) else None


def _checked(file: SweptFile) -> Path:
    """The file's path, after a check that its bytes are the planned ones."""
    path = Path(file.path)
    found = file_sha256(path)
    if found != file.sha256:
        expected = f"{file.sha256[:12]} as planned"
        raise UnusableInput(file.name, f"a file of SHA-256 {found[:12]}", expected, "it changed since the sweep began")
    return path


@lru_cache(maxsize=1)
def _bring(operations: tuple[SweptFile, ...], sources: tuple[SweptFile, ...]) -> None:
    """Load the modules that the command line named in this process too; refuse other files of numbers than planned with."""
    if operations:
        use_operations([str(_checked(file)) for file in operations])
    for file in sources:
        _checked(file)


@lru_cache(maxsize=4)
def _declared(bundle: SweptFile, companion: SweptFile | None) -> Contract:
    return open_contract(_checked(bundle), _checked(companion) if companion else None)


def _contract(bundle: SweptFile, companion: SweptFile | None, changes: Changes) -> Contract:
    return _declared(bundle, companion).with_conventions(dict(changes))


@lru_cache(maxsize=_MODELS_KEPT)
def _network(model: SweptFile, bundle: SweptFile, companion: SweptFile | None, changes: Changes) -> Any:
    contract = _contract(bundle, companion, changes)
    return files_of(contract).network(_checked(model), contract)


@lru_cache(maxsize=_CLIPS_KEPT)
def _clip(clip: SweptFile, bundle: SweptFile, companion: SweptFile | None) -> Any:
    contract = _declared(bundle, companion)
    return files_of(contract).clip(_checked(clip), contract)
