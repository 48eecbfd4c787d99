"""The worst frame as a picture without a script, for print and for browsers without scripts.

Camera and symbols are the same as in assets/scene.js: the reference is wide and pale, the engine narrow and strong,
with a ring at the worst bone. Axes x forward, y right, z up, left-handed.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.run_data import skeleton_of, worst_row

WIDTH, HEIGHT = 720, 460
_YAW, _PITCH = 2.45, 0.2
_MARGIN = 40
HEAD_M = 0.085
_BODY_SHARE, _THINNEST_M, _WIDEST_M = 0.16, 0.008, 0.042
"""A bone's half width: a share of its length, limited by two bounds."""


def still_picture(run: ComparedRun, side: str = "engine") -> dict[str, Any] | None:
    """The lines of both skeletons in the worst frame, for the template; None without a skeleton or finite poses."""
    skeleton = skeleton_of(run)
    if skeleton is None:
        return None
    row = worst_row(run)
    both = np.stack([run.reference[row], run.engine[row]]).astype(np.float64)
    positions, _ = skeleton.forward_kinematics(both)
    if not np.isfinite(positions).any(axis=(1, 2)).all():
        return None
    points, scale = _on_paper(positions)
    deg = np.where(np.isfinite(run.deg[row]), run.deg[row], np.inf)
    bone = int(np.argmax(deg))
    mark = points[1, bone]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "body": _lines(points[0], skeleton, scale),
        "bones": _lines(points[1], skeleton, 0.4 * scale),
        "heads": _heads(points, skeleton, scale),
        "mark": _pair(mark) if np.isfinite(mark).all() else None,
        "label": f"{plain(skeleton.names[bone])} {_size(deg[bone])}",
        "caption": f"{plain(run.name)}, frame {run.frames[row]}, the worst: "
        f"the {run.against} wide and pale, the {side} side narrow and dark, a ring at the bone with the largest error.",
    }


def _size(deg: Any) -> str:
    return f"{deg:.3g}°" if np.isfinite(deg) else "not finite"


def _on_paper(positions: FloatArray) -> tuple[FloatArray, float]:
    """Parallel projection of (sides, B, 3), fitted to the picture: (sides, B, 2), and the picture's units per metre."""
    right = np.array([-math.sin(_YAW), math.cos(_YAW), 0.0])
    up = np.array([math.cos(_YAW) * math.sin(_PITCH), math.sin(_YAW) * math.sin(_PITCH), math.cos(_PITCH)])
    flat = np.stack([positions @ right, -(positions @ up)], axis=-1)
    low, high = np.nanmin(_finite(flat), axis=(0, 1)), np.nanmax(_finite(flat), axis=(0, 1))
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    scale = float(np.min(room / np.maximum(high - low, 0.1)))
    return (flat - (low + high) / 2.0) * scale + np.array([WIDTH, HEIGHT]) / 2.0, scale


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _lines(points: FloatArray, skeleton: Skeleton, scale: float) -> list[dict[str, str]]:
    lengths: NDArray[np.float64] = np.linalg.norm(skeleton.offsets_m, axis=1)
    lines = []
    for bone, parent in enumerate(skeleton.parents):
        if parent < 0 or not np.isfinite(points[[parent, bone]]).all():
            continue
        half = min(max(_BODY_SHARE * float(lengths[bone]), _THINNEST_M), _WIDEST_M)
        (x1, y1), (x2, y2) = _pair(points[parent]), _pair(points[bone])
        lines.append({"x1": x1, "y1": y1, "x2": x2, "y2": y2, "w": f"{2.0 * half * scale:.1f}",
                      "edge": f"{2.0 * half * scale + 2.0:.1f}"})  # fmt: skip
    return lines


def _heads(points: FloatArray, skeleton: Skeleton, scale: float) -> list[dict[str, Any]]:
    """A circle beyond every last bone called head; it makes the figure readable as a person."""
    heads = []
    for bone, name in enumerate(skeleton.names):
        neck = skeleton.parents[bone]
        if "head" not in name.lower() or neck < 0 or bone in skeleton.parents:
            continue
        for side, kind in enumerate(("still-head", "still-ring")):
            rise = points[side, bone] - points[side, neck]
            middle = points[side, bone] + rise / max(float(np.hypot(*rise)), 1e-6) * 0.75 * HEAD_M * scale
            if np.isfinite(middle).all():
                heads.append({"kind": kind, "at": _pair(middle), "r": f"{HEAD_M * scale * (1.0, 0.8)[side]:.1f}"})
    return heads


def _pair(point: FloatArray) -> tuple[str, str]:
    return f"{point[0]:.1f}", f"{point[1]:.1f}"
