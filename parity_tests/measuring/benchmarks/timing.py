"""Fair timing on a busy machine: ours and the rival in turns, medians, and how a cost grows.

Belongs here: clocks. Not here: what is timed (the test_*.py), where figures are written (performance_table.py).
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

Action = Callable[[], Any]


def seconds(action: Action) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_turns(ours: Action, rival: Action, rounds: int = 7) -> tuple[float, float, float]:
    """Medians of both in seconds, and the median of the rounds' own ratios ours / rival.

    Each round runs both, in changing order: what else the machine does hits them alike. One call of each warms up.
    """
    ours(), rival()
    pairs = []
    for number in range(rounds):
        first, second = (ours, rival) if number % 2 == 0 else (rival, ours)
        took = (seconds(first), seconds(second))
        pairs.append(took if number % 2 == 0 else took[::-1])
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return mine, theirs, statistics.median(a / b for a, b in pairs)


def growth_exponent(sizes: Sequence[float], costs_s: Sequence[float]) -> float:
    """Slope of log cost over log size, by least squares: 1 is proportional, 2 is quadratic."""
    x, y = ([math.log(value) for value in values] for values in (sizes, costs_s))
    return statistics.linear_regression(x, y).slope


def measured_growth(action_of: Callable[[int], Action], sizes: Sequence[int], rounds: int = 5) -> float:
    """Exponent of the cost of `action_of(size)()` over sizes, each the best of `rounds` taken in turns.

    The cost is processor time of this process, which what else the machine does disturbs less than the clock.
    """
    actions = [action_of(size) for size in sizes]
    for action in actions:
        action()
    columns = [[processor_seconds(action) for action in actions] for _ in range(rounds)]
    return growth_exponent(sizes, [min(costs) for costs in zip(*columns, strict=True)])


def processor_seconds(action: Action) -> float:
    """Seconds of processor time of one call, in this process."""
    start = time.process_time()
    action()
    return time.process_time() - start
