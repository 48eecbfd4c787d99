"""A section of docs/evidence.md: how many small changes of rigpact's own source its tests notice.

`python -m parity_tests.measuring.scores.source_mutation [--sample N] [--seed S] [--minutes M] [--only MODULE] [PAGE]` draws N
mutants, as many of each module of the product (all without `--sample`), runs the module's tests on each (tests_of_modules.txt),
in the order in which they were drawn and until the minutes are over, and prints what became of them, or writes it into the page.
Run it in the root of a checkout. Each mutant runs in a process of its own, in which an import hook puts it in the module's
place: no file is changed.
"""

from __future__ import annotations

import argparse
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
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, ModuleType
from typing import Literal

from ...tests_of_modules import ROOT, ROOTS, module_name, tests_of_modules
from ..frame import Score
from .source_mutants import SourceMutant, mutants_of, mutated

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
        """The mutant's code; no compiled file is read or written."""
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


def passes(tests: Iterable[str], in_place: tuple[Path, CodeType] | None = None, processor_s: int = PROCESSOR_S) -> bool:
    """Whether tests pass in a process of their own; one that takes longer than the limits does not."""
    if in_place is not None and module_name(in_place[0]) in sys.modules:
        raise RuntimeError(f"{module_name(in_place[0])} is imported already: no mutant can take its place")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        _be_the_child(tests, in_place, processor_s)
    end = time.monotonic() + WAITING * processor_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _be_the_child(tests: Iterable[str], in_place: tuple[Path, CodeType] | None, processor_s: int) -> None:
    """Run the tests, and end with their exit status."""
    status = 1
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        import resource

        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (processor_s, processor_s))
        if in_place is not None:
            sys.path[:0] = [str(ROOT / root) for root in ROOTS]
            sys.meta_path.insert(0, _InPlace(*in_place))
            importlib.import_module(module_name(in_place[0]))  # before pytest puts its own finder first
        words = "-x -q -p no:cacheprovider -p no:randomly --hypothesis-seed=0"
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
            status = int(pytest.main([*words.split(), "-m", "not nightly", f"--basetemp={folder}/tests", *tests]))
    finally:
        os._exit(status)


def judge(mutant: SourceMutant, tests: Sequence[str]) -> Outcome:
    """Run the tests of a mutant's module on it."""
    path = ROOT / mutant.path
    code = compile(mutated(path.read_text(encoding="utf-8"), mutant.index), str(path), "exec", dont_inherit=True)
    return "survived" if passes([f"parity_tests/{name}" for name in tests], (path, code)) else "killed"


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
