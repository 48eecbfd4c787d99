"""A browser to open pages in; a drawn run's page, opened."""

from __future__ import annotations

import importlib.util

import pytest

from rigpact.reports.viewer import write_html

from ..programs import missing
from .drawn import Drawn, drawn_gate


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless Chromium for all tests."""
    if importlib.util.find_spec("selenium") is None:
        missing("selenium (pip install rigpact[test])")
    from .browser import started

    with started(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="session")
def drawn():
    """A run whose engine is wrong in one bone at one frame, and nowhere else."""
    return Drawn.with_one_error()


@pytest.fixture(scope="session")
def page(drawn, tmp_path_factory):
    """The drawn run's page."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(path, drawn_gate(drawn))
    return path


@pytest.fixture
def opened(browser, page):
    """The page in the browser at desktop size."""
    browser.open(page)
    return browser


@pytest.fixture
def show(browser, drawn, tmp_path):
    """Opens a page of some runs, of the drawn run's gate if no other is given; it opens without an error."""

    def call(*runs, gate=None):
        write_html(tmp_path / "page.html", gate or drawn_gate(drawn, *runs))
        browser.open(tmp_path / "page.html")
        assert browser.errors() == []

    return call
