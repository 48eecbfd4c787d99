"""`rigpact check --each`: every artefact among some files judged by itself; other people's files are passed over."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rigpact.contract.documents import Document, Kind, file_to_document, is_marked_text, kind_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, read_json
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.answers.reading import FILE_NOT_READ
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.terminal import plain

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
    """A file that counts as missing, with the reason."""
    finding = FILE_NOT_READ.at(path, "", reason=error.one_line())
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
    """The file if it is an artefact, None if it is other JSON; UnusableInput for an unreadable file."""
    file = read_json(path)
    if not isinstance(file.data, dict) or kind_of(file.data) is None:
        return None
    return file_to_document(file)


def _contracts_beside(model: Path) -> tuple[Document, ...]:
    """The bundles and system contracts in the folder of a model; unreadable files are ignored."""
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
