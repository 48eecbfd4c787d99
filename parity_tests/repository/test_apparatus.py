"""What the tests themselves stand on: `every_case`, programs that may be missing, and the commands that CI runs."""

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ..every_case import every_case
from ..programs import missing, require_programs_of

NEEDED_BY_CI = ("bash", "dirname", "awk", "mktemp", "rm", "mkdir", "touch", "git")
COLLECTED = """
import sys
import pytest
sys.modules |= dict.fromkeys(sys.argv[1:])  # their import fails
sys.exit(pytest.main(["--collect-only", "-qq", "-n0", "-p", "no:cacheprovider"]))
"""
LEFT_OUT = ("mujoco", "mkdocs")
"""What the line of CONTRIBUTING.md does not install."""
SAYS = '#!/bin/bash\necho "${PWD##*/}: ${0##*/} $*" >> "$LOG"\n'
VENV = '[ "$2" = venv ] && mkdir -p "$3/bin" && touch "$3/bin/activate"; true\n'


def test_every_case_is_tried_and_each_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that stops at its first failure hides the others; a file that one case leaves would let the next pass."""
    tried, before = [], Path.cwd()

    @every_case(("name", "number"), [("sound", 0), ("wrong", 1), ("broken", 2), ("left out", 3)])
    def test(name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tried.append(name)
        assert (Path.cwd(), list(tmp_path.iterdir())) == (before, [])
        monkeypatch.chdir(tmp_path)
        Path("left.txt").write_text("", encoding="utf-8")
        assert number != 1, "one is wrong"
        if number == 2:
            raise KeyError(name)
        if number == 3:
            pytest.skip("not today")

    with pytest.raises(pytest.fail.Exception) as failure:
        test(tmp_path=tmp_path, monkeypatch=monkeypatch)
    said = str(failure.value)
    assert tried == ["sound", "wrong", "broken", "left out"]
    assert said.startswith("3 of 4 cases failed\n1: wrong-1\n2: broken-2\n3: left out-3\n")
    assert [words for words in ("one is wrong", "KeyError", "not today") if words not in said] == []
    with pytest.raises(AssertionError, match="no case of number"):
        every_case("number", [])


def test_a_test_without_its_program_is_skipped_and_fails_where_all_must_be_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A newcomer without a browser runs README's command, and it must not fail; a page that is never opened looks green."""

    def needs(*programs: str) -> Any:
        return SimpleNamespace(iter_markers=lambda _name: [SimpleNamespace(args=programs)])

    monkeypatch.delenv("RIGPACT_PROGRAMS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such-program on this machine"):
        require_programs_of(needs("bash", "such-program"))
    with pytest.raises(pytest.skip.Exception, match="no C\\+\\+ compiler"):
        missing("C++ compiler")
    require_programs_of(needs("bash"))
    monkeypatch.setenv("RIGPACT_PROGRAMS", "required")
    with pytest.raises(pytest.fail.Exception, match="no such-program"):
        require_programs_of(needs("such-program"))


def test_a_skip_says_what_is_lost(checkout: Path, tmp_path: Path) -> None:
    """A list of 76 reasons that name one folder tells nobody what he does without."""
    words = ("-rs", "-q", "-n0", "-p", "no:cacheprovider", "parity_tests/contract_room/test_real_findings.py")
    environment = os.environ | {"RIGPACT_REAL_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    assert len(skipped) > 1
    assert [
        line for line in skipped if f"no real exported files in {tmp_path}" not in line or "; not tested: " not in line
    ] == []


@pytest.fixture
def bare_machine(tmp_path: Path, checkout: Path) -> Path:
    """A checkout with CI's script and README, and a PATH on which python, rigpact and apt-get say where they are called."""
    path = tmp_path / "path"
    for folder in (tmp_path / ".ci", path):
        folder.mkdir()
    for name in (".ci/run", "README.md"):
        shutil.copy(checkout / name, tmp_path / name)
    for name in NEEDED_BY_CI:
        (path / name).symlink_to(str(shutil.which(name)))
    for name in ("python", "python3", "rigpact", "apt-get"):
        (path / name).write_text(SAYS + (VENV if name == "python3" else ""), encoding="utf-8")
        (path / name).chmod(0o755)
    for words in ("init --quiet", "add .ci README.md", "-c user.name=a -c user.email=a@b commit --quiet -m first"):
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    (tmp_path / "README.md").write_text("not committed", encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(shutil.which("bash") is None, reason="CI's script is for bash")
def test_ci_runs_the_readmes_commands_before_it_installs_programs(bare_machine: Path) -> None:
    """Installed first, clang hid for weeks that README's command fails without it; the clone is named as users name it."""
    log = bare_machine / "log"
    environment = {**os.environ, "PATH": str(bare_machine / "path"), "LOG": str(log), "TMPDIR": str(bare_machine)}
    subprocess.run([".ci/run"], cwd=bare_machine, env=environment, check=True, timeout=60)
    folders, called = zip(*(line.split(": ", 1) for line in log.read_text(encoding="utf-8").splitlines()), strict=True)
    assert set(folders) == {"rigpact"}
    assert called[0].startswith("python3 -m venv ")
    assert called[1:6] == (
        "python -m pip install .", "rigpact demo", "python -m pip install tox", "python -m tox -p --parallel-live",
        "apt-get update -qq",
    )  # fmt: skip
    assert called[6].split()[-2:] == ["chromium", "chromium-driver"]
    assert called[7].endswith("-m needs_program and not nightly parity_tests/viewer_room")
    assert len(called) == 8


def test_the_workflow_runs_the_readmes_commands(checkout: Path) -> None:
    """README promises them on every system; a workflow with commands of its own would not see that they fail."""
    readme, workflow = ((checkout / name).read_text("utf-8") for name in ("README.md", ".github/workflows/tests.yml"))
    for name in ("install", "test"):
        (command,) = re.findall(rf"^<!-- {name} -->\n```bash\n(.*)\n```$", readme, re.MULTILINE)
        assert f"      - run: {command}\n" in workflow
    systems, versions = (re.findall(rf"^ +{key}: \[(.*)\]$", workflow, re.MULTILINE) for key in ("os", "python"))
    assert systems == ["ubuntu-latest, macos-latest, windows-latest"]
    supported = re.findall(r"Python :: (3\.\d+)", (checkout / "pyproject.toml").read_text("utf-8"))
    assert versions == [", ".join(f'"{version}"' for version in supported)]


def test_coverage_is_measured_of_the_readmes_tests(checkout: Path) -> None:
    """A figure of other tests than those that guard a merge says nothing of what guards it."""
    tox = ConfigParser()
    tox.read(checkout / "tox.ini", "utf-8")
    measured = tox["testenv:coverage"]["commands"].replace(" --cov --cov-report=term:skip-covered", "")
    assert measured.replace("\\", "").split() == tox["testenv"]["commands"].split()


@pytest.mark.nightly
def test_the_extras_of_contributing_are_enough_to_collect(checkout: Path) -> None:
    """One import of another extra at the head of a file stops `pytest` before its first test."""
    words = [sys.executable, "-c", COLLECTED, *LEFT_OUT]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
