"""Find a project's files by their content: bundles, companions, models, clips, teacher files, traces."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePath
from typing import Any

from rigpact.contract.contract_files import contract_in_memory, open_contract, system_of
from rigpact.contract.declared.reading import declaration_of
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.editor_schemas import SETTINGS, head_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.pages.registry import ENEMY_ANIMATION, every_system
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.recordings.clip import document_to_teacher_file
from rigpact.reference_runtime.recordings.named_columns import NoVector, read_named_columns
from rigpact.reference_runtime.recordings.opened import (
    SETTINGS_NAMES,
    TRACE_ENDINGS,
    listed_endings,
    open_file,
    read_table,
)
from rigpact.reference_runtime.recordings.tables import UNNAMED
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER, Trace
from rigpact.reports.describing.description import contract_template
from rigpact.reports.terminal import template, tracked


# The files in a checkout of a hosted system's project: its data, known by their names and widths.
@dataclass(frozen=True)
class Published:
    """A file of a project's data, the system that it belongs to, and the stages that it holds."""

    path: Path
    system: System
    stages: tuple[str, ...]


def write_published_contract(folder: Path, columns: Sequence[Path]) -> tuple[Path, Published] | None:
    """Write the contract of the one system whose project's data lie here; None where there are none, or of several."""
    found = [each for path in columns for each in _published_in(folder, path)]
    if len({each.system.name for each in found}) != 1:
        return None
    path = folder / f"{found[0].system.name}.json"
    write_bytes(path, contract_template(found[0].system))
    return path, found[0]


def _published_in(folder: Path, path: Path) -> list[Published]:
    try:
        names = {path.stem if name == UNNAMED else name for name in read_table(folder / path).columns}
    except UnusableInput:
        return []
    found = []
    for system in every_system():
        if any(name in names for known in system.published.values() for name in known):
            with suppress(UnusableInput):
                trace = read_named_columns(folder / path, contract_in_memory(system, system.template()))
                found += [Published(path, system, tuple(trace.stages))] if trace.stages else []
    return found


MAX_FILES = 5000
_PASSED_OVER = {"node_modules", "__pycache__", "venv", "build", "dist", "Intermediate", "Saved", "DerivedDataCache"}
_MODEL = ".onnx"
_WEIGHTS = (".pt", ".pth", ".pth.tar")
"""Files of torch: no command reads them, and a note says what makes a model of each."""


@dataclass
class FoundFiles:
    """Files by kind, relative to the folder, the nearest first; and notes on unreadable files.

    bundles: schema bundles or, if there is none, the contract files of other systems. columns: tables and arrays with names,
    which only a contract can read. own_clips: recordings that hold all that drove them. own_models: models that the
    contract itself names.
    """

    bundles: list[Path] = field(default_factory=list)
    companions: list[Path] = field(default_factory=list)
    models: list[Path] = field(default_factory=list)
    clips: list[Path] = field(default_factory=list)
    predictions: list[tuple[Path, tuple[str, ...]]] = field(default_factory=list)
    batches: list[tuple[Path, tuple[str, ...]]] = field(default_factory=list)
    traces: list[tuple[Path, Trace]] = field(default_factory=list)
    contracts: list[Path] = field(default_factory=list)
    columns: list[Path] = field(default_factory=list)
    own_clips: list[Path] = field(default_factory=list)
    own_models: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def has_revisions(self) -> bool:
        """Whether two revisions of the contract can be compared."""
        return bool(self.bundles) and self.bundles is not self.contracts


def find_files(folder: Path) -> FoundFiles:
    """Search a folder; UnusableInput if it holds too many files for one project."""
    paths = sorted(_candidates(folder), key=lambda path: (len(path.parts), path.as_posix()))
    found = FoundFiles()
    for path in tracked(paths, "files"):
        try:
            _sort_in(path, folder, found)
        except UnusableInput as error:
            if path.name.lower().endswith((*TRACE_ENDINGS, *_WEIGHTS, *listed_endings())):
                found.notes.append(_passed_over(path, error))
    found.bundles = found.bundles or found.contracts
    return found


def project_files(folder: Path) -> FoundFiles:
    """The files of the nearest bundle or contract file, without those of other systems.

    A trace that holds only input stages is a clip; a data set without a clip is checked like a clip. All other traces
    are recordings of a run. There is a contract.
    """
    found = find_files(folder)
    system = system_of(read_document(folder / found.bundles[0]))
    own = [entry for entry in found.traces if (entry[1].header.system or ENEMY_ANIMATION) == system.name]
    own += _named_columns(folder, found)
    driving = [path for path, trace in own if set(trace.stages) <= set(system.graph.given)]
    found.clips += driving
    recorded = [(path, trace) for path, trace in own if path not in driving]
    answers, later = set(system.graph.answers), system.graph.after(system.graph.answers)
    data_sets = [(path, trace) for path, trace in recorded if later.isdisjoint(set(trace.stages) - answers)]
    labels = [path for path, trace in data_sets if not clip_of_trace(path, trace, found)]
    found.clips += labels
    found.traces = [(path, trace) for path, trace in recorded if path not in labels]
    outside = {stage.name for stage in system.stages if stage.compute is None and stage.start is None}
    if system.name != ENEMY_ANIMATION:
        found.own_clips = [path for path, trace in found.traces if outside <= set(trace.stages)]
    found.models = list(_models(folder, found))
    return found


def _named_columns(folder: Path, found: FoundFiles) -> Iterator[tuple[Path, Trace]]:
    """The tables and arrays that hold vectors of the contract. Of your own contract, the others are named too."""
    if not found.columns:
        return
    document = read_document(folder / found.bundles[0])
    is_own = document.kind is Kind.DECLARATION
    read = {(document.path.parent / name).resolve() for name in declaration_of(document).read} if is_own else set()
    try:
        contract = _contract(folder, found)
    except UnusableInput:
        if is_own:
            raise
        return
    for path in [each for each in found.columns if (folder / each).resolve() not in read]:
        try:
            yield path, files_of(contract).recording(folder / path, contract).trace
        except NoVector as error:
            found.notes += [_passed_over(path, error)] if is_own else []
        except UnusableInput as error:
            found.notes.append(_passed_over(path, error))


def _contract(folder: Path, found: FoundFiles) -> Contract:
    return open_contract(folder / found.bundles[0], folder / found.companions[0] if found.companions else None)


def _models(folder: Path, found: FoundFiles) -> Iterator[Path]:
    """The models that fit the contract; all models where the contract cannot be read."""
    try:
        contract = _contract(folder, found)
    except UnusableInput:
        yield from found.models
        return
    networks = contract.system.networks
    named = {network.path.resolve() for network in networks.values() if network.path is not None}
    for path in found.models:
        if (folder / path).resolve() in named:
            found.own_models.append(path)
            continue
        if len(networks) > 1:
            found.notes.append(
                f"{path.as_posix()} is passed over: of which network is it? file = … in [networks.NAME] says it"
            )
            continue
        try:
            files_of(contract).network(folder / path, contract)
            yield path
        except UnusableInput as error:
            found.notes.append(_passed_over(path, error))


def clip_of(path: PurePath, clips: Sequence[Path]) -> Path | None:
    """The clip whose name is the beginning of the recording's name; of several, the longest."""
    name = path.name.partition(".")[0].lower()
    stems = {clip: clip.name.partition(".")[0].lower() for clip in clips}
    fitting = [clip for clip, stem in stems.items() if name == stem or name.startswith((f"{stem}_", f"{stem}-"))]
    return max(fitting, key=lambda clip: len(stems[clip]), default=None)


def clip_of_trace(path: Path, trace: Trace, found: FoundFiles) -> Path | None:
    """The clip that a recording names in its header, else the clip that matches the file name, else the recording itself."""
    named = [clip for clip in found.clips if trace.header.clip in (clip.stem, clip.name.partition(".")[0])]
    fitting = named[0] if named else clip_of(path, found.clips)
    return path if fitting is None and path in found.own_clips else fitting


def _passed_over(path: Path, error: UnusableInput) -> str:
    return f"{path.as_posix()} is passed over: {error.found}" + (f"; {error.hint}" if error.hint else "")


def _candidates(folder: Path) -> Iterator[Path]:
    endings, count = (".json", ".toml", _MODEL, *_WEIGHTS, *TRACE_ENDINGS, *listed_endings()), 0
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        is_hidden = any(part.startswith(".") or part in _PASSED_OVER for part in inside.parts)
        if is_hidden or not path.name.lower().endswith(endings) or path.name in SETTINGS_NAMES or not path.is_file():
            continue
        count += 1
        if count > MAX_FILES:
            hint = "run `rigpact init` in the folder of the bundle"
            raise UnusableInput(folder, f"more than {MAX_FILES} JSON and ONNX files", "one project's folder", hint)
        yield inside


def _sort_in(path: Path, folder: Path, found: FoundFiles) -> None:
    file = open_file(folder / path)
    plain = {
        Kind.BUNDLE: found.bundles, Kind.COMPANION: found.companions, Kind.RAW_CLIP: found.clips, Kind.MODEL: found.models,
        Kind.SYSTEM_CONTRACT: found.contracts, Kind.DECLARATION: found.contracts, Kind.COLUMNS: found.columns,
    }  # fmt: skip
    if file.kind in plain:
        plain[file.kind].append(path)
    elif file.kind is Kind.TRACE:
        found.traces.append((path, file.trace))
    else:
        clip, is_prediction = document_to_teacher_file(file.document), file.document.kind is Kind.TEACHER_PREDICTION
        rows = {  # as recording.py reads them
            "state": clip.state_norm, "cond": clip.cond, "contacts": clip.contacts, "angvel": clip.angvel_norm,
            "pose_hist": clip.pose_hist_norm,
        }  # fmt: skip
        held = tuple(name for name, values in rows.items() if values is not None)
        if is_prediction:
            found.predictions.append((path, (*held, "y_out")))
        else:
            found.batches.append((path, held))


# Write a commented rigpact.toml for a folder: it uses the files found; comments explain what is missing.
def settings_text(
    found: FoundFiles, *, base: str | None, last_day: date, parameters: int | None, model_bytes: int | None
) -> str:
    """The text of rigpact.toml. base: a git revision known here. parameters, model_bytes: today's, where known."""
    recorded = [*found.predictions, *found.batches, *found.traces]
    stems = [path.name.partition(".")[0] for path, _ in recorded]

    def run(path: Path, clip: Path | None, stages: Iterable[str], **said: Any) -> dict[str, Any]:
        doubtful = stems.count(path.name.partition(".")[0]) > 1
        own = {"file": path.as_posix(), "clip": clip and clip.as_posix(), "stages": list(stages), "frames": None}
        return own | {"is_doubtful": doubtful} | said

    teacher = []
    for path, stages in (*found.predictions, *found.batches):
        cut = [stage for stage in stages if found.models or stage != "y_out"]
        teacher.append(run(path, clip_of(path, found.clips), cut, is_cut=len(cut) < len(stages)))
    traces = []
    for path, trace in found.traces:
        header, frames = trace.header, len(trace.frame) if trace.header.mode != "teacher" else None
        said = {"mode": header.mode, "producer": header.producer, "is_own": header.producer == OWN_PRODUCER}
        named = [bone for bone in header.bones or () if isinstance(bone, str)]  # the gate asks of indices
        clip = clip_of_trace(path, trace, found)
        traces.append(run(path, clip, trace.stages, frames=frames, bones=named, **said))
    words = template(Path(__file__).with_name("rigpact.toml.j2"), quoted=_quoted, plain=_in_comment)
    kinds = ("bundles", "companions", "models")
    return words.render(
        {kind: [path.as_posix() for path in getattr(found, kind)] for kind in kinds},
        head=head_of(SETTINGS), clips=list(_patterns(found)), base=base, has_revisions=found.has_revisions, teacher=teacher,
        traces=traces, parameters=parameters, model_bytes=model_bytes, last_day=last_day.isoformat(),
    )  # fmt: skip


def _patterns(found: FoundFiles) -> Iterator[str]:
    """The clips; those that fill a folder as a pattern."""
    folders: dict[Path, list[Path]] = {}
    for clip in found.clips:
        folders.setdefault(clip.parent, []).append(clip)
    others = [*found.bundles, *found.companions, *(path for path, _ in (*found.predictions, *found.batches))]
    mixed = {path.parent for path in others} | {Path()}
    for folder, inside in folders.items():
        whole = folder not in mixed and len(inside) > 1 and all(clip.suffix == ".json" for clip in inside)
        yield from [f"{folder.as_posix()}/*.json"] if whole else [path.as_posix() for path in inside]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
