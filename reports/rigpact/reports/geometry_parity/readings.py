"""What a function of a role may compute: the contract's meaning first, then every other known meaning with its finding.

A function takes values in some forms (quaternions in an order, six numbers in a packing, Euler angles in an order and a unit,
a vector of some scale), computes an operation of the rotations that they hold, and gives a form. So a role's readings are every
operation in every form; functions of six numbers that are no rotation have a few more. The scale of vectors and angles that a
function gives is measured. To add a convention that a function may follow: a form, or an operation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import (
    exp_map,
    rotation_angle_rad,
    rotation_vector,
    transposed,
    wrap_to_pi,
)
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.forms import (
    Compute,
    EulerOrder,
    Named,
    forms_of,
    inverse,
    own_first,
    ratio_findings,
    unless_declared,
)
from rigpact.reports.geometry_parity.roles import (
    MATCH,
    RATES_HZ,
    Kind,
    Role,
    decoded,
    encoded,
    fitted_ratio,
    row_errors,
    scale_of,
)

Operation = tuple[str, Compute, Sequence[Named]]
"""Words, what is computed of decoded values, findings; the contract's own has none."""


@dataclass(frozen=True)
class Computation:
    """One possible computation on float64 arrays, and its findings; no findings for the contract's own.

    decode: to the rotations in which results are compared, where several numbers hold one.
    """

    words: str
    compute: Compute
    findings: Sequence[Named] = ()
    decode: Compute | None = None

    def agrees(self, role: Role, value: FloatArray, expected: FloatArray) -> bool:
        """Whether a result is what this reading expects."""
        if self.decode is None:
            return bool(row_errors(role, value, expected).max() / scale_of(expected) <= MATCH)
        is_finite = bool(np.isfinite(value).all())
        return is_finite and bool(np.abs(self.decode(value) - self.decode(expected)).max() <= MATCH)


def _turned(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return np.asarray((matrix @ point[..., None])[..., 0])


def _turned_back(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return _turned(transposed(matrix), point)


_FORWARDS, _BACKWARDS = "forwards: R·v", "by the inverse: Rᵀ·v"
_PRODUCTS = "a · b (b turns first)", "b · a (a turns first)"
_PLAIN: Sequence[Operation] = [("", np.asarray, ())]
_LOGARITHM: Sequence[Operation] = [("log(R)", rotation_vector, ())]
_CONVERSION = [*_PLAIN, ("conjugated", transposed, inverse("gives", "it is the conjugate's"))]
OPERATIONS: Mapping[str, Sequence[Operation]] = {
    **dict.fromkeys(("quat_to_matrix", "matrix_to_quat"), _CONVERSION),
    **dict.fromkeys(("so3_log_map", "quat_to_axis_angle"), _LOGARITHM),
    "geodesic_R": [
        ("the angle of Aᵀ·B", rotation_angle_rad, ()),
        ("the angle of A·B", lambda a, b: rotation_angle_rad(transposed(a), b),
         inverse("takes", "it measures the angle of A·B, not of Aᵀ·B")),
    ],
    "quat_mul": [
        (_PRODUCTS[0], lambda a, b: a @ b, ()),
        (_PRODUCTS[1], lambda a, b: b @ a, [(rules.PRODUCT_ORDER, {"found": _PRODUCTS[1], "declared": _PRODUCTS[0]})]),
    ],
    "quat_inverse": [
        ("the inverse", transposed, ()),
        ("the quaternion itself", np.asarray, inverse("gives", "it gives its own input back")),
    ],
    "quat_rotate": [
        (_FORWARDS, _turned, ()),
        (_BACKWARDS, _turned_back, inverse("applies", f"it turns vectors {_BACKWARDS}")),
    ],
    "quat_rotate_inverse": [
        (_BACKWARDS, _turned_back, ()),
        (_FORWARDS, _turned, inverse("applies", f"it turns vectors {_FORWARDS}")),
    ],
    "wrap_to_pi": [
        ("wrapped to [-π, π]", wrap_to_pi, ()),
        *((words, compute, [(rules.NOT_WRAPPED, {"found": words})]) for words, compute in (
            ("angles come back as they were", np.asarray),
            ("they are wrapped to [0, 2π)", lambda angle: np.asarray(angle % (2.0 * np.pi))),
            ("they are divided by π too", lambda angle: wrap_to_pi(angle) / np.pi),
        )),
    ],
}  # fmt: skip
"""What the function of a role may compute of its decoded values; where there is no row, it only converts them."""
_DELTA_PRODUCTS: Mapping[str, Compute] = {
    "ΔR · R_prev": lambda previous, delta: delta @ previous,
    "R_prev · ΔR": lambda previous, delta: previous @ delta,
    "ΔRᵀ · R_prev": lambda previous, delta: transposed(delta) @ previous,
    "R_prev · ΔRᵀ": lambda previous, delta: previous @ transposed(delta),
}
_REPEATED = "the step that follows, the last one repeated"
_ALONE = "the steps alone, one row fewer"
"""Says nothing of a row that the contract repeats, so it contradicts nothing."""
_ROWS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    _REPEATED: lambda step: np.concatenate((step, step[-1:])),
    "the step before, the first one repeated": lambda step: np.concatenate((step[:1], step)),
    "the step that follows, zero at the end": lambda step: np.concatenate((step, np.zeros_like(step[-1:]))),
    "the step before, zero at the start": lambda step: np.concatenate((np.zeros_like(step[:1]), step)),
    "the mean of both steps, ends repeated": lambda two: 0.5 * np.concatenate((two[:1], two, two[-1:])),
    _ALONE: lambda step: step,
}


def _operations_of(role: Role, declared: Conventions) -> Iterator[Operation]:
    """What a role may compute, the contract's own first.

    Of velocities: of rotations (T, …, 3, 3), (T, …, 3) at the first rate, in either frame, with every end. Of a delta: order and
    direction of its product with the pose before.
    """
    if role.timed:
        own, is_half = str(declared.angvel_frame), declared.angvel_angle == "half"
        for frame, rows in product(own_first(own, ("parent", "local")), _ROWS):
            findings = unless_declared(rules.VELOCITY_FRAME, frame, own)
            findings += unless_declared(rules.VELOCITY_ROWS, _REPEATED if rows == _ALONE else rows, _REPEATED)
            words = f"{'half of ' * is_half}fps · log of a step, {frame} frame; {rows}"
            yield words, _velocity(frame, rows, RATES_HZ[0] * (0.5 if is_half else 1.0)), findings
    elif role.takes == ("six", "residual"):
        letters = {"forward": "ΔR", "inverse": "ΔRᵀ"}[declared.delta_direction], "R_prev"
        order = " · ".join(letters if declared.compose_order == "delta_prev" else letters[::-1])
        for words in own_first(order, _DELTA_PRODUCTS):
            yield words, _DELTA_PRODUCTS[words], unless_declared(rules.COMPOSE_ORDER, words, order)
    else:
        yield from OPERATIONS.get(role.name, _PLAIN)


def _velocity(frame: str, rows: str, factor: float) -> Compute:
    frames = 2 if rows.startswith("the mean") else 1

    def compute(sequence: FloatArray) -> FloatArray:
        before, after = sequence[:-frames], sequence[frames:]
        relative = after @ transposed(before) if frame == "parent" else transposed(before) @ after
        return factor * _ROWS[rows](rotation_vector(relative))

    return compute


_SHARES = {"a residual, to which the identity is added": 1.0, "a whole rotation, no identity added": 0.0}
"""What a delta is, with the share of the identity that is added to it."""
_HELD: Mapping[Kind, Kind] = {"residual": "six", "six_sequence": "six", "quat_sequence": "quat"}
"""The kind in whose forms a kind is held."""


def readings_of(role: Role, declared: Conventions, said: EulerOrder | None = None) -> list[Computation]:
    """Every reading of a role, the contract's own first, then those with the fewest findings.

    said: the order of Euler angles, as far as it is known.
    """
    said, readings = said or EulerOrder(), list[Computation]()
    takes, gives = [_HELD.get(kind, kind) for kind in role.takes], _HELD.get(role.gives, role.gives)
    kinds = list(dict.fromkeys((*takes, gives)))
    deltas = [""]
    if "residual" in role.takes:
        own_delta = [*_SHARES][declared.output_mode == "delta"]  # the deployed functions take a residual
        deltas = own_first(own_delta, _SHARES)
    forms = [list(forms_of(kind, role, declared, said)) for kind in kinds]
    operations = list(_operations_of(role, declared))
    for chosen, delta, (words, operation, named) in product(list(product(*forms)), deltas, operations):
        form = dict(zip(kinds, chosen, strict=True))
        findings = [*(found for each in chosen for found in each.findings), *named]
        findings += unless_declared(rules.DELTA_OTHERWISE, delta, deltas[0])
        decoders = [form[kind].decode for kind in takes]
        compute = _computing(
            decoders, operation, form[gives].encode, _SHARES.get(delta, 0.0) * form[takes[-1]].identity
        )
        whole = ", ".join(filter(None, (words, *(each.words for each in chosen), delta)))
        readings.append(Computation(whole, compute, findings, form[gives].decode if gives == "euler" else None))
    readings.sort(key=lambda reading: len(reading.findings))
    if takes[0] == "six" and gives in ("six", "matrix"):
        six, encode, operation = forms[0][0], forms[-1][0].encode, operations[0][1]
        shift = _SHARES.get(deltas[0], 0.0) * six.identity
        for finding, instead in _not_orthonormal(role, Rot6d(declared)):
            compute = _computing([each or six.decode for each in instead], operation, encode, shift)
            readings.append(Computation(str(finding[1]["found"]), compute, [finding]))
    return readings


def _computing(
    decoders: Sequence[Compute], operation: Compute, encode: Compute, shift: FloatArray | float = 0.0
) -> Compute:
    """shift: what is added to the last value, a delta."""

    def compute(*values: FloatArray) -> FloatArray:
        shifted = (*values[:-1], values[-1] + shift)
        return encode(operation(*(decode(value) for decode, value in zip(decoders, shifted, strict=True))))

    return compute


def _not_orthonormal(role: Role, own: Rot6d) -> Iterator[tuple[Named, tuple[Compute | None, ...]]]:
    """Six numbers that are no rotation, or another one: no or half a Gram–Schmidt, the other axis kept.

    Yields the finding, and how each argument is decoded instead; None as declared.
    """

    def as_is(six: FloatArray) -> FloatArray:
        return np.asarray(own.decode_as_is(six)[..., 0, :, :])

    def one_by_one(six: FloatArray) -> FloatArray:
        return as_is(own.join(*(axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in own.split(six))))

    def second_kept(six: FloatArray) -> FloatArray:
        exchanged = own.join(*reversed(own.split(six)))
        return as_is(own.join(*reversed(own.split(encoded(decoded(exchanged, own), own)))))

    rows: dict[str, tuple[Compute | None, ...]]
    if len(role.takes) == 2:
        rows = {
            "the delta is taken as it is": (None, as_is), "the previous pose is taken as it is": (as_is, None),
            "neither pose nor delta is made orthonormal": (as_is, as_is),
        }  # fmt: skip
    elif role.takes == ("residual",):
        rows = {"the delta's six numbers are used as they are": (as_is,)}
    else:
        stand = "stand in the matrix as they are" if role.gives == "matrix" else "come back as they were"
        rows = {
            f"the six numbers {stand}": (as_is,),
            "both axes are unit vectors, but not at right angles": (one_by_one,),
        }
        kept = {"found": "the second axis as the one that is kept", "declared": "the first"}
        yield (rules.OTHER_COLUMNS, kept), (second_kept,)
    for words, decoders in rows.items():
        yield (rules.NOT_RENORMALISED, {"found": words}), decoders


def read(
    role: Role, values: Sequence[FloatArray], given: Sequence[FloatArray], declared: Conventions, said: EulerOrder
) -> Computation | None:
    """What results mean; None if no known convention explains them. values: the results at each of `RATES_HZ`, or at the first.

    Of vectors and of angles between rotations the scale is measured.
    """
    for reading in readings_of(role, declared, said):
        expected = reading.compute(*given)
        if role.gives == "vector" or role.name == "geodesic_R":
            rated = zip(values, RATES_HZ, strict=False)
            ratios = [fitted_ratio(value, expected * rate / RATES_HZ[0]) for value, rate in rated]
            found = [ratio for ratio in ratios if ratio is not None]
            if len(found) == len(ratios):
                return _scaled(role, reading, found, len(given[0]))
        elif reading.agrees(role, values[0], expected):
            return reading
    return _unwrapped(role, values[0], given[0], declared) if role.gives == "vector" and not role.timed else None


def _scaled(role: Role, reading: Computation, ratios: Sequence[float], rows: int) -> Computation:
    ratio = ratios[0]
    named = _rate_findings(ratios, rows) if role.timed else ratio_findings(ratio, rows, "returns")
    words = reading.words if abs(ratio - 1.0) <= MATCH else f"{ratio:.4g} · {reading.words}"
    return Computation(words, lambda *given: ratio * reading.compute(*given), [*reading.findings, *named])


def _rate_findings(ratios: Sequence[float], rows: int) -> list[Named]:
    """The scale after division by the rate; a function that ignores the rate has its own scale."""
    absolute = [ratio * fps for ratio, fps in zip(ratios, RATES_HZ, strict=False)]
    if len(ratios) > 1 and abs(ratios[0] / ratios[1] - 1.0) <= 2 * MATCH:
        return ratio_findings(ratios[0], rows, "returns")
    if len(ratios) > 1 and abs(absolute[0] / absolute[1] - 1.0) > 2 * MATCH:
        values = {"measured": ratios[0], "fps": RATES_HZ[0], "found": "divided by the rate, or worse"}
        return [(rules.VELOCITY_RATE, values)]
    size = abs(absolute[0])
    is_of_a_frame = any(abs(size - known) <= MATCH * known for known in (1.0, 0.5, 2.0))
    words = "per frame, not per second" if is_of_a_frame else f"at a rate of its own, {size:.4g} frames a second"
    rest = absolute[0] if is_of_a_frame else float(np.sign(absolute[0]))
    rate: Named = (rules.VELOCITY_RATE, {"measured": size, "fps": RATES_HZ[0], "found": words})
    return [rate, *ratio_findings(rest, rows, "returns")]


def _unwrapped(role: Role, value: FloatArray, given: FloatArray, declared: Conventions) -> Computation | None:
    """A logarithm that is not the shortest: its formula is not known, so it computes NaN."""
    for form, factor in product(forms_of(role.takes[0], role, declared, EulerOrder()), (1.0, 2.0, -1.0, -2.0)):
        turns = exp_map(factor * value)
        if np.isfinite(turns).all() and np.abs(turns - form.decode(given)).max() <= MATCH:
            angle = np.linalg.norm(factor * value, axis=-1)
            count = int((angle > np.pi * (1.0 + MATCH)).sum())
            values = {"count": count, "rows": len(angle), "worst_deg": float(np.degrees(angle.max()))}
            named = [*form.findings, (rules.NOT_SHORTEST, values), *ratio_findings(1.0 / factor, len(angle), "returns")]
            return Computation("not the shortest rotation vector", lambda *_: np.full(1, np.nan), named)
    return None
