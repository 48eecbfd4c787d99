"""Conventions: every place where two correct-looking implementations differ, as data.

A `Conventions` value names one choice per knob. The default is the contract. The reference runtime executes every value;
what a value *does* stands in a table of functions beside the stage it changes (rigpact.reference_runtime). To add a
value: add it to its knob here and a row to that table; a test compares the two.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes

INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")
"""The five network inputs, in the order in which the engine binds them."""
STAGES = (
    "x_raw", "state", "cond_raw", "cond", "contacts", "angvel", "pose_hist_raw", "pose_hist",
    "y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat", "x_raw_next",
)  # fmt: skip
"""The named stages of one frame, in loop order."""


@dataclass(frozen=True)
class Knob:
    """One convention: its values (the default first), the stages it changes, and what it says."""

    name: str
    values: tuple[str, ...]
    stages: tuple[str, ...]
    meaning: str


_ROTATION_STAGES = ("angvel", "pose_hist_raw", "delta6d", "next6d", "y_out", "quat", "x_raw_next")

KNOBS: Mapping[str, Knob] = {
    knob.name: knob
    for knob in (
        Knob("output_mode", ("delta", "residual", "absolute"), ("y_raw", "delta6d", "next6d"),
             "what the network's rotations mean: ΔR, ΔR minus identity, or the next pose itself"),
        Knob("rot6d_columns", ("xz", "xy", "zx", "yx", "yz", "zy"), _ROTATION_STAGES,
             "which two columns of R the six numbers hold, in this order"),
        Knob("rot6d_packing", ("columns", "rows", "interleaved"), _ROTATION_STAGES,
             "two columns one after the other, the first two rows of R, or a0 b0 a1 b1 a2 b2"),
        Knob("derived_axis", ("second_cross_first", "first_cross_second"), _ROTATION_STAGES,
             "the cross product of the third axis; the default also flips it when det < 0, the other value trusts it"),
        Knob("compose_order", ("delta_prev", "prev_delta"), ("next6d",),
             "R_next = ΔR · R_prev or R_prev · ΔR (columns are axes)"),
        Knob("delta_direction", ("forward", "inverse"), ("next6d",), "whether ΔR leads to the next pose or back from it"),
        Knob("reproject", ("both", "before", "after", "none"), ("delta6d", "next6d", "y_out"),
             "where Gram–Schmidt runs: on ΔR before composing, on the composed pose after it"),
        Knob("degenerate_axis", ("previous_frame", "canonical", "zero"), ("delta6d", "next6d", "y_out", "quat"),
             "what replaces an axis too short to normalise"),
        Knob("denorm", ("std_and_mean", "std_only", "mean_only", "variance", "state_stats"), ("y_raw",),
             "how y_norm becomes y_raw"),
        Knob("rootvel_squash", ("tanh", "linear", "none", "tanh_after_zscore"), ("state",),
             "how root velocity is squashed by its scale"),
        Knob("angvel_squash", ("tanh", "linear", "none", "tanh_after_zscore"), ("state", "angvel"),
             "how bone angular velocity is squashed by its scale"),
        Knob("yaw_encoding",
             ("wrapped_over_pi", "unwrapped_over_pi", "radians", "degrees_over_180", "absolute"), ("state",),
             "how the root yaw becomes a feature"),
        Knob("pose_history_order", ("oldest_first", "newest_first"), ("pose_hist_raw",), "order of the frames"),
        Knob("pose_history_phase", ("includes_current", "excludes_current"), ("pose_hist_raw",),
             "whether the newest entry is the current pose or the one before it"),
        Knob("pose_history_norm", ("tanh_zscore", "tanh", "tanh_unit_scale", "raw"), ("pose_hist",),
             "how the history is normalised; tanh_unit_scale is the engine's fallback without statistics"),
        Knob("pose_history_start", ("seed_pose", "identity", "zeros", "first_target"), ("pose_hist_raw",),
             "what stands for the frames before the first"),
        Knob("contacts_source", ("soft_scores", "binary", "whitened", "zeros", "swapped_feet"), ("contacts",),
             "what the Contacts input holds"),
        Knob("condition_direction", ("velocity", "trajectory", "negated", "swapped_xy", "mirrored_y"), ("cond_raw",),
             "the planar direction of the condition"),
        Knob("condition_speed_unit", ("m_s", "cm_s"), ("cond_raw",), "unit of the condition's speed"),
        Knob("condition_norm", ("raw", "zscore"), ("cond",), "pass through, or z-score over a window"),
        Knob("angvel_source", ("aux_stats", "rotations", "state_slice", "frozen", "zeros"), ("angvel",),
             "where the AngVel input comes from"),
        Knob("angvel_angle", ("full", "half"), ("angvel",), "the rotation vector's angle: θ or θ/2"),
        Knob("angvel_frame", ("parent", "local"), ("angvel",), "the frame in which the rotation vector is expressed"),
        Knob("angvel_lag", ("0", "-1", "+1"), ("angvel",), "frames by which the AngVel input runs ahead"),
        Knob("previous_pose_lag", ("0", "-1", "+1"), ("next6d",),
             "which frame ΔR is applied to; +1 is the target itself, a leak"),
        Knob("bone_order", ("as_declared", "left_right_swapped"), ("y_out", "quat", "x_raw_next"),
             "which rotation each published bone takes; also any permutation: slot i takes bone order[i]"),
        Knob("mirror", ("none", "x", "y", "z"), ("y_out", "quat", "x_raw_next"),
             "change of handedness of the published pose: R becomes S·R·S with S = diag(±1)"),
        Knob("quaternion_order", ("xyzw", "wxyz"), ("quat",), "component order of published quaternions"),
        Knob("input_order", (",".join(INPUTS),), ("y_norm",),
             "which vector is bound at each of the network's five positions; any permutation"),
        Knob("writeback", ("output_slices", "none", "all"), ("x_raw_next",),
             "which state slices free-run renews from the output"),
        Knob("math", ("f64", "f32"), (), "precision between float32 roundings; benign, never a defect"),
    )
}  # fmt: skip
"""Every knob by name."""

BoneOrder = str | tuple[int, ...]


@dataclass(frozen=True)
class Conventions:
    """One choice per knob. Immutable; `replaced` returns a changed copy. Raises UnusableInput on an unknown value."""

    output_mode: str = "delta"
    rot6d_columns: str = "xz"
    rot6d_packing: str = "columns"
    derived_axis: str = "second_cross_first"
    compose_order: str = "delta_prev"
    delta_direction: str = "forward"
    reproject: str = "both"
    degenerate_axis: str = "previous_frame"
    denorm: str = "std_and_mean"
    rootvel_squash: str = "tanh"
    angvel_squash: str = "tanh"
    yaw_encoding: str = "wrapped_over_pi"
    pose_history_order: str = "oldest_first"
    pose_history_phase: str = "includes_current"
    pose_history_norm: str = "tanh_zscore"
    pose_history_start: str = "seed_pose"
    contacts_source: str = "soft_scores"
    condition_direction: str = "velocity"
    condition_speed_unit: str = "m_s"
    condition_norm: str = "raw"
    angvel_source: str = "aux_stats"
    angvel_angle: str = "full"
    angvel_frame: str = "parent"
    angvel_lag: str = "0"
    previous_pose_lag: str = "0"
    bone_order: BoneOrder = "as_declared"
    mirror: str = "none"
    quaternion_order: str = "xyzw"
    input_order: tuple[str, ...] = INPUTS
    writeback: str = "output_slices"
    math: Literal["f64", "f32"] | str = "f64"

    def __post_init__(self) -> None:
        """Refuse a value that its knob does not have."""
        for entry in fields(self):
            _check_value(entry.name, getattr(self, entry.name))

    def replaced(self, changes: Mapping[str, Any]) -> Conventions:
        """Return a copy with some knobs changed; values may be text as on the command line."""
        return replace(self, **{name: knob_value(name, value) for name, value in changes.items()})

    def changes_from(self, base: Conventions) -> dict[str, Any]:
        """The knobs on which this value differs from `base`."""
        pairs = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {name: value for name, value in pairs if value != getattr(base, name)}


def knob_value(name: str, value: Any) -> Any:
    """Turn the text or TOML form of a knob's value into what `Conventions` holds; UnusableInput if it is none."""
    if name not in KNOBS:
        raise UnusableInput(name, "an unknown knob", f"one of {', '.join(KNOBS)}")
    if name == "input_order":
        parsed: Any = tuple(_as_list(value))
    elif name == "bone_order" and value not in KNOBS[name].values:
        parsed = _as_permutation(value)
    else:
        parsed = f"{value:+d}" if isinstance(value, int) and value > 0 else str(value)
        parsed = "+1" if parsed == "1" and name in {"angvel_lag", "previous_pose_lag"} else parsed
    _check_value(name, parsed)
    return parsed


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Read `KNOB=VALUE` words, as `--set` takes them."""
    return {name: knob_value(name, value) for name, value in split_settings(settings).items()}


def split_settings(settings: Iterable[str]) -> dict[str, str]:
    """Take `KNOB=VALUE` words apart, whatever system the knobs are of."""
    changes: dict[str, str] = {}
    for word in settings:
        name, separator, value = word.partition("=")
        if not separator:
            raise UnusableInput(f"--set {word}", "no '='", "KNOB=VALUE", "for example --set output_mode=residual")
        changes[name.strip()] = value.strip()
    return changes


def read_conventions(path: str | Path) -> dict[str, Any]:
    """Read the knobs that a TOML file declares, at its root or under `[conventions]`."""
    return {name: knob_value(name, value) for name, value in conventions_table(path).items()}


def conventions_table(path: str | Path) -> dict[str, Any]:
    """The names and values of a TOML file of conventions, whatever system they are of."""
    try:
        declared = tomllib.loads(read_bytes(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableInput(path, f"text that is not TOML ({error})", 'KNOB = "VALUE" lines') from None
    table = declared.get("conventions", declared)
    if not isinstance(table, dict):
        raise UnusableInput(f"{path}#conventions", type(table).__name__, "a table")
    return table


def _as_list(value: Any) -> list[str]:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else [str(word) for word in value]


def _as_permutation(value: Any) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in _as_list(value))
    except ValueError:
        expected = f"{' or '.join(KNOBS['bone_order'].values)}, or bone indices separated by commas"
        raise UnusableInput("bone_order", repr(value), expected) from None


def _check_value(name: str, value: Any) -> None:
    if name == "input_order":
        if sorted(value) != sorted(INPUTS):
            raise UnusableInput(name, ",".join(map(str, value)), f"a permutation of {','.join(INPUTS)}")
    elif name == "bone_order" and isinstance(value, tuple):
        if sorted(value) != list(range(len(value))):
            raise UnusableInput(name, ",".join(map(str, value)), "a permutation of the bone indices from 0")
    elif value not in KNOBS[name].values:
        raise UnusableInput(name, repr(value), f"one of {', '.join(KNOBS[name].values)}")
