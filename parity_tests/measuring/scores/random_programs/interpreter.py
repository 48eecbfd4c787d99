"""Programs run frame by frame in plain numpy. It shares no code with rigpact: each operation is written from docs/operations.md.

Every operation's answer is stored as float32. `floating` is what it computes in: float32, as most engines do, or float64.
To add an operation: a function in `OPERATIONS`, and a way to draw it in `drawing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from .program import Edit, Floating, Operation, Program, Rows, moved_row

Chain = list[tuple[Edit | None, Rows]]
"""What an operation gives, and what each edit behind it makes of that, all frames."""


@dataclass
class Run:
    """A run in progress. values: of each vector every frame, filled up to the current one; forced: vectors taken as recorded."""

    program: Program
    floating: Floating = np.float64
    edits: Sequence[Edit] = ()
    forced: Mapping[str, Rows] = field(default_factory=dict)
    values: dict[str, Rows] = field(default_factory=dict)
    before: dict[tuple[str, str], tuple[Rows, Rows]] = field(default_factory=dict)
    frame: int = 0

    def source(self, name: str) -> Rows:
        return self.forced.get(name, self.values[name])

    def row(self, name: str, own: Operation, lag: int = 0, *, start: str = "first") -> Rows:
        """One row of an input in the floating type, behind an edit before it; before the first frame its own value or zeros."""
        kept = self.before.get((own.name, name))
        rows, at = self.source(name) if kept is None else kept[1], self.frame - lag
        if at < 0 and start == "zeros":
            return np.zeros(rows.shape[1], self.floating)
        return rows[max(at, 0), :].astype(self.floating)

    def number(self, own: Operation, key: str, default: float = 0.0) -> Rows:
        """A parameter as numbers."""
        numbers = self.program.numbers(own, own.params.get(key, default))
        return np.asarray(numbers if len(numbers) > 1 else numbers[0], self.floating)


def run(
    program: Program, inputs: Mapping[str, Rows], *, floating: Floating = np.float64, edits: Sequence[Edit] = (),
    forced: Mapping[str, Rows] | None = None,
) -> dict[str, Rows]:  # fmt: skip
    """Every vector of every frame, float32. forced: recorded vectors, from which each operation then computes."""
    frames, state = len(next(iter(inputs.values()))), Run(program, floating, edits, forced or {})

    def room(name: str) -> Rows:
        return np.zeros((frames, program.vectors[name].width), np.float32)

    state.values = {name: room(name) for name in program.vectors} | {
        name: np.array(rows, np.float32) for name, rows in inputs.items()
    }
    chains: dict[str, Chain] = {}
    for each in program.operations:
        behind = [None, *(edit for edit in edits if edit.at == each.name and not edit.source)]
        chains[each.name] = [(edit, room(each.name)) for edit in behind]
    state.before = {(edit.at, edit.source): (room(edit.source), room(edit.source)) for edit in edits if edit.source}
    for state.frame in range(frames):
        _frame(state, chains)
    return state.values


def _frame(state: Run, chains: Mapping[str, Chain]) -> None:
    frame = state.frame
    for given in state.program.given:
        if given.carried and frame:
            state.values[given.name][frame] = state.source(given.carried)[frame - 1]
    for operation in state.program.operations:
        for edit in state.edits:
            if edit.at == operation.name and edit.source:
                seen, changed = state.before[edit.at, edit.source]
                seen[frame] = state.source(edit.source)[frame]
                changed[frame] = moved_row(edit, frame, seen, changed)
        chain = chains[operation.name]
        with np.errstate(all="ignore"):
            chain[0][1][frame] = OPERATIONS[operation.kind](state, operation)
        for (_, x), (edit_behind, y) in pairwise(chain):
            assert edit_behind is not None
            y[frame] = moved_row(edit_behind, frame, x, y)
        state.values[operation.name][frame] = chain[-1][1][frame]


def _affine(run: Run, own: Operation) -> Rows:
    x, scale = run.row(own.of[0], own), run.number(own, "scale", 1.0)
    constant, usual = run.number(own, "offset"), "scale_first"
    if "subtract" in own.params:
        constant, usual = -run.number(own, "subtract"), "constant_first"
    return (x + constant) * scale if own.params.get("order", usual) == "constant_first" else x * scale + constant


FUNCTIONS: Mapping[str, Callable[[Rows], Rows]] = {
    "tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "none": lambda x: x, "twice": lambda x: np.tanh(np.tanh(x)),
}  # fmt: skip


def _squash(run: Run, own: Operation) -> Rows:
    size = run.number(own, "scale", 1.0)
    return FUNCTIONS[own.params["function"]](run.row(own.of[0], own) / size) * size


def _select(run: Run, own: Operation) -> Rows:
    taken, source = own.params["take"], run.program.fields(own.of[0])
    words = run.program.lists[taken] if isinstance(taken, str) else taken
    return run.row(own.of[0], own)[[source.index(word) for word in words]]


def _history(run: Run, own: Operation) -> Rows:
    length, layout = own.params["length"], own.params["layout"]
    ages = list(range(length)) if own.params["order"] == "newest_first" else list(range(length))[::-1]
    blocks = [[run.row(name, own, age, start=own.params["start"]) for age in ages] for name in own.of]
    if layout == "term_major":
        return np.concatenate([block for term in blocks for block in term])
    if layout == "frame_major":
        return np.concatenate([term[place] for place in range(length) for term in blocks])
    return np.concatenate([[block[channel] for block in term] for term in blocks for channel in range(len(term[0]))])


def _matrix(q: Rows) -> Rows:
    """The matrix of w, x, y, z; homogeneous, so that a length other than 1 shows."""
    w, x, y, z = q
    return np.array([
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ])  # fmt: skip


def _rotate(run: Run, own: Operation) -> Rows:
    q, direction = run.row(own.of[0], own), own.params["direction"]
    if own.params.get("quaternion_order") == "xyzw":
        q = q[[3, 0, 1, 2]]
    vector = run.row(own.of[1], own) if len(own.of) == 2 else run.number(own, "vector")
    turns: Mapping[str, Rows] = {"forward": _matrix(q), "inverse": _matrix(q).T, "none": np.eye(3, dtype=run.floating)}
    turned: Rows = turns[direction] @ vector
    return turned


def _compose(run: Run, own: Operation) -> Rows:
    a, b = (run.row(name, own) for name in own.of)
    if own.params["product"] == "second_first":
        a, b = b, a
    if own.params["product"] == "inverse_of_first":
        a = a * np.array([1, -1, -1, -1], run.floating)
    (w, x, y, z), (i, j, k, m) = a, b
    return np.array([
        w * i - x * j - y * k - z * m, w * j + x * i + y * m - z * k,
        w * k - x * m + y * i + z * j, w * m + x * k - y * j + z * i,
    ])  # fmt: skip


def _difference(run: Run, own: Operation) -> Rows:
    rate = {"per_second": run.program.fps, "per_frame": 1.0, "inverse": 1.0 / run.program.fps}[own.params["rate"]]
    now, then = run.row(own.of[0], own), run.row(own.of[0], own, 1)
    return (then - now if own.params["span"] == "reversed" else now - then) * run.floating(rate)


def _normalised(run: Run, own: Operation) -> Rows:
    mean, std = run.number(own, "mean"), run.number(own, "std")
    if own.kind == "denormalise":
        return run.row(own.of[0], own) * std + mean
    return (run.row(own.of[0], own) - mean) / (std + run.floating(own.params.get("epsilon", 0.0)))


def _blend(run: Run, own: Operation) -> Rows:
    terms = (weight * run.row(name, own) for weight, name in zip(run.number(own, "weights"), own.of, strict=True))
    return sum(terms, start=np.zeros(own.width, run.floating))


def _integrate(run: Run, own: Operation) -> Rows:
    state, rate = (run.row(name, own) for name in own.of)
    step = run.floating(1.0 / run.program.fps)
    means = {"derivative": state + step * rate, "delta": state + rate, "absolute": rate, "negated": state - step * rate}
    return means[own.params.get("rate_means", "derivative")]


def _norm(run: Run, own: Operation) -> Rows:
    x = run.row(own.of[0], own).reshape(-1, own.params["of_each"])
    square, size = (x * x).sum(1), np.abs(x)
    measures: Mapping[str, Rows] = {
        "euclidean": np.sqrt(square),
        "squared": square,
        "absolute_sum": size.sum(1),
        "largest": size.max(1),
    }
    return measures[own.params["measure"]]


def _network(run: Run, own: Operation) -> Rows:
    layers = run.program.networks[own.name]
    x = np.concatenate([run.row(name, own) for name in own.of]).astype(np.float32)
    return np.tanh(x @ layers.first + layers.first_bias) @ layers.second + layers.second_bias


def _threshold(run: Run, own: Operation) -> Rows:
    x, limit = run.row(own.of[0], own), run.number(own, "limit")
    return np.where(x > limit if own.params["side"] == "above" else x < limit, 1.0, 0.0)


OPERATIONS: Mapping[str, Callable[[Run, Operation], Rows]] = {
    "affine": _affine, "squash": _squash, "select": _select, "history": _history, "rotate": _rotate, "compose": _compose,
    "difference": _difference, "normalise": _normalised, "denormalise": _normalised, "blend": _blend,
    "integrate": _integrate, "norm": _norm, "network": _network, "threshold": _threshold,
    "clip": lambda run, own: np.minimum(
        np.maximum(run.row(own.of[0], own), run.number(own, "lowest")), run.number(own, "highest")
    ),
    "concatenate": lambda run, own: np.concatenate([run.row(name, own) for name in own.of]),
    "shift": lambda run, own: run.row(own.of[0], own, -own.params["frames"]),
    "constant": lambda run, own: np.broadcast_to(run.number(own, "value"), (own.width,)),
}  # fmt: skip
