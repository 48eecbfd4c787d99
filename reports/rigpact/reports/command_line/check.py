"""`rigpact check`: judge files against the contract's rules: together, each by itself, or a module's rotation functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options, report_formats
from rigpact.reports.command_line.explain import USUAL
from rigpact.reports.command_line.options import argument, option
from rigpact.reports.command_line.report_formats import (
    JSON,
    MARKDOWN,
    TEXT,
    FormatOfReport,
    print_comment,
    print_found,
    print_rendered,
    refuse_others,
)
from rigpact.reports.renderers import HTML, one_part

if TYPE_CHECKING:
    from rich.console import Console

    from rigpact.contract.documents import Document
    from rigpact.contract.findings import Finding, FindingsReport
    from rigpact.reports.checking.check import CheckRequest
    from rigpact.reports.diagnosing.two_files import TwoFilesRequest
    from rigpact.reports.file_lists import Revision
    from rigpact.reports.geometry_parity.calling import BackendName


class Library(StrEnum):
    """The array library of a module's functions."""

    NUMPY = "numpy"
    TORCH = "torch"


Paths = Annotated[
    list[Path] | None,
    argument(
        "PATH…", "Bundle, companion, clips, teacher files, model; or a contract with recordings. Folders, patterns."
    ),
]
Each = Annotated[bool, typer.Option("--each", help="Judge each .json and .onnx by itself.")]
Module = Annotated[str | None, option("--module", "FILE.py|pkg.mod", "Judge its rotation functions; it runs.")]
Roles = Annotated[list[str] | None, option("--map", "ROLE=FUNCTION", "A function's role; may be repeated.")]
Backend = Annotated[Library | None, typer.Option("--backend", help="Library of the functions; else their own.")]
Seed = Annotated[int | None, option("--seed", "N", "Seed of the functions' inputs.", min=0)]


def check(
    paths: Paths = None,
    *,
    each: Each = False,
    module: Module = None,
    mapping: Roles = None,
    backend: Backend = None,
    seed: Seed = None,
    bundle: options.Bundle = None,
    companion: options.Companion = None,
    onnx: options.Model = None,
    settings: options.Settings = None,
    conventions: options.ConventionsFile = None,
    config: options.ConfigFile = None,
    write_baseline: options.WriteBaseline = None,
    owner: options.Owner = None,
    reason: options.Reason = None,
    expires: options.Expires = None,
    strict: options.Strict = False,
    output_format: FormatOfReport = TEXT,
) -> None:
    """Judge a contract, its files and its model by the rules.

    The content of a file says what it is. --each passes over other JSON, and judges a model with the contract in its folder.
    --module says what each function computes, and how it behaves where formulas break down. Exit status 0: no error (nor
    warning with --strict), with --each also nothing to judge; 1: findings; 2: something could not be judged.
    """
    given = {
        "--module": module, "--map": mapping, "--backend": backend, "--seed": seed, "--contract": bundle, "--onnx": onnx,
        "--companion": companion, "--set": settings, "--conventions": conventions, "--write-baseline": write_baseline,
    }  # fmt: skip
    way = "--each" if each else "PATH" if module is None else "--module"
    _refuse_beside(way, [*(["PATH"] if paths else []), *(name for name, value in given.items() if value is not None)])
    configuration = options.configuration_from_option(config)
    files = options.contract_files(bundle, companion, settings, conventions)
    show: Any = _show
    if each:
        report, title = _each(paths or []), "Files, each by itself"
    elif module is not None:
        from rigpact.reports.geometry_parity.examination import examine_module, print_examination

        own = configuration.geometry if configuration else None
        library: BackendName | None = None if backend is None else backend.value
        report = examine_module(module, mapping or (), library, seed or 0, files, own)
        show, title = print_examination, "Rotation functions"
    else:
        gate = configuration.gate if configuration is not None else None
        declared = {**(gate.conventions if gate is not None else {}), **files.changes}
        request = _read_request([*(paths or []), *([bundle] if bundle else [])], companion, onnx)
        report, title = _checked(replace(request, declared=declared)), "Files against the rules"
    if write_baseline is not None:
        about = {"owner": owner, "reason": reason, "expires": expires}
        options.save_baseline(write_baseline, report, configuration, about)
        raise typer.Exit
    if module is None:
        report = options.configured(report, configuration)
    print_found(
        report, show, output_format, lambda word: print_rendered(one_part("check", title, report, strict=strict), word)
    )
    raise typer.Exit(report.exit_code(strict=strict))


_BESIDE = {
    "--each": {"PATH"},
    "--module": {"--module", "--map", "--backend", "--seed", "--contract", "--companion", "--set", "--conventions"},
    "PATH": {"PATH", "--contract", "--companion", "--onnx", "--set", "--conventions", "--write-baseline"},
}
"""What belongs to each way to check; the options of findings belong to all."""


def _refuse_beside(way: str, given: Sequence[str]) -> None:
    """UnusableInput for options of another way, all at once."""
    others = [name for name in given if name not in _BESIDE[way]]
    if others:
        hint = "`rigpact check --help` says what belongs together"
        raise UnusableInput(
            way, f"{', '.join(others)} beside it", f"of these only {', '.join(sorted(_BESIDE[way]))}", hint
        )


def _each(paths: Sequence[Path]) -> FindingsReport:
    """A report of each artefact among files of a commit, joined; the command ends well where there is none."""
    from rigpact.reports.checking.check import check_each_file, joined
    from rigpact.reports.file_lists import named_files

    if not paths:
        raise UnusableInput("--each", "no PATH", "JSON files and ONNX models; folders, patterns")
    reports = list(check_each_file(named_files(paths, (".json", ".onnx"), "PATH")))
    if not reports:
        raise typer.Exit
    return joined(reports)


def _checked(request: CheckRequest) -> FindingsReport:
    """The report of files that belong together; of a model alone, with what it says of itself."""
    from rigpact.reports.checking.check import check_files

    report = check_files(request)
    if request.model is None or request.documents or request.recordings or request.companion:
        return report
    from rigpact.contract.model.signature import read_model_signature
    from rigpact.reports.checking.bare_model import facts_of

    if read_model_signature(request.model).refusal:
        return report
    facts = facts_of(request.model)
    return replace(report, summary={**report.summary, "model": {"facts": list(facts.lines), "next": facts.next_step}})


def _show(report: FindingsReport, console: Console) -> None:
    from rigpact.reports.checking.check import declared_text
    from rigpact.reports.terminal import plain, print_findings, print_verdict

    model = report.summary.get("model", {})
    for line in model.get("facts", ()):
        console.print(plain(line), markup=False, highlight=False)
    groups: dict[tuple[int, str, int], list[Finding]] = {}
    for place, cause in enumerate(one_part("check", "", report).causes):
        told: Counter[tuple[str, str]] = Counter()
        for finding in cause.findings:
            code = finding.rule.code
            groups.setdefault((place, code, told[code, finding.file]), []).append(finding)
            told[code, finding.file] += 1
    print_findings(list(groups.values()), console)
    if said := declared_text(report):
        console.print(plain(said), markup=False, highlight=False)
    if model:
        console.print(f"now: {plain(model['next'])}", markup=False, highlight=False)
    print_verdict(report, console)


def _read_request(paths: list[Path], companion: Path | None, onnx: Path | None) -> CheckRequest:
    from rigpact.contract.declared.sources import is_processed_clip, read_processed_clip
    from rigpact.contract.documents import Kind
    from rigpact.reference_runtime.recordings.opened import open_file
    from rigpact.reports.checking.check import CheckRequest, artefacts_of, refuse_second

    paths = artefacts_of(paths)
    models = [path for path in paths if open_file(path).kind is Kind.MODEL]
    recordings = [path for path in paths if open_file(path).is_recording]
    others = [path for path in paths if path not in models and path not in recordings]
    models += [onnx] if onnx else []
    refuse_second(models, "models")
    documents = [open_file(path).document for path in others]
    if not any(document.kind.is_of_a_system for document in documents):  # there an array may have any name
        processed = [path for path in recordings if is_processed_clip(path)]
        recordings = [path for path in recordings if path not in processed]
        documents += [read_processed_clip(path) for path in processed]
    return CheckRequest(documents, tuple(recordings), models[0] if models else None, companion)


# `rigpact diff`: two recordings, two files of arrays, or two contracts side by side.
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
    output_format: FormatOfReport = TEXT,
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
        refuse_others(output_format, (TEXT, JSON), what)
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
    if others := [name for name in given if name not in _TAKES[what]]:
        expected = " or ".join(each for each, takes in _TAKES.items() if others[0] in takes)
        raise UnusableInput(", ".join(others), what, expected)


def _print_comparison(report: FindingsReport, output_format: str, *, strict: bool) -> None:
    from rigpact.reports.comparing.diff import answer_of_comparison, print_comparison

    def rendered(word: str) -> None:
        if word in (MARKDOWN, HTML):
            print_comment(answer_of_comparison(report, strict=strict), word)
        else:
            print_rendered(one_part("diff", "Two recordings", report, strict=strict), word)

    print_found(report, print_comparison, output_format, rendered)


def _compare_arrays(request: TwoFilesRequest, output_format: str) -> int:
    """Compare files of named arrays, print the answer, and return the exit status."""
    from rigpact.contract.documents import Kind
    from rigpact.reference_runtime.recordings.opened import open_file
    from rigpact.reports.diagnosing.two_files import answer_of_two_files, compare_files
    from rigpact.reports.two_models import compare_models

    refuse_others(output_format, (TEXT, JSON, MARKDOWN, HTML), "two files of arrays")
    are_models = open_file(request.a).kind is open_file(request.b).kind is Kind.MODEL
    found = (compare_models if are_models else compare_files)(request)
    report_formats.print_answer(found.diagnosis, answer_of_two_files(found), output_format)
    return found.exit_code


def _compare_contracts(
    contracts: Sequence[Path], companions: Sequence[Path], base: str | None, record: Path | None, output_format: str
) -> int:
    """Compare two contracts, or one with its own version in a git revision; print whom the change breaks; the exit status."""
    from contextlib import nullcontext
    from dataclasses import replace
    from datetime import UTC, datetime

    from rigpact.contract.compatibility import compare_contracts
    from rigpact.reports.describing.description import print_breaking, write_record
    from rigpact.reports.file_lists import opened_revision
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
    print_found(found, print_breaking, output_format)
    if record is not None and found.changes:
        written = write_record(found, record, datetime.now(UTC).date())
        say_aside(f"{record}: {'entry added' if written else 'has this entry already'}")
    return int(found.is_breaking)


def _pair(paths: Sequence[Path], base: Revision | None) -> tuple[Document, Document]:
    from rigpact.contract.documents import read_document

    return (read_document if base is None else base.document)(paths[0]), read_document(paths[-1])
