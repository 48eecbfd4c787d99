"""Runs that are ended, doubled or disturbed

A build is cancelled, a job is started twice, an export is still writing. What was finished is kept, and nothing mixed is judged.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened, read_bytes
from rigpact.contract.files.reading import inputs_remembered
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reports.gate.judging import provenance_of
from rigpact.reports.sweep.sweep import JOURNAL, opened_journal, read_results

from .recorded_demo import recorded, wait_for
from .tried import passes, refused

pytest.importorskip("pyarrow", reason="a sweep writes parquet")
ENDINGS = {"Control-C": (signal.SIGINT, 130), "SIGTERM": (signal.SIGTERM, -15), "SIGKILL": (signal.SIGKILL, -9)}
"""How a run is ended, and its exit status; negative where the signal itself ends it."""
SWEEP = ["sweep", "--contract", "norm_template.json", "--onnx", "model.onnx", "clips", "--mode", "both", "-o", "swept"]
GATE = ["gate", "--report", "json=gate.json", "--report", "markdown=gate.md", "--html", "gate.html"]
WAITING = """
import sys, time
from pathlib import Path
from rigpact.reports.command_line import main

def replace(self, target):
    print("written", flush=True)
    time.sleep(120)

Path.replace = replace
main(sys.argv[1:])
"""
"""The command, which stops where a finished output would take its name."""


@pytest.fixture
def here(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's files, the working directory of the test."""
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx"):
        shutil.copy(demo_bundle / name, tmp_path / name)
    (tmp_path / "clips").mkdir()
    for clip in sorted((demo_bundle / "clips").glob("*.json"))[:3]:
        shutil.copy(clip, tmp_path / "clips" / clip.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """A build server starts its jobs with Control-C ignored, and every process inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def started(*words: str) -> subprocess.Popen[str]:
    """A command that runs, with its errors kept."""
    command = [sys.executable, "-m", "rigpact.reports", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finished(*words: str) -> None:
    with started(*words) as process:
        assert process.wait(timeout=240) in {0, 1}


def whole_lines(journal: Path) -> list[bytes]:
    return [line for line in journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


@pytest.mark.sampled(4)
@refused(
    "Control-C, SIGTERM and SIGKILL to a sweep, in one process and in two",
    "not a pass; finished cells are kept, the rest follows next time",
)
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize(
    ("name", "processes"), [("Control-C", "1"), ("Control-C", "2"), ("SIGTERM", "1"), ("SIGKILL", "2")]
)
def test_a_sweep_that_is_ended_goes_on_later(name, processes, here):
    """Nine hours of a night are lost, or a table that is half of one night and half of another is believed."""
    number, status = ENDINGS[name]
    journal = here / "swept" / JOURNAL
    with started(*SWEEP, "--processes", processes) as sweep:
        wait_for(lambda: journal.exists() and bool(whole_lines(journal)))
        sweep.send_signal(number)
        assert sweep.wait(timeout=60) == status
    kept = whole_lines(journal)
    assert kept
    assert not list(here.rglob("*.part"))
    finished(*SWEEP, "--processes", "1")
    assert whole_lines(journal)[: len(kept)] == kept
    cells = [json.loads(line)["cell"] for line in whole_lines(journal)]
    assert len(cells) == len(set(cells)) == len(read_results(here / "swept"))


@pytest.mark.sampled(3)
@refused("Control-C, SIGTERM and SIGKILL to a gate that writes its reports", "no pass; the old reports stay whole")
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("name", ENDINGS)
def test_a_gate_that_is_ended_leaves_the_old_reports(name, here):
    """The cancelled build leaves half a report, or a pass of the files of yesterday."""
    number, status = ENDINGS[name]
    asked = 'bundle = "norm_template.json"\nmodel = "model.onnx"\nclips = ["clips"]\n'
    (here / "rigpact.toml").write_text(f"[gate]\n{asked}", encoding="utf-8")
    outputs = ("gate.json", "gate.md", "gate.html")
    for output in outputs:
        (here / output).write_text("old", encoding="utf-8")
    with subprocess.Popen([sys.executable, "-c", WAITING, *GATE], stdout=subprocess.PIPE, text=True) as gate:
        assert gate.stdout is not None
        assert gate.stdout.readline() == "written\n"
        gate.send_signal(number)
        try:
            assert gate.wait(timeout=60) == status
        finally:
            gate.kill()
    assert {output: (here / output).read_text(encoding="utf-8") for output in outputs} == dict.fromkeys(outputs, "old")


@refused("a second sweep into the folder of one that runs", "exit 2; the first one loses nothing")
def test_a_second_sweep_in_one_folder_is_refused(here):
    """Two processes write between each other's bytes: a line is torn, and the journal of a night is unreadable."""
    with opened_journal(here / "swept"):
        with started(*SWEEP) as second:
            assert second.stderr is not None
            said = second.stderr.read()
        assert second.returncode == 2
    assert said.startswith("rigpact: error: swept/journal.jsonl: found a journal that another process is writing")
    finished(*SWEEP)
    assert read_results(here / "swept")


@passes("a sweep in the folder of one that was killed", "goes on: no lock is left behind")
@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
def test_a_killed_process_leaves_no_lock(here):
    """A lock that nobody can open is mended by hand, at night, by somebody who deletes the folder."""
    code = "import sys, time; from pathlib import Path; from rigpact.reports.sweep.sweep import opened_journal; "
    code += "held = opened_journal(Path('swept')); print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UnusableInput, match="another process"):
            opened_journal(here / "swept")
        holder.kill()
    opened_journal(here / "swept").close()


CHANGES: dict[str, Callable[[Path], object]] = {
    "longer": lambda path: path.write_bytes(path.read_bytes() + b" "),
    "shorter": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "other bytes": lambda path: _touched(path, path.read_bytes().replace(b"0", b"1", 1)),
}


def _touched(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    later = path.stat().st_mtime_ns + 1_000_000_000  # the clock of a file system may tick a hundred times a second
    os.utime(path, ns=(later, later))


@refused("a file that changes between two looks of one command", "exit 2, and says that it changed")
@pytest.mark.parametrize("change", [*CHANGES, "replaced"])
def test_a_file_that_changes_between_two_looks_is_refused(change, here):
    """The hash in the answer is of the new model, the verdict of the old one."""
    path = here / "norm_template.json"
    other = here / "other.json"
    other.write_bytes(path.read_bytes())
    with inputs_remembered():
        read_bytes(path)
        CHANGES[change](path) if change in CHANGES else other.replace(path)
        with pytest.raises(UnusableInput, match="changed while it was read"):
            provenance_of([path])


@refused(
    "a recording that its writer cuts or extends while it is read, in every format", "exit 2, and says that it changed"
)
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst", "bin", "safetensors"])
def test_a_recording_that_grows_meanwhile_is_refused(ending, here, monkeypatch):
    """The last frames of a recording are missing, and the comparison says that all frames agree."""
    path = here / f"a.trace.{ending}"
    write_trace(recorded(), path)
    looked = Path.stat

    def growing(self: Path, **options: Any) -> os.stat_result:
        if self == path:  # just before the look that ends the reading
            with path.open("ab") as stream:
                stream.write(b"\n")
        return looked(self, **options)

    monkeypatch.setattr(Path, "stat", growing)
    with pytest.raises(UnusableInput, match="changed while it was read"):
        read_trace(path)


@passes(
    "a file that is replaced while it is read, as an export does that writes a new file first",
    "reads the old one whole",
)
@pytest.mark.skipif(sys.platform == "win32", reason="an open file keeps its name there")
def test_a_file_that_is_replaced_while_it_is_read_is_the_old_one(here):
    """An export that is careful must not be refused for it."""
    path, new = here / "norm_template.json", here / "new.json"
    old = path.read_bytes()
    new.write_text("{}", encoding="utf-8")
    with opened(path) as stream:
        new.replace(path)
        assert stream.read() == old
