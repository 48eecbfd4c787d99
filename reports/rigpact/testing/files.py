"""The user's files of any system, each read once and only when a judgement needs it; and what a judgement on them is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import system_of
from rigpact.contract.conventions import InputOrder, declared_changes
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Severity
from rigpact.contract.settings.configuration import Configuration, read_configuration
from rigpact.contract.settings.gate import GateSettings
from rigpact.contract.settings.hearing import configured_report
from rigpact.contract.settings.table import today
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.recordings.opened import is_trace_name, open_file
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.gate.project import Project


class NotJudged(Exception):
    """The files do not allow this judgement; the text names what is missing."""


class Refuted(Exception):
    """The judgement failed; the text is for people."""


@dataclass(frozen=True)
class Judgement:
    """One judgement: the parts of its name, and its function."""

    name: tuple[str, ...]
    judge: Callable[[], None]


def not_judged(reason: str) -> None:
    """Raise `NotJudged`, for files that were not given."""
    raise NotJudged(reason)


def refute(findings: Iterable[Finding], *, strict: bool = False) -> None:
    """Raise `Refuted` if a finding is an error or, if strict, a warning."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    found = [finding_text(finding) for finding in findings if finding.rule.severity in failing]
    if found:
        raise Refuted("\n".join(found))


def finding_text(finding: Finding) -> str:
    """One finding for people: place, code, message, hint."""
    rule = finding.rule
    return f"{finding.place}: {rule.code} {rule.severity.value}: {finding.message}\n  hint: {rule.hint}"


NO_MODEL = "no model: --rigpact-onnx FILE"


@dataclass(frozen=True)
class Paths:
    """The paths from the command line. clips: raw clips, teacher files, and traces that drive or label a system."""

    bundle: Path
    companion: Path | None = None
    onnx: Path | None = None
    clips: tuple[Path, ...] = ()
    traces: tuple[Path, ...] = ()
    config: Path | None = None
    conventions: Path | None = None
    settings: tuple[str, ...] = ()


def short_names(paths: Iterable[Path], *, suffix: bool) -> dict[Path, str]:
    """A unique name for each file: the file name; with its folder if two are equal; else the whole path."""
    own = {path: path.name if suffix else _stem(path) for path in paths}
    beside = {path: f"{path.parent.name}/{name}" for path, name in own.items()}
    whole = {path: path.as_posix() for path in own}
    return next(names for names in (own, beside, whole) if len(set(names.values())) == len(names))


def _stem(path: Path) -> str:
    return path.name.partition(".trace.")[0] if is_trace_name(path) else path.stem


class UserFiles:
    """The files of the paths, read as in the gate. Every property raises UnusableInput for an unusable file."""

    def __init__(self, paths: Paths) -> None:
        """Keep the paths; nothing is read yet."""
        self.paths = paths

    @cached_property
    def bundle(self) -> Document:
        """The bundle or contract file."""
        return read_document(self.paths.bundle)

    @property
    def system(self) -> System:
        """The system that the bundle or contract file is of."""
        return system_of(self.bundle)

    @cached_property
    def project(self) -> Project:
        """The gate's project of these files."""
        paths = self.paths
        companion, model = (None if path is None else str(path) for path in (paths.companion, paths.onnx))
        declared = declared_changes(paths.settings, paths.conventions)
        project = Project(GateSettings(str(paths.bundle), companion, model=model, conventions=declared))
        project.clip_paths = paths.clips  # literal paths: a bracket in a folder's name is not a pattern
        return project

    @property
    def contract(self) -> Contract:
        """The contract under the declared conventions."""
        return self.project.contract

    @cached_property
    def documents(self) -> Mapping[Path, Document]:
        """The clips as JSON artefacts of a known kind, by path."""
        found = [file.document for file in map(open_file, self.paths.clips) if not file.is_recording]
        for document in found:
            if document.kind in (Kind.BUNDLE, Kind.COMPANION, Kind.SYSTEM_CONTRACT, Kind.DECLARATION):
                raise UnusableInput(document.path, f"a {document.kind.words}", "a raw clip or a teacher file")
        return {document.path: document for document in found}

    @property
    def recordings(self) -> tuple[Path, ...]:
        """The clips that are recordings."""
        return tuple(path for path in self.paths.clips if open_file(path).is_recording)

    def clips_of_kind(self, *kinds: Kind) -> list[Path]:
        """The JSON clips of the given kinds."""
        return [path for path, document in self.documents.items() if document.kind in kinds]

    def driving_clips(self) -> list[Path]:
        """The clips that can drive a run: raw clips, and traces with all input stages of a system."""
        given, traces = set(self.system.graph.given), []
        for path in self.recordings if given else ():
            file = open_file(path)  # a trace says its stages by itself, named columns only with the contract
            trace = file.trace if file.kind is Kind.TRACE else self.project.recording_of(path).trace
            traces += [path] * (given <= set(trace.stages))
        return [*self.clips_of_kind(Kind.RAW_CLIP), *traces]

    def clip_named(self, names: Sequence[str | None]) -> Path | None:
        """The driving clip with one of these names, with or without its folder and suffix."""
        stems = {Path(name.replace("\\", "/")).stem for name in names if name}
        return next((path for path in self.driving_clips() if _stem(path) in stems), None)

    @property
    def network(self) -> Any:
        """The model, opened in onnxruntime."""
        if self.paths.onnx is None:
            raise NotJudged(NO_MODEL)
        return self.project.network

    def input_widths(self) -> dict[str, int]:
        """The width of each input in the model's order, from the contract or, if it gives none, from the model."""
        bound = [entry.width for entry in self.network.signature.inputs]
        orders = [knob.name for knob in self.system.knobs.values() if isinstance(knob, InputOrder)]
        names: Sequence[str] = self.contract.conventions[orders[0]] if orders else self.system.inputs
        widths = zip(names, bound, strict=True)
        return {name: self.contract.fields(name).width or width or 0 for name, width in widths}

    def answers(self, inputs: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The model's answers to rows (N, width) of its inputs, as the runtime uses them."""
        count = len(next(iter(inputs.values())))
        evidence = Evidence(np.arange(count), self.contract.fps or 1.0, "teacher", inputs, network=self.network)
        frames = ReplayedFrames(evidence, self.contract)
        return {name: frames[name] for name in self.system.graph.answers}

    @cached_property
    def configuration(self) -> Configuration | None:
        """The project's configuration, if one is given."""
        return read_configuration(self.paths.config) if self.paths.config is not None else None

    @cached_property
    def findings(self) -> FindingsReport:
        """The findings of `rigpact check` on all files together, after the configuration is applied."""
        paths = self.paths
        documents = (self.bundle, *self.documents.values())
        recordings = self.recordings if self.bundle.kind.is_of_a_system else ()
        request = CheckRequest(documents, recordings, model=paths.onnx, companion=paths.companion)
        return configured_report(check_files(request), self.configuration, today())


@cache
def files_of(paths: Paths) -> UserFiles:
    """The user's files; the same paths are read once in a process."""
    return UserFiles(paths)
