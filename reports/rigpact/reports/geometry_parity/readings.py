"""What a function of a role may compute: the contract's meaning first, then every other known meaning with its finding.

A function takes values in some forms (quaternions in an order, six numbers in a packing, Euler angles in an order and a unit,
a vector of some scale), computes an operation of the rotations that they hold, and gives a form. So a role's readings are every
operation in every form; functions of six numbers have a few more. The scale of vectors and angles that a function gives is
measured. To add a convention that a function may follow: a form, or an operation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad, rotation_vector, transposed, wrap_to_pi
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.forms import (
    Compute,
    EulerOrder,
    Named,
    ValueForm,
    forms_of,
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
    exp_map,
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


def _inverse(verb: str, evidence: str) -> list[Named]:
    return [(rules.INVERSE, {"verb": verb, "evidence": evidence})]


def _turned(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return np.asarray((matrix @ point[..., None])[..., 0])


def _turned_back(matrix: FloatArray, point: FloatArray) -> FloatArray:
    return _turned(transposed(matrix), point)


_FORWARDS, _BACKWARDS = "forwards: R·v", "by the inverse: Rᵀ·v"
_PRODUCTS = "a · b (b turns first)", "b · a (a turns first)"
_PLAIN: Sequence[Operation] = [("", np.asarray, ())]
_LOGARITHM: Sequence[Operation] = [("log(R)", rotation_vector, ())]
_CONVERSION = [*_PLAIN, ("conjugated", transposed, _inverse("gives", "it is the conjugate's"))]
OPERATIONS: Mapping[str, Sequence[Operation]] = {
    **dict.fromkeys(("quat_to_matrix", "matrix_to_quat"), _CONVERSION),
    **dict.fromkeys(("so3_log_map", "quat_to_axis_angle"), _LOGARITHM),
    "geodesic_R": [
        ("the angle of Aᵀ·B", rotation_angle_rad, ()),
        ("the angle of A·B", lambda a, b: rotation_angle_rad(transposed(a), b),
         _inverse("takes", "it measures the angle of A·B, not of Aᵀ·B")),
    ],
    "quat_mul": [
        (_PRODUCTS[0], lambda a, b: a @ b, ()),
        (_PRODUCTS[1], lambda a, b: b @ a, [(rules.PRODUCT_ORDER, {"found": _PRODUCTS[1], "declared": _PRODUCTS[0]})]),
    ],
    "quat_inverse": [
        ("the inverse", transposed, ()),
        ("the quaternion itself", np.asarray, _inverse("gives", "it gives its own input back")),
    ],
    "quat_rotate": [
        (_FORWARDS, _turned, ()),
        (_BACKWARDS, _turned_back, _inverse("applies", f"it turns vectors {_BACKWARDS}")),
    ],
    "quat_rotate_inverse": [
        (_BACKWARDS, _turned_back, ()),
        (_FORWARDS, _turned, _inverse("applies", f"it turns vectors {_FORWARDS}")),
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


def _velocities(declared: Conventions) -> Iterator[Operation]:
    """Angular velocities (T, …, 3) of rotations (T, …, 3, 3) at the first rate, in either frame, with every end."""
    own, is_half = str(declared.angvel_frame), declared.angvel_angle == "half"
    for frame, rows in product(own_first(own, ("parent", "local")), _ROWS):
        findings = unless_declared(rules.VELOCITY_FRAME, frame, own)
        findings += unless_declared(rules.VELOCITY_ROWS, _REPEATED if rows == _ALONE else rows, _REPEATED)
        words = f"{'half of ' * is_half}fps · log of a step, {frame} frame; {rows}"
        yield words, _velocity(frame, rows, RATES_HZ[0] * (0.5 if is_half else 1.0)), findings


def _velocity(frame: str, rows: str, factor: float) -> Compute:
    frames = 2 if rows.startswith("the mean") else 1

    def compute(sequence: FloatArray) -> FloatArray:
        before, after = sequence[:-frames], sequence[frames:]
        relative = after @ transposed(before) if frame == "parent" else transposed(before) @ after
        return factor * _ROWS[rows](rotation_vector(relative))

    return compute


def readings_of(role: Role, declared: Conventions, said: EulerOrder | None = None) -> Iterator[Computation]:
    """Every reading of a role, the contract's own first. said: the order of Euler angles, as far as it is known."""
    if "residual" in role.takes:
        yield from _of_deltas(role, declared)
        return
    said = said or EulerOrder()
    kinds: list[Kind] = list(dict.fromkeys((*role.takes, role.gives)))
    operations = list(_velocities(declared)) if role.timed else OPERATIONS.get(role.name, _PLAIN)
    choices = product(*(list(forms_of(kind, role, declared, said)) for kind in kinds))
    for chosen, (words, operation, named) in product(choices, operations):
        form = dict(zip(kinds, chosen, strict=True))
        findings = [*(found for each in chosen for found in each.findings), *named]
        compute = _computing([form[kind] for kind in role.takes], operation, form[role.gives])
        decode = form["euler"].decode if role.gives == "euler" else None
        yield Computation(", ".join(filter(None, (words, *(each.words for each in chosen)))), compute, findings, decode)
    if role.takes == ("six",) and role.gives != "quat":
        yield from _not_orthonormal(role, declared, said)


def _computing(takes: Sequence[ValueForm], operation: Compute, gives: ValueForm) -> Compute:
    def compute(*values: FloatArray) -> FloatArray:
        return gives.encode(operation(*(form.decode(value) for form, value in zip(takes, values, strict=True))))

    return compute


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
    every = forms_of(role.takes[0], role, declared, EulerOrder())
    for form, factor in product(every, (1.0, 2.0, -1.0, -2.0)):
        turns = exp_map(factor * value)
        if np.isfinite(turns).all() and np.abs(turns - form.decode(given)).max() <= MATCH:
            angle = np.linalg.norm(factor * value, axis=-1)
            count = int((angle > np.pi * (1.0 + MATCH)).sum())
            values = {"count": count, "rows": len(angle), "worst_deg": float(np.degrees(angle.max()))}
            named = [(rules.NOT_SHORTEST, values), *ratio_findings(1.0 / factor, len(angle), "returns")]
            return Computation(
                "not the shortest rotation vector", lambda *_: np.full(1, np.nan), [*form.findings, *named]
            )
    return None


# Functions of six numbers that are no plain conversion: Gram–Schmidt left out, deltas and their product.
def _not_orthonormal(role: Role, declared: Conventions, said: EulerOrder) -> Iterator[Computation]:
    """No rotation, or another one: the sign of the third axis, no or half a Gram–Schmidt, the other axis kept."""
    own, is_matrix = Rot6d(declared), role.gives == "matrix"
    given: Compute = (lambda six: _as_is(six, own)) if is_matrix else np.asarray

    def one_by_one(six: FloatArray) -> FloatArray:
        a, b = (axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in own.split(six))
        return given(own.join(a, b))

    def second_kept(six: FloatArray) -> FloatArray:
        a, b = own.split(six)
        b, a = own.split(encoded(decoded(own.join(b, a), own), own))
        return own.join(a, b)

    if is_matrix:
        for form in forms_of("six", role, declared, said):
            mirrored = (rules.MIRRORED, {"found": f"minus the third of {form.words}"})
            yield Computation(f"{form.words}, mirrored", _mirrored(form), [*form.findings, mirrored])
    else:
        found = [(rules.OTHER_COLUMNS, {"found": "the second axis as the one that is kept", "declared": "the first"})]
        yield Computation("the second axis kept", second_kept, found)
    stand = "the six numbers stand in the matrix as they are" if is_matrix else "the six numbers come back as they were"
    skewed = "both axes are unit vectors, but not at right angles"
    for words, compute, said_of in (("as they are", given, stand), ("normalised one by one", one_by_one, skewed)):
        yield Computation(f"axes {words}", compute, [(rules.NOT_RENORMALISED, {"found": said_of})])


def _mirrored(form: ValueForm) -> Compute:
    codec = Rot6d(form.conventions)

    def compute(six: FloatArray) -> FloatArray:
        matrix = form.decode(six).copy()
        axes = transposed(matrix) if form.words.startswith("rows") else matrix
        axes[..., codec.derived] *= -1.0
        return matrix

    return compute


def _as_is(six: FloatArray, codec: Rot6d) -> FloatArray:
    matrices: FloatArray = codec.decode_as_is(six)[..., 0, :, :]
    return matrices


_DELTA_PRODUCTS: Mapping[str, Compute] = {
    "ΔR · R_prev": lambda previous, delta: delta @ previous,
    "R_prev · ΔR": lambda previous, delta: previous @ delta,
    "ΔRᵀ · R_prev": lambda previous, delta: transposed(delta) @ previous,
    "R_prev · ΔRᵀ": lambda previous, delta: previous @ transposed(delta),
}
_AS_IT_IS = {
    "the delta is taken as it is": (False, True),
    "the previous pose is taken as it is": (True, False),
    "neither pose nor delta is made orthonormal": (True, True),
}
"""Whether the previous pose, and the delta, is taken without Gram–Schmidt."""


def _of_deltas(role: Role, declared: Conventions) -> Iterator[Computation]:
    """Meaning of the delta, order and direction of its product with the pose before, columns, renormalisation."""
    is_product = len(role.takes) == 2
    letters = {"forward": "ΔR", "inverse": "ΔRᵀ"}[declared.delta_direction], "R_prev"
    own_order = " · ".join(letters if declared.compose_order == "delta_prev" else letters[::-1]) if is_product else ""
    products = _DELTA_PRODUCTS if is_product else {"": np.asarray}
    offsets = {"a residual, to which the identity is added": 1.0, "a whole rotation, no identity added": 0.0}
    own_delta = [*offsets][declared.output_mode == "delta"]  # the deployed functions take a residual
    readings = []
    for form, delta, order in product(
        forms_of("six", role, declared, EulerOrder()), own_first(own_delta, offsets), products
    ):
        if form.transposed:  # the six numbers of the inverse compose like the other order, which is listed
            continue
        findings = [*form.findings, *unless_declared(rules.DELTA_OTHERWISE, delta, own_delta)]
        findings += unless_declared(rules.COMPOSE_ORDER, order, own_order)
        decoders = [decoded] * len(role.takes)
        compute = _composed(Rot6d(form.conventions), offsets[delta], products[order], decoders)
        readings.append(Computation(", ".join(filter(None, (order, form.words, delta))), compute, findings))
    yield from sorted(readings, key=lambda reading: len(reading.findings))
    own, offset = Rot6d(declared), offsets[own_delta]
    if not is_product:
        words = "the delta's six numbers are used as they are"
        compute = lambda six: np.asarray(six + offset * own.identity(1))  # noqa: E731 - one of several
        yield Computation("not renormalised", compute, [(rules.NOT_RENORMALISED, {"found": words})])
        return
    for words, are_raw in _AS_IT_IS.items():
        decoders = [_as_is if is_raw else decoded for is_raw in are_raw]
        compute = _composed(own, offset, products[own_order], decoders)
        yield Computation(words, compute, [(rules.NOT_RENORMALISED, {"found": words})])


def _composed(codec: Rot6d, offset: float, multiply: Compute, decoders: Sequence[Compute]) -> Compute:
    def compute(*given: FloatArray) -> FloatArray:
        *before, delta = given
        six = (*before, delta + offset * codec.identity(1))
        turns = (decode(each, codec) for decode, each in zip(decoders, six, strict=True))
        return encoded(multiply(*turns), codec)

    return compute
