"""Which tests run a module: `tests_of_modules.txt`, made in a run with coverage contexts; `--for` and the mutation read it.

Of each module, the test functions that together run each line of its functions eight times, in eight functions where so many do:
those first that run many of its lines, little else, and take little time. A module without functions has the tests of those that
import it.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import accumulate
from operator import or_
from pathlib import Path

from .sources import nodes, parsed

ROOT = Path(__file__).resolve().parents[1]
MAP = Path(__file__).with_name("tests_of_modules.txt")
ROOTS = ("contract", "reference_runtime", "fixtures", "fixtures/training", "reports")
TIMES, LONGEST_S, OVERHEAD_S = 8, 60.0, 0.2
"""How often each line is run; the processor time that a module's tests may take together; what a test costs besides."""


def product_modules() -> list[str]:
    """Every module of the product that has a statement, below the root of the checkout."""
    found = {path for root in ROOTS for path in (ROOT / root / "rigpact").rglob("*.py")}
    return sorted(path.relative_to(ROOT).as_posix() for path in found if len(parsed(path).body) > 1)


def module_name(path: Path) -> str:
    """The import path of a source file of one of the roots; a checkout may be called `rigpact` as the package is."""
    (inside,) = (path.relative_to(ROOT / root) for root in ROOTS if path.is_relative_to(ROOT / root / "rigpact"))
    return ".".join(inside.with_suffix("").parts).removesuffix(".__init__")


def tests_of_modules() -> dict[str, list[str]]:
    """The test functions, as `room/test_file.py::test_name`, of every module that tests run."""
    lines = (line.split() for line in MAP.read_text(encoding="utf-8").splitlines())
    found = dict[str, list[str]]()
    for word, *names in lines:
        if word.endswith(":"):
            found[word[:-1]] = module = []
        else:
            module += [f"{word}::{name}" for name in names]
    return found


def write_map(tests: Mapping[str, list[str]]) -> None:
    """Write the map, a line for a module and one for each of its test files."""
    lines = list[str]()
    for module, names in sorted(tests.items()):
        files = dict[str, list[str]]()
        for name in names:
            file, _, function = name.partition("::")
            files.setdefault(file, []).append(function)
        lines += [f"{module}:", *(f"  {file} {' '.join(functions)}" for file, functions in files.items())]
    MAP.write_text("\n".join(lines) + "\n", encoding="utf-8")


def chosen_tests(ran: Mapping[str, Mapping[str, int]], cost_s: Mapping[str, float]) -> dict[str, list[str]]:
    """The map. ran: the lines of each module that each test function ran, a bit a line; cost_s: the processor time of each."""
    everything = {test: sum(lines.bit_count() for lines in modules.values()) for test, modules in ran.items()}
    cost_s = {test: cost_s.get(test, LONGEST_S) for test in ran}
    found = dict[str, list[str]]()
    for module in product_modules():
        inside = _lines_of_functions(ROOT / module)
        lines = {test: inside & modules[module] for test, modules in ran.items() if inside & modules.get(module, 0)}
        worth = {
            test: own.bit_count() / everything[test] / (cost_s[test] + OVERHEAD_S)
            for test, own in sorted(lines.items())
        }
        found[module] = _within(_covering(lines, worth), cost_s)
    importers = _importers()
    for module in [module for module, tests in found.items() if not tests]:
        found[module] = _within(
            {test for importer in importers.get(module_name(ROOT / module), ()) for test in found[importer]}, cost_s
        )
    return {module: tests for module, tests in found.items() if tests}


def _covering(lines: Mapping[str, int], worth: Mapping[str, float]) -> Iterator[str]:
    """Tests until every line was run TIMES times: the one that adds most for its worth first."""
    once = reduce(or_, lines.values(), 0)
    needed, left = [once] * TIMES, dict(lines)  # lines that are needed once more at least, twice more at least, ...
    while left:
        best = max(
            worth.keys() & left.keys(), key=lambda test: ((left[test] & needed[0]).bit_count() * worth[test], test)
        )
        own = left.pop(best)
        if not own & needed[0]:
            return
        needed = [few & ~own | more & own for few, more in zip(needed, [*needed[1:], 0], strict=True)]
        yield best


def _within(tests: Iterable[str], cost_s: Mapping[str, float]) -> list[str]:
    """The cheapest tests that take no longer than LONGEST_S together, and one at least if there is one."""
    in_order = sorted(tests, key=lambda test: (cost_s[test], test))
    sums = accumulate(cost_s[test] for test in in_order)
    return in_order[: max(1, sum(each <= LONGEST_S for each in sums))]


def _lines_of_functions(path: Path) -> int:
    """The lines inside the functions of a file, a bit a line."""
    found = 0
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):
                found |= 1 << line
    return found


def _importers() -> dict[str, list[str]]:
    """Of each module, by its import path, the files that import it."""
    found = dict[str, list[str]]()
    for module in product_modules():
        package = module_name(ROOT / module).split(".")[: None if module.endswith("__init__.py") else -1]
        for node in nodes(ROOT / module):
            if isinstance(node, ast.ImportFrom):
                base = [*package[: len(package) - node.level + 1]] if node.level else []
                name = ".".join([*base, *([node.module] if node.module else [])])
                for target in {name, *(f"{name}.{each.name}" for each in node.names)}:
                    found.setdefault(target, []).append(module)
    return found
