"""What lies in a project's folder: bundles, companions, models, clips, teacher files, traces, told by what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.clip import TeacherFile, read_clip
from rigpact.reference_runtime.recordings.trace import Trace, is_trace_path, read_trace
from rigpact.reports.terminal import tracked

MAX_FILES = 5000
_PASSED_OVER = {"node_modules", "__pycache__", "venv", "build", "dist", "Intermediate", "Saved", "DerivedDataCache"}
_MODEL = ".onnx"


@dataclass
class FoundFiles:
    """Files by kind, relative to the folder, those nearest to it first; notes on what could not be read.

    contracts, hosted_traces: those of other systems than the enemy animation.
    """

    bundles: list[Path] = field(default_factory=list)
    companions: list[Path] = field(default_factory=list)
    models: list[Path] = field(default_factory=list)
    clips: list[Path] = field(default_factory=list)
    predictions: list[tuple[Path, tuple[str, ...]]] = field(default_factory=list)
    batches: list[tuple[Path, tuple[str, ...]]] = field(default_factory=list)
    traces: list[tuple[Path, Trace]] = field(default_factory=list)
    contracts: list[Path] = field(default_factory=list)
    hosted_traces: list[tuple[Path, Trace]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_hosted(self) -> bool:
        """Whether the project is one of another system: its contract stands where a bundle does."""
        return bool(self.contracts) and self.bundles == self.contracts


def find_files(folder: Path) -> FoundFiles:
    """Look through a folder; UnusableInput if it is none, or holds too many files to be one project."""
    if not folder.is_dir():
        raise UnusableInput(folder, "no folder", "a project's folder")
    paths = sorted(_candidates(folder), key=lambda path: (len(path.parts), path.as_posix()))
    found = FoundFiles()
    for path in tracked(paths, "files"):
        try:
            _sort_in(path, folder, found)
        except UnusableInput as error:
            if path.name.endswith((_MODEL,)) or is_trace_path(path):
                found.notes.append(f"{path.as_posix()} is passed over: {error.found}")
    return found


def _candidates(folder: Path) -> Iterator[Path]:
    count = 0
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in _PASSED_OVER for part in inside.parts)
        if hidden or not path.is_file() or not (path.suffix in (".json", _MODEL) or is_trace_path(path)):
            continue
        count += 1
        if count > MAX_FILES:
            hint = "run `rigpact init` in the folder of the bundle"
            raise UnusableInput(folder, f"more than {MAX_FILES} JSON and ONNX files", "one project's folder", hint)
        yield inside


def _sort_in(path: Path, folder: Path, found: FoundFiles) -> None:
    if path.suffix == _MODEL:
        found.models.append(path)
    elif is_trace_path(path):
        trace = read_trace(folder / path)
        (found.traces if trace.header.system is None else found.hosted_traces).append((path, trace))
    else:
        _sort_document(path, folder, found)


def _sort_document(path: Path, folder: Path, found: FoundFiles) -> None:
    kind = read_document(folder / path).kind
    plain = {
        Kind.BUNDLE: found.bundles, Kind.COMPANION: found.companions, Kind.RAW_CLIP: found.clips,
        Kind.SYSTEM_CONTRACT: found.contracts,
    }  # fmt: skip
    if kind in plain:
        plain[kind].append(path)
        return
    files = found.predictions if kind is Kind.TEACHER_PREDICTION else found.batches
    files.append((path, _held(folder / path, is_prediction=kind is Kind.TEACHER_PREDICTION)))


def _held(path: Path, *, is_prediction: bool) -> tuple[str, ...]:
    """The stages that a teacher file holds, as recording.py reads them."""
    clip = read_clip(path)
    if not isinstance(clip, TeacherFile):
        return ()
    rows = {
        "state": clip.state_norm, "cond": clip.cond, "contacts": clip.contacts, "angvel": clip.angvel_norm,
        "pose_hist": clip.pose_hist_norm,
    }  # fmt: skip
    held = tuple(name for name, values in rows.items() if values is not None)
    return (*held, "y_out") if is_prediction else held
