"""Everything else that a bundle declares: units, axes, rotation spec, rates, alignment, notes.

A table says what each declaration means, and to whom. A place without a row is one that nobody can judge: it may matter to
everybody. This module reports every difference between the two files, except at places that another module compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.compatibility.kinds import KINDS, Consumer
from rigpact.contract.compatibility.numbers import ARRAYS
from rigpact.contract.compatibility.values import UNDECLARED, same, short_of, text_of
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.layout import ROTATIONS, json_to_layout
from rigpact.contract.rules.bundle.view import BundleView, columns_word, member

_ELSEWHERE: frozenset[tuple[Token, ...]] = frozenset(
    [(array.key,) for array in ARRAYS]
    + [("input_dim",), ("output_dim",), ("meta", "state_layout"), ("meta", "output_layout"), ("meta", "bone_names")]
    + [("meta", "skeleton", key) for key in ("bone_names", "root_bone", "parents", "ref_local_offsets_m")]
)
"""Places that other modules compare."""


def _word(value: Any) -> Any:
    """A value as its readers hold it: words without case, numbers in float32."""
    if isinstance(value, list):
        return [_word(each) for each in value]
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return value.strip().lower() if isinstance(value, str) else value


def _unit(value: Any) -> Any:
    metre = ("m", "meter", "meters", "metre", "metres")
    return "meters" if _word(value) in metre else _word(value)


def _exact(value: Any) -> Any:
    """A word that its readers compare letter by letter."""
    return value


@dataclass(frozen=True)
class Declaration:
    """A place (a path, or the beginning of one), the kind of its change, the value that readers assume where it is absent.

    Without such a value, nobody can say whether a declaration that appears changes anything: it counts as changed.
    """

    path: tuple[Token, ...]
    kind: str
    default: Any = UNDECLARED
    meaning: Callable[[Any], Any] = _word


DECLARATIONS = (
    Declaration(("fps",), "frame-rate-changed", 60),
    Declaration(("pose_hist_len",), "history-length-changed"),
    Declaration(("meta", "units"), "units-changed", "meters", _unit),
    Declaration(("meta", "handedness"), "handedness-changed", "left"),
    Declaration(("meta", "axes", "x"), "axes-changed", "forward"),
    Declaration(("meta", "axes", "y"), "axes-changed", "right"),
    Declaration(("meta", "axes", "z"), "axes-changed", "up"),
    Declaration(("meta", "axes"), "axes-changed"),
    Declaration(("meta", "spaces", "bone_rotations"), "spaces-changed", "local_6d"),
    Declaration(("meta", "spaces", "bone_angular_velocities"), "spaces-changed", "local_rad_per_sec"),
    Declaration(("meta", "spaces"), "spaces-changed"),
    Declaration(("meta", "rot6d_spec", "columns"), "rotation-columns-changed", "xz", columns_word),
    Declaration(("meta", "rot6d_spec", "output_mode"), "output-mode-changed", "delta", _exact),
    Declaration(("meta", "rot6d_spec", "matrix_layout"), "rotation-spec-changed", "columns_are_axes"),
    Declaration(("meta", "rot6d_spec", "order"), "rotation-spec-changed", "a_then_b"),
    Declaration(("meta", "rot6d_spec", "handedness"), "rotation-spec-changed", "left"),
    Declaration(("meta", "rot6d_spec"), "rotation-spec-changed"),
    Declaration(("meta", "alignment", "x_to_y", "mode"), "target-alignment-changed", "next"),
    Declaration(("meta", "alignment", "x_to_y", "offset"), "target-alignment-changed", 1),
    Declaration(("meta", "alignment", "x_to_y"), "target-alignment-changed"),
    Declaration(("meta", "alignment", "cond_to_y"), "condition-alignment-changed"),
    Declaration(("meta", "y_to_x_map"), "writeback-map-changed"),
    Declaration(("cond_norm_config", "mode"), "condition-mode-changed", "raw"),
    Declaration(("cond_norm_config", "start"), "condition-width-changed", 0),
    Declaration(("cond_norm_config", "size"), "condition-width-changed", 7, lambda value: 7 if value is None else value),
    Declaration(("meta", "root_motion", "source"), "bookkeeping-changed"),
    Declaration(("meta", "root_motion", "forward_axis_sample_count"), "bookkeeping-changed"),
    Declaration(("meta", "root_motion", "root_yaw_units"), "root-motion-changed", "radians"),
    Declaration(("meta", "root_motion"), "root-motion-changed"),
    Declaration(("meta", "trajectory"), "trajectory-changed"),
    Declaration(("meta", "asset_to_ue", "applied"), "basis-changed", default=False),
    Declaration(("meta", "asset_to_ue"), "basis-changed"),
    *(Declaration((key,), "bookkeeping-changed") for key in (
        "notes", "bundle_version", "pose_hist_dim", "group_priors_rot6d", "s_eff_X", "s_eff_Y", "s_eff_meta", "J",
        "angvel_dim", "angvel_span", "pose_target_dim", "tanh_scales_pose_target", "MuPoseTarget", "StdPoseTarget",
    )),
    *(Declaration(("cond_norm_config", key), "bookkeeping-changed") for key in (
        "floor_rot6d", "floor_other", "floor_rootyaw", "floor_angvel",
    )),
    *(Declaration(("meta", key), "bookkeeping-changed") for key in ("std_floor", "adaptive", "built_in", "quantiles")),
    Declaration(("meta", "skeleton", "ref_offsets_source"), "bookkeeping-changed"),
)  # fmt: skip
"""What each declaration means; the longer of two paths stands first."""
_LENGTH = ("pose_hist_len",)
"""Undeclared, it follows from the history's own statistics, if they are in the same file."""


def compare_declarations(old: BundleView, new: BundleView) -> Iterator[Change]:
    """Yield what changed in every place that no other module compares."""
    yield from judge_differences(old.root, new.root)


def judge_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """The same for two JSON objects."""
    for path, first, second in differences(old, new):
        yield _judge(path, (first, second), (old, new))


def differences(first: Any, second: Any, path: tuple[Token, ...] = ()) -> Iterator[tuple[tuple[Token, ...], Any, Any]]:
    """Yield every place where two JSON values differ: objects member by member, arrays as a whole."""
    if path in _ELSEWHERE or same(first, second):
        return
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in sorted(first.keys() | second.keys()):
            yield from differences(first.get(key, UNDECLARED), second.get(key, UNDECLARED), (*path, key))
    elif isinstance(first, Mapping) and second is UNDECLARED:
        yield from _every_member(first, path, lambda value: (value, UNDECLARED))
    elif isinstance(second, Mapping) and first is UNDECLARED:
        yield from _every_member(second, path, lambda value: (UNDECLARED, value))
    else:
        yield path, first, second


def _every_member(
    holder: Mapping[str, Any], path: tuple[Token, ...], pair: Callable[[Any], tuple[Any, Any]]
) -> Iterator[tuple[tuple[Token, ...], Any, Any]]:
    """Yield the members of an object that appears or disappears, so that each is judged by its own meaning."""
    if path == ("meta", "skeleton"):
        return  # reported as a whole
    if not holder:
        yield (path, *pair(holder))
    for key in sorted(holder):
        yield from differences(*pair(holder[key]), (*path, key))


def _judge(
    path: tuple[Token, ...], values: tuple[Any, Any], roots: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> Change:
    row = next((row for row in DECLARATIONS if path[: len(row.path)] == row.path), None)
    if row is None:
        kind = _kind_without_row(path, values)
    elif Consumer.COSMETIC in KINDS[row.kind].classes:
        kind = row.kind
    else:
        defaults = map(_implied_length, roots) if row.path == _LENGTH else (row.default, row.default)
        meant = [each if value is UNDECLARED else value for value, each in zip(values, defaults, strict=True)]
        kind = _meaningful_kind(row, values, meant)
    message = f"{'.'.join(map(str, path))}: {' → '.join(map(text_of, values))}"
    return change(kind, json_pointer(*path), short_of(values[0]), short_of(values[1]), message)


def _kind_without_row(path: tuple[Token, ...], values: tuple[Any, Any]) -> str:
    """Nobody can judge it, unless it is an object that could hold declarations and holds none."""
    holds = any(row.path[: len(path)] == path for row in DECLARATIONS)
    if holds and {} in values and UNDECLARED in values:
        return _silent_kind(values)
    return "unjudged-change"


def _meaningful_kind(row: Declaration, values: tuple[Any, Any], meant: list[Any]) -> str:
    """The row's kind if the meaning changed; else that a declaration was added or removed, or is spelled in another way."""
    if UNDECLARED in meant or not same(*map(row.meaning, meant)):
        return row.kind
    if UNDECLARED not in values:
        return "spelled-differently"
    if row.path == _LENGTH:
        return "history-length-declared" if values[0] is UNDECLARED else "history-length-undeclared"
    return _silent_kind(values)


def _silent_kind(values: tuple[Any, Any]) -> str:
    return "declaration-added" if values[0] is UNDECLARED else "declaration-removed"


def _implied_length(root: Mapping[str, Any]) -> Any:
    """How many frames of history a file's statistics hold; UNDECLARED where it does not say."""
    history, layout = root.get("MuPoseHist"), json_to_layout(member(root, "meta", "output_layout"))
    bones = member(root, "J")
    width = layout[ROTATIONS].size if ROTATIONS in layout else 6 * bones if type(bones) is int else 0
    if not isinstance(history, list) or width <= 0 or len(history) % width:
        return UNDECLARED
    return len(history) // width
