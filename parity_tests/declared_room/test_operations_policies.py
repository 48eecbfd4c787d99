"""Every reading of the operations of policies: chunks that a queue plays, statistics that a word chooses, a phase, a flag."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from .one_operation import Array, Oracle, Subject, judging_tests

F32 = np.float32


def drawn(**widths: int) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    return lambda random, count: {
        name: random.normal(size=(count, width)).astype(np.float32) for name, width in widths.items()
    }


def held(every: int, first: int = 0) -> Oracle:
    """A loop that counts: the last frame at which it ticked, frame 0 where it has not."""

    def oracle(v: Array) -> Array:
        found, last = [], 0
        for frame in range(len(v)):
            last = frame if frame >= first and (frame - first) % every == 0 else last
            found.append(v[last])
        return np.array(found)

    return oracle


def played(every: int = 2, *, late: int = 0, chunks: int = 0, is_turned: bool = False) -> Oracle:
    """A chunk of 5 frames of 2 numbers, of which frame 1 is now."""

    def oracle(c: Array) -> Array:
        found = []
        for frame in range(len(c)):
            asked, since = frame // every * every, frame % every
            row = list(c[max(asked - chunks * every, 0)])
            place = min(max(1 + since + late, 0), 4)
            found.append([row[place], row[5 + place]] if is_turned else row[2 * place : 2 * place + 2])
        return np.array(found)

    return oracle


def blended(weight: Callable[[int, int], float], *, is_turned: bool = False) -> Oracle:
    """Chunks of 3 frames of 2 numbers. weight: (place from the oldest, how many there are)."""

    def oracle(c: Array) -> Array:
        found = []
        for frame in range(len(c)):
            ages = range(min(frame, 2), -1, -1)  # the oldest first
            rows = [
                c[frame - age].reshape(2, 3).T[age] if is_turned else c[frame - age].reshape(3, 2)[age] for age in ages
            ]
            weights = [c.dtype.type(weight(place, len(rows))) for place in range(len(rows))]
            whole = sum(weights[1:], weights[0])
            found.append(
                sum(
                    (row * (w / whole) for row, w in zip(rows[1:], weights[1:], strict=True)),
                    rows[0] * (weights[0] / whole),
                )
            )
        return np.array(found)

    return oracle


LOW, HIGH, MEAN, STD = ([-1.0, 0.5], [2.0, 0.5], [0.25, -3.0], [2.0, 0.5])


def ranged(low: list[float], high: list[float]) -> Oracle:
    def oracle(v: Array) -> Array:
        kind = v.dtype.type
        columns = []
        for place in range(2):
            d = kind(high[place]) - kind(low[place])
            columns.append(kind(2) * (v[:, place] - kind(low[place])) / (d if d != 0 else kind(1e-8)) - kind(1))
        return np.stack(columns, axis=1)

    return oracle


def unranged(low: list[float], high: list[float]) -> Oracle:
    def oracle(v: Array) -> Array:
        kind = v.dtype.type
        columns = []
        for place in range(2):
            d = kind(high[place]) - kind(low[place])
            columns.append((v[:, place] + kind(1)) / kind(2) * (d if d != 0 else kind(1e-8)) + kind(low[place]))
        return np.stack(columns, axis=1)

    return oracle


def scored(v: Array) -> Array:
    kind = v.dtype.type
    return np.stack([(v[:, k] - kind(MEAN[k])) / (kind(STD[k]) + kind(1e-8)) for k in range(2)], axis=1)


def unscored(v: Array) -> Array:
    kind = v.dtype.type
    return np.stack([v[:, k] * kind(STD[k]) + kind(MEAN[k]) for k in range(2)], axis=1)


def clock(first: int = 1, period: float = 0.8, form: str = "sc") -> Oracle:
    """Of a vector that only says how many frames there are."""

    def oracle(v: Array) -> Array:
        kind = v.dtype.type
        rows = []
        for frame in range(len(v)):
            phase = kind(frame + first) * kind(0.02) / kind(period)
            angle = kind(2) * kind(math.pi) * phase
            rows.append(
                [phase % kind(1)] if form == "p" else [np.sin(angle), np.cos(angle)][:: 1 if form == "sc" else -1]
            )
        return np.array(rows, v.dtype)

    return oracle


def chosen(take: Callable[[bool], bool]) -> Oracle:
    return lambda a, b, flag: np.array([b[k] if take(flag[k, 0] > 0.5) else a[k] for k in range(len(a))])


V, M = '{ name = "v", size = 2 }', 0.3
STATISTICS = f"min = {LOW}, max = {HIGH}, mean = {MEAN}, std = {STD}"
CHUNK = 'operation = "played", of = "c", length = 5, every = 2, first = 1, size = 2'
SUBJECTS = (
    Subject("held", V, 'operation = "held", of = "v", every = 2, length = 3', drawn(v=2), held(2), {
        "every": {"whole_chunk": held(3), "each_frame": held(1)}, "first": {"last_of_every": held(2, 1)},
    }, is_moved=True),
    Subject("slower_loop", V, 'operation = "held", of = "v", every = 4, first = 2', drawn(v=2), held(4, 2), {
        "every": {"each_frame": held(1)}, "first": {"frame_0": held(4), "last_of_every": held(4, 3)},
    }, is_moved=True),
    Subject("played", '{ name = "c", size = 10 }', CHUNK, drawn(c=10), played(), {
        "every": {"whole_chunk": played(5), "each_frame": played(1)},
        "index": {"+1": played(late=1), "-1": played(late=-1)}, "chunk": {"one_before": played(chunks=1)},
        "layout": {"number_by_number": played(is_turned=True)},
    }, is_moved=True),
    Subject("blended", '{ name = "c", size = 6 }', f'operation = "played", of = "c", length = 3, blend = {M}, size = 2',
        drawn(c=6), blended(lambda place, _: math.exp(-M * place)), {
        "weights": {"newest_heaviest": blended(lambda place, count: math.exp(-M * (count - 1 - place))),
                    "equal": blended(lambda *_: 1.0), "newest_only": blended(lambda place, count: float(place == count - 1))},
        "layout": {"number_by_number": blended(lambda place, _: math.exp(-M * place), is_turned=True)},
    }),
    Subject("ranges", V, f'operation = "range_normalise", of = "v", mode = "min_max", {STATISTICS}', drawn(v=2),
        ranged(LOW, HIGH), {
        "mode": {"mean_std": scored, "identity": lambda v: v}, "ends": {"exchanged": ranged(HIGH, LOW)},
    }),
    Subject("scores", V, f'operation = "range_normalise", of = "v", mode = "mean_std", {STATISTICS}', drawn(v=2), scored, {
        "mode": {"min_max": ranged(LOW, HIGH), "identity": lambda v: v},
    }),
    Subject("unranged", V, 'operation = "range_denormalise", of = "v", mode = "quantiles", q01 = -0.5, q99 = [2, 3], '
        f'q10 = {LOW}, q90 = {HIGH}', drawn(v=2), unranged([-0.5, -0.5], [2.0, 3.0]), {
        "mode": {"quantile10": unranged(LOW, HIGH), "identity": lambda v: v},
        "ends": {"exchanged": unranged([2.0, 3.0], [-0.5, -0.5])},
    }),
    Subject("unscored", V, f'operation = "range_denormalise", of = "v", mode = "mean_std", {STATISTICS}', drawn(v=2), unscored, {
        "mode": {"min_max": unranged(LOW, HIGH), "identity": lambda v: v},
    }),
    Subject("clock", V, 'operation = "phase_clock", period = 0.8, first = 1', drawn(v=2), clock(), {
        "first": {"0": clock(0), "2": clock(2)}, "period": {"half": clock(period=0.4), "twice": clock(period=1.6)},
        "form": {"cos_sin": clock(form="cs")},
    }),
    Subject("turns", V, 'operation = "phase_clock", period = 0.8, first = 1, form = "phase"', drawn(v=2), clock(form="p"), {
        "first": {"0": clock(0, form="p"), "2": clock(2, form="p")},
        "period": {"half": clock(period=0.4, form="p"), "twice": clock(period=1.6, form="p")},
    }),
    Subject("switch", f'{V}, {{ name = "w", size = 2 }}, {{ name = "f", kind = "flag" }}',
        'operation = "switch", of = ["v", "w", "f"]',
        lambda random, count: {**drawn(v=2, w=2)(random, count), "f": random.integers(0, 2, (count, 1)).astype(F32)},
        chosen(lambda flag: flag), {"takes": {
        "first_where_set": chosen(lambda flag: not flag), "first_always": chosen(lambda _: False),
        "second_always": chosen(lambda _: True),
    }}, is_moved=True),
)  # fmt: skip
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, rows=(1, 13), frames=300)
