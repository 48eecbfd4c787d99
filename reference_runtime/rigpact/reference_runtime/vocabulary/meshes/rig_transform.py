"""Rig transform: numbers from 0 to 1, as a controller or a sigmoid gives them, read as three angles and three scales."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_OPERATIONS = 6
"""Of the longest chain: a difference, two products, a sum and a store."""
_ORDERS: Mapping[str, list[int]] = {
    "rotations_first": [0, 1, 2, 3, 4, 5],
    "scales_first": [3, 4, 5, 0, 1, 2],
    "interleaved": [0, 2, 4, 1, 3, 5],
    "angles_y_x_z": [1, 0, 2, 3, 4, 5],
    "angles_z_y_x": [2, 1, 0, 3, 4, 5],
    "angles_x_z_y": [0, 2, 1, 3, 4, 5],
    "scales_y_x_z": [0, 1, 2, 4, 3, 5],
    "scales_z_y_x": [0, 1, 2, 5, 4, 3],
    "scales_x_z_y": [0, 1, 2, 3, 5, 4],
}
_ACTIVATIONS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "in_the_model": lambda parameters: parameters,
    "applied_again": FUNCTIONS["sigmoid"],
}
_RANGES: Mapping[str, float] = {"declared": 1.0, "half": 0.5, "twice": 2.0}
_ORIGINS: Mapping[str, FloatArray] = {
    "middle": np.full(3, 0.5),
    "zero": np.zeros(3),
    **{f"zero_about_{axis}": 0.5 * (np.eye(3)[place] == 0.0) for place, axis in enumerate("xyz")},
}
_UNITS: Mapping[str, float] = {"radians": float(np.pi / 180.0), "degrees": 1.0}
_MAPPINGS: Mapping[str, Callable[..., FloatArray]] = {
    "declared": lambda p, low, high: low + p * (high - low),
    "low_end_zero": lambda p, _low, high: p * high,
    "not_moved": lambda p, low, high: p * (high - low),
    "moved_the_other_way": lambda p, low, high: -low + p * (high - low),
}
_LIMITS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "none": lambda scales: scales,
    "not_below_zero": lambda scales: np.maximum(scales, 0.0),
    "absolute": np.abs,
}


def build(use: Use) -> Built:
    """Angle = (p - 0.5) times the range, scale = low + p (high - low)."""
    source = use.inputs[0]
    if source.fields.width != len(_ORDERS["rotations_first"]):
        raise Misdeclared(Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "6 numbers")
    range_deg, ends = use.number("angle", 1), use.number("scale", 2, is_table=True)
    low, high = use.value_of(ends).reshape(-1).tolist()
    order = use.choice(
        "order", _ORDERS, "where the answer's three angles and three scales are looked for", _ORDER_HINTS
    )
    activation = use.choice(
        "activation", _ACTIVATIONS, "whether the answer goes through a sigmoid behind the model", _ACTIVATION_HINTS
    )
    width = use.knob(
        "angle", _RANGES, "the range of an angle, as a multiple of the contract's",
        _range_hints(float(use.value_of(range_deg).reshape(-1)[0])),
    )  # fmt: skip
    origin = use.choice("origin", _ORIGINS, "the parameter of no rotation", _ORIGIN_HINTS)
    unit = use.choice("unit_of_angle", _UNITS, "the unit in which angles go into sine and cosine", _UNIT_HINTS)
    some = np.linspace(0.0, 1.0, 5)
    mapping = use.knob(
        "scale", _MAPPINGS, "how a parameter becomes a scale", _mapping_hints(low, high),
        shows=lambda apply: apply(some, low, high),
    )  # fmt: skip
    limit = use.choice(
        "limit", _LIMITS, "the value of a negative scale", _LIMIT_HINTS,
        shows=lambda apply: apply(_MAPPINGS["declared"](some, low, high)),
    )  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        answer = activation.of(frames)(wide(frames, source.name))[:, order.of(frames)]
        range_of_angle = float(range_deg.of(frames).reshape(-1)[0]) * width.of(frames) * unit.of(frames)
        angles = (answer[:, :3] - origin.of(frames)) * range_of_angle
        scales = limit.of(frames)(mapping.of(frames)(answer[:, 3:], *ends.of(frames)))
        return stored(np.hstack([angles, scales]))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A parameter and its subtracted origin are at most 1, so the error of their difference is u, times the range.

        The scales' range covers it; an angle's is at most that in radians, and larger where it is not the contract's.
        """
        return gamma(_OPERATIONS) * (float(np.ptp(ends.of(frames))) + np.abs(rows.astype(np.float64)))

    space = source.fields.fields[0].space
    angles = [Field(f"angle_{axis}", place, 1, FieldKind.SCALAR, "rad", space) for place, axis in enumerate("xyz")]
    scales = [
        Field(f"scale_{axis}", 3 + place, 1, FieldKind.SCALAR, "", space, float(low), float(high))
        for place, axis in enumerate("xyz")
    ]
    return Built(FieldLayout((*angles, *scales)), compute, bound)


_SWAPPED = "the parameters are rx, ry, rz, sx, sy, sz: look for two exchanged indices"
_ORDER_HINTS = {
    "scales_first": "the parameters are rx, ry, rz, sx, sy, sz",
    "interleaved": "the parameters are rx, ry, rz, sx, sy, sz, not pairs of an axis",
    **dict.fromkeys(
        [word for word in _ORDERS if word.startswith(("angles", "scales_x", "scales_y", "scales_z"))], _SWAPPED
    ),
}
_ACTIVATION_HINTS = {"applied_again": "the model ends in a sigmoid; a second one presses everything towards 0.6"}
_ORIGIN_HINTS = {
    "zero": "no rotation is p = 0.5, not p = 0: the neutral parameters are not zeros",
    **{f"zero_about_{axis}": f"the angle about {axis} lacks the - 0.5 that the other two have" for axis in "xyz"},
}
_UNIT_HINTS = {"degrees": "the rig's angles are degrees; sine and cosine want radians"}
_LIMIT_HINTS = {
    "not_below_zero": "a negative scale is legal and mirrors the mesh: take the limit away",
    "absolute": "a negative scale is legal and mirrors the mesh: keep its sign",
}


def _range_hints(degrees: float) -> dict[str, str]:
    formula = f"angle = (p - 0.5) * {degrees:g} degrees"
    return {"half": f"{formula}: the range is {degrees:g} wide, {degrees / 2.0:g} to each side", "twice": formula}


def _mapping_hints(low: float, high: float) -> dict[str, str]:
    width, moved, taken = high - low, abs(low), ("subtracted, not added", "added, not subtracted")[int(low > 0.0)]
    formula = f"scale = {width:g} p {'-' if low < 0.0 else '+'} {moved:g}"
    at_one = f": p = {(1.0 - low) / width:g} is scale 1" if width else ""
    return {
        "low_end_zero": f"{formula}, from {low:g} to {high:g}" + ("; a negative scale is legal" if low < 0.0 else ""),
        "not_moved": f"{'subtract' if low < 0.0 else 'add'} {moved:g} behind the factor {width:g}",
        "moved_the_other_way": f"{moved:g} is {taken}{at_one}",
    }


_EXCHANGED = {
    word: CodeHint(f"{word.split('_', 1)[0]} from {', '.join(word.split('_')[1:])}", f"parameters[..., {order}]")
    for word, order in _ORDERS.items()
}
_CODE = {
    "order": {
        **_EXCHANGED,
        "rotations_first": CodeHint("angle[i] = p[i]; scale[i] = p[3 + i];", "p[..., :3], p[..., 3:]"),
        "scales_first": CodeHint("scale[i] = p[i]; angle[i] = p[3 + i];", "p[..., 3:], p[..., :3]"),
        "interleaved": CodeHint("angle[i] = p[2 * i]; scale[i] = p[2 * i + 1];", "p[..., 0::2], p[..., 1::2]"),
    },
    "activation": {
        "in_the_model": CodeHint("p = answer;", "nn.Sequential(…, nn.Sigmoid())"),
        "applied_again": CodeHint("p = 1 / (1 + exp(-answer));", "torch.sigmoid(model(x))"),
    },
    "angle": {
        "declared": CodeHint("(p - 0.5f) * range", "(p - 0.5) * range"),
        "half": CodeHint("(p - 0.5f) * range / 2", "(p - 0.5) * range / 2"),
        "twice": CodeHint("(p - 0.5f) * range * 2", "(2 * p - 1) * range"),
    },
    "origin": {
        "middle": CodeHint("p - 0.5f", "p - 0.5"),
        "zero": CodeHint("p * range", "p * range"),
        **{f"zero_about_{axis}": CodeHint(f"p.{axis} * range", f"p[..., {place}] * range") for place, axis in enumerate("xyz")},
    },
    "unit_of_angle": {
        "radians": CodeHint("sinf(angle * pi / 180)", "torch.deg2rad(angle).sin()"),
        "degrees": CodeHint("sinf(angle)", "angle.sin()"),
    },
    "scale": {
        "declared": CodeHint("low + p * (high - low)", "torch.lerp(low, high, p)"),
        "low_end_zero": CodeHint("p * high", "p * high"),
        "not_moved": CodeHint("p * (high - low)", "p * (high - low)"),
        "moved_the_other_way": CodeHint("p * (high - low) - low", "p * (high - low) - low"),
    },
    "limit": {
        "none": CodeHint("scale", "scale"),
        "not_below_zero": CodeHint("max(scale, 0.f)", "scale.clamp(min=0)"),
        "absolute": CodeHint("fabsf(scale)", "scale.abs()"),
    },
}  # fmt: skip
OPERATION = Operation(
    "rig_transform",
    "three angles and three scales from numbers of 0 to 1",
    build,
    {
        "angle": "how wide the range of an angle is, in degrees",
        "scale": "the scale at 0 and at 1",
        "order": ", ".join(_ORDERS),
        "activation": ", ".join(_ACTIVATIONS),
        "origin": ", ".join(_ORIGINS),
        "unit_of_angle": ", ".join(_UNITS),
        "limit": ", ".join(_LIMITS),
    },
    choices=("order", "activation", "origin", "unit_of_angle", "limit"),
    code=_CODE,
)
