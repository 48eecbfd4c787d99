"""A release: the same bytes from the same commit, metadata that is true, dependencies that can be had, oldest and newest."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from rigpact.reports.renderers import for_machines as sarif

from .recipes import copied

pytestmark = pytest.mark.repository
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture(scope="module")
def project(checkout: Path) -> Mapping[str, Any]:
    """The table `project` of pyproject.toml."""
    table: Mapping[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def built(source: Path, target: Path, *targets: str, **env: str) -> list[Path]:
    """What hatchling makes of a folder: the wheel, the source distribution, or both."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target), *(f"-t{each}" for each in targets)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=300, env=os.environ | env)
    return sorted(target.iterdir())


def built_twice(checkout: Path, tmp_path: Path, native: str) -> Iterator[tuple[str, bool]]:
    """The name of each file of a release, and whether another folder, day, zone, language and umask give the same bytes."""
    pytest.importorskip("hatchling")
    releases = []
    for place, day, umask, env in (
        ("a", 1_600_000_000, 0o022, {"TZ": "UTC", "LC_ALL": "C"}),
        ("another/place", 1_700_000_000, 0o077, {"TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"}),
    ):
        before = os.umask(umask)
        try:
            source = tmp_path / place / "rigpact"
            source.mkdir(parents=True)
            for path in (*copied(checkout, source).rglob("*"),):
                if path.is_file() and ".git" not in path.parts:
                    os.utime(path, (day, day))
            releases.append(built(source, tmp_path / place / "dist", RIGPACT_NATIVE=native, **env))
        finally:
            os.umask(before)
    for one, other in zip(*releases, strict=True):
        assert one.name == other.name
        yield one.name, one.read_bytes() == other.read_bytes()


@pytest.mark.nightly
@pytest.mark.parametrize("native", ["0", "1"])
def test_the_same_commit_gives_the_same_bytes(checkout: Path, tmp_path: Path, native: str) -> None:
    """Nobody can tell a release that was changed from one that was built elsewhere, unless both are the same bytes.

    A compiler writes paths and times into a library where nobody stops it: with `1` the wheel holds the compiled loop.
    """
    found = dict(built_twice(checkout, tmp_path, native))
    assert sorted(name.rpartition(".")[2] for name in found) == ["gz", "whl"]
    assert [*found.values()] == [True, True], found


@pytest.mark.nightly
def test_the_index_accepts_the_release(checkout: Path, tmp_path: Path) -> None:
    """A description that the index cannot show is refused on the day of the release."""
    pytest.importorskip("twine", reason="the extra test has it")
    release = built(checkout, tmp_path, RIGPACT_NATIVE="0")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, release)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == len(release) == 2


def test_the_version_stands_once_and_everything_follows_it(checkout: Path, project: Mapping[str, Any]) -> None:
    """A citation or a changelog of another version sends its reader to another program."""
    version = project["version"]
    citation = yaml.safe_load((checkout / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert citation["license"] == project["license"]
    assert citation["title"] == project["name"]
    site = (checkout / "mkdocs.yml").read_text(encoding="utf-8")
    assert citation["abstract"] == f"{project['description']}."
    assert f"site_description: {project['description']}\n" in site
    changelog = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## .*\b{re.escape(version)}\b", changelog, re.MULTILINE)
    assert f"rigpact=={version}" in (checkout / "action.yml").read_text(encoding="utf-8")
    named = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert (tuple(named), project["requires-python"]) == (PYTHONS, f">={PYTHONS[0]}")


@pytest.mark.parametrize(("schema", "name"), [
    ("citation-file-format", "CITATION.cff"), ("github-workflows", ".github/workflows/release.yml"),
])  # fmt: skip
def test_what_github_reads_is_valid(checkout: Path, schema: str, name: str) -> None:
    """GitHub shows no button for a file that is not valid, and runs no workflow."""
    words = ["--builtin-schema", f"vendor.{schema}", str(checkout / name)]
    command = [sys.executable, "-m", "check_jsonschema", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_a_tag_publishes_what_was_tested(checkout: Path) -> None:
    """A release by hand differs each time; an action that its owner can move, or a stored password, lets a stranger in."""
    path = checkout / ".github" / "workflows" / "release.yml"
    text = path.read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    assert "secrets." not in text
    assert (jobs["publish"]["needs"], jobs["publish"]["permissions"]) == ("build", {"id-token": "write"})
    steps = [step.get("run", "") for step in jobs["build"]["steps"]]
    tested = next(place for place, run in enumerate(steps) if "test_release.py" in run)
    assert tested < next(place for place, run in enumerate(steps) if "hatchling build" in run)


def test_the_address_of_the_project_stands_in_one_place(checkout: Path, project: Mapping[str, Any]) -> None:
    """A recipe that installs somebody else's copy runs somebody else's code. RIGPACT_REGENERATE=1 writes them anew."""
    address = project["urls"]["Repository"]
    others = [other for name, other in project["urls"].items() if name != "Repository"]
    assert [other for other in others if not other.startswith(f"{address}/")] == [] != others
    repository = address.removeprefix("https://github.com/")
    for name in ("docs/ci.md", "CITATION.cff"):
        text = (checkout / name).read_text(encoding="utf-8")
        right = re.sub(r"[\w.-]+/rigpact(?=@REVISION|\n)", repository, text)
        if os.environ.get("RIGPACT_REGENERATE"):
            (checkout / name).write_text(right, encoding="utf-8", newline="\n")
        assert text == right, name
        assert repository in text


@pytest.mark.parametrize(("owner", "is_linked"), [("studio", True), ("OWNER", False)])
def test_reports_link_to_the_address_of_the_project(
    monkeypatch: pytest.MonkeyPatch, owner: str, *, is_linked: bool
) -> None:
    """An alert whose help leads nowhere is dismissed; so a copy that nobody has given an address has no links."""
    monkeypatch.delenv("RIGPACT_DOCS_URL", raising=False)
    address = f"https://github.com/{owner}/rigpact/blob/main/docs"
    declared = SimpleNamespace(get_all=lambda _name: [f"Documentation, {address}"])
    monkeypatch.setattr(sarif, "metadata", lambda _name: declared)
    assert sarif.documentation_url() == (address if is_linked else None)


def test_the_files_of_others_are_named(checkout: Path) -> None:
    """A licence that asks for its notice is broken by the first copy without it."""
    notice = (checkout / "NOTICE").read_text(encoding="utf-8")
    schemas = checkout / "parity_tests" / "renderers_room" / "schemas"
    assert list(schemas.iterdir())
    for path in schemas.iterdir():
        assert path.relative_to(checkout).as_posix() in notice


def _pip(python: Path | str, *words: str) -> None:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.nightly
@pytest.mark.parametrize("version", PYTHONS)
def test_every_python_that_is_named_has_the_dependencies(checkout: Path, tmp_path: Path, version: str) -> None:
    """A wheel that is missing for one Python makes pip compile onnx, for an hour, and fail."""
    (wheel,) = built(checkout, tmp_path / "dist", "wheel", RIGPACT_NATIVE="0")
    words = ("--dry-run", "--ignore-installed", "--quiet", "--only-binary=:all:", "--target", str(tmp_path / "target"))
    _pip(sys.executable, "install", *words, "--python-version", version, str(wheel))


DEMO = (
    (("demo", "--into", "character"), "character"),
    (("init", "-q"), "READY"),
    (("gate", "--html", "report.html", "--report", "sarif=gate.sarif"), "PASS"),
    (
        ("nan", "--contract", "norm_template.json", "--onnx", "model.onnx", "clips/Run_F.json", "--frames", "30"),
        "FINITE",
    ),
    (("convert", "teacher_predictions/Sneak_Turn_prediction.json", "-o", "prediction.npz"), "written"),
)


@pytest.mark.nightly
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the oldest versions have wheels for Python 3.11")
def test_the_oldest_versions_that_are_allowed_work(checkout: Path, tmp_path: Path, project: Mapping[str, Any]) -> None:
    """A studio pins its numpy for years: a minimum that nobody has tried is a guess."""
    (wheel,) = built(checkout, tmp_path / "dist", "wheel", RIGPACT_NATIVE="0")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    scripts = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    minimums = [each.replace(">=", "==") for each in project["dependencies"]]
    _pip(scripts / "python", "install", "--quiet", "--only-binary=:all:", *minimums, str(wheel))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for place, (words, said) in enumerate(DEMO):
        command, where = [str(scripts / "rigpact"), *words], tmp_path / "character" if place else tmp_path
        done = subprocess.run(command, cwd=where, env=env, check=False, capture_output=True, text=True, timeout=300)
        assert (done.returncode, said in done.stdout) == (0, True), done.stdout + done.stderr
