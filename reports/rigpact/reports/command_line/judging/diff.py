"""`rigpact diff`: two recordings, two files of arrays, or two contracts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line import report_formats as formats
from rigpact.reports.command_line.judging.explain import USUAL
from rigpact.reports.renderers import HTML

if TYPE_CHECKING:
    from rigpact.contract.documents import Document
    from rigpact.contract.findings import FindingsReport
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest
    from rigpact.reports.git_revision import Revision

_FILE = "Arrays, a recording, a contract, or FILE.py:FUNCTION."


Record = Annotated[Path | None, options.option("--record", "FILE", "Add the change of contracts to this list.")]
Companions = Annotated[list[Path] | None, options.COMPANION]
Teacher = Annotated[Path | None, options.option("--teacher", "FILE", "The clip that both predict: which is nearer?")]
Stages = Annotated[list[str] | None, options.option("--stage", "NAME", "Compare only this stage; may be repeated.")]
Table = Annotated[Path | None, options.option("--table", "FILE", "Errors of every bone and frame, as CSV.")]
Tolerance = Annotated[float | None, options.option("--tolerance", "NUMBER", "How far numbers may be apart.", min=0.0)]
State = Annotated[
    list[str] | None, options.option("--state", "PARAMETER=RESULT", "What a function takes from the row before.")
]


def diff(
    a: Annotated[Path, options.argument("A", _FILE)],
    b: Annotated[Path | None, options.argument("B", "The other one; none with --base.")] = None,
    *,
    base: options.Base = None,
    record: Record = None,
    bundle: options.Bundle = None,
    companion: Companions = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    onnx: options.Model = None,
    resolution: options.Resolution = None,
    teacher: Teacher = None,
    stage: Stages = None,
    table: Table = None,
    tolerance: Tolerance = None,
    state: State = None,
    output_format: formats.FormatOfReport = formats.TEXT,
    strict: options.Strict = False,
) -> None:
    """Compare two files, two recordings, two models or two contracts.

    Arrays are compared by name, and what makes one of the other is named; a function is run on the other side's inputs.
    --contract gives stages, tolerances and bones; --onnx the tolerance of the network's answers. Of two contracts it says
    whom the change breaks. Exit status 0: the same within rounding; 1: they differ, or the change breaks; 2: something
    could not be compared.
    """
    from rigpact.reports.comparing.diff import diff as compared
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest

    what = _what(a, b, bundle, is_change=base is not None or record is not None)
    given = {
        "--base": base, "--record": record, "--contract": bundle, "--companion": companion, "--set": settings,
        "--conventions": conventions, "--onnx": onnx, "--resolution": resolution, "--teacher": teacher, "--stage": stage,
        "--table": table, "--tolerance": tolerance, "--state": state,
    }  # fmt: skip
    _refuse_others(what, [name for name, value in given.items() if value is not None])
    if what == _CONTRACTS:
        formats.refuse_others(output_format, (formats.TEXT, formats.JSON), what)
        contracts = [a] if b is None else [a, b]
        raise typer.Exit(_compare_contracts(contracts, companion or (), base, record, output_format))
    if b is None:
        raise UnusableInput("rigpact diff", "one file", "two of them", "or a contract, with --base REV")
    if what == _ARRAYS:
        request = TwoFilesRequest(a, b, tuple(stage or ()), tuple(state or ()), resolution, tolerance, USUAL)
        raise typer.Exit(_compare_arrays(request, output_format))
    if (bundle is None and (companion or settings or conventions)) or len(companion or ()) > 1:
        place, expected = "--companion, --set, --conventions", "a --contract, and one companion beside it"
        raise UnusableInput(place, "no --contract beside them" if bundle is None else "two companions", expected)
    files = options.contract_files(bundle, companion[0] if companion else None, settings, conventions)
    report = compared(a, b, files, stages=stage or (), table=table, onnx=onnx, resolution=resolution, teacher=teacher)
    _print_comparison(report, output_format, strict=strict)
    raise typer.Exit(report.exit_code(strict=strict))


_CONTRACTS, _ARRAYS, _RECORDINGS = "two contracts", "arrays, models or a function", "two recordings of a --contract"
_TAKES: Mapping[str, set[str]] = {
    _CONTRACTS: {"--base", "--record", "--companion"},
    _ARRAYS: {"--stage", "--state", "--resolution", "--tolerance"},
    _RECORDINGS: {
        "--contract", "--companion", "--set", "--conventions", "--onnx", "--resolution", "--teacher", "--stage", "--table",
    },
}  # fmt: skip
"""The options of each comparison."""


def _what(a: Path, b: Path | None, bundle: Path | None, *, is_change: bool) -> str:
    """What is compared: the content decides, and --contract says what recordings hold."""
    from rigpact.reports.command_line.left_out import is_contract
    from rigpact.reports.diagnosing.script_side import named_script
    from rigpact.reports.diagnosing.two_files import holds_arrays

    sides = [side for side in (a, b) if side is not None]
    if is_change or (bundle is None and any(map(is_contract, sides))):
        return _CONTRACTS
    is_without = bundle is None and any(map(holds_arrays, sides))
    return _ARRAYS if is_without or any(map(named_script, sides)) else _RECORDINGS


def _refuse_others(what: str, given: Sequence[str]) -> None:
    """UnusableInput for options of another comparison: passed over, they would seem to have been followed."""
    if others := [name for name in given if name not in _TAKES[what]]:
        expected = " or ".join(each for each, takes in _TAKES.items() if others[0] in takes)
        raise UnusableInput(", ".join(others), what, expected)


def _print_comparison(report: FindingsReport, output_format: str, *, strict: bool) -> None:
    from rigpact.reports.comparing.comparison_text import answer_of_comparison, print_comparison

    def rendered(word: str) -> None:
        if word in (formats.MARKDOWN, HTML):
            formats.print_comment(answer_of_comparison(report, strict=strict), word)
        else:
            formats.print_rendered(report, "diff", "Two recordings", word, strict=strict)

    formats.print_found(report, print_comparison, output_format, rendered)


def _compare_arrays(request: TwoFilesRequest, output_format: str) -> int:
    """Compare files of named arrays, print the answer, and return the exit status."""
    from rigpact.contract.documents import Kind
    from rigpact.reference_runtime.recordings.opened import open_file
    from rigpact.reports.diagnosing.two_files import answer_of_two_files, compare_files
    from rigpact.reports.running.two_models import compare_models

    formats.refuse_others(output_format, (formats.TEXT, formats.JSON, formats.MARKDOWN, HTML), "two files of arrays")
    are_models = open_file(request.a).kind is open_file(request.b).kind is Kind.MODEL
    found = (compare_models if are_models else compare_files)(request)
    formats.print_answer(found.diagnosis, answer_of_two_files(found), output_format)
    return found.exit_code


def _compare_contracts(
    contracts: Sequence[Path], companions: Sequence[Path], base: str | None, record: Path | None, output_format: str
) -> int:
    """Compare two contracts, or one with its own version in a git revision; print whom the change breaks; the exit status."""
    from contextlib import nullcontext
    from dataclasses import replace
    from datetime import UTC, datetime

    from rigpact.contract.compatibility import compare_contracts
    from rigpact.reports.describing.breaking_text import print_breaking, write_record
    from rigpact.reports.git_revision import opened_revision
    from rigpact.reports.terminal import say_aside

    wanted, words = (
        (2, "two of them: the old one, then the new one") if base is None else (1, "one: --base gives the old one")
    )
    for paths, what in ((contracts, "contract"), (companions, "--companion")):
        if len(paths) != wanted and (paths or what == "contract"):
            raise UnusableInput(what, f"{len(paths)} of them", words)
    with opened_revision(base) if base is not None else nullcontext() as was:
        found = compare_contracts(*_pair(contracts, was), _pair(companions, was) if companions else None)
    if base is not None:
        found = replace(found, old=f"{base}:{contracts[0].name}")
    formats.print_found(found, print_breaking, output_format)
    if record is not None and found.changes:
        written = write_record(found, record, datetime.now(UTC).date())
        say_aside(f"{record}: {'entry added' if written else 'has this entry already'}")
    return int(found.is_breaking)


def _pair(paths: Sequence[Path], base: Revision | None) -> tuple[Document, Document]:
    from rigpact.contract.documents import read_document

    return (read_document if base is None else base.document)(paths[0]), read_document(paths[-1])
