"""The option `-q` of every command that judges or writes: the verdict and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

_TYPE = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the verdict; nothing where there is none.")]
_OPTION = inspect.Parameter("is_quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_TYPE)


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the option, which its function does not see."""

    @wraps(command)
    def wrapped(*arguments: Any, is_quiet: bool = False, **options: Any) -> None:
        if not is_quiet:
            command(*arguments, **options)
            return
        from rigpact.reports.terminal import quietly

        with quietly():
            command(*arguments, **options)

    own = inspect.signature(command, eval_str=True)
    wrapped.__signature__ = own.replace(parameters=[*own.parameters.values(), _OPTION])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {**command.__annotations__, _OPTION.name: _TYPE}
    return wrapped
