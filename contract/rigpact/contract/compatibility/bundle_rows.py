"""The content of a schema bundle, as rows: its vectors, its declarations with their meaning, its arrays of numbers.

A place without a row is one that nobody can judge: it may matter to everybody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.compatibility.differences import UNDECLARED
from rigpact.contract.json_pointer import Token
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY
from rigpact.contract.rules.bundle_view import columns_word
from rigpact.contract.statistics import STD_FLOOR, TANH_SCALE_FLOOR
from rigpact.contract.units import spellings

VECTORS = (("state_layout", "input_dim", "state"), ("output_layout", "output_dim", "output"))
"""Keys of a layout and of its width, and what its vector is called."""
STATE, OUTPUT, HISTORY = "state", "output", "history"


@dataclass(frozen=True)
class BundleArray:
    """One array of a bundle: whose channels it has, which array holds its deviations, the floor that readers apply.

    of: the state, the output, the history, or one slice of the state. family: the arrays that are in the bundle or in a companion
    beside it.
    """

    key: str
    of: str
    kind: str
    deviation: str = ""
    floor: float = 0.0
    family: str = ""


_HISTORY, _ANGVEL = "history-statistics", "angvel-statistics"
ARRAYS = (
    BundleArray("MuX", STATE, "input-mean", "StdX"),
    BundleArray("StdX", STATE, "input-std", floor=STD_FLOOR),
    BundleArray("MuY", OUTPUT, "output-mean", "StdY"),
    BundleArray("StdY", OUTPUT, "output-std"),
    BundleArray("tanh_scales_rootvel", ROOT_VELOCITY, "squash-scale", floor=TANH_SCALE_FLOOR),
    BundleArray("tanh_scales_angvel", ANGULAR_VELOCITIES, "squash-scale", floor=TANH_SCALE_FLOOR),
    BundleArray("tanh_scales_pose_hist", HISTORY, "squash-scale", floor=STD_FLOOR, family=_HISTORY),
    BundleArray("MuPoseHist", HISTORY, "input-mean", "StdPoseHist", family=_HISTORY),
    BundleArray("StdPoseHist", HISTORY, "input-std", floor=STD_FLOOR, family=_HISTORY),
    BundleArray("MuAngVel", ANGULAR_VELOCITIES, "training-statistics", "StdAngVel", family=_ANGVEL),
    BundleArray("StdAngVel", ANGULAR_VELOCITIES, "training-statistics", floor=STD_FLOOR, family=_ANGVEL),
)
"""Every array of numbers in a bundle."""
COMPANION = ("tanh_scales_angvel", "MuAngVel", "StdAngVel", "tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
"""Those that a companion may hold."""
COMPARED_AS_PARTS: frozenset[tuple[Token, ...]] = frozenset(
    [(array.key,) for array in ARRAYS]
    + [("input_dim",), ("output_dim",), ("meta", "state_layout"), ("meta", "output_layout"), ("meta", "bone_names")]
    + [("meta", "skeleton", key) for key in ("bone_names", "root_bone", "parents", "ref_local_offsets_m")]
)
"""Places without a declaration: vectors, numbers, bones."""


def _word(value: Any) -> Any:
    """A value as its readers hold it: words without case, numbers in float32."""
    if isinstance(value, list):
        return [_word(each) for each in value]
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return value.strip().lower() if isinstance(value, str) else value


def _unit(value: Any) -> Any:
    return "meters" if _word(value) in spellings("m") else _word(value)


def _exact(value: Any) -> Any:
    """A word that its readers compare letter by letter."""
    return value


@dataclass(frozen=True)
class DeclaredChange:
    """A place (a path, or the beginning of one), the kind of its change, the value that readers assume where it is absent.

    Without such a value, nobody can say whether a declaration that appears changes anything: it counts as changed.
    """

    path: tuple[Token, ...]
    kind: str
    default: Any = UNDECLARED
    meaning: Callable[[Any], Any] = _word


DECLARATIONS = (
    DeclaredChange(("fps",), "frame-rate-changed", 60),
    DeclaredChange(("pose_hist_len",), "history-length-changed"),
    DeclaredChange(("meta", "units"), "units-changed", "meters", _unit),
    DeclaredChange(("meta", "handedness"), "handedness-changed", "left"),
    DeclaredChange(("meta", "axes", "x"), "axes-changed", "forward"),
    DeclaredChange(("meta", "axes", "y"), "axes-changed", "right"),
    DeclaredChange(("meta", "axes", "z"), "axes-changed", "up"),
    DeclaredChange(("meta", "axes"), "axes-changed"),
    DeclaredChange(("meta", "spaces", "bone_rotations"), "spaces-changed", "local_6d"),
    DeclaredChange(("meta", "spaces", "bone_angular_velocities"), "spaces-changed", "local_rad_per_sec"),
    DeclaredChange(("meta", "spaces"), "spaces-changed"),
    DeclaredChange(("meta", "rot6d_spec", "columns"), "rotation-columns-changed", "xz", columns_word),
    DeclaredChange(("meta", "rot6d_spec", "output_mode"), "output-mode-changed", "delta", _exact),
    DeclaredChange(("meta", "rot6d_spec", "matrix_layout"), "rotation-spec-changed", "columns_are_axes"),
    DeclaredChange(("meta", "rot6d_spec", "order"), "rotation-spec-changed", "a_then_b"),
    DeclaredChange(("meta", "rot6d_spec", "handedness"), "rotation-spec-changed", "left"),
    DeclaredChange(("meta", "rot6d_spec"), "rotation-spec-changed"),
    DeclaredChange(("meta", "alignment", "x_to_y", "mode"), "target-alignment-changed", "next"),
    DeclaredChange(("meta", "alignment", "x_to_y", "offset"), "target-alignment-changed", 1),
    DeclaredChange(("meta", "alignment", "x_to_y"), "target-alignment-changed"),
    DeclaredChange(("meta", "alignment", "cond_to_y"), "condition-alignment-changed"),
    DeclaredChange(("meta", "y_to_x_map"), "writeback-map-changed"),
    DeclaredChange(("cond_norm_config", "mode"), "condition-mode-changed", "raw"),
    DeclaredChange(("cond_norm_config", "start"), "condition-width-changed", 0),
    DeclaredChange(("cond_norm_config", "size"), "condition-width-changed", 7, lambda value: 7 if value is None else value),
    DeclaredChange(("meta", "root_motion", "source"), "bookkeeping-changed"),
    DeclaredChange(("meta", "root_motion", "forward_axis_sample_count"), "bookkeeping-changed"),
    DeclaredChange(("meta", "root_motion", "root_yaw_units"), "root-motion-changed", "radians"),
    DeclaredChange(("meta", "root_motion"), "root-motion-changed"),
    DeclaredChange(("meta", "trajectory"), "trajectory-changed"),
    DeclaredChange(("meta", "asset_to_ue", "applied"), "basis-changed", default=False),
    DeclaredChange(("meta", "asset_to_ue"), "basis-changed"),
    *(DeclaredChange((key,), "bookkeeping-changed") for key in (
        "notes", "bundle_version", "pose_hist_dim", "group_priors_rot6d", "s_eff_X", "s_eff_Y", "s_eff_meta", "J",
        "angvel_dim", "angvel_span", "pose_target_dim", "tanh_scales_pose_target", "MuPoseTarget", "StdPoseTarget",
    )),
    *(DeclaredChange(("cond_norm_config", key), "bookkeeping-changed") for key in (
        "floor_rot6d", "floor_other", "floor_rootyaw", "floor_angvel",
    )),
    *(DeclaredChange(("meta", key), "bookkeeping-changed") for key in ("std_floor", "adaptive", "built_in", "quantiles")),
    DeclaredChange(("meta", "skeleton", "ref_offsets_source"), "bookkeeping-changed"),
)  # fmt: skip
"""What each declaration means; the longer of two paths stands first."""
LENGTH = ("pose_hist_len",)
"""Undeclared, it follows from the history's own statistics, if they are in the same file."""
