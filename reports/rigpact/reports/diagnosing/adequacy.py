"""Which conventions a set of clips cannot tell apart.

A comparison on a clip that never turns cannot show a bug in wrapping the heading. Each clip is run under the contract with
an ideal network (its own motion as output), then every other value of every knob is replayed on that run: the margin is the
largest resulting error in tolerances. What no clip can separate, not even the probe made for it, is not held against them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from rigpact.reports.diagnosing.replay import Evidence

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reference_runtime.recordings.clip import Clip, RawClip
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS
from rigpact.reference_runtime.systems.enemy_animation.loop import Mode, run_frames, start_run
from rigpact.reference_runtime.systems.enemy_animation.output import ADDS_IDENTITY, ADDS_MEAN, OutputStages
from rigpact.reports.diagnosing.hypotheses import BENIGN_KNOBS, Hypotheses

Choice = tuple[str, str]
"""A knob and one of its values."""
CLEAR_MARGIN = 10.0
"""A difference of ten tolerances shows whatever rounding does; between one and ten it may be missed."""
_JUDGED_ELSEWHERE = BENIGN_KNOBS | {"input_order"}
"""The order of the inputs is seen by the model alone: the canary of `rigpact check` judges it."""
_EXHAUSTIVE_CLIPS = 12
_NETWORK_ERROR_Z = 0.05
"""Error of a well-trained network's output, in standard deviations."""
ADVICE: Mapping[str, str] = {
    "yaw_encoding": "add a clip that turns past half a turn to either side",
    "rootvel_squash": "add a clip that walks diagonally at more than one speed",
    "angvel_squash": "add a fast clip: the bones hardly turn",
    "condition_direction": "add a clip that moves another way than it looks, off the axes",
    "condition_speed_unit": "add a clip that moves",
    "condition_norm": "add a clip whose condition changes",
    "contacts_source": "add a clip in which one foot stands while the other is in the air, with soft scores",
    "angvel_source": "add a fast clip: the bones hardly turn",
    "angvel_angle": "add a fast clip: the bones hardly turn",
    "angvel_frame": "add a clip in which bones turn about more than one axis",
    "angvel_lag": "add a clip with changes of speed",
    "pose_history_order": "add a clip that moves",
    "pose_history_phase": "add a clip that moves",
    "pose_history_start": "add a clip that moves from its first frame on",
    "previous_pose_lag": "add a clip that moves",
    "compose_order": "add a clip in which bones turn about more than one axis",
    "delta_direction": "add a clip that moves",
    "bone_order": "add a clip in which left and right differ",
    "writeback": "add a clip in which the root moves and bones turn",
}
_ANY_ADVICE = "synthesise a probe clip: rigpact adequacy --synthesise probe.json"


@dataclass(frozen=True, eq=False)
class ClipAdequacy:
    """Margin of every knob value on one clip, in tolerances; `limits` says in words what the clip never shows."""

    name: str
    margins: Mapping[Choice, float]
    limits: tuple[str, ...]

    clear_margin: float = CLEAR_MARGIN

    @property
    def separated(self) -> frozenset[Choice]:
        """The values that this clip tells from the contract's, clearly."""
        return frozenset(choice for choice, margin in self.margins.items() if margin >= self.clear_margin)


@dataclass(frozen=True, eq=False)
class Adequacy:
    """What a set of clips can show together."""

    clips: tuple[ClipAdequacy, ...]
    separable: frozenset[Choice]
    inseparable: tuple[Choice, ...]
    smallest_set: tuple[str, ...]

    @property
    def missed(self) -> tuple[Choice, ...]:
        """Separable values that no given clip separates, in the knobs' order."""
        shown = frozenset[Choice]().union(*(clip.separated for clip in self.clips))
        return tuple(choice for choice in choices() if choice in self.separable - shown)

    def advice(self, choice: Choice) -> str:
        """What to add so that a value shows."""
        return ADVICE.get(choice[0], _ANY_ADVICE)

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-adequacy` document, version 1."""
        return {
            "format": "rigpact-adequacy",
            "version": 1,
            "verdict": "fail" if self.missed else "pass",
            "clips": [
                {"clip": clip.name, "limits": list(clip.limits),
                 "margins": [[knob, value, min(margin, 1e300)] for (knob, value), margin in clip.margins.items()]}
                for clip in self.clips
            ],
            "missed": [{"knob": knob, "value": value, "advice": self.advice((knob, value))} for knob, value in self.missed],
            "inseparable": [list(choice) for choice in self.inseparable],
            "smallest_set": list(self.smallest_set),
        }  # fmt: skip


def choices() -> list[Choice]:
    """Every knob value that a clip could separate from another."""
    return [
        (knob.name, value) for knob in KNOBS.values() if knob.name not in _JUDGED_ELSEWHERE for value in knob.values
    ]


def assess(clips: Mapping[str, Clip], probe: Clip, contract: Contract) -> Adequacy:
    """Measure what each clip separates; the probe says what is separable at all."""
    return weigh([measure(name, clip, contract) for name, clip in clips.items()], measure("probe", probe, contract))


def weigh(clips: Sequence[ClipAdequacy], probe: ClipAdequacy) -> Adequacy:
    """What measured clips show together, beside what the probe shows to be separable."""
    separable = probe.separated.union(*(clip.separated for clip in clips))
    inseparable = tuple(choice for choice in probe.margins if choice not in separable)
    return Adequacy(tuple(clips), separable, inseparable, _smallest_set(clips))


def measure(name: str, clip: Clip, contract: Contract) -> ClipAdequacy:
    """Margins of one clip, teacher-driven and in free-run, the larger of both."""
    network = ReplayNetwork(ideal_outputs(clip, contract))
    margins = dict.fromkeys(_others(contract), 0.0)
    modes: tuple[Mode, ...] = ("teacher", "free")
    for mode in modes:
        runner = start_run(contract, network, clip, mode)
        trace = run_frames(runner, range(len(network.outputs)), name, mode)
        evidence = Evidence(trace.frame, trace.header.fps, mode, trace.stages, clip)
        hypotheses = Hypotheses(evidence, runner.contract)
        for choice in margins:
            margins[choice] = max(margins[choice], _margin(hypotheses, choice))
    return ClipAdequacy(name, margins, tuple(_limits(clip)))


def _others(contract: Contract) -> list[Choice]:
    declared = contract.conventions
    swappable = left_right_permutation(contract.bone_names) is not None
    return [
        (knob, value)
        for knob, value in choices()
        if value != getattr(declared, knob) and (knob != "bone_order" or swappable)
    ]


def _margin(hypotheses: Hypotheses, choice: Choice) -> float:
    """Worst error over the stages that the choice can change; a value that this bundle cannot have separates nothing."""
    knob, value = choice
    stages = [stage for stage in hypotheses.judged if hypotheses.matters(knob, stage)]
    errors = [hypotheses.error(stage, {knob: value}) for stage in stages]
    return max((error.worst_finite_excess for error in errors if error is not None), default=0.0)


def ideal_outputs(clip: Clip, contract: Contract) -> FloatArray:
    """y_norm rows (T, Dy) of a network that predicts a clip almost exactly, under the contract's own output mode.

    Almost: a perfect ΔR is already orthonormal, and then no one could tell whether it is reprojected.
    """
    rows = clip_rows(clip, contract)
    outputs, statistics = OutputStages(contract), contract.output_statistics
    place, mode = contract.output[ROTATIONS].range, contract.conventions.output_mode
    rotations = outputs.codec.decode(rows.poses.astype(np.float64))
    wanted = rotations[1:] if mode == "absolute" else rotations[1:] @ np.swapaxes(rotations[:-1], -1, -2)
    six = outputs.codec.encode(wanted) - ADDS_IDENTITY[mode] * outputs.codec.identity(contract.bone_count)
    mean = statistics.mean[place].astype(np.float64) * ADDS_MEAN[mode]
    y_norm = np.zeros((len(wanted), contract.output.width))
    y_norm[:, place] = (six - mean) / statistics.std_floored[place]
    y_norm += _NETWORK_ERROR_Z * np.sin(np.arange(y_norm.size)).reshape(y_norm.shape)
    return y_norm.astype(np.float32)


def _limits(clip: Clip) -> list[str]:
    """What a raw clip never shows, in words with the number that says so."""
    if not isinstance(clip, RawClip):
        return []
    found = []
    yaw = float(np.abs(clip.root_yaw_rad).max())
    if yaw <= np.pi:
        found.append(f"root yaw never leaves ±{yaw:.2f} rad: a yaw-wrap bug would not show; add a turning clip")
    scores = clip.contact_scores
    if scores is None or float(np.abs(scores[:, 0] - scores[:, 1]).max()) < 0.5:
        found.append("both feet always score alike: swapped feet would not show; add a walking clip")
    speed = np.linalg.norm(clip.root_velocity_m_s, axis=1)
    if float(speed.max()) < 0.1:
        found.append(f"the root never moves faster than {float(speed.max()):.2f} m/s: add a clip that walks")
    return found


def _smallest_set(clips: Sequence[ClipAdequacy]) -> tuple[str, ...]:
    """The fewest clips that together separate all that any of them separates."""
    wanted = frozenset[Choice]().union(*(clip.separated for clip in clips))
    if len(clips) > _EXHAUSTIVE_CLIPS:
        return _greedy_set(clips, wanted)
    for size in range(len(clips) + 1):
        for chosen in combinations(clips, size):
            if frozenset[Choice]().union(*(clip.separated for clip in chosen)) == wanted:
                return tuple(clip.name for clip in chosen)
    return tuple(clip.name for clip in clips)


def _greedy_set(clips: Sequence[ClipAdequacy], wanted: frozenset[Choice]) -> tuple[str, ...]:
    """The clip that adds most, again and again: at most ln(n) times the fewest."""
    chosen: list[str] = []
    open_choices = wanted
    while open_choices:
        best = max(clips, key=lambda clip: len(clip.separated & open_choices))
        chosen.append(best.name)
        open_choices = open_choices - best.separated
    return tuple(chosen)
