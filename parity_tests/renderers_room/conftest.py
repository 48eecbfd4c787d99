"""The command line in this process, its output as bytes."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from rigpact.reports.command_line import run_command_line


@dataclass(frozen=True)
class Answer:
    """The exit status and output of a command."""

    status: int
    out: bytes
    err: bytes


Command = Callable[..., Answer]


@pytest.fixture
def command(capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Run `rigpact WORDS…` and return its exit status and output."""

    def call(*words: object) -> Answer:
        capfdbinary.readouterr()
        status = run_command_line([str(word) for word in words])
        captured = capfdbinary.readouterr()
        return Answer(status, captured.out, captured.err)

    return call
