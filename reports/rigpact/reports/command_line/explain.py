"""`rigpact explain`: why a recording differs from the contract."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.options import (
    Companion,
    ConventionsFile,
    Format,
    OutputFormat,
    Settings,
    contract_from_options,
)

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract
    from rigpact.reports.diagnose import Diagnosis


def explain(
    recording: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A trace, a teacher prediction, a raw clip, or a pasted engine log.")
    ],
    *,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="The schema bundle; only a log can do without it.")
    ] = None,
    companion: Companion = None,
    clip: Annotated[
        Path | None,
        typer.Option("--clip", metavar="FILE", help="The clip that drove it: the input stages are rebuilt from it."),
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option("--onnx", metavar="FILE", help="The model: the network's own output is judged too.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="FILE", help="Recorded network outputs, where the trace has none."),
    ] = None,
    settings: Settings = None,
    conventions: ConventionsFile = None,
    singles_only: Annotated[bool, typer.Option("--singles-only", help="Do not search pairs of changes.")] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Name the convention that differs, or say that none does.

    Each recorded stage is recomputed from the engine's own recorded inputs to it; where one differs, the knobs that can
    change it are searched, all singles and all pairs. Exit status 0: agrees; 1: explained or unexplained; 2: undetermined.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.diagnosis_text import print_diagnosis
    from rigpact.reports.engine_log import is_engine_log
    from rigpact.reports.terminal import print_json, stdout

    contract = contract_from_options(bundle, companion, settings, conventions) if bundle else None
    if is_engine_log(recording):
        diagnosis, notes = _explain_log(recording, contract, settings)
    elif contract is None:
        raise UnusableInput("--bundle", "none", "the bundle that the recording was made under")
    else:
        diagnosis, notes = _explain_recording(
            recording, contract, clip, onnx, replay, with_pairs=not singles_only
        )  # fmt: skip
    if output_format is OutputFormat.JSON:
        print_json(diagnosis.to_json())
    else:
        console = stdout()
        for note in notes:
            console.print(f"note: {note}", style="yellow", markup=False)
        print_diagnosis(diagnosis, console)
    raise typer.Exit(diagnosis.exit_code)


def _explain_log(path: Path, contract: Contract | None, settings: list[str] | None) -> tuple[Diagnosis, list[str]]:
    from rigpact.contract.conventions import Conventions, parse_settings
    from rigpact.reports.diagnose import diagnose
    from rigpact.reports.engine_log import log_evidence, read_engine_log, width_disagreements

    log = read_engine_log(path)
    notes = width_disagreements(log, contract) if contract else []
    if log.cut_off:
        notes.append(f"{log.cut_off} [DeltaCompose] lines are cut off and were passed over")
    declared = contract.conventions if contract else Conventions().replaced(parse_settings(settings or ()))
    return diagnose(*log_evidence(log, declared)), notes


def _explain_recording(
    path: Path, contract: Contract, clip: Path | None, onnx: Path | None, replay: Path | None, *, with_pairs: bool
) -> tuple[Diagnosis, list[str]]:
    from rigpact.reports.diagnose import diagnose
    from rigpact.reports.evidence import read_evidence
    from rigpact.reports.terminal import working

    evidence, notes = read_evidence(path, contract, clip=clip, onnx=onnx, replay=replay)
    with working("replaying stages and searching conventions"):
        return diagnose(evidence, contract, with_pairs=with_pairs), notes
