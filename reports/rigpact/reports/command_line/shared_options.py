"""Options that many commands have alike, and whose functions do not see: `-q`, `--config` and `--operations FILE.py`.

Only the words of `--operations` name a module with operations that contracts may name. A declaration, a rigpact.toml and a
recording are data: none can have one loaded.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile
from rigpact.reports.command_line.options import HtmlFile, ReportFiles

Command = Callable[..., None]


_WORDS = "Python module with your own operations; it runs. May be repeated."
_OPERATIONS = Annotated[list[str] | None, typer.Option("--operations", metavar="FILE.py", help=_WORDS)]
_QUIET = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict.")]


def with_operations(command: Command) -> Command:
    """A command of all who read contracts, with `--operations`: the modules hold for this command only."""

    @wraps(command)
    def wrapped(*arguments: Any, own_operations: list[str] | None = None, **options: Any) -> None:
        if not own_operations:
            command(*arguments, **options)
            return
        from rigpact.contract.declared.vocabulary import forget_operations
        from rigpact.contract.errors import UnusableInput
        from rigpact.reports.own_module import use_operations

        if options.get("each"):
            raise UnusableInput(
                "--operations", "--each beside it", "one of them", "a commit hook runs no code of a commit"
            )
        try:
            use_operations(own_operations)
            command(*arguments, **options)
        finally:
            forget_operations()

    return _declared(command, wrapped, "own_operations", _OPERATIONS, default=None)


def with_settings(command: Command) -> Command:
    """A command that finds in rigpact.toml what its line leaves out (`left_out.fill`), with `--config`."""
    if "config" in inspect.signature(command).parameters:
        return command

    @wraps(command)
    def wrapped(*arguments: Any, config: Path | None = None, **options: Any) -> None:  # noqa: ARG001
        command(*arguments, **options)

    return _declared(command, wrapped, "config", ConfigFile, default=None)


def with_reports(command: Command) -> Command:
    """A command that judges, with `--report` and `--html`: its answer in further files, in a format that it has."""
    own = inspect.signature(command, eval_str=True)
    if "report" in own.parameters:  # the gate's page shows more than its answer
        return command

    @wraps(command)
    def wrapped(*arguments: Any, report: list[str] | None = None, html: Path | None = None, **options: Any) -> None:
        if not report and not html:
            command(*arguments, **options)
            return
        from rigpact.reports.command_line.further_answers import answers_asked, outputs_of

        outputs, has_format = outputs_of(report, html), get_args(own.parameters["output_format"].annotation)[1].parser
        for output in outputs:
            has_format(output.format)
        with answers_asked(outputs):
            command(*arguments, **options)

    _declared(command, wrapped, "report", ReportFiles, default=None)
    return _declared(wrapped, wrapped, "html", HtmlFile, default=None)


def with_quiet(command: Command) -> Command:
    """A command that judges or writes, with `-q`: the verdict and nothing else."""

    @wraps(command)
    def wrapped(*arguments: Any, is_quiet: bool = False, **options: Any) -> None:
        if not is_quiet:
            command(*arguments, **options)
            return
        from rigpact.reports.terminal import quietly

        with quietly():
            command(*arguments, **options)

    return _declared(command, wrapped, "is_quiet", _QUIET, default=False)


def _declared(command: Command, wrapped: Command, name: str, annotation: Any, *, default: object) -> Command:
    """The wrapped command with the command's signature and the option: typer reads the options from there."""
    own = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), option])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**command.__annotations__, name: annotation}
    return wrapped
