"""The quick tests: `pytest --quick` leaves out those that `costly.txt` names; `pytest --costs` runs all and writes it again.

A cost is processor time, of the process and of those that it started, with the fixtures that a test is the first to ask for. The
cheapest functions are quick, as many as QUICK_S holds; a function that is new is, too. A file without names is costly as a whole.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

COSTLY = Path(__file__).with_name("costly.txt")
QUICK_S = 30.0
STARTED = pytest.StashKey[float]()
costs: Counter[tuple[str, str]] = Counter()
"""Seconds of every function that ran, by its file and its name; of all workers, where they are collected."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    parser.addoption("--quick", action="store_true", help="only tests that cost little")
    parser.addoption("--costs", action="store_true", help="measure every test, and write parity_tests/costly.txt")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--quick` keep what costs little and is not nightly."""
    if not config.getoption("quick"):
        return
    lines = (line.split() for line in COSTLY.read_text(encoding="utf-8").splitlines())
    costly = {file: names for file, *names in lines}
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        file, name = function_of(item.nodeid)
        is_costly = file in costly and (not costly[file] or name in costly[file])
        (left if is_costly or item.get_closest_marker("nightly") else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def function_of(nodeid: str) -> tuple[str, str]:
    """The file, below parity_tests, and the name of a test's function."""
    file, _, name = nodeid.partition("::")
    return file.partition("/")[2], name.partition("[")[0]


def _processor_s() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """The test begins."""
    item.stash[STARTED] = _processor_s()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """What it cost until here goes to whoever collects the reports."""
    if item.config.getoption("costs"):
        item.user_properties[:] = [("cost", _processor_s() - item.stash[STARTED])]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test is over."""
    if report.when == "teardown":
        costs[function_of(report.nodeid)] += sum(value for name, value in report.user_properties if name == "cost")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write which tests are too costly."""
    if not session.config.getoption("costs") or hasattr(session.config, "workerinput"):
        return
    sum_s, costly = 0.0, dict[str, list[str]]()
    for (file, name), cost in sorted(costs.items(), key=lambda each: each[1]):
        sum_s += cost
        if sum_s > QUICK_S:
            costly.setdefault(file, []).append(name)
    lines = (" ".join([file, *sorted(names)]) + "\n" for file, names in sorted(costly.items()))
    COSTLY.write_text("".join(lines), encoding="utf-8")
