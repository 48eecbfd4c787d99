"""A recording in another format: whatever can be read is written as a trace, or as a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.recordings.named_columns import opened_recording
from rigpact.reference_runtime.recordings.opened import WRITTEN_ENDINGS, open_file, write_recording
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.trace_model import Trace


@dataclass(frozen=True)
class Says:
    """What the caller says of a recording that its file does not say: mode, frames a second, who recorded it."""

    mode: str | None = None
    fps: float | None = None
    producer: str | None = None


@dataclass(frozen=True)
class ConvertRequest:
    """A recording and the file to write. unnamed: the stages of numbers without names."""

    recording: Path
    out: Path
    contract: ContractFiles
    unnamed: Sequence[str] = ()
    says: Says = field(default_factory=Says)


@dataclass(frozen=True)
class Converted:
    """What was written, and what to know of it."""

    out: Path
    trace: Trace
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The recording in words."""
        stages = ", ".join(f"{name} ({width})" for name, width in self.trace.widths.items())
        return f"{len(self.trace.frame)} frames, {self.trace.header.mode}, of {stages}"

    @property
    def facts(self) -> dict[str, Any]:
        """The recording as data."""
        header = self.trace.header
        return {
            "frames": len(self.trace.frame), "fps": header.fps, "mode": header.mode, "system": header.system,
            "stages": self.trace.widths,
        }  # fmt: skip


def is_recording(path: Path) -> bool:
    """Whether a file says itself what its numbers are, without a contract: a trace, a clip or a teacher file."""
    return open_file(path).kind in {Kind.TRACE, Kind.RAW_CLIP, Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION}


def convert_recording(request: ConvertRequest) -> Converted:
    """Read a recording and write it in the format that the name of the other file says."""
    _refuse_name(request.out)
    trace = _read(request)
    header, notes = trace.header, []
    said = {name: value for name, value in vars(request.says).items() if value}
    trace = replace(trace, header=replace(header, **said))
    if not header.says_mode and request.says.mode is None:
        notes.append(f"the driver of the run is unknown: written as {header.mode}; --mode says it")
    if trace.truncation:
        notes.append(f"the recording is incomplete: {trace.truncation}")
    if trace.precision is not None:
        notes.append(f"its numbers are written with {trace.precision}: the other file holds no more than they do")
    write_recording(trace, request.out)
    return Converted(request.out, trace, tuple(notes))


def _refuse_name(out: Path) -> None:
    """UnusableInput for a name that no format has, before anything is read."""
    if not out.name.lower().endswith(WRITTEN_ENDINGS):
        raise UnusableInput(out, f"the name {out.name}", f"a name ending in {', '.join(WRITTEN_ENDINGS)}")


def _read(request: ConvertRequest) -> Trace:
    path, contract = request.recording, request.contract.opened_if_given()
    if contract is None:
        return opened_recording(path, None) if open_file(path).is_recording else read_recording(path).trace
    if request.unnamed:
        return opened_recording(path, contract, unnamed=request.unnamed)
    found: Trace = files_of(contract).recording(path, contract).trace
    return found
