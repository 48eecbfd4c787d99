"""A formula stands once: operations, vocabulary and systems import it, and none writes it again.

Three nets, from fine to coarse: two functions with one body, whatever their names; the shape of a known formula, in one module
only; numpy's trigonometry and its like, in the modules that define with it.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ..sources import nodes

ROOMS = ("operations", "vocabulary", "systems")
_LEAST_WORK = 2
"""Operators and calls of a function that says something; `lambda rows: rows` may stand anywhere."""
_WORK = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare)


def _modules(checkout: Path) -> Iterator[tuple[str, tuple[ast.AST, ...]]]:
    root = checkout / "reference_runtime" / "rigpact" / "reference_runtime"
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            yield path.relative_to(root).as_posix(), nodes(path)


# ---- two functions with one body


class _Renamed(ast.NodeTransformer):
    """Local names by the order in which they come."""

    def __init__(self, own: set[str]) -> None:
        self.own, self.names = own, dict[str, str]()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        new = self.names.setdefault(node.id, f"v{len(self.names)}") if node.id in self.own else node.id
        return ast.Name(new, node.ctx)


def _body(function: ast.FunctionDef | ast.Lambda) -> ast.Module:
    """A copy of what a function does, without docstring and annotations."""
    if isinstance(function, ast.Lambda):
        return ast.parse(ast.unparse(function.body))
    kept = [line for line in function.body if not isinstance(getattr(line, "value", None), ast.Constant)]
    return ast.parse(ast.unparse(ast.Module(kept, [])))


def _canonical(function: ast.FunctionDef | ast.Lambda) -> str | None:
    """What a function does, whatever its local names; None where it does nearly nothing."""
    body, parts = _body(function), function.args
    own = {each.arg for each in (*parts.posonlyargs, *parts.args, *parts.kwonlyargs)}
    own |= {node.id for node in ast.walk(body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    work = sum(isinstance(node, _WORK) for node in ast.walk(body))
    return ast.dump(_Renamed(own).visit(body)) if work >= _LEAST_WORK else None


def test_no_function_is_written_in_two_modules(checkout: Path) -> None:
    """A slip that is mended in one copy stays in the other: a hosted system and a declared contract disagree about one number."""
    places = defaultdict(set)
    for name, module in _modules(checkout):
        for node in module:
            if isinstance(node, ast.FunctionDef | ast.Lambda) and (what := _canonical(node)) is not None:
                places[what].add(name)
    assert [sorted(names) for names in places.values() if len(names) > 1] == []


# ---- the shape of a formula


def _is_number(node: ast.AST, value: float) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _numbers(node: ast.AST) -> list[object]:
    """The numbers of a list or a tuple of numbers, signs included."""
    try:
        return list(ast.literal_eval(node)) if isinstance(node, ast.List | ast.Tuple) else []
    except ValueError:
        return []


def _binary(node: ast.AST, kind: type[ast.operator]) -> tuple[ast.expr, ast.expr] | None:
    return (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, kind) else None


def _names(node: ast.AST, *words: str) -> bool:
    """Whether the expression speaks of one of these: `self._mean[place]` speaks of a mean."""
    text = ast.unparse(node).lower()
    return any(word in text for word in words)


def _is_zscore(node: ast.AST) -> bool:
    quotient = _binary(node, ast.Div)
    difference = quotient and _binary(quotient[0], ast.Sub)
    return bool(difference and _names(difference[1], "mean", "summand"))


def _is_undone_zscore(node: ast.AST) -> bool:
    total = _binary(node, ast.Add)
    scaled = total and _binary(total[0], ast.Mult)
    return bool(total and scaled and _names(total[1], "mean") and _names(scaled[1], "std"))


def _is_matrix_of_quaternion(node: ast.AST) -> bool:
    """1 - 2 (y y + z z)."""
    difference = _binary(node, ast.Sub)
    twice = difference and _binary(difference[1], ast.Mult)
    squares = twice and _binary(twice[1], ast.Add)
    found = bool(difference and twice and _is_number(difference[0], 1) and _is_number(twice[0], 2) and squares)
    return found and all(each is not None for each in (_binary(side, ast.Mult) for side in squares or ()))


def _is_length(node: ast.AST) -> bool:
    """sqrt(sum(x ** 2))."""
    return (
        isinstance(node, ast.Call) and ast.unparse(node).startswith("np.sqrt(np.sum(") and "** 2" in ast.unparse(node)
    )


def _is_sigmoid(node: ast.AST) -> bool:
    """1 / (1 + exp(-x))."""
    quotient = _binary(node, ast.Div)
    return bool(quotient and _is_number(quotient[0], 1) and ast.unparse(quotient[1]).startswith("1.0 + np.exp(-"))


DEFINITIONS = "operations/definitions/"
SHAPES: Mapping[str, tuple[Callable[[ast.AST], bool], set[str]]] = {
    # the formula, and the modules in which it may stand
    "z-score": (_is_zscore, {DEFINITIONS + "scaling.py"}),
    "z-score undone": (_is_undone_zscore, {DEFINITIONS + "scaling.py"}),
    "sigmoid": (_is_sigmoid, {DEFINITIONS + "scaling.py"}),
    "length of a vector": (_is_length, {DEFINITIONS + "scaling.py", DEFINITIONS + "quaternions.py"}),
    "matrix of a quaternion": (_is_matrix_of_quaternion, {DEFINITIONS + "quaternions.py"}),
    "conjugate": (lambda node: _numbers(node) == [-1, -1, -1, 1], {DEFINITIONS + "quaternions.py"}),
    "order of components": (lambda node: _numbers(node) in ([3, 0, 1, 2], [1, 2, 3, 0]), {DEFINITIONS + "quaternions.py"}),
}  # fmt: skip


@pytest.mark.parametrize("formula", SHAPES)
def test_a_formula_stands_in_one_place(formula: str, checkout: Path) -> None:
    """Two definitions of one formula drift apart, and then the tool itself has the bug that it looks for."""
    is_formula, homes = SHAPES[formula]
    found = {name for name, module in _modules(checkout) if any(map(is_formula, module))}
    assert found == homes


# ---- what formulas are made of

HOMES: Mapping[str, set[str]] = {
    # numpy's functions that make a formula of rotations or of a squash, and every module that calls them
    "cross": set(),  # geometry.cross
    "arccos": set(),
    "sinc": set(),
    "arcsin": {DEFINITIONS + "scaling.py"},
    "arctan2": {DEFINITIONS + "euler.py", "operations/geometry.py"},
    "hypot": {
        DEFINITIONS + "euler.py",
        "operations/rotation_bounds.py",  # a bound
        "systems/enemy_animation/ground_contacts.py",  # a distance in the plane, of one foot
    },
    "sin": {
        DEFINITIONS + "euler.py", DEFINITIONS + "quaternions.py",
        "systems/enemy_animation/ground_contacts.py",  # a heading in the plane, in a loop
        "systems/enemy_animation/investigating/ideal.py",  # a known error, planted
        "vocabulary/positional_table.py",  # the table of a positional encoding
        "vocabulary/timing/phase_clock.py",  # a gait's phase
    },
    "cos": {
        DEFINITIONS + "euler.py", DEFINITIONS + "quaternions.py",
        "systems/enemy_animation/ground_contacts.py",
        "vocabulary/rigs/effector_context.py",  # a bound: the slope near a pole
        "vocabulary/positional_table.py",
        "vocabulary/timing/phase_clock.py",
    },
    "tanh": {DEFINITIONS + "scaling.py"},
    "arctanh": {DEFINITIONS + "scaling.py"},
    "logaddexp": {DEFINITIONS + "scaling.py"},
    "expm1": {DEFINITIONS + "scaling.py"},
    "log": {DEFINITIONS + "scaling.py"},
    "exp": {
        DEFINITIONS + "scaling.py",
        "vocabulary/timing/played.py",  # the weights of overlapping chunks
        "systems/enemy_animation/ground_contacts.py",  # a turn of a complex number
        "systems/enemy_animation/investigating/faults.py",  # a planted mistake
    },
}  # fmt: skip


@pytest.mark.parametrize("function", HOMES)
def test_what_formulas_are_made_of_is_called_where_they_are_defined(function: str, checkout: Path) -> None:
    """Euler angles in another spelling have another body; they still call arctan2."""
    found = {
        name
        for name, module in _modules(checkout)
        if any(isinstance(node, ast.Attribute) and ast.unparse(node) == f"np.{function}" for node in module)
    }
    assert found == HOMES[function]
