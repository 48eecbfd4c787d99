"""`rigpact diff` of two contracts from the outside: two files, a git revision, the change record, bad input in one line."""

import json
import os
import shutil
import subprocess

import pytest

from ..every_case import every_case
from .demo import BUNDLE, BUNDLES, CLIP, COMPANION, edited

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def renamed(bundle, name="chest"):
    for names in (bundle["meta"]["bone_names"], bundle["meta"]["skeleton"]["bone_names"]):
        names[names.index("spine_03")] = name


def slower(bundle):
    bundle["fps"] = 30


def noted(bundle):
    bundle["notes"] = "another note"


def without_yaw(bundle):
    del bundle["meta"]["state_layout"]["RootYaw"]
    del bundle["MuY"]


def hostile(bundle):
    renamed(bundle, "a|b`\x1b[2J\n| x |")


@pytest.fixture
def files(tmp_path):
    """The demo bundle with one edit each, as files by the edit's name."""
    return {each.__name__: edited(BUNDLE, tmp_path / f"{each.__name__}.json", each)
            for each in (renamed, slower, noted, without_yaw, hostile)}  # fmt: skip


def diffed(command, *words):
    """The status, and of each change its kind and its classes."""
    answer = command("diff", *words, "--format", "json")
    return answer.status, {each["kind"]: each["classes"] for each in json.loads(answer.out)["changes"]}


def test_the_status_tells_breaking_from_cosmetic(command, files):
    """A pull request that needs a new build of the engine must not merge by itself."""
    assert diffed(command, BUNDLE, BUNDLE) == (0, {})
    assert diffed(command, BUNDLE, files["renamed"]) == (1, {"bone-renamed": ["ENGINE_LAYOUT"]})
    assert diffed(command, BUNDLE, files["slower"]) == (1, {"frame-rate-changed": ["ENGINE_MATH", "RETRAIN", "TRACE"]})
    assert command("diff", BUNDLE, files["noted"]).status == 0
    status, kinds = diffed(command, files["without_yaw"], BUNDLE)
    assert (status, {"slice-added", "array-repaired"} <= {*kinds}) == (1, True), "an unusable bundle is compared, too"


def test_a_person_and_a_machine_read_place_class_numbers_reason_and_duty(command, files):
    """The text must show who has to do what, on one screen; a bot that labels pull requests needs fields."""
    out = command("diff", BUNDLE, files["slower"]).out
    assert "/fps: frame-rate-changed ENGINE_MATH RETRAIN TRACE: fps: 60 → 30" in out
    assert "  why: " in out
    assert "  to do: " in out
    assert out.splitlines()[-1].startswith("BREAKING: 1 change; version major: ")
    report = json.loads(command("diff", BUNDLE, files["renamed"], "--format", "json").out)
    assert (report["format"], report["verdict"], report["semver"]["step"]) == ("rigpact-breaking", "breaking", "major")
    (change,) = report["changes"]
    assert (change["pointer"], change["old"], change["new"]) == ("/meta/bone_names/3", "spine_03", "chest")


def test_companions_are_compared_where_given(command, tmp_path):
    """The statistics that training reads live in a second file; a change there asks for training too."""
    changed = edited(
        COMPANION, tmp_path / "c.json", lambda each: each["StdAngVel"].__setitem__(4, 3 * each["StdAngVel"][4])
    )
    same, other = (("--companion", COMPANION, "--companion", second) for second in (COMPANION, changed))
    assert command("diff", BUNDLE, BUNDLE, *same).status == 0
    status, kinds = diffed(command, BUNDLE, BUNDLE, *other)
    assert (status, {"training-statistics-moved"}) == (1, {*kinds})


@every_case(
    ("words", "says"),
    [
        ((), "found no A"),
        ((BUNDLE,), "1 of them"),
        ((BUNDLE, BUNDLE, BUNDLE), "unexpected extra argument"),
        ((BUNDLE, BUNDLE, "--base", "main"), "2 of them"),
        ((BUNDLE, BUNDLE, "--companion", BUNDLE), "1 of them"),
        ((BUNDLE, BUNDLE, "--stage", "state"), "--stage"),
        ((BUNDLE, BUNDLE, "--format", "junit"), "junit"),
        ((BUNDLE, "missing.json"), "missing.json"),
        ((BUNDLE, "."), "directory"),
        ((BUNDLE, COMPANION), "a companion"),
        ((CLIP, BUNDLE), "found a bundle"),
        ((BUNDLE, BUNDLE, "--companion", CLIP, "--companion", CLIP), "found a raw clip"),
        ((BUNDLES["rig_inversion"],) * 2 + ("--companion", COMPANION) * 2, "this system has no such file"),
        ((BUNDLES["neurarig"], BUNDLES["imu_pose"]), "neurarig"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_two(command, words, says):
    """A gate that cannot compare must give one clear line, and must not pass."""
    answer = command("diff", *words)
    assert (answer.status, answer.out, answer.err.count("\n"), says in answer.err) == (2, "", 1, True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository as the working directory, with the demo bundle on `main` and a bundle at 30 fps in the working tree."""
    folder = tmp_path / "game"
    (folder / "data").mkdir(parents=True)
    bundle = folder / "data" / "norm_template.json"
    bundle.write_bytes(BUNDLE.read_bytes())
    (folder / "data" / "lfs.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    (folder / "data" / "empty.json").touch()
    identity = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull}
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True, env=environment)
    edited(bundle, bundle, slower)
    monkeypatch.chdir(folder)
    return folder


@needs_git
def test_the_old_version_is_read_from_git(command, repository, monkeypatch):
    """The change of a pull request is the working tree against main, from any folder; a misspelt branch is not 'no change'."""
    bundle = repository / "data" / "norm_template.json"
    before = bundle.read_bytes()
    far = command("diff", "--base", "main", "data/norm_template.json")
    monkeypatch.chdir(repository / "data")
    near = command("diff", "--base", "main", "norm_template.json")
    assert (near.status, "frame-rate-changed" in near.out, near.out) == (1, True, far.out)
    shutil.copy(bundle, "other.json")
    for revision, name, says in (
        ("nowhere", "norm_template.json", "no such revision"), ("", "norm_template.json", "no such revision"),
        ("--output=stolen", "norm_template.json", "no such revision"), ("main", "other.json", "no other.json there"),
        ("main", "lfs.json", "a Git LFS pointer"), ("main", "empty.json", "an empty file"),
    ):  # fmt: skip
        answer = command("diff", "--base", revision, name)
        assert (answer.status, answer.out, answer.err.count("\n"), says in answer.err) == (2, "", 1, True), (
            revision,
            name,
        )
    assert bundle.read_bytes() == before
    assert not list(repository.rglob("stolen"))


@needs_git
def test_outside_a_repository_and_without_git_the_reason_is_said(command, tmp_path, monkeypatch):
    """A command in the wrong folder, or in a small container, must give one clear line."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    path = shutil.copy(BUNDLE, tmp_path)
    answer = command("diff", "--base", "main", path)
    assert (answer.status, "no git repository" in answer.err) == (2, True)
    monkeypatch.setenv("PATH", "")
    answer = command("diff", "--base", "main", path)
    assert (answer.status, "no program called git" in answer.err) == (2, True)


def test_the_record_holds_each_change_once_and_who_must_do_what(command, files, tmp_path):
    """Section 6 of the contract document asks for version, change and impact. What people wrote stays; no entry comes twice."""
    record = tmp_path / "CHANGES.md"
    assert command("diff", BUNDLE, BUNDLE, "--record", record).status == 0
    assert not record.exists(), "an entry without a change makes the record harder to read"
    record.write_text("# Our changes\n\nWritten by hand.\n", encoding="utf-8")
    for name in ("renamed", "slower", "renamed", "noted"):
        command("diff", BUNDLE, files[name], "--record", record)
    text = record.read_text(encoding="utf-8")
    assert text.startswith("# Our changes\n\nWritten by hand.\n\n## ")
    assert text.count("## 20") == 3
    assert text.index("bone-renamed") < text.index("frame-rate-changed")
    assert "| bone-renamed | `/meta/bone_names/3` | spine_03 is called chest | ENGINE_LAYOUT |" in text
    assert "- [ ] engine programmers: rebuild the engine side" in text
    assert "(major)" in text
    assert "| 1 cosmetic | | notes, spelling, rounding | nobody |" in text
    assert text.endswith("\n")


def test_a_record_is_text_and_only_text(command, files, tmp_path):
    """A bone name is text from outside; the given record may be the user's model, named by mistake."""
    record = tmp_path / "CHANGES.md"
    answer = command("diff", BUNDLE, files["hostile"], "--record", record)
    text = record.read_text(encoding="utf-8")
    assert ("\x1b" in answer.out + text, "a\\|b'" in text) == (False, True)
    for content in (b"\xff\xfe\x00", b""):
        record.write_bytes(content)
        assert command("diff", BUNDLE, files["slower"], "--record", record).status == 2
        assert record.read_bytes() == content
