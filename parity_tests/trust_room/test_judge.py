"""The judged change does not choose its judge

The base revision says what is judged, and gives all that the change is compared with; a change may ask for more.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reports.file_lists import opened_revision

from ..every_case import every_case
from ..soon import SOON
from .tiny_project import CONTRACT, SETTINGS, commit, git, rows, write_project
from .tried import passes, refused, tries

Command = Callable[..., Any]
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
DEBT = f'owner = "A"\nreason = "r"\nexpires = "{SOON}"\n'
OUTER = '[gate]\nbundle = "contract.toml"\n'


@pytest.fixture(scope="session")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`plain`: one project, its settings at the top; `nested`: two beside each other, and settings around them."""
    made = {name: tmp_path_factory.mktemp(name) / "game" for name in ("plain", "nested")}
    write_project(made["plain"])
    (made["plain"] / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    for folder in (made["nested"], made["nested"] / "char", made["nested"] / "other"):
        write_project(folder)
        text = SETTINGS if folder.name == "char" else OUTER
        (folder / "rigpact.toml").write_text(text, encoding="utf-8")
    for folder in made.values():
        git(folder, "init", "-q", "-b", "main")
        commit(folder, "base")
        git(folder, "checkout", "-q", "-b", "change")
    return made


def write(name: str, text: str) -> Callable[[Path], None]:
    """The change that gives a file this text."""

    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    return change


def settings(old: str, new: str) -> Callable[[Path], None]:
    """The change of a text of the settings."""
    assert old in SETTINGS
    return write("rigpact.toml", SETTINGS.replace(old, new, 1))


def more(text: str) -> Callable[[Path], None]:
    return write("rigpact.toml", SETTINGS + text)


def contract(old: str, new: str) -> Callable[[Path], None]:
    """The change of a text of the contract."""
    assert old in CONTRACT
    return write("contract.toml", CONTRACT.replace(old, new, 1))


def several(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    """One change after another."""

    def change(folder: Path) -> None:
        for each in changes:
            each(folder)

    return change


def gone(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def linked(name: str, target: str) -> Callable[[Path], None]:
    """The change that puts a link in the place of a file or a folder."""

    def change(folder: Path) -> None:
        place = folder / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
        place.symlink_to(target)

    return change


def cut_off(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:8])


WRONG_NUMBERS = write("numbers.json", '{"gain": [2.0, 4.5]}')


@dataclass(frozen=True)
class Way:
    """A way to pass wrongly, or an honest one. base: what the base revision has otherwise; words: of the gate; where: its folder.

    said, never: words of the answer.
    """

    family: str
    name: str
    change: Callable[[Path], object]
    said: str | tuple[str, ...]
    words: tuple[str, ...] = ("--base", "main")
    where: str = ""
    repository: str = "plain"
    base: Callable[[Path], object] | None = None
    status: tuple[int, ...] = (1, 2)
    never: str = "Traceback"


def ways(family: str, said: str, changes: dict[str, Callable[[Path], object]], **how: Any) -> list[Way]:
    return [Way(family, name, change, said, **how) for name, change in changes.items()]


TRACE = SETTINGS[SETTINGS.index("[[gate.trace]]") :]
NARROWED = {
    "a larger tolerance": settings("factor = 2", "factor = 3"),
    "a larger limit of a pose": settings("pose-deg = 0.5", "pose-deg = 50"),
    "a limit of a pose less": settings("pose-deg = 0.5\n", ""),
    "a smaller margin of adequacy": settings("adequacy-margin = 10", "adequacy-margin = 2"),
    "a larger budget": settings("parameters = 100\n", "parameters = 1000\n"),
    "no budget": settings("[gate.budget]\nparameters = 100\ninference-us = 100000\n", ""),
    "a larger margin of the budget": settings("100000\n", "100000\ninference-margin = 9\n"),
    "fewer frames of a free run": settings("frames = 30", "frames = 2"),
    "no free run": settings("frames = 30", "frames = 30\nfree-run = false"),
    "no recording": settings(TRACE, ""),
    "another recording": several(write("new.csv", rows()), settings('file = "run.csv"', 'file = "new.csv"')),
    "another clip of the recording": several(write("new.csv", rows()), settings('clip = "run.csv"', 'clip = "new.csv"')),
    "the recording under another name": more('name = "other"\n'),
    "fewer stages of the recording": settings('stages = ["obs", "action"]', 'stages = ["obs"]'),
    "fewer frames of the recording": settings("frames = 12", "frames = 2"),
    "another mode of the recording": more('mode = "free"\n'),
    "a coarser precision of the recording": more('resolution = "1 decimal"\n'),
    "no clips": settings('clips = ["clips/*.csv"]', "clips = []"),
    "a narrower pattern of clips": settings("clips/*.csv", "clips/walk.csv"),
    "a clip deleted": gone("clips/wave.csv"),
    "a clip cut off": write("clips/wave.csv", cut_off(rows(0.9))),
    "a rule that is heard less again": settings('RP131 = "error"\n', ""),
    "a rule lowered": write("rigpact.toml", f'[[lower]]\nrule = "RP716"\nto = "info"\n{DEBT}{SETTINGS}'),
    "a part waived": more(f'[[gate.waive]]\npart = "files"\n{DEBT}'),
    "a stage waived": more(f'[[gate.waive]]\npart = "engine-trace/run"\nstage = "obs"\n{DEBT}'),
    "a convention": more('[gate.conventions]\n"obs.applied" = "none"\n'),
    "another contract": several(write("mine.toml", CONTRACT), settings("contract.toml", "mine.toml")),
    "another record of changes": settings("frames = 30", 'frames = 30\nchange-record = "CHANGES.md"'),
    "settings that may change": settings("frames = 30", 'frames = 30\nsettings = "may-change"'),
    "an attribute that leaves the settings out of archives": several(
        write(".gitattributes", "rigpact.toml export-ignore\n"), settings("factor = 2", "factor = 3")
    ),
}  # fmt: skip
REFUSED = {
    "a threshold that is not a number": (settings("factor = 2", "factor = nan"), "expected a positive number"),
    "an infinite threshold": (settings("factor = 2", "factor = inf"), "expected a positive number"),
    "a threshold of zero": (settings("pose-deg = 0.5", "pose-deg = 0"), "expected a positive number"),
    "a negative budget": (settings("parameters = 100", "parameters = -1"), "expected a whole number above 0"),
    "a pattern that matches nothing": (settings("clips/*.csv", "clips/*.npz"), "found no such file"),
    "a key in other letters": (settings("[gate.thresholds]", "[gate.Thresholds]"), "did you mean thresholds?"),
    "an emptied table": (write("rigpact.toml", '[severity]\nRP131 = "error"\n'), "no table [gate]"),
    "settings in other letters": (lambda folder: (folder / "rigpact.toml").rename(folder / "Rigpact.toml"), "rigpact.toml"),
    "a folder in the place of the settings": (
        several(gone("rigpact.toml"), lambda folder: (folder / "rigpact.toml").mkdir()), "rigpact.toml",
    ),
    "settings that are a link": (
        several(write("mine/rigpact.toml", OUTER), linked("rigpact.toml", "mine/rigpact.toml")), "found a link",
    ),
    "a clip that is a link out of the repository": (linked("clips/walk.csv", "/etc/hostname"), "outside of the repository"),
    "numbers that are a link out of the folder": (linked("numbers.json", "/etc/hostname"), "out of the folder"),
    "a model that is a link out of the folder": (linked("policy.onnx", "/etc/hostname"), "out of the folder"),
    "a recording that is a link out of the repository": (linked("run.csv", "/etc/hostname"), "outside of the repository"),
    "an empty recording": (write("run.csv", ""), "an empty file"),
    "a recording of a header alone": (write("run.csv", rows().splitlines()[0] + "\n"), "RP960"),
}  # fmt: skip
CLIPPED = next(line for line in CONTRACT.splitlines(keepends=True) if "clip" in line)
BROKEN = {
    "a number beside the contract": WRONG_NUMBERS,
    "a number beside it and the contract's other spelling": several(WRONG_NUMBERS, contract("rad", "rad ")),
    "numbers that are a link to others": several(
        write("mine.json", '{"gain": [2.0, 4.5]}'), linked("numbers.json", "mine.json")
    ),
    "numbers under another name": several(write("mine.json", '{"gain": [2, 4.5]}'), contract("numbers.json", "mine.json")),
    "other numbers of the same file": several(
        write("numbers.json", '{"gain": [2, 3], "new": [2, 4.5]}'), contract("/gain", "/new")
    ),
    "a contract that is a link to another": several(
        write("mine.toml", CONTRACT.replace("= 5 }", "= 50 }")), linked("contract.toml", "mine.toml")
    ),
    "a limit widened": contract("lowest = -5, highest = 5", "lowest = -50, highest = 50"),
    "a stage dropped": several(
        write("contract.toml", CONTRACT.replace('["obs"]', '["scaled"]').replace(CLIPPED, "")),
        settings('"obs", "action"', '"scaled", "action"'),
    ),
    "another unit": contract('unit = "rad"', 'unit = "deg"'),
    "another order of the fields": contract('["a", "b"]', '["b", "a"]'),
    "another rate": contract("fps = 50", "fps = 60"),
    "an attribute that hides the numbers from archives and conversions": several(
        write(".gitattributes", "numbers.json export-ignore -text -diff\n"), WRONG_NUMBERS
    ),
}  # fmt: skip
RECORDED = {
    "rows cut off": write("run.csv", cut_off(rows())),
    "a column dropped": write("run.csv", "\n".join(line.rpartition(",")[0] for line in rows().splitlines()) + "\n"),
    "a stage renamed": write("run.csv", rows().replace("action.", "act.")),
    "a number that is none": write("run.csv", rows().replace(",5,", ",nan,")),
    "an infinite number": write("run.csv", rows().replace(",5,", ",inf,")),
    "values in the place of others": write("run.csv", rows().replace("action.a,action.b", "action.b,action.a")),
    "a limit that the recording lacks": write("run.csv", rows().replace(",5,", ",7.5,")),
}  # fmt: skip


def own_base(revision: str) -> Callable[[Path], None]:
    return settings("frames = 30", f'frames = 30\nbase = "{revision}"')


def second_commit(folder: Path) -> None:
    own_base("HEAD~1")(folder)
    WRONG_NUMBERS(folder)
    commit(folder)


def replaced(folder: Path) -> None:
    """A replacement of the base's commit by the change's own, as git follows it everywhere else."""
    WRONG_NUMBERS(folder)
    commit(folder)
    git(folder, "replace", "main", "change")
    commit(folder)


BASES = [
    Way("base", "the change itself, in its own settings", several(WRONG_NUMBERS, own_base("HEAD")), "judged commit", ()),
    Way("base", "its own branch, in its own settings", several(WRONG_NUMBERS, own_base("change")), "judged commit", ()),
    Way("base", "a commit before, in its own strict settings", second_commit, "RP989", ("--strict",)),
    Way("base", "none, strict", WRONG_NUMBERS, "RP989", ("--strict",)),
    Way("base", "itself, from outside", WRONG_NUMBERS, "judged commit", ("--base", "HEAD")),
    Way("base", "an empty word from outside", WRONG_NUMBERS, "no such revision", ("--base", "")),
    Way("base", "no commit", WRONG_NUMBERS, "no such revision", ("--base", "main^{tree}")),
    Way("base", "one that is not here, and the part waived",
        several(WRONG_NUMBERS, more(f'[[gate.waive]]\npart = "breaking"\n{DEBT}')), "no such revision", ("--base", "0" * 40)),
    Way("base", "its own, beside one from outside", several(WRONG_NUMBERS, own_base("HEAD")), "RP969"),
    Way("base", "a replaced object", replaced, "RP969"),
]  # fmt: skip


def outer_deleted(folder: Path) -> None:
    (folder / "char" / "rigpact.toml").unlink()
    (folder / "char" / "numbers.json").write_text('{"gain": [2.0, 4.5]}', encoding="utf-8")


def submodule(folder: Path) -> None:
    """The folder as a repository of its own that knows the base by the same name, as a checkout with submodules makes it."""
    shutil.rmtree(folder / "char")
    git(folder, "clone", "-q", str(folder), "char")
    git(folder / "char", "branch", "-f", "main", "origin/main")


DEEP = '[gate]\nbundle = "../contract.toml"\n'
IN_CHAR: dict[str, Any] = {"where": "char", "repository": "nested"}
GOVERNING = [
    Way("governing", "the nearest file deleted", outer_deleted, "RP988", **IN_CHAR),
    Way("governing", "the folder a link to another project", linked("char", "other"), "RP988", **IN_CHAR),
    Way("governing", "the folder a link, its file named", linked("char", "other"), "RP988",
        ("--base", "main", "--config", "char/rigpact.toml"), repository="nested"),
    Way("governing", "a nearer file", write("char/deep/rigpact.toml", DEEP), "RP988",
        where="char/deep", repository="nested"),
    Way("governing", "a file before pyproject.toml", write("char/deep/pyproject.toml", f"[tool.rigpact.{DEEP[1:]}"),
        "RP988", where="char/deep", repository="nested"),
    Way("governing", "the folder a submodule", submodule, "a repository of its own", **IN_CHAR),
]  # fmt: skip
MAY = settings("frames = 30", 'frames = 30\nsettings = "may-change"')
ENDLESS = SETTINGS.replace("frames = 12\n", "")
RENAMED = several(
    write("rigpact.toml", SETTINGS.replace("contract.toml", "new.toml")), gone("contract.toml"),
    write("new.toml", CONTRACT.replace("highest = 5", "highest = 50")),
)  # fmt: skip
OTHER_BASES = [
    Way("base", "a contract under another name, where settings may change", RENAMED, "RP969", base=MAY, status=(1,)),
    Way("base", "a recording and its clip cut off, where no setting says how long they are", write("run.csv", cut_off(rows())),
        ("RP988", "12 frames"), base=write("rigpact.toml", ENDLESS), status=(1,)),
    Way("base", "first settings beside a contract that is broken", several(write("rigpact.toml", SETTINGS), WRONG_NUMBERS),
        ("RP969", "RP989"), base=gone("rigpact.toml"), status=(1,)),
    *(Way("base", f"unreadable settings {text!r}", write("rigpact.toml", SETTINGS),
          ("fix the settings of the base first", "main:rigpact.toml"), base=write("rigpact.toml", text), status=(2,))
      for text in ("[gate\n", "[gate]\nframes = 0\n", '[gate]\nbundle = "../other.json"\n')),
]  # fmt: skip
WAYS = [
    *ways("settings", "RP988", NARROWED),
    *(Way("refused", name, change, said) for name, (change, said) in REFUSED.items()),
    *ways("contract", "RP969", BROKEN),
    *ways("recording", "RP", RECORDED),
    *BASES,
    *GOVERNING,
    *OTHER_BASES,
]
HONEST: dict[str, Any] = {"said": "PASS", "status": (0,), "never": "RP98"}
HONEST_WAYS = [
    Way("honest", "unchanged", lambda folder: None, **HONEST),
    Way("honest", "more asked", settings("pose-deg = 0.5", "pose-deg = 0.1"), **HONEST),
    Way("honest", "another spelling", contract("fps = 50", "fps = 50  # as before"), **HONEST),
    Way("honest", "another model", lambda folder: write_project(folder / "again"), **HONEST),
    Way("honest", "nested", lambda folder: None, **HONEST, **IN_CHAR),
    Way("honest", "uncommitted work", lambda folder: None, words=("--base", "HEAD"), **HONEST),
    Way("honest", "without a base nothing knows that a recording was cut", write("run.csv", cut_off(rows())), words=(),
        base=write("rigpact.toml", ENDLESS), **HONEST),
    Way("honest", "narrower settings that the base lets change", settings("frames = 30", 'frames = 20\nsettings = "may-change"'),
        "RP988", base=MAY, status=(0,)),
]  # fmt: skip


def copied(repositories: dict[str, Path], name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(repositories[name], tmp_path / "game", symlinks=True))


@tries(
    [
        ("refused", f"{len(WAYS)} changes that would pass wrongly: settings that ask for less, numbers or a contract exchanged "
         "by name, link or content, recordings cut, files that govern deleted or shadowed, bases that are the change itself",
         "exit 1 or 2, each with its reason"),
        ("passes", "the same project unchanged, beside its base revision", "passes"),
        ("passes", 'narrower settings where the base revision says `settings = "may-change"`', "RP988 is information"),
    ]
)  # fmt: skip
@every_case(
    "family, way",
    [(way.family, way) for way in (*WAYS, *HONEST_WAYS)],
    ids=lambda each: getattr(each, "name", ""),
    by="family",
)
def test_no_way_to_pass_wrongly_and_none_for_honest_work_to_fail(
    repositories, command, tmp_path, monkeypatch, family, way
):
    """The bone that is off ships with the line that says not to look at it; a gate that alarms on honest work is taken out."""
    folder = copied(repositories, way.repository, tmp_path)
    if way.base:
        way.base(folder)
        commit(folder)
        git(folder, "branch", "-f", "main")
    way.change(folder)
    commit(folder)
    if way.name == "uncommitted work":
        contract("fps = 50", "fps = 50  # as before")(folder)
    monkeypatch.chdir(folder / way.where)
    monkeypatch.setenv("PWD", os.path.normpath(folder / way.where))
    answer = command("gate", *way.words)
    text = answer.out + answer.err
    assert (answer.status in way.status, way.never in text) == (True, False), text
    assert [word for word in ([way.said] if isinstance(way.said, str) else way.said) if word not in text] == [], text


@pytest.fixture
def project(repositories: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The plain project on a branch `change`, as the working directory."""
    folder = copied(repositories, "plain", tmp_path)
    monkeypatch.chdir(folder)
    return folder


@passes("the first pull request that brings settings and bundle", "RP989 says that nobody guards them")
def test_the_first_change_passes(project, command):
    """The build that introduces the gate must not be the one that it stops."""
    git(project, "checkout", "-q", "--orphan", "empty")
    git(project, "rm", "-rq", "--cached", ".")
    git(project, "commit", "-q", "--allow-empty", "-m", "before")
    git(project, "checkout", "-q", "change", "-f")
    for words in ((), ("--strict",)):
        answer = command("gate", "--base", "empty", *words)
        assert (answer.status, "nobody guards the settings" in answer.out) == (0, True), answer.out


def test_an_entry_of_the_record_holds_for_one_state_of_the_numbers(project, command):
    """One entry acknowledged every later change of the numbers beside a contract that stayed as it was."""
    settings("frames = 30", 'frames = 30\nchange-record = "CHANGES.md"')(project)
    commit(project)
    git(project, "branch", "-f", "main")
    write("run.csv", rows())(project)
    WRONG_NUMBERS(project)
    command("diff", "contract.toml", "--base", "main", "--record", "CHANGES.md")
    commit(project)
    assert "RP970" in command("gate", "--base", "main").out
    write("numbers.json", '{"gain": [2.0, 9.0]}')(project)
    commit(project)
    answer = command("gate", "--base", "main")
    assert "RP969" in answer.out
    assert "RP970" not in answer.out


def test_numbers_of_the_base_come_from_the_base(project, command):
    """Gains that went from 60 to 90 in a file beside the contract were compatible."""
    from safetensors.numpy import save_file

    text = CONTRACT.replace('"numbers.json"\nat = "/gain"', '"numbers.safetensors"\nat = "gain"')
    write("contract.toml", text)(project)
    save_file({"gain": np.array([2.0, 3.0], np.float32)}, project / "numbers.safetensors")
    commit(project)
    save_file({"gain": np.array([3.0, 4.5], np.float32)}, project / "numbers.safetensors")
    answer = command("diff", "contract.toml", "--base", "HEAD", "--format", "json")
    found = json.loads(answer.out)
    assert (answer.status, found["old"]["path"]) == (1, "HEAD:contract.toml")
    assert [change["pointer"] for change in found["changes"]] == ["/numbers/gain"]
    git(project, "checkout", "-q", "numbers.safetensors")
    assert command("diff", "contract.toml", "--base", "HEAD").status == 0


def test_a_pointer_of_a_large_file_store_is_the_kept_object_or_none(project, command):
    """Every pull request of a team that keeps its numbers there would be undetermined, or compared with a pointer."""
    import hashlib

    content = b'{"gain": [2.0, 3.0]}'
    digest = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"
    write("numbers.json", pointer)(project)
    commit(project)
    write("numbers.json", '{"gain": [2.0, 4.5]}')(project)
    answer = command("diff", "contract.toml", "--base", "HEAD")
    assert (answer.status, "git lfs fetch" in answer.err) == (2, True)
    kept = project / ".git" / "lfs" / "objects" / digest[:2] / digest[2:4]
    kept.mkdir(parents=True)
    (kept / digest).write_bytes(content)
    assert command("diff", "contract.toml", "--base", "HEAD").status == 1
    (kept / digest).write_bytes(b'{"gain": [2.0, 4.5]}')  # not what the pointer names
    assert command("diff", "contract.toml", "--base", "HEAD").status == 2


def test_links_of_the_base_lead_to_files_of_the_base(project):
    """A link that was followed in the working tree would read what the change wrote there."""
    linked("numbers.json", "clips/numbers.json")(project)
    write("clips/numbers.json", '{"gain": [2, 3]}')(project)
    (project / "short").symlink_to("clips")
    (project / "loop").symlink_to("loop")
    (project / "out").symlink_to("/etc/hostname")
    commit(project)
    write("clips/numbers.json", '{"gain": [7, 7]}')(project)
    with opened_revision("HEAD") as base:
        assert base.file(project / "numbers.json").read_text("utf-8") == '{"gain": [2, 3]}'
        assert base.file(project / "short" / "numbers.json").read_text("utf-8") == '{"gain": [2, 3]}'
        assert [base.has(project / name) for name in ("loop", "out", "../x", "short", "clips")] == [False] * 5


def test_the_private_folder_is_gone_afterwards(project):
    """A base of a gigabyte at each pull request fills the disk of the build machine."""
    with opened_revision("HEAD") as base:
        folder = base.file(project / "contract.toml").parent
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    with pytest.raises(UnusableInput, match="--base HEAD: found no nothing there"), opened_revision("HEAD") as base:
        base.file(project / "nothing")


def test_git_is_asked_for_nothing_of_the_change(project, command, tmp_path):
    """A filter or a monitor that a commit could name must not run."""
    marker = tmp_path / "ran"
    (project / ".gitattributes").write_text("* filter=x diff=x\n", encoding="utf-8")
    (project / ".gitconfig").write_text(f'[filter "x"]\nclean = touch {marker}\n', encoding="utf-8")
    commit(project)
    subprocess.run(["git", "-C", str(project), "status"], check=True, capture_output=True)
    assert command("gate", "--base", "main").status == 0
    assert not marker.exists()


@pytest.fixture
def trap(project: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A folder that is a bare repository, as a commit can bring it, and the file that appears when its configuration runs.

    Its one commit names a blob that is missing. Its promisor remote is reached over ssh, by a program that its own
    configuration names.
    """
    source, marker = tmp_path / "source", tmp_path / "it_ran"
    source.mkdir()
    (source / "contract.toml").write_text("{}", encoding="utf-8")
    git(source, "init", "-q")
    git(source, "add", ".")
    git(source, "commit", "-qm", "x")
    blob = git(source, "rev-parse", "HEAD:contract.toml")
    folder = project / "evil"
    git(tmp_path, "clone", "-q", "--bare", str(source), str(folder))
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
        git(folder, "config", name, value)
    shutil.copy(project / "contract.toml", folder / "contract.toml")
    return folder, marker


def test_the_trap_is_one(trap):
    """If git itself no longer runs the program, the tests below would pass for nothing."""
    folder, marker = trap
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(
        ["git", "-C", folder, "cat-file", "-s", "HEAD:contract.toml"], check=False, capture_output=True, env=environment
    )
    assert marker.exists()


@refused(
    "a folder of the pull request is a bare git repository whose configuration names a program",
    "no program runs; `gate`, `breaking` and `init` take nothing from it",
)
def test_a_bare_repository_in_the_project_runs_nothing(trap, command, project):
    """A stranger's pull request must be able to make the gate fail, and nothing else."""
    folder, marker = trap
    write("rigpact.toml", '[gate]\nbundle = "evil/contract.toml"\nbase = "HEAD"\n')(project)
    command("gate")
    command("diff", folder / "contract.toml", "--base", "HEAD")
    command("init", folder, "--force")
    with pytest.raises(UnusableInput, match=r"no contract\.toml there"), opened_revision("HEAD") as base:
        base.file(folder / "contract.toml")
    assert not marker.exists()


@passes("a contract of the user's own repository, read at another revision", "is read")
@refused("a contract of a repository in which rigpact was not started", "exit 2: run rigpact in the repository")
def test_only_the_repository_in_which_rigpact_was_started_is_read(project, monkeypatch):
    """`--base main` is what a reviewer runs most; of another repository nothing says that its configuration is the user's own."""
    write("contract.toml", "changed")(project)
    for path in (Path("contract.toml"), project / "contract.toml"):
        with opened_revision("main") as base:
            assert (base.file(path).read_text("utf-8"), base.has(path)) == (CONTRACT, True)
            assert not base.has(path.with_name("new_character.json"))
    with pytest.raises(UnusableInput, match="no such revision"), opened_revision("no-such-branch"):
        pass
    monkeypatch.chdir(project.parent)
    with pytest.raises(UnusableInput, match="run rigpact in the repository"), opened_revision("HEAD"):
        pass
