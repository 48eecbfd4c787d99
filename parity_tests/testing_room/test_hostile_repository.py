"""A repository that has everything rigpact could collide with: its own `contract/`, `fixtures/`, `reports/` and `testing/`.

Its conftest has fixtures of our words, its settings are strict, its warnings are errors. Its tests and ours must both run.
"""

import pytest

from .conftest import PLUGIN, run_in

OWN_PACKAGES = ("contract", "fixtures", "reports", "testing", "reference_runtime")
OWN_TESTS = 2 * len(OWN_PACKAGES) + 1
SETTINGS = """
[project]
name = "hostile"
version = "1"
[tool.pytest.ini_options]
addopts = ["--strict-markers", "--strict-config", "-ra", "--import-mode={mode}"]
markers = ["rigged: their own"]
testpaths = ["contract", "fixtures", "reports", "testing", "reference_runtime", "tests"]
filterwarnings = ["error"]
pythonpath = ["."]
"""
CONFTEST = """
import sys
import pytest
import contract
assert contract.THEIRS == "contract"

@pytest.fixture
def rigpact_note():
    return "theirs"

@pytest.fixture(scope="session")
def contract_of_theirs():
    return contract

def pytest_configure(config):
    config.addinivalue_line("markers", "theirs: their own")

def pytest_collection_modifyitems(items):
    for item in items:
        if "tests" in item.nodeid:
            item.add_marker("theirs")
"""
OWN_TEST = """
import pytest
import {name}
from {name} import THEIRS

@pytest.mark.rigged
def test_the_package_is_ours():
    assert THEIRS == "{name}"
    assert not hasattr({name}, "load_contract")
    assert type({name}.__loader__).__name__ == "SourceFileLoader"  # not taken for a plugin, whose asserts are rewritten

def test_rigpact_is_there_too():
    import rigpact.contract
    assert rigpact.contract.__name__ == "rigpact.contract"
"""


@pytest.fixture
def hostile(tmp_path):
    """Write the repository; `mode` is its import mode."""

    def write(mode):
        (tmp_path / "pyproject.toml").write_text(SETTINGS.format(mode=mode), encoding="utf-8")
        (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        for name in OWN_PACKAGES:
            package = tmp_path / name
            package.mkdir()
            (package / "__init__.py").write_text(f"THEIRS = {name!r}\n", encoding="utf-8")
            (package / f"test_{name}.py").write_text(OWN_TEST.format(name=name), encoding="utf-8")
        tests = tmp_path / "tests"
        tests.mkdir()
        (tests / "test_with_fixtures.py").write_text(
            "def test_fixtures(rigpact_note, contract_of_theirs, rigpact_contract):\n"
            "    assert rigpact_note == 'theirs'\n"
            "    assert contract_of_theirs.THEIRS == 'contract'\n"
            "    assert rigpact_contract.numbers.bone_count > 0\n",
            encoding="utf-8",
        )
        return tmp_path

    return write


WAYS = {
    "prepend": ("prepend", ()), "importlib": ("importlib", ("-p", "no:cacheprovider")),
    "append": ("append", ("--lf",)), "xdist": ("prepend", ("-n", "2")),
    "xdist by file": ("importlib", ("-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider")),
}  # fmt: skip


def judged(ran):
    """Status; whether all their tests passed; whether all of ours did."""
    return ran.status, f"rigpact: {ours(ran)} passed" in ran.out, f"{ours(ran) + OWN_TESTS} passed" in ran.out


def ours(ran):
    """How many of our tests passed."""
    return int(ran.summary.partition(" passed")[0].rpartition(" ")[2])


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way in ("prepend", "xdist by file") else pytest.mark.nightly) for way in WAYS]
)
def test_their_tests_and_ours_run_side_by_side(hostile, demo_words, way):
    """Users uninstall a tool that breaks their own tests."""
    mode, words = WAYS[way]
    if "-n" in words:
        pytest.importorskip("xdist")
    ran = run_in(hostile(mode), [*PLUGIN, *words, *demo_words], {})
    assert judged(ran) == (0, True, True), ran.out[-3000:]
    assert ours(ran) > 100


def test_without_the_option_only_their_tests_run(hostile):
    """Without its option, the installed plugin must have no effect."""
    ran = run_in(hostile("importlib"), list(PLUGIN), {})
    assert (ran.status, ran.summary) == (0, ""), ran.out[-3000:]
    assert f"{OWN_TESTS - 1} passed, 1 skipped" in ran.out
