"""The pre-commit hooks, installed as pre-commit installs them, in a repository that is made to break them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..trust_room.tiny_project import git
from .test_action import NO_NETWORK

pytestmark = pytest.mark.nightly
PARTS = (
    "contract", "reference_runtime", "fixtures", "reports", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE",
    ".pre-commit-hooks.yaml",
)  # fmt: skip
CONFIGURATION = """[gate]
bundle = "hero/norm_template.json"
companion = "hero/pretrain_template.json"
model = "hero/model.onnx"
clips = ["hero/clips/Run_F.json"]
"""


def commit_all(folder):
    """Make a folder a repository with one commit of all that it holds."""
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "all")


@pytest.fixture(scope="module")
def hooks(checkout, tmp_path_factory):
    """The working tree as a repository of its own, as pre-commit clones it."""
    folder = tmp_path_factory.mktemp("rigpact")
    for name in PARTS:
        if (checkout / name).is_dir():
            shutil.copytree(checkout / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(checkout / name, folder / name)
    commit_all(folder)
    return folder


@pytest.fixture
def hostile(demo_bundle, tmp_path):
    """A studio's repository with packages named as rigpact's folders and as standard modules, and a character."""
    for name in ("contract", "fixtures", "reports", "reference_runtime", "rigpact"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the studio was imported')\n", encoding="utf-8")
    for name in ("json", "typing", "numpy", "typer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the studio was imported')\n", encoding="utf-8")
    shutil.copytree(demo_bundle, tmp_path / "hero")
    (tmp_path / "rigpact.toml").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"name": "tools"}\n', encoding="utf-8")
    return tmp_path


def try_repo(hooks, folder, cache, *words):
    """`pre-commit try-repo` on every file of a repository, in an environment without the tests' own paths."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GIT_"))}
    command = [
        str(Path(sys.executable).with_name("pre-commit")), "try-repo", str(hooks), *words, "--all-files", "--verbose",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, check=False, capture_output=True, text=True, timeout=900,
        env=environment | {"PRE_COMMIT_HOME": str(cache)},
    )  # fmt: skip
    if any(sign in done.stdout for sign in NO_NETWORK):
        pytest.skip("pre-commit cannot install the hook: no package index can be reached")
    return done


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Where pre-commit keeps its environments."""
    return tmp_path_factory.mktemp("cache")


def test_the_hooks_pass_a_good_character_and_stop_a_broken_one(hooks, hostile, cache):
    """The hook must not import the studio's own `contract` instead of ours."""
    commit_all(hostile)
    done = try_repo(hooks, hostile, cache)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS: 0 errors" in done.stdout
    assert "Free run" in done.stdout
    assert "package.json: no artefact" in done.stdout
    assert "the studio was imported" not in done.stdout
    path = hostile / "hero" / "norm_template.json"
    bundle = json.loads(path.read_text(encoding="utf-8"))
    bundle["StdX"][17] = 0
    path.write_text(json.dumps(bundle), encoding="utf-8")
    git(hostile, "add", "-A", "-f")
    done = try_repo(hooks, hostile, cache, "rigpact-check")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "norm_template.json#/StdX/17: RP104 error" in done.stdout
