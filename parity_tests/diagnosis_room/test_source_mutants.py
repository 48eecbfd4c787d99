"""Mutation of the source: what is changed, and that the changed module is the one that tests import."""

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .. import tests_of_modules
from ..every_case import every_case
from ..measuring.scores.source_mutation import mutants_of, mutated, passes
from ..sources import parsed
from ..tests_of_modules import ROOT, chosen_tests, module_name

SLIPS = "contract/rigpact/contract/json_pointer.py"
CHANGES = {
    "a < b": ["a <= b", "a >= b"], "a == b": ["a != b"], "a in b": ["a not in b"], "a + b": ["a - b"], "a / b": ["a * b"],
    "a and b": ["a or b"], "not a": ["a"], "-a": ["a"], "True": ["False"], "2": ["3", "1"], "min(a)": ["max(a)"],
    "np.minimum(a)": ["np.maximum(a)"], "a if b else c": ["a if not b else c"], "'text' + a": [], "zip(a, strict=True)": [],
    "a.reshape(b, -1)": [], "np.reshape(a, -1)": [], "a.sum(-1)": ["a.sum(1)", "a.sum(-2)", "a.sum(-0)"],
}  # fmt: skip


@every_case("text", CHANGES)
def test_each_kind_of_slip_is_planted(text: str) -> None:
    """A slip that is never planted is never missed, and the share of killed mutants says nothing of it."""
    source = f"def f(a: int = None) -> int:\n    return {text}\n"
    found = mutants_of(source, "f.py")
    results = [ast.unparse(mutated(source, each.index)).partition("return ")[2] for each in found]
    assert results == CHANGES[text]
    assert {(each.place, each.scope) for each in found} <= {("f.py:2", "f")}


TRIED = """
import sys
from parity_tests.measuring.scores.source_mutation import ROOT, mutants_of, passes
path, sees, blind, starts = sys.argv[1:]
slip = next(each for each in mutants_of((ROOT / path).read_text(encoding="utf-8"), path) if "type(value) in" in each.change)
runs = (sees, None), (starts, None), (sees, slip), (starts, slip), (blind, slip)
print([passes([f"--rootdir={blind.rpartition('/')[0]}", test], mutant) for test, mutant in runs])
"""  # it is no module with a guard: a process that a test starts must not run it again
STARTS = """
from multiprocessing import get_context
def test():
    with get_context("spawn").Pool(1) as pool:
        there = "__import__('rigpact.contract.json_pointer').contract.json_pointer"
        assert pool.apply(eval, [f"list({there}.json_containers([]))"])
"""


def test_a_slip_is_killed_by_a_test_that_sees_it_and_by_no_other(tmp_path: Path) -> None:
    """A hook that changes nothing would call every mutant a survivor, one that breaks everything would kill them all."""
    texts = {
        "sees": "def test(): assert list(it.json_containers([]))\n", "blind": "def test(): pass\n", "starts": STARTS,
    }  # fmt: skip
    files = [tmp_path / f"test_{name}.py" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(f"import rigpact.contract.json_pointer as it\n{text}", encoding="utf-8")
    script = tmp_path / "tried.py"
    script.write_text(TRIED, encoding="utf-8")
    roots = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, script, SLIPS, *files], env={**os.environ, "PYTHONPATH": roots},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "[True, True, False, False, True]\n", done.stderr


def test_a_module_that_is_imported_already_is_refused() -> None:
    """Its mutants would all survive: the tests would get the module itself."""
    importlib.import_module(module_name(ROOT / SLIPS))
    with pytest.raises(RuntimeError, match="json_pointer is imported already"):
        passes([], mutants_of((ROOT / SLIPS).read_text(encoding="utf-8"), SLIPS)[0])


def test_tests_that_hang_kill_their_mutant(tmp_path: Path) -> None:
    """A slip in a loop's condition must not stop the whole run."""
    hangs = tmp_path / "test_hangs.py"
    hangs.write_text("def test():\n    while True: pass\n", encoding="utf-8")
    assert not passes([f"--rootdir={tmp_path}", str(hangs)], processor_s=1)


def test_the_map_is_of_this_tree() -> None:
    """A map that nobody records again would soon ask nobody; one that each new test makes red would be a burden."""
    by_module = tests_of_modules.tests_of_modules()
    modules = tests_of_modules.product_modules()
    assert len(set(modules) - by_module.keys()) <= len(modules) // 20
    tests = {name for names in by_module.values() for name in names}
    there = {f"{path.parent.name}/{path.name}::{name}" for path, name in _functions()}
    assert len(tests - there) <= len(tests) // 10


def _functions() -> Iterator[tuple[Path, str]]:
    for path in (ROOT / "parity_tests").rglob("test_*.py"):
        yield from ((path, node.name) for node in parsed(path).body if isinstance(node, ast.FunctionDef))


def test_the_cheapest_tests_that_run_each_line_three_times_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module whose only sharp test is left out has mutants that survive; one with every test takes an hour."""
    monkeypatch.setattr(tests_of_modules, "TIMES", 3)
    path = SLIPS
    functions = (node for node in tests_of_modules.nodes(ROOT / path) if isinstance(node, ast.FunctionDef))
    first = next(functions).body[0].lineno
    one, both = 1 << first, 3 << first
    ran = {name: {path: one} for name in "abcd"} | {"e": {path: both}, "f": {"other.py": 255}}
    ran["b"]["other.py"] = 255
    chosen = chosen_tests(ran, {"a": 0.1, "b": 0.1, "c": 0.3, "d": 50.0, "e": 5.0, "f": 0.1})
    assert chosen[path] == ["a", "c", "e"]  # b runs more elsewhere, d is dear
