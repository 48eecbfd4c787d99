"""What the lines of an engine log prove.

Compositions, published poses and conditions are recordings of a character of one bone, and diagnosed like any other. Widths,
statistics that the engine made up, and poses that are not rotations contradict the contract without a convention to name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import character_contract
from rigpact.contract.character import Character, character_of, is_character
from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONDITION_WIDTH,
    INPUTS,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Layout,
    Slice,
)
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.contract.statistics import FloatArray, Statistics, frozen_float32
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.operations.six_numbers import GRAM_SCHMIDT, Rot6d
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis, together
from rigpact.reports.diagnosing.engine_log import Composition, Condition, EngineLog, Printed, read_engine_log

# The conditions that a log prints, against the clip that drove the logged engine.


class LogMisfit(NamedTuple):
    """How many bits and speeds, and numbers of the direction, are beyond rounding; and the largest difference."""

    of_others: int
    of_direction: int
    furthest: float


def whole_conditions(log: EngineLog) -> list[Condition]:
    """The lines that print every number of a condition."""
    return [line for line in log.conditions if len(line.raw.numbers) == CONDITION_WIDTH]


def conditions_of_clip(log: EngineLog, contract: Contract, clip: Path) -> Evidence | None:
    """The printed raw conditions as a recording of the frames of the clip that they fit best; None for a log without any.

    Of several lines at one frame, the one that fits worst: where it is within rounding, the others are.
    """
    lines = whole_conditions(log)
    if not lines:
        return None
    drive = files_of(contract).drive(clip, contract)
    decimals = min(line.raw.decimals for line in lines)
    printed = np.unique(np.stack([line.raw.numbers for line in lines]), axis=0)
    readings = (contract.with_conventions({"condition_direction": word}) for word in _readings(contract))
    placings = [_placed(printed, drive(reading), 0.5 * 10.0**-decimals) for reading in readings]
    _, found = min(placings, key=lambda placing: placing[0])
    frames = np.array(sorted(found))
    recorded = {"cond_raw": np.stack([found[frame][1] for frame in frames.tolist()])}
    return Evidence(
        frames, log.fps or contract.known_fps, "teacher", recorded, drive, precision=Precision(decimals=decimals)
    )


def _readings(contract: Contract) -> list[str]:
    """The readings of the direction, the contract's own first: a log that fits as well under two of them is placed by it."""
    own = str(contract.conventions.condition_direction)
    return [own, *(word for word in contract.system.knobs["condition_direction"].values if word != own)]


def _placed(printed: FloatArray, rows: Any, half_digit: float) -> tuple[int, dict[int, tuple[LogMisfit, FloatArray]]]:
    """How many printed numbers fit no frame; by frame of the clip, the condition that fits worst of those placed there."""
    found: dict[int, tuple[LogMisfit, FloatArray]] = {}
    count = 0
    for row in printed:
        frame, misfit = _best(row, rows.cond_raw[: rows.steps], half_digit)
        count += misfit.of_others + misfit.of_direction
        if frame not in found or misfit > found[frame][0]:
            found[frame] = misfit, row
    return count, found


def _best(row: FloatArray, conditions: FloatArray, half_digit: float) -> tuple[int, LogMisfit]:
    """The frame of the clip that a condition fits best, and by how much it does not fit."""
    apart: NDArray[np.float64] = np.abs(conditions.astype(np.float64) - row)
    apart[~np.isfinite(apart)] = np.inf
    rounding = float(np.finfo(np.float32).eps) * np.maximum(np.abs(conditions), 1.0)
    is_off = ~(apart <= half_digit + rounding)
    of_direction = is_off[:, _DIRECTION].sum(axis=1)
    of_others = is_off.sum(axis=1) - of_direction
    furthest = apart.max(axis=1)
    frame = int(np.lexsort((furthest, of_direction, of_others))[0])
    return frame, LogMisfit(int(of_others[frame]), int(of_direction[frame]), float(furthest[frame]))


_GIVEN = ("delta6d", "x_raw", "cond_raw")
"""The log prints these, and nothing that they could be computed from."""
_BITS, _DIRECTION, _SPEED = slice(0, 4), slice(4, 6), slice(6, 7)
_LAYOUT = Layout(
    (Slice(0, 6, ROTATIONS), Slice(6, 1, ROOT_YAW), Slice(7, 2, ROOT_VELOCITY), Slice(9, 3, ANGULAR_VELOCITIES)), 12
)


def explain_log(
    path: Path,
    contract: Contract | None,
    changes: Mapping[str, Any],
    clip: Path | None = None,
    budget: Budget | None = None,
) -> tuple[Diagnosis, list[str]]:
    """Explain a log; bundle and clip are optional. UnusableInput when it holds no line that says anything.

    clip: what drove the logged engine; it needs the bundle. budget: how long to search.
    """
    if contract is not None and not is_character(contract):
        raise UnusableInput(
            "--contract", f"a contract of {contract.system.title}", "the schema bundle of the logged engine"
        )
    if clip is not None and contract is None:
        raise UnusableInput("--clip", "no bundle", "--contract too: it says how the clip's rows are made")
    log = read_engine_log(path)
    declared = contract.conventions if contract else find_system(ENEMY_ANIMATION).conventions(changes)
    one_bone = _one_bone(declared, path)
    recorded = log_evidence(log, declared)
    found = [diagnose(evidence, one_bone, allow_unjudged=_GIVEN, budget=budget) for evidence in recorded]
    driven = None if clip is None or contract is None else conditions_of_clip(log, contract, clip)
    if driven is not None and contract is not None:
        found = [part.without_unjudged(("cond_raw",)) for part in found] + [diagnose(driven, contract, budget=budget)]
    contradictions = tuple(_contradictions(log, contract, declared))
    needs_bundle = log.history_fell_back and contract is None
    is_complete = not needs_bundle and all(line.width == CONDITION_WIDTH for line in log.conditions)
    if not found and not contradictions:
        cut = " and ".join(f"{count} cut off {mark} lines" for mark, count in log.cut_off.items())
        hint = "give --contract: it says whether its statistics were there" if needs_bundle else "log the first 4 steps"
        wanted = "at least one whole [DeltaCompose], y_reproj or [BuildCondVector] line"
        raise UnusableInput(path, cut or "no line that can be judged", wanted, hint)
    of_clip = [] if driven is None else _about_placing(log, driven)
    answer = together(found, one_bone.system.graph, contradictions, complete=is_complete)
    return answer, [*_notes(log, contract), *of_clip]


def _about_placing(log: EngineLog, driven: Evidence) -> list[str]:
    """Which frames of the clip the conditions are held against, and which of them the engine says the player drove."""
    frames = ", ".join(map(str, driven.frame[:8].tolist())) + (", …" if len(driven.frame) > 8 else "")
    notes = [f"[BuildCondVector] lines are held against the frames of the clip that they fit best: {frames}"]
    players = sum(line.is_players for line in log.conditions)
    if players:
        notes.append(f"{players} [BuildCondVector] lines say useTeacher=0: a player drove them, not the clip")
    return notes


def _notes(log: EngineLog, contract: Contract | None) -> list[str]:
    notes = _about_published(log)
    notes += [f"{count} {mark} lines are cut off and were passed over" for mark, count in log.cut_off.items()]
    if log.probes:
        notes.append(f"{log.probes} [Probe-CS] lines were not judged: the contract has no component-space poses")
    others = sum(line.width != CONDITION_WIDTH for line in log.conditions)
    if others:
        notes.append(f"{others} [BuildCondVector] lines were not judged: a condition has {CONDITION_WIDTH} numbers")
    if contract is None and log.widths:
        notes.append("the widths in the log were not judged: give --contract")
    if contract is None and log.history_fell_back:
        notes.append("the engine fell back on pose-history statistics of its own: give --contract to judge that")
    return notes


def log_evidence(log: EngineLog, conventions: Conventions) -> Iterator[Evidence]:
    """The lines of a log as recordings of a character of one bone: a run of compositions each, and the conditions.

    Published poses without any composition are a recording of their own: what they follow from is not in the log.
    """
    for run in log.runs:
        published = [line for line in run if line.published is not None]
        if 0 < len(published) < len(run):
            yield _compositions(published, conventions, log.fps or 60.0)
        yield _compositions(run, conventions, log.fps or 60.0)
    poses = [] if log.compositions else [printed for printed, _ in log.published]
    if poses:
        yield _published_alone(poses, conventions, log.fps or 60.0)
    conditions = whole_conditions(log)
    if conditions:
        recorded = {
            "cond_raw": np.stack([line.raw.numbers for line in conditions]),
            "cond": np.stack([line.out.numbers for line in conditions]),
        }
        decimals = min(min(line.raw.decimals, line.out.decimals) for line in conditions)
        frame = np.arange(len(conditions))
        yield Evidence(frame, log.fps or 60.0, "teacher", recorded, precision=Precision(decimals=decimals))


def _published_alone(poses: Sequence[Printed], conventions: Conventions, fps: float) -> Evidence:
    precision = Precision(decimals=min(each.decimals for each in poses))
    rows = np.stack([_axes_by_name(pose, conventions) for pose in poses])
    return Evidence(np.arange(len(poses)), fps, "teacher", {"y_out": rows}, precision=precision)


def _about_published(log: EngineLog) -> list[str]:
    """What was asked of published poses that no composition stands beside."""
    if not log.published or log.compositions:
        return []
    return [
        f"{len(log.published)} y_reproj lines: only whether each is a rotation was judged; which one it should be, the"
        " [DeltaCompose] lines of the same steps say"
    ]


def _compositions(run: Sequence[Composition], conventions: Conventions, fps: float) -> Evidence:
    """The compositions of a run; with the published pose if it was printed for each of them."""
    axes = np.stack([line.axes.numbers for line in run])
    x_raw = np.zeros((len(run), _LAYOUT.width), np.float32)
    x_raw[:, _LAYOUT[ROTATIONS].range] = axes[:, 0:6]
    recorded = {"x_raw": x_raw, "delta6d": axes[:, 6:12], "next6d": axes[:, 12:18]}
    printed = [line.axes for line in run]
    published = [line.published for line in run if line.published is not None]
    if len(published) == len(run) and conventions.bone_order == "as_declared":
        recorded["y_out"] = np.stack([_axes_by_name(pose, conventions) for pose in published])
        printed += published
    precision = Precision(decimals=min(each.decimals for each in printed))
    return Evidence(np.array([line.frame for line in run]), fps, "teacher", recorded, precision=precision)


def _axes_by_name(published: Printed, conventions: Conventions) -> FloatArray:
    """Axes X and Z of bone 0, (6,), from its published numbers, which have the bundle's columns and packing."""
    matrix = Rot6d(conventions).decode_as_is(published.numbers[:6].astype(np.float64))[0]
    return np.concatenate((matrix[:, 0], matrix[:, 2])).astype(np.float32)


def _one_bone(conventions: Conventions, path: Path) -> Contract:
    def unit(width: int) -> Statistics:
        return Statistics(frozen_float32(np.zeros(width)), frozen_float32(np.ones(width)))

    character = Character(
        bone_names=("bone 0",),
        state=_LAYOUT,
        output=Layout((Slice(0, 6, ROTATIONS),), 6),
        state_statistics=unit(_LAYOUT.width),
        output_statistics=unit(6),
        rootvel_scales=frozen_float32(np.ones(2)),
        angvel_scales=frozen_float32(np.ones(3)),
        pose_history_length=1,
        pose_history=None,
        angular_velocity=None,
        skeleton=None,
    )
    # the log prints the axes X and Z by name, whatever the bundle's packing
    by_name = {"rot6d_columns": "xz", "rot6d_packing": "columns", "angvel_source": "zeros", "bone_order": "as_declared"}
    return character_contract(character, conventions.replaced(by_name), path)


def _contradictions(log: EngineLog, contract: Contract | None, conventions: Conventions) -> Iterator[str]:
    """What the log says against the contract, in words."""
    if contract is not None:
        yield from _width_disagreements(log, contract)
    for given, bound in sorted(log.bound):
        for name, length, width in zip(INPUTS, given, bound, strict=True):
            if length != width:
                yield f"the engine gives {name} {length} numbers and binds {width}: it is silently cut or padded"
    if conventions.reproject in ("both", "after") and conventions.degenerate_axis != "zero":
        yield from _no_rotations(log, conventions)
    for place, line in enumerate(log.conditions):
        if len(line.raw.numbers) != line.width:
            yield f"[BuildCondVector] line {place + 1} says Dim={line.width} and prints {len(line.raw.numbers)} numbers"
        elif line.width == CONDITION_WIDTH:
            yield from (f"[BuildCondVector] line {place + 1}: {fault}" for fault in _condition_faults(line.raw))


def _width_disagreements(log: EngineLog, contract: Contract) -> Iterator[str]:
    """Where widths and rate in the log differ from the bundle."""
    character = character_of(contract)
    expected: dict[str, int | None] = {"output": character.output.width, **character.input_widths}
    widths = {**log.widths, "output": log.widths.get("output", set()) | {width for _, width in log.published}}
    widths["cond"] = widths.get("cond", set()) | {line.width for line in log.conditions}
    for name, found in widths.items():
        if expected.get(name) is not None:
            for width in sorted(found - {expected[name]}):
                yield f"the engine reports {name} = {width}, the bundle gives {expected[name]}"
    if log.fps is not None and log.fps != contract.fps:
        yield f"the engine reports fps = {log.fps:g}, the bundle gives {contract.fps:g}"
    own = character.pose_history is None or contract.conventions.pose_history_norm == "tanh_unit_scale"
    if log.history_fell_back and not own:
        yield "the engine fell back on pose-history statistics of its own: none are in its bundle"


def _no_rotations(log: EngineLog, conventions: Conventions) -> Iterator[str]:
    """Published poses of the first two bones that are not rotations.

    A printed axis is off by √3·r, half the last digit r: so are its length, and the cosine of two axes by twice as much.
    """
    codec = Rot6d(conventions)
    for place, (printed, _) in enumerate(log.published):
        axes = np.stack(codec.split(printed.numbers.astype(np.float64)))
        lengths, cosines = np.linalg.norm(axes, axis=-1), np.abs((axes[0] * axes[1]).sum(axis=-1))
        allowed = 2.0 * np.sqrt(3.0) * printed.half_digit + gamma(GRAM_SCHMIDT)
        for bone, cosine in enumerate(cosines):
            off = max(abs(lengths[0, bone] - 1.0), abs(lengths[1, bone] - 1.0), cosine)
            if not off <= allowed:
                yield (
                    f"y_reproj line {place + 1}, bone {bone}: no rotation, its axes have lengths {lengths[0, bone]:.3g} "
                    f"and {lengths[1, bone]:.3g} and the cosine {cosine:.3g}"
                )


def _condition_faults(raw: Printed) -> Iterator[str]:
    """What no condition can hold: bits are in [0, 1], the direction is a unit vector or zero, the speed is not negative."""
    values, half_digit = raw.numbers.astype(np.float64), raw.half_digit
    bits, speed = values[_BITS], values[_SPEED]
    if not ((bits >= -half_digit) & (bits <= 1.0 + half_digit)).all():
        yield f"action bits {_listed(bits)}, outside 0 … 1"
    size, allowed = float(np.linalg.norm(values[_DIRECTION])), np.sqrt(2.0) * half_digit + gamma(GRAM_SCHMIDT)
    if not min(abs(size - 1.0), size) <= allowed:
        yield f"direction {_listed(values[_DIRECTION])} of length {size:.3g}, neither 1 nor 0"
    if not (speed >= -half_digit).all():
        yield f"speed {_listed(speed)}, below 0"


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:g}" for value in values)
