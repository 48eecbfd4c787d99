"""A generator that is evaluated after its loop sees the loop variable's last value. No module may hold such a one.

ruff's B023 sees functions and lambdas; a generator inside a generator has the same fault and is not seen there.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..sources import parsed

ROOT = Path(__file__).parents[2]
ROOMS = ("contract", "reference_runtime", "fixtures", "reports")
LAZY = {"map", "zip", "filter", "iter", "enumerate", "chain", "islice"}
"""Functions that take an iterator and do not use it up."""
LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.For)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, kind)}


def _bound(loop: ast.AST) -> set[str]:
    targets = [loop.target] if isinstance(loop, ast.For) else [each.target for each in loop.generators]
    return set().union(*(_names(each, ast.Store) for each in targets))


def _is_used_up(made: ast.GeneratorExp, parent: ast.AST) -> bool:
    """Whether what holds the generator reads it to its end before the loop around it goes on."""
    if isinstance(parent, ast.Call):
        called = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
        return called not in LAZY
    if isinstance(parent, ast.Assign):
        return isinstance(parent.targets[0], ast.Tuple)
    return isinstance(parent, (ast.YieldFrom, ast.Starred, ast.Compare)) or getattr(parent, "iter", None) is made


def late_generators(tree: ast.Module) -> Iterator[tuple[int, set[str]]]:
    """Line and loop variables of every generator that may be evaluated after the loop around it has moved on."""
    parents = {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}
    for made in (each for each in ast.walk(tree) if isinstance(each, ast.GeneratorExp)):
        late = _names(made, ast.Load) - _names(made.generators[0].iter, ast.Load) - _bound(made)
        around, node = set[str](), made
        if _is_used_up(made, parents[made]):
            continue
        while node in parents and not isinstance(node, FUNCTIONS):
            came, node = node, parents[node]
            if isinstance(node, LOOPS) and came is not getattr(node, "iter", None):
                around |= _bound(node)
        if late & around:
            yield made.lineno, late & around


@pytest.mark.parametrize(
    "line",
    [
        "exact, bounds = ((getattr(each, name) for each in answers) for name in ('exact', 'bound'))",
        "parts = [(one[place] for one in all) for place in (0, 1)]",
        "pairs = {key: zip(a, (b[key] for b in others)) for key in keys}",
        "for name in names:\n    kept.append((name, (each[name] for each in rows)))",
    ],
)
def test_a_generator_over_a_variable_that_moves_on_is_seen(line):
    """Both halves of an answer then hold its bounds, and an honest engine fails."""
    assert list(late_generators(ast.parse(line)))


@pytest.mark.parametrize(
    "line",
    [
        "parts = [tuple(one[place] for one in all) for place in (0, 1)]",
        "parts = ((each for each in row) for row in rows)",
        "words = ', '.join(each for each in names)",
        "for name in names:\n    first, second = (view[name] for view in views)",
        "for name in names:\n    yield from (view[name] for view in views)",
    ],
)
def test_a_generator_that_is_used_up_at_once_is_allowed(line):
    """A rule that forbids the ordinary is soon switched off."""
    assert not list(late_generators(ast.parse(line)))


def test_no_module_holds_a_generator_that_sees_the_last_value_of_a_loop():
    """The bounds of a network's answer once stood in place of the answer: the gate failed an honest engine."""
    modules = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    assert len(modules) > 100
    found = {str(path.relative_to(ROOT)): list(late_generators(parsed(path))) for path in modules}
    assert not {name: lines for name, lines in found.items() if lines}
