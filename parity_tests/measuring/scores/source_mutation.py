"""A section of docs/evidence.md: how many small changes of rigpact's own source its tests notice.

`python -m parity_tests.measuring.scores.source_mutation [--sample N] [--seed S] [--minutes M] [--only MODULE] [PAGE]` draws N
mutants, as many of each module of the product (all without `--sample`), runs the module's tests on each (tests_of_modules.txt),
in the order in which they were drawn and until the minutes are over, and prints what became of them, or writes it into the page.
Run it in the root of a checkout. Each mutant runs in a process of its own, in which an import hook puts it in the module's
place, and so in every process of Python that its tests start: no file is changed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal

from ...tests_of_modules import ROOT, ROOTS, module_name, tests_of_modules
from ..frame import Score

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


PROCESSOR_S, WAITING = 120, 8
"""A mutant whose tests take so much processor time, or so many times as long, hangs: without it they take half at most."""
PRELOADED = (
    "numpy", "pytest", "hypothesis", "pandas", "onnx", "onnxruntime", "scipy.spatial.transform", "typer",
    "jsonschema",
)  # fmt: skip
"""What every run of tests imports: the processes of the mutants begin with it. Nothing of rigpact is among it."""
Outcome = Literal["killed", "survived"]


@dataclass(frozen=True)
class Judged:
    """A mutant and what became of it."""

    mutant: SourceMutant
    outcome: Outcome


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from one of its mutants."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class _InPlace(importlib.abc.MetaPathFinder):
    """Finds the mutant where the module is asked for."""

    def __init__(self, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = module_name(path), path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The mutant, or nothing of another module."""
        del path, target
        if fullname != self._name:
            return None
        loader = _Loader(fullname, str(self._path), self._code)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def take_place(mutant: SourceMutant) -> None:
    """Let this process import a mutant where its module is asked for."""
    path = ROOT / mutant.path
    code = compile(mutated(path.read_text(encoding="utf-8"), mutant.index), str(path), "exec", dont_inherit=True)
    sys.meta_path.insert(0, _InPlace(path, code))


_STARTED = """import sys
sys.path.insert(0, {root!r})
from parity_tests.measuring.scores.source_mutation import SourceMutant, take_place
sys.path.remove({root!r})
take_place({mutant!r})
"""
"""What a process of Python that a test starts does first: its sitecustomize.py."""


def passes(tests: Iterable[str], mutant: SourceMutant | None = None, processor_s: int = PROCESSOR_S) -> bool:
    """Whether tests pass in a process of their own; one that takes longer than the limits does not."""
    if mutant is not None and module_name(ROOT / mutant.path) in sys.modules:
        raise RuntimeError(f"{module_name(ROOT / mutant.path)} is imported already: no mutant can take its place")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        _be_the_child(tests, mutant, processor_s)
    end = time.monotonic() + WAITING * processor_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _be_the_child(tests: Iterable[str], mutant: SourceMutant | None, processor_s: int) -> None:
    """Run the tests, and end with their exit status."""
    status = 1
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        import resource

        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))
        main = sys.modules["__main__"]  # what asks for mutants is nothing that a process of a test would run again
        main.__spec__, main.__file__ = None, None
        words = "-x -q -p no:cacheprovider -p no:randomly --hypothesis-seed=0"
        with tempfile.TemporaryDirectory() as folder:
            if mutant is not None:
                _let_in(mutant, Path(folder))
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
            status = int(pytest.main([*words.split(), "-m", "not nightly", f"--basetemp={folder}/tests", *tests]))
    finally:
        os._exit(status)


def _let_in(mutant: SourceMutant, folder: Path) -> None:
    """Put a mutant in its module's place, here and in the processes of Python that this one starts."""
    sys.path[:0] = [str(ROOT / root) for root in ROOTS]
    take_place(mutant)
    importlib.import_module(module_name(ROOT / mutant.path))  # before pytest puts its own finder first
    (folder / "sitecustomize.py").write_text(_STARTED.format(root=str(ROOT), mutant=mutant), encoding="utf-8")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def judge(mutant: SourceMutant, tests: Sequence[str]) -> Outcome:
    """Run the tests of a mutant's module on it."""
    return "survived" if passes([f"parity_tests/{name}" for name in tests], mutant) else "killed"


def judge_all(drawn: Sequence[SourceMutant], tests: Mapping[str, Sequence[str]], minutes: float) -> Iterator[Judged]:
    """Judge the mutants in their order, one on each processor, until the minutes are over."""
    end = time.monotonic() + 60.0 * minutes

    def judged(mutant: SourceMutant) -> list[Judged]:
        return [] if time.monotonic() > end else [Judged(mutant, judge(mutant, tests[mutant.path]))]

    with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        for found in side_by_side.map(judged, drawn):
            yield from found


def drawn_mutants(paths: Sequence[str], sample: int | None, seed: int) -> tuple[list[SourceMutant], int]:
    """The mutants to run, in the order drawn: one of each module, then another of each; and how many there are in all."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    every = [mutants_of((ROOT / path).read_text(encoding="utf-8"), path) for path in paths]
    shuffled = [chance.sample(each, len(each)) for each in every]
    chance.shuffle(shuffled)
    in_turn = [mutant for turn in zip_longest(*shuffled) for mutant in turn if mutant is not None]
    return in_turn[:sample], len(in_turn)


def tables(total: int, run: Sequence[Judged]) -> Iterator[str]:
    """Its section of docs/evidence.md."""
    judged = sorted(run, key=lambda each: (each.mutant.path, each.mutant.index))
    killed, tried = sum(each.outcome == "killed" for each in judged), len(judged)
    low, high = wilson(killed, tried)
    yield f"**Killed {killed} of {tried} mutants ({killed / max(tried, 1):.1%}; 95 % interval {low:.0%} to {high:.0%}).**"
    yield f"They are drawn of {total}, of {len({each.mutant.path for each in judged})} modules.\n\n### Survivors\n"
    survivors = (each.mutant for each in judged if each.outcome == "survived")
    yield from (f"- {each.place}{f', {each.scope}' * bool(each.scope)}: {each.change}" for each in survivors)


def wilson(count: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share that was seen `count` times in `of`."""
    of = max(of, 1)
    middle, reach = count + z * z / 2, z * math.sqrt(count * (of - count) / of + z * z / 4)
    return (middle - reach) / (of + z * z), (middle + reach) / (of + z * z)


def main() -> int:
    """Run what was asked for, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="how many mutants are drawn; all if left out")
    parser.add_argument("--seed", type=int, default=0, help="which are drawn")
    parser.add_argument("--minutes", type=float, default=math.inf, help="when to stop; never if left out")
    parser.add_argument("--only", default="", metavar="MODULE", help="of one module, said by the end of its path")
    asked, _ = parser.parse_known_args()
    tests = tests_of_modules()
    drawn, total = drawn_mutants([path for path in tests if path.endswith(asked.only)], asked.sample, asked.seed)
    for name in PRELOADED:
        importlib.import_module(name)

    def ask(given: argparse.Namespace) -> Iterator[Judged]:
        every = sorted({f"parity_tests/{name}" for mutant in drawn for name in tests[mutant.path]})
        if not passes(every, processor_s=3600):
            raise SystemExit("the tests do not pass without a mutant")
        return judge_all(drawn, tests, given.minutes)

    line = lambda each: f"{each.outcome} {each.mutant.place} {each.mutant.change}"  # noqa: E731
    return Score("source mutation", ask, line, partial(tables, total)).main(parser)


if __name__ == "__main__":
    sys.exit(main())
