"""Turn measurements into the gate's answer: thresholds, configuration, waivers, next steps.

Nothing is measured here, so the same functions judge an archive and a run.

A threshold that judges nothing any more is a finding too.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

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
from rigpact.reports.gate.kept_values import from_plain, to_plain
from rigpact.reports.gate.measured import GateMeasurement, Measured, NotAsked
from rigpact.reports.gate.parts import PARTS, PartKind
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.report import ARCHIVE, BESIDE, WAIVERS, GateReport, Part, next_steps
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
    for answer in _answers(project):
        if isinstance(answer, NotAsked):
            not_asked[answer.name] = answer.reason
        else:
            parts.append(answer)
    provenance = provenance_of((configuration.path, *_baseline(configuration), *project.files(), *project.beside))
    return GateMeasurement(project.system.name, tuple(parts), not_asked, provenance, questions(settings))


_NOT_ASKED = ("thresholds", "waivers", "strict", "change_record", "budget", "place", "settings")


def questions(settings: GateSettings) -> dict[str, Any]:
    """The settings that affect the measurements; thresholds, waivers and the budget apply only when judging."""
    asked = {name: value for name, value in asdict(settings).items() if name not in _NOT_ASKED}
    for run in (*asked["teacher"], *asked["traces"]):
        del run["place"]
    return dict(from_plain(Any, to_plain(Any, asked, {}), {}))


def rebound(measurement: GateMeasurement, configuration: Configuration) -> GateMeasurement:
    """Measurements of an archive for a new judgement; UnusableInput where the configuration asks other questions.

    Other questions need new measurements: without them, the gate would pass something that it did not check.
    """
    asked = questions(configuration.gate or GateSettings())
    for name, value in asked.items():
        if measurement.questions.get(name) != value and not (name == "base" and value is None):  # was --base
            key = {"traces": "trace"}.get(name, name.replace("_", "-"))
            found = f"{configuration.path}: gate.{key}"
            raise UnusableInput(found, "other than those that the archive measured", "the same", "run the gate again")
    named = provenance_of((configuration.path, *_baseline(configuration)))
    return replace(
        measurement, provenance={**measurement.provenance, **named, "rigpact": measurement.provenance["rigpact"]}
    )


def other_files(measurement: GateMeasurement) -> Iterator[Finding]:
    """A finding for each file that is not here as an archive measured it: another one lies here, or none.

    The settings and the known findings are always today's.
    """
    for name, kept in measurement.provenance.items():
        today = _sha256(Path(name))
        if name == "rigpact" or today == kept:
            continue
        more = f"SHA-256 {today[:12]}" if today != ABSENT else "there is none"
        yield rules.OTHER_FILES.at(name, "", more=f" ({more}, the archive's is {kept[:12]})")


def _answers(project: Project) -> list[Measured | NotAsked]:
    answers: list[Measured | NotAsked] = []
    with documents_remembered(), counted(len(PARTS), "parts of the gate") as done:
        for kind in PARTS.values():
            asked = kind.ask(project)
            answers.extend(each if isinstance(each, NotAsked) else each.answered() for each in asked)
            done(1)
    return answers


def _baseline(configuration: Configuration) -> Iterable[Path]:
    """The file of known findings, named from the working directory if it lies below it: the same on every machine."""
    path = configuration.baseline
    if path is None:
        return ()
    here, whole = Path.cwd(), path.resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else path,)


def provenance_of(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file by its name, and the version of rigpact."""
    return {"rigpact": rigpact_version()} | {path.as_posix(): _sha256(path) for path in paths}


def _sha256(path: Path) -> str:
    """SHA-256 of the file's bytes, read in pieces; `ABSENT` for a file that does not exist or is too large."""
    if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
        return ABSENT
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


WAIVERS_TITLE, ARCHIVE_TITLE = "Waivers and thresholds", "Archive and the files here"


def judge_gate(
    measurement: GateMeasurement,
    configuration: Configuration,
    today: date,
    other_files: Sequence[Finding] = (),
    about_settings: Sequence[Finding] = (),
) -> GateReport:
    """The answer under a configuration on a day; UnusableInput for a bad baseline file.

    other_files: what differs between the files that were measured and those here. about_settings: what they narrow (guarding.py);
    no setting lowers it.
    """
    settings = configuration.gate or GateSettings()
    hearing, waiving = Hearing(configuration, today), _Waiving(settings, configuration, today)
    parts, not_asked = [], dict(measurement.not_asked)
    for measured in measurement.parts:
        judged = _judged(PARTS[measured.kind], measured, settings)
        if isinstance(judged, NotAsked):
            not_asked[judged.name] = judged.reason
            continue
        report = hearing.hear(judged)
        report = replace(report, summary=_without_idle_configuration(report))
        parts.append(waiving.waive(measured, report))
    for name, title, found in (
        (ARCHIVE, ARCHIVE_TITLE, tuple(other_files)),
        (WAIVERS, WAIVERS_TITLE, tuple(unreasonable(settings, configuration.path))),
    ):
        report = hearing.hear(FindingsReport(found, Ledger(len(found), len(found))))
        parts.append(Part(name, title, replace(report, summary=_without_idle_configuration(report))))
    parts[-1] = _with_debts(
        parts[-1],
        (*hearing.about(), *waiving.about(), *about_settings),
        hearing.declared + len(settings.waivers) + len(about_settings),
    )
    parts = [part for part in parts if part.name not in BESIDE or part.report.ledger.declared]
    answer = GateReport(tuple(parts), measurement.provenance, not_asked, strict=settings.strict)
    return replace(answer, next_steps=next_steps(answer))


def _with_debts(part: Part, about: tuple[Finding, ...], declared: int) -> Part:
    ledger = part.report.ledger
    whole = replace(ledger, declared=ledger.declared + declared, compared=ledger.compared + declared)
    return replace(part, report=replace(part.report, findings=(*part.report.findings, *about), ledger=whole))


def _judged(kind: PartKind, measured: Measured, settings: GateSettings) -> FindingsReport | NotAsked:
    try:
        return kind.judge(measured, settings)
    except UnusableInput as error:
        finding = rules.PART_NOT_JUDGED.at("[gate]", "", part=measured.title, reason=error.one_line())
        return FindingsReport((finding,), Ledger(1, 0), {"not_judged": error.one_line()})


def _without_idle_configuration(report: FindingsReport) -> dict[str, object]:
    summary = dict(report.summary)
    did = summary.pop("configuration", {})
    return summary | ({"configuration": did} if did.get("lowered") or did.get("waived") else {})


class _Waiving:
    """The waivers of parts and stages, with a record of those that were needed."""

    def __init__(self, settings: GateSettings, configuration: Configuration, today: date) -> None:
        self._waivers = settings.waivers
        self._file, self._today = configuration.path, today
        self._used: set[int] = set()

    def waive(self, measured: Measured, report: FindingsReport) -> Part:
        """The part without the findings that its waivers remove."""
        part = Part(measured.name, measured.title, report)
        for waiver in self._waivers:
            if waiver.part == measured.name and waiver.holds(self._today) and part.verdict != "pass":
                part = self._without_stage(waiver, measured, part) if waiver.stage else self._whole(waiver, part)
        return part

    def _whole(self, waiver: PartWaiver, part: Part) -> Part:
        self._used.add(waiver.index)
        ledger, notice = part.report.ledger, self._notice(waiver, len(part.report.findings))
        waived = Ledger(ledger.declared, 0, ledger.declared)
        return Part(part.name, part.title, FindingsReport((notice,), waived, part.report.summary), is_waived=True)

    def _without_stage(self, waiver: PartWaiver, measured: Measured, part: Part) -> Part:
        declared, compared, waived = measured.metrics.get("accounts", {}).get(waiver.stage, (0, 0, 0))
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
        return rules.PART_WAIVED.at(self._file, _pointer(waiver), expires=waiver.expires, count=count, **_debt(waiver))

    def about(self) -> Iterator[Finding]:
        """Findings about waivers that expired or removed nothing."""
        for waiver in self._waivers:
            place, debt = (self._file, _pointer(waiver)), _debt(waiver)
            if not waiver.holds(self._today):
                yield rules.PART_WAIVER_EXPIRED.at(*place, expires=waiver.expires, **debt)
            elif waiver.index not in self._used:
                yield rules.PART_WAIVER_UNUSED.at(*place, **debt)


def _pointer(waiver: PartWaiver) -> str:
    return json_pointer("gate", "waive", waiver.index)


def _debt(waiver: PartWaiver) -> dict[str, str]:
    what = f"{waiver.stage} of {waiver.part}" if waiver.stage else waiver.part
    return {"what": what, "owner": waiver.owner, "reason": waiver.reason}


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
