"""Formula: numbers by arithmetic that a system's page writes down; each reading of a convention is another formula.

A formula is arithmetic (+ - * / @), parts (`p[3:]`, `mesh[::-1, :]`), and the functions below. It is read as a tree and never
executed. Its bound is a running error analysis: what every step rounds, carried through the steps behind it (Higham, Accuracy
and Stability of Numerical Algorithms, 3.3). To add a function: a row in `MOVES`, or in `COMPUTES` with what it rounds.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.fields import measure_of_given
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong, unknown
from rigpact.contract.skeleton import forward_kinematics
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.geometry import (
    EULER,
    TRIPLES,
    exponential,
    matrix_to_quat,
    to_matrix,
    turn_about,
    unit,
)
from rigpact.reference_runtime.operations.scalars import FUNCTIONS, LENGTHS, UNIT_ROUNDOFF, gamma, stored
from rigpact.reference_runtime.vocabulary.building import wide
from rigpact.reference_runtime.vocabulary.rigs import chained_error, judged

_EULER = 64
"""Roundings of an Euler angle: of a matrix of ten products, and of an arc tangent."""


@dataclass(frozen=True, eq=False)
class Value:
    """Numbers, and how far two correct float32 implementations may be apart in them: of one shape; None where nobody asks."""

    numbers: FloatArray
    error: FloatArray | None


Named = Callable[[str], Value]
Formula = Callable[[Named, bool], Value]
"""What its names are, and whether the error is asked for -> the value."""


def _matrix_error(a: FloatArray, b: FloatArray, ea: FloatArray, eb: FloatArray) -> FloatArray:
    size = np.abs(b)
    return np.asarray(np.abs(a) @ eb + ea @ (size + eb) + gamma(b.shape[-2] + 1) * (np.abs(a) @ size))


_U = UNIT_ROUNDOFF
ARITHMETIC: Mapping[type, tuple[Callable[..., Any], Callable[..., FloatArray]]] = {
    ast.Add: (np.add, lambda a, b, ea, eb: ea + eb + _U * np.abs(a + b)),
    ast.Sub: (np.subtract, lambda a, b, ea, eb: ea + eb + _U * np.abs(a - b)),
    ast.Mult: (np.multiply, lambda a, b, ea, eb: np.abs(a) * eb + ea * (np.abs(b) + eb) + _U * np.abs(a * b)),
    ast.Div: (
        np.divide,
        lambda a, b, ea, eb: (ea + np.abs(a / b) * eb) / np.maximum(np.abs(b) - eb, 0.0) + _U * np.abs(a / b),
    ),
    ast.MatMult: (np.matmul, _matrix_error),
}
"""What is computed of both sides, and its error, of both sides and their errors."""
MOVES: Mapping[str, Callable[..., FloatArray]] = {
    **{f"by_{size}": partial(lambda size, rows: rows.reshape(len(rows), -1, size), size) for size in (3, 4, 6, 7)},
    "transposed": lambda rows: np.swapaxes(rows, -1, -2),
    "join": lambda *parts: np.concatenate([each.reshape(len(each), -1) for each in parts], axis=1),
    "beside": lambda *parts: np.concatenate(parts, axis=-1),
    "stacked": lambda *parts: np.concatenate(parts, axis=-3),
    "column": lambda rows: rows[..., None],
    "for_each": lambda matrices: matrices[:, None],
}
"""Functions that only move numbers: by_3 makes rows of three, join lays vectors end to end, beside their rows, stacked matrices
of several joints; for_each is a matrix beside those of joints."""
_LENGTH_ERRORS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "euclidean": lambda _rows, error: LENGTHS["euclidean"](error),
    "squared": lambda rows, error: np.sum((2.0 * np.abs(rows) + error) * error, axis=-1),
    "absolute_sum": lambda _rows, error: LENGTHS["absolute_sum"](error),
    "largest": lambda _rows, error: LENGTHS["largest"](error),
}


def _length_error(name: str, rows: FloatArray, error: FloatArray) -> FloatArray:
    return np.asarray(_LENGTH_ERRORS[name](rows, error) + gamma(rows.shape[-1] + 5) * LENGTHS[name](rows))


def _to_quaternions(_half: FloatArray, error: FloatArray) -> FloatArray:
    return np.asarray(np.repeat(error.sum(axis=-1, keepdims=True) + gamma(16), 4, axis=-1))


def _to_matrix(quaternions: FloatArray, error: FloatArray) -> FloatArray:
    size = np.sqrt(np.sum(quaternions**2, axis=-1))
    return np.broadcast_to((4.0 * error.sum(axis=-1) / size + gamma(16))[..., None, None], (*size.shape, 3, 3))


def _to_angles(order: str, matrix: FloatArray, error: FloatArray) -> FloatArray:
    """Near a quarter turn of the middle angle, the error of the outer two is u divided by its cosine.

    An engine multiplies the matrix up in float32, six roundings for each of nine bones and the armature.
    """
    angles = EULER[order][1](matrix)
    steady = np.maximum(np.abs(np.cos(angles[..., 1:2])), gamma(_EULER))
    found = (gamma(_EULER) * (1.0 + np.pi) + 2.0 * error.max(axis=(-1, -2))[..., None]) / steady
    return np.broadcast_to(found, angles.shape)


def _of_triple(triple: str, angles: FloatArray, error: FloatArray) -> FloatArray:
    """An angle close to ±π can have either sign, and of two triples with one sum, 270 degrees, a side may tell either: a turn."""
    found = TRIPLES[triple](angles)
    is_tie = np.abs(np.abs(found).sum(axis=-1, keepdims=True) - 1.5 * np.pi) < 4.0 * error.sum(axis=-1, keepdims=True)
    return np.where(is_tie | (np.pi - np.abs(found) < 4.0 * error), 2.0 * np.pi + 1e-5, error)


def _of_parents(numbers: FloatArray, parents: FloatArray, at_root: float = 1.0) -> FloatArray:
    """Of each joint what its parent has; of the root its own place, or the matrix of no turn."""
    found = np.array(numbers[np.maximum(parents, 0).astype(int)])
    if found.ndim == 3:
        found[parents < 0] = at_root * np.eye(3)
    return found


def _looked_up(rows: FloatArray, table: FloatArray) -> FloatArray:
    """The entry of a table for each number; what is no place of it stays as it is."""
    known = (rows == np.round(rows)) & (rows >= 0) & (rows < len(table))
    return np.where(known, table[np.where(known, rows, 0).astype(int)], rows)


def _heads(parents: FloatArray, ways: FloatArray, own: FloatArray, start: FloatArray) -> FloatArray:
    return forward_kinematics(parents.astype(int).tolist(), own, ways.reshape(-1, 3), start)[0]


def _heads_error(
    parents: FloatArray, ways: FloatArray, own: FloatArray, start: FloatArray, *errors: FloatArray
) -> FloatArray:
    _, of_ways, of_own, of_start = errors
    places, rows = _heads(parents, ways, own, start), LENGTHS["euclidean"](of_ways.reshape(-1, 3))
    own_error = np.sqrt(np.sum(of_own**2, axis=(-1, -2)))
    found = chained_error(parents.astype(int).tolist(), own, own_error, ways.reshape(-1, 3), rows, places)
    return np.asarray(found[..., None] + of_start.max())


def _centre(points: FloatArray) -> FloatArray:
    return np.asarray(points.mean(axis=-2, keepdims=True))


def _mean(points: FloatArray) -> FloatArray:
    return np.asarray(points.mean(axis=(-1, -2), keepdims=True))


COMPUTES: Mapping[str, tuple[Callable[..., FloatArray], Callable[..., FloatArray]]] = {
    "centre": (_centre, lambda rows, error: _centre(error + gamma(rows.shape[-2] + 1) * np.abs(rows))),
    "mean": (_mean, lambda rows, error: _mean(error + gamma(rows.shape[-1] * rows.shape[-2] + 1) * np.abs(rows))),
    "sqrt": (np.sqrt, lambda rows, error: np.sqrt(rows) * (1.0 + gamma(4)) - np.sqrt(np.maximum(rows - error, 0.0))),
    "abs": (np.abs, lambda _rows, error: error),
    "maximum": (np.maximum, lambda _a, _b, error, other: np.maximum(error, other)),
    "minimum": (np.minimum, lambda _a, _b, error, other: np.maximum(error, other)),
    "picked": (lambda place, *others: others[int(place)], lambda place, *rest: rest[len(rest) // 2 + int(place)]),
    "looked_up": (_looked_up, lambda rows, _table, error, _none: error + 0.0 * rows),
    "quaternions": (exponential, _to_quaternions),
    "matrix": (lambda quaternions: to_matrix(unit(quaternions)), _to_matrix),
    "straight": (lambda matrix: to_matrix(matrix_to_quat(matrix)), lambda _matrix, error: 4.0 * error + gamma(16)),
    "euler_xyz": (EULER["xyz_rad"][1], partial(_to_angles, "xyz_rad")),
    "euler_zyx": (EULER["XYZ_rad"][1], partial(_to_angles, "XYZ_rad")),
    **{triple: (apply, partial(_of_triple, triple)) for triple, apply in TRIPLES.items()},
    "of_parents": (_of_parents, lambda _n, parents, error, _none: _of_parents(error, parents, 0.0)),
    "heads": (_heads, _heads_error),
    "sigmoid": (FUNCTIONS["sigmoid"], lambda rows, error: 0.25 * error + gamma(8) * FUNCTIONS["sigmoid"](rows)),
    **{name: (measure, partial(_length_error, name)) for name, measure in LENGTHS.items()},
    **{
        f"about_{axis}": (
            partial(lambda place, angle: turn_about(place, angle[..., 0]), place),
            lambda _angle, error: error[..., None] + gamma(8),
        )
        for place, axis in enumerate("xyz")
    },
}
"""Other functions, and their errors of their arguments and the errors of these; euclidean and its like of rows, about_x a matrix
of an angle, centre and mean of all points and of all numbers, quaternions of half a rotation vector, matrix of a quaternion,
euler_xyz angles about fixed axes, heads where joints are along their parents."""


def _index(node: ast.expr) -> Any:
    """A part of a vector, as numpy takes it, of the last axes: a whole number among several takes its axis away."""
    if isinstance(node, ast.Tuple):
        parts = [_index(each)[1] for each in node.elts]
        return ..., *(
            part[0] if isinstance(each, ast.Constant) else part for part, each in zip(parts, node.elts, strict=True)
        )
    if isinstance(node, ast.Slice):
        ends = (None if each is None else ast.literal_eval(each) for each in (node.lower, node.upper, node.step))
        return ..., slice(*ends)
    place = ast.literal_eval(node)
    return ..., [place] if isinstance(place, int) else place


def compiled(node: ast.expr) -> Formula:
    """The formula that a tree is."""
    match node:
        case ast.Name(name):
            return lambda named, _is_bounded: named(name)
        case ast.BinOp(left, operator, right):
            return _computed(*ARITHMETIC[type(operator)], [left, right])
        case ast.Call(ast.Name(name), arguments) if name in MOVES:
            return _computed(MOVES[name], lambda *rest: MOVES[name](*rest[len(rest) // 2 :]), arguments)
        case ast.Call(ast.Name(name), arguments):
            return _computed(*COMPUTES[name], arguments)
        case ast.Subscript(whole, part):
            index = _index(part)
            return _computed(lambda rows: rows[index], lambda _rows, error: error[index], [whole])
    numbers = np.array(ast.literal_eval(node), np.float64)
    exact, kept = constant(numbers, is_bounded=False), constant(numbers, is_bounded=True)
    return lambda _named, is_bounded: kept if is_bounded else exact


def _computed(
    function: Callable[..., FloatArray], error: Callable[..., FloatArray], arguments: Sequence[ast.expr]
) -> Formula:
    """error: of the arguments and their errors."""
    parts = [compiled(each) for each in arguments]

    def value(named: Named, is_bounded: bool) -> Value:  # noqa: FBT001 - as every formula
        values = [part(named, is_bounded) for part in parts]
        numbers = [each.numbers for each in values]
        result = function(*numbers)
        if not is_bounded:
            return Value(result, None)
        found = error(*numbers, *(each.error for each in values))
        return Value(result, np.broadcast_to(found, np.shape(result)))

    return value


def constant(numbers: FloatArray, *, is_bounded: bool) -> Value:
    """A number that a side keeps as float32."""
    return Value(numbers, np.abs(numbers - numbers.astype(np.float32)) if is_bounded else None)


@dataclass(frozen=True, eq=False)
class _Formulas:
    """One use: what its names mean."""

    use: Use
    names: dict[str, Choice] = field(default_factory=dict)

    def value(self, frames: Frames, formula: Formula, *, is_bounded: bool = False) -> Value:
        """The numbers of a formula, with their error where it is asked for."""
        known: dict[str, Value] = {}

        def named(name: str) -> Value:
            if name not in known:
                known[name] = found(name)
            return known[name]

        def found(name: str) -> Value:
            if name in self.names:
                chosen: Formula = self.names[name].of(frames)
                return chosen(named, is_bounded)
            if name in self.use.numbers:
                return constant(np.asarray(frames.numbers[self.use.numbers[name].path]), is_bounded=is_bounded)
            rows = wide(frames, name)
            # a side may compute with what it has before it is stored as float32 for the recording
            return Value(rows, _U * np.abs(rows) if is_bounded else None)

        with np.errstate(all="ignore"):
            return formula(named, is_bounded)

    def rows(self, frames: Frames, formula: Formula, of: str = "") -> FloatArray:
        """A result of this many frames, (N, width)."""
        count = len(frames[of or self.use.inputs[0].name])
        return stored(self.value(frames, formula).numbers.reshape(count, -1))

    def parsed(self, key: str, text: str) -> Formula:
        """The formula; Misdeclared for what is none, and for a name that nothing has."""
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise self.use.wrong(Wrong.CHOICE, key, text, f"a formula ({error.msg})") from None
        table, inputs = self.use.table, [each.name for each in self.use.inputs]
        own = (*table.get("let", ()), *table.get("readings", ()), *inputs, self.use.stage, *self.use.numbers)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in (*own, *MOVES, *COMPUTES):
                raise unknown(
                    self.use.at(key), node.id, own, "a name that the formulas, the contract or the stage have"
                )
        return compiled(tree)


def _formula(use: Use) -> Built:
    """What `is` says, of the vectors in `of`, the contract's numbers, and what `let` and `readings` give names."""
    formulas, readings = _Formulas(use), use.table.get("readings", {})
    names = formulas.names
    names |= {key: Choice(formulas.parsed(key, text)) for key, text in use.table.get("let", {}).items()}
    use.code = {key: {word: CodeHint(*row[1:]) for word, row in rows.items()} for key, rows in readings.items()}
    for key, rows in readings.items():
        effects = {word: formulas.parsed(key, row[0]) for word, row in rows.items()}
        names[key] = use.knob(key, effects, f"the {key} of {use.stage}")
    told, back = (formulas.parsed(key, use.table.get(key, "0")) for key in ("is", "undone"))
    layout = use.declared or use.inputs[0].fields

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """What all steps lead to; the result is stored on both sides."""
        error = formulas.value(frames, told, is_bounded=True).error
        return np.asarray(error).reshape(rows.shape) + gamma(2) * np.abs(rows, dtype=np.float64)

    return Built(
        layout,
        lambda frames: formulas.rows(frames, told),
        bound,
        measure=measure_of_given(layout),
        undone=(lambda frames: formulas.rows(frames, back, use.stage)) if "undone" in use.table else None,
        judged=judged if use.table.get("judges") == "labels" else None,
        details=lambda frames: lambda name: formulas.value(frames, compiled(ast.Name(name))).numbers,
    )


FORMULA = Operation(
    "formula",
    "numbers by arithmetic that a page writes down",
    _formula,
    {
        "is": "the formula of the result",
        "let": "names of formulas",
        "readings": "conventions, each reading a formula, a line of C++, one of Python, and what to look for",
        "undone": "the formula of the one input, of the result",
        "judges": "labels: a data set of this rig is judged by where these places are",
    },
    (1, 8),
    only_on_pages=True,
)
