"""Command-line options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.contract.errors import UnusableInput

if TYPE_CHECKING:
    from rigpact.contract.findings import FindingsReport
    from rigpact.contract.settings.configuration import Configuration
    from rigpact.reference_runtime.files.declared import ContractFiles


# Completions for a shell: what can be shown, conventions. Files are completed by the shell itself.
def known_words(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Whatever `rigpact show` shows by a name; of a name of two words, the one that is being typed."""
    from rigpact.reports.describing.shown import known_names

    before = "".join(f"{word} " for word in ctx.params.get("name") or ())
    return [(name.removeprefix(before), what) for name, what in known_names(before + incomplete)]


def known_conventions(incomplete: str) -> list[str]:
    """KNOB=VALUE of every installed system."""
    from rigpact.contract.pages.registry import every_system

    knobs = {name: knob for system in every_system() for name, knob in system.knobs.items()}
    name, has_name, begin = incomplete.partition("=")
    if not has_name:
        return [f"{knob}=" for knob in knobs if knob.startswith(name)]
    values = getattr(knobs.get(name), "values", ())
    return [f"{name}={value}" for value in values if str(value).startswith(begin)]


OutputFormat = StrEnum("OutputFormat", "TEXT JSON")
"""The format of a command's output."""


RunMode = StrEnum("RunMode", "TEACHER FREE PLAYBACK")
"""Whether the clip or the system's own output drives the run."""


class EngineChoice(StrEnum):
    """Who computes the stages of a free run."""

    AUTO = "auto"
    NUMPY = "numpy"
    NATIVE = "native"


def option(name: str, value: str, words: str, **more: Any) -> Any:
    """An option with a value: its name, what stands for the value in its help, what it does."""
    return typer.Option(name, metavar=value, help=words, **more)


def argument(value: str, words: str, **more: Any) -> Any:
    """An argument: what stands for it in the help, what it is."""
    return typer.Argument(metavar=value, help=words, **more)


BUNDLE = option("--contract", "FILE", "The schema bundle, or a contract.")
CLIP = option("--clip", "FILE", "The clip that drives the run.")
MODE = typer.Option("--mode", help="Who drives the run: the clip or its output.")
ONNX = option("--onnx", "FILE", "The ONNX model that belongs to the contract.")
OUT = typer.Option("--out", "-o", metavar="FILE", help="The file to write.")

ContractArgument = Annotated[Path, argument("CONTRACT", "The schema bundle, or a contract.")]
Bundle = Annotated[Path | None, BUNDLE]
Clip = Annotated[Path | None, CLIP]
Mode = Annotated[RunMode | None, MODE]
Out = Annotated[Path, OUT]
Model = Annotated[Path | None, ONNX]
Replay = Annotated[Path | None, option("--replay", "FILE", "Recorded answers in place of a model.")]
Frames = Annotated[int | None, option("--frames", "N", "End after N frames.", min=1)]
FloorContacts = Annotated[
    bool, typer.Option("--floor-contacts", help="Measure foot contacts over a floor; else the clip's.")
]
Fps = Annotated[
    float | None, option("--fps", "N", "Frames a second, where the file does not say it.", min=0.001, max=100_000)
]
Segment = Annotated[int | None, option("--segment", "N", "Only the Nth segment of a recording.", min=1)]
Base = Annotated[str | None, option("--base", "REV", "Compare with this git revision.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
EngineOption = Annotated[
    EngineChoice, typer.Option("--engine", help="Who computes a free run; auto: C++ where it agrees with numpy.")
]
Format = Annotated[OutputFormat, typer.Option("--format", help="Text for people, JSON for machines.")]
ReportFiles = Annotated[
    list[str] | None, option("--report", "[FORMAT=]FILE", "Write the answer there too, by suffix; may be repeated.")
]
HtmlFile = Annotated[Path | None, option("--html", "FILE", "Write the HTML page.")]
Strict = Annotated[bool, typer.Option("--strict", help="Let warnings fail the command too.")]
Resolution = Annotated[str | None, option("--resolution", "WORDS", "How finely numbers are written: float16, …")]
COMPANION = option("--companion", "FILE", "File with the auxiliary-input statistics.")
Companion = Annotated[Path | None, COMPANION]
Settings = Annotated[
    list[str] | None,
    option("--set", "KNOB=VALUE", "Declare a convention; may be repeated.", autocompletion=known_conventions),
]
ConventionsFile = Annotated[Path | None, option("--conventions", "FILE", "TOML file that declares conventions.")]


def refuse_beside(given: Mapping[str, object], found: str, expected: str, hint: str = "") -> None:
    """UnusableInput for those of some options that are given: passed over, they would seem to have been followed."""
    if names := ", ".join(name for name, value in given.items() if value):
        raise UnusableInput(names, found, expected, hint)


def contract_files(
    bundle: Path | None, companion: Path | None, settings: list[str] | None, conventions: Path | None
) -> ContractFiles:
    """The files and options that define a contract; `opened` reads them."""
    from rigpact.reference_runtime.files.declared import ContractFiles

    return ContractFiles(bundle, companion, tuple(settings or ()), conventions)


# Options of `rigpact check` about a project's configuration and its known findings.
ConfigFile = Annotated[
    Path | None, option("--config", "FILE", "rigpact.toml or pyproject.toml; else the nearest one, going up.")
]
WriteBaseline = Annotated[
    Path | None, option("--write-baseline", "FILE", "Write the errors and warnings as known; needs the three below.")
]
Owner = Annotated[str | None, option("--owner", "NAME", "Who answers for the known findings.")]
Reason = Annotated[str | None, option("--reason", "TEXT", "Why they may stay for now.")]
Expires = Annotated[str | None, option("--expires", "YYYY-MM-DD", "The last day on which they are waived.")]


def configuration_from_option(path: Path | None) -> Configuration | None:
    """Read the given configuration, else the nearest one; None if there is none."""
    from rigpact.contract.files.reading import working_directory
    from rigpact.contract.settings.configuration import find_configuration, read_configuration

    found = path or find_configuration(working_directory())
    return read_configuration(found) if found is not None else None


def configured(report: FindingsReport, configuration: Configuration | None) -> FindingsReport:
    """The report after the project's configuration is applied, with today's date."""
    from rigpact.contract.settings.hearing import configured_report
    from rigpact.contract.settings.table import today

    return configured_report(report, configuration, today())


def save_baseline(
    path: Path, report: FindingsReport, configuration: Configuration | None, about: Mapping[str, str | None]
) -> None:
    """Write today's errors and warnings as known findings, without those that the configuration removes."""
    from dataclasses import replace

    from rigpact.contract.findings import Severity, number_of
    from rigpact.contract.settings.exceptions import write_baseline
    from rigpact.contract.settings.hearing import Hearing
    from rigpact.contract.settings.table import refuse_far_day, today
    from rigpact.reports.terminal import say

    given = {name: value for name, value in about.items() if value}
    for name in about:
        if name not in given:
            raise UnusableInput("--write-baseline", f"no --{name}", "--owner, --reason and --expires beside it")
    refuse_far_day(given["expires"], "--expires", today())
    if configuration is not None:
        report = Hearing(replace(configuration, baseline=None), today()).hear(report)
    failing = [finding for finding in report.findings if finding.rule.severity is not Severity.INFO]
    count = write_baseline(path, failing, given["owner"], given["reason"], given["expires"])
    say(f'{number_of(count, "known finding")} written to {path}; name it in rigpact.toml: baseline = "{path.name}"')


def is_same(word: object, path: Path) -> bool:
    """Whether a word names this file."""
    return word is not None and path.exists() and Path(str(word)).exists() and path.samefile(str(word))


# What the commands read that find in rigpact.toml what their line leaves out.
@dataclass(frozen=True)
class Reads:
    """What a command reads. judged: the parameters of the files that it judges. needed: those that it cannot do without.

    drives: whether what is judged is the clip of a run. lists: the parameters that take several values. is_sure: whether the
    settings' contract is meant in any case; else only where it has the vectors of what is judged. folders: whether what is
    judged may be a folder, or a pattern.
    """

    judged: tuple[str, ...]
    needed: tuple[str, ...] = ()
    drives: bool = False
    lists: tuple[str, ...] = ()
    is_sure: bool = True
    folders: bool = False


COMMANDS: Mapping[str, Reads] = {
    "check": Reads(("paths",), lists=("paths",), folders=True),
    "explain": Reads(("recording",)),
    "diff": Reads(("a", "b"), lists=("companion",), is_sure=False, folders=True),
    "nan": Reads(("file",), ("bundle",), drives=True),
    "run": Reads(("clip",), ("bundle",), drives=True),
    "convert": Reads(("recording",), is_sure=False, folders=True),
    "sweep": Reads(("clip",), ("bundle",), drives=True, lists=("clip", "onnx"), folders=True),
}
"""The commands that find in rigpact.toml what their line leaves out."""

# The example at the end of every help, with the files of the demo. A test runs each of them.
_CHARACTER, _ROBOT = "rigpact demo --into demo", "rigpact demo robot --into robot"
_PROJECT = (_CHARACTER, "rigpact init demo")
_NEURARIG = "fixtures/bundles/neurarig"
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": ("rigpact demo",),
    "demo": ("rigpact demo robot",),
    "check": (_CHARACTER, "rigpact check demo"),
    "explain": (_ROBOT, "rigpact explain robot/run.csv --contract robot/contract.toml"),
    "diff": (
        _ROBOT,
        "rigpact run robot/run.csv --contract robot/contract.toml --mode free -o run.trace.bin",
        "rigpact diff run.trace.bin robot/run.csv --contract robot/contract.toml",
    ),
    "nan": (_ROBOT, "rigpact nan robot/run.csv --contract robot/contract.toml"),
    "gate": (*_PROJECT, "rigpact gate --config demo/rigpact.toml"),
    "init": (_CHARACTER, "rigpact init demo", "rigpact init demo --status"),
    "convert": (_ROBOT, "rigpact convert robot/run.csv --contract robot/contract.toml -o run.npz"),
    "codegen": (_ROBOT, "rigpact codegen robot/contract.toml -o contract.hpp"),
    "neurarig": (f"rigpact neurarig serve --onnx {_NEURARIG}/model.onnx",),
    "neurarig serve": (f"rigpact neurarig serve --onnx {_NEURARIG}/model.onnx",),
    "show": (_ROBOT, "rigpact show robot/contract.toml", "rigpact show RP104"),
    "run": (_ROBOT, "rigpact run robot/run.csv --contract robot/contract.toml -o run.trace.bin"),
    "sweep": (_ROBOT, "rigpact sweep robot/run.csv --contract robot/contract.toml --onnx robot --mode free -o results"),
}
"""The words of a command -> the lines to type."""


def example(words: str = "") -> str:
    """The lines as typer's epilog: `\\b` keeps each as it is."""
    lines = EXAMPLES[words]
    return "\b\n" + (f"Example: {lines[0]}" if len(lines) == 1 else "\n  ".join(("Example:", *lines)))
