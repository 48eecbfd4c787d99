"""`rigpact check` of any system: judge files that belong together by the rules that apply to them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened
from rigpact.contract.findings import Finding, FindingsReport, Severity
from rigpact.contract.model.file import read_model
from rigpact.contract.model.graph import ModelGraph, read_model_graph
from rigpact.contract.rules import Subject, check
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.recordings.opened import open_file


@dataclass(frozen=True)
class CheckRequest:
    """Files to judge together: JSON artefacts already read, the model and the recordings as paths.

    model_beside, beside: a model that belongs to them, and files to run the model on, that are judged elsewhere.
    with_own_models: judge the models that a contract names, where no other is given. declared: conventions of both
    sides: a finding that says no more is left out.
    """

    documents: Sequence[Document]
    recordings: Sequence[Path] = ()
    model: Path | None = None
    companion: Path | None = None
    model_beside: Path | None = None
    beside: Sequence[Document] = ()
    with_own_models: bool = True
    declared: Mapping[str, Any] = field(default_factory=dict)


def check_files(request: CheckRequest) -> FindingsReport:
    """Judge a bundle or a system's contract file, and the files that belong to it.

    Raises UnusableInput for files that do not belong together.
    """
    report = _checked(request)
    bundles = [each for each in request.documents if each.kind is Kind.BUNDLE or each.kind.is_of_a_system]
    if not request.declared or not bundles:
        return report
    from rigpact.contract.contract_files import system_of
    from rigpact.reports.checking.as_declared import without_declared

    return without_declared(report, system_of(bundles[0]), request.declared)


_INPUTS = (Kind.RAW_CLIP, Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION)
"""Files beside a bundle whose numbers other commands judge by."""


def said_of_inputs(contract: ContractFiles, paths: Iterable[Path | None]) -> tuple[Finding, ...]:
    """What `check` says of the clips and files of training that a command uses, for it to say too; nothing of recordings."""
    if contract.bundle is None or read_document(contract.bundle).kind is not Kind.BUNDLE:
        return ()
    given = [open_file(path) for path in dict.fromkeys(paths) if path is not None]
    inputs = [each.document for each in given if each.kind in _INPUTS]
    if not inputs:
        return ()
    documents, own = [read_document(contract.bundle), *inputs], {str(each.path) for each in inputs}
    report = check_files(CheckRequest(documents, companion=contract.companion, declared=contract.changes))
    return tuple(each for each in report.findings if each.file in own and each.rule.severity is not Severity.INFO)


def notes_of_inputs(contract: ContractFiles, paths: Iterable[Path | None]) -> list[str]:
    """The same in sentences, for an answer that is not made of findings."""
    found = said_of_inputs(contract, paths)
    return [f"{each.rule.code} in {Path(each.file).name}: {each.message}" for each in found]


def _checked(request: CheckRequest) -> FindingsReport:
    contracts = [document for document in request.documents if document.kind.is_of_a_system]
    if contracts:
        # numpy, onnxruntime and the recordings are not needed to check a bundle before a commit
        from rigpact.reports.checking.of_a_system import system_files

        _refuse_other_files(request, contracts)
        models = () if request.model is None else (request.model,)
        chosen = models or (None if request.with_own_models else ())
        return check(Subject(system=system_files(contracts[0], chosen, request.recordings, request.declared)))
    from rigpact.reports.engine.canary_report import with_canary

    subject = _subject(request)
    if request.recordings and (subject.bundle is None or subject.model is None):
        with opened(request.recordings[0]) as found:  # which says of a file that is none what it is
            hint = (
                "rigpact diff, rigpact explain; with bundle and model beside it `check` finds the order of the inputs"
            )
            raise UnusableInput(found.name, "a trace", "clips or teacher files", hint)
    return with_canary(check(subject), subject, request.recordings, request.beside)


def _refuse_other_files(request: CheckRequest, contracts: Sequence[Document]) -> None:
    others = [document for document in request.documents if document not in contracts]
    if others:
        raise UnusableInput(others[0].path, f"a {others[0].kind.words}", "files of the system's own contract")
    refuse_second([document.path for document in contracts], "system contracts")
    if request.companion is not None:
        raise UnusableInput(
            "--companion", str(request.companion), "a contract file alone", "this system has no such file"
        )


def _subject(request: CheckRequest) -> Subject:
    companions = [document for document in request.documents if document.kind is Kind.COMPANION]
    if request.companion is not None:
        companions.append(read_document(request.companion, Kind.COMPANION))
    if not request.documents and not companions and request.model is None:
        if request.recordings:
            found, hint = "a trace or another recording alone", "the contract that it was recorded under, or --contract"
            raise UnusableInput(request.recordings[0], found, "a contract beside it", hint)
        hint = "for example rigpact check norm_template.json"
        raise UnusableInput("PATH", "no file", "at least one file to check", hint)
    return Subject(
        bundle=_only([document for document in request.documents if document.kind is Kind.BUNDLE], "bundles"),
        companion=_only(companions, "companions"),
        others=tuple(each for each in request.documents if each.kind not in {Kind.BUNDLE, Kind.COMPANION}),
        model=read_model(request.model) if request.model else None,
        graph_beside=_graph_beside(request.model_beside),
    )


def _graph_beside(path: Path | None) -> ModelGraph | None:
    """The graph of a model that is judged elsewhere, where its defects are reported too; None where it cannot be read."""
    if path is None:
        return None
    try:
        return read_model_graph(path)
    except UnusableInput:
        return None


def _only(documents: list[Document], what: str) -> Document | None:
    refuse_second([document.path for document in documents], what)
    return documents[0] if documents else None


def refuse_second(paths: list[Path], what: str) -> None:
    """Raise UnusableInput where more than one file of a kind is given."""
    if len(paths) > 1:
        raise UnusableInput(paths[1], f"{len(paths)} {what}", "one", "check each with the files that belong to it")
