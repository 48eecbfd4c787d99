"""What the settings of a stranger can read

Files of the repository, and nothing else of the machine.
"""

import shutil
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.named_columns import read_named_columns

from ..every_case import every_case
from ..gate_room.conftest import Command
from .tried import passes, refused

SECRET = "hunter2"  # noqa: S105 - of nobody
NETRC = f"machine github.com login ana\nmachine b {SECRET}\n"
HEAD = '[gate]\nbundle = "norm_template.json"\nfree-run = false\n'
WORDS = {
    "trace": '[[gate.trace]]\nfile = "{}"\nclip = "clips/Sneak_Turn.json"\n',
    "trace's clip": '[[gate.trace]]\nfile = "norm_template.json"\nclip = "{}"\n',
    "teacher": '[[gate.teacher]]\nfile = "{}"\n',
    "clips": 'clips = ["{}"]\n',
    "bundle": 'bundle = "{}"\n',
    "companion": 'companion = "{}"\n',
    "model": 'model = "{}"\n',
    "free run": 'free-run = "{}"\n',
    "change record": 'change-record = "{}"\n',
}


@pytest.fixture
def studio(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository beside a folder of secrets, with links to it."""
    folder, beside = tmp_path / "game", tmp_path / "private"
    shutil.copytree(demo_bundle, folder)
    beside.mkdir()
    for name in ("names-of-people.csv", "names-of-people.json", "netrc.txt", "netrc.log"):
        (beside / name).write_text(NETRC, encoding="utf-8")
    (folder / "link.csv").symlink_to(beside / "netrc.txt")
    (folder / "linked").symlink_to(beside)
    monkeypatch.chdir(folder)
    return folder


def gate_text(key: str, word: str) -> str:
    head = "".join(line for line in HEAD.splitlines(keepends=True) if line.split(" =")[0] not in WORDS[key])
    return head + WORDS[key].format(word)


@refused(
    "a recording of the settings that is `../secret/x.txt`, or a link that leads out of the repository",
    "exit 2, and no word of the file",
)
@every_case("output", ["text", "json", "sarif", "markdown", "github"])
@every_case("word", ["link.csv", "../private/netrc.txt", "../private/netrc.log", "linked/netrc.txt"])
@pytest.mark.parametrize("key", ["trace", "teacher"])
def test_no_line_of_a_file_outside_is_printed(studio: Path, command: Command, key: str, word: str, output: str) -> None:
    """A pull request would read the passwords of the build machine in its own annotations."""
    (studio / "rigpact.toml").write_text(gate_text(key, word), encoding="utf-8")
    answer = command("gate", "--format", output)
    assert answer.status == 2
    assert SECRET not in answer.out + answer.err
    assert "github.com" not in answer.out + answer.err
    assert "outside of the repository" in answer.out + answer.err


@refused("any other path of rigpact.toml that leads out of the repository", "exit 2")
@pytest.mark.parametrize("key", WORDS)
def test_every_path_of_the_settings_stays_inside(studio: Path, command: Command, key: str) -> None:
    """One key that is forgotten is the door."""
    (studio / "rigpact.toml").write_text(gate_text(key, "../private/netrc.txt"), encoding="utf-8")
    answer = command("gate")
    assert (answer.status, "outside of the repository" in answer.out + answer.err) == (2, True)


def test_the_known_findings_stay_inside(studio: Path, command: Command) -> None:
    """Its own errors would quote the file."""
    (studio / "rigpact.toml").write_text('baseline = "../private/netrc.txt"\n' + HEAD, encoding="utf-8")
    answer = command("gate")
    assert (answer.status, "outside of the repository" in answer.out + answer.err) == (2, True)


@refused("a pattern of clips that leads out of the repository", "exit 2, and no name of a file")
@pytest.mark.parametrize(
    "word", ["../private/*", "/etc/*", "/**/*.json", "*/../../private/*", "linked/*", "link*", "linked"]
)
def test_a_pattern_lists_no_name_outside(studio: Path, command: Command, word: str) -> None:
    """The names of a home folder are nobody's business, and a walk through the whole disk never ends."""
    (studio / "rigpact.toml").write_text(gate_text("clips", word), encoding="utf-8")
    answer = command("gate")
    assert answer.status == 2
    assert "names-of-people" not in answer.out + answer.err


def test_settings_that_are_a_link_are_not_read(studio: Path, command: Command) -> None:
    """The error of the first line would show it."""
    (studio / "rigpact.toml").symlink_to(studio.parent / "private" / "netrc.txt")
    answer = command("gate")
    assert (answer.status, SECRET in answer.out + answer.err) == (2, False)


@passes("a project in a folder of a repository that names `../norm_template.json`")
def test_a_project_in_a_folder_of_a_repository_reaches_all_of_it(studio: Path, command: Command) -> None:
    """A studio keeps one bundle for several characters: `../shared/…` of the same repository."""
    (studio / ".git").mkdir()
    (studio / "enemy").mkdir()
    text = '[gate]\nbundle = "../norm_template.json"\nfree-run = false\n'
    (studio / "enemy" / "rigpact.toml").write_text(text, encoding="utf-8")
    answer = command("gate", "--config", "enemy/rigpact.toml")
    assert "outside of the repository" not in answer.out + answer.err
    assert answer.status == 0


@refused("a file of the repository that is not a recording, named as one", "exit 2: its place, and no word of it")
@pytest.mark.parametrize("name", ["own.csv", "own.txt", "own.log", "own.json", "own.jsonl"])
def test_what_is_no_recording_is_not_quoted(studio: Path, name: str) -> None:
    """A .env that somebody committed by mistake must not stand in a public log as well."""
    from rigpact.contract import load_contract

    is_json = name.endswith((".json", ".jsonl"))
    text = f'{{"{SECRET}": [["{SECRET}"]]}}\n{{"other": 1}}\n' if is_json else f"{SECRET},b\n1,{SECRET}\n"
    (studio / name).write_text(text, encoding="utf-8")
    contract = load_contract(studio / "norm_template.json", studio / "pretrain_template.json")
    with pytest.raises(UnusableInput) as caught:
        read_named_columns(studio / name, contract)
    assert SECRET not in caught.value.one_line()


def test_keys_of_an_unknown_object_are_not_quoted(studio: Path, command: Command) -> None:
    """The keys of a file of accounts are names of people."""
    (studio / "own.json").write_text(f'{{"{SECRET}": 1}}', encoding="utf-8")
    (studio / "rigpact.toml").write_text(gate_text("bundle", "own.json"), encoding="utf-8")
    answer = command("gate")
    assert (answer.status, SECRET in answer.out + answer.err) == (2, False)
