"""Trace files, version 1: recordings of either side, in three formats; the file name gives the format.

`*.trace.jsonl` (also `.gz`, `.zst`) survives a crash up to its last whole line, `*.trace.bin` up to its last whole frame;
`*.trace.safetensors` is memory-mapped.
Any subset of stages is allowed; every frame has the same subset.
"""

from collections.abc import Callable
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.trace_binary import read_binary, write_binary
from rigpact.reference_runtime.recordings.trace_json_lines import begins_with_a_frame, read_json_lines, write_json_lines
from rigpact.reference_runtime.recordings.trace_model import OWN_PRODUCER, Trace, TraceHeader, run_header
from rigpact.reference_runtime.recordings.trace_safetensors import read_safetensors, write_safetensors

__all__ = [
    "OWN_PRODUCER", "TRACE_ENDINGS", "Trace", "TraceHeader", "has_trace_header", "is_trace_path", "read_trace", "run_header",
    "write_trace",
]  # fmt: skip
_FORMATS = {
    ".trace.jsonl": (read_json_lines, write_json_lines),
    ".trace.jsonl.gz": (read_json_lines, write_json_lines),
    ".trace.jsonl.zst": (read_json_lines, write_json_lines),
    ".trace.bin": (read_binary, write_binary),
    ".trace.safetensors": (read_safetensors, write_safetensors),
}
TRACE_ENDINGS = tuple(_FORMATS)


def is_trace_path(path: str | Path) -> bool:
    """Whether a file name is the name of a trace."""
    return Path(path).name.endswith(TRACE_ENDINGS)


def has_trace_header(path: str | Path) -> bool:
    """Whether a file with a trace's name begins with a header; a log of frames in JSON Lines may have none."""
    place = Path(path)
    return _format_of(place)[0] is not read_json_lines or not place.is_file() or not begins_with_a_frame(place)


def write_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace in the format given by its name, first under a temporary name."""
    _format_of(path)[1](trace, Path(path))


def read_trace(path: str | Path) -> Trace:
    """Read a trace in any format; UnusableInput names the file and line of an error."""
    read, place = _format_of(path)[0], Path(path)
    if place.is_dir():
        raise UnusableInput(path, "a directory", "a trace file")
    if not place.is_file():
        raise UnusableInput(path, "nothing", "an existing file", "check the spelling of the path")
    if place.stat().st_size == 0:
        raise UnusableInput(path, "an empty file", "a trace")
    return read(place)


def _format_of(path: str | Path) -> tuple[Callable[[Path], Trace], Callable[[Trace, Path], None]]:
    """The reader and the writer by a file's name; UnusableInput for a name that is no trace's."""
    for ending, own in _FORMATS.items():
        if Path(path).name.endswith(ending):
            return own
    raise UnusableInput(path, f"the name {Path(path).name}", f"a name ending in {', '.join(TRACE_ENDINGS)}")
