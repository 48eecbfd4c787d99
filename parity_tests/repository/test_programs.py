"""Programs beside Python and g++: a test that needs one says so, and CI runs README's commands before it installs any."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ..programs import missing, require_programs_of

NEEDED_BY_CI = ("bash", "dirname", "awk", "mktemp", "rm", "mkdir", "touch", "git")
COLLECTED = """
import sys
import pytest
sys.modules |= dict.fromkeys(sys.argv[1:])  # their import fails
sys.exit(pytest.main(["--collect-only", "-qq", "-n0", "-p", "no:cacheprovider"]))
"""
LEFT_OUT = ("mujoco", "roma", "polygraphy", "mkdocs", "atheris")
"""What the line of CONTRIBUTING.md does not install."""
SAYS = '#!/bin/bash\necho "${PWD##*/}: ${0##*/} $*" >> "$LOG"\n'
VENV = '[ "$2" = venv ] && mkdir -p "$3/bin" && touch "$3/bin/activate"; true\n'


def item_that_needs(*programs: str) -> Any:
    return SimpleNamespace(iter_markers=lambda _name: [SimpleNamespace(args=programs)])


def test_a_test_without_its_program_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer without a browser runs README's command, and it must not fail."""
    monkeypatch.delenv("RIGPACT_PROGRAMS", raising=False)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.skip.Exception, match="no such-program on this machine"):
        require_programs_of(item_that_needs("bash", "such-program"))
    with pytest.raises(pytest.skip.Exception, match="no C\\+\\+ compiler"):
        missing("C++ compiler")
    require_programs_of(item_that_needs("bash"))


def test_where_everything_must_be_there_a_missing_program_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is never opened, or a loop that is never compiled, looks as green as one that was."""
    monkeypatch.setenv("RIGPACT_PROGRAMS", "required")
    with pytest.raises(pytest.fail.Exception, match="no such-program"):
        require_programs_of(item_that_needs("such-program"))


@pytest.fixture
def bare_machine(tmp_path: Path, checkout: Path) -> Path:
    """A checkout with CI's script and README, and a PATH on which python, rigpact and apt-get say where they are called."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(checkout / ".ci" / "run", tmp_path / ".ci" / "run")
    shutil.copy(checkout / "README.md", tmp_path / "README.md")
    path = tmp_path / "path"
    path.mkdir()
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
    """Installed first, clang hid for weeks that README's command fails without it; a checkout of another name, that it fails in
    a folder `rigpact`, as `git clone` makes it."""
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
    pages = {
        name: (checkout / name).read_text(encoding="utf-8") for name in ("README.md", ".github/workflows/tests.yml")
    }
    for name in ("install", "test"):
        (command,) = re.findall(rf"^<!-- {name} -->\n```bash\n(.*)\n```$", pages["README.md"], re.MULTILINE)
        assert f"      - run: {command}\n" in pages[".github/workflows/tests.yml"]


@pytest.mark.nightly
def test_the_extras_of_contributing_are_enough_to_collect(checkout: Path) -> None:
    """One import of another extra at the head of a file stops `pytest` before its first test."""
    words = [sys.executable, "-c", COLLECTED, *LEFT_OUT]
    done = subprocess.run(words, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
