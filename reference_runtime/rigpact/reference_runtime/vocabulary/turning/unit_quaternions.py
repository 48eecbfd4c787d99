"""Unit quaternions: a network's numbers as rotations, each of length one and of one sign."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.geometry import unit, unit_or_identity, unit_or_zeros
from rigpact.reference_runtime.operations.scalars import gamma, stored
from rigpact.reference_runtime.vocabulary.named_fields import whole_count
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_NORMALISE = 12
"""A length, its root, a quotient."""


def _by_one_length(quats: FloatArray) -> FloatArray:
    """Quaternions (N, B, 4), all of a frame divided by the length of all its numbers."""
    return unit(quats.reshape(len(quats), -1)).reshape(quats.shape)


_LENGTHS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "unit": unit_or_identity,
    "unit_or_zeros": unit_or_zeros,
    "none": lambda raw: raw,
    "together": _by_one_length,
}
_SIGNS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "w_not_negative": lambda q: np.where(q[..., 3:] < 0.0, -q, q),
    "as_it_comes": lambda q: q,
}


def build(use: Use) -> Built:
    """Quaternions xyzw, as many as come in."""
    source = use.inputs[0]
    count = whole_count(use, source, 4, "quaternions, 4 each")
    hints = {
        "unit_or_zeros": "a quaternion without a direction stays zeros, which turn nothing; the contract has the identity there",
        "none": "the network's quaternions are not unit: normalise before any use",
        "together": f"each quaternion has a length of its own: sum over its four numbers, not over all {4 * count}",
    }
    lengths = {
        word: of
        for word, of in _LENGTHS.items()
        if word in ("unit", "none", "together", use.table.get("normalisation"))
    }
    length = use.choice("normalisation", lengths, "whether the network's quaternions are made unit", hints)
    sign = use.choice("sign", _SIGNS, "which of q and -q is sent back", _SIGN_HINTS)

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        return stored(sign.of(frames)(length.of(frames)(rows.reshape(len(rows), -1, 4))).reshape(len(rows), -1))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Roundings of a unit quaternion. If w is zero within rounding, a sign that it decides is not judged."""
        quats = rows.astype(np.float64).reshape(len(rows), -1, 4)
        size = np.maximum(np.abs(quats).max(axis=2, keepdims=True), 1.0)
        undecided = np.abs(quats[..., 3:]) <= (gamma(_NORMALISE) if sign.word_of(frames) == "w_not_negative" else -1.0)
        found = np.broadcast_to(gamma(_NORMALISE) * size, quats.shape)
        return np.where(undecided, np.nan, found).reshape(rows.shape)

    fields = tuple(replace(each, kind=FieldKind.QUATERNION_XYZW) for each in source.fields)
    return Built(FieldLayout(fields), compute, bound)


_SIGN_HINTS = {
    "as_it_comes": "q and -q are one rotation: flip where w < 0, or interpolation takes the long way",
}
_CODE = {
    "normalisation": {
        "unit": CodeHint("q / |q|", "F.normalize(q, dim=-1)"),
        "unit_or_zeros": CodeHint("q / (|q| + 1e-8f)", "q / (q.norm(dim=-1, keepdim=True) + 1e-8)"),
        "none": CodeHint("q", "q"),
        "together": CodeHint("q / |all|", "F.normalize(answer.flatten(1), dim=-1)"),
    },
    "sign": {
        "w_not_negative": CodeHint("q.w < 0 ? -q : q", "torch.where(q[..., 3:] < 0, -q, q)"),
        "as_it_comes": CodeHint("q", "q"),
    },
}
OPERATION = Operation(
    "unit_quaternions",
    "a network's quaternions xyzw as rotations: of length one, one of q and -q",
    build,
    {"normalisation": ", ".join(_LENGTHS), "sign": ", ".join(_SIGNS)},
    choices=("normalisation", "sign"),
    code=_CODE,
)
