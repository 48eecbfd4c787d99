"""Leading axes: what a function gives for an array of rotations is what it gives for each of them alone."""

import itertools

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations import geometry
from rigpact.reference_runtime.operations.definitions import quaternions
from rigpact.reference_runtime.operations.definitions.euler import EULER, TRIPLES
from rigpact.reference_runtime.operations.rot6d import Rot6d

from ..every_case import every_case

enemy_conventions = find_system("enemy_animation").conventions

LEADING = (2, 4, 5)
CODECS = {
    packing: Rot6d(enemy_conventions({"rot6d_packing": packing})) for packing in ("columns", "rows", "interleaved")
}
V, Q, R, SIX = (3,), (4,), (3, 3), (36,)
FUNCTIONS = {
    "dot": (geometry.dot, V, V),
    "cross": (geometry.cross, V, V),
    "length": (geometry.length, V),
    "is_short": (geometry.is_short, V),
    "normalised": (geometry.normalised, V),
    "perpendicular": (geometry.perpendicular, V, V),
    "most_perpendicular_axis": (geometry.most_perpendicular_axis, V),
    "gram_schmidt": (lambda a, b: np.stack(geometry.gram_schmidt(a, b), axis=-1), V, V),
    "rotation_angle_rad": (geometry.rotation_angle_rad, R, R),
    "matrix_to_quat": (geometry.matrix_to_quat, R),
    "rotation_vector": (geometry.rotation_vector, R),
    "quat_to_vector": (geometry.quat_to_vector, Q),
    "angular_velocity": (lambda a, b: geometry.angular_velocity(a, b, 30.0), R, R),
    "product": (quaternions.product, Q, Q),
    "conjugate": (quaternions.conjugate, Q),
    "rotated": (quaternions.rotated, Q, V),
    "unit": (quaternions.unit, Q),
    "unit_or_identity": (quaternions.unit_or_identity, Q),
    "to_matrix": (quaternions.to_matrix, Q),
    "exponential": (quaternions.exponential, V),
    "exponential of next to nothing": (lambda half: quaternions.exponential(half * 1e-10), V),
    "euler to matrix": (EULER["zxy_deg"][0], V),
    "euler from matrix": (EULER["zxy_deg"][1], R),
    "euler of turned axes": (EULER["XZY_rad"][0], V),
    "euler of turned axes, back": (EULER["XZY_rad"][1], R),
    "smaller_sum": (TRIPLES["smaller_sum"], V),
    **{f"decode {name}": (codec.decode, SIX) for name, codec in CODECS.items()},
    **{f"decode_to_quat {name}": (codec.decode_to_quat, SIX) for name, codec in CODECS.items()},
    **{f"decode_as_is {name}": (codec.decode_as_is, SIX) for name, codec in CODECS.items()},
    **{f"reproject {name}": (codec.reproject, SIX, SIX) for name, codec in CODECS.items()},
    **{f"compose {name}": (codec.compose, SIX, SIX) for name, codec in CODECS.items()},
    **{f"encode {name}": (codec.encode, (6, 3, 3)) for name, codec in CODECS.items()},
}


def drawn(shape, seed):
    """Numbers of both signs around 1; matrices are rotations."""
    numbers = np.random.default_rng(seed).normal(size=shape)
    if shape[-2:] != R:
        return numbers
    q, upper = np.linalg.qr(numbers)
    q = q * np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[..., None, :]
    return q * np.linalg.det(q)[..., None, None]


@every_case("name", FUNCTIONS)
@pytest.mark.parametrize("leading", [(), LEADING[:1], LEADING[:2], LEADING], ids=lambda shape: f"{len(shape)} axes")
def test_each_of_an_array_is_computed_as_if_it_were_alone(name, leading):
    """Joined or summed along the wrong axis, the numbers of one bone or frame become another's."""
    function, *shapes = FUNCTIONS[name]
    inputs = [drawn((*leading, *shape), seed) for seed, shape in enumerate(shapes)]
    got = function(*inputs)
    for place in itertools.product(*map(range, leading)):
        # a block of many may be computed by vector instructions: a rounding of each of some ten steps
        np.testing.assert_allclose(got[place], function(*(each[place] for each in inputs)), rtol=0, atol=64 * 2.0**-52)
