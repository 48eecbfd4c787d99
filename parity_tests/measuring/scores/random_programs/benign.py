"""Variants of a run without a mistake, as another correct engine computes or writes them. None of them is to raise an alarm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from .drawing import Draw, drawn_inputs, drawn_program, drawn_recorded
from .interpreter import run
from .program import Layers, Program, Rows

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
