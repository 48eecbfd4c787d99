"""Measure a project: all parts of its system, the questions that were not asked, and the provenance."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rigpact.contract.documents import documents_remembered
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, opened
from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.gate import GateSettings
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.archive.kept_values import from_plain, to_plain
from rigpact.reports.gate.measured import GateMeasurement, Measured, NotAsked
from rigpact.reports.gate.parts.catalogue import PARTS
from rigpact.reports.gate.project import Project
from rigpact.reports.terminal import counted

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
    return () if configuration.baseline is None else (named_from_here(configuration.baseline),)


def named_from_here(path: Path) -> Path:
    """The path relative to the working directory, if it lies below it: the same on every machine."""
    here, whole = Path.cwd(), path.resolve()
    return whole.relative_to(here) if whole.is_relative_to(here) else path


def provenance_of(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file by its name, and the version of rigpact."""
    return {"rigpact": rigpact_version()} | {path.as_posix(): _sha256(path) for path in paths}


def _sha256(path: Path) -> str:
    """SHA-256 of the file's bytes, read in pieces; `ABSENT` for a file that does not exist or is too large."""
    if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
        return ABSENT
    with opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
