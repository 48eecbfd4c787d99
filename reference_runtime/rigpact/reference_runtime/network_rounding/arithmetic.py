"""Roundings of one operation: how large they are, and a way to disturb a value by them.

The model of a rounding is in operations/scalars.py: each float32 operation adds a relative error of at most u. Errors of
different operations are independent and have mean zero (Higham and Mary, SIAM J. Sci. Comput. 41, 2019; Ipsen and Zhou,
SIAM J. Matrix Anal. 41, 2020). So the error of n roundings of values s_1 … s_n has the deviation
u·sqrt(s_1² + … + s_n²), and exceeds λ times that with a probability of at most 2·exp(-λ²/2).

Every operation is written once, against `Rounded`: a function of a value and its deviation. `Recorder` keeps the deviations
and changes nothing. `RandomSigns` adds each deviation with a random sign. The sign is the same in every row, so the
result for one row does not depend on the others.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.reference_runtime.operations.scalars import UNIT_ROUNDOFF

Array = NDArray[Any]
BLOCKS = 8
"""Parts of an inner product at whose ends the partial sums are known exactly."""
_TWO_SIDES = float(np.sqrt(2.0))
"""The difference of two independent errors."""


Rounded = Callable[[Array, Callable[[], Array]], Array]
"""Disturbs a value by its rounding, or not; the deviation is called only where it is needed."""


class Recorder:
    """Keeps the deviation of the difference of two sides, for every value in the order of evaluation."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self.deviations: list[Array] = []

    def __call__(self, value: Array, deviation: Callable[[], Array]) -> Array:
        """The value, unchanged."""
        size = _TWO_SIDES * UNIT_ROUNDOFF * deviation()
        self.deviations.append(np.broadcast_to(size, value.shape))
        return value


class RandomSigns:
    """Adds the kept deviations with random signs, the same in every row.

    count: how many times the rows stand one below the other, each time with other signs, for a model that keeps rows apart:
    fewer, larger products.
    """

    def __init__(self, deviations: Sequence[Array], rows: int, seed: int, count: int = 1) -> None:
        """rows: the length of the first axis of what is evaluated together."""
        self._deviations, self._rows, self._count = iter(deviations), rows, count
        self._rng = np.random.default_rng(seed)

    def __call__(self, value: Array, deviation: Callable[[], Array]) -> Array:
        """The value, disturbed."""
        return np.asarray(value + self.spread(next(self._deviations), value.shape))

    def spread(self, size: Array, shape: tuple[int, ...]) -> Array:
        """The sizes with signs; of several counts, (rows, …) in every one of them."""
        if self._count > 1:
            return (self._signs((self._count, 1, *size.shape[1:])) * size).reshape(-1, *size.shape[1:])
        return size * self._signs((1, *shape[1:]) if len(shape) > 1 and shape[0] == self._rows else shape)

    def _signs(self, shape: tuple[int, ...]) -> Array:
        return 2.0 * self._rng.integers(0, 2, shape) - 1.0


def product_deviation(a: Array, b: Array, total: Array, start: Array | float = 0.0) -> Array:
    """Deviation of a @ b + start in any order of summation that an implementation has, in units of u; total: a @ b.

    A sum of n terms t_i has n + 1 roundings, each of a partial sum. For the order of the memory, forward or backward, from
    zero or from `start`, the partial sums are known at the ends of blocks; P is the largest. Inside a block, and in a
    sum over lanes (every 4th to 16th term), a partial sum leaves the line between these ends by a random walk, whose square
    is at most Σt². So each squared partial sum counts as P² + Σt², and the deviation is sqrt((n + 1)·(P² + Σt²)); two more
    roundings are for a factor or a folded scale of the weights. P ≤ Σ|t|: this never exceeds Higham and Mary's sqrt(n)·u·Σ|t|
    by more than a factor of 2.
    """
    length = a.shape[-1]
    before, lowest, highest = np.zeros(total.shape), np.minimum(total, 0.0), np.maximum(total, 0.0)
    edges = np.linspace(0, length, min(BLOCKS, max(length, 1)) + 1).astype(int)
    for first, last in pairwise(edges[:-1]):
        before += a[..., first:last] @ (b[first:last] if b.ndim == 1 else b[..., first:last, :])
        np.minimum(lowest, before, out=lowest)
        np.maximum(highest, before, out=highest)
    # from zero forward, from zero backward, from `start` forward
    ends = (lowest, highest, total - lowest, total - highest, lowest + start, highest + start)
    peak = np.maximum.reduce([np.abs(end) for end in ends])
    return np.asarray(np.sqrt((length + 3.0) * (peak**2 + (a**2) @ (b**2))))


def mean_deviation(value: Array, axes: tuple[int, ...]) -> Array:
    """Deviation of a mean in units of u: n roundings of partial sums that grow evenly to Σ|t|, divided by n.

    The squares k²·(Σ|t| / n)² of such partial sums add up to n/3·(Σ|t|)².
    """
    count = np.prod([value.shape[axis] for axis in axes])
    return np.asarray(np.sqrt(count / 3.0 + 2.0) * np.mean(np.abs(value), axis=axes, keepdims=True))
