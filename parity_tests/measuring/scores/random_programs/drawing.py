"""Draws a program of 3 to 12 operations and what drives it.

Chains of a few operations start at sensors; what they give is laid together, with or without a history; a network answers, or
none; the answer is scaled and sent. Every number is drawn, so no channel is like another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .interpreter import run
from .program import Given, Layers, Operation, Program, Rows, Table

SIDES, PARTS = ("left", "right"), ("hip", "knee", "ankle", "shoulder", "elbow", "wrist", "thumb", "toe")
FPS = (30, 50, 60, 100)
Draw = np.random.Generator
Source = Given | Operation


@dataclass
class Draft:
    """A program that is being drawn."""

    draw: Draw
    fps: int
    given: list[Given] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, tuple[tuple[float, ...], str]] = field(default_factory=dict)
    networks: dict[str, Layers] = field(default_factory=dict)

    def add(
        self, kind: str, of: tuple[str, ...], width: int, names: str = "", /, name: str = "", **params: object
    ) -> Operation:
        """Add one operation behind the others."""
        made = Operation(name or f"{kind}_{len(self.operations)}", kind, of, params, width, names)
        self.operations.append(made)
        return made

    def like(self, kind: str, source: Source, **params: object) -> Operation:
        return self.add(kind, (source.name,), source.width, source.names, "", **params)

    def word(self, *words: str) -> str:
        return str(self.draw.choice(words))

    def numbers(self, width: int, low: float, high: float) -> tuple[float, ...]:
        return tuple(round(float(each), 2) or low for each in self.draw.uniform(low, high, width))

    def table(self, source: Source, low: float, high: float) -> Table | float | tuple[float, ...]:
        """One number, a list, or a table; a table of a vector with names may follow the other list."""
        way = self.draw.integers(3)
        if way == 0:
            return self.numbers(1, low, high)[0]
        if way == 1 or source.width == 1:
            return self.numbers(source.width, low, high)
        name, both = f"table_{len(self.tables)}", ("motors", "policy")
        names = self.word(*both) if source.names in both else ""
        self.tables[name] = self.numbers(source.width, low, high), names
        return Table(name)

    def program(self) -> Program:
        return Program(self.fps, tuple(self.given), tuple(self.operations), self.lists, self.tables, self.networks)


def drawn_program(draw: Draw) -> Program:
    """Draw until it has 3 to 12 operations."""
    while True:
        draft = Draft(draw, int(draw.choice(FPS)))
        _draw(draft)
        if 3 <= len(draft.operations) <= 12:
            return draft.program()


def _draw(draft: Draft) -> None:
    draw = draft.draw
    joints = [f"{side}_{part}" for part in PARTS[: int(draw.integers(2, len(PARTS) + 1))] for side in SIDES]
    draft.lists["motors"] = tuple(draw.permutation(joints).tolist())
    draft.lists["policy"] = tuple(draw.permutation(joints).tolist())
    width, rates = len(joints), int(draw.integers(2, 6))
    draft.lists["stick"] = ("forward", "sideways", "turn", "height", "speed")[:rates]
    sensors = [Given("q", width, "motors"), Given("dq", width, "motors"), Given("tilt", 4, kind="quaternion_wxyz"),
               Given("gyro", 3), Given("command", rates, "stick")]  # fmt: skip
    count = int(draw.integers(1, 4))
    chosen = [sensors[place] for place in sorted(draw.choice(len(sensors), count, replace=False))]
    draft.given += chosen
    terms = [_chain(draft, each) for each in chosen]
    has_network = bool(draw.integers(2))
    if has_network and draw.integers(2):
        last = Given("last_action", width, "policy", carried="action")
        draft.given.append(last)
        terms.append(last)
    joined = _joined(draft, terms)
    if has_network:
        joined = _network(draft, joined, width)
    for _ in range(int(draw.integers(0, 3))):
        joined = _unary(draft, joined)
    if joined.names == "policy" and draw.integers(2):
        joined = draft.add("select", (joined.name,), width, "motors", take="motors")
    if joined.names and draw.integers(3) == 0:
        draft.like("constant", joined, value=draft.table(joined, 5.0, 90.0))


def _chain(draft: Draft, sensor: Given) -> Source:
    """One to three operations from a sensor on."""
    for is_meant, add in SENSED:
        if is_meant(sensor) and (sensor.kind or draft.draw.integers(3) == 0):
            return add(draft, sensor)
    source: Source = sensor
    if sensor.names == "motors" and draft.draw.integers(3):
        source = draft.add("select", (sensor.name,), sensor.width, "policy", take="policy")
    for _ in range(int(draft.draw.integers(0, 3))):
        source = _unary(draft, source)
    return source


def _turned(draft: Draft, sensor: Given) -> Operation:
    """A vector turned by a quaternion, or by the product of two."""
    draw, of = draft.draw, sensor.name
    if draw.integers(4) == 0:
        draft.given.append(Given("waist", 4, kind="quaternion_wxyz"))
        of = draft.add(
            "compose", (of, "waist"), 4, product=draft.word("first_second", "second_first", "inverse_of_first")
        ).name
    direction = draft.word("forward", "inverse")
    if any(each.name == "gyro" for each in draft.given) and draw.integers(2):
        return draft.add("rotate", (of, "gyro"), 3, direction=direction)
    vector = [(0.0, 0.0, -1.0), (1.0, 0.0, 0.0), draft.numbers(3, -1.0, 1.0)][int(draw.integers(3))]
    return draft.add("rotate", (of,), 3, vector=vector, direction=direction)


def _length(draft: Draft, sensor: Given) -> Operation:
    measure = draft.word("euclidean", "squared", "absolute_sum", "largest")
    return draft.add("norm", (sensor.name,), 1, of_each=3, measure=measure)


def _integrated(draft: Draft, sensor: Given) -> Operation:
    """A place that the command moves, or flags of the command."""
    if draft.draw.integers(2):
        side = draft.word("above", "below")
        return draft.like("threshold", sensor, limit=draft.numbers(1, 0.05, 0.4)[0], side=side)
    draft.given.append(Given("place", sensor.width, sensor.names, carried="place_now"))
    return draft.add("integrate", ("place", sensor.name), sensor.width, sensor.names, name="place_now")


SENSED: tuple[tuple[Callable[[Given], bool], Callable[[Draft, Given], Operation]], ...] = (
    (lambda sensor: bool(sensor.kind), _turned),
    (lambda sensor: sensor.name == "gyro", _length),
    (lambda sensor: sensor.name == "command", _integrated),
)


def _affine(draft: Draft, source: Source) -> Operation:
    scale, constant = draft.table(source, 0.1, 2.5), draft.table(source, -0.9, 0.9)
    ways: tuple[dict[str, object], ...] = (
        {"scale": scale}, {"scale": scale, "offset": constant}, {"subtract": constant, "scale": scale}, {"subtract": constant},
    )  # fmt: skip
    return draft.like("affine", source, **ways[int(draft.draw.integers(4))])


def _clip(draft: Draft, source: Source) -> Operation:
    reach = round(float(draft.draw.uniform(0.3, 1.2)), 2)
    return draft.like("clip", source, lowest=-reach, highest=reach)


def _normalise(draft: Draft, source: Source) -> Operation:
    kind = draft.word("normalise", "denormalise")
    return draft.like(kind, source, mean=draft.table(source, -0.8, 0.8), std=draft.table(source, 0.3, 2.0))


def _blend(draft: Draft, source: Source) -> Operation:
    shape = (source.width, source.names)
    others = [
        each for each in draft.program().vectors.values()
        if (each.width, each.names) == shape and each.name != source.name and not getattr(each, "carried", "")
    ]  # fmt: skip
    if not others:
        return _affine(draft, source)
    other = others[int(draft.draw.integers(len(others)))]
    return draft.add("blend", (source.name, other.name), *shape, weights=draft.numbers(2, 0.2, 1.5))


UNARY: tuple[Callable[[Draft, Source], Operation], ...] = (
    _affine, _affine, _affine, _clip, _normalise, _blend,
    lambda draft, source: draft.like("difference", source, span="backward", rate=draft.word("per_second", "per_frame")),
    lambda draft, source: draft.like("squash", source, function="tanh"),
    lambda draft, source: draft.like("shift", source, frames=-1),
)  # fmt: skip


def _unary(draft: Draft, source: Source) -> Operation:
    return UNARY[int(draft.draw.integers(len(UNARY)))](draft, source)


def _joined(draft: Draft, terms: list[Source]) -> Source:
    """The terms as one vector, with a history of two to four frames or without one."""
    names = tuple(dict.fromkeys(each.name for each in terms))
    width = sum({each.name: each.width for each in terms}.values())
    if not draft.draw.integers(2):
        return draft.add("concatenate", names, width) if len(names) > 1 else terms[0]
    length = int(draft.draw.integers(2, 5))
    layout = draft.word("term_major", "frame_major", "channel_major")
    order, start = draft.word("oldest_first", "newest_first"), draft.word("first", "zeros")
    return draft.add("history", names, width * length, length=length, layout=layout, order=order, start=start)


def _network(draft: Draft, joined: Source, width: int) -> Operation:
    draw, hidden = draft.draw, int(draft.draw.integers(6, 25))
    draft.networks["action"] = Layers(
        draw.normal(0.0, 1.2 / np.sqrt(joined.width), (joined.width, hidden)).astype(np.float32),
        draw.normal(0.0, 0.3, hidden).astype(np.float32),
        draw.normal(0.0, 1.2 / np.sqrt(hidden), (hidden, width)).astype(np.float32),
        draw.normal(0.0, 0.3, width).astype(np.float32),
    )
    return draft.add("network", (joined.name,), width, "policy", name="action")


def drawn_inputs(program: Program, draw: Draw) -> Mapping[str, Rows]:
    """60 to 150 frames of every given vector: slow waves, steps, and noise on some; quaternions of length 1."""
    frames = int(draw.integers(60, 151))
    driven, carried = ([each for each in program.given if bool(each.carried) == is_it] for is_it in (False, True))
    rows = {each.name: _quaternions(frames, draw) if each.kind else _waves(frames, each.width, draw) for each in driven}
    return rows | {each.name: np.zeros((frames, each.width), np.float32) for each in carried}


def _waves(frames: int, width: int, draw: Draw) -> Rows:
    time = np.arange(frames)[:, None] / 50.0
    rows = np.zeros((frames, width))
    for _ in range(3):
        size, speed, phase = draw.uniform(0.2, 0.8, width), draw.uniform(0.5, 9.0, width), draw.uniform(0.0, 6.3, width)
        rows = rows + size * np.sin(speed * time + phase)
    rows = rows + draw.uniform(-0.3, 0.3, width)
    if draw.integers(2):
        rows = rows + draw.normal(0.0, 0.05, (frames, width))
    if draw.integers(3) == 0:
        rows = rows + np.where(np.arange(frames)[:, None] > frames // 2, draw.uniform(-0.5, 0.5, width), 0.0)
    return np.asarray(rows, np.float32)


def _quaternions(frames: int, draw: Draw) -> Rows:
    rows = _waves(frames, 4, draw).astype(float) * [0.2, 0.6, 0.6, 0.6] + [1.0, 0.0, 0.0, 0.0]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def drawn_recorded(program: Program, draw: Draw) -> tuple[str, ...]:
    """Which vectors are recorded: all, most, or the inputs, what the network takes and gives, what is fed back, the last ones."""
    used = {name for each in program.operations for name in each.of}
    needed = {each.name for each in program.operations} - used | {each.carried for each in program.given}
    needed |= {name for own in program.networks for name in (own, *program.operation(own).of)}
    given = [each.name for each in program.given if not each.carried]
    share = (1.0, 0.7, 0.0)[int(draw.integers(3))]
    return (*given, *(each.name for each in program.operations if each.name in needed or draw.random() < share))


Columns = Mapping[str, Rows]


def variant(seed: int) -> tuple[str, Program, Columns]:
    """A variant by its seed: its name, the program, and the columns of the recording."""
    draw = np.random.default_rng([seed, 1])
    program = drawn_program(draw)
    name = tuple(VARIANTS)[seed % len(VARIANTS)]
    inputs = drawn_inputs(program, draw)
    recorded = drawn_recorded(program, draw)
    values = VARIANTS[name](program, inputs, draw)
    return name, program, {each: rows for each, rows in values.items() if each in recorded or each == "battery"}


def _floats(program: Program, inputs: Columns, _draw: Draw) -> Columns:
    return run(program, inputs, floating=np.float32)


def _changed(
    change: Callable[[Rows, Draw], Rows], *, all_of_them: bool = False
) -> Callable[[Program, Columns, Draw], Columns]:
    """Every column recorded otherwise, or the quaternions, which the engine reads as they are: the same rotation."""

    def made(program: Program, inputs: Columns, draw: Draw) -> Columns:
        values = _floats(program, inputs, draw)
        if all_of_them:
            return {name: change(rows, draw) for name, rows in values.items()}
        turned = [each.name for each in program.given if each.kind]
        return {**values, **{name: change(values[name], draw).astype(np.float32) for name in turned}}

    return made


def _reordered_sums(program: Program, inputs: Columns, draw: Draw) -> Columns:
    """The network's sums in another order: its inputs and hidden numbers stand otherwise in memory."""
    networks = {}
    for name, own in program.networks.items():
        order = draw.permutation(len(own.first_bias))
        networks[name] = Layers(own.first[:, order], own.first_bias[order], own.second[order], own.second_bias)
    return _floats(replace(program, networks=networks), inputs, draw)


def _cut(program: Program, inputs: Columns, draw: Draw) -> Columns:
    frames = int(draw.integers(5, 40))
    return {name: rows[:frames] for name, rows in _floats(program, inputs, draw).items()}


def _with_a_column(program: Program, inputs: Columns, draw: Draw) -> Columns:
    columns = _floats(program, inputs, draw)
    return {**columns, "battery": draw.normal(size=(len(next(iter(columns.values()))), 1)).astype(np.float32)}


VARIANTS: Mapping[str, Callable[[Program, Columns, Draw], Columns]] = {
    "float32 throughout": _floats,
    "float64 between stores": lambda program, inputs, _draw: run(program, inputs),
    "other order of summation": _reordered_sums,
    "q and -q": _changed(lambda rows, draw: rows * draw.choice([-1.0, 1.0], (len(rows), 1))),
    "quaternion normalised once more": _changed(lambda rows, _: rows / np.linalg.norm(rows, axis=1, keepdims=True)),
    "fewer frames": _cut,
    "columns that nobody declared": _with_a_column,
    "written as float64": _changed(lambda rows, _: rows.astype(np.float64), all_of_them=True),
}
