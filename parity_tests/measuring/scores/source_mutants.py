"""Mutants of source text: one small change of one module, as a syntax tree that can be run in the module's place.

Not changed are annotations and decorators, texts, `strict=` of `zip`, and the -1 of `reshape`: they compute nothing, only refuse
what never comes, or say "the rest", as every other negative number would.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
"""An order is moved by its boundary, and turned round."""
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
_UNCHANGED = ("annotation", "returns", "decorator_list", "type_params")


@dataclass(frozen=True)
class SourceMutant:
    """One change of a module. scope: the function that it is in; index: which of the module's changes it is."""

    path: str
    line: int
    scope: str
    change: str
    index: int

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.path}:{self.line}"


def mutants_of(source: str, path: str) -> list[SourceMutant]:
    """Every mutant of a module, in the order of its text."""
    tree = ast.parse(source)
    found = [
        SourceMutant(path, getattr(node, "lineno", 1), scope, f"`{_shown(node)}` → `{_shown(other)}`", 0)
        for node, scope in _nodes(tree, "")
        for other in _others(node)
    ]
    return [replace(each, index=index) for index, each in enumerate(found)]


def mutated(source: str, index: int) -> ast.Module:
    """The module with one of its changes."""
    tree, place = ast.parse(source), 0
    for node, _ in _nodes(tree, ""):
        for other in _others(node):
            if place == index:
                _Replaced(node, other).generic_visit(tree)
                return ast.fix_missing_locations(tree)
            place += 1
    raise IndexError(index)


class _Replaced(ast.NodeTransformer):
    """A tree in which one node gives way to another."""

    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self._node, self._other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        """The other node in place of the one."""
        return self._other if node is self._node else self.generic_visit(node)


def _nodes(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node whose change computes something else, with the function around it."""
    for name, value in ast.iter_fields(node):
        if name in _UNCHANGED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_unchanged(child, node):
                inner = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else ""
                yield child, scope
                yield from _nodes(child, f"{scope}.{inner}".strip(".") if inner else scope)


def _is_unchanged(child: ast.AST, parent: ast.AST) -> bool:
    match child:
        case ast.keyword(arg="strict"):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return isinstance(parent, ast.Call) and ast.unparse(parent.func).endswith(".reshape")
    return False


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Compare(ops=[one]):
            yield from (_with(node, ops=[other()]) for other in _COMPARED[type(one)])
        case ast.BinOp(op=op) if type(op) in _COMPUTED and not _is_text(node):
            yield _with(node, op=_COMPUTED[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.If(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare | ast.BoolOp):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool() | int() | float() as value):
            values = [not value] if isinstance(value, bool) else [value + 1, value - 1]
            yield from (_with(node, value=other) for other in values)
        case ast.Call() | ast.Continue():
            yield from _other_words(node)


def _other_words(node: ast.Call | ast.Continue) -> Iterator[ast.AST]:
    """The opposite of a function, and of `continue`."""
    match node:
        case ast.Call(func=ast.Name(id=name) as func) if name in _CALLED:
            yield _with(node, func=_with(func, id=_CALLED[name]))
        case ast.Call(func=ast.Attribute(attr=name) as func) if name in _CALLED:
            yield _with(node, func=_with(func, attr=_CALLED[name]))
        case ast.Continue():
            yield ast.copy_location(ast.Break(), node)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(each, ast.Constant | ast.JoinedStr) and not _is_number(each) for each in (node.left, node.right)
    )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of a node with other fields; its children are the same objects."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _shown(node: ast.AST) -> str:
    """A node on one line, for people; of a statement its condition."""
    text = f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else ast.unparse(node)
    line = " ".join(text.split()).replace("`", "'").replace("|", "∣")
    return line if len(line) <= 70 else f"{line[:67]}…"
