"""Reads a trace that an engine is still writing: at each call the whole frames that came since the last one.

Lines of JSON and the binary form can grow; a compressed file and a safetensors file are written at their end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened
from rigpact.reference_runtime.recordings.json_lines import json_line
from rigpact.reference_runtime.recordings.trace_binary import read_frames_from
from rigpact.reference_runtime.recordings.trace_json_lines import FrameRows
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader, json_to_header

GROWING = (".trace.jsonl", ".trace.bin")
"""Names of the files that can be followed."""
_BLOCK_BYTES = 1 << 24
"""Most bytes that are read at once: a long file that is there already is judged piece by piece."""


class Growing(Protocol):
    """A file that grows."""

    def more(self) -> Trace | None:
        """The frames since the last call; None where no frame is whole yet. UnusableInput for damage."""
        ...


def growing(path: Path) -> Growing:
    """Follow a file; UnusableInput for one that does not grow frame by frame."""
    if not path.name.endswith(GROWING):
        raise UnusableInput(
            path, f"the name {path.name}", f"a name ending in {', '.join(GROWING)}", "only they grow by frames"
        )
    return _GrowingFrames(path) if path.name.endswith(".bin") else _GrowingLines(path)


class _GrowingFrames:
    """The binary form: frames of one size."""

    def __init__(self, path: Path) -> None:
        self._path, self._end = path, 0

    def more(self) -> Trace | None:
        """The whole frames since the last call."""
        if not self._path.is_file():
            return None
        if self._path.stat().st_size < self._end:  # recorded anew
            self._end = 0
        trace, self._end = read_frames_from(self._path, self._end)
        return trace


class _GrowingLines:
    """Lines of JSON, the header first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._start()

    def _start(self) -> None:
        self._end = self._line = 0
        self._rest = b""
        self._header: TraceHeader | None = None
        self._rows: FrameRows | None = None

    def more(self) -> Trace | None:
        """The whole lines since the last call."""
        if not self._path.is_file():
            return None
        if self._path.stat().st_size < self._end:  # recorded anew
            self._start()
        with opened(self._path, grows=True) as stream:
            stream.seek(self._end)
            block = stream.read(_BLOCK_BYTES)
        self._end += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._line += 1
            if line.strip():
                self._take(line)
        return None if self._rows is None or self._header is None else self._rows.taken(self._header)

    def _take(self, line: bytes) -> None:
        place = f"{self._path}:{self._line}"
        entry = json_line(line.removeprefix(b"\xef\xbb\xbf"), place)
        if self._rows is None:
            self._header, widths = json_to_header(entry, place)
            self._rows = FrameRows(widths)
        else:
            self._rows.append(entry, place)
