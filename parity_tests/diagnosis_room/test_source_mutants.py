"""Mutation of the source: what is changed, and that the changed module is the one that tests import."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..every_case import every_case
from ..measuring.scores import source_mutation
from ..measuring.scores.source_killers import ARGUED, KILLERS
from ..measuring.scores.source_mutants import mutants_of, mutated
from ..measuring.scores.source_mutation import ROOTS, Judged, module_name, passes, tables

ROOT = Path(__file__).resolve().parents[2]
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
from pathlib import Path
from parity_tests.measuring.scores.source_mutation import passes
path, sees, blind = map(Path, sys.argv[1:])
code = compile(path.read_text(encoding="utf-8") + "\\nSLIP = 1\\n", str(path), "exec")
beside = f"--rootdir={sees.parent}"
runs = (sees, None), (sees, (path, code)), (blind, (path, code))
print([passes([beside, str(test)], 60.0, in_place) for test, in_place in runs])
"""


def test_a_slip_is_killed_by_a_test_that_sees_it_and_by_no_other(tmp_path: Path) -> None:
    """A hook that changes nothing would call every mutant a survivor, one that breaks everything would kill them all."""
    path = ROOT / "contract/rigpact/contract/json_pointer.py"
    sees, blind = tmp_path / "test_sees.py", tmp_path / "test_blind.py"
    module = module_name(path)
    sees.write_text(f"import {module} as it\ndef test(): assert not hasattr(it, 'SLIP')\n", encoding="utf-8")
    blind.write_text(f"import {module} as it\ndef test(): pass\n", encoding="utf-8")
    roots = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", TRIED, path, sees, blind], env={**os.environ, "PYTHONPATH": roots},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "[True, False, True]\n", done.stderr


@pytest.mark.parametrize("root", ROOTS)
def test_a_checkout_may_be_called_rigpact(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git clone` calls it so: with a name from the first `rigpact` of the path no mutant is ever put in its place."""
    checkout = Path("/rigpact/clones/rigpact")
    monkeypatch.setattr(source_mutation, "ROOT", checkout)
    assert module_name(checkout / root / "rigpact" / "a" / "b.py") == "rigpact.a.b"


def test_a_module_that_is_imported_already_is_refused() -> None:
    """Its mutants would all survive: the tests would get the module itself."""
    path = ROOT / "contract/rigpact/contract/findings.py"
    importlib.import_module(module_name(path))
    with pytest.raises(RuntimeError, match="findings is imported already"):
        passes([], 1.0, (path, compile("", str(path), "exec")))


def test_tests_that_hang_kill_their_mutant(tmp_path: Path) -> None:
    """A slip in a loop's condition must not stop the whole run."""
    hangs = tmp_path / "test_hangs.py"
    hangs.write_text("import time\ndef test(): time.sleep(60)\n", encoding="utf-8")
    assert not passes([f"--rootdir={tmp_path}", str(hangs)], 2.0)


def test_every_module_and_every_test_of_it_is_there() -> None:
    """A module that moved would be left out of the figures without a word."""
    missing = [path for path in KILLERS if not (ROOT / path).is_file()]
    tests = {name for names in KILLERS.values() for name in names}
    assert missing + [name for name in sorted(tests) if not (ROOT / "parity_tests" / name).is_file()] == []


def test_every_argument_belongs_to_a_mutant() -> None:
    """An argument about a line that is gone would excuse the next slip in its place."""
    there = {
        (each.path, each.scope, each.change)
        for path in KILLERS
        for each in mutants_of((ROOT / path).read_text(encoding="utf-8"), path)
    }
    assert set(ARGUED) <= there


def test_the_page_counts_what_was_run() -> None:
    """The share is of the mutants that were tried; a survivor stands there with its place and its change."""
    path = next(iter(KILLERS))
    one, other, *_ = mutants_of((ROOT / path).read_text(encoding="utf-8"), path)
    text = tables([Judged(one, "killed"), Judged(other, "survived")], 7)
    assert "**Killed 1 of 2 mutants (50.0%); 0 more compute the same." in text
    assert "2 of the 7 mutants of these modules" in text
    assert f"- {other.place}" in text
