"""Nested Python classes that hold a configuration, read from the syntax tree. Nothing is imported and nothing is run.

Values are literals, `-x`, sums and products of them, `int(...)` and names that the same class gave before. Another value stays
out, and is refused with its line when something asks for it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.files.json_text import decoded

MAX_PYTHON_BYTES, MAX_DEPTH, MAX_FOLDED = 1 << 19, 40, 4096
_LARGEST = 1 << 63
"""Of whole numbers: a product of products doubles its digits with every line."""
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class UnreadValue:
    """A value that is not a literal: its line and its text."""

    line: int
    text: str

    def __repr__(self) -> str:
        return f"{self.text} in line {self.line}"


@dataclass(frozen=True)
class ConfigurationClass:
    """A class of a file: the name of its base, its own values and inner classes, where it stands."""

    path: Path
    name: str
    line: int
    base: str | None
    values: Mapping[str, Any]
    inner: Mapping[str, ConfigurationClass]


def read_classes(path: Path) -> dict[str, ConfigurationClass]:
    """The classes of a file by name; UnusableInput with the line where the text is not Python."""
    content = read_bytes(path)
    if len(content) > MAX_PYTHON_BYTES:
        expected = f"at most {MAX_PYTHON_BYTES}: configuration classes"
        raise UnusableInput(path, f"{len(content)} bytes of Python", expected)
    text = decoded(content, path)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UnusableInput(f"{path}:{error.lineno}", f"text that is not Python ({error.msg})", "Python") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnusableInput(path, f"text that is not Python ({error})", "Python") from None
    return {node.name: _class(node, path, 0) for node in tree.body if isinstance(node, ast.ClassDef)}


def _class(node: ast.ClassDef, path: Path, depth: int) -> ConfigurationClass:
    if depth > MAX_DEPTH:
        raise UnusableInput(f"{path}:{node.lineno}", f"more than {MAX_DEPTH} classes in each other", "a configuration")
    values: dict[str, Any] = {}
    inner: dict[str, ConfigurationClass] = {}
    for each in node.body:
        if isinstance(each, ast.ClassDef):
            inner[each.name] = _class(each, path, depth + 1)
        for name, value in _assigned(each):
            values[name] = _value(value, values)
    base = ast.unparse(node.bases[0]) if node.bases else None
    return ConfigurationClass(path, node.name, node.lineno, base, values, inner)


def _assigned(node: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(target.id, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target.id, node.value)]
    return []


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    try:
        return _computed(node, known, 0)
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return UnreadValue(node.lineno, ast.unparse(node)[:60])


def _computed(node: ast.expr, known: Mapping[str, Any], depth: int) -> Any:
    """The value; KeyError or ValueError for what is not a literal and no sum of literals."""
    if depth > MAX_DEPTH:
        raise ValueError
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | bool | None):
        return node.value
    if isinstance(node, ast.Name) and isinstance(known[node.id], int | float | str | bool | None):
        return known[node.id]  # a list by its name would stand in lists of lists as often as one likes
    if isinstance(node, ast.List | ast.Tuple):
        return [_computed(each, known, depth + 1) for each in node.elts]
    if isinstance(node, ast.Dict):
        keys = [each if each is None else _computed(each, known, depth + 1) for each in node.keys]
        return {key: _computed(each, known, depth + 1) for key, each in zip(keys, node.values, strict=True)}
    return _arithmetic(node, known, depth)


def _arithmetic(node: ast.expr, known: Mapping[str, Any], depth: int) -> float:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(_computed(node.operand, known, depth + 1))
    if isinstance(node, ast.BinOp):
        sides = [_number(_computed(each, known, depth + 1)) for each in (node.left, node.right)]
        return _number(_OPERATORS[type(node.op)](*sides))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        return int(_number(_computed(node.args[0], known, depth + 1)))
    raise ValueError


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if isinstance(value, int) and abs(value) >= _LARGEST:
        raise ValueError
    return value


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of a file and of those that it builds on; `folded` gives one with everything that it inherits."""

    known: Mapping[str, ConfigurationClass]
    _folds: Iterator[int] = field(default_factory=count)

    def folded(self, name: str) -> dict[str, Any]:
        """The values of a class as nested tables, inherited ones first; UnusableInput for a base that is in no given file."""
        return self._folded(self.known[name], ())

    def _folded(self, own: ConfigurationClass, seen: tuple[ConfigurationClass, ...]) -> dict[str, Any]:
        if next(self._folds) >= MAX_FOLDED:
            raise UnusableInput(f"{own.path}:{own.line}", f"more than {MAX_FOLDED} classes", "a configuration")
        if own in seen or len(seen) > MAX_DEPTH:
            raise UnusableInput(f"{own.path}:{own.line}", f"the class {own.name} as its own base", "a base before it")
        base = None if own.base is None else self._named(own.base, own)
        table: dict[str, Any] = {} if base is None else self._folded(base, (*seen, own))
        table.update(own.values)
        table.update({name: self._folded(each, (*seen, own)) for name, each in own.inner.items()})
        return table

    def _named(self, dotted: str, own: ConfigurationClass) -> ConfigurationClass | None:
        """The class of a base `A.b.c`, of `A` or of what `A` inherits; None for a base that holds no configuration."""
        first, *rest = dotted.split(".")
        found = self.known.get(first)
        if found is None and first in _NO_CONFIGURATION:
            return None
        for name in rest:
            found = None if found is None else self._inner(found, name)
        if found is None:
            place, hint = f"{own.path}:{own.line}", "give the file of the base class with --builds-on"
            raise UnusableInput(place, f"the base {dotted}", "a class of this file or of --builds-on", hint)
        return found

    def _inner(self, own: ConfigurationClass, name: str) -> ConfigurationClass | None:
        if name in own.inner:
            return own.inner[name]
        base = None if own.base is None else self._named(own.base, own)
        return None if base is None else self._inner(base, name)


_NO_CONFIGURATION = ("BaseConfig", "object")
