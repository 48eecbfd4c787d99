"""`--report FORMAT=FILE` and `--html FILE`: the answer that a command prints, written into files in other formats too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rigpact.reports.outputs import Output

_ASKED: ContextVar[tuple[Output, ...]] = ContextVar("asked", default=())


def outputs_of(report: Sequence[str] | None, html: Path | None) -> list[Output]:
    """Format and absolute path of every file to write; checked before anything runs."""
    from rigpact.contract.files.writing import refuse_output
    from rigpact.reports.outputs import HTML, Output, parse_output

    found = [*map(parse_output, report or ()), *([Output(HTML, html.absolute())] if html else [])]
    refuse_one_path_twice([output.path for output in found])
    for output in found:
        refuse_output(output.path)
    return found


def refuse_one_path_twice(paths: Sequence[Path]) -> None:
    """UnusableInput where one report would replace another: a view that reads it would show nothing, or the wrong one."""
    from rigpact.contract.errors import UnusableInput

    whole = [path.resolve() for path in paths]
    twice = next((path for place, path in enumerate(paths) if whole[place] in whole[:place]), None)
    if twice is not None:
        raise UnusableInput("--report", f"{twice} twice", "a file of its own for every report")


@contextmanager
def answers_asked(outputs: Sequence[Output]) -> Iterator[None]:
    """Within this, what a command prints is written into these files too."""
    token = _ASKED.set(tuple(outputs))
    try:
        yield
    finally:
        _ASKED.reset(token)


def asked_formats() -> list[str]:
    """The formats of the files that are asked for."""
    return [output.format for output in _ASKED.get()]


def write_answers(show: Callable[[str], None]) -> None:
    """Write the files that were asked for. show: prints the answer in a format."""
    from rigpact.contract.files import write_bytes
    from rigpact.reports.terminal import quietly

    for output in _ASKED.get():
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, "utf-8", newline="", write_through=True)
        with redirect_stdout(stream), quietly(is_quiet=False):
            show(output.format)
        write_bytes(output.path, written.getvalue())
