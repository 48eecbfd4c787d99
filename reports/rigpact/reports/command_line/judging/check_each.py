"""`rigpact check-each`: judge every artefact among some files by itself, as a pre-commit hook needs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line.making.known_findings import ConfigFile, configuration_from_option, configured
from rigpact.reports.command_line.options import Strict
from rigpact.reports.command_line.report_formats import JSON, TEXT, FormatOfReport, print_rendered

if TYPE_CHECKING:
    from rigpact.contract.documents import Document
    from rigpact.contract.findings import FindingsReport
    from rigpact.reports.checking.check import CheckRequest

_MODEL_SUFFIX = ".onnx"


def check_each(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="JSON files and ONNX models, of any kind.")],
    config: ConfigFile = None,
    *,
    strict: Strict = False,
    output_format: FormatOfReport = TEXT,
) -> None:
    """Judge each artefact by itself and pass over JSON files that are none, as in the files of a commit.

    A model is judged with the bundle or contract in its folder, and passed over where there is not one of each. What only
    shows between files needs `rigpact check` or `rigpact gate`. Exit status 0: no error (nor warning with --strict), or no
    artefact among the files; 1: findings; 2: a file that cannot be read, or nothing in it to judge.
    """
    from rigpact.reports.checking.check import check_files
    from rigpact.reports.terminal import print_json, print_report

    requests = _requests(paths)
    if not requests:
        raise typer.Exit
    reports = [check_files(request) for request in requests]
    report = configured(_joined(reports), configuration_from_option(config))
    if output_format == JSON:
        print_json(report.to_json())
    elif output_format == TEXT:
        print_report(report)
    else:
        print_rendered(report, "check-each", "Files, each by itself", output_format, strict=strict)
    raise typer.Exit(report.exit_code(strict=strict))


def _requests(paths: Sequence[Path]) -> list[CheckRequest]:
    """One request for each artefact; skipped files are named on stderr. UnusableInput for an unreadable file."""
    from rigpact.reports.checking.check import CheckRequest

    requests: list[CheckRequest] = []
    for path in [path for path in paths if path.suffix.lower() == _MODEL_SUFFIX]:
        contracts, models = _contracts_beside(path), len(list(path.parent.glob(f"*{_MODEL_SUFFIX}")))
        if len(contracts) == 1 and models <= 1:
            requests.append(CheckRequest(contracts, model=path))
        else:
            _pass_over(path, f"{models} models and {len(contracts)} bundles or contracts in its folder")
    judged = {request.documents[0].path.resolve() for request in requests}
    for path in [path for path in paths if path.suffix.lower() != _MODEL_SUFFIX and path.resolve() not in judged]:
        document = _artefact(path)
        if document is None:
            _pass_over(path, "no artefact of the contract")
        else:
            requests.append(CheckRequest((document,)))
    return requests


def _pass_over(path: Path, reason: str) -> None:
    from rigpact.reports.terminal import plain

    typer.echo(f"{plain(path)}: {reason}, passed over", err=True)


def _artefact(path: Path) -> Document | None:
    """The file if it is an artefact, None if it is other JSON; UnusableInput for an unreadable file."""
    from rigpact.contract.documents import file_to_document, kind_of
    from rigpact.contract.files import read_json

    file = read_json(path)
    if not isinstance(file.data, dict) or kind_of(file.data) is None:
        return None
    return file_to_document(file)


def _contracts_beside(model: Path) -> tuple[Document, ...]:
    """The bundles and system contracts in the folder of a model; unreadable files are ignored."""
    from contextlib import suppress

    from rigpact.contract.documents import Kind
    from rigpact.contract.errors import UnusableInput

    found: list[Document] = []
    for path in sorted(model.parent.glob("*.json")):
        with suppress(UnusableInput):
            document = _artefact(path)
            if document is not None and document.kind in {Kind.BUNDLE, Kind.SYSTEM_CONTRACT, Kind.DECLARATION}:
                found.append(document)
    return tuple(found)


def _joined(reports: Sequence[FindingsReport]) -> FindingsReport:
    """Join several reports into one; a file without any judgement stays missing in the account."""
    from rigpact.contract.findings import FindingsReport, Ledger

    ledgers = [report.ledger for report in reports]
    ledger = Ledger(sum(each.declared for each in ledgers), sum(each.compared for each in ledgers))
    found = [finding for report in reports for finding in report.findings]
    once = {(finding.rule.code, finding.file, finding.pointer, finding.message): finding for finding in found}
    files = {file["path"]: file for report in reports for file in report.summary["files"]}
    return FindingsReport(tuple(once.values()), ledger, {"files": list(files.values())})
