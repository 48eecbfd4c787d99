"""Programs that tests run and that pip does not bring.

A test that needs one is marked `@pytest.mark.needs_program(NAME, …)`. It is skipped, with the reason, where a program is missing.
`.ci/run` installs a browser, `.github/workflows/tests.yml` all of them each night; both set RIGPACT_PROGRAMS=required and run the
marked tests again: then a missing one fails. To add a program: mark its tests, and install it in one of the two.
"""

import os
import shutil

import pytest

ALSO_CALLED = {"chromium": ("chromium-browser", "google-chrome")}
"""Other names under which a program may be installed."""
MARK = "needs_program"
OF_FIXTURE = {"browser": ("chromium", "chromedriver")}
"""A test that asks for one of these fixtures is marked with its programs."""
NIGHTLY = {"clang++", "mcs", "mono", "valgrind"}
"""A second compiler and its like agree with the first nearly always: what needs one guards no merge."""


def path_of(program: str) -> str | None:
    """Where a program is; None if it is not installed."""
    return next(filter(None, map(shutil.which, (program, *ALSO_CALLED.get(program, ())))), None)


def missing(what: str) -> None:
    """Skip, and say why; fail where everything must be there, or a test that never runs would not show."""
    if os.environ.get("RIGPACT_PROGRAMS") == "required":
        pytest.fail(f"no {what}, and RIGPACT_PROGRAMS=required: install it")
    pytest.skip(f"no {what} on this machine")


def mark_what_it_needs(item: pytest.Item) -> None:
    """Mark a test with the programs of its fixtures, and as nightly where its programs are."""
    for fixture, programs in OF_FIXTURE.items():
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.needs_program(*programs))
    if any(NIGHTLY & {*mark.args} for mark in item.iter_markers(MARK)):
        item.add_marker(pytest.mark.nightly)


def require_programs_of(item: pytest.Item) -> None:
    """Skip or fail a marked test whose programs are not all here."""
    for mark in item.iter_markers(MARK):
        for program in mark.args:
            if path_of(program) is None:
                missing(program)
