"""Which tests run: `--quick` those that cost little, `--for=MODULE` those of a module; `--record` writes what both are chosen by.

A cost is processor time, of the process and of those that it started, with the fixtures that a test is the first to ask for. The
cheapest functions are quick, as many as QUICK_S holds; a function that is new is, too. `costly.txt` names the others: a file
without names is costly as a whole. `tests_of_modules.py` says which tests a module has.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from .tests_of_modules import MAP, ROOT, chosen_tests, tests_of_modules, write_map

COSTLY = Path(__file__).with_name("costly.txt")
QUICK_S = 9.0
STARTED = pytest.StashKey[float]()
costs: Counter[str] = Counter()
"""Seconds of every function that ran; of all workers, where they are collected."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The three options."""
    parser.addoption("--quick", action="store_true", help="only tests that cost little")
    parser.addoption(
        "--for", dest="module", metavar="MODULE", help="only tests of a module, said by the end of its path"
    )
    parser.addoption(
        "--record", action="store_true", help="with --cov --cov-context=test: write what the other two choose by"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Without contexts of coverage there is nothing to record: an empty map would say that no module has a test."""
    if config.getoption("record") and config.getoption("cov_context", None) != "test":
        raise pytest.UsageError("--record needs --cov --cov-context=test, of pytest-cov")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is asked for."""
    quick, module = config.getoption("quick"), config.getoption("module")
    if not quick and not module:
        return
    costly = _costly() if quick else {}
    wanted = _tests_of(module) if module else None
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        file, _, name = (function := function_of(item.nodeid)).partition("::")
        is_costly = file in costly and (not costly[file] or name in costly[file])
        is_asked = not is_costly and not (quick and item.get_closest_marker("nightly"))
        (kept if is_asked and (wanted is None or function in wanted) else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def _costly() -> dict[str, list[str]]:
    lines = (line.split() for line in COSTLY.read_text(encoding="utf-8").splitlines())
    return {file: names for file, *names in lines}


def _tests_of(module: str) -> set[str]:
    """The tests of the modules whose path ends so; a usage error where there is none."""
    end = module.replace("\\", "/")
    found = [tests for path, tests in tests_of_modules().items() if f"/{path}".endswith(f"/{end.removeprefix('./')}")]
    if not found:
        raise pytest.UsageError(f"{MAP.name} has no module {module}: it is new, or no test runs it")
    return {test for tests in found for test in tests}


def function_of(nodeid: str) -> str:
    """A test's function: `room/test_file.py::test_name`."""
    return nodeid.partition("[")[0].removeprefix("parity_tests/")


def _processor_s() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """The test begins."""
    item.stash[STARTED] = _processor_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """What it cost until here goes to whoever collects the reports."""
    if item.config.getoption("record"):
        item.user_properties[:] = [("cost", _processor_s() - item.stash[STARTED])]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test is over."""
    if report.when == "teardown":
        costs[function_of(report.nodeid)] += sum(value for name, value in report.user_properties if name == "cost")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write which tests are too costly, and which a module has."""
    if not session.config.getoption("record") or hasattr(session.config, "workerinput"):
        return
    sum_s, costly = 0.0, dict[str, list[str]]()
    for function, cost in sorted(costs.items(), key=lambda each: each[1]):
        sum_s += cost
        if sum_s > QUICK_S:
            file, _, name = function.partition("::")
            costly.setdefault(file, []).append(name)
    lines = (" ".join([file, *sorted(names)]) + "\n" for file, names in sorted(costly.items()))
    COSTLY.write_text("".join(lines), encoding="utf-8")
    write_map(chosen_tests(_lines_run(), costs))


def _lines_run() -> dict[str, dict[str, int]]:
    """The lines of each module of the checkout that each test function ran, a bit a line, from coverage's file."""
    import coverage

    data = coverage.CoverageData(os.environ.get("COVERAGE_FILE", str(ROOT / ".coverage")))
    data.read()
    ran = dict[str, dict[str, int]]()
    for file in sorted(data.measured_files()):
        module = Path(file).relative_to(ROOT).as_posix()
        for line, contexts in data.contexts_by_lineno(file).items():
            for function in {function_of(context.partition("|")[0]) for context in contexts} - {""}:
                lines = ran.setdefault(function, {})
                lines[module] = lines.get(module, 0) | 1 << line
    return ran
