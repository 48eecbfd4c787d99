"""The rounding model again, one number at a time, and the tiny character with one number for all of its statistics.

Expected values are written from Higham's gamma and from what a stage's docstring derives, with `math` alone.
"""

import math
from dataclasses import replace

import numpy as np

from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.reference_runtime.graph.bounds import stage_tolerances

UNIT = 2.0**-24
DEPTH = 33 + 7 + 2 + 9 + 54
"""The longest inner product of the tiny character's network: state, condition, contacts, velocities, history."""
IDENTITY = [1, 0, 0, 0, 0, 1] * 3
YAW, SPIN = 5, slice(24, 33)


def g(operations):
    return operations * UNIT / (1.0 - operations * UNIT)


def close(found, expected):
    """To a part in a million: a step more or fewer is a part in a hundred at least."""
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=0)


def bound_of(contract, stage, **stages):
    return stage_tolerances(contract, {name: np.asarray(rows, np.float32) for name, rows in stages.items()})[stage]


def with_scores(contract, std, mean, scale):
    """The contract with one mean, deviation and scale in all channels."""
    of = lambda width, number: frozen_float32(np.full(width, number))  # noqa: E731 - a short word for the lines below
    squashed = {
        name: SquashedStatistics(of(width, scale), Statistics(of(width, mean), of(width, std)), None)
        for name, width in (("angular_velocity", 9), ("pose_history", 54))
    }
    numbers = replace(
        contract.numbers,
        state_statistics=Statistics(of(33, mean), of(33, std)),
        output_statistics=Statistics(of(18, mean), of(18, std)),
        **squashed,
    )
    return contract.with_numbers(numbers)


def axes_bound(a, b, across, error_a, error_b):
    """Gram–Schmidt of two axes of lengths a and b, the second with a part `across` the first."""
    first = error_a / a + g(24)
    return first, (error_b + b * first) / across + g(24)


def angle(first, second):
    """Two components of a rotation are fixed by one axis, the third by the other."""
    return math.hypot(first, second)
