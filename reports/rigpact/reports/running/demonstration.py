"""The demonstrations: the built-in character checked, run, compared and explained; the built-in robot explained.

They call the same functions as the commands, on files like a user's.
"""

import contextlib
import tempfile
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rigpact.contract import read_document
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.settings.gate import FREE_RUN_FRAMES
from rigpact.fixtures import demo_bundle
from rigpact.fixtures.demo import demo_robot
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.comparing.comparison_text import print_comparison
from rigpact.reports.comparing.diff import DiffRequest, diff
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.diagnosis_text import print_answers, print_diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain
from rigpact.reports.running.converted import ConvertRequest, convert_recording
from rigpact.reports.running.run import RunRequest, print_run, run
from rigpact.reports.terminal import print_report, print_verdict, show, stdout

CLIP, PREDICTION = "clips/Sneak_Turn.json", "teacher_predictions/Sneak_Turn_prediction.json"
SETTING = "condition_direction=velocity"
"""What this character's training takes. An engine takes the trajectory's direction, if nothing is declared."""
RUN, FREE_RUN, PLAYED, ENGINE = "run.trace.jsonl", "free.trace.safetensors", "played.trace.jsonl", "engine.csv"
MISTAKE = "compose_order=prev_delta"
"""What the played engine does wrong: it turns each bone by the network's turn from the other side."""
ROBOT_FILES = ("run.csv", "contract.toml")


def demonstrate(*, quiet: bool) -> FindingsReport:
    """Run the demonstration, and return one report on its four parts."""
    demo = demo_bundle().resolve()
    # findings name the recordings, not a folder that is gone
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return _demonstrate(demo, Console(quiet=True) if quiet else stdout())


def _demonstrate(demo: Path, console: Console) -> FindingsReport:
    bundle, model, clip = demo / "norm_template.json", demo / "model.onnx", demo / CLIP
    run_words = f"{CLIP} --contract {bundle.name} --onnx {model.name} --set {SETTING}"
    _heading(console, "1. Can the engine load it?", f"rigpact check {bundle.name} {CLIP} --onnx {model.name}")
    checked = check_files(CheckRequest([read_document(bundle), read_document(clip)], model=model))
    print_report(checked, console)

    _heading(console, "2. What would the engine do?", f"rigpact run {run_words} -o {RUN}")
    contract, recording = ContractFiles(bundle, settings=(SETTING,)), Path(RUN)
    ran = run(RunRequest(contract, clip, recording, model))
    print_run(ran, console)

    diff_words = f"{PREDICTION} {RUN} --contract {bundle.name} --set {SETTING}"
    _heading(console, "3. Does training agree?", f"rigpact diff {diff_words}")
    compared = diff(DiffRequest(demo / PREDICTION, recording, contract))
    print_comparison(compared, console)

    free_words = f"--mode free --frames {FREE_RUN_FRAMES} -o {FREE_RUN}"
    _heading(console, "4. Does it stand on its own?", f"rigpact run {run_words} {free_words}")
    free = run(RunRequest(contract, clip, Path(FREE_RUN), model, mode="free", frames=FREE_RUN_FRAMES))
    print_run(free, console)

    if not console.quiet:
        _explain_an_engine(console, contract, clip, model)

    total = _joined(checked, ran, compared, free)
    _heading(console, "Verdict on 1 to 4", "")
    print_verdict(total, console)
    return total


def _explain_an_engine(console: Console, contract: ContractFiles, clip: Path, model: Path) -> None:
    """Play an engine with a mistake, keep only its numbers, and say what it does wrong."""
    words = f"{ENGINE} --contract {contract.bundle and contract.bundle.name} --clip {CLIP} --set {SETTING}"
    _heading(console, "5. And an engine that multiplies rotations in the other order?", f"rigpact explain {words}")
    run(RunRequest(ContractFiles(contract.bundle, settings=(SETTING, MISTAKE)), clip, Path(PLAYED), model))
    convert_recording(ConvertRequest(Path(PLAYED), Path(ENGINE), ContractFiles()))
    diagnosis, _ = explain(ExplainRequest(Path(ENGINE), contract, EvidenceFiles(clip)))
    print_answers(diagnosis, console)


def demonstrate_robot(*, quiet: bool) -> Diagnosis:
    """Explain the recording of the built-in robot, whose runtime has a planted mistake, and return the answer."""
    recording, contract = ROBOT_FILES
    with contextlib.chdir(demo_robot()):
        diagnosis, _ = explain(ExplainRequest(Path(recording), ContractFiles(Path(contract))))
    if not quiet:
        show(partial(_print_robot, diagnosis))
    return diagnosis


def _print_robot(diagnosis: Diagnosis, console: Console) -> None:
    title = "A second of a quadruped's runtime was recorded. What does it compute otherwise than its training?"
    _heading(console, title, "rigpact explain {} --contract {}".format(*ROBOT_FILES))
    print_diagnosis(diagnosis, console)


def _heading(console: Console, title: str, command: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    if command:
        console.print(Text(f"$ {command}", style="dim"))


def _joined(*reports: FindingsReport) -> FindingsReport:
    counts = zip(*((each.ledger.declared, each.ledger.compared, each.ledger.waived) for each in reports), strict=True)
    total = Ledger(*map(sum, counts))
    findings = tuple(finding for report in reports for finding in report.findings)
    parts = ("check", "run", "diff", "free_run")
    return FindingsReport(findings, total, {part: report.verdict for part, report in zip(parts, reports, strict=True)})
