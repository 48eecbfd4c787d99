"""Constants of a page that are a rig's: the tree of its bones, their axes at rest, the ranges of its joints.

A page says of a constant which one it is; each function takes what the page says of it, with the constants of a contract file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.problem import Problem

_ORTHONORMAL, _OFF_BONE_DEG, _REST_RAD = 1e-4, 20.0, 1e-9
"""Published axes have six decimals; an axis further off its bone is another one; a range may miss the rest pose by a rounding."""


def tree_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where the parents of bones (J,), places in the list `tree`, are not the published ones or come later."""
    published, bones = entry["value"], constants[entry["tree"]]
    for place, (found, wanted) in enumerate(zip(constants[name], published, strict=True)):
        if found >= place:
            yield Problem(
                f"/{name}/{place}", str(found), f"a bone before {place}", "a parent that comes later is not turned yet"
            )
        elif found != wanted:
            yield Problem(
                f"/{name}/{place}", str(found), f"{wanted} ({bones[wanted]})", f"{bones[place]} hangs on another bone"
            )


def axes_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where rest orientations (J, 3, 3) are no rotations, or where a y axis leaves its bone.

    axes: the lists of the bones, of their parents, and of their heads (J, 3).
    """
    bones, parents, heads = (constants[each] for each in entry["axes"])
    axes, places = np.array(constants[name], np.float64), np.array(heads, np.float64)
    gram = np.swapaxes(axes, 1, 2) @ axes
    is_rotation = (np.linalg.det(axes) > 0.0) & (np.abs(gram - np.eye(3)).max(axis=(1, 2)) < _ORTHONORMAL)
    for place in np.flatnonzero(~is_rotation):
        yield Problem(
            f"/{name}/{place}",
            "no rotation matrix",
            "orthonormal columns, determinant 1",
            f"{bones[place]} and everything below it is stretched or mirrored",
        )
    for place in np.flatnonzero(is_rotation):
        angle = _angle_off_bone_deg(axes, places, parents, int(place))
        if angle > _OFF_BONE_DEG:
            yield Problem(
                f"/{name}/{place}",
                f"y axis {angle:.0f} degrees off the bone",
                "columns are axes, y along the bone",
                f"{bones[place]}: transposed, or the orientation is ignored",
            )


def _angle_off_bone_deg(axes: FloatArray, heads: FloatArray, parents: list[int], place: int) -> float:
    """Angle between a bone's y axis and the way to the next head of its chain; 0 where the chain ends."""
    if place + 1 >= len(parents) or parents[place + 1] != place:
        return 0.0
    along = heads[place + 1] - heads[place]
    cosine = float(along @ axes[place, :, 1]) / max(float(np.linalg.norm(along)), 1e-12)
    return float(np.rad2deg(np.arccos(np.clip(cosine, -1.0, 1.0))))


def range_problems(name: str, entry: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield where a joint's range (J, 3, 2), low and high of each axis, is none, or where the rest pose is outside it."""
    bones, limits = constants[entry["ranges"]], np.array(constants[name], np.float64)
    low, high = limits[..., 0], limits[..., 1]
    mistakes = (
        (low > high, "low to high", "can take no angle at all"),
        ((low > _REST_RAD) | (high < -_REST_RAD), "a range with the rest pose in it", "cannot rest"),
    )
    for is_wrong, wanted, follows in mistakes:
        for bone, axis in np.argwhere(is_wrong):
            found = f"{low[bone, axis]:g} to {high[bone, axis]:g}"
            yield Problem(f"/{name}/{bone}/{axis}", found, wanted, f"{bones[bone]} {follows}")


CHECKS: Mapping[str, Callable[[str, Mapping[str, Any], Mapping[str, Any]], Iterator[Problem]]] = {
    "tree": tree_problems,
    "axes": axes_problems,
    "ranges": range_problems,
}
"""What a page says of such a constant -> what is judged in it."""
