"""What is shown while work runs, and what is not: bars for people who look, nothing in a log."""

import io
import sys

import pytest

from rigpact.reports.terminal import counted, say_aside, tracked, working


class Terminal(io.StringIO):
    """A stderr that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_watched", [True, False])
def test_progress_is_shown_to_people_alone(is_watched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar that moves fills the log of a build with ten thousand lines; a person without one stops the program."""
    stream = Terminal() if is_watched else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert list(tracked(range(300), "clips measured")) == list(range(300))
    with counted(3, "cells done") as advance:
        for _ in range(3):
            advance(1)
    with working("the compiler runs"):
        pass
    shown = stream.getvalue()
    for words in ("clips measured", "cells done", "the compiler runs"):
        assert (words in shown) == is_watched


def test_a_program_without_stderr_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A windowed program on Windows has none: progress must not end it."""
    monkeypatch.setattr(sys, "stderr", None)
    say_aside("listening")
