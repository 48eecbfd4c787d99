"""A pull request that brings data only runs nothing

Git is asked for the user's own repository, never for a folder of it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.git_revision import opened_revision

from .tried import passes, refused

BUNDLE = "norm_template.json"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
Git = Callable[..., str]


def _git(folder: Path, *words: str) -> str:
    who = ("-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, demo_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository with a bundle in it, as the working directory."""
    root = tmp_path / "game"
    root.mkdir()
    shutil.copy(demo_bundle / BUNDLE, root / BUNDLE)
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "bundle")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def trap(repository: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A folder that is a bare repository, as a commit can bring it, and the file that appears when its configuration runs.

    Its one commit names a blob that is missing. Its promisor remote is reached over ssh, by a program that its own
    configuration names.
    """
    source, marker = tmp_path / "source", tmp_path / "it_ran"
    source.mkdir()
    (source / BUNDLE).write_text("{}", encoding="utf-8")
    _git(source, "init", "-q")
    _git(source, "add", ".")
    _git(source, "commit", "-qm", "x")
    blob = _git(source, "rev-parse", f"HEAD:{BUNDLE}")
    folder = repository / "evil"
    _git(tmp_path, "clone", "-q", "--bare", str(source), str(folder))
    for pack in (folder / "objects" / "pack").glob("*.pack"):  # loose objects, so that one can be taken out
        moved = tmp_path / pack.name
        shutil.move(pack, moved)
        subprocess.run(["git", "unpack-objects", "-q"], cwd=folder, stdin=moved.open("rb"), check=True)
        pack.with_suffix(".idx").unlink()
    (folder / "objects" / blob[:2] / blob[2:]).unlink()
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {marker}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere.invalid/x",
        "core.sshCommand": str(program),
        "core.fsmonitor": str(program),
    }.items():
        _git(folder, "config", name, value)
    shutil.copy(repository / BUNDLE, folder / BUNDLE)
    return folder, marker


def test_the_trap_is_one(trap: tuple[Path, Path]) -> None:
    """If git itself no longer runs the program, the tests below would pass for nothing."""
    folder, marker = trap
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "-C", folder, "cat-file", "-s", f"HEAD:{BUNDLE}"], check=False, capture_output=True, env=environment
    )
    assert marker.exists()


@refused(
    "a folder of the pull request is a bare git repository whose configuration names a program",
    "no program runs; `gate`, `breaking` and `init` take nothing from it",
)
def test_a_bare_repository_in_the_project_runs_nothing(
    trap: tuple[Path, Path], command: Callable[..., object], repository: Path
) -> None:
    """A stranger's pull request must be able to make the gate fail, and nothing else."""
    folder, marker = trap
    settings = '[gate]\nbundle = "evil/norm_template.json"\nagainst = "HEAD"\n'
    (repository / "rigpact.toml").write_text(settings, encoding="utf-8")
    command("gate")
    command("diff", folder / BUNDLE, "--base", "HEAD")
    command("init", folder, "--force")
    with pytest.raises(UnusableInput, match=r"no norm_template\.json there"), opened_revision("HEAD") as base:
        base.file(folder / BUNDLE)
    assert not marker.exists()


@passes("a bundle of the user's own repository, read at another revision", "is read")
def test_the_users_own_repository_is_read(repository: Path) -> None:
    """`breaking --base main` is what a reviewer runs most."""
    committed = (repository / BUNDLE).read_bytes()
    (repository / BUNDLE).write_text(json.dumps({"changed": True}), encoding="utf-8")
    for path in (Path(BUNDLE), repository / BUNDLE):
        with opened_revision("main") as base:
            assert base.file(path).read_bytes() == committed
            assert base.has(path)
            assert not base.has(path.with_name("new_character.json"))
    with pytest.raises(UnusableInput, match="no such revision"), opened_revision("no-such-branch"):
        pass


@refused("a bundle of a repository in which rigpact was not started", "exit 2: run rigpact in the repository")
def test_a_file_of_another_repository_is_not_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rigpact was not started in the repository, nothing says that its configuration is the user's own."""
    monkeypatch.chdir(repository.parent)
    with pytest.raises(UnusableInput, match="run rigpact in the repository"), opened_revision("HEAD"):
        pass
