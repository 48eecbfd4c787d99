"""Two predictions of one clip: which one is nearer to it, by how much, in which part of the body, and where they part."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.rules.teacher.prediction import is_worse_than_copying
from rigpact.contract.statistics import FloatArray
from rigpact.reports.comparing.pose_meter import Baseline, PoseError

# Bones by the part of the body that their names say. A name that says none is in `other`; nothing is guessed
OTHER = "other"
_WORDS: Mapping[str, frozenset[str]] = {
    "fingers": frozenset({"thumb", "index", "middle", "ring", "pinky", "finger", "metacarpal"}),
    "legs": frozenset({"thigh", "calf", "leg", "shin", "knee", "foot", "ball", "toe", "toes", "ankle", "hip"}),
    "arms": frozenset({"clavicle", "shoulder", "arm", "elbow", "fore", "wrist", "hand"}),
    "head": frozenset({"neck", "head", "jaw", "eye"}),
    "torso": frozenset({"pelvis", "hips", "spine", "chest", "torso", "waist", "abdomen"}),
}
"""Looked up in this order: a finger is named after its hand too."""
_ENDS = ("arm", "leg")
"""Ends of joined words: upperarm, forearm, lowerleg."""
_ORDER = ("torso", "head", "arms", "fingers", "legs", OTHER)


def bone_groups(names: Sequence[str]) -> dict[str, list[int]]:
    """The indices of each group's bones, in the order of the body; groups without a bone are left out."""
    found: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        found.setdefault(group_of(name), []).append(index)
    return {group: found[group] for group in _ORDER if group in found}


def group_of(name: str) -> str:
    """The group of one bone.

    >>> [group_of(name) for name in ("upperarm_l", "LCalfTwist_01", "mixamorig:LeftHandIndex1", "Bip001")]
    ['arms', 'legs', 'fingers', 'other']
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    words |= {end for end in _ENDS for word in words if word.endswith(end)}
    return next((group for group, own in _WORDS.items() if words & own), OTHER)


SIDES = ("a", "b", "copy_last")
_STRETCHES = 3
"""Stretches of frames that are named: what fits a glance."""
_HALF = 0.5
"""A stretch lasts as long as the gap is at least half of its peak: the width at half maximum."""


def summary_of(
    baseline: Baseline, pose: PoseError, names: Sequence[str], *, are_rivals: bool, is_earned: bool = True
) -> dict[str, Any]:
    """The measurements as plain values. pose: the error between the two sides in every frame.

    are_rivals: both sides are predictions that differ, so that one of them may be better; is_earned: their errors say something
    of their networks. Mean errors are over bones and frames. A side is better where its mean error is smaller and it is nearer
    in more frames than the other side.
    """
    sides = dict(zip(SIDES, (baseline.a, baseline.b, baseline.copy_last), strict=True))
    a, b = _of_frames(baseline.a), _of_frames(baseline.b)
    nearer = {"a": int((a < b).sum()), "b": int((b < a).sum())}
    known = {f"{side}_{unit}": value for side, error in sides.items() for unit, value in _means(error).items()}
    better, count = _better(known, nearer) if are_rivals and is_earned else None, baseline.a.deg.shape[1]
    groups = bone_groups(names) if len(names) == count else {OTHER: list(range(count))}
    return {
        **known,
        "frames": len(baseline.frames),
        "better": better,
        "frames_nearer": nearer,
        "beaten_by_copy_last": _beaten(known) if are_rivals else [],
        "groups": [_group(sides, group, rows, names) for group, rows in groups.items()],
        "parting": list(_parting(baseline, names)) if are_rivals and is_earned else [],
        "apart_deg": _mean(pose.deg),
    }


def _means(error: PoseError) -> dict[str, float | None]:
    return {"deg": _mean(error.deg), "cm": None if error.cm is None else _mean(error.cm)}


def _mean(values: FloatArray) -> float | None:
    mean = float(values.mean(dtype=np.float64)) if values.size else np.nan
    return mean if np.isfinite(mean) else None


def _of_frames(error: PoseError) -> FloatArray:
    return np.asarray(error.deg.mean(axis=1, dtype=np.float64))


def _better(known: dict[str, float | None], nearer: dict[str, int]) -> str | None:
    a, b = known["a_deg"], known["b_deg"]
    if a is None or b is None or a == b:
        return None
    best, other = ("a", "b") if a < b else ("b", "a")
    return best if nearer[best] > nearer[other] else None


def _beaten(known: dict[str, float | None]) -> list[str]:
    """The sides whose error is larger than that of a character that does not move."""
    still = known["copy_last_deg"]
    own = {side: known[f"{side}_deg"] for side in ("a", "b")}
    return [
        side
        for side, error in own.items()
        if still is not None and error is not None and is_worse_than_copying(error, still)
    ]


def _group(sides: dict[str, PoseError], group: str, rows: list[int], names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"group": group, "bones": [bone_name(names, row) for row in rows]}
    for side, error in sides.items():
        own = PoseError(error.deg[:, rows], None if error.cm is None else error.cm[:, rows])
        found |= {f"{side}_{unit}": value for unit, value in _means(own).items()}
    return found


def bone_name(names: Sequence[str], row: int) -> str:
    """The name of a bone, its number where the recordings hold no names."""
    return names[row] if row < len(names) else f"bone {row}"


def _parting(baseline: Baseline, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The stretches in which one side is nearer to the clip than the other by most, the widest gap first."""
    gap = _of_frames(baseline.a) - _of_frames(baseline.b)
    left = np.where(np.isfinite(gap), np.abs(gap), 0.0)
    for _ in range(_STRETCHES):
        peak = int(left.argmax())
        if left[peak] == 0:
            return
        first, last = _stretch(left, peak, gap)
        by_bone = (baseline.a.deg[peak] - baseline.b.deg[peak]) * np.sign(gap[peak])
        yield {
            "first": int(baseline.frames[first]), "last": int(baseline.frames[last]), "frame": int(baseline.frames[peak]),
            "nearer": "b" if gap[peak] > 0 else "a", "by_deg": float(abs(gap[peak])),
            "bone": bone_name(names, int(by_bone.argmax())), "bone_by_deg": float(by_bone.max()),
        }  # fmt: skip
        left[first : last + 1] = 0.0


def _stretch(left: NDArray[np.float64], peak: int, gap: FloatArray) -> tuple[int, int]:
    """The frames about a peak in which the same side is nearer, by at least half as much."""
    wide = (left >= _HALF * left[peak]) & (np.sign(gap) == np.sign(gap[peak]))
    before, after = np.flatnonzero(~wide[:peak]), np.flatnonzero(~wide[peak:])
    first = int(before[-1]) + 1 if len(before) else 0
    return first, peak + int(after[0]) - 1 if len(after) else len(left) - 1
