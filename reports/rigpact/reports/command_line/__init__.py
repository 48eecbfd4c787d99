"""The `rigpact` command: every command's module is named here, and imported where it is asked for.

Heavy modules (numpy, onnxruntime, pandas, torch) are imported inside the commands, so that `rigpact --help` stays quick.
Exit status everywhere: 0 pass, 1 findings, 2 could not judge, 3 a defect of rigpact itself.
To add a command: a function of its name, and a row in `_COMMANDS`.
"""

from __future__ import annotations

import gc
import inspect
import io
import os
import sys
import warnings
from collections.abc import Sequence
from copy import copy
from functools import cache
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo

from rigpact.contract.errors import DISK_REFUSES, UnusableInput, disk_refusal, error_text
from rigpact.reports.command_line.options import COMMANDS, example, is_same
from rigpact.reports.command_line.report_formats import with_options

_EXIT_INTERRUPTED = 130
_UsageError: Any = typer.BadParameter.__mro__[1]
"""The package click's, or that of the click which later versions of typer bring along."""
_HELP_WIDTH = 120
"""Widest help; a narrower terminal gets narrower help."""
_LONGEST_SENTENCE = 1 << 10
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Python's 700 collect a hundred times while modules are imported: a seventh of the time of a short command."""


class _Program(TyperGroup):
    """All commands, each with its whole first sentence; what a shell completes is set up without a line in the help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options, without those that set up the completion of a shell, and commands."""
        for each in self.params:
            each.hidden = "completion" in str(each.name)  # type: ignore[attr-defined]
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command that is not hidden, in the order in which people first need it."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, each.get_short_help_str(_LONGEST_SENTENCE))
                    for name, each in commands.items()
                    if each and not each.hidden
                ]
            )


_ALIKE = {
    "--companion": "auxiliary statistics", "--set": "a convention", "--conventions": "a file of them",
    "--operations": "your own, which run", "--config": "in place of the nearest rigpact.toml",
    "--report": "a further answer", "--html": "the answer as a page", "--strict": "warnings fail too",
    "--quiet": "the verdict alone",
}  # fmt: skip
"""What many commands have alike, in few words."""


class _Command(TyperCommand):
    """A command that looks into the settings for what its line leaves out, and says all that is missing at once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; what is required and missing is said in `invoke`."""
        required = [each for each in self.params if each.required and not {"-h", "--help"} & {*args}]
        for each in required:
            each.required = False
        try:
            return super().parse_args(ctx, args)
        finally:
            for each in required:
                each.required = True

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options of this command in a list; those that many commands have alike in a paragraph."""
        alike: dict[Any, str] = {
            each: words for each in self.params for name, words in _ALIKE.items() if name in each.opts
        }
        for each in alike:
            each.hidden = True
        try:
            super().format_options(ctx, formatter)
        finally:
            for each in alike:
                each.hidden = False
        if alike:
            with formatter.section("As in other commands"):
                formatter.write_text("; ".join(f"{_word(each)}: {words}" for each, words in alike.items()))

    def invoke(self, ctx: Any) -> Any:
        """Fill in, refuse, then work."""
        from rigpact.contract.files import refuse_output
        from rigpact.reports.terminal import say, say_aside

        reads = COMMANDS.get(str(ctx.info_name))
        line = ""
        if reads:
            from rigpact.reports.command_line.left_out import filled  # what opens files is loaded where some are read

            line = filled(ctx.params, reads)
        needed = reads.needed if reads else ()
        is_probe = bool(ctx.params.get("probe"))  # which takes neither clip nor output
        required = [each for each in self.params if (each.required and not is_probe) or each.name in needed]
        missing = [each for each in required if not ctx.params[each.name]]
        if missing:
            found, expected = ", ".join(f"no {_word(each)}" for each in missing), "all of them" if missing[1:] else "it"
            hint = f"`{ctx.command_path} --help` shows an example"
            if any(each.name == "bundle" for each in missing):
                hint += "; `rigpact init` writes a rigpact.toml that names the contract"
            raise UnusableInput(ctx.command_path, found, expected, hint)
        for each in self.params:
            if isinstance(value := ctx.params[each.name], float) and not isfinite(value):
                raise UnusableInput(_word(each), str(value), "a finite number")
        read = [value for key, value in ctx.params.items() if key not in _WRITTEN and isinstance(value, str | Path)]
        files = (
            each.name
            for each in self.params
            if each.name in _WRITTEN and each.metavar != "FOLDER" and ctx.params[each.name]
        )
        for target in (Path(ctx.params[key]) for key in files):
            refuse_output(target)
            if any(is_same(each, target) for each in read):
                raise UnusableInput(
                    target, "a file that this command reads", "another file to write to", "it would be lost"
                )
        if line and not ctx.params.get("is_quiet"):
            (say if ctx.params.get("output_format") == "text" else say_aside)(line)
        return super().invoke(ctx)


def _word(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    return f"{max(parameter.opts, key=len)} {parameter.metavar or ''}".strip()


_WRITTEN = ("out", "table", "patch", "html", "probe")
"""Parameters of files that a command writes anew."""


_COMMANDS = {
    "demo": "show", "init": "gate", "check": "check", "diff": "check", "explain": "explain", "nan": "explain", "run": "run",
    "gate": "gate", "convert": "run", "codegen": "run", "sweep": "run", "show": "show", "neurarig": "show",
}  # fmt: skip
"""Every command with its module, in the order in which people first need them."""
_NO_CONTRACT = {"demo"}
_NO_VERDICT = {"show"}
_JUDGING = {"check", "diff", "explain", "gate", "nan"}


def application(word: str = "") -> typer.Typer:
    """The command line, with the module of one command, or with all of them where the word names none."""
    own = typer.Typer(
        name="rigpact",
        cls=_Program,
        help="Find where Python training and a C++ runtime disagree, and why.",
        epilog=example(),
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _HELP_WIDTH},
        rich_markup_mode=None,  # help in boxes makes the start three times as slow
        pretty_exceptions_enable=False,
        callback=_options,
    )
    for name in [word] if word in _COMMANDS else _COMMANDS:
        _add(own, name)
    return own


def _add(own: typer.Typer, name: str) -> None:
    command = getattr(import_module(f"{__name__}.{_COMMANDS[name]}"), name)
    if isinstance(command, typer.Typer):
        own.add_typer(command, name=name)
        return
    options = {
        "own_operations": name not in _NO_CONTRACT, "config": name in COMMANDS, "report": name in _JUDGING,
        "html": name in _JUDGING, "is_quiet": name not in _NO_VERDICT,
    }  # fmt: skip
    whole = with_options(command, *(option for option, has_it in options.items() if has_it))
    own.command(name, cls=_Command, epilog=example(name))(whole)


@cache
def _with_command(word: str) -> Any:
    """What reads the words of a command line that begins with this one. To know all commands takes as long as to run some."""
    wanted = application(word)
    if word in {"-h", "--help"}:
        wanted.registered_commands = [_without_options(each) for each in wanted.registered_commands]
    return typer.main.get_command(wanted)


def _without_options(command: CommandInfo) -> CommandInfo:
    shown = copy(command)
    shown.help, shown.callback = inspect.getdoc(command.callback), lambda: None
    return shown


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer's callback signature
    if wanted:
        from rigpact.contract.version import rigpact_version

        typer.echo(f"rigpact {rigpact_version()}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Find where Python training and a C++ runtime disagree, and why."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with the documented exit status."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # numpy's: for small matrices more threads only wait for each other
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    descriptor = os.open(os.devnull, os.O_WRONLY) if sys.stdout is None else sys.stdout.fileno()
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    answer = _StandardOutput(descriptor)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(answer), encoding, "replace", line_buffering=True)
    status = run_command_line(arguments)
    sys.stdout.flush()
    status = answer.status_after(status)
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(status)


def _say_aside(line: str) -> None:
    from rigpact.reports.terminal import say_aside

    say_aside(line)


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Control-C is behind an error: a compiled module that it stops while it loads says only that it cannot."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


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

        try:
            return os.write(self._descriptor, content)
        except BrokenPipeError:
            return len(content)
        except OSError as error:
            if error.errno not in DISK_REFUSES:
                raise
            self._refused = error
            return len(content)


def _worked(words: Sequence[str]) -> int:
    """Read the words and run their command; its exit status."""
    from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_PASS

    program = _with_command(words[0] if words else "")
    try:
        status = program(args=words, prog_name="rigpact", standalone_mode=False)
    except SystemExit as leaving:  # of a module that the command line names
        status = leaving.code
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return EXIT_CANNOT_JUDGE
        path, said = error.ctx.command_path if error.ctx else "rigpact", error.format_message().rstrip(".")
        said = said.replace("valid int range", "whole number").replace("valid float range", "number")
        _say_aside(f"rigpact: error: {said} (hint: `{path} --help` says what there is)")
        return EXIT_CANNOT_JUDGE
    return status if isinstance(status, int) else EXIT_PASS


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Bad input gives one line on stderr and status 2. Any other error is a defect of rigpact: status 3, with a traceback
    only where RIGPACT_DEBUG is set.
    """
    from rigpact.contract.files.reading import inputs_remembered
    from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_INTERNAL

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a Windows console that cannot show Δ or ° must not fail the gate
            stream.reconfigure(errors="replace")
    try:
        with inputs_remembered(), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", category=RuntimeWarning, module=r"rigpact\."
            )  # numpy's: findings say it better
            warnings.showwarning = lambda message, *_, **__: _say_aside(f"rigpact: {message}")
            return _worked(sys.argv[1:] if arguments is None else arguments)
    except UnusableInput as error:
        _say_aside(f"rigpact: error: {error.one_line()}")
        return EXIT_CANNOT_JUDGE
    except MemoryError:
        _say_aside("rigpact: error: the files need more memory than there is")
        return EXIT_CANNOT_JUDGE
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_REFUSES:
            _say_aside(f"rigpact: error: {disk_refusal(error.filename or 'output', error).one_line()}")
            return EXIT_CANNOT_JUDGE
        is_interrupted = _is_interrupted(error)
        if os.environ.get("RIGPACT_DEBUG") and not is_interrupted:
            raise
        if not is_interrupted:
            _say_aside(f"rigpact: internal error: {error_text(error)}")
            _say_aside("  this is a defect of rigpact; run again with RIGPACT_DEBUG=1 for the traceback")
        return _EXIT_INTERRUPTED if is_interrupted else EXIT_INTERNAL
