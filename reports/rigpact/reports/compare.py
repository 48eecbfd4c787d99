"""Two recordings side by side: per stage, bone and frame, with the place where they first part.

Fails closed: every value that either side declares is compared, waived with a reason, or missing, and the ledger counts
them. Here is only measured; findings are made of it in judgement.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import STAGES, Conventions
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.rules import comparison as rules
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recording import Recording
from rigpact.reference_runtime.rot6d import Rot6d
from rigpact.reference_runtime.tolerances import pose_tolerance_without_contract, stage_tolerances
from rigpact.reports.address import Address, channel_address
from rigpact.reports.pose_error import PoseError, pose_error

Z_STAGES = ("state", "cond", "angvel", "pose_hist")
UNJUDGEABLE_Z = 1.0
"""A channel whose rounding alone spans a whole standard deviation says nothing; it is waived and counted."""


@dataclass(frozen=True, eq=False)
class StageComparison:
    """One stage of both sides over the shared frames: |a - b| and its tolerance, both (T, width).

    `judged` (width,) marks the channels that can be judged at all; values that are not finite are infinitely wrong.
    """

    stage: str
    error: FloatArray
    tolerance: FloatArray
    judged: NDArray[np.bool_]
    frames: NDArray[np.int64]

    @property
    def over(self) -> NDArray[np.bool_]:
        """Which values are beyond their tolerance."""
        return (self.error > self.tolerance) & self.judged | ~np.isfinite(self.error)

    @property
    def worst(self) -> tuple[int, int]:
        """Row and channel of the largest error: among the values beyond their tolerance if there are any."""
        candidates = self.over if self.over.any() else np.broadcast_to(self.judged, self.error.shape)
        row, channel = np.unravel_index(int(np.argmax(np.where(candidates, self.error, -1.0))), self.error.shape)
        return int(row), int(channel)

    @property
    def first_frame_over(self) -> int | None:
        """First shared frame with a value beyond its tolerance."""
        rows = np.flatnonzero(self.over.any(axis=1))
        return int(self.frames[rows[0]]) if len(rows) else None


@dataclass(frozen=True, eq=False)
class Baseline:
    """Mean geodesic error against the clip's own next pose, in degrees: each side, and copying the last pose."""

    a_deg: float
    b_deg: float
    copy_last_deg: float
    frames: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Everything measured between two recordings; judgement.py turns it into findings."""

    a: Recording
    b: Recording
    contract: Contract | None
    bones: Sequence[str]
    frames: NDArray[np.int64]
    stages: Mapping[str, StageComparison]
    waived: Mapping[str, str]
    missing: Mapping[str, Finding]
    pose: PoseError | None
    baseline: Baseline | None
    ledger: Ledger

    def address(self, stage: str, channel: int) -> Address:
        """Name the place of a channel."""
        return channel_address(stage, channel, self.contract, self.bones)

    @property
    def first_divergence(self) -> tuple[int, str] | None:
        """Frame and stage where the two sides first part; of one frame, the first stage of the loop."""
        starts = [(result.first_frame_over, STAGES.index(name)) for name, result in self.stages.items()]
        known = [(frame, place) for frame, place in starts if frame is not None]
        if not known:
            return None
        frame, place = min(known)
        return frame, STAGES[place]


def compare(
    a: Recording,
    b: Recording,
    contract: Contract | None = None,
    *,
    skeleton: Skeleton | None = None,
    only: Collection[str] = (),
) -> Comparison:
    """Measure two recordings against each other, frame numbers aligned.

    contract: gives tolerances, bone names and the skeleton; without it only poses can be judged.
    only: stages to compare; the others count as waived.
    Raises UnusableInput when `only` names a stage that neither side has.
    """
    skeleton = skeleton or (contract.skeleton if contract else None)
    frames, rows_a, rows_b = np.intersect1d(a.trace.frame, b.trace.frame, assume_unique=True, return_indices=True)
    held = [name for name in STAGES if name in a.trace.stages or name in b.trace.stages]
    for name in only:
        if name not in held:
            raise UnusableInput(f"--stage {name}", "a stage that neither side recorded", f"one of {', '.join(held)}")
    waived = dict(_waived(a, b, held, only, contract))
    missing = dict(_missing(a, b, [name for name in held if name not in waived]))
    chosen = [name for name in held if name not in waived and name not in missing and len(frames)]
    values_a = {name: a.trace.stages[name][rows_a] for name in chosen}
    values_b = {name: b.trace.stages[name][rows_b] for name in chosen}
    stages = _measure(values_a, values_b, frames, contract, free="free" in (a.trace.header.mode, b.trace.header.mode))
    bones = _bone_names(a, b, contract)
    pose, baseline = _pose_results(a, b, rows_a, rows_b, values_a, values_b, contract, skeleton)
    ledger = _ledger(a, b, held, stages, waived, len(frames))
    return Comparison(a, b, contract, bones, frames, stages, waived, missing, pose, baseline, ledger)


def _waived(
    a: Recording, b: Recording, held: Sequence[str], only: Collection[str], contract: Contract | None
) -> Iterator[tuple[str, str]]:
    for name in held:
        impossible = [side for side in (a, b) if name not in side.possible]
        if only and name not in only:
            yield name, "not asked for"
        elif impossible:
            yield name, f"a {impossible[0].title} cannot hold it"
        elif contract is None and name != "y_out":
            yield name, "its tolerance needs the bundle's statistics (--bundle)"


def _missing(a: Recording, b: Recording, names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    for name in names:
        rows_a, rows_b = a.trace.stages.get(name), b.trace.stages.get(name)
        if rows_a is None or rows_b is None:
            holder = b if rows_a is None else a
            other = a if rows_a is None else b
            yield name, rules.STAGE_NOT_COMPARED.at(other.path, f"/stages/{name}", stage=name, holder=holder.path.name)
        elif rows_a.shape[1] != rows_b.shape[1]:
            yield name, rules.WIDTH_DIFFERS.at(
                b.path, f"/stages/{name}", stage=name, width_a=rows_a.shape[1], width_b=rows_b.shape[1],
                name_a=a.path.name, name_b=b.path.name,
            )  # fmt: skip


def _measure(
    values_a: Mapping[str, FloatArray],
    values_b: Mapping[str, FloatArray],
    frames: NDArray[np.int64],
    contract: Contract | None,
    *,
    free: bool,
) -> dict[str, StageComparison]:
    if contract is not None:
        _check_widths(values_a, contract)
        with np.errstate(invalid="ignore", over="ignore"):
            bounds = stage_tolerances(contract, values_a)
    else:
        bounds = {name: pose_tolerance_without_contract(rows) for name, rows in values_a.items()}
    # in free-run frame n inherits the rounding of the n frames before it
    growth = (frames - frames[0] + 1.0)[:, None] if free and len(frames) else 1.0
    return {
        name: _stage_comparison(name, values_a[name], values_b[name], bounds[name] * growth, frames)
        for name in values_a
    }


def _check_widths(values: Mapping[str, FloatArray], contract: Contract) -> None:
    for name, rows in values.items():
        expected = contract.stage_widths.get(name)
        if expected is not None and rows.shape[1] != expected:
            found = f"{rows.shape[1]} numbers"
            raise UnusableInput(f"stage {name}", found, f"{expected} under this bundle", "the right --bundle?")


def _stage_comparison(
    name: str, a: FloatArray, b: FloatArray, tolerance: FloatArray, frames: NDArray[np.int64]
) -> StageComparison:
    a64: FloatArray = a.astype(np.float64)
    b64: FloatArray = b.astype(np.float64)
    if name == "quat":
        b64 = _same_hemisphere(a64, b64)
    with np.errstate(invalid="ignore"):
        error = np.abs(a64 - b64)
    error[~(np.isfinite(a64) & np.isfinite(b64))] = np.inf
    tolerance = np.where(np.isnan(tolerance), 0.0, tolerance)
    judged = np.ones(a.shape[1], bool)
    if name in Z_STAGES:
        judged = np.median(tolerance, axis=0) <= UNJUDGEABLE_Z
    return StageComparison(name, error, tolerance, judged, frames)


def _same_hemisphere(a: FloatArray, b: FloatArray) -> FloatArray:
    """b with the sign of each quaternion that lies nearer to a: q and -q are one rotation."""
    quats_a, quats_b = (side.reshape(len(side), -1, 4) for side in (a, b))
    with np.errstate(invalid="ignore"):
        flips = np.sum(quats_a * quats_b, axis=-1, keepdims=True) < 0.0
    return np.where(flips, -quats_b, quats_b).reshape(b.shape)


def _bone_names(a: Recording, b: Recording, contract: Contract | None) -> Sequence[str]:
    return contract.bone_names if contract else a.bone_names or b.bone_names or ()


def _pose_results(
    a: Recording,
    b: Recording,
    rows_a: NDArray[np.int64],
    rows_b: NDArray[np.int64],
    values_a: Mapping[str, FloatArray],
    values_b: Mapping[str, FloatArray],
    contract: Contract | None,
    skeleton: Skeleton | None,
) -> tuple[PoseError | None, Baseline | None]:
    if "y_out" not in values_a:
        return None, None
    codec = Rot6d(contract.conventions if contract else Conventions())
    place = contract.output[ROTATIONS].range if contract else slice(None)
    poses = (values_a["y_out"][:, place], values_b["y_out"][:, place])
    with np.errstate(invalid="ignore", over="ignore"):
        pose = pose_error(*poses, codec, skeleton)
        holder, rows = (a, rows_a) if a.targets6d is not None else (b, rows_b)
        if holder.targets6d is None or holder.copied6d is None:
            return pose, None
        return pose, _baseline(poses, holder.targets6d[rows], holder.copied6d[rows], codec)


def _baseline(
    poses: tuple[FloatArray, FloatArray], targets: FloatArray, copied: FloatArray, codec: Rot6d
) -> Baseline | None:
    known = np.isfinite(targets).all(axis=1)
    if not known.any() or targets.shape[1] != poses[0].shape[1]:
        return None
    a_deg, b_deg, copy_last_deg = (
        float(pose_error(guess[known], targets[known], codec, None).deg.mean()) for guess in (*poses, copied)
    )
    return Baseline(a_deg, b_deg, copy_last_deg, frames=int(known.sum()))


def _ledger(
    a: Recording,
    b: Recording,
    held: Sequence[str],
    stages: Mapping[str, StageComparison],
    waived: Mapping[str, str],
    shared: int,
) -> Ledger:
    """Count values: declared is what either side holds, over the frames of either side."""
    frames = len(a.trace.frame) + len(b.trace.frame) - shared
    widths = {name: max(side.trace.widths.get(name, 0) for side in (a, b)) for name in held}
    declared = frames * sum(widths.values())
    compared = sum(int(result.judged.sum()) * len(result.frames) for result in stages.values())
    unjudged = sum(int((~result.judged).sum()) * len(result.frames) for result in stages.values())
    return Ledger(declared, compared, waived=unjudged + frames * sum(widths[name] for name in waived))
