"""Damage to the recording of a correct run of any system, as a recorder, a disk or a converter makes it.

Each entry writes a recorded trace as a damaged file of lines. To add one: a row in `broken_files` if no correct
recording can look like that, else in `wrong_rows`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.fixtures.mutants.recordings import NAME, Damage, edited, rows_kept, written
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace

Lines = list[dict[str, Any]]


def broken_files(stage: str, frames: int) -> dict[str, Damage]:
    """Damage that the file alone shows. stage: the recorded stage in which single values are damaged."""
    middle = frames // 2
    return {
        "recording cut off in the middle of a line": _cut_off,
        "recording empty": lambda _trace, folder: _bytes(folder, b""),
        "a frame recorded twice": edited(lambda lines: lines.insert(middle, dict(lines[middle - 1]))),
        f"{stage} under another name": edited(lambda lines: _rename(lines, stage)),
        f"{stage} a number short": written(lambda trace: _with_stage(trace, stage, trace.stages[stage][:, :-1])),
        "a row a number short": edited(lambda lines: lines[middle]["stages"][stage].pop()),
        "a word for a number": edited(lambda lines: lines[middle]["stages"][stage].__setitem__(0, "0.5")),
        f"a NaN in {stage}": written(lambda trace: _valued(trace, stage, np.nan, middle, 0)),
        f"an infinity in {stage}": written(lambda trace: _valued(trace, stage, np.inf, middle, 0)),
        f"NaN in {stage} from the middle on": written(
            lambda trace: _valued(trace, stage, np.nan, slice(middle, None), slice(None))
        ),
        "recorded under another contract": written(
            lambda trace: replace(trace, header=replace(trace.header, bundle_sha256="0" * 64, meaning_sha256="0" * 64))
        ),
    }


def wrong_rows(stage: str, frames: int) -> dict[str, Damage]:
    """Damage that only a comparison shows."""
    middle = frames // 2
    return {
        "last frames not recorded": written(rows_kept(slice(None, -3))),
        "first frame not recorded": written(rows_kept(slice(1, None))),
        "a frame in the middle not recorded": written(rows_kept(np.arange(frames) != middle)),
        "one frame recorded": written(rows_kept(slice(0, 1))),
        "frames numbered from 1": written(lambda trace: replace(trace, frame=trace.frame + 1)),
        "two frames exchanged": edited(lambda lines: _exchange(lines, 1, middle + 1)),
        "rows in reversed order": written(_each(lambda rows: rows[::-1].copy())),
        "every row one frame late": written(_each(lambda rows: np.concatenate((rows[:1], rows[:-1])))),
        "a stale frame": written(_each(lambda rows: _with_row(rows, middle, rows[middle - 1]))),
        f"{stage} not recorded": written(lambda trace: _with_stage(trace, stage, None)),
        "everything in float16": written(_each(lambda rows: rows.astype(np.float16).astype(np.float32))),
        "two decimals printed": written(_each(lambda rows: np.round(rows, 2))),
        "half the frame rate in the header": written(
            lambda trace: replace(trace, header=replace(trace.header, fps=trace.header.fps / 2.0))
        ),
    }


def _bytes(folder: Any, content: bytes) -> Any:
    write_bytes(folder / NAME, content)
    return folder / NAME


def _cut_off(trace: Trace, folder: Any) -> Any:
    write_trace(trace, folder / NAME)
    text = (folder / NAME).read_bytes()
    return _bytes(folder, text[: len(text) * 3 // 4])


def _each(change: Callable[[FloatArray], FloatArray]) -> Callable[[Trace], Trace]:
    return lambda trace: replace(trace, stages={name: change(rows) for name, rows in trace.stages.items()})


def _with_row(rows: FloatArray, row: int, values: FloatArray) -> FloatArray:
    changed = rows.copy()
    changed[row] = values
    return changed


def _with_stage(trace: Trace, stage: str, rows: FloatArray | None) -> Trace:
    stages = {name: values for name, values in trace.stages.items() if name != stage}
    return replace(trace, stages=stages if rows is None else {**trace.stages, stage: rows})


def _valued(trace: Trace, stage: str, value: float, row: Any, channel: Any) -> Trace:
    rows = trace.stages[stage].copy()
    rows[row, channel] = value
    return _with_stage(trace, stage, rows)


def _rename(lines: Lines, stage: str) -> None:
    for line in lines:
        line["stages"]["renamed"] = line["stages"].pop(stage)


def _exchange(lines: Lines, first: int, second: int) -> None:
    lines[first]["stages"], lines[second]["stages"] = lines[second]["stages"], lines[first]["stages"]
