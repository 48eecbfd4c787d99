"""The option `--operations FILE.py` of every command that reads contracts: modules with operations that contracts may name.

Only these words name a module. A declaration, a rigpact.toml and a recording are data: none can have one loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer


def _use(context: typer.Context, files: list[str] | None) -> list[str] | None:
    """Load the modules, for this command only."""
    if files:
        from rigpact.contract.declared.vocabulary import forget_operations
        from rigpact.reports.own_module import use_operations

        context.call_on_close(forget_operations)
        use_operations(files)
    return files


_TYPE = Annotated[
    list[str] | None,
    typer.Option(
        "--operations", metavar="FILE.py", callback=_use,
        help="Module with operations that a contract may name; may be repeated. It is imported, that is: it runs.",
    ),
]  # fmt: skip
_OPTION = inspect.Parameter("own_operations", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_TYPE)


def with_operations(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option, which its function does not see."""

    @wraps(command)
    def wrapped(*arguments: Any, own_operations: list[str] | None = None, **options: Any) -> None:  # noqa: ARG001
        command(*arguments, **options)

    own = inspect.signature(command, eval_str=True)
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), _OPTION])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**command.__annotations__, _OPTION.name: _TYPE}
    return wrapped
