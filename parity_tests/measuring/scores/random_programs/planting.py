"""Draws the mistakes that are planted: one or two edits of a program, of the kinds that people make.

To add a kind: a function in `PLANTERS`, its row in `grading.WORDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .drawing import Draw
from .program import Edit, Operation, Program, Rows, Table, replaced_numbers

TABLES = ("scale", "offset", "subtract", "mean", "std", "value", "weights")
READERS = ("affine", "history", "select", "squash", "clip", "network")
UNARY = frozenset(("affine", "squash", "clip", "normalise", "denormalise", "difference", "shift"))


@dataclass(frozen=True)
class Ground:
    """Where an edit is planted. values: of the run without a mistake."""

    program: Program
    own: Operation
    values: Mapping[str, Rows]
    draw: Draw

    def whole(self, low: int, high: int) -> int:
        return int(self.draw.integers(low, high + 1))

    def one_of(self, words: tuple[str, ...]) -> str:
        return str(self.draw.choice(words))

    def seen(self, edit: Edit) -> tuple[Rows, int]:
        """The rows that an edit moves, and their width."""
        rows = self.values[edit.source or edit.at]
        return rows, rows.shape[1]

    def edit(self, kind: str, changed: Operation, *words: str, knob: str = "") -> Edit:
        return Edit(kind, self.own.name, words=words, program=self.program.with_operation(changed), knob=knob)


Planter = Callable[[Ground], Edit | None]


def _rounded(value: float) -> float:
    return float(f"{value:.2g}") or 0.01


def _rows(ground: Ground, kind: str, *numbers: float, some: bool = True) -> Edit:
    """Behind an operation or before one of its inputs, in all channels or in one part, always or from a frame on."""
    own, draw = ground.own, ground.draw
    before = len(own.of) == 1 and own.kind in READERS and draw.integers(3) == 0
    source = own.of[0] if before else ""
    width = ground.program.vectors[source].width if before else own.width
    channels: tuple[int, ...] = ()
    if some and width > 1 and draw.integers(2):
        channels = (int(draw.integers(width)),)
        if draw.integers(2) and width > 3:
            first = int(draw.integers(width - 1))
            channels = tuple(range(first, min(width - 1, first + ground.whole(2, 5))))
    frames = (ground.whole(10, 50), 1) if some and draw.integers(6) == 0 else (0, 1)
    return Edit(kind, own.name, source, numbers, channels, frames)


def _exchanged(ground: Ground) -> Edit | None:
    if ground.own.width < 2:
        return None
    edit = _rows(ground, "exchanged", some=False)
    _, width = ground.seen(edit)
    if width < 2:
        return None
    one, other = sorted(ground.draw.choice(width, 2, replace=False).tolist())
    order = [{one: other, other: one}.get(place, place) for place in range(width)]
    return replace(edit, numbers=tuple(map(float, order)), channels=(one, other))


def _permuted(ground: Ground) -> Edit | None:
    edit = _rows(ground, "permuted", some=False)
    order = ground.draw.permutation(ground.seen(edit)[1])
    moved = np.flatnonzero(order != np.arange(len(order)))
    return replace(edit, numbers=tuple(map(float, order)), channels=tuple(map(int, moved))) if len(moved) > 2 else None


def _spread(ground: Ground) -> float:
    return float(np.std(ground.values[ground.own.name].astype(float))) or 1.0


def _factor(ground: Ground) -> float:
    return _rounded(float(ground.draw.choice([0.5, 2.0, 57.2957795, 0.25, ground.draw.uniform(0.6, 1.6)])))


def _sized(kind: str, share: float, *, changes: bool = False, both: bool = False) -> Planter:
    """An edit whose number is a quantile of the rows, or of their changes; both: it and its negative."""

    def planted(ground: Ground) -> Edit:
        edit = _rows(ground, kind, some=False)
        rows, _ = ground.seen(edit)
        sizes = np.abs(rows) if both else np.abs(np.diff(rows.astype(float), axis=0) if changes else rows.astype(float))
        size = _rounded(float(np.quantile(sizes, share)))
        return replace(edit, numbers=(-size, size) if both else (size,))

    return planted


def _frozen(ground: Ground) -> Edit:
    frame = ground.whole(5, 40)
    return replace(_rows(ground, "frozen", float(frame)), frames=(frame, 1))


def _glitch(ground: Ground) -> Edit:
    return replace(_rows(ground, "glitch", 1.0, _rounded(3.0 * _spread(ground))), frames=(ground.whole(3, 55), 0))


def _table(kind: str) -> Planter:
    """A parameter with a number for each channel has others."""

    def planted(ground: Ground) -> Edit | None:
        own, program = ground.own, ground.program
        keys = tuple(key for key in TABLES if key in own.params)
        if not keys:
            return None
        key = ground.one_of(keys)
        said, numbers = own.params[key], program.numbers(own, own.params[key])
        if len(numbers) < 2:
            return None
        name = said.name if isinstance(said, Table) else key
        words: tuple[str, ...] = (key, name)
        if kind == "table_constant":
            other = (float(ground.draw.choice([numbers[0], 1.0, _rounded(float(np.mean(numbers)))])),) * len(numbers)
        elif kind == "table_shifted":
            other = tuple(np.roll(numbers, int(ground.draw.choice([-1, 1]))).tolist())
        else:
            alike = tuple(
                each for each, (table, _) in program.tables.items() if len(table) == len(numbers) and each != name
            )
            if not alike:
                return None
            words = (ground.one_of(alike),)
            other = program.tables[words[0]][0]
        return Edit(kind, own.name, numbers=other, words=words, program=replaced_numbers(program, own, key, other))

    return planted


def _number(ground: Ground) -> Edit | None:
    """One number that a parameter holds is another."""
    own = ground.own
    keys = tuple(key for key in (*TABLES, "lowest", "highest", "vector") if key in own.params)
    if not keys:
        return None
    key = ground.one_of(keys)
    numbers = list(ground.program.numbers(own, own.params[key]))
    place = int(ground.draw.integers(len(numbers)))
    numbers[place] = _rounded(numbers[place] * float(ground.draw.choice([0.5, 0.8, 1.25, 2.0])))
    channels = (place,) if len(numbers) > 1 and own.width == len(numbers) else ()
    program = replaced_numbers(ground.program, own, key, tuple(numbers))
    return Edit("number", own.name, numbers=(numbers[place],), channels=channels, words=(key,), program=program)


def _source(ground: Ground) -> Edit | None:
    own, program = ground.own, ground.program
    place = int(ground.draw.integers(len(own.of)))
    before = list(program.vectors)[: len(program.given) + program.operations.index(own)]
    width = program.vectors[own.of[place]].width
    others = tuple(name for name in before if name not in own.of and program.vectors[name].width == width)
    if not others or own.kind in ("select", "constant", "rotate"):
        return None
    other = ground.one_of(others)
    taken = tuple(other if index == place else name for index, name in enumerate(own.of))
    return ground.edit("source", replace(own, of=taken), other)


def _dropped(ground: Ground) -> Edit | None:
    if ground.own.kind not in UNARY:
        return None
    return ground.edit("dropped", replace(ground.own, kind="affine", params={"scale": 1.0}))


def _doubled(ground: Ground) -> Edit | None:
    own, program = ground.own, ground.program
    if own.kind not in UNARY - {"clip"}:
        return None
    first, at = replace(own, name=f"{own.name}_again"), program.operations.index(own)
    both = (*program.operations[:at], first, replace(own, of=(first.name,)), *program.operations[at + 1 :])
    return Edit("doubled", own.name, program=replace(program, operations=both))


def _neighbours(ground: Ground) -> Edit | None:
    """The operation and the one before it take each other's place."""
    own, program = ground.own, ground.program
    before = next((each for each in program.operations if each.name == own.of[0]), None)
    if before is None or {own.kind, before.kind} - UNARY or own.width != before.width or own.names != before.names:
        return None
    changed = program.with_operation(replace(before, kind=own.kind, params=own.params))
    changed = changed.with_operation(replace(own, kind=before.kind, params=before.params))
    return Edit("neighbours", own.name, words=(before.name,), program=changed)


WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "history": {
        "layout": ("term_major", "frame_major", "channel_major"), "order": ("oldest_first", "newest_first"),
        "start": ("first", "zeros"),
    },
    "compose": {"product": ("first_second", "second_first", "inverse_of_first")},
    "norm": {"measure": ("euclidean", "squared", "absolute_sum", "largest")},
    "integrate": {"rate_means": ("derivative", "absolute", "delta", "negated")},
    "threshold": {"side": ("above", "below")},
    "rotate": {"direction": ("forward", "inverse", "none")},
    "difference": {"rate": ("per_second", "per_frame"), "span": ("backward", "reversed")},
    "squash": {"function": ("tanh", "sigmoid", "none", "twice")},
    "affine": {"order": ("scale_first", "constant_first")},
}  # fmt: skip


def _word(ground: Ground) -> Edit | None:
    own, program = ground.own, ground.program
    if own.kind in ("concatenate", "history") and len(own.of) > 1 and ground.draw.integers(2):
        one, other = sorted(ground.draw.choice(len(own.of), 2, replace=False).tolist())
        names = list(own.of)
        names[one], names[other] = names[other], names[one]
        key, pair = "order" if own.kind == "concatenate" else "terms", (own.of[one], own.of[other])
        knob = f"{own.name}.{key}={pair[0]}_and_{pair[1]}_exchanged"
        return ground.edit("word", replace(own, of=tuple(names)), *pair, knob=knob)
    if own.kind == "select":
        source = program.fields(own.of[0])
        turned = program.lists[own.params["take"]][::-1] if ground.draw.integers(3) == 0 else source
        word = "as_given" if turned == source else "reversed"
        return ground.edit("word", replace(own, params={"take": turned}), word, knob=f"{own.name}.order={word}")
    if own.kind not in WORDS or (own.kind == "affine" and not {"scale", "offset"} <= own.params.keys()):
        return None
    key = ground.one_of(tuple(WORDS[own.kind]))
    now = own.params.get(key, {"order": "scale_first", "rate_means": "derivative"}.get(key))
    word = ground.one_of(tuple(each for each in WORDS[own.kind][key] if each != now))
    return ground.edit(
        "word", replace(own, params={**own.params, key: word}), key, word, knob=f"{own.name}.{key}={word}"
    )


def _steps(ground: Ground) -> Edit:
    return replace(_rows(ground, "steps", some=False), numbers=(_rounded(0.2 * _spread(ground)),))


def _turned(ground: Ground) -> Edit | None:
    """A vector, or a rotation, is turned by whole degrees about an axis: behind an operation, or before it reads a sensor."""
    own, draw = ground.own, ground.draw
    sources = [
        name for name in own.of if own.kind in ("rotate", "compose") and ground.program.vectors[name].width in (3, 4)
    ]
    is_vector = own.kind in ("rotate", "compose") or (own.width == 3 and own.of[0] == "gyro")
    if not is_vector:
        return None
    source = str(draw.choice(sources)) if sources and draw.integers(2) else ""
    numbers = float(draw.integers(3)), float(draw.choice([-1.0, 1.0]) * draw.integers(4, 120))
    return Edit("turned", own.name, source, numbers)


def _uncarried(ground: Ground) -> Edit | None:
    carried = [each.name for each in ground.program.given if each.carried and each.name in ground.own.of]
    return Edit("uncarried", ground.own.name, carried[0], words=(carried[0],)) if carried else None


def _unbiased(ground: Ground) -> Edit | None:
    """The network without the bias of its first layer."""
    networks, own = ground.program.networks, ground.own
    if own.name not in networks:
        return None
    other = replace(networks[own.name], first_bias=0.0 * networks[own.name].first_bias)
    return Edit("unbiased", own.name, program=replace(ground.program, networks={**networks, own.name: other}))


OF_TIME_AND_TURNS: Mapping[str, Planter] = {
    "high_pass": lambda ground: _rows(ground, "high_pass", _rounded(float(ground.draw.uniform(0.6, 0.95))), some=False),
    "summed": lambda ground: _rows(ground, "summed", _rounded(float(ground.draw.uniform(0.02, 0.5))), some=False),
    "changes": lambda ground: _rows(ground, "changes", some=False),
    "averaged": lambda ground: _rows(ground, "averaged", some=False),
    "steps": _steps, "turned": _turned, "uncarried": _uncarried, "unbiased": _unbiased,
}  # fmt: skip
"""Single edits that are drawn equally often, each in programs that can have it, beside those that are drawn freely."""
PLANTERS: tuple[Planter, ...] = (
    _exchanged, _exchanged, _permuted, _sized("clip", 0.7, both=True), _frozen, _glitch, _number, _source, _dropped, _doubled,
    _neighbours, _word, _word, _table("table_constant"), _table("table_other"), _table("table_shifted"),
    lambda ground: _rows(ground, "sign"),
    lambda ground: _rows(ground, "scale", _factor(ground)),
    lambda ground: _rows(ground, "offset", _rounded(_spread(ground) * float(ground.draw.uniform(0.1, 1.0)))),
    lambda ground: _rows(ground, "delay", float(ground.whole(1, 3))),
    lambda ground: _rows(ground, "hold", float(ground.whole(2, 4)), some=False),
    lambda ground: _rows(ground, "tanh", some=False),
    lambda ground: _rows(ground, "smoothed", _rounded(float(ground.draw.uniform(0.3, 0.9))), some=False),
    lambda ground: _rows(ground, "half", some=False),
    lambda ground: _rows(ground, "stuck", float(ground.draw.choice([0.0, 1.0]))),
    _sized("deadband", 0.3), _sized("rate_limit", 0.6, changes=True),
)  # fmt: skip


def drawn_edit(program: Program, values: Mapping[str, Rows], draw: Draw, but: str = "") -> Edit:
    """An edit of a kind that this program can have, at an operation other than `but`."""
    while True:
        own = program.operations[int(draw.integers(len(program.operations)))]
        if own.name == but or (own.kind == "constant" and draw.integers(3)):
            continue
        edit = PLANTERS[int(draw.integers(len(PLANTERS)))](Ground(program, own, values, draw))
        if edit is not None:
            return edit
