"""The pytest plugin: `pytest --rigpact-bundle FILE …` tests the user's contract, model, clips and engine traces.

pytest loads this module in every run where rigpact is installed. So it imports only pytest; everything else is imported
after the option is given. Options and fixtures are here, items in items.py. A fixture skips, and names the option, if its file
was not given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rigpact.contract.systems.contract import Contract
    from rigpact.reference_runtime.files.run import Run
    from rigpact.reference_runtime.recordings.trace import Trace
    from rigpact.testing.files import Paths, UserFiles


@pytest.fixture(scope="session")
def rigpact_files(pytestconfig: pytest.Config) -> UserFiles:
    """The user's files; each is read once."""
    from rigpact.testing.files import files_of

    if _PATHS not in pytestconfig.stash:
        pytest.skip("no --rigpact-bundle")
    return files_of(pytestconfig.stash[_PATHS])


@pytest.fixture(scope="session")
def rigpact_contract(rigpact_files: UserFiles) -> Contract:
    """The contract that `--rigpact-bundle` and the conventions beside it declare."""
    return rigpact_files.contract


@pytest.fixture(scope="session")
def rigpact_network(rigpact_files: UserFiles) -> Any:
    """The model of `--rigpact-onnx`, bound as the engine binds it."""
    if rigpact_files.paths.onnx is None:
        pytest.skip("no --rigpact-onnx")
    return rigpact_files.network


@pytest.fixture(scope="session")
def rigpact_clips(rigpact_files: UserFiles) -> dict[str, Any]:
    """Every `--rigpact-clip` by its name without the suffix (with its folder where two share one)."""
    from rigpact.testing.files import short_names

    if not rigpact_files.paths.clips:
        pytest.skip("no --rigpact-clip")
    names = short_names(rigpact_files.paths.clips, suffix=False)
    return {name: rigpact_files.project.clip(path) for path, name in names.items()}


@pytest.fixture(scope="session")
def rigpact_traces(rigpact_files: UserFiles) -> dict[str, Trace]:
    """Every `--rigpact-trace` by its file name."""
    from rigpact.testing.files import short_names

    if not rigpact_files.paths.traces:
        pytest.skip("no --rigpact-trace")
    names = short_names(rigpact_files.paths.traces, suffix=True)
    return {name: rigpact_files.project.recording_of(path).trace for path, name in names.items()}


@pytest.fixture(scope="session")
def rigpact_loop(rigpact_contract: Contract, rigpact_network: Any, rigpact_clips: dict[str, Any]) -> Callable[..., Run]:
    """Start the reference runtime: `rigpact_loop("Walk_F")`, `rigpact_loop("Walk_F", "free", 300)`."""
    from rigpact.reference_runtime.files.declared import files_of
    from rigpact.reference_runtime.files.run import RunOptions

    def start(clip: str, mode: str = "teacher", frames: int | None = None) -> Run:
        if clip not in rigpact_clips:
            raise KeyError(f"no clip {clip!r} among {', '.join(rigpact_clips)}")
        options = RunOptions(mode, frames)
        runner: Run = files_of(rigpact_contract).start(rigpact_contract, rigpact_network, rigpact_clips[clip], options)
        return runner

    return start


__all__ = [
    "rigpact_clips", "rigpact_contract", "rigpact_files", "rigpact_loop", "rigpact_network", "rigpact_traces",
]  # fmt: skip

_PREFIX = "rigpact::"
_SINGLE = {"bundle": "The schema bundle, norm_template.json. Adds tests of it, and of the files below.",
           "companion": "File with the auxiliary-input statistics.", "onnx": "The model.",
           "config": "rigpact.toml or pyproject.toml: which rules, known findings.",
           "conventions": "TOML file that declares conventions."}  # fmt: skip
_REPEATED = {"clip": "Raw clip, teacher batch or teacher prediction; may be repeated.",
             "trace": "Recording of the engine; may be repeated.",
             "operations": "Module with operations that a contract may name; may be repeated. It is imported."}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("rigpact", "contract, parity and property tests of a neural animation runtime")
    for name, text in _SINGLE.items():
        group.addoption(f"--rigpact-{name}", metavar="FILE", default=None, help=text)
    for name, text in _REPEATED.items():
        group.addoption(f"--rigpact-{name}", metavar="FILE", action="append", default=[], help=text)
    group.addoption("--rigpact-set", metavar="KNOB=VALUE", action="append", default=[], help="Declare a convention.")
    group.addoption("--rigpact-strict", action="store_true", default=False, help="Let warnings fail too.")
    group.addoption(
        "--rigpact-examples", type=int, default=50, metavar="N", help="Draws for each property (default: 50)."
    )
    group.addoption(
        "--rigpact-seed", type=int, default=None, metavar="N", help="Draw other examples; without it always the same."
    )


_PATHS = pytest.StashKey["Paths"]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; read the options if they are given."""
    config.addinivalue_line("markers", "rigpact: tests that rigpact adds for --rigpact-bundle")
    option = config.option
    if option.rigpact_bundle is None:
        given = [f"--rigpact-{name}" for name in (*_SINGLE, *_REPEATED, "set") if getattr(option, f"rigpact_{name}")]
        if given:
            raise pytest.UsageError(f"{', '.join(given)}: no --rigpact-bundle beside it")
        return
    if option.rigpact_examples < 1:
        raise pytest.UsageError("--rigpact-examples: at least 1")
    _refuse_taken_for_tests(config)
    config.stash[_PATHS] = _read_paths(config)
    _use_operations(config)


def _refuse_taken_for_tests(config: pytest.Config) -> None:
    """Refuse `--rigpact-bundle FILE` as two words if pytest took FILE as a test path and read its settings there.

    pytest does this before a plugin can prevent it. It would then not read the user's own settings and conftest.
    """
    options = {f"--rigpact-{name}" for name in (*_SINGLE, *_REPEATED)}
    words = [word for word in map(str, config.invocation_params.args) if word in options]
    start, settings = config.invocation_params.dir, config.inipath
    misled = config.rootpath != start if settings is None else not start.is_relative_to(settings.parent)
    if misled and words:
        raise pytest.UsageError(
            f"{words[0]} FILE: pytest took FILE for a test and {config.rootpath} for its root; write {words[0]}=FILE"
        )


def _read_paths(config: pytest.Config) -> Paths:
    """Read the paths, relative to the start folder of pytest, and make them absolute, so all workers find the files."""
    from rigpact.testing.files import Paths

    option, start = config.option, config.invocation_params.dir
    for name in _SINGLE:
        value = getattr(option, f"rigpact_{name}")
        if value is not None:
            setattr(option, f"rigpact_{name}", _existing(name, value, start))
    for name in _REPEATED:
        paths = [_existing(name, value, start) for value in getattr(option, f"rigpact_{name}")]
        setattr(option, f"rigpact_{name}", list(dict.fromkeys(paths)))
    one = {name: Path(value) if (value := getattr(option, f"rigpact_{name}")) else None for name in _SINGLE}
    clips, traces = (tuple(map(Path, paths)) for paths in (option.rigpact_clip, option.rigpact_trace))
    bundle, said = Path(option.rigpact_bundle), tuple(option.rigpact_set)
    return Paths(bundle, one["companion"], one["onnx"], clips, traces, one["config"], one["conventions"], said)


def _use_operations(config: pytest.Config) -> None:
    """Load the modules with operations, for this run of pytest."""
    files = config.option.rigpact_operations
    if not files:
        return
    from rigpact.contract.declared.vocabulary import forget_operations
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.beside import use_operations

    config.add_cleanup(forget_operations)
    try:
        use_operations(files)
    except UnusableInput as error:
        raise pytest.UsageError(f"--rigpact-operations {error.one_line()}") from None


def _existing(name: str, value: str, start: Path) -> str:
    path = (start / value).resolve()
    if not path.is_file():
        raise pytest.UsageError(f"--rigpact-{name} {value}: no such file")
    return str(path)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add our collector to the session's, whatever paths were given."""
    report = yield
    if isinstance(collector, pytest.Session) and _PATHS in collector.config.stash and report.result is not None:
        from rigpact.testing.items import collector_of

        report.result = [*report.result, collector_of(collector, collector.config.stash[_PATHS])]
    return report


class _Account:
    """Counts the outcomes of the added tests; registered only if the option is given."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.deselected = config, 0
        self.outcomes: dict[str, int] = {"passed": 0, "failed": 0, "skipped": 0}

    @property
    def is_unjudged(self) -> bool:
        """Whether no judgement was made, although the user did not deselect them."""
        judged = self.outcomes["passed"] + self.outcomes["failed"]
        return judged == 0 and self.deselected == 0 and not self.config.option.collectonly

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count one outcome for each of our tests."""
        if report.nodeid.startswith(_PREFIX) and (
            report.when == "call" or (report.when == "setup" and not report.passed)
        ):
            self.outcomes[report.outcome] += 1

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Count the tests that the user deselected."""
        self.deselected += sum(item.nodeid.startswith(_PREFIX) for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """Take the counts of an xdist worker; all workers collect the same tests."""
        told = getattr(node, "workeroutput", {}).get("rigpact_deselected", 0)
        self.deselected = max(self.deselected, told)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """A run without any judgement does not pass."""
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["rigpact_deselected"] = self.deselected
            return
        passed = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if passed and self.is_unjudged:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print one line: the judgements, and the bundle."""
        if self.config.option.collectonly:
            return
        outcomes = self.outcomes
        counts = ", ".join(f"{count} {name}" for name, count in outcomes.items() if count)
        left = f", {self.deselected} deselected" if self.deselected else ""
        line = f"rigpact: {counts or 'no test'}{left} on {Path(self.config.option.rigpact_bundle).name}"
        if self.is_unjudged:
            terminalreporter.write_line(f"{line}: nothing was judged, which is not a pass", red=True)
        else:
            terminalreporter.write_line(line, red=bool(outcomes["failed"]), green=not outcomes["failed"])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Start counting if the option is given."""
    if _PATHS in session.config.stash:
        session.config.pluginmanager.register(_Account(session.config), "rigpact-account")
