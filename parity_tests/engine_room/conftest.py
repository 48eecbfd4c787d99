"""An engine's own loop, compiled once for all tests of this room."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rigpact.fixtures.demo import demo_bundle

from ..measuring.scores.engine.engine_side import Engine, Files, compiled, compiler
from ..programs import missing


@pytest.fixture(scope="session")
def engine_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Files], Engine]:
    """The loop on some files. Without a compiler the tests are skipped."""
    if compiler() is None:
        missing("C++ compiler")
    library = compiled(tmp_path_factory.mktemp("engine"))
    return lambda files: Engine(library, files)


@pytest.fixture(scope="session")
def engine(engine_of: Callable[[Files], Engine]) -> Engine:
    """The loop on the demo character."""
    return engine_of(Files.of_demo(demo_bundle(), "Walk_Spin"))


@pytest.fixture(scope="session")
def bundle() -> Path:
    """The folder of the demo bundle."""
    return demo_bundle()
