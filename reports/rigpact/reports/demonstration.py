"""The demonstrations: the character checked, run, compared and explained; the robot explained; the page of each.

They call the same functions as the commands, on a copy of the files in the working directory.
"""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rigpact.contract import read_document
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import FindingsReport
from rigpact.contract.settings.configuration import FILE_NAME, read_configuration
from rigpact.contract.settings.table import today
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.comparing.diff import diff, print_comparison
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles
from rigpact.reports.diagnosing.explain import ExplainRequest, explain
from rigpact.reports.gate.judging import judge_gate, measure_gate
from rigpact.reports.gate.report import GateReport, Part
from rigpact.reports.running import convert_recording, print_run, run
from rigpact.reports.terminal import print_answer, print_verdict, print_with_findings
from rigpact.reports.viewer import write_html

BUNDLE, MODEL, CLIP = Path("norm_template.json"), Path("model.onnx"), Path("clips/Sneak_Turn.json")
PREDICTION, RUN = Path("teacher_predictions/Sneak_Turn_prediction.json"), Path("run.trace.jsonl")
SETTING = "condition_direction=velocity"
"""What this character's training takes. An engine takes the trajectory's direction, if nothing is declared."""
PLAYED, ENGINE, MISTAKE = Path("played.trace.jsonl"), Path("engine.csv"), "compose_order=prev_delta"
"""What the played engine does wrong: it turns each bone by the network's turn from the other side."""
CONTRACT = ContractFiles(BUNDLE, settings=(SETTING,))
ROBOT = ContractFiles(Path("contract.toml"))
ROBOT_RUN, PAGE = Path("run.csv"), Path("report.html")
ASKED: Mapping[bool, str] = {
    False: f"""[gate]
bundle = "{BUNDLE}"
model = "{MODEL}"
[gate.conventions]
condition_direction = "velocity"
[[gate.trace]]
file = "{ENGINE}"
clip = "{CLIP}"
mode = "teacher"
stages = ["x_raw", "y_norm", "y_out"]
""",
    True: f"""[gate]
bundle = "{ROBOT.bundle}"
[[gate.trace]]
file = "{ROBOT_RUN}"
clip = "{ROBOT_RUN}"
mode = "free"
stages = ["obs", "action", "motor_targets"]
""",
}
"""The settings whose answer the page shows, of the character and of the robot."""


def demonstrate(console: Console) -> tuple[FindingsReport, Diagnosis]:
    """Run the character's demonstration: one report on its three parts, and what an engine with a mistake computes."""
    against = f"--contract {BUNDLE} --set {SETTING}"
    _heading(console, "1. Can the engine load it?", f"rigpact check {BUNDLE} {CLIP} --onnx {MODEL}")
    checked = check_files(CheckRequest([read_document(BUNDLE), read_document(CLIP)], model=MODEL))
    print_with_findings((), checked, console)

    _heading(console, "2. What would the engine do?", f"rigpact run {CLIP} {against} --onnx {MODEL} -o {RUN}")
    ran = run(CONTRACT, CLIP, RUN, MODEL)
    print_run(ran, console)

    _heading(console, "3. Does training agree?", f"rigpact diff {PREDICTION} {RUN} {against}")
    compared = diff(PREDICTION, RUN, CONTRACT)
    print_comparison(compared, console)

    reports = {"check": checked, "run": ran, "diff": compared}
    ledger = GateReport(tuple(Part(name, "", report) for name, report in reports.items()), {}).ledger
    findings = tuple(finding for report in reports.values() for finding in report.findings)
    total = FindingsReport(findings, ledger, {name: report.verdict for name, report in reports.items()})
    _heading(console, "Verdict on 1 to 3", "")
    print_verdict(total, console)

    title = "4. And an engine that multiplies rotations in the other order?"
    _heading(console, title, f"rigpact explain {ENGINE} {against} --clip {CLIP}")
    _record_an_engine()
    diagnosis, _ = explain(ExplainRequest(ENGINE, CONTRACT, EvidenceFiles(CLIP)))
    print_answer(answer_of_diagnosis(diagnosis), console)
    return total, diagnosis


def _record_an_engine() -> None:
    run(ContractFiles(BUNDLE, settings=(SETTING, MISTAKE)), CLIP, PLAYED, MODEL)
    convert_recording(PLAYED, ENGINE, ContractFiles())


def demonstrate_robot(console: Console) -> Diagnosis:
    """Explain the recording of the robot, whose runtime has a planted mistake, and return the answer."""
    title = "A second of a quadruped's runtime was recorded. What does it compute otherwise than its training?"
    _heading(console, title, f"rigpact explain {ROBOT_RUN} --contract {ROBOT.bundle}")
    diagnosis, _ = explain(ExplainRequest(ROBOT_RUN, ROBOT))
    print_answer(answer_of_diagnosis(diagnosis), console)
    return diagnosis


def write_page(*, is_robot: bool) -> Path:
    """Ask the gate about the recording with the mistake, and write its page."""
    if not is_robot:
        _record_an_engine()
    write_bytes(FILE_NAME, ASKED[is_robot].encode())
    configuration = read_configuration(Path(FILE_NAME))
    measurement = measure_gate(configuration)
    write_html(PAGE, judge_gate(measurement, configuration, today()))
    return PAGE.resolve()


def _heading(console: Console, title: str, command: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    if command:
        console.print(Text(f"$ {command}", style="dim"))
