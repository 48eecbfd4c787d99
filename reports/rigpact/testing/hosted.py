"""What the plugin's items judge where the bundle is a hosted system's contract file. Knows nothing of pytest.

One judgement a rule, one over the account, and two an engine trace: against the reference runtime driven by the trace's own given
vectors, and stage by stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from rigpact.testing.files import NotJudged, Paths, Refuted, short_names

if TYPE_CHECKING:
    from rigpact.contract.findings import Finding, FindingsReport
    from rigpact.reports.gate.hosted_case import HostedCase
    from rigpact.testing.checks import Judgement


def is_hosted(bundle: Path) -> bool:
    """Whether a bundle is the contract file of a hosted system; UnusableInput for a file that cannot be read."""
    from rigpact.contract.documents import Kind, kind_of
    from rigpact.contract.files import read_json

    data = read_json(bundle).data
    return isinstance(data, dict) and kind_of(data) is Kind.SYSTEM_CONTRACT


class HostedFiles:
    """The files behind the paths, read once."""

    def __init__(self, paths: Paths) -> None:
        """Keep the paths; nothing is read yet."""
        self.paths = paths

    @cached_property
    def case(self) -> HostedCase:
        """The gate's case of these files; UnusableInput for an option that this system has no use for."""
        from rigpact.contract.conventions import conventions_table, split_settings
        from rigpact.contract.settings.gate import GateSettings
        from rigpact.reports.gate.hosted_case import HostedCase

        paths = self.paths
        declared = {} if paths.conventions is None else conventions_table(paths.conventions)
        names = (None if path is None else str(path) for path in (paths.bundle, paths.companion, paths.onnx))
        bundle, companion, model = names
        conventions = {**declared, **split_settings(paths.settings)}
        return HostedCase(GateSettings(bundle=bundle, companion=companion, model=model, conventions=conventions))

    @cached_property
    def report(self) -> FindingsReport:
        """What `rigpact check` says of contract, model and clips, as the configuration wants it."""
        from datetime import datetime

        from rigpact.reports.systems.hosted_check import check_hosted

        from rigpact.contract.settings.baseline import configured_report
        from rigpact.contract.settings.configuration import read_configuration

        report = check_hosted(self.case.document, self.paths.onnx, self.paths.clips)
        configuration = None if self.paths.config is None else read_configuration(self.paths.config)
        return configured_report(report, configuration, datetime.now().astimezone().date())


def hosted_judgements(paths: Paths, *, strict: bool) -> Iterator[Judgement]:
    """Every judgement on a hosted system's files, in the order in which a defect would spread."""
    from rigpact.contract.rules.hosted import system_data, system_loading, systems
    from rigpact.testing.checks import Judgement

    files = HostedFiles(paths)
    yield Judgement(("contract",), lambda: _contract(files))
    for rule in (*system_loading.RULES, *systems.RULES, *system_data.RULES):
        yield Judgement(("check", rule.code), partial(_rule, files, rule.code, strict=strict))
    yield Judgement(("check", "account"), lambda: _account(files, strict=strict))
    for path, name in short_names(paths.traces, suffix=True).items():
        yield Judgement(("trace", name, "reference"), partial(_reference, files, path))
        yield Judgement(("trace", name, "stages"), partial(_stages, files, path))


def _contract(files: HostedFiles) -> None:
    """The contract loads and the declared conventions exist."""
    files.case.contract.conventions  # noqa: B018 - raises for what cannot be used


def _fails(finding: Finding, *, strict: bool) -> bool:
    from rigpact.testing.checks import finding_fails

    return finding_fails(finding, strict=strict)


def _rule(files: HostedFiles, code: str, *, strict: bool) -> None:
    from rigpact.testing.checks import finding_text

    own = [each for each in files.report.findings if each.rule.code == code and _fails(each, strict=strict)]
    if own:
        raise Refuted("\n".join(map(finding_text, own)))


def _account(files: HostedFiles, *, strict: bool) -> None:
    """Everything that the files declare was judged, and no finding goes without its own test."""
    from rigpact.contract.rules.hosted import system_data, system_loading, systems
    from rigpact.testing.checks import finding_text

    own = {*system_loading.RULES, *systems.RULES, *system_data.RULES}
    strays = [each for each in files.report.findings if each.rule not in own and _fails(each, strict=strict)]
    if strays:
        raise Refuted("\n".join(map(finding_text, strays)))
    if not files.report.ledger.complete:
        ledger = files.report.ledger
        raise Refuted(f"{ledger.compared} of {ledger.declared} parts could be judged, {ledger.missing} could not")


def _reference(files: HostedFiles, path: Path) -> None:
    """Every stage as the reference runtime has it from the same given vectors."""
    from rigpact.reports.systems.graph_comparison import compare_graph, judge_graph

    from rigpact.contract.settings.gate import RecordedRun
    from rigpact.testing.checks import finding_text

    if files.paths.onnx is None:
        raise NotJudged("no model: --rigpact-onnx FILE")
    case, run = files.case, RecordedRun(str(path), path.name)
    report = judge_graph(compare_graph(case.reference(run), case.recording(run), case.contract, case.graph))
    if report.verdict != "pass":
        raise Refuted("\n".join(map(finding_text, report.findings)) or "nothing could be compared")


def _stages(files: HostedFiles, path: Path) -> None:
    """Every recorded stage is what the contract makes of its recorded inputs; the convention is named where one is not."""
    from rigpact.reference_runtime.systems.registry import RUNTIMES
    from rigpact.reports.systems.graph_diagnosis import diagnose_graph
    from rigpact.reports.systems.graph_hypotheses import GraphEvidence
    from rigpact.reports.systems.hosted import read_hosted_trace

    from rigpact.reports.gate.answer.diagnosis_findings import about_diagnosis
    from rigpact.testing.checks import finding_text

    case, trace = files.case, read_hosted_trace(path, files.case.contract)
    runtime = RUNTIMES[case.contract.definition.name]
    graph = runtime.graph(case.contract) if files.paths.onnx is None else case.graph
    diagnosis = diagnose_graph(GraphEvidence(trace.frame, trace.stages, graph, case.contract))
    if diagnosis.verdict == "undetermined":
        raise NotJudged("no stage was recorded together with all that it is computed from")
    findings = list(about_diagnosis(diagnosis, path))
    if findings:
        raise Refuted("\n".join(map(finding_text, findings)))
