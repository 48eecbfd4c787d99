"""`rigpact diff`: two recordings, two files of arrays, or two contracts side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rigpact.reports.command_line import options
from rigpact.reports.command_line import report_formats as formats
from rigpact.reports.command_line.judging.explain import USUAL

if TYPE_CHECKING:
    from rigpact.contract.documents import Document
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest
    from rigpact.reports.git_revision import Revision

_FILE = "Arrays, a recording, a contract, or FILE.py:FUNCTION."


def diff(
    a: Annotated[Path, options.argument("A", _FILE)],
    b: Annotated[Path | None, options.argument("B", "The other one; none with --base.")] = None,
    *,
    base: options.Base = None,
    record: Annotated[
        Path | None, options.option("--record", "FILE", "Add the change of contracts to this list.")
    ] = None,
    bundle: options.Bundle = None,
    companion: Annotated[
        list[Path] | None,
        options.COMPANION,
    ] = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    onnx: options.Model = None,
    resolution: options.Resolution = None,
    teacher: Annotated[
        Path | None,
        options.option("--teacher", "FILE", "The clip that both predict: which is nearer?"),
    ] = None,
    stage: Annotated[
        list[str] | None, options.option("--stage", "NAME", "Compare only this stage; may be repeated.")
    ] = None,
    table: Annotated[Path | None, options.option("--table", "FILE", "Errors of every bone and frame, as CSV.")] = None,
    tolerance: Annotated[
        float | None, options.option("--tolerance", "NUMBER", "How far numbers may be apart.", min=0.0)
    ] = None,
    state: Annotated[
        list[str] | None,
        options.option("--state", "PARAMETER=RESULT", "What a function takes from the row before."),
    ] = None,
    output_format: formats.FormatOfReport = formats.TEXT,
    strict: options.Strict = False,
) -> None:
    """Compare two files, two recordings, two models or two contracts.

    Arrays are compared by name, and what makes one of the other is named; a function is run on the other side's inputs.
    --contract gives stages, tolerances and bones; --onnx the tolerance of the network's answers. Of two contracts it says
    whom the change breaks. Exit status 0: the same within rounding; 1: they differ, or the change breaks; 2: something
    could not be compared.
    """
    from rigpact.contract.errors import UnusableInput
    from rigpact.reports.command_line.left_out import is_contract
    from rigpact.reports.comparing.diff import DiffRequest
    from rigpact.reports.diagnosing.script_side import named_script
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest, holds_arrays

    if base is not None or record is not None or (bundle is None and (is_contract(a) or (b and is_contract(b)))):
        asked = {"--set": settings, "--conventions": conventions, "--onnx": onnx, "--resolution": resolution,
                 "--teacher": teacher, "--stage": stage, "--table": table, "--tolerance": tolerance, "--state": state,
                 "--contract": bundle}  # fmt: skip
        _refuse_options(asked, output_format)
        contracts = [a] if b is None else [a, b]
        raise typer.Exit(_compare_contracts(contracts, companion or [], base, record, output_format))
    if b is None:
        raise UnusableInput("rigpact diff", "one file", "two of them", "or a contract, with --base REV")
    if companion and companion[1:]:
        raise UnusableInput("--companion", f"{len(companion)} files", "one beside two recordings")
    if bundle is None and (companion or settings or conventions):
        raise UnusableInput(
            "--companion, --set, --conventions", "no --contract beside them", "the bundle they belong to"
        )
    if bundle is not None and (script := named_script(a) or named_script(b)):
        expected = "two files, or a function without a contract"
        raise UnusableInput("--contract", f"a contract beside {script.place}", expected)
    if bundle is None and (holds_arrays(a) or holds_arrays(b)):
        if teacher or table or onnx:
            expected = "the contract of two recordings"
            raise UnusableInput("--teacher, --table, --onnx", "no --contract beside them", expected)
        request = TwoFilesRequest(a, b, tuple(stage or ()), tuple(state or ()), resolution, tolerance, USUAL)
        raise typer.Exit(_compare_arrays(request, output_format))
    if tolerance is not None or state:
        raise UnusableInput("--tolerance, --state", "no arrays to compare", "files of arrays and no --contract")
    files = options.contract_files(bundle, companion[0] if companion else None, settings, conventions)
    recordings = DiffRequest(a, b, files, tuple(stage or ()), table, onnx, resolution, teacher)
    raise typer.Exit(_compare_recordings(recordings, output_format, strict=strict))


def _compare_recordings(request: DiffRequest, output_format: str, *, strict: bool) -> int:
    """Compare recordings of one contract, print the answer, and return the exit status."""
    from rigpact.reports.commenting.of_diff import comment_on_diff
    from rigpact.reports.comparing.comparison_text import print_comparison
    from rigpact.reports.comparing.diff import diff as compared

    report = compared(request)

    def rendered(word: str) -> None:
        if word in (formats.MARKDOWN, formats.HTML):
            formats.print_comment(comment_on_diff(report, strict=strict), word)
        else:
            formats.print_rendered(report, "diff", "Two recordings", word, strict=strict)

    options.print_found(report, print_comparison, output_format, rendered)
    return report.exit_code(strict=strict)


def _compare_arrays(request: TwoFilesRequest, output_format: str) -> int:
    """Compare files of named arrays, print the answer, and return the exit status."""
    from rigpact.contract.documents import Kind
    from rigpact.reference_runtime.recordings.opened import open_file
    from rigpact.reports.commenting.of_diagnosis import comment_on_diagnosis
    from rigpact.reports.diagnosing.two_files import compare_files
    from rigpact.reports.diagnosing.two_files_text import print_two_files
    from rigpact.reports.diagnosing.two_models import compare_models

    formats.refuse_others(
        output_format, (formats.TEXT, formats.JSON, formats.MARKDOWN, formats.HTML), "two files of arrays"
    )
    are_models = open_file(request.a).kind is open_file(request.b).kind is Kind.MODEL
    found = (compare_models if are_models else compare_files)(request)
    comment = comment_on_diagnosis(found.diagnosis, found.notes)
    printed = lambda _diagnosis, console: print_two_files(found, console)  # noqa: E731
    options.print_found(found.diagnosis, printed, output_format, partial(formats.print_comment, comment))
    return found.exit_code


def _refuse_options(asked: Mapping[str, object], output_format: str) -> None:
    """UnusableInput for an option of recordings beside two contracts: passed over, it would seem to have been followed."""
    from rigpact.contract.errors import UnusableInput

    given = ", ".join(name for name, value in asked.items() if value is not None)
    if given:
        raise UnusableInput(given, "two contracts", "two recordings or files of arrays")
    formats.refuse_others(output_format, (formats.TEXT, formats.JSON), "two contracts")


def _compare_contracts(
    contracts: Sequence[Path], companions: Sequence[Path], base: str | None, record: Path | None, output_format: str
) -> int:
    """Compare two contracts, or one with its own version in a git revision; print whom the change breaks; the exit status."""
    from contextlib import nullcontext
    from dataclasses import replace
    from datetime import UTC, datetime

    from rigpact.contract.compatibility import compare_contracts
    from rigpact.contract.errors import UnusableInput
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
    options.print_found(found, print_breaking, output_format)
    if record is not None and found.changes:
        written = write_record(found, record, datetime.now(UTC).date())
        say_aside(f"{record}: {'entry added' if written else 'has this entry already'}")
    return int(found.is_breaking)


def _pair(paths: Sequence[Path], base: Revision | None) -> tuple[Document, Document]:
    from rigpact.contract.documents import read_document

    return (read_document if base is None else base.document)(paths[0]), read_document(paths[-1])
