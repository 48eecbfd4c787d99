"""Every reading of the operations on places and windows, against expected values that stand here."""

from collections.abc import Sequence

import numpy as np

from .one_operation import Array, Oracle, Subject, drawn, judging_tests

TABLE = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [0.25, -3.0, 1.0]]


def standardised(freedom: int) -> Oracle:
    """Every channel by its own mean and deviation in the window, summed sample by sample."""

    def oracle(rows: Array) -> Array:
        kind, found = rows.dtype.type, rows.copy()
        for channel in found.T:
            mean = sum(channel, start=kind(0)) / kind(len(channel))
            square = sum(((value - mean) * (value - mean) for value in channel), start=kind(0))
            channel[:] = (channel - mean) / np.sqrt(square / kind(len(channel) - freedom))
        return found

    return oracle


TABLE = ((0.5, -2.0, 0.0), (1.0, 0.25, -0.75), (0.0, 3.0, 1.5))


def mixed(table: Sequence[Sequence[float]]) -> Oracle:
    return lambda v: np.hstack([
        sum(v.dtype.type(factor) * v[:, start + place] for place, factor in enumerate(row))[:, None]
        for start in (0, 3) for row in table
    ])  # fmt: skip


SUBJECTS = (
    Subject("gather", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = [2, 0, 0], together = 2, of_each = 3', drawn(v=12),
        lambda v: v[:, [4, 5, 0, 1, 0, 1, 10, 11, 6, 7, 6, 7]], is_moved=True),
    Subject("a view", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = { shape = [2, 3, 2], order = [2, 1, 0], part = [1, 2] }', drawn(v=12),
        lambda v: v[:, [1, 7, 3, 9, 5, 11]], is_moved=True),
    Subject("copied", '{ name = "v", size = 8 }', 'operation = "copied", of = "v", bytes = "whole"', drawn(v=8), lambda v: v,
        {"bytes": {"floats_as_bytes": lambda v: v * (np.arange(8) < 2).astype(v.dtype)}}, is_moved=True),
    Subject("replaced", '{ name = "v", names = ["a", "b", "c"], size = 2 }, { name = "new", size = 4 }',
        'operation = "replaced", of = ["v", "new"], taken = ["c", "a"]', drawn(v=6, new=4),
        lambda v, new: np.hstack([new[:, 2:], v[:, 2:4], new[:, :2]]), is_moved=True),
    Subject("either", '{ name = "a", size = 2 }, { name = "b", size = 2 }', 'operation = "either", of = ["a", "b"]',
        drawn(a=2, b=2), lambda a, _b: a, {"taken": {"b": lambda _a, b: b}}, is_moved=True),
    Subject("linear_map", '{ name = "v", size = 6 }', f'operation = "linear_map", of = "v", matrix = {list(map(list, TABLE))}',
        drawn(v=6), mixed(TABLE), {"matrix": {"transposed": mixed(tuple(zip(*TABLE, strict=True))), "none": lambda v: v}}),
    Subject("standardise", '{ name = "v", size = 3 }', 'operation = "standardise", of = "v", divisor = "count"', drawn(12.0, v=3),
        standardised(0), {"divisor": {"count_less_one": standardised(1)}}, widest=4000.0),
)  # fmt: skip
"""standardise: a mean of 400 of either sign is far more exact than the worst case."""
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400)
