"""`rigpact check` of any system: judge files that belong together by the rules that apply to them."""

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rigpact.contract.contract_files import document_to_contract
from rigpact.contract.documents import (
    Document,
    Kind,
    file_to_document,
    has_marking_key,
    is_marked_text,
    kind_of,
    read_document,
)
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.files import opened, read_bytes, read_json
from rigpact.contract.findings import Finding, FindingsReport, Ledger, Severity
from rigpact.contract.model.graph import open_model
from rigpact.contract.model.signature import read_model
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.contract_files import hosted_system
from rigpact.contract.rules.family import Artefacts, answers
from rigpact.contract.rules.system_view import BoundModel, RecordedRows, SystemFiles
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import ContractFiles, files_of
from rigpact.reference_runtime.graph.network import bound_part
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, Opened, open_file
from rigpact.reports.file_lists import named_files
from rigpact.reports.terminal import plain


# Read the files that `rigpact check` judges by the contract of another system than the enemy animation.
def system_files(
    document: Document, models: Sequence[Path] | None, recordings: Sequence[Path], declared: Mapping[str, Any]
) -> SystemFiles:
    """A contract, its models and recordings. models: None for those that the contract names. declared: for both sides."""
    contract = None
    with suppress(ContractRefused):  # the report holds its findings
        contract = document_to_contract(document)
    system = hosted_system(document) if contract is None else contract.system
    if contract is not None and recordings:
        contract = contract.with_conventions(declared)
    parts = _own_models(system) if models is None else ((path, system) for path in models)
    bound = tuple(BoundModel(read_model(path), part) for path, part in parts)
    rows = () if contract is None else (_rows(path, contract) for path in recordings)
    return SystemFiles(document, contract, bound, tuple(rows))


def _own_models(system: System | None) -> Iterator[tuple[Path, System | None]]:
    for network in () if system is None else system.networks.values():
        if network.path is not None and system is not None:
            yield network.path, bound_part(system, network)


def _rows(path: Path, contract: Contract) -> RecordedRows:
    trace = files_of(contract).recording(path, contract).trace
    header, digest = trace.header, hashlib.sha256(read_bytes(path)).hexdigest()
    return RecordedRows(
        path, digest, header.system, header.bundle_sha256, header.meaning_sha256, trace.truncation, trace.stages,
        None if trace.precision is None else trace.precision.error,
    )  # fmt: skip


# Findings that say what the user declares: a convention of a file is no defect where the project declares it for both sides.
SUMMARY = "as_declared"


def without_declared(report: FindingsReport, system: System, declared: Mapping[str, Any]) -> FindingsReport:
    """The report without the findings that say no more than what is declared; its summary names them.

    UnusableInput for a convention or a value that the system does not have.
    """
    if not declared:
        return report
    own = {name: str(value) for name, value in system.conventions(declared).items() if name in declared}
    said = [each for each in report.findings if each.says and each.says.items() <= own.items()]
    kept = tuple(finding for finding in report.findings if finding not in said)
    named = [{"code": each.rule.code, "file": each.file, "says": dict(each.says)} for each in said]
    return replace(report, findings=kept, summary={**report.summary, SUMMARY: named} if named else report.summary)


def declared_text(report: FindingsReport) -> str:
    """A line that names what was left out; '' where nothing was."""
    words: dict[str, None] = {}
    for each in report.summary.get(SUMMARY, ()):
        says = ", ".join(f"{knob}={value}" for knob, value in each["says"].items())
        words[f"{each['code']} in {each['file']} ({says})"] = None
    return f"as declared, no finding: {'; '.join(words)}" if words else ""


# Which files of a folder are judged: those that rigpact knows by their content. A file that is named is judged in any case.
_ENDINGS = (".json", ".toml", ".onnx", *TRACE_ENDINGS)


def artefacts_of(words: Iterable[Path]) -> list[Path]:
    """The files that are meant; of a folder only artefacts, and its traces beside the contract of a system that has them."""
    named, inside = list[Path](), list[Path]()
    for word in words:
        (inside if word.is_dir() else named).extend(named_files([word], _ENDINGS, "PATH"))
    found = [path for path in inside if _is_artefact(open_file(path))]
    kinds = {open_file(path).kind for path in (*named, *found)}
    if kinds & {Kind.SYSTEM_CONTRACT, Kind.DECLARATION}:
        found += [path for path in inside if path.name.endswith(TRACE_ENDINGS)]
    if inside and not (named or found):
        expected = "a bundle, a contract, clips, teacher files or a model in it"
        raise UnusableInput(inside[0].parent, "no artefact", expected)
    return [*named, *(path for path in dict.fromkeys(found) if path not in named)]


def _is_artefact(file: Opened) -> bool:
    """Whether it is a model, or an artefact, whole or damaged: `check` says what is wrong with it."""
    is_damaged = file.kind is None and has_marking_key(file.content)
    return is_damaged or (file.kind is not None and (file.kind is Kind.MODEL or file.kind.is_document))


@dataclass(frozen=True)
class CheckRequest:
    """Files to judge together: JSON artefacts already read, the model and the recordings as paths.

    model_beside: a model that belongs to them, and is judged elsewhere.
    with_own_models: judge the models that a contract names, where no other is given. declared: conventions of both
    sides: a finding that says no more is left out.
    """

    documents: Sequence[Document]
    recordings: Sequence[Path] = ()
    model: Path | None = None
    companion: Path | None = None
    model_beside: Path | None = None
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
        others = [document for document in request.documents if document not in contracts]
        if others:
            raise UnusableInput(others[0].path, f"a {others[0].kind.words}", "files of the system's own contract")
        refuse_second([document.path for document in contracts], "system contracts")
        if request.companion is not None:
            raise UnusableInput(
                "--companion", str(request.companion), "a contract file alone", "this system has no such file"
            )
        models = () if request.model is None else (request.model,)
        chosen = models or (None if request.with_own_models else ())
        return check(Artefacts(system=system_files(contracts[0], chosen, request.recordings, request.declared)))
    subject = _subject(request)
    if request.recordings:
        with opened(request.recordings[0]) as found:  # which says of a file that is none what it is
            hint = "rigpact diff, rigpact explain, which also names another order of the network's inputs"
            raise UnusableInput(found.name, "a trace", "clips or teacher files", hint)
    return check(subject)


def _subject(request: CheckRequest) -> Artefacts:
    companions = [document for document in request.documents if document.kind is Kind.COMPANION]
    if request.companion is not None:
        companions.append(read_document(request.companion, Kind.COMPANION))
    if not request.documents and not companions and request.model is None:
        if request.recordings:
            found, hint = "a trace or another recording alone", "the contract that it was recorded under, or --contract"
            raise UnusableInput(request.recordings[0], found, "a contract beside it", hint)
        hint = "for example rigpact check norm_template.json"
        raise UnusableInput("PATH", "no file", "at least one file to check", hint)
    graph_beside = None
    with suppress(UnusableInput):  # where it is judged, its defects are reported
        graph_beside = open_model(request.model_beside) if request.model_beside else None
    return Artefacts(
        bundle=_only([document for document in request.documents if document.kind is Kind.BUNDLE], "bundles"),
        companion=_only(companions, "companions"),
        others=tuple(each for each in request.documents if each.kind not in {Kind.BUNDLE, Kind.COMPANION}),
        model=read_model(request.model) if request.model else None,
        graph_beside=graph_beside,
    )


def _only(documents: list[Document], what: str) -> Document | None:
    refuse_second([document.path for document in documents], what)
    return documents[0] if documents else None


def refuse_second(paths: list[Path], what: str) -> None:
    """Raise UnusableInput where more than one file of a kind is given."""
    if len(paths) > 1:
        raise UnusableInput(paths[1], f"{len(paths)} {what}", "one", "check each with the files that belong to it")


# `rigpact check --each`: every artefact among some files judged by itself; other people's files are passed over.
_MODEL_SUFFIX = ".onnx"


def check_each_file(paths: Sequence[Path]) -> Iterator[FindingsReport]:
    """One report for each artefact; skipped files are named on stderr."""
    models = [path for path in paths if path.suffix.lower() == _MODEL_SUFFIX]
    judged: set[Path] = set()
    for request in filter(None, map(_request_of_model, models)):
        report = _judged(request, str(request.model))
        if report.ledger.compared:  # else its contract still waits for a judgement
            judged |= {document.path.resolve() for document in request.documents}
        yield report
    for path in [path for path in paths if path not in models and path.resolve() not in judged]:
        found = _artefact_or_report(path)
        if found is None:
            _say(path, "no artefact of the contract, passed over")
        else:
            yield found if isinstance(found, FindingsReport) else _judged(CheckRequest((found,)), str(path))


def _request_of_model(path: Path) -> CheckRequest | None:
    """How to judge a model: with its contract; by itself where that may be another model's; not at all without one."""
    contracts, models = _contracts_beside(path), len(list(path.parent.glob(f"*{_MODEL_SUFFIX}")))
    if len(contracts) == 1 and models <= 1:
        return CheckRequest(contracts, model=path)
    what = f"{models} models and {len(contracts)} bundles or contracts in its folder"
    if not contracts:
        _say(path, f"{what}, passed over")
        return None
    _say(path, f"{what}, judged by itself")
    return CheckRequest((), model=path)


def _judged(request: CheckRequest, path: str) -> FindingsReport:
    try:
        return check_files(request)
    except UnusableInput as error:
        return _not_read(path, error)


def _not_read(path: str, error: UnusableInput) -> FindingsReport:
    finding = answers.FILE_NOT_READ.at(path, "", reason=error.one_line())
    return FindingsReport((finding,), Ledger(1, 0), {"files": []})


def _say(path: Path, what: str) -> None:
    sys.stderr.write(f"{plain(path)}: {what}\n")


def _artefact_or_report(path: Path) -> Document | FindingsReport | None:
    """As `_artefact`; for a file that cannot be read, a report. None if an unreadable text holds no key of an artefact."""
    try:
        return _artefact(path)
    except UnusableInput as error:
        refusal = error
    try:
        is_ours = is_marked_text(read_bytes(path))
    except UnusableInput:  # nothing to look at
        is_ours = True
    return _not_read(str(path), refusal) if is_ours else None


def _artefact(path: Path) -> Document | None:
    file = read_json(path)
    if not isinstance(file.data, dict) or kind_of(file.data) is None:
        return None
    return file_to_document(file)


def _contracts_beside(model: Path) -> tuple[Document, ...]:
    found: list[Document] = []
    for path in sorted(model.parent.glob("*.json")):
        with suppress(UnusableInput):
            document = _artefact(path)
            if document is not None and (document.kind is Kind.BUNDLE or document.kind.is_of_a_system):
                found.append(document)
    return tuple(found)


def joined(reports: Sequence[FindingsReport]) -> FindingsReport:
    """Join several reports into one; a file without any judgement stays missing in the account."""
    ledgers = [report.ledger for report in reports]
    ledger = Ledger(sum(each.declared for each in ledgers), sum(each.compared for each in ledgers))
    found = [finding for report in reports for finding in report.findings]
    once = {(finding.rule.code, finding.file, finding.pointer, finding.message): finding for finding in found}
    files = {file["path"]: file for report in reports for file in report.summary["files"]}
    return FindingsReport(tuple(once.values()), ledger, {"files": list(files.values())})
