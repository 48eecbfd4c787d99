"""The enemy animation under the commands: bundle, companion, clips, teacher files, engine logs.

Imports stand in the methods: a check before every commit does not wait for the runtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.reports.systems.interface import CheckRequest, ContractFiles, DiffRequest, ExplainRequest, RunRequest

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract
    from rigpact.contract.findings import FindingsReport
    from rigpact.contract.rules import Subject
    from rigpact.reference_runtime.network import Network
    from rigpact.reference_runtime.systems.enemy_animation.loop import Mode
    from rigpact.reports.diagnosing.diagnose import Diagnosis


class EnemyAnimation:
    """A `ReportedSystem`."""

    def check(self, request: CheckRequest) -> FindingsReport:
        """Judge a bundle, its companion, clips, teacher files and a model, whichever are there."""
        from rigpact.contract.rules import check
        from rigpact.reports.engine.canary_report import with_canary

        if request.recordings:
            raise UnusableInput(
                request.recordings[0], "a trace", "clips or teacher files", "rigpact diff, rigpact explain"
            )
        subject = _subject(request)
        return with_canary(check(subject), subject, request.canary)

    def run(self, request: RunRequest) -> FindingsReport:
        """Run the loop on a clip."""
        from rigpact.reference_runtime.recordings.clip import read_clip
        from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import GroundedInputs
        from rigpact.reference_runtime.systems.enemy_animation.loop import LoopParts, start_run
        from rigpact.reports.running.run_report import describe_run, record_run, write_run

        contract, driving = _needed_contract(request.contract), read_clip(request.clip)
        if request.floor_contacts and request.mode != "free":
            raise UnusableInput("--floor-contacts", f"a {request.mode} run", "--mode free")
        parts = LoopParts(GroundedInputs) if request.floor_contacts else None
        mode = cast("Mode", request.mode)
        runner = start_run(contract, _network(request, contract), driving, mode, parts)
        trace = record_run(runner, driving, mode, request.frames)
        model = (request.onnx or request.replay or request.clip).name
        write_run(request.out, trace, runner.contract, driving, model=model)
        return describe_run(runner, trace, request.contract.bundle or request.clip, request.out)

    def diff(self, request: DiffRequest) -> FindingsReport:
        """Compare any two of traces, teacher files and raw clips; without a bundle only poses."""
        from rigpact.reference_runtime.recordings.recording import read_recording
        from rigpact.reports.comparing.compare import compare
        from rigpact.reports.comparing.judgement import judge

        contract = _contract(request.contract)
        first, second = read_recording(request.a, contract), read_recording(request.b, contract)
        comparison = compare(first, second, contract, only=tuple(request.stages))
        report = judge(comparison)
        if request.table is not None:
            from rigpact.reports.comparing.error_table import write_error_table

            write_error_table(comparison, request.table)
        return report

    def explain(self, request: ExplainRequest) -> tuple[Diagnosis, list[str]]:
        """Explain a recording, or an engine's log, which can do without a bundle."""
        from rigpact.reports.diagnosing.diagnose import diagnose
        from rigpact.reports.diagnosing.engine_log import is_engine_log
        from rigpact.reports.diagnosing.evidence import read_evidence
        from rigpact.reports.terminal import working

        if is_engine_log(request.recording):
            return _explained_log(request.recording, request.contract)
        contract = _contract(request.contract)
        if contract is None:
            raise UnusableInput("--bundle", "none", "the bundle that the recording was made under")
        evidence, notes = read_evidence(
            request.recording, contract, clip=request.clip, onnx=request.onnx, replay=request.replay
        )
        with working("replaying stages and searching conventions"):
            return diagnose(evidence, contract, with_pairs=request.with_pairs), notes


def _contract(files: ContractFiles) -> Contract | None:
    from rigpact.contract import load_contract

    return load_contract(files.bundle, files.companion, changed_conventions(files)) if files.bundle else None


def changed_conventions(files: ContractFiles) -> dict[str, object]:
    """The conventions that options declare; `--set` wins over the file."""
    from rigpact.contract.conventions import parse_settings, read_conventions

    changes: dict[str, object] = read_conventions(files.conventions) if files.conventions else {}
    return {**changes, **parse_settings(files.settings)}


def _needed_contract(files: ContractFiles) -> Contract:
    contract = _contract(files)
    if contract is None:
        raise UnusableInput("BUNDLE", "none", "the schema bundle, norm_template.json")
    return contract


def _network(request: RunRequest, contract: Contract) -> Network | None:
    from rigpact.reference_runtime.network import OnnxNetwork, read_replay

    if request.onnx:
        return OnnxNetwork(request.onnx, contract)
    return read_replay(request.replay) if request.replay else None


def _explained_log(path: Path, files: ContractFiles) -> tuple[Diagnosis, list[str]]:
    from rigpact.contract.conventions import parse_settings
    from rigpact.reference_runtime.systems.enemy_animation.knobs import enemy_conventions
    from rigpact.reports.diagnosing.diagnose import diagnose
    from rigpact.reports.diagnosing.engine_log import log_evidence, read_engine_log, width_disagreements

    contract, log = _contract(files), read_engine_log(path)
    notes = width_disagreements(log, contract) if contract else []
    if log.cut_off:
        notes.append(f"{log.cut_off} [DeltaCompose] lines are cut off and were passed over")
    declared = contract.conventions if contract else enemy_conventions(parse_settings(files.settings))
    return diagnose(*log_evidence(log, declared)), notes


def _subject(request: CheckRequest) -> Subject:
    from rigpact.contract.model.file import read_model
    from rigpact.contract.rules import Subject

    companions = [document for document in request.documents if document.kind is Kind.COMPANION]
    if request.companion is not None:
        companions.append(read_document(request.companion, Kind.COMPANION))
    if not request.documents and not companions and request.model is None:
        raise UnusableInput(
            "PATH", "no file", "at least one file to check", "for example rigpact check norm_template.json"
        )
    return Subject(
        bundle=_only([document for document in request.documents if document.kind is Kind.BUNDLE], "bundles"),
        companion=_only(companions, "companions"),
        others=tuple(each for each in request.documents if each.kind not in {Kind.BUNDLE, Kind.COMPANION}),
        model=read_model(request.model) if request.model else None,
    )


def _only(documents: list[Document], what: str) -> Document | None:
    refuse_second([document.path for document in documents], what)
    return documents[0] if documents else None


def refuse_second(paths: list[Path], what: str) -> None:
    """UnusableInput where there is more than one of something."""
    if len(paths) > 1:
        raise UnusableInput(paths[1], f"{len(paths)} {what}", "one", "check each with the files that belong to it")
