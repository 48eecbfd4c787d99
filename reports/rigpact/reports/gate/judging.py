"""Turn measurements into the gate's answer: configuration, waivers, next steps.

A threshold that judges nothing any more is a finding too.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from rigpact.contract.documents import documents_remembered
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, opened
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.gate import GateSettings, PartWaiver
from rigpact.contract.settings.hearing import Hearing
from rigpact.contract.version import rigpact_version
from rigpact.reports.diagnosing.adequacy import CERTAIN_MARGIN
from rigpact.reports.gate.measured import GateMeasurement, Measured, NotAsked
from rigpact.reports.gate.parts import PARTS
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.report import WAIVERS, GateReport, Part, next_steps
from rigpact.reports.terminal import counted

# Measure a project: all parts of its system, the questions that were not asked, and the provenance.
ABSENT = "absent"


def measure_gate(configuration: Configuration, asked: Path | None = None) -> GateMeasurement:
    """Measure every part. Paths in `[gate]` are relative to the working directory, the configuration's folder.

    asked: the file of settings that was named, or the nearest that could be: the base has its own there. Raises UnusableInput
    where there is no `[gate]`, or a pattern in it has no match.
    """
    settings = configuration.gate
    if settings is None:
        raise UnusableInput(configuration.path, "no table [gate]", "a table [gate]", "`rigpact init` writes one")
    project = Project(settings, asked or configuration.path)
    parts: list[Measured] = []
    not_asked: dict[str, str] = {}
    with documents_remembered(), counted(len(PARTS), "parts of the gate") as done:
        for ask in PARTS.values():
            for each in ask(project):
                if isinstance(each, NotAsked):
                    not_asked[each.name] = each.reason
                else:
                    parts.append(each.answered())
            done(1)
    provenance = provenance_of((configuration.path, *_baseline(configuration), *project.files(), *project.beside))
    return GateMeasurement(tuple(parts), not_asked, provenance)


def _baseline(configuration: Configuration) -> Iterable[Path]:
    """The file of known findings, named from the working directory if it lies below it: the same on every machine."""
    path = configuration.baseline
    if path is None:
        return ()
    here, whole = Path.cwd(), path.resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else path,)


def provenance_of(paths: Sequence[Path]) -> dict[str, str]:
    """SHA-256 of each file by its name, `ABSENT` for one that is not there or too large; and the version of rigpact."""
    found = {"rigpact": rigpact_version()} | {path.as_posix(): ABSENT for path in paths}
    for path in paths:
        if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
            with opened(path) as stream:  # read in pieces
                found[path.as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found


WAIVERS_TITLE = "Waivers and thresholds"


def judge_gate(
    measurement: GateMeasurement, configuration: Configuration, today: date, about_settings: Sequence[Finding] = ()
) -> GateReport:
    """The answer under a configuration on a day; UnusableInput for a bad baseline file.

    about_settings: what they narrow (guarding.py); no setting lowers it.
    """
    settings = configuration.gate or GateSettings()
    hearing, waiving = Hearing(configuration, today), _Waiving(settings, configuration, today)
    parts = [waiving.waive(each, _heard(each.report, hearing)) for each in measurement.parts]
    beyond = tuple(unreasonable(settings, configuration.path))
    report = _heard(FindingsReport(beyond, Ledger(len(beyond), len(beyond))), hearing)
    about = (*report.findings, *hearing.about(), *waiving.about(), *about_settings)
    debts = hearing.declared + len(settings.waivers) + len(about_settings)
    ledger = replace(report.ledger, declared=report.ledger.declared + debts, compared=report.ledger.compared + debts)
    if ledger.declared:
        parts.append(Part(WAIVERS, WAIVERS_TITLE, FindingsReport(about, ledger, report.summary)))
    answer = GateReport(tuple(parts), measurement.provenance, measurement.not_asked, strict=settings.strict)
    return replace(answer, next_steps=next_steps(answer))


def _heard(report: FindingsReport, hearing: Hearing) -> FindingsReport:
    """The report as the settings let it be heard; what they did to it stands in its summary only where they did something."""
    heard = hearing.hear(report)
    summary = dict(heard.summary)
    did = summary.pop("configuration", {})
    return replace(heard, summary=summary | ({"configuration": did} if did.get("lowered") or did.get("waived") else {}))


class _Waiving:
    """The waivers of parts and stages, with a record of those that were needed."""

    def __init__(self, settings: GateSettings, configuration: Configuration, today: date) -> None:
        self._waivers = settings.waivers
        self._file, self._today = configuration.path, today
        self._used: set[int] = set()

    def waive(self, measured: Measured, report: FindingsReport) -> Part:
        part = Part(measured.name, measured.title, report, run=measured.run)
        for waiver in self._waivers:
            if waiver.part != measured.name or not waiver.holds(self._today) or part.verdict == "pass":
                continue
            if waiver.stage:
                part = self._without_stage(waiver, measured, part)
            else:
                self._used.add(waiver.index)
                notice, declared = self._notice(waiver, len(part.report.findings)), part.report.ledger.declared
                waived = FindingsReport((notice,), Ledger(declared, 0, declared), part.report.summary)
                part = replace(part, report=waived, is_waived=True)
        return part

    def _without_stage(self, waiver: PartWaiver, measured: Measured, part: Part) -> Part:
        declared, compared, waived = measured.accounts.get(str(waiver.stage), (0, 0, 0))
        pointer = json_pointer("stages", str(waiver.stage))
        kept = [
            each
            for each in part.report.findings
            if each.pointer != pointer and not each.pointer.startswith(f"{pointer}/")
        ]
        gone = len(part.report.findings) - len(kept)
        if not gone and declared == compared + waived:
            return part
        self._used.add(waiver.index)
        ledger = part.report.ledger
        ledger = Ledger(ledger.declared, ledger.compared - compared, ledger.waived + declared - waived)
        return replace(part, report=FindingsReport((*kept, self._notice(waiver, gone)), ledger, part.report.summary))

    def _notice(self, waiver: PartWaiver, count: int) -> Finding:
        place, debt = _debt(waiver)
        return rules.PART_WAIVED.at(self._file, place, expires=waiver.expires, count=count, **debt)

    def about(self) -> Iterator[Finding]:
        for waiver in self._waivers:
            place, debt = _debt(waiver)
            if not waiver.holds(self._today):
                yield rules.PART_WAIVER_EXPIRED.at(self._file, place, expires=waiver.expires, **debt)
            elif waiver.index not in self._used:
                yield rules.PART_WAIVER_UNUSED.at(self._file, place, **debt)


def _debt(waiver: PartWaiver) -> tuple[str, dict[str, str]]:
    """The pointer of a waiver, and what its rules say of it."""
    what = f"{waiver.stage} of {waiver.part}" if waiver.stage else waiver.part
    return json_pointer("gate", "waive", waiver.index), {"what": what, "owner": waiver.owner, "reason": waiver.reason}


HALF_OVER_SINGLE = 2.0**13
"""Half precision keeps 11 bits, single precision 24: the coarsest arithmetic of an engine rounds 2^13 times as coarsely."""
ONE_TOLERANCE = 1.0
"""A convention that moves a value by less than its tolerance cannot be told from rounding."""
SHARED_MACHINE = 10.0
"""A build machine shares a core among a few jobs; a median ten times over the budget is the model's own."""


def unreasonable(settings: GateSettings, file: Path) -> Iterator[Finding]:
    """A finding for each threshold beyond what means something."""
    declared, budget = settings.thresholds, settings.budget
    for table, key, value, side, limit, reason in (
        ("thresholds", "tolerance-factor", declared.tolerance_factor, "most", HALF_OVER_SINGLE,
         "half precision rounds no coarser than that"),
        ("thresholds", "adequacy-margin", declared.adequacy_margin, "most", CERTAIN_MARGIN,
         "such a large difference is not measured further"),
        ("budget", "inference-margin", budget.inference_margin, "most", SHARED_MACHINE,
         "no shared machine is slower than that, time after time"),
        ("thresholds", "adequacy-margin", declared.adequacy_margin, "least", ONE_TOLERANCE, "less than a tolerance is rounding"),
    ):  # fmt: skip
        if value > limit if side == "most" else value < limit:
            pointer = json_pointer("gate", table, key)
            values = {"key": key, "value": value, "limit": limit, "side": side, "reason": reason}
            yield rules.THRESHOLD_BEYOND_REASON.at(file, pointer, **values)
