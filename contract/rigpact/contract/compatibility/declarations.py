"""Everything else that a bundle declares: units, axes, rotation spec, rates, alignment, notes.

A table says what each declaration means, and to whom. A declaration without a row is a note: no program computes with it.
This module reports every difference between the two files, except at places that another module compares.
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
from rigpact.contract.rules.bundle.view import BundleView, columns_word

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


@dataclass(frozen=True)
class Declaration:
    """A place (a path, or the beginning of one), the kind of its change, the value that readers assume where it is absent."""

    path: tuple[Token, ...]
    kind: str
    default: Any = UNDECLARED
    meaning: Callable[[Any], Any] = _word


DECLARATIONS = (
    Declaration(("fps",), "frame-rate-changed", 60),
    Declaration(("pose_hist_len",), "history-length-changed"),
    Declaration(("meta", "units"), "units-changed", meaning=_unit),
    Declaration(("meta", "handedness"), "handedness-changed"),
    Declaration(("meta", "axes"), "axes-changed"),
    Declaration(("meta", "spaces"), "spaces-changed"),
    Declaration(("meta", "rot6d_spec", "columns"), "rotation-columns-changed", "xz", columns_word),
    Declaration(("meta", "rot6d_spec", "output_mode"), "output-mode-changed", "delta"),
    Declaration(("meta", "rot6d_spec"), "rotation-spec-changed"),
    Declaration(("meta", "alignment", "x_to_y"), "target-alignment-changed"),
    Declaration(("meta", "alignment", "cond_to_y"), "condition-alignment-changed"),
    Declaration(("meta", "y_to_x_map"), "writeback-map-changed"),
    Declaration(("cond_norm_config", "mode"), "condition-mode-changed", "raw"),
    Declaration(("cond_norm_config", "start"), "condition-width-changed", 0),
    Declaration(("cond_norm_config", "size"), "condition-width-changed", 7, lambda value: 7 if value is None else value),
    Declaration(("meta", "root_motion", "source"), "bookkeeping-changed"),
    Declaration(("meta", "root_motion", "forward_axis_sample_count"), "bookkeeping-changed"),
    Declaration(("meta", "root_motion"), "root-motion-changed"),
    Declaration(("meta", "trajectory"), "trajectory-changed"),
    Declaration(("meta", "asset_to_ue"), "basis-changed"),
    *(Declaration((key,), "bookkeeping-changed") for key in (
        "notes", "bundle_version", "pose_hist_dim", "cond_norm_config", "group_priors_rot6d", "s_eff_X", "s_eff_Y",
        "s_eff_meta", "J", "angvel_dim", "angvel_span", "pose_target_dim", "tanh_scales_pose_target", "MuPoseTarget",
        "StdPoseTarget",
    )),
    *(Declaration(("meta", key), "bookkeeping-changed") for key in ("std_floor", "adaptive", "alignment", "skeleton")),
)  # fmt: skip
"""What each declaration means; the longer of two paths stands first."""
_LENGTH = ("pose_hist_len",)


def compare_declarations(old: BundleView, new: BundleView) -> Iterator[Change]:
    """Yield what changed in every place that no other module compares."""
    yield from judge_differences(old.root, new.root)


def judge_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """The same for two JSON objects."""
    for path, first, second in differences(old, new):
        yield _judge(path, first, second)


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


def _judge(path: tuple[Token, ...], first: Any, second: Any) -> Change:
    row = next((row for row in DECLARATIONS if path[: len(row.path)] == row.path), None)
    kind = row.kind if row else "unknown-key-changed"
    if row is not None and Consumer.COSMETIC not in KINDS[kind].classes:
        kind = _meaningful_kind(row, first, second)
    message = f"{'.'.join(map(str, path))}: {text_of(first)} → {text_of(second)}"
    return change(kind, json_pointer(*path), short_of(first), short_of(second), message)


def _meaningful_kind(row: Declaration, first: Any, second: Any) -> str:
    """The row's kind if the meaning changed; else that a declaration was added or removed, or is spelled in another way."""
    meant = [row.meaning(row.default if value is UNDECLARED else value) for value in (first, second)]
    silent = first is UNDECLARED or second is UNDECLARED
    if silent and (row.default is UNDECLARED or same(*meant)):
        pair = ("history-length-declared", "history-length-undeclared")
        added, removed = pair if row.path == _LENGTH else ("declaration-added", "declaration-removed")
        return added if first is UNDECLARED else removed
    return "spelled-differently" if same(*meant) else row.kind
