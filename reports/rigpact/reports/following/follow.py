"""`rigpact explain --follow`: the first wrong stage of a recording, named while the engine still writes it.

Only the newest frames are judged, with as many before them as the stages look back. The cost of a look does not grow with the
recording.

Lines of JSON and the binary form can grow; a compressed file and a safetensors file are written at their end.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.graph.replayed import Evidence, check_widths
from rigpact.reference_runtime.recordings.json_lines import json_line
from rigpact.reference_runtime.recordings.trace_binary import read_frames_from
from rigpact.reference_runtime.recordings.trace_json_lines import FrameRows, is_header
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader, json_to_header
from rigpact.reports.diagnosing.diagnose import first_divergence
from rigpact.reports.diagnosing.diagnosis import Divergence
from rigpact.reports.diagnosing.evidence import EvidenceFiles

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
        expected = f"a name ending in {', '.join(GROWING)}"
        raise UnusableInput(path, f"the name {path.name}", expected, "only they grow by frames")
    return _GrowingFrames(path) if path.name.endswith(".bin") else _GrowingLines(path)


class _GrowingFrames:
    """The binary form: frames of one size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._segment = self._end = 0

    def more(self) -> Trace | None:
        """The whole frames since the last call."""
        if not self._path.is_file():
            return None
        if self._path.stat().st_size < max(self._segment, self._end):  # recorded anew
            self._segment = self._end = 0
        trace, self._segment, self._end = read_frames_from(self._path, self._segment, self._end)
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
        for at, line in enumerate(lines):
            if self._rows is not None and is_header(line):
                before = self._taken()
                self._header, self._rows = None, None
                if before is not None:  # the next segment's frames are the next call's
                    self._rest = b"\n".join((*lines[at:], self._rest))
                    return before
            self._line += 1
            if line.strip():
                self._take(line)
        return self._taken()

    def _taken(self) -> Trace | None:
        return None if self._rows is None or self._header is None else self._rows.taken(self._header)

    def _take(self, line: bytes) -> None:
        place = f"{self._path}:{self._line}"
        entry = json_line(line.removeprefix(b"\xef\xbb\xbf"), place)
        if self._rows is None:
            self._header, widths = json_to_header(entry, place)
            self._rows = FrameRows(widths)
        else:
            self._rows.append(entry, place)


LOOK_EVERY_S = 0.1
"""A tenth of the second within which the first wrong stage is to be named."""
_MOST_FRAMES = 240
"""Frames judged at once: so many are judged in less than a second, however many were there before rigpact looked."""


@dataclass(frozen=True)
class FollowRequest:
    """A recording that grows. idle_s: end when nothing came for so long; None: wait until somebody ends it."""

    recording: Path
    contract: Contract
    given: EvidenceFiles
    idle_s: float | None = None


@dataclass(frozen=True, eq=False)
class Followed:
    """Where a growing recording first differs; None where it never did. frames: how many were judged."""

    first: Divergence | None
    frames: int


def follow(request: FollowRequest) -> Followed:
    """Judge frames as they come, until one differs, nothing comes any more, or the user ends it (Control-C)."""
    judge, frames = _Judge(request), 0
    try:
        for trace in _pieces(request):
            first = judge.look(trace)
            frames += len(trace.frame)
            if first is not None:
                return Followed(first, frames)
    except KeyboardInterrupt:
        pass
    if not frames:
        raise UnusableInput(request.recording, "no frame", "a recording that grows", "does the engine write it there?")
    return Followed(None, frames)


def _pieces(request: FollowRequest) -> Iterator[Trace]:
    """What the file gives, in pieces; ends when it has been idle for long enough."""
    source, last = growing(request.recording), time.monotonic()
    while True:
        trace = source.more()
        if trace is not None:
            last = time.monotonic()
            for start in range(0, len(trace.frame), _MOST_FRAMES):
                yield _rows_of(trace, slice(start, start + _MOST_FRAMES))
            continue
        if request.idle_s is not None and time.monotonic() - last > request.idle_s:
            return
        time.sleep(LOOK_EVERY_S)


def _rows_of(trace: Trace, part: slice) -> Trace:
    stages = {name: rows[part] for name, rows in trace.stages.items()}
    return replace(trace, frame=trace.frame[part], time_s=trace.time_s[part], stages=stages)


class _Judge:
    """Looks at the newest frames, and keeps as many as the next look needs."""

    def __init__(self, request: FollowRequest) -> None:
        contract, files = request.contract, files_of(request.contract)
        self._path, self._contract, self._kept = request.recording, contract, 0
        self._drive = None if request.given.clip is None else files.drive(request.given.clip, contract)
        self._network = network_of(contract, request.given.onnx)
        reaches = [stage.reach_of(contract) for stage in contract.system.stages]
        self._overlap = sum(back + ahead for back, ahead in reaches) + 1  # stages that were not recorded add up
        self._recent: Trace | None = None

    def look(self, new: Trace) -> Divergence | None:
        """The first place in these frames that differs."""
        check_widths(self._contract, new.stages, self._path)
        recent = self._recent
        if recent is not None and (new.frame[0] <= recent.frame[-1] or new.header != recent.header):
            self._recent = None  # recorded anew, or another segment
        window = new if self._recent is None else _joined(self._recent, new)
        self._recent = _rows_of(window, slice(-self._overlap, None))
        shift = self._shift(window)
        first = first_divergence(self._evidence(window, shift), self._contract)
        return None if first is None else replace(first, frame=first.frame + shift)

    def _shift(self, window: Trace) -> int:
        """How far the frame numbers are moved back, so that a look at a late frame costs no more than one at an early one.

        A clip's rows are found by number, and the first frames begin a run: they keep their numbers.
        """
        return 0 if self._drive is not None else max(0, int(window.frame[0]) - self._overlap)

    def _evidence(self, window: Trace, shift: int) -> Evidence:
        order, mode = self._contract.system.graph.names, "free" if window.header.mode == "free" else "teacher"
        recorded = {name: window.stages[name] for name in order if name in window.stages}
        frame, network = np.asarray(window.frame - shift), self._network
        return Evidence(frame, window.header.fps, mode, recorded, self._drive, network, precision=window.precision)


def _joined(before: Trace, new: Trace) -> Trace:
    stages = {name: np.concatenate((before.stages[name], rows)) for name, rows in new.stages.items()}
    frame = np.concatenate((before.frame, new.frame))
    time_s = np.concatenate((before.time_s, new.time_s))
    return replace(new, frame=frame, time_s=time_s, stages=stages)
