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
    return name, program, VARIANTS[name](program, inputs, drawn_recorded(program, draw), draw)


def _recorded(values: Columns, names: tuple[str, ...]) -> Columns:
    return {name: values[name] for name in names}


def _quaternions(program: Program, inputs: Columns, names: tuple[str, ...], change: Callable[[Rows], Rows]) -> Columns:
    """The engine reads the quaternion as it is and records it otherwise: the same rotation."""
    values = run(program, inputs, floating=np.float32)
    turned = {each.name: change(values[each.name]).astype(np.float32) for each in program.given if each.kind}
    return _recorded(values | turned, names)


def _reordered_sums(program: Program, inputs: Columns, names: tuple[str, ...], draw: Draw) -> Columns:
    """The network's sums in another order: its inputs and hidden numbers stand otherwise in memory."""
    networks = {}
    for name, own in program.networks.items():
        order = draw.permutation(len(own.first_bias))
        networks[name] = Layers(own.first[:, order], own.first_bias[order], own.second[order], own.second_bias)
    return _recorded(run(replace(program, networks=networks), inputs, floating=np.float32), names)


def _cut(values: Columns, frames: int) -> Columns:
    return {name: rows[:frames] for name, rows in values.items()}


def _floats(program: Program, inputs: Columns, names: tuple[str, ...]) -> dict[str, Rows]:
    return dict(_recorded(run(program, inputs, floating=np.float32), names))


def _with_a_column(columns: dict[str, Rows], draw: Draw) -> Columns:
    """Another vector in the file, which no contract declares."""
    frames = len(next(iter(columns.values())))
    return {**columns, "battery": draw.normal(size=(frames, 1)).astype(np.float32)}


def _signs(rows: Rows, draw: Draw) -> Rows:
    signs: Rows = draw.choice([-1.0, 1.0], (len(rows), 1))
    return rows * signs


VARIANTS: Mapping[str, Callable[[Program, Columns, tuple[str, ...], Draw], Columns]] = {
    "float32 throughout": lambda program, inputs, names, _draw: _floats(program, inputs, names),
    "float64 between stores": lambda program, inputs, names, _draw: _recorded(run(program, inputs), names),
    "other order of summation": _reordered_sums,
    "q and -q": lambda program, inputs, names, draw: _quaternions(
        program, inputs, names, lambda rows: _signs(rows, draw)
    ),
    "quaternion normalised once more": lambda program, inputs, names, _draw: _quaternions(
        program, inputs, names, lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)
    ),
    "fewer frames": lambda program, inputs, names, draw: _cut(
        _floats(program, inputs, names), int(draw.integers(5, 40))
    ),
    "columns that nobody declared": lambda program, inputs, names, draw: _with_a_column(
        _floats(program, inputs, names), draw
    ),
    "written as float64": lambda program, inputs, names, _draw: {
        name: rows.astype(np.float64) for name, rows in _floats(program, inputs, names).items()
    },
}
