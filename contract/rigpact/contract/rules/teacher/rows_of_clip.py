"""RP906-RP909, RP911: the rows of teacher files against the clip that they were made from."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import CONDITION_WIDTH
from rigpact.contract.rules.family import Artefacts, Need, family, findings_of
from rigpact.contract.rules.views.bundle import known, member, need
from rigpact.contract.rules.views.motion import COND, STATE, ClipView, Rows, clip_features, condition_of, lagged
from rigpact.contract.rules.wording import at_first, short
from rigpact.contract.statistics import FloatArray

STATE_ROWS_DIFFER = Rule.of("""RP906 error state-rows-not-of-clip
    row {row} is not frame {row} of {clip}: {where} is {found:.6g} un-normalised, {expected:.6g} in the clip{more}{guess}
    hint: export the rows again from this clip with this bundle
    why: the network is fed another motion than the engine plays from the clip: the two cannot agree""")
CONDITION_ROWS_DIFFER = Rule.of("""RP907 error condition-rows-not-of-clip
    cond[{row}][{column}] = {found:.5g}, {clip} gives {expected:.5g} ({what}){more}{guess}
    hint: action bits, unit direction and length of RootVelocityXY of frame t, raw
    why: the character is told to do something else than the clip does""")
CONDITION_ALIGNMENT_DIFFERS = Rule.of("""RP908 warning condition-alignment-differs
    meta.alignment.cond_to_y says {mode} with offset {offset}, the condition of {declared}; the rows are those of {found} of
    {clip} (off by at most {near:.2g}; for the declared frame {far:.2g})
    hint: correct the declaration, or the rows
    why: a program that follows the declaration steers the character a frame early or late""")
CONTACT_ROWS_DIFFER = Rule.of("""RP909 error contact-rows-not-of-clip
    contacts[{row}] = {found}, the scores of frame {row} of {clip} are {expected}{more}{guess}
    hint: take soft_contact_score of left and right foot of frame t, not whitened
    why: the network plants the foot that swings""")
PAIRS_NOT_OF_CLIP = Rule.of("""RP911 error row-count-not-of-clip
    {found} rows for the {frames} frames of {clip}: one row for each pair of neighbours is {expected}
    hint: export the rows again from the whole clip
    why: row and frame are matched by index: the rows after the gap belong to another moment""")

_FEATURE = 1e-4
"""Rows and clip may differ by this in a component of a unit vector or in tanh: 0.006 degrees, rounding to four decimals."""
_CONDITION = 1e-4
"""Four decimals of a direction or a speed."""


def _check_rows_of_clips(subject: Artefacts) -> Iterator[Finding]:
    by_name = {clip.path.stem: clip for clip in subject.clips}
    for rows in subject.rows:
        if rows.file.clip_name in by_name:
            checks = (_check_count, _check_state_rows, _check_condition_rows, _check_contact_rows)
            yield from findings_of(checks, rows, by_name[rows.file.clip_name])


FAMILY = family(globals(), (Need.CLIP, Need.ROWS, Need.BUNDLE), _check_rows_of_clips)


def _check_count(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, frames = len(need(rows.file.rows.get(STATE))), len(clip.frames)
    if found != frames - 1:
        values = {"found": found, "frames": frames, "clip": clip.path.name, "expected": frames - 1}
        yield PAIRS_NOT_OF_CLIP.at(rows.path, (*STATE,), **values)


def _check_state_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, frames = rows.features, clip_features(clip, rows.bundle)
    mean = rows.bundle.finite("MuX", rows.bundle.state)
    wrong = _rows_off(found, need(frames, when=len(frames) > 1), 0)
    lags = [lag for lag in (1, -1) if not _rows_off(found, frames, lag)[1:-1].any()]
    bad = [entry.name for entry in mean.layout if wrong[:, entry.range].any()]
    guess = f": they are those of frame t{lags[0]:+d}" if lags else f" (all in {bad[0]})" if len(bad) == 1 else ""
    values: dict[str, Any] = {"clip": clip.path.name, "found": found, "expected": frames, "guess": guess}
    values |= {"where": lambda _, column: mean.where(column)}
    place = (*STATE, ..., ...)
    yield from at_first(STATE_ROWS_DIFFER, rows.path, place, wrong, "numbers", "row column", **values)


def _rows_off(found: FloatArray, frames: FloatArray, lag: int) -> NDArray[np.bool_]:
    count = min(len(found), len(frames))
    shifted = frames[np.clip(np.arange(count) + lag, 0, len(frames) - 1)]
    return np.asarray(np.abs(found[:count] - shifted) > _FEATURE * np.maximum(1.0, np.abs(shifted)))  # NaN is unknown


def _check_condition_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    found, expected = rows.file.rows_at(COND), condition_of(clip)
    need(found, when=found.shape[1] == CONDITION_WIDTH and len(expected) > 1)
    worst = {lag: _furthest(*lagged(found, expected, lag)) for lag in {0, 1, *rows.condition_lags}}
    if min(worst.values()) <= _CONDITION:
        yield from _check_alignment(rows, clip, worst)
        return
    count = min(len(found), len(expected) - 1)
    found, expected, trajectory = found[:count], expected[:count], known(lambda: condition_of(clip, "trajectory"))
    readings = {"they follow TrajectoryDir": trajectory[:count] if trajectory is not None else None}
    readings["the direction is negated"] = expected * [1, 1, 1, 1, -1, -1, 1]
    readings["the speed is in cm/s"] = expected * [1, 1, 1, 1, 1, 1, 100]
    fits = (words for words, row in readings.items() if row is not None and np.abs(found - row).max() <= _CONDITION)
    values = {"found": found, "expected": expected, "clip": clip.path.name, "guess": next((f": {w}" for w in fits), "")}
    values |= {"what": lambda _, c: "action bit" if c < 4 else "direction" if c < 6 else "speed in m/s"}
    bad, place = np.abs(found - expected) > _CONDITION, (*COND, ..., ...)
    yield from at_first(CONDITION_ROWS_DIFFER, rows.path, place, bad, "numbers", "row column", **values)


def _furthest(found: FloatArray, expected: FloatArray) -> float:
    return float(np.abs(found - expected).max()) if found.size else 0.0


def _check_alignment(rows: Rows, clip: ClipView, worst: dict[int, float]) -> Iterator[Finding]:
    """The declared offset counts frames from the state's: 0 with match_x, 1 with match_y, the target's frame."""
    spec = member(rows.bundle.meta, "alignment", "cond_to_y")
    mode, offset = member(spec, "mode"), member(spec, "offset")
    if type(offset) is not int or offset not in worst:
        return
    found = min(worst, key=lambda lag: worst[lag])
    if worst[offset] > _CONDITION:
        values = {"mode": repr(mode), "offset": offset, "declared": _frame(offset), "clip": clip.path.name}
        values |= {"found": _frame(found), "near": worst[found], "far": worst[offset]}
        yield CONDITION_ALIGNMENT_DIFFERS.at(rows.path, (*COND,), **values)


def _frame(lag: int) -> str:
    return f"frame t{lag:+d}" if lag else "frame t"


def _check_contact_rows(rows: Rows, clip: ClipView) -> Iterator[Finding]:
    contacts, scores = rows.aux("contacts"), clip.feet("soft_contact_score")
    count = min(len(need(contacts, when=contacts.shape[1] == 2)), len(scores))
    found, expected = contacts[:count], scores[:count]
    swapped = np.abs(found - expected[:, ::-1]).max(initial=0.0) <= _FEATURE
    values: dict[str, Any] = {"found": lambda row: short(found[row]), "expected": lambda row: short(expected[row])}
    values |= {"clip": clip.path.name, "guess": ": left and right are swapped" if swapped else ""}
    bad, place = np.abs(found - expected).max(axis=1) > _FEATURE, (*rows.aux_path("contacts"), ...)
    yield from at_first(CONTACT_ROWS_DIFFER, rows.path, place, bad, "rows", "row", **values)
