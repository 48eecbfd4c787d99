"""What is done with a file that could be read: a wrong value that a reader lets pass is found where it is used.

Each use is that of a command, on a character of three bones and a few frames, without its search for pairs of causes.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.documents import read_document
from rigpact.contract.settings.configuration import Configuration, read_configuration
from rigpact.contract.settings.hearing import configured_report
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, write_trace
from rigpact.reference_runtime.files.declared import ContractFiles, files_of
from rigpact.reference_runtime.files.run import RunOptions, run_frames
from rigpact.reference_runtime.recordings.opened import read_trace
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.comparing.diff import compare_recordings, diff, print_comparison
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.describing.description import describe_contract
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
from rigpact.reports.diagnosing.evidence import read_evidence
from rigpact.reports.diagnosing.logs.log_evidence import explain_log
from rigpact.reports.diagnosing.probe import read_probe
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.diagnosing.two_files import TwoFilesRequest, compare_files
from rigpact.reports.gate.archive import archive_bytes, read_archive
from rigpact.reports.gate.judging import judge_gate, measure_gate
from rigpact.reports.gate.measured import GateMeasurement
from rigpact.reports.renderers import FORMATS, render
from rigpact.reports.renderers.for_people import print_gate
from rigpact.reports.running import convert_recording
from rigpact.reports.terminal import print_answer
from rigpact.reports.viewer import render_html

DAY = date(2026, 6, 1)
_FRAMES = 3


def console() -> Console:
    """A console that writes into nothing that anybody reads."""
    return Console(file=io.StringIO(), width=120)


def run(contract: Any, model: Path, clip: Path) -> None:
    """Three frames driven by the clip, and three without it."""
    for mode in ("teacher", "free"):
        with np.errstate(all="ignore"):
            run_frames(
                open_run(contract, OnnxNetwork(model, contract), read_clip(clip), mode), range(_FRAMES), "c", mode
            )


def compared(path: Path, sound: Recording, contract: Any) -> None:
    """`rigpact diff` with what a sound engine recorded."""
    with np.errstate(all="ignore"):
        report = judge(compare_recordings(sound, read_recording(path, contract), contract))
    print_comparison(report, console())
    report.to_json()


def shown(diagnosis: Diagnosis) -> None:
    """A diagnosis as text and as JSON."""
    print_answer(answer_of_diagnosis(diagnosis), console())
    diagnosis.to_json()


def ran(path: Path) -> None:
    """A declared contract on clips of its own making: three frames in each mode that it has."""
    contract = open_contract(path)
    files, probe = files_of(contract), read_probe(contract)
    network = files.judging_network(probe, contract)
    for mode in ("teacher", "free") if contract.system.graph.feeds_itself else ("teacher",):
        with np.errstate(all="ignore"):
            run_frames(files.start(contract, network, probe, RunOptions(mode)), range(_FRAMES), "probe", mode)


def used_contract(path: Path, root: Any) -> None:
    """`rigpact show`, `run` and `explain` of what ran, with a declared contract."""
    contract = open_contract(path)
    describe_contract(contract, root)
    ran(path)


def used_recording(path: Path, contract: Path) -> None:
    """`rigpact explain`, `diff` with itself and `convert` of a recording under your own contract."""
    files = ContractFiles(contract)
    made = path.with_name("converted.trace.jsonl")
    made.unlink(missing_ok=True)
    convert_recording(path, made, files)
    read_trace(made)
    opened = files.opened()
    with np.errstate(all="ignore"):
        diff(path, made, files).to_json()
        compare_files(TwoFilesRequest(path, made))
    explained(path, opened)


def explained(path: Path, contract: Any) -> None:
    """`rigpact explain` without pairs, with a budget as the command has one."""
    with np.errstate(all="ignore"):
        shown(diagnose_gathered(read_evidence(path, contract), with_pairs=False, budget=Budget(10.0)))


def log_explained(path: Path, contract: Any) -> None:
    """`rigpact explain` of a pasted log, with a budget as the command has one."""
    shown(explain_log(path, contract, {}, budget=Budget(10.0))[0])


def drafted(path: Path) -> None:
    """What was imported is read as any other file: a draft is checked, arrays are read."""
    if path.suffix == ".toml":
        check_files(CheckRequest([read_document(path)], with_own_models=False))
    else:
        read_arrays(path.read_bytes(), path)


@dataclass(frozen=True, eq=False)
class SoundGate:
    """A small project whose gate asks every question that needs no git."""

    folder: Path
    configuration: Configuration
    measurement: GateMeasurement
    archive: bytes

    @staticmethod
    def of(folder: Path, trace: Trace) -> SoundGate:
        """Measured in a folder that holds the small character; its engine has another denormalisation."""
        changed = trace.stages["y_out"] * np.float32(1.5)
        wrong = replace(trace, stages={**trace.stages, "y_out": changed})
        write_trace(replace(wrong, header=replace(wrong.header, producer="game")), folder / "engine.trace.jsonl")
        (folder / "gate.toml").write_text(_GATE, encoding="utf-8")
        with contextlib.chdir(folder):
            settings = read_configuration(Path("gate.toml"))
            measurement = measure_gate(settings)
            content = archive_bytes(measurement, judge_gate(measurement, settings, DAY))
            (folder / "sound.rigpact.zip").write_bytes(content)
        return SoundGate(folder, settings, measurement, content)

    def judge(self, path: Path) -> None:
        """`rigpact gate --from`, judged and as given, in every form."""
        archive = read_archive(path)
        answer = judge_gate(archive.measurement, self.configuration, DAY)
        archive_bytes(archive.measurement, answer)
        for report in (answer, archive.report):
            print_gate(report, console())
            for name in FORMATS:
                render(report, name)
        render_html(archive.report, archive.runs)

    def configured(self, path: Path) -> None:
        """The sound measurements under other settings."""
        with contextlib.chdir(self.folder):
            configuration = read_configuration(path)
            answer = judge_gate(self.measurement, configuration, DAY)
            for part in self.measurement.parts:
                configured_report(part.report, configuration, DAY)
        render(answer, "json")

    def known(self, path: Path) -> None:
        """The sound measurements with these known findings."""
        with contextlib.chdir(self.folder):
            judge_gate(self.measurement, replace(self.configuration, baseline=path), DAY)


_GATE = """[gate]
bundle = "sound_bundle.json"
model = "sound.onnx"
clips = ["sound_clip.json"]
frames = 4
[gate.budget]
parameters = 1
[gate.thresholds]
tolerance-factor = 2
pose-deg = 1
[[gate.trace]]
file = "engine.trace.jsonl"
clip = "sound_clip.json"
"""
