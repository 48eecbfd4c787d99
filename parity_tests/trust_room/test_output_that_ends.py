"""Screens, consoles, pipes and disks that take the answer

A reader that goes away changes no verdict: status 1 means findings. A full disk is not a defect of rigpact, and no pass.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.command_line import main
from rigpact.reports.terminal import print_with_findings, stdout

from ..contract_room import small_character
from .tried import passes, refused

FILES = ("norm_template.json", "pretrain_template.json", "model.onnx")


@passes("`rigpact check` piped to `head -1`, which goes away before the answer is written", "keeps its exit status")
@pytest.mark.skipif(sys.platform == "win32", reason="pipes close in another way")
@pytest.mark.parametrize(
    "words", [("check", *FILES[:2], "--onnx", FILES[2]), ("show", FILES[0], "--format", "markdown")]
)
def test_a_reader_that_goes_away_changes_no_verdict(words, demo_bundle):
    """`rigpact check … | head -1` in a CI script with pipefail would fail a sound pull request."""
    command = [sys.executable, "-m", "rigpact.reports", *words]
    with subprocess.Popen(command, cwd=demo_bundle, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


def test_a_program_without_a_console_has_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service and a program with windows have no stderr; `check` in one must not end as a crash."""
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0


def _on_a_full_disk(folder: Path, *words: str, stdout: Path | int) -> subprocess.CompletedProcess[bytes]:
    """The command where no file may grow beyond one kilobyte, as on a disk that is full."""
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)); "
    code = limited + "from rigpact.reports.command_line import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *words]
    if isinstance(stdout, Path):
        with stdout.open("wb") as stream:
            return subprocess.run(command, cwd=folder, stdout=stream, stderr=subprocess.PIPE, check=False)
    return subprocess.run(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, check=False)


@refused(
    "a disk that is full while the answer is printed",
    "exit 2 with one line: an answer that nobody can read is not a pass",
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_the_disk_refuses_is_no_pass(demo_bundle):
    """A CI job that keeps the log on a full disk would be green with an empty report."""
    done = _on_a_full_disk(demo_bundle, "check", *FILES[:2], "--onnx", FILES[2], stdout=Path("/dev/full"))
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "rigpact: error: standard output: found a disk that refuses (No space left on device), expected room to write"
        " (hint: nothing was kept of it)"
    ]


@pytest.mark.sampled(2)
@refused("a disk that is full while a trace is written", "exit 2 with one line, and no half of a file is left")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("name", ["run.trace.jsonl", "run.trace.safetensors"])
def test_a_full_disk_is_no_defect_of_rigpact(demo_bundle, tmp_path, name):
    """A programmer would report a defect of rigpact, and half of a trace would be compared with the engine."""
    out, clip = tmp_path / name, demo_bundle / "clips" / "Sneak_Turn.json"
    words = ("run", "--contract", FILES[0], "--onnx", FILES[2], str(clip), "-o", str(out))
    done = _on_a_full_disk(demo_bundle, *words, stdout=subprocess.DEVNULL)
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"rigpact: error: {out}: found a disk that refuses (")
    assert not list(tmp_path.iterdir())


@refused("a disk that is full while headers are copied", "exit 2; the headers of before are whole")
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_headers_are_all_copied_or_none(tmp_path):
    """A header that ends in its middle compiles in the next build of somebody else, or not at all."""
    folder = tmp_path / "include" / "rigpact"
    folder.mkdir(parents=True)
    (folder / "runtime.hpp").write_bytes(b"// the header of before\n")
    code = (
        "import resource, sys; from rigpact.reports.engine.cpp_text import copy_headers; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); copy_headers(sys.argv[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, folder.parent], capture_output=True, text=True, check=False)
    assert "a disk that refuses" in done.stderr
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files == {"runtime.hpp": b"// the header of before\n"}


@passes("the console cannot show Δ, ° or ·: code page 1252, and ASCII", "the same answer, `?` for the sign")
def test_a_console_that_lacks_a_sign_changes_no_answer(command):
    """An answer that dies of its own Δ is a red build with no reason."""
    words = ("show", "enemy_animation")
    expected = command(*words)
    assert (expected.status, "ΔR" in expected.out) == (0, True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUTF8"}
    for encoding in ("cp1252", "ascii"):
        done = subprocess.run(
            [sys.executable, "-m", "rigpact.reports", *words],
            env={**environment, "PYTHONIOENCODING": encoding}, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == expected.status, done.stderr
        shown = done.stdout.decode(encoding).replace("\r\n", "\n")
        assert shown == expected.out.encode(encoding, "replace").decode(encoding)


Slices = Callable[[int], dict[str, object]]
SLICES: dict[str, Slices] = {
    "behind the end": lambda number: {"start": 3 * number, "size": 3},
    "all in one place": lambda number: {"start": 0, "size": 35},
    "of another type": lambda number: {"start": number, "size": "three"},
}
SHOWN = 50
"""Findings of one rule on the screen."""


def bundle_with(slices: Slices, count: int, path: Path) -> Path:
    """The small character's bundle with so many slices more."""
    document = small_character.bundle_document()
    document["meta"]["state_layout"] |= {f"S{number}": slices(number) for number in range(count)}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.sampled(2)
@refused(
    "20,000 mistakes of one kind in a bundle", "the first fifty, and how many more there are; `--format json` has all"
)
@pytest.mark.parametrize("kind", SLICES)
def test_the_screen_shows_the_first_ones_and_counts_the_rest(kind, tmp_path, capsys):
    """A log of eighty thousand lines hides the one line that matters, and takes longer to print than the check took."""
    report = check_files(CheckRequest([read_document(bundle_with(SLICES[kind], 2_000, tmp_path / "bundle.json"))]))
    print_with_findings((), report, stdout())
    text = capsys.readouterr().out
    found = Counter(finding.rule.code for finding in report.findings)
    shown = Counter(re.findall(r"^\S+: (RP\d+) ", text, re.MULTILINE))
    more = {code: int(number) for number, code in re.findall(r"^(\d+) more of (RP\d+) ", text, re.MULTILINE)}
    assert max(found.values()) >= 1_900
    assert max(shown.values()) == SHOWN
    assert {code: shown[code] + more.get(code, 0) for code in found} == dict(found)
