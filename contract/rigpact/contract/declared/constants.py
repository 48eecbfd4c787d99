"""The constants of a page: what a contract file may state in their place, and when it contradicts the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.declared.fields import declared_fields
from rigpact.contract.declared.problems import shown
from rigpact.contract.declared.rig_constants import CHECKS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.problem import Problem, entries


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
        yield from _layer_problems(root, name, entry, found)
    elif not _is_alike(found, published):
        said = (entry[key] for key in ("fixed", "about", "why", *_MUST) if isinstance(entry.get(key), str))
        yield Problem(f"/{name}", shown(found), _expected(entry), next(said, _UNUSABLE))
    elif "fixed" in entry:
        yield from _moved(name, entry, found)
    elif "about" in entry and not np.allclose(found, published):
        yield Problem(f"/{name}", f"{found}", f"{published}", entry["about"])
    else:
        yield from _broken(name, entry, found)


def _broken(name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    """The first thing that the page asks of a constant's numbers and does not hold."""
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


def _layer_problems(root: Mapping[str, Any], name: str, entry: Mapping[str, Any], found: Any) -> Iterator[Problem]:
    """The widths of a network's layers begin and end with those of two vectors."""
    widths, ends = entries(found), [_width(root, vector) for vector in entry["layers"]]
    if len(widths) < 2 or [widths[0], widths[-1]] != ends:
        yield Problem(f"/{name}", shown(widths), f"{ends[0]} … {ends[-1]}", "the network would not fit the rig")


def _width(root: Mapping[str, Any], vector: str) -> int:
    tables = [*root["given"], *root["stages"]]
    layout = declared_fields(next(each for each in tables if each["name"] == vector), (), root.get("names", {}))
    return 0 if layout is None else layout.width
