"""Bug or chaos: how fast a free run forgets or amplifies a difference, and whether a trace stays within that.

Many starts, a float32 step to 1e-6 apart, are run in lockstep. Their spread is the envelope that rounding alone can explain;
a trace that leaves it is a defect, one inside it is not. Foot slide and root drift are measured on the same run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.text import Text

from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.systems.enemy_animation.lockstep import Lockstep
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reports.nonfinite.floor import FloorReport, measure_floor
from rigpact.reports.nonfinite.free_run_inputs import InputUse, input_uses
from rigpact.reports.nonfinite.subject import Subject
from rigpact.reports.terminal import plain, tracked

SIZES: tuple[float, ...] = (2.0**-23, 1e-7, 3e-7, 1e-6)
"""How far the starts are apart, in components of unit axes; 2^-23 is one float32 step at 1."""
RUNS_PER_SIZE = 4
SAMPLES = 500
"""Frames at which the spread is measured; all of them in a shorter run."""
PARTED_DEG = 1.0
"""A bone that is a degree off moves a hand by more than half a centimetre: from there on two runs have parted."""
STEP_ERROR = gamma(32)
"""Rounding that one frame of composing adds (see tolerances): what a correct engine may differ by each frame."""
_LARGEST_DEG = 180.0
Trend = Literal["contraction", "neutral", "divergence"]


@dataclass(frozen=True)
class Outside:
    """The first frame at which a trace is farther away than rounding explains."""

    frame: int
    bone: str
    degrees: float
    allowed_deg: float


@dataclass(frozen=True, eq=False)
class Drift:
    """The growth envelope of a free run, and what was measured on it. Frames and degrees."""

    frames: int
    sampled: FloatArray
    envelope_deg: FloatArray
    allowed_deg: FloatArray
    growth_per_frame: float
    trend: Trend
    parted_frame: int | None
    f32_f64_deg: float
    finite: bool
    floor: FloorReport | None
    inputs: tuple[InputUse, ...]
    compared_frames: int = 0
    outside: Outside | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Literal["finite", "nonfinite", "diverging"]:
        """`diverging` only for a trace outside the envelope: growth alone is chaos, not a defect."""
        if not self.finite:
            return "nonfinite"
        return "diverging" if self.outside else "finite"

    @property
    def exit_code(self) -> int:
        """0 within what rounding explains, 1 otherwise."""
        return 0 if self.verdict == "finite" else 1

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-nonfinite` document with a `drift` object."""
        return {
            "format": "rigpact-nonfinite", "version": 1, "verdict": self.verdict, "origin": None, "chain": [],
            "precursor": None, "guard": None, "repro": None, "frames": self.frames,
            "drift": {
                "growth_per_frame": self.growth_per_frame, "trend": self.trend,
                "f32_f64_parted_frame": self.parted_frame, "f32_f64_largest_deg": self.f32_f64_deg,
                "envelope": [
                    {"frame": int(frame), "degrees": float(size), "allowed_deg": float(allowed)}
                    for frame, size, allowed in zip(self.sampled, self.envelope_deg, self.allowed_deg, strict=True)
                ],
                "floor": self.floor.to_json() if self.floor else None,
                "inputs": [vars(use) for use in self.inputs],
                "compared_frames": self.compared_frames,
                "outside": vars(self.outside) if self.outside else None,
            },
            "notes": list(self.notes),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Spread:
    """A run of many starts: poses of the unperturbed one (T, 6·B), and each start's distance from it (samples, R)."""

    poses: FloatArray
    inputs: list[dict[str, FloatArray]]
    sampled: FloatArray
    degrees: FloatArray
    f32_deg: FloatArray
    sizes: FloatArray
    finite: bool


def judge_drift(subject: Subject, frames: int, against: Path | None = None) -> Drift:
    """Measure the envelope over `frames` frames, and hold a free-run trace against it where one is given."""
    if subject.mode != "free" or subject.faults or subject.on_floor:
        raise UnusableInput("--drift", "a teacher-driven, perturbed or floor-contact run", "a free run as it is")
    if isinstance(subject.network, ReplayNetwork):
        raise UnusableInput("--drift", "recorded outputs", "a model", "a recording answers the same whatever comes in")
    subject = replace(subject, contract=subject.start().contract)
    with np.errstate(all="ignore"):
        spread = _spread(subject, frames)
    envelope = np.maximum.accumulate(spread.degrees.max(axis=1))
    allowed = _allowed(spread)
    growth = growth_per_frame(spread.sampled, np.median(spread.degrees, axis=1))
    apart = np.flatnonzero(spread.f32_deg > PARTED_DEG)
    floor, notes = _floor(subject, spread.poses)
    compared, outside = _compared(subject, spread, allowed, against)
    return Drift(
        frames=len(spread.poses), sampled=spread.sampled, envelope_deg=envelope, allowed_deg=allowed,
        growth_per_frame=growth, trend=_trend(growth, frames),
        parted_frame=int(spread.sampled[apart[0]]) if len(apart) else None,
        f32_f64_deg=float(spread.f32_deg.max()), finite=spread.finite, floor=floor,
        inputs=input_uses(subject, spread.inputs), compared_frames=compared, outside=outside, notes=notes,
    )  # fmt: skip


def perturbed_starts(seed: FloatArray, rotations: slice) -> tuple[FloatArray, FloatArray]:
    """Raw states (1 + R, Dx), the unperturbed one first, and the sizes (R,) of the others' differences."""
    chance = np.random.default_rng(0)
    sizes = np.repeat(SIZES, RUNS_PER_SIZE)
    starts = np.tile(seed, (1 + len(sizes), 1))
    signs = chance.choice((-1.0, 1.0), (len(sizes), rotations.stop - rotations.start))
    starts[1:, rotations] += (signs * sizes[:, None]).astype(np.float32)
    return starts, sizes


def _spread(subject: Subject, frames: int) -> _Spread:
    contract = subject.contract
    rotations = contract.state["BoneRotations6D"].range
    starts, sizes = perturbed_starts(subject.rows().x_raw[0], rotations)
    many = Lockstep(contract, subject.network, subject.clip, starts)
    single = Lockstep(contract.with_conventions({"math": "f32"}), subject.network, subject.clip)
    place = contract.output["BoneRotations6D"].range
    stride = max(1, frames // SAMPLES)
    poses, inputs, sampled, degrees, f32 = [], [], [], [], []
    for frame in tracked(range(frames), "lockstep"):
        stages, alone = many.step(), single.step()
        poses.append(stages["y_out"][0, place])
        if not np.isfinite(stages["y_out"]).all():
            break
        if frame % stride == 0 or frame == frames - 1:
            sampled.append(frame)
            angles = largest_angle_deg(np.concatenate((stages["y_out"][:, place], alone["y_out"][:, place])), contract)
            degrees.append(angles[1:-1])
            f32.append(angles[-1])
            inputs.append({name: stages[name][:1] for name in (*INPUTS, "x_raw")} | {"frame": np.array([float(frame)])})
    finite = len(poses) == frames and bool(np.isfinite(poses[-1]).all())
    if not sampled:
        raise UnusableInput(subject.network.name, "a run that is not finite in its first frame", "a finite run")
    return _Spread(np.stack(poses), inputs, np.array(sampled), np.stack(degrees), np.array(f32), sizes, finite)


def largest_angle_deg(poses6d: FloatArray, contract: Contract) -> FloatArray:
    """Angle (R,) of each pose (R, 6·B) to the first one, on the bone that is farthest."""
    matrices = Rot6d(contract.conventions).decode(poses6d.astype(np.float64))
    return np.asarray(np.degrees(rotation_angle_rad(matrices[:1], matrices)).max(axis=-1))


def _allowed(spread: _Spread) -> FloatArray:
    """What rounding explains at each sample: every frame adds STEP_ERROR, and each addition is amplified as the starts are."""
    amplification = (np.radians(spread.degrees) / spread.sizes).max(axis=1)
    every = np.interp(np.arange(spread.sampled[-1] + 1), spread.sampled, amplification)
    total = np.cumsum(every)[spread.sampled.astype(int)] + every[0]
    allowed: FloatArray = np.minimum(np.degrees(STEP_ERROR * total), _LARGEST_DEG)
    return allowed


def growth_per_frame(frames: FloatArray, degrees: FloatArray) -> float:
    """Factor by which a difference grows each frame: a line through its logarithm until it saturates.

    Saturated is what has reached a tenth of the largest difference; before that the growth is that of small differences.
    Where the largest is not ten times the first there was no growth to speak of: the whole run counts.
    """
    known = degrees > 0.0
    if known.sum() < 3:
        return 0.0
    place, size = frames[known].astype(float), np.log(degrees[known])
    limit = size.max() - np.log(10.0)
    if size[0] < limit:
        end = max(3, int(np.argmax(size >= limit)) + 1)
        place, size = place[:end], size[:end]
    return float(np.exp(np.polyfit(place, size, 1)[0])) if len(place) > 2 else 1.0


def _trend(growth: float, frames: int) -> Trend:
    """A difference that changes by less than a factor e over the whole run neither grows nor shrinks."""
    rate = np.log(max(growth, 1e-9)) * frames
    return "divergence" if rate > 1.0 else "contraction" if rate < -1.0 else "neutral"


def _floor(subject: Subject, poses: FloatArray) -> tuple[FloorReport | None, tuple[str, ...]]:
    try:
        return measure_floor(subject, poses), ()
    except UnusableInput as refusal:
        return None, (f"feet not measured: {refusal.found}",)


def _compared(
    subject: Subject, spread: _Spread, allowed: FloatArray, against: Path | None
) -> tuple[int, Outside | None]:
    if against is None:
        return 0, None
    contract = subject.contract
    recording = read_recording(against, contract)
    trace = recording.trace
    if trace.header.mode != "free" or "y_out" not in trace.stages:
        raise UnusableInput(against, f"a {trace.header.mode} trace", "a free-run trace with y_out")
    inside = trace.frame < len(spread.poses)
    frame = trace.frame[inside]
    if len(frame) == 0:
        raise UnusableInput(against, "no frame of this run", f"frames 0 to {len(spread.poses) - 1}")
    theirs = trace.stages["y_out"][inside][:, contract.output["BoneRotations6D"].range]
    codec = Rot6d(contract.conventions)
    ours = codec.decode(spread.poses[frame].astype(np.float64))
    with np.errstate(all="ignore"):
        angles = np.degrees(rotation_angle_rad(ours, codec.decode(theirs.astype(np.float64))))
    limit = np.interp(frame, spread.sampled, np.maximum.accumulate(allowed))
    beyond = np.flatnonzero(~(angles.max(axis=-1) <= limit))
    if len(beyond) == 0:
        return len(frame), None
    row = int(beyond[0])
    bone = int(np.argmax(np.nan_to_num(angles[row], nan=np.inf)))
    where = contract.bone_names[bone]
    return len(frame), Outside(int(frame[row]), where, float(angles[row, bone]), float(limit[row]))


def print_drift(drift: Drift, console: Console) -> None:
    """Print the growth, the horizon, the feet and the verdict."""
    console.print(
        f"{drift.frames} frames: differences change by a factor {drift.growth_per_frame:.6f} a frame ({drift.trend}); "
        f"largest spread {drift.envelope_deg[-1]:.3g} deg from starts up to {max(SIZES):g} apart"
    )
    parted = f"part at frame {drift.parted_frame}" if drift.parted_frame is not None else "do not part"
    console.print(f"float32 and float64 loops {parted} (largest difference {drift.f32_f64_deg:.3g} deg)")
    if drift.floor:
        console.print(drift.floor.words)
    for use in drift.inputs:
        console.print(Text(f"  {plain(use)}"))
    if drift.compared_frames:
        place = drift.outside
        words = (
            f"leaves the envelope at frame {place.frame}, {plain(place.bone)}: {place.degrees:.3g} deg, rounding "
            f"explains {place.allowed_deg:.3g}: a defect"
            if place
            else f"stays inside the envelope for {drift.compared_frames} frames: rounding explains it"
        )
        console.print(f"the trace {words}")
    for note in drift.notes:
        console.print(Text(f"  note: {plain(note)}", style="dim"))
    console.print(Text(drift.verdict.upper(), style="bold green" if drift.exit_code == 0 else "bold red"))
