"""No test may pass by doing nothing: a loop, or an `all()`, over what may be empty says nothing where it is."""

import ast
from collections.abc import Iterator

from ..every_case import every_case
from ..sources import parsed
from ..tests_of_modules import ROOT

SAFE_CALLS = {
    "zip", "enumerate", "sorted", "reversed", "list", "tuple", "set", "range", "product", "combinations",
    "permutations",
}  # fmt: skip
"""Not empty where their first argument is not."""


def idle(function: ast.FunctionDef) -> Iterator[tuple[int, str]]:
    """The lines of a test at which it may pass without having compared anything."""
    counted = [ast.unparse(node.test) for node in ast.walk(function) if isinstance(node, ast.Assert)]
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and isinstance(call := node.test, ast.Call) and ast.unparse(call.func) == "all":
            generator = call.args[0]
            loops = generator.generators if isinstance(generator, ast.GeneratorExp | ast.ListComp) else []
            seen = [loop.iter for loop in loops if not loop.ifs] or [generator]
            if not all(_has_some(each) or _is_counted(each, counted) for each in seen) or len(seen) < len(loops):
                yield node.lineno, "all() of what may be empty"
        elif isinstance(node, ast.Continue):
            yield node.lineno, "continue past what is missing"
    if not any(map(_compares, _statements(function.body))):
        yield function.lineno, "every assertion is in a loop that may be empty"


def _is_counted(iterable: ast.expr, asserted: list[str]) -> bool:
    """Whether a test asserts that something is in an iterable, or how much."""
    while isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and not iterable.args:
        iterable = iterable.func.value  # of .values() and .items()
    name = ast.unparse(iterable)
    return any(text == name or text.startswith(f"len({name})") for text in asserted)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run whenever the function ends well."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With | ast.Try) or (isinstance(statement, ast.For) and _has_some(statement.iter)):
            yield from _statements(statement.body)
        elif isinstance(statement, ast.If) and statement.orelse:
            if all(any(map(_compares, _statements(each))) for each in (statement.body, statement.orelse)):
                yield ast.Assert(test=statement.test)
        elif isinstance(statement, ast.Match):
            yield ast.Assert(test=statement.subject)


def _compares(statement: ast.stmt) -> bool:
    """Whether a statement asserts, or calls something that may: everything but a loop or a branch that calls a function."""
    if isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.For | ast.While | ast.If | ast.FunctionDef | ast.Try | ast.Assign | ast.AnnAssign):
        return False
    if isinstance(statement, ast.With):
        return any("raises" in ast.unparse(each) or "warns" in ast.unparse(each) for each in statement.items)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _has_some(iterable: ast.expr) -> bool:
    """Whether something is in an iterable for certain: a literal, a constant of the module, or what is made from one."""
    match iterable:
        case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Constant():
            return (
                bool(ast.literal_eval(iterable))
                if isinstance(iterable, ast.Constant)
                else any(ast.iter_child_nodes(iterable))
            )
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.BinOp(left=left, right=right):
            return _has_some(left) or _has_some(right)
        case (
            ast.Subscript(value=inner)
            | ast.Starred(value=inner)
            | ast.Call(func=ast.Attribute(attr="items" | "values" | "keys" | "split", value=inner))
        ):
            return _has_some(inner)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, *_]):
            return name in SAFE_CALLS and _has_some(first)
    return False


def every_test() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every test function, with its file."""
    for path in sorted((ROOT / "parity_tests").rglob("test_*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield path.relative_to(ROOT).as_posix(), node


BAD = (
    "for x in f(): assert x", "assert all(x for x in f())", "for x in (1,):\n  if x: continue\n  assert x", "a = f()",
    "assert all(x for x in XS if x)", "if f(): assert 1",
)  # fmt: skip
GOOD = (
    "for x in (1, 2): assert x", "assert all(x in f() for x in (1, 2))", "xs = f()\nassert xs\nfor x in xs: assert x",
    "with pytest.raises(E): f()",
    "assert xs\nassert all(x for x in xs.values())", "assert len(xs) == 3\nassert all(xs)",
    "for x in XS: check(x)", "check(f())",
)  # fmt: skip


@every_case("text", [*BAD, *GOOD])
def test_the_lint_tells_them_apart(text: str) -> None:
    """A lint that finds nothing is one, too."""
    (function,) = ast.parse("def test_it():\n" + "".join(f"  {line}\n" for line in text.splitlines())).body
    assert isinstance(function, ast.FunctionDef)
    assert bool(list(idle(function))) is (text in BAD)


def test_no_test_may_do_nothing() -> None:
    """`all()` of an empty list is true, and a loop over a folder that moved compares nothing."""
    found = [f"{file}:{line}: {what}" for file, test in every_test() for line, what in idle(test)]
    assert "\n".join(found) == ""
