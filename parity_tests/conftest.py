"""Fixtures that every room's tests share."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from .programs import mark_what_it_needs, require_programs_of

pytest_plugins = ["pytester", f"{__package__}.selection"]  # testing_room runs pytest in pytest
CHECKOUT = Path(__file__).resolve().parents[1]
os.environ["RIGPACT_BUDGET"] = "0"  # an answer of a test depends on no machine's speed
os.environ.pop("COLUMNS", None)  # xdist gives its workers a terminal's width; tests see what a log sees
_ON_BUSY_MACHINES = {"suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("few", settings(max_examples=15, **_ON_BUSY_MACHINES))
settings.register_profile("nightly", settings(max_examples=300, **_ON_BUSY_MACHINES))
settings.load_profile("few")  # pytest's option --hypothesis-profile chooses the other


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as nightly what needs such programs and most cases of what is sampled, before `-m` chooses."""
    seen = Counter[tuple[Path, str]]()
    for item in items:
        mark_what_it_needs(item)
        for mark in item.iter_markers("sampled"):
            name = item.path, getattr(item, "originalname", item.name)
            if seen[name] % mark.args[0]:
                item.add_marker(pytest.mark.nightly)
            seen[name] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test whose programs are not installed ends before its fixtures are made."""
    require_programs_of(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that is skipped says with its reason what nobody has looked at: the first line of its docstring."""
    report = yield
    lines = (getattr(getattr(item, "function", None), "__doc__", None) or "").strip().splitlines()
    if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail") and lines:
        report.longrepr = (*report.longrepr[:2], f"{report.longrepr[2]}; not tested: {lines[0]}")
    return report


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real exported files of a deployed character; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("RIGPACT_REAL_DATA", CHECKOUT.parent / "shared" / "real"))
    if not (folder / "norm_template.json").is_file():
        pytest.skip(f"no real exported files in {folder} (set RIGPACT_REAL_DATA to their folder)")
    return folder


@pytest.fixture
def real_project(real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with copies of those files, the working directory of the test."""
    for path in real_data.glob("*.json"):
        shutil.copy(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def demo_bundle() -> Path:
    """Folder of the committed demo bundle."""
    from rigpact.fixtures import demo_bundle as find_demo_bundle

    return find_demo_bundle()


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """`explain` and the gate judge, and look for no cause: for tests of whether a difference is noticed, not of its name."""
    from rigpact.reports.diagnosing.budget import Budget
    from rigpact.reports.diagnosing.explain import ExplainRequest

    monkeypatch.setattr(ExplainRequest, "budget", lambda *_: Budget.spent())
    monkeypatch.setattr(Budget, "unlimited", Budget.spent)


@dataclass(frozen=True)
class Answer:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run `rigpact WORDS…` in this process and return its exit status and output."""
    from rigpact.reports.command_line import run_command_line

    def call(*words: object) -> Answer:
        capfd.readouterr()
        status = run_command_line([str(word) for word in words])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(status, captured.out, captured.err)

    return call
