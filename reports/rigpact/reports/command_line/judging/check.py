"""`rigpact check`: judge files against the contract's rules: together, each by itself, or a module's rotation functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.command_line import options
from rigpact.reports.command_line.options import argument, option
from rigpact.reports.command_line.report_formats import TEXT, FormatOfReport, print_found, print_rendered

if TYPE_CHECKING:
    from rich.console import Console

    from rigpact.contract.findings import Finding, FindingsReport
    from rigpact.reports.checking.check import CheckRequest
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
Map = Annotated[list[str] | None, option("--map", "ROLE=FUNCTION", "A function's role; may be repeated.")]
Backend = Annotated[Library | None, typer.Option("--backend", help="Library of the functions; else their own.")]
Seed = Annotated[int | None, option("--seed", "N", "Seed of the functions' inputs.", min=0)]


def check(
    paths: Paths = None,
    *,
    each: Each = False,
    module: Module = None,
    mapping: Map = None,
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
    print_found(report, show, output_format, partial(print_rendered, report, "check", title, strict=strict))
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
    from rigpact.reports.answer import print_body
    from rigpact.reports.checking.check import declared_text
    from rigpact.reports.engine.canary_report import canary_sentences
    from rigpact.reports.terminal import plain, print_findings, print_verdict

    model = report.summary.get("model", {})
    for line in model.get("facts", ()):
        console.print(plain(line), markup=False, highlight=False)
    print_body(canary_sentences(report), console)
    from rigpact.reports.renderers import one_part

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
