"""The `rigpact` command: one module for each command, registered here.

Heavy modules (numpy, onnxruntime, pandas, torch) are imported inside the commands, so that `rigpact --help` stays quick.
Exit status everywhere: 0 pass, 1 findings, 2 could not judge, 3 a defect of rigpact itself.
To add a command: write its module, and name it in `_COMMANDS`.
"""

from __future__ import annotations

import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.models import CommandInfo

from rigpact.reports.command_line.examples import example
from rigpact.reports.command_line.judging.adequacy import adequacy
from rigpact.reports.command_line.judging.breaking import breaking
from rigpact.reports.command_line.judging.check import check
from rigpact.reports.command_line.judging.check_each import check_each
from rigpact.reports.command_line.judging.diff import diff
from rigpact.reports.command_line.judging.doctor import doctor
from rigpact.reports.command_line.judging.explain import explain
from rigpact.reports.command_line.judging.gate import gate
from rigpact.reports.command_line.judging.geometry import geometry
from rigpact.reports.command_line.judging.nan import nan
from rigpact.reports.command_line.judging.report import report
from rigpact.reports.command_line.judging.selftest import selftest
from rigpact.reports.command_line.making.codegen import codegen
from rigpact.reports.command_line.making.convert import convert
from rigpact.reports.command_line.making.demo import demo
from rigpact.reports.command_line.making.describe import describe
from rigpact.reports.command_line.making.import_contract import import_contract
from rigpact.reports.command_line.making.init import init
from rigpact.reports.command_line.making.neurarig import neurarig
from rigpact.reports.command_line.making.operations import operations
from rigpact.reports.command_line.making.rule import rule
from rigpact.reports.command_line.making.run import run
from rigpact.reports.command_line.making.schema import schema
from rigpact.reports.command_line.making.stamp import stamp
from rigpact.reports.command_line.making.sweep import sweep
from rigpact.reports.command_line.making.systems import systems
from rigpact.reports.command_line.shared_options import with_operations, with_quiet

_HELP_WIDTH = 120
"""Widest help; a narrower terminal gets narrower help."""
_LONGEST_SENTENCE = 1 << 10


class _Grouped(TyperGroup):
    """Commands under the headings of their groups, each with its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list of definitions for each group, in the order in which they were registered."""
        groups: dict[str, list[tuple[str, str]]] = {group: [] for group in _COMMANDS}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            groups[command.rich_help_panel].append((name, command.get_short_help_str(_LONGEST_SENTENCE)))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


app = typer.Typer(
    name="rigpact",
    cls=_Grouped,
    help="Say why two programs that should compute the same numbers do not.",
    epilog=example(),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _HELP_WIDTH},
    rich_markup_mode=None,  # help in boxes makes the start three times as slow
    pretty_exceptions_enable=False,
)
_COMMANDS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "Judge": (demo, check, explain, diff, nan, breaking, gate, report, selftest, check_each),
    "Set up": (init, doctor, import_contract, convert, codegen, stamp),
    "Describe": (describe, rule, systems, operations, schema),
    "Measure": (run, sweep, adequacy, geometry),
}
"""Every command by what it is for, in the order in which people first need them."""
_NO_CONTRACT = {demo, geometry, import_contract, rule, systems}
_NO_VERDICT = {describe, operations, rule, schema, systems}
for _group, _commands in _COMMANDS.items():
    for _command in _commands:
        _named = "import" if _command is import_contract else _command.__name__.replace("_", "-")
        _whole = _command if _command in _NO_CONTRACT else with_operations(_command)
        app.command(_named, rich_help_panel=_group, epilog=example(_named))(
            _whole if _command in _NO_VERDICT else with_quiet(_whole)
        )
app.add_typer(neurarig, name="neurarig", rich_help_panel="Set up")


@cache
def _with_command(word: str) -> Any:
    """What reads the words of a command line that begins with this one. To know all commands takes as long as to run some."""
    wanted = copy(app)
    if word in {"-h", "--help"}:
        wanted.registered_commands = [_without_options(each) for each in app.registered_commands]
    elif own := [each for each in app.registered_commands if word == _name_of(each)]:
        wanted.registered_commands, wanted.registered_groups = own, []
    return typer.main.get_command(wanted)  # all of it after a spelling mistake, and for a group


def _name_of(command: CommandInfo) -> str:
    """The word for a command: its own, or that of its function, as typer makes it."""
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _without_options(command: CommandInfo) -> CommandInfo:
    """A command as the help of all commands shows it: its name and what it does."""
    shown = copy(command)
    shown.name, shown.help, shown.callback = _name_of(command), inspect.getdoc(command.callback), lambda: None
    return shown


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback signature
    if wanted:
        from rigpact.contract.version import rigpact_version

        typer.echo(f"rigpact {rigpact_version()}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Say why two programs that should compute the same numbers do not."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with the documented exit status."""
    # numpy's: for small matrices more threads only wait for each other
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    descriptor = os.open(os.devnull, os.O_WRONLY) if sys.stdout is None else sys.stdout.fileno()
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    answer = _StandardOutput(descriptor)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(answer), encoding, "replace", line_buffering=True)
    status = run_command_line(arguments)
    sys.stdout.flush()
    status = answer.status_after(status)
    _drop_what_stderr_refused()
    sys.exit(status)


def _drop_what_stderr_refused() -> None:
    """What a full stderr refuses stays in its buffer: Python would write it again at the end, and leave with status 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _say_aside(line: str) -> None:
    """Print a line on stderr. What draws tables is loaded only where there is something to say."""
    from rigpact.reports.terminal import say_aside

    say_aside(line)


class _StandardOutput(io.RawIOBase):
    """Standard output that may end before the answer does.

    A reader may close it (`rigpact check … | head`): the status stays, later text is dropped. A disk may refuse it: an answer
    that nobody can read is not a pass.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._refused: OSError | None = None

    def status_after(self, status: int) -> int:
        """The exit status of the command, once all was written."""
        from rigpact.contract.errors import disk_refusal
        from rigpact.contract.findings import EXIT_CANNOT_JUDGE

        if self._refused is None:
            return status
        _say_aside(f"rigpact: error: {disk_refusal('standard output', self._refused).one_line()}")
        return status or EXIT_CANNOT_JUDGE

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, content: Any) -> int:
        from rigpact.contract.errors import DISK_REFUSES

        try:
            return os.write(self._descriptor, content)
        except BrokenPipeError:
            return len(content)
        except OSError as error:
            if error.errno not in DISK_REFUSES:
                raise
            self._refused = error
            return len(content)


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Bad input gives one line on stderr and status 2. Any other error is a defect of rigpact: status 3, with a traceback
    only where RIGPACT_DEBUG is set.
    """
    from rigpact.contract.errors import DISK_REFUSES, UnusableInput, disk_refusal, error_text
    from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_INTERNAL, EXIT_PASS
    from rigpact.contract.inputs import inputs_remembered

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a Windows console that cannot show Δ or ° must not fail the gate
            stream.reconfigure(errors="replace")
    try:
        with inputs_remembered(), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", category=RuntimeWarning, module=r"rigpact\."
            )  # numpy's: findings say it better
            warnings.showwarning = lambda message, *_, **__: _say_aside(f"rigpact: {message}")
            words = sys.argv[1:] if arguments is None else arguments
            _with_command(words[0] if words else "")(args=words, prog_name="rigpact")
    except SystemExit as leaving:  # how typer ends: usage errors are status 2, commands give their own
        return leaving.code if isinstance(leaving.code, int) else EXIT_PASS
    except UnusableInput as error:
        _say_aside(f"rigpact: error: {error.one_line()}")
        return EXIT_CANNOT_JUDGE
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_REFUSES:
            _say_aside(f"rigpact: error: {disk_refusal(error.filename or 'output', error).one_line()}")
            return EXIT_CANNOT_JUDGE
        if os.environ.get("RIGPACT_DEBUG"):
            raise
        _say_aside(f"rigpact: internal error: {error_text(error)}")
        _say_aside("  this is a defect of rigpact; run again with RIGPACT_DEBUG=1 for the traceback")
        return EXIT_INTERNAL
    return EXIT_PASS
