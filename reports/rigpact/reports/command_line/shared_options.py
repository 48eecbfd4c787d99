"""Options that many commands have alike, and whose functions do not see: `-q`, `--config`, `--report`, `--operations FILE.py`.

Only the words of `--operations` name a module with operations that contracts may name. A declaration, a rigpact.toml and a
recording are data: none can have one loaded.
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import wraps
from typing import Annotated, Any, get_args

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line.options import ConfigFile, HtmlFile, ReportFiles

Command = Callable[..., None]
_WORDS = "Python module with your own operations; it runs. May be repeated."
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "own_operations": (Annotated[list[str] | None, typer.Option("--operations", metavar="FILE.py", help=_WORDS)], None),
    "config": (ConfigFile, None),
    "report": (ReportFiles, None),
    "html": (HtmlFile, None),
    "is_quiet": (Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict.")], False),
}
"""The annotation and the default of each. `left_out.fill` uses `config`."""


def with_options(command: Command, *names: str) -> Command:
    """A command with some of these options too, less those that it declares itself; they hold for this command only."""
    own = inspect.signature(command, eval_str=True)
    added = {name: _OPTIONS[name] for name in names if name not in own.parameters}

    @wraps(command)
    def wrapped(**options: Any) -> None:
        given = {name: options.pop(name, default) for name, (_, default) in added.items()}
        with ExitStack() as held:
            if given.get("is_quiet"):
                from rigpact.reports.terminal import quietly

                held.enter_context(quietly())
            if given.get("report") or given.get("html"):
                from rigpact.reports.command_line.report_formats import answers_asked, outputs_of

                outputs = outputs_of(given["report"], given["html"])
                for output in outputs:
                    get_args(own.parameters["output_format"].annotation)[1].parser(output.format)
                held.enter_context(answers_asked(outputs))
            if given.get("own_operations"):
                _use_operations(given["own_operations"], held, is_each=bool(options.get("each")))
            command(**options)

    declared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in added.items()
    ]
    # typer reads the options from the signature
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), *declared])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {
        **command.__annotations__,
        **{name: annotation for name, (annotation, _) in added.items()},
    }
    return wrapped


def _use_operations(files: list[str], held: ExitStack, *, is_each: bool) -> None:
    from rigpact.contract.declared.vocabulary import forget_operations
    from rigpact.reports.own_module import use_operations

    if is_each:
        raise UnusableInput("--operations", "--each beside it", "one of them", "a commit hook runs no code of a commit")
    held.callback(forget_operations)
    use_operations(files)
