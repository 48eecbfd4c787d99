"""The judged change does not choose its judge

The settings of the base revision say what is judged; a change may ask for more.
"""

import json
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest

from ..gate_room.conftest import Command
from .tried import passes, refused

BASE = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
frames = 30
free-run = false
[gate.thresholds]
pose-deg = 0.5
"""
SOON = (date.today() + timedelta(days=30)).isoformat()
LATER = f'[[gate.waive]]\npart = "files"\nowner = "A"\nreason = "r"\nexpires = "{SOON}"\n'
LOWER = f'[[lower]]\nrule = "RP104"\nto = "info"\nowner = "A"\nreason = "r"\nexpires = "{SOON}"\n'
NARROWED = {
    "gate.frames": BASE.replace("30", "20"),
    "gate.companion": BASE.replace('companion = "pretrain_template.json"\n', ""),
    "gate.thresholds.pose-deg": BASE.replace("0.5", "40"),
    "gate.thresholds.tolerance-factor": BASE + "tolerance-factor = 2\n",
    "gate.conventions": BASE + '[gate.conventions]\ncompose_order = "prev_delta"\n',
    "gate.settings": BASE.replace("frames", 'settings = "may-change"\nframes'),
    "gate.waive[0]": BASE + LATER,
    "lower[0]": LOWER + BASE,
}


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True
    )


@pytest.fixture
def project(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's bundle and companion in a repository with its settings, all committed on main."""
    for name in ("norm_template.json", "pretrain_template.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    (tmp_path / "rigpact.toml").write_text(BASE, encoding="utf-8")
    git(tmp_path, "init", "-q", "-b", "main")
    committed(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def committed(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "settings")


@refused(
    "a pull request whose settings ask for less than the base revision's: frames, a limit, a waiver", "RP988, exit 1"
)
@pytest.mark.parametrize("key", NARROWED)
def test_what_a_change_narrows_fails(project: Path, command: Command, key: str) -> None:
    """The bone that is off ships with the line that says not to look at it."""
    (project / "rigpact.toml").write_text(NARROWED[key], encoding="utf-8")
    answer = command("gate", "--base", "main")
    assert answer.status == 1
    assert "RP988" in answer.out
    assert key in answer.out


@refused("a change that deletes a clip which the settings mean by a pattern or a folder", "RP988, exit 1")
@pytest.mark.parametrize("word", ["clips/*.json", "clips", "**/*_[FST]*.json"])
def test_a_clip_cannot_go_in_silence(project: Path, demo_bundle: Path, command: Command, word: str) -> None:
    """The clip that shows the defect goes with the change that brings it; the others still pass."""
    shutil.copytree(demo_bundle / "clips", project / "clips")
    settings = BASE.replace("frames", f'clips = ["{word}"]\nframes')
    (project / "rigpact.toml").write_text(settings, encoding="utf-8")
    committed(project)
    gone = next((project / "clips").glob("W*.json"))
    gone.unlink()

    answer = command("gate", "--base", "main")

    assert answer.status == 1
    assert "RP988" in answer.out
    assert gone.name in answer.out


@refused('`base = "HEAD"` in the pull request\'s own settings', "the base that the build gives: RP969, exit 1")
def test_the_change_does_not_choose_its_base(project: Path, command: Command) -> None:
    """A change that is compared with itself breaks nothing."""
    (project / "rigpact.toml").write_text(BASE.replace("frames", 'base = "HEAD"\nframes'), encoding="utf-8")
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    bundle["MuX"][40] += 0.01
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    git(project, "checkout", "-q", "-b", "change")
    committed(project)
    answer = command("gate", "--base", "main")
    assert answer.status == 1
    assert "RP969" in answer.out


@passes("settings that ask for more: a smaller limit, more frames, strict")
def test_a_change_may_ask_for_more(project: Path, command: Command) -> None:
    """A team that adds a check must not need an exception for it."""
    more = BASE.replace("30", "60").replace("0.5", "0.1") + "pose-cm = 1\n"
    (project / "rigpact.toml").write_text(more, encoding="utf-8")
    answer = command("gate", "--base", "main")
    assert (answer.status, "RP988" in answer.out) == (0, False)


@passes('the same narrower settings where the base revision says `settings = "may-change"`', "RP988 is information")
def test_the_base_can_allow_it(project: Path, command: Command) -> None:
    """A small team reviews its settings by hand."""
    allowed = BASE.replace("frames", 'settings = "may-change"\nframes')
    (project / "rigpact.toml").write_text(allowed, encoding="utf-8")
    committed(project)
    (project / "rigpact.toml").write_text(allowed.replace("30", "20"), encoding="utf-8")
    answer = command("gate", "--base", "main")
    assert (answer.status, "RP988" in answer.out) == (0, True)


@passes("the first pull request that brings settings and bundle", "RP989 says that nobody guards them")
def test_the_first_change_passes(project: Path, command: Command) -> None:
    """The build that introduces the gate must not be the one that it stops."""
    git(project, "checkout", "-q", "--orphan", "empty")
    git(project, "rm", "-rq", "--cached", ".")
    git(project, "commit", "-q", "--allow-empty", "-m", "before")
    answer = command("gate", "--base", "empty")
    assert (answer.status, "nobody guards the settings" in answer.out) == (0, True)


@refused("settings of the base revision that cannot be read", "exit 2")
@pytest.mark.parametrize("unreadable", ["[gate\n", "[gate]\nframes = 0\n", '[gate]\nbundle = "../other.json"\n'])
def test_unreadable_settings_of_the_base_guard_nothing(project: Path, command: Command, unreadable: str) -> None:
    """What the change was compared with is not known: that is not a pass."""
    (project / "rigpact.toml").write_text(unreadable, encoding="utf-8")
    committed(project)
    (project / "rigpact.toml").write_text(BASE, encoding="utf-8")
    answer = command("gate", "--base", "main")
    assert (answer.status, "mend the settings of the base first" in answer.out + answer.err) == (2, True)


def test_without_a_base_it_is_said(project: Path, command: Command) -> None:
    """Who reads a pass has to know what could not be seen."""
    answer = command("gate", "--format", "json")
    assert (answer.status, "nobody guards the settings" in answer.out) == (0, True)


def test_an_unknown_base_is_no_pass(project: Path, command: Command) -> None:
    """A shallow clone has no base revision: nothing was guarded."""
    answer = command("gate", "--base", "0123456789abcdef")
    assert (answer.status, "nobody guards the settings" in answer.out) == (2, True)
