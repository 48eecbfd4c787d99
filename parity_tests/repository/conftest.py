"""The outside system, installed once for every test of the repository."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .outside_project import PACKAGE, InProcess, Rigpact, found_in, install, roots_of, write_project


@pytest.fixture(scope="session")
def outside_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the outside package is installed."""
    pytest.importorskip("hatchling")
    site = tmp_path_factory.mktemp("site")
    install(PACKAGE, site)
    return site


@pytest.fixture(scope="session")
def outside(outside_site: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Rigpact:
    """The command in a project of the outside system: contract, model, two clips, nothing else."""
    project = InProcess(tmp_path_factory.mktemp("project"), (str(outside_site), *roots_of(checkout)))
    write_project(project)
    return project


@pytest.fixture
def outside_here(outside_site: Path) -> Iterator[None]:
    """The outside system known in this very process, and forgotten afterwards."""
    with found_in(str(outside_site)):
        yield
