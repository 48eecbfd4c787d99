"""Readings of rotation vectors and angles with an arbitrary scale: the scale is measured and named."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.precision import MATCH
from rigpact.reports.geometry_parity.readings.forms import Compute, Form, Named, Reading, forms
from rigpact.reports.geometry_parity.roles import Role

DEGREES = 180.0 / np.pi
_WORDS: Mapping[float, str] = {
    2.0: "twice the angle", 1.0 / np.pi: "the angle over π", DEGREES / 2.0: "half the angle in degrees",
}  # fmt: skip


def fitted_ratio(value: FloatArray, expected: FloatArray) -> float | None:
    """The number r with value = r · expected, within `MATCH` of its size; None if there is none or r is 0."""
    if value.shape != expected.shape or not np.isfinite(value).all():
        return None
    ratio = float(np.sum(value * expected) / np.sum(expected * expected))
    rest = float(np.abs(value - ratio * expected).max())
    size = abs(ratio) * float(np.abs(expected).max())
    return ratio if size > 0.0 and rest <= MATCH * size else None


def ratio_findings(ratio: float, rows: int, verb: str) -> list[Named]:
    """The findings for a ratio; none for 1."""
    findings: list[Named] = []
    size = abs(ratio)
    values = {"verb": verb, "ratio": size, "rows": rows}
    if ratio < 0.0:
        evidence = f"measured ratio {ratio:.4f} over {rows} rotations"
        findings.append((rules.INVERSE, {"verb": verb, "evidence": evidence}))
    if abs(size - 0.5) <= 0.5 * MATCH:
        findings.append((rules.HALF_ANGLE, values))
    elif abs(size - 1.0) > MATCH:
        unit = 1.0 / DEGREES if verb == "takes" else DEGREES  # what takes degrees scales them down
        known = {unit: "degrees", 1.0 / unit: "the angle times π/180", **_WORDS}
        words = (words for each, words in known.items() if abs(size / each - 1.0) <= MATCH)
        findings.append((rules.SCALED, {**values, "words": next(words, "a multiple of the angle")}))
    return findings


def words_of(ratio: float, whole: str, scaled: str = "") -> str:
    """The computed quantity in words, with its factor unless that is 1."""
    return whole if abs(ratio - 1.0) <= MATCH else scaled or f"{ratio:.4g} · {whole}"


def _read_log(value: FloatArray, matrix: FloatArray) -> Reading | None:
    """The reading of a logarithm (rows, 3) of matrices (rows, 3, 3): scaled, inverse, or not the shortest."""
    expected = oracle.rotation_vector(matrix)
    ratio = fitted_ratio(value, expected)
    if ratio is not None:
        findings = ratio_findings(ratio, len(value), "returns")
        return Reading(words_of(ratio, "log(R)"), lambda R: ratio * oracle.rotation_vector(R), findings)
    for factor in (1.0, 2.0, -1.0, -2.0):
        turned = oracle.exp_map(factor * value)
        if np.isfinite(turned).all() and np.abs(turned - matrix).max() <= MATCH:
            return Reading("not the shortest rotation vector", _unknown, _not_shortest(factor * value, 1.0 / factor))
    return None


def _not_shortest(vector: FloatArray, ratio: float) -> list[Named]:
    angle = np.linalg.norm(vector, axis=-1)
    values = {
        "count": int((angle > np.pi * (1.0 + MATCH)).sum()), "rows": len(angle), "worst_deg": float(np.degrees(angle.max())),
    }  # fmt: skip
    return [(rules.NOT_SHORTEST, values), *ratio_findings(ratio, len(angle), "returns")]


def _unknown(*_arrays: FloatArray) -> FloatArray:
    """Stands for a formula that is not known: the result is NaN."""
    return np.full(1, np.nan)


_RATIOS = (1.0, -1.0, 0.5, -0.5, 2.0, -2.0, DEGREES, 1.0 / DEGREES, -DEGREES, -1.0 / DEGREES)


def _read_exp(value: FloatArray, vector: FloatArray) -> Reading | None:
    """The reading of an exponential (rows, 3, 3) of vectors (rows, 3): of a scaled or negated vector."""
    for ratio in _RATIOS:
        if np.isfinite(value).all() and np.abs(value - oracle.exp_map(ratio * vector)).max() <= MATCH:
            words = words_of(ratio, "exp(v)", f"exp({ratio:.4g} · v)")
            findings = ratio_findings(ratio, len(value), "takes")
            return Reading(words, lambda v, ratio=ratio: oracle.exp_map(ratio * v), findings)
    return None


Relative = Callable[[Any, Any], FloatArray]
_PRODUCT = {"verb": "takes", "evidence": "it measures the angle of A·B, not of Aᵀ·B"}
_RELATIVES: tuple[tuple[str, Relative, list[Named]], ...] = (
    ("Aᵀ·B", lambda a, b: oracle.transpose(a) @ b, []),
    ("A·B", lambda a, b: np.asarray(a @ b), [(rules.INVERSE, _PRODUCT)]),
)


def _read_geodesic(value: FloatArray, a: FloatArray, b: FloatArray) -> Reading | None:
    """The reading of a distance (rows,) of rotations: the angle, a scaled angle, or the angle of the product."""
    for words, relative, findings in _RELATIVES:
        ratio = fitted_ratio(value, _angle_of(a, b, relative))
        if ratio is not None:
            named = [*findings, *ratio_findings(ratio, len(value), "returns")]
            compute = partial(_angle_of, relative=relative, ratio=ratio)
            return Reading(words_of(ratio, f"the angle of {words}"), compute, named)
    return None


def _angle_of(a: FloatArray, b: FloatArray, relative: Relative, ratio: float = 1.0) -> FloatArray:
    turn = relative(a, b)
    return ratio * oracle.rotation_angle_rad(np.broadcast_to(np.eye(3), turn.shape), turn)


_READERS: Mapping[str, Callable[..., Reading | None]] = {
    "so3_log_map": _read_log, "quat_to_axis_angle": _read_log, "so3_exp_map": _read_exp, "axis_angle_to_quat": _read_exp,
    "geodesic_R": _read_geodesic,
}  # fmt: skip
_OWN: Mapping[str, tuple[str, Compute]] = {
    **dict.fromkeys(
        ("so3_log_map", "quat_to_axis_angle"), ("the full rotation vector, in radians", oracle.rotation_vector)
    ),
    **dict.fromkeys(
        ("so3_exp_map", "axis_angle_to_quat"), ("the rotation by a vector's length about it", oracle.exp_map)
    ),
    "geodesic_R": ("the angle of Aᵀ·B, in radians", oracle.rotation_angle_rad),
}
SCALED = _OWN.keys()
"""The roles whose scale is measured."""


def read_scaled(role: Role, declared: Conventions, value: FloatArray, *given: FloatArray) -> Reading | None:
    """The reading of a role whose scale is measured, in the first form of its rotations that explains the results.

    A unit quaternion in the other order is one too; so the declared order is tried with every scale first.
    """
    if role.gives == "quat" and not np.abs(np.linalg.norm(value, axis=-1) - 1.0).max() <= MATCH:
        return None
    for taken, given_back in product(forms(role.takes[0], declared), forms(role.gives, declared)):
        found = _READERS[role.name](given_back.decode(value), *map(taken.decode, given))
        if found is not None:
            return _in_forms(found, taken, given_back)
    return None


def own_scaled(role: Role, declared: Conventions) -> Reading:
    """The contract's own reading of such a role."""
    words, compute = _OWN[role.name]
    return _in_forms(Reading(words, compute), next(forms(role.takes[0], declared)), next(forms(role.gives, declared)))


def _in_forms(of: Reading, taken: Form, given_back: Form) -> Reading:
    """A reading of rotations as one of what holds them."""
    words = ", ".join(filter(None, (of.words, taken.words, given_back.words)))
    findings = [*taken.findings, *given_back.findings, *of.findings]
    return Reading(words, lambda *given: given_back.encode(of.compute(*map(taken.decode, given))), findings)
