"""RP906-RP909, RP911: the rows of teacher files against the clip that they were made from."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.rules.clips.clip_features import clip_features, condition_of
from rigpact.contract.rules.clips.feet import contact_scores
from rigpact.contract.rules.family import Family, Need, rules_in
from rigpact.contract.rules.subject import Subject
from rigpact.contract.rules.views.bundle import NamedArray, member
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.views.rows import COND, STATE, Rows, lagged
from rigpact.contract.rules.wording import and_more, first_of
from rigpact.contract.statistics import FloatArray

STATE_ROWS_DIFFER = Rule.titled(
    "RP906 error state-rows-not-of-clip",
    message="row {row} is not frame {row} of {clip}: {where} is {found:.6g} un-normalised, {expected:.6g} in the"
    " clip{more}{guess}",
    hint="export the rows again from this clip with this bundle",
    why="the network is fed another motion than the engine plays from the clip: the two cannot agree",
)
CONDITION_ROWS_DIFFER = Rule.titled(
    "RP907 error condition-rows-not-of-clip",
    message="cond[{row}][{column}] = {found:.5g}, {clip} gives {expected:.5g} ({what}){more}{guess}",
    hint="action bits, unit direction and length of RootVelocityXY of frame t, raw",
    why="the character is told to do something else than the clip does",
)
CONDITION_ALIGNMENT_DIFFERS = Rule.titled(
    "RP908 warning condition-alignment-differs",
    message="meta.alignment.cond_to_y says {mode} with offset {offset}, the condition of {declared}; the rows are those of"
    " {found} of {clip} (off by at most {near:.2g}; for the declared frame {far:.2g})",
    hint="correct the declaration, or the rows",
    why="a program that follows the declaration steers the character a frame early or late",
)
CONTACT_ROWS_DIFFER = Rule.titled(
    "RP909 error contact-rows-not-of-clip",
    message="contacts[{row}] = {found}, the scores of frame {row} of {clip} are {expected}{more}{guess}",
    hint="take soft_contact_score of left and right foot of frame t, not whitened",
    why="the network plants the foot that swings",
)
PAIRS_NOT_OF_CLIP = Rule.titled(
    "RP911 error row-count-not-of-clip",
    message="{found} rows for the {frames} frames of {clip}: one row for each pair of neighbours is {expected}",
    hint="export the rows again from the whole clip",
    why="row and frame are matched by index: the rows after the gap belong to another moment",
)

_FEATURE = 1e-4
"""Rows and clip may differ by this in a component of a unit vector or in tanh: 0.006 degrees, rounding to four decimals."""
_CONDITION = 1e-4
"""Four decimals of a direction or a speed."""


@dataclass(frozen=True, eq=False)
class _Pair:
    """The rows of a teacher file and the clip that they were made from."""

    rows: Rows
    clip: ClipView

    @property
    def name(self) -> str:
        """The clip's file name."""
        return self.clip.path.name

    @cached_property
    def expected_condition(self) -> FloatArray | None:
        """The condition of every frame of the clip."""
        return condition_of(self.clip)


def check_rows_of_clips(subject: Subject) -> Iterator[Finding]:
    """Yield where rows are not of the clip that they name."""
    by_name = {clip.path.stem: clip for clip in subject.clips}
    for file in subject.rows:
        clip = by_name.get(file.file.clip_name)
        if clip is not None:
            pair = _Pair(file, clip)
            for check in (_check_count, _check_state_rows, _check_condition_rows, _check_contact_rows):
                yield from check(pair)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP, Need.ROWS, Need.BUNDLE), check_rows_of_clips)


def _check_count(pair: _Pair) -> Iterator[Finding]:
    rows, frames = pair.rows.file.rows.get(STATE), len(pair.clip.frames)
    if rows is not None and len(rows) != frames - 1:
        values = {"found": len(rows), "frames": frames, "clip": pair.name, "expected": frames - 1}
        yield PAIRS_NOT_OF_CLIP.at(pair.rows.path, (*STATE,), **values)


def _check_state_rows(pair: _Pair) -> Iterator[Finding]:
    found, frames = pair.rows.features, clip_features(pair.clip, pair.rows.bundle)
    mean = pair.rows.bundle.statistic("MuX", pair.rows.bundle.state)
    if found is None or frames is None or mean is None or len(frames) < 2:
        return
    wrong = _rows_off(found, frames, 0)
    if not wrong.any():
        return
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    lags = [lag for lag in (1, -1) if not _rows_off(found, frames, lag)[1:-1].any()]
    guess = f": they are those of frame t{lags[0]:+d}" if lags else _slices_guess(wrong, mean)
    values = {"row": row, "clip": pair.name, "where": mean.where(column), "found": float(found[row, column])}
    more = and_more(int(wrong.sum()) - 1, "numbers")
    expected = float(frames[row, column])
    pointer = json_pointer(*STATE, row, column)
    yield STATE_ROWS_DIFFER.at(pair.rows.path, pointer, expected=expected, more=more, guess=guess, **values)


def _rows_off(found: FloatArray, frames: FloatArray, lag: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    count = min(len(found), len(frames))
    shifted = frames[np.clip(np.arange(count) + lag, 0, len(frames) - 1)]
    slack = _FEATURE * np.maximum(1.0, np.abs(shifted))
    off: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.abs(found[:count] - shifted) > slack  # NaN is unknown
    return off


def _slices_guess(wrong: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], mean: NamedArray) -> str:
    bad = [entry.name for entry in mean.layout if wrong[:, entry.range].any()]
    return f" (all in {bad[0]})" if len(bad) == 1 else ""


def _check_condition_rows(pair: _Pair) -> Iterator[Finding]:
    found, expected = pair.rows.file.finite(COND), pair.expected_condition
    if found is None or expected is None or found.shape[1] != CONDITION_WIDTH or len(expected) < 2:
        return
    worst = {lag: _furthest(*lagged(found, expected, lag)) for lag in {0, 1, *pair.rows.condition_lags}}
    if min(worst.values()) <= _CONDITION:
        yield from _check_alignment(pair, worst)
        return
    count = min(len(found), len(expected) - 1)
    off = np.abs(found[:count] - expected[:count])
    row, column = (int(index) for index in np.argwhere(off > _CONDITION)[0])
    what = "action bit" if column < 4 else "direction" if column < 6 else "speed in m/s"
    more = and_more(int((off > _CONDITION).sum()) - 1, "numbers")
    values = {"row": row, "column": column, "found": float(found[row, column]), "clip": pair.name, "what": what}
    guess = _condition_guess(pair, found[:count], expected[:count])
    pointer = json_pointer(*COND, row, column)
    number = float(expected[row, column])
    yield CONDITION_ROWS_DIFFER.at(pair.rows.path, pointer, expected=number, more=more, guess=guess, **values)


def _furthest(found: FloatArray, expected: FloatArray) -> float:
    return float(np.abs(found - expected).max()) if found.size else 0.0


def _condition_guess(pair: _Pair, found: FloatArray, expected: FloatArray) -> str:
    trajectory = condition_of(pair.clip, direction="trajectory")
    readings = {"they follow TrajectoryDir": trajectory[: len(found)] if trajectory is not None else None}
    readings["the direction is negated"] = expected * [1, 1, 1, 1, -1, -1, 1]
    readings["the speed is in cm/s"] = expected * [1, 1, 1, 1, 1, 1, 100]
    fits = (words for words, rows in readings.items() if rows is not None and np.abs(found - rows).max() <= _CONDITION)
    return next((f": {words}" for words in fits), "")


def _check_alignment(pair: _Pair, worst: dict[int, float]) -> Iterator[Finding]:
    """The declared offset counts frames from the state's: 0 with match_x, 1 with match_y, the target's frame."""
    spec = member(pair.rows.bundle.meta, "alignment", "cond_to_y")
    mode, offset = member(spec, "mode"), member(spec, "offset")
    if type(offset) is not int or offset not in worst:
        return
    found = min(worst, key=lambda lag: worst[lag])
    if worst[offset] > _CONDITION:
        values = {"mode": repr(mode), "offset": offset, "declared": _frame(offset), "clip": pair.name}
        values |= {"found": _frame(found), "near": worst[found], "far": worst[offset]}
        yield CONDITION_ALIGNMENT_DIFFERS.at(pair.rows.path, (*COND,), **values)


def _frame(lag: int) -> str:
    return f"frame t{lag:+d}" if lag else "frame t"


def _check_contact_rows(pair: _Pair) -> Iterator[Finding]:
    found, scores = pair.rows.aux("contacts"), contact_scores(pair.clip)
    if found is None or scores is None or found.shape[1] != 2:
        return
    count = min(len(found), len(scores))
    found, scores = found[:count], scores[:count]
    for (row,), more in first_of(np.abs(found - scores).max(axis=1) > _FEATURE, "rows"):
        swapped = np.abs(found - scores[:, ::-1]).max() <= _FEATURE
        shown = {
            name: [float(f"{value:.4g}") for value in rows[row]]
            for name, rows in (("found", found), ("expected", scores))
        }
        guess = ": left and right are swapped" if swapped else ""
        pointer = json_pointer(*pair.rows.aux_path("contacts"), row)
        yield CONTACT_ROWS_DIFFER.at(pair.rows.path, pointer, row=row, clip=pair.name, more=more, guess=guess, **shown)
