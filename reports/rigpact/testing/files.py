"""The user's own files, read once each and only when something is judged on them. Knows nothing of pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rigpact.contract.bundle import Contract
    from rigpact.contract.documents import Document
    from rigpact.contract.findings import FindingsReport
    from rigpact.contract.settings.configuration import Configuration
    from rigpact.reference_runtime.network import OnnxNetwork
    from rigpact.reference_runtime.recordings.clip import Clip
    from rigpact.reports.gate.enemy_case import EnemyCase


class NotJudged(Exception):
    """The files do not allow this judgement; the text says what is missing."""


class Refuted(Exception):
    """The judgement is no: the text is what people read."""


@dataclass(frozen=True)
class Paths:
    """What was given on the command line. clips: raw clips, teacher batches and teacher predictions."""

    bundle: Path
    companion: Path | None = None
    onnx: Path | None = None
    clips: tuple[Path, ...] = ()
    traces: tuple[Path, ...] = ()
    config: Path | None = None
    conventions: Path | None = None
    settings: tuple[str, ...] = ()


def short_names(paths: Iterable[Path], *, suffix: bool) -> dict[Path, str]:
    """A name of its own for each file: the file's, with its folder where two share one, else the whole path."""
    own = list(paths)
    name_of: tuple[Callable[[Path], str], ...] = (
        lambda path: path.name if suffix else path.stem,
        lambda path: f"{path.parent.name}/{path.name if suffix else path.stem}",
        lambda path: path.as_posix(),
    )
    return next(
        names
        for names in ({path: name(path) for path in own} for name in name_of)
        if len(set(names.values())) == len(names)
    )


class UserFiles:
    """The files behind the paths, as the gate reads them. Every property raises UnusableInput for one that is unusable."""

    def __init__(self, paths: Paths) -> None:
        """Keep the paths; nothing is read yet."""
        self.paths = paths

    @cached_property
    def case(self) -> EnemyCase:
        """The gate's case of these files."""
        from rigpact.contract.conventions import parse_settings, read_conventions
        from rigpact.contract.settings.gate import GateSettings
        from rigpact.reports.gate.enemy_case import EnemyCase

        paths, file = self.paths, self.paths.conventions
        declared = {**(read_conventions(file) if file is not None else {}), **parse_settings(paths.settings)}
        bundle, companion, model = (
            None if path is None else str(path) for path in (paths.bundle, paths.companion, paths.onnx)
        )
        case = EnemyCase(GateSettings(bundle=bundle, companion=companion, model=model, conventions=declared))
        case.clip_paths = paths.clips  # as they are: a bracket in a folder's name is no pattern
        return case

    @property
    def contract(self) -> Contract:
        """The contract under the declared conventions."""
        return self.case.contract

    @cached_property
    def documents(self) -> Mapping[Path, Document]:
        """The clips as JSON artefacts of a known kind, by path."""
        from rigpact.contract.documents import Kind
        from rigpact.contract.errors import UnusableInput

        for document in self.case.others:
            if document.kind in (Kind.BUNDLE, Kind.COMPANION):
                raise UnusableInput(document.path, f"a {document.kind.words}", "a raw clip or a teacher file")
        return {document.path: document for document in self.case.others}

    def clips_of_kind(self, *kinds: str) -> list[Path]:
        """The clips that are of some kinds (`raw_clip`, `teacher_batch`, `teacher_prediction`)."""
        return [path for path, document in self.documents.items() if document.kind in kinds]

    def clip(self, path: Path) -> Clip:
        """One clip, read as the loop reads it."""
        return self.case.clip(path)

    def raw_clip_of(self, names: Sequence[str | None]) -> Path | None:
        """The raw clip that goes by one of these names, with or without its folder and suffix."""
        stems = {Path(name.replace("\\", "/")).stem for name in names if name}
        return next((path for path in self.clips_of_kind("raw_clip") if path.stem in stems), None)

    @property
    def network(self) -> OnnxNetwork:
        """The model, opened in onnxruntime."""
        if self.paths.onnx is None:
            raise NotJudged("no model: --rigpact-onnx FILE")
        return self.case.network

    @cached_property
    def configuration(self) -> Configuration | None:
        """The project's configuration, where one is named."""
        from rigpact.contract.settings.configuration import read_configuration

        return read_configuration(self.paths.config) if self.paths.config is not None else None

    @cached_property
    def findings(self) -> FindingsReport:
        """What `rigpact check` says of all files together, as the configuration wants it."""
        from datetime import datetime

        from rigpact.contract.rules import Subject, check
        from rigpact.contract.settings.baseline import configured_report
        from rigpact.reports.engine.canary_report import with_canary

        case = self.case
        model = None if self.paths.onnx is None else case.model
        subject = Subject(case.bundle, case.companion, tuple(self.documents.values()), model)
        today = datetime.now().astimezone().date()
        return configured_report(with_canary(check(subject), subject, None), self.configuration, today)


@cache
def files_of(paths: Paths) -> UserFiles:
    """The files behind the same paths are read once in a process."""
    return UserFiles(paths)
