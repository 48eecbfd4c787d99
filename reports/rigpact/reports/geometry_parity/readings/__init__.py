"""The readings of each role's function: the contract's meaning, then every other known meaning with its finding.

A role has either a list of readings, in the order of trial (one change before two), or a reader that measures a scale:
six_numbers.py, quaternions.py; scaled.py, velocity.py, euler.py. To add a convention that a function may follow: a reading.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.readings import quaternions, six_numbers
from rigpact.reports.geometry_parity.readings.reading import Compute, Reading


def wrap_to_pi(_declared: Conventions) -> Iterator[Reading]:
    """Readings: wrapped, not wrapped, or wrapped to another range."""
    yield Reading("wrapped to [-π, π]", oracle.wrap_to_pi)
    others: tuple[tuple[str, Compute], ...] = (
        ("angles come back as they were", np.asarray),
        ("they are wrapped to [0, 2π)", lambda angle: np.asarray(angle % (2.0 * np.pi))),
        ("they are divided by π too", lambda angle: oracle.wrap_to_pi(angle) / np.pi),
    )
    for words, compute in others:
        yield Reading(words, compute, [(rules.NOT_WRAPPED, {"found": words})])


READINGS: Mapping[str, Callable[[Conventions], Iterator[Reading]]] = {
    "rot6d_to_matrix": six_numbers.rot6d_to_matrix,
    "matrix_to_rot6d": six_numbers.matrix_to_rot6d,
    "reproject_rot6d": six_numbers.reproject_rot6d,
    "normalize_rot6d_delta": six_numbers.normalize_rot6d_delta,
    "compose_rot6d_delta": six_numbers.compose_rot6d_delta,
    "quat_to_matrix": quaternions.quat_to_matrix,
    "matrix_to_quat": quaternions.matrix_to_quat,
    "rot6d_to_quat": quaternions.rot6d_to_quat,
    "quat_to_rot6d": quaternions.quat_to_rot6d,
    "quat_mul": quaternions.quat_mul,
    "quat_inverse": quaternions.quat_inverse,
    "quat_rotate": quaternions.quat_rotate,
    "quat_rotate_inverse": quaternions.quat_rotate_inverse,
    "wrap_to_pi": wrap_to_pi,
}
"""The roles with a fixed list of readings; the others have an arbitrary scale, or are Euler angles."""
