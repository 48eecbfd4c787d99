"""The self-test: inject defects into copies of the project's own files, and run the gate on each copy.

A defect is noticed if a part gives a failure or a warning that it does not give on the sound files. Defects that the
files cannot have are listed with the reason; for example, without an engine trace there are no engine defects.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from rigpact.contract.as_json import AsJson
from rigpact.contract.documents import Document, Kind, documents_remembered
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file
from rigpact.contract.files.reading import inputs_may_be_replaced
from rigpact.contract.findings import Severity
from rigpact.contract.model.graph import open_model
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures.document_mutants import BUNDLE, COMPANION
from rigpact.reference_runtime.recordings.opened import open_file, write_trace
from rigpact.reports.beside import other_processes, process_pool
from rigpact.reports.gate.judging import judge_gate
from rigpact.reports.gate.measured import GateMeasurement, Question
from rigpact.reports.gate.parts import PARTS
from rigpact.reports.gate.plants import FILE_PARTS, READERS, TRACE_PARTS, NotApplicable, Plant, plants
from rigpact.reports.gate.project import Project
from rigpact.reports.terminal import Answer, Figures, Sentence, counted


def copied_project(project: Project, folder: Path) -> GateSettings:
    """Copy every file of a project into a folder and return settings that name the copies, relative to it.

    Each lies in a folder of its own: names stay the same and do not collide. Named columns become a trace of the same numbers:
    its rows can be damaged. A copy has no git history: breaking changes are not checked. UnusableInput for a file that is gone.
    """
    names: dict[str | Path | None, str | None] = {None: None}
    for index, path in enumerate(project.files()):
        if not path.is_file():
            raise UnusableInput(path, "nothing", "an existing file", "check the spelling of the path")
        own = folder / str(index)
        own.mkdir(parents=True)
        target = own / path.name
        if open_file(path).kind is Kind.COLUMNS:
            target = own / f"{path.stem}.trace.jsonl"
            write_trace(project.recording_of(path).trace, target)
        else:
            (_copy_model if path == project.model_path else copy_file)(path, target)
        for beside in project.beside if path == project.bundle_path else ():  # where the copy looks for them
            (own / beside.relative_to(path.parent)).parent.mkdir(parents=True, exist_ok=True)
            (_copy_model if beside.suffix == ".onnx" else copy_file)(beside, own / beside.relative_to(path.parent))
        names[path] = target.relative_to(folder).as_posix()

    def named(path: str | Path | None) -> Any:
        return names[path if path is None else Path(path)]

    def of_run(run: RecordedRun) -> RecordedRun:
        return replace(run, file=named(run.file), clip=named(run.clip))

    settings = project.settings
    return replace(
        settings,
        bundle=named(project.bundle_path), companion=named(project.companion_path), model=named(project.model_path),
        clips=tuple(map(named, project.clip_paths)), free_run=named(settings.free_run),
        teacher=tuple(map(of_run, settings.teacher)), traces=tuple(map(of_run, settings.traces)),
        base=None, change_record=None,
    )  # fmt: skip


def _copy_model(path: Path, target: Path) -> None:
    copy_file(path, target)
    for name in open_model(path).beside:
        copy_file(path.parent / name, target.parent / name)


DOES_NOT_RUN = "the gate does not run"
Marks = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Planted(AsJson):
    """The result for one defect: the part that noticed it, whether it only warned, or why the defect does not apply."""

    kind: str
    name: str
    noticed_by: str | None = None
    is_warning: bool = False
    not_applicable: str | None = None


@dataclass(frozen=True)
class Selftest(AsJson):
    """The results for all defects."""

    FORMAT = "rigpact-selftest"
    KEYS = "verdict planted: injected caught defects: planted"
    planted: tuple[Planted, ...]

    @property
    def verdict(self) -> str:
        """The answer in a word."""
        return ("pass", "fail", "undetermined")[self.exit_code]

    @property
    def injected(self) -> int:
        """How many defects these files can have: they were injected."""
        return sum(entry.not_applicable is None for entry in self.planted)

    @property
    def caught(self) -> int:
        """How many of them a part noticed."""
        return sum(entry.noticed_by is not None for entry in self.planted)

    @property
    def exit_code(self) -> int:
        """0 if all defects were noticed, 1 if some were not, 2 if none could be injected."""
        return 2 if not self.injected else int(self.caught < self.injected)


def run_selftest(configuration: Configuration, today: date, kinds: Sequence[str] = ()) -> Selftest:
    """Inject every defect of the given kinds, by default of all kinds. Call this in the configuration's folder.

    Raises UnusableInput without a `[gate]`, for missing files, and where the sound files cannot be judged.
    """
    if configuration.gate is None:
        raise UnusableInput(configuration.path, "no table [gate]", "a table [gate]", "`rigpact init` writes one")
    project = Project(configuration.gate)
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder, "sound")
        settings = copied_project(project, sound)
        trials = Trials(replace(configuration, gate=settings), settings, sound, today, tuple(kinds))
        found = []
        with counted(len(trials.plants), "planted defects") as done:
            for planted in _outcomes(trials):
                found.append(planted)
                done(1)
    return Selftest(tuple(found))


@dataclass(frozen=True, eq=False)
class Trials:
    """The defects of some kinds that are tried on the copied project in `sound`."""

    configuration: Configuration
    settings: GateSettings
    sound: Path
    today: date
    kinds: tuple[str, ...]
    remembered: dict[str, Document] = field(default_factory=dict)

    @cached_property
    def plants(self) -> tuple[Plant, ...]:
        """The defects."""
        with contextlib.chdir(self.sound):
            every = plants(self.settings)
            return tuple(plant for plant in every if not self.kinds or plant.kind in self.kinds)

    @cached_property
    def _known(self) -> dict[str, Marks]:
        """What each part says about the sound files."""
        with contextlib.chdir(self.sound), documents_remembered(self.remembered):
            return {part: self._marks(part, None) for part in FILE_PARTS}

    def outcome(self, number: int) -> Planted:
        """Inject one defect into the copy, and run the parts that read it until one fails."""
        plant, known = self.plants[number], self._known
        try:
            with inputs_may_be_replaced(), documents_remembered(self.remembered), contextlib.chdir(self._copy):
                plant.make()
                return self._noticed(plant, known)
        except NotApplicable as reason:
            return Planted(plant.kind, plant.name, not_applicable=str(reason))
        finally:
            if plant.path is not None:
                copy_file(self.sound / plant.path, self._copy / plant.path)

    def _noticed(self, plant: Plant, known: Mapping[str, Marks]) -> Planted:
        project = self._around_traces if READERS[plant.kind] == TRACE_PARTS else None
        warned = None
        for part in READERS[plant.kind]:
            try:
                new = self._marks(part, project) - known[part]
            except UnusableInput:
                return Planted(plant.kind, plant.name, DOES_NOT_RUN)
            if any(mark != Severity.WARNING.value for _, mark in new):
                return Planted(plant.kind, plant.name, part)
            warned = warned or (part if new else None)
        if warned is None and plant.kind in (BUNDLE, COMPANION) and self._loads_the_same():
            return Planted(plant.kind, plant.name, not_applicable="what the engine loads stays as it was, to the bit")
        return Planted(plant.kind, plant.name, warned, is_warning=warned is not None)

    def _loads_the_same(self) -> bool:
        """Whether the contract in the working directory means what the sound one does."""

        def meant() -> tuple[str, dict[str, Any]]:
            contract = Project(self.settings).contract
            return contract.meaning.sha256 if contract.meaning else contract.sha256, dict(contract.conventions)

        changed = meant()
        with contextlib.chdir(self.sound):
            return changed == meant()

    def _marks(self, part: str, project: Project | None) -> Marks:
        """Its verdict unless it passes, every error and warning by fingerprint. project: what was read already."""
        project = project or Project(self.settings, verdict_only=True)
        measured = tuple(each.answered() for each in PARTS[part](project) if isinstance(each, Question))
        report = judge_gate(GateMeasurement(measured), self.configuration, self.today)
        marks = {(part.name, "verdict") for part in report.parts if part.verdict != "pass"}
        for finding in (each for part in report.parts for each in part.report.findings):
            severity = finding.rule.severity
            if severity is Severity.WARNING and report.strict:
                severity = Severity.ERROR
            if severity in (Severity.ERROR, Severity.WARNING):
                marks.add((finding.fingerprint, severity.value))
        return frozenset(marks)

    @cached_property
    def _around_traces(self) -> Project | None:
        """The project of a defect in an engine's trace, of which all else is read once; None where a trace drives itself."""
        traces = self.settings.traces
        read = {*self.settings.clips, *(run.clip for run in traces)}
        is_apart = read.isdisjoint({None, *(run.file for run in traces)})
        return Project(self.settings, verdict_only=True) if is_apart else None

    @cached_property
    def _copy(self) -> Path:
        """A copy of `sound` that is damaged again and again; what a defect changed is copied anew after it."""
        return Path(shutil.copytree(self.sound, self.sound.parent / f"trial {os.getpid()}", copy_function=copy_file))


_FEW = 20
"""A process must start and read the sound files, which takes as long as so many defects."""
_own_trials: list[Trials] = []
"""Those of this process, where a self-test started it."""


def _outcomes(trials: Trials) -> Iterator[Planted]:
    """Every defect's outcome in order. Where there are many, other processes take them from the end until both meet."""
    count = len(trials.plants)
    others = other_processes(count // _FEW - 1)
    if others < 1:
        yield from map(trials.outcome, range(count))
        return
    with process_pool(others, _begin, replace(trials, remembered={})) as pool:
        ahead = {number: pool.submit(_outcome, number) for number in reversed(range(count))}
        for number in range(count):
            yield trials.outcome(number) if ahead[number].cancel() else ahead[number].result()


def _begin(trials: Trials) -> None:
    _own_trials.append(trials)


def _outcome(number: int) -> Planted:
    return _own_trials[0].outcome(number)


def answer_of_selftest(found: Selftest) -> Answer:
    """A table of the defects; the unnoticed ones come last, so they stay visible in the terminal."""
    reasons: dict[str, list[str]] = {}
    rows, silent = [], []
    for entry in found.planted:
        if entry.not_applicable is not None:
            reasons.setdefault(entry.not_applicable, []).append(entry.name)
        elif entry.noticed_by is None:
            silent.append(Sentence(f"NOT CAUGHT: {entry.name} ({entry.kind})", "bold red"))
        else:
            word = f"{entry.noticed_by} (a warning; --strict fails)" if entry.is_warning else entry.noticed_by
            rows.append((entry.name, entry.kind, word))
    left_out = []
    for reason, names in reasons.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        left_out.append(Sentence(f"not applicable: {'; '.join(names[:3])}{more}: {reason}", "dim"))
    table = Figures("Planted defects, and the parts that noticed them", ("defect", "in", "noticed by"), rows)
    said = f"{found.caught} of {found.injected} planted defects caught"
    return Answer(found.verdict.upper(), said, found.exit_code, (table, *left_out, *silent))
