"""Trace files, version 1: recordings of either side, in three formats; the file name gives the format.

`*.trace.jsonl` (also `.gz`, `.zst`) survives a crash up to its last whole line, `*.trace.bin` up to its last whole frame;
`*.trace.safetensors` is memory-mapped.
Any subset of stages is allowed; every frame has the same subset.

A character that starts again, or whose mode changes, goes on in the same file: each segment is a whole trace, a header and its
frames, and the recorder writes the next one behind it. docs/trace-format.md defines them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.reference_runtime.recordings.json_lines import lines_of
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, read_trace, write_trace
from rigpact.reference_runtime.recordings.trace_binary import binary_segments
from rigpact.reference_runtime.recordings.trace_json_lines import is_header
from rigpact.reference_runtime.recordings.trace_model import OWN_PRODUCER, Trace, TraceHeader, run_header

__all__ = [
    "OWN_PRODUCER", "SEGMENT_ENDINGS", "TRACE_ENDINGS", "Segments", "Trace", "TraceHeader", "read_trace", "run_header",
    "segments", "write_trace",
]  # fmt: skip
SEGMENT_ENDINGS = tuple(ending for ending in TRACE_ENDINGS if ending != ".trace.safetensors")
"""Traces that stand one behind the other in a file; a container of arrays has one."""


@dataclass(frozen=True)
class Segments:
    """The segments of a recording as files of their own, in order. tail: what a crash left of one more; None for nothing."""

    paths: tuple[Path, ...]
    tail: str | None = None

    def at(self, number: int | None, path: Path) -> Path:
        """One of them, counted from 1; without a number the only one. UnusableInput where that is none, or not clear."""
        if number is None and len(self.paths) > 1:
            raise UnusableInput(path, f"{len(self.paths)} recordings, one behind the other", "one", "--segment 1")
        if number is not None and not 0 < number <= len(self.paths):
            raise UnusableInput(f"--segment {number}", f"{len(self.paths)} segments", f"1 to {len(self.paths)}")
        return self.paths[(number or 1) - 1]


@contextmanager
def segments(path: Path) -> Iterator[Segments]:
    """The segments of a recording while the block runs. A file of one segment, or of another kind, is itself."""
    if not path.name.endswith(SEGMENT_ENDINGS) or not path.is_file() or path.stat().st_size == 0:
        yield Segments((path,))
        return
    parts, tail = _parts_of_frames(path) if path.name.endswith(".bin") else _parts_of_lines(path)
    if len(parts) <= 1 and tail is None:
        yield Segments((path,))
        return
    base, ending = path.name.split(".trace.", 1)
    with TemporaryDirectory(prefix="rigpact-") as folder:
        names = (f"{base}.segment-{number}.trace.{ending.split('.')[0]}" for number in range(1, len(parts) + 1))
        paths = tuple(Path(folder) / name for name in names)
        for each, content in zip(paths, parts, strict=True):
            write_bytes(each, content)
        yield Segments(paths, tail)


def _parts_of_frames(path: Path) -> tuple[list[bytes], str | None]:
    spans, tail = binary_segments(path)
    if len(spans) == 1 and tail is None:
        return [], None
    content = path.read_bytes()
    return [content[begin:end] for begin, end in spans], tail


def _parts_of_lines(path: Path) -> tuple[list[bytes], str | None]:
    if sum(is_header(line) for line, _ in lines_of(path)) < 2:
        return [], None
    parts: list[list[bytes]] = []
    frames = 0
    for line, whole in lines_of(path):
        if not parts or is_header(line):
            parts.append([])
            frames = 0
        else:
            frames += bool(line.strip()) and (whole or line.rstrip().endswith(b"}}"))
        parts[-1].append(line + (b"\n" if whole else b""))
    found = [b"".join(lines) for lines in parts]
    if frames:
        return found, None
    return found[:-1], f"segment {len(parts)} was cut off before its first frame was whole"
