"""`rigpact diff` of two contracts from the outside: two files, a git revision, the change record, bad input in one line."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
Edit = Callable[[dict[str, Any]], object]


def rename_spine(bundle: dict[str, Any]) -> None:
    for names in (bundle["meta"]["bone_names"], bundle["meta"]["skeleton"]["bone_names"]):
        names[names.index("spine_03")] = "chest"


def slower(bundle: dict[str, Any]) -> None:
    bundle["fps"] = 30


def noted(bundle: dict[str, Any]) -> None:
    bundle["notes"] = "another note"


@pytest.fixture
def edited(demo_bundle: Path, tmp_path: Path) -> Callable[[Edit], Path]:
    """The demo bundle with one edit, as a file."""

    def write(edit: Edit) -> Path:
        bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
        edit(bundle)
        path = tmp_path / f"{edit.__name__}.json"
        path.write_text(json.dumps(bundle), encoding="utf-8")
        return path

    return write


@pytest.fixture
def old(demo_bundle: Path) -> Path:
    return demo_bundle / "norm_template.json"


@pytest.mark.parametrize(
    ("edit", "status"), [(rename_spine, 1), (slower, 1), (noted, 0)], ids=["renamed", "slower", "noted"]
)
def test_the_status_tells_breaking_from_cosmetic(command: Any, old: Path, edited: Any, edit: Edit, status: int) -> None:
    """A pull request that needs a new build of the engine must not merge by itself."""
    assert command("diff", old, edited(edit)).status == status


def test_the_same_file_twice_is_no_change(command: Any, old: Path) -> None:
    """The gate runs on every commit, mostly on ones that leave the bundle alone."""
    answer = command("diff", old, old)

    assert answer.status == 0
    assert answer.out.startswith("COMPATIBLE: 0 changes; version none")


def test_a_person_reads_place_class_numbers_reason_and_duty(command: Any, old: Path, edited: Any) -> None:
    """The text must show who has to do what, on one screen."""
    out = command("diff", old, edited(slower)).out

    assert "/fps: frame-rate-changed ENGINE_MATH RETRAIN TRACE: fps: 60 → 30" in out
    assert "  why: steps and velocities are per frame" in out
    assert "RETRAIN: the network's inputs or outputs mean something else" in out
    assert "  to do: train and export again" in out
    assert out.splitlines()[-1].startswith("BREAKING: 1 change; version major: ")


def test_a_machine_reads_the_same(command: Any, old: Path, edited: Any) -> None:
    """A bot that labels pull requests needs fields, not sentences."""
    answer = command("diff", old, edited(rename_spine), "--format", "json")
    report = json.loads(answer.out)

    assert (answer.status, report["format"], report["version"], report["verdict"]) == (
        1,
        "rigpact-breaking",
        1,
        "breaking",
    )
    assert report["classes"] == ["ENGINE_LAYOUT"]
    assert report["semver"]["step"] == "major"
    (change,) = report["changes"]
    assert (change["kind"], change["old"], change["new"]) == ("bone-renamed", "spine_03", "chest")
    assert change["pointer"] == "/meta/bone_names/3"
    assert {"classes", "message", "why", "advice"} <= set(change)


def test_companions_are_compared_where_given(command: Any, old: Path, demo_bundle: Path, tmp_path: Path) -> None:
    """The statistics that training reads live in a second file; a change there asks for training too."""
    companion = demo_bundle / "pretrain_template.json"
    changed = json.loads(companion.read_text(encoding="utf-8"))
    changed["StdAngVel"][4] *= 3
    path = tmp_path / "companion.json"
    path.write_text(json.dumps(changed), encoding="utf-8")

    assert command("diff", old, old, "--companion", companion, "--companion", companion).status == 0
    answer = command("diff", old, old, "--companion", companion, "--companion", path)

    assert answer.status == 1
    assert "training-statistics-moved RETRAIN TRACE: companion: StdAngVel[4]" in answer.out


def test_a_bundle_that_the_engine_refuses_is_still_compared(command: Any, old: Path, edited: Any) -> None:
    """An unusable old bundle is often the reason for the new one, so it must be compared."""

    def without_yaw(bundle: dict[str, Any]) -> None:
        del bundle["meta"]["state_layout"]["RootYaw"]
        del bundle["MuY"]

    answer = command("diff", edited(without_yaw), old)

    assert answer.status == 1
    assert "slice-added" in answer.out
    assert "array-repaired" in answer.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "found no A"),
        (("OLD",), "1 of them"),
        (("OLD", "OLD", "OLD"), "unexpected extra argument"),
        (("OLD", "OLD", "--base", "main"), "2 of them"),
        (("OLD", "OLD", "--companion", "OLD"), "1 of them"),
        (("OLD", "OLD", "--stage", "state"), "--stage: found two contracts"),
        (("OLD", "OLD", "--format", "junit"), "found junit of two contracts"),
        (("OLD", "missing.json"), "missing.json"),
        (("OLD", "."), "directory"),
        (("OLD", "COMPANION"), "a companion"),
        (("CLIP", "OLD"), "found a bundle, expected a raw clip"),
        (("OLD", "OLD", "--companion", "CLIP", "--companion", "CLIP"), "found a raw clip"),
        (("SYSTEM", "SYSTEM", "--companion", "COMPANION", "--companion", "COMPANION"), "this system has no such file"),
    ],
    ids=str,
)
def test_bad_input_is_one_line_and_status_two(
    command: Any, demo_bundle: Path, words: tuple[str, ...], says: str
) -> None:
    """A gate that cannot compare must give one clear line, and must not pass."""
    files = {"OLD": demo_bundle / "norm_template.json", "COMPANION": demo_bundle / "pretrain_template.json"}
    files["CLIP"] = demo_bundle / "clips" / "Run_F.json"
    files["SYSTEM"] = demo_bundle.parent / "rig_inversion" / "rig_inversion.json"

    answer = command("diff", *(files.get(word, word) for word in words))

    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err


# --- against git --------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path, old: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as the working directory, with the demo bundle on `main` and a bundle at 30 fps in the working tree."""
    folder = tmp_path / "game"
    (folder / "data").mkdir(parents=True)
    bundle = folder / "data" / "norm_template.json"
    bundle.write_bytes(old.read_bytes())
    (folder / "data" / "lfs.json").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", encoding="utf-8"
    )
    (folder / "data" / "empty.json").touch()
    identity = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull}
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True, env=environment)
    document = json.loads(bundle.read_text(encoding="utf-8"))
    slower(document)
    bundle.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@needs_git
def test_the_old_version_is_read_from_git(command: Any, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The change of a pull request is the working tree against main, from any folder of the repository."""
    monkeypatch.chdir(repository / "data")
    before = (repository / "data" / "norm_template.json").read_bytes()

    near = command("diff", "--base", "main", "norm_template.json")
    monkeypatch.chdir(repository)
    far = command("diff", "--base", "main", "data/norm_template.json")

    assert (near.status, far.status) == (1, 1)
    assert "frame-rate-changed" in near.out
    assert near.out == far.out
    assert (repository / "data" / "norm_template.json").read_bytes() == before


@needs_git
@pytest.mark.parametrize(
    ("revision", "name", "says"),
    [
        ("nowhere", "norm_template.json", "no such revision"),
        ("--output=stolen", "norm_template.json", "no such revision"),
        ("", "norm_template.json", "no such revision"),
        ("main", "other.json", "no other.json there"),
        ("main", "lfs.json", "a Git LFS pointer"),
        ("main", "empty.json", "an empty file"),
    ],
)
def test_what_git_does_not_have_is_one_line(
    command: Any, repository: Path, revision: str, name: str, says: str
) -> None:
    """A misspelled branch must not read as 'nothing changed'."""
    path = repository / "data" / name
    if name == "other.json":
        shutil.copy(repository / "data" / "norm_template.json", path)

    answer = command("diff", "--base", revision, path)

    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert not (repository / "stolen").exists()


@needs_git
def test_outside_a_repository_is_one_line(
    command: Any, old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command in the wrong folder must give one clear line."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "plain"
    folder.mkdir()
    path = Path(shutil.copy(old, folder))

    answer = command("diff", "--base", "main", path)

    assert answer.status == 2
    assert "no git repository" in answer.err


def test_without_git_the_reason_is_said(command: Any, old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small container may have no git; the error must give this reason."""
    monkeypatch.setenv("PATH", "")

    answer = command("diff", "--base", "main", old)

    assert answer.status == 2
    assert "no program called git" in answer.err


# --- the change record --------------------------------------------------------------------------------------------------


def test_the_record_says_what_changed_and_who_must_do_what(
    command: Any, old: Path, edited: Any, tmp_path: Path
) -> None:
    """Section 6 of the contract document asks for version, change and impact; the record must hold all three."""
    record = tmp_path / "CHANGES.md"

    assert command("diff", old, edited(rename_spine), "--record", record).status == 1

    text = record.read_text(encoding="utf-8")
    assert text.startswith("# Change record\n\n## 20")
    assert "| bone-renamed | `/meta/bone_names/3` | spine_03 is called chest | ENGINE_LAYOUT |" in text
    assert "- **ENGINE_LAYOUT**: the engine's tensors or bones are laid out otherwise" in text
    assert "- [ ] engine programmers: rebuild the engine side" in text
    assert "(major)" in text


def test_entries_are_added_below_and_never_twice(command: Any, old: Path, edited: Any, tmp_path: Path) -> None:
    """A job that runs again must not write history again; what people wrote stays."""
    record = tmp_path / "CHANGES.md"
    record.write_text("# Our changes\n\nWritten by hand.\n", encoding="utf-8")

    for edit in (rename_spine, slower, rename_spine):
        command("diff", old, edited(edit), "--record", record)

    text = record.read_text(encoding="utf-8")
    assert text.startswith("# Our changes\n\nWritten by hand.\n\n## ")
    assert text.count("## 20") == 2
    assert text.index("bone-renamed") < text.index("frame-rate-changed")
    assert text.endswith("\n")


def test_nothing_changed_is_not_recorded(command: Any, old: Path, tmp_path: Path) -> None:
    """An entry without a change makes the record harder to read."""
    assert command("diff", old, old, "--record", tmp_path / "CHANGES.md").status == 0
    assert not (tmp_path / "CHANGES.md").exists()


def test_a_cosmetic_change_is_recorded_in_one_row(command: Any, old: Path, edited: Any, tmp_path: Path) -> None:
    """Section 6, item 2: no change of layout is noted simply."""
    command("diff", old, edited(noted), "--record", tmp_path / "CHANGES.md")

    text = (tmp_path / "CHANGES.md").read_text(encoding="utf-8")
    assert "| 1 cosmetic | | notes, spelling, rounding | nobody |" in text
    assert "Nothing to do." in text


def test_names_of_a_file_break_neither_table_nor_terminal(command: Any, old: Path, edited: Any, tmp_path: Path) -> None:
    """A bone name is text from outside."""

    def hostile(bundle: dict[str, Any]) -> None:
        bundle["meta"]["bone_names"][3] = bundle["meta"]["skeleton"]["bone_names"][3] = "a|b`\x1b[2J\n| x |"

    answer = command("diff", old, edited(hostile), "--record", tmp_path / "CHANGES.md")

    assert "\x1b" not in answer.out + (tmp_path / "CHANGES.md").read_text(encoding="utf-8")
    assert "a\\|b'" in (tmp_path / "CHANGES.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b""], ids=["binary", "empty"])
def test_a_record_that_cannot_be_read_is_left_alone(
    command: Any, old: Path, edited: Any, tmp_path: Path, content: bytes
) -> None:
    """The given file may be the user's model, named by mistake."""
    record = tmp_path / "CHANGES.md"
    record.write_bytes(content)

    answer = command("diff", old, edited(slower), "--record", record)

    assert answer.status == 2
    assert record.read_bytes() == content
