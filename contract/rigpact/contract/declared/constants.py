"""The constants of a page: what a contract file may state in their place, and when it contradicts the page.

Of a rig's constants: the tree of its bones, their axes at rest, the ranges of its joints.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.declared.fields import declared_fields
from rigpact.contract.declared.problems import shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.problem import Problem, entries

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
    """Yield where rest orientations (J, 3, 3) are not rotations, or where a y axis leaves its bone.

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


def constant_problems(root: Mapping[str, Any], constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a contract file's constants.

    A constant is of the kind and shape that the page publishes. `fixed` says why it must be the published one, `about` the same
    of a number but for its last digits; `layers` names the vectors that the first and the last of its numbers are as wide as;
    `_MUST` says what else a page can ask. `tree`, `axes` and `ranges` are a rig's, judged where every constant is alike.
    """
    declared: Mapping[str, Any] = root.get("constants", {})
    if missing := [name for name, entry in declared.items() if name not in constants and not entry.get("optional")]:
        yield Problem("", f"no {', '.join(missing)}", f"every constant of {root['title']}", _UNUSABLE)
    for name, entry in declared.items():
        if name in constants:
            yield from _problems(root, name, entry, constants[name])
    if not missing and all(
        _is_alike(constants.get(name, entry["value"]), entry["value"]) for name, entry in declared.items()
    ):
        for name, entry in declared.items():
            for key in CHECKS.keys() & entry.keys():
                yield from CHECKS[key](name, entry, constants)


def _problems(root: Mapping[str, Any], name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    """What is wrong with one constant by itself."""
    published = entry["value"]
    if "layers" in entry:
        # The widths of a network's layers begin and end with those of two vectors
        widths, ends = entries(found), [_width(root, vector) for vector in entry["layers"]]
        if len(widths) < 2 or [widths[0], widths[-1]] != ends:
            yield Problem(f"/{name}", shown(widths), f"{ends[0]} … {ends[-1]}", "the network would not fit the rig")
    elif not _is_alike(found, published):
        said = (entry[key] for key in ("fixed", "about", "why", *_MUST) if isinstance(entry.get(key), str))
        yield Problem(f"/{name}", shown(found), _expected(entry), next(said, _UNUSABLE))
    elif "fixed" in entry:
        yield from _moved(name, entry, found)
    elif "about" in entry and not np.allclose(found, published):
        yield Problem(f"/{name}", f"{found}", f"{published}", entry["about"])
    else:
        # The first thing that the page asks of a constant's numbers and does not hold
        for key, (holds, expected) in _MUST.items():
            if key in entry and not holds(np.asarray(found, np.float64), entry[key]):
                why = entry["why"] if key == "between" else entry[key]
                yield Problem(f"/{name}", shown(found), expected(entry), why)
                return


def _expected(entry: Mapping[str, Any]) -> str:
    """What the page says of a constant's numbers, else their kind."""
    return str(entry.get("expected", _kind(entry["value"])))


def _are_units(rows: FloatArray, _why: str) -> bool:
    """Whether each row is as long as one, as far as a file of six digits says it."""
    return np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def _are_opposed(rows: FloatArray, _why: str) -> bool:
    """Whether no two rows point to one side."""
    return bool((np.triu(rows @ rows.T, 1) <= 0.0).all())


_MUST: Mapping[str, tuple[Callable[[FloatArray, Any], bool], Callable[[Mapping[str, Any]], str]]] = {
    "positive": (lambda found, _why: bool((found > 0.0).all()), lambda _entry: "above zero"),
    "between": (lambda found, ends: bool(((found > ends[0]) & (found < ends[1])).all()), _expected),
    "unit_rows": (_are_units, lambda _entry: "unit vectors"),
    "opposed": (_are_opposed, lambda _entry: "rows that point to opposite sides"),
}
"""What a page may ask of a constant's numbers -> whether it holds (numbers, what the page says), and what is expected."""
_UNUSABLE = "nothing can be computed without it"


def _is_alike(found: Any, published: Any) -> bool:
    """Whether both are finite numbers of one shape, or both lists of words."""
    mine, theirs = _array(found), _array(published)
    if mine is None or theirs is None:
        return theirs is None and isinstance(found, list) and {type(each) for each in found} == {str}
    return mine.shape == theirs.shape


def _array(value: Any) -> FloatArray | None:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        return None
    if isinstance(value, bool) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        return None
    return array.astype(np.float64)


def _kind(published: Any) -> str:
    array = _array(published)
    if array is None:
        return f"names: {', '.join(published[:2])}, …"
    return " × ".join(map(str, array.shape)) + " numbers" if array.ndim else "a number"


def _moved(name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    """Where a constant is not the published one: entries of a list and rows of a table one by one, a list of words whole."""
    published, why = entry["value"], entry["fixed"]
    if not isinstance(found, list) or _array(published) is None:
        if found != published:
            words = ", ".join(published) if isinstance(published, list) else shown(published)
            yield Problem(f"/{name}", shown(found), words, why)
        return
    for place, (one, other) in enumerate(zip(found, published, strict=True)):
        if one != other:
            yield Problem(f"/{name}/{place}", shown(one), shown(other), why)


def _width(root: Mapping[str, Any], vector: str) -> int:
    tables = [*root["given"], *root["stages"]]
    layout = declared_fields(next(each for each in tables if each["name"] == vector), (), root.get("names", {}))
    return 0 if layout is None else layout.width
