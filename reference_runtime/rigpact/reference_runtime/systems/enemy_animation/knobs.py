"""The conventions of the enemy animation: the name, the meaning and the table of effects of each knob.

A table is in the module of the operation that it changes. Its keys are the knob's values, the contract's own value
first. To add a value: a row in that table. To add a knob: its table, a row here, and its name at the stage that reads
it (stages.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigpact.contract.bundle import INPUTS
from rigpact.contract.conventions import ChannelOrder, Conventions, InputOrder, Knob
from rigpact.contract.rotation6d import COLUMN_PAIRS
from rigpact.reference_runtime.operations import (
    angular_velocity,
    condition,
    contacts,
    normalisation,
    pose_history,
    writeback,
)
from rigpact.reference_runtime.operations.bound_rotations import COMPOSE, DIRECTION
from rigpact.reference_runtime.operations.definitions.history import ORDERS
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW
from rigpact.reference_runtime.operations.precision import COMPUTE_DTYPE
from rigpact.reference_runtime.operations.six_numbers import DERIVED_SIGN, LOST_AXES, PACKING
from rigpact.reference_runtime.systems.enemy_animation import output
from rigpact.reference_runtime.systems.enemy_animation.hints import knob_hints

LAG: Mapping[str, int] = {"0": 0, "-1": -1, "+1": 1}


_MOVES, _FAST = "add a clip that moves", "add a fast clip: the bones hardly turn"
_MANY_AXES = "add a clip in which bones turn about more than one axis"


def _knob(
    name: str, effects: Mapping[str, Any], meaning: str, advice: str = "", in_training: str | None = None
) -> Knob:
    return Knob(name, effects, meaning, knob_hints(name), advice=advice, in_training=in_training)


OUTPUT_MODE = _knob(
    "output_mode", output.ADDS_MEAN, "what the network's rotations mean: ΔR, ΔR minus identity, or the next pose itself"
)
ROT6D_COLUMNS = _knob(
    "rot6d_columns", dict.fromkeys(COLUMN_PAIRS), "which two columns of R the six numbers hold, in this order"
)
ROT6D_PACKING = _knob(
    "rot6d_packing", PACKING, "two columns one after the other, the first two rows of R, or a0 b0 a1 b1 a2 b2"
)
DERIVED_AXIS = _knob(
    "derived_axis", DERIVED_SIGN,
    "the cross product of the third axis; the default also flips it when det < 0, the other value trusts it",
)  # fmt: skip
COMPOSE_ORDER = _knob("compose_order", COMPOSE, "R_next = ΔR · R_prev or R_prev · ΔR (columns are axes)", _MANY_AXES)
DELTA_DIRECTION = _knob("delta_direction", DIRECTION, "whether ΔR leads to the next pose or back from it", _MOVES)
REPROJECT = _knob(
    "reproject", output.REPROJECTS,
    "where Gram–Schmidt runs: on ΔR before composing, on the composed pose after it",
)  # fmt: skip
DEGENERATE_AXIS = _knob(
    "degenerate_axis",
    LOST_AXES,
    "what replaces an axis too short to normalise; in ΔR the default is a coordinate axis",
    "add frames in which the network's six numbers of a bone are zero or parallel",
)
DENORM = _knob("denorm", output.DENORM, "how y_norm becomes y_raw")
ROOTVEL_SQUASH = _knob(
    "rootvel_squash",
    normalisation.SQUASH,
    "how root velocity is squashed by its scale",
    "add a clip that walks diagonally at more than one speed",
)
ANGVEL_SQUASH = _knob(
    "angvel_squash", normalisation.SQUASH, "how bone angular velocity is squashed by its scale", _FAST
)
YAW_ENCODING = _knob(
    "yaw_encoding",
    normalisation.YAW,
    "how the root yaw becomes a feature",
    "add a clip that turns past half a turn to either side",
)
HISTORY_ORDER = _knob("pose_history_order", ORDERS, "order of the frames", _MOVES)
HISTORY_PHASE = _knob(
    "pose_history_phase",
    pose_history.DELAY,
    "whether the newest entry is the current pose or the one before it",
    _MOVES,
)
HISTORY_NORM = _knob(
    "pose_history_norm", pose_history.NORMALISE,
    "how the history is normalised; tanh_unit_scale is the engine's fallback without statistics",
)  # fmt: skip
HISTORY_START = _knob(
    "pose_history_start",
    pose_history.FIRST_POSE,
    "what stands for the frames before the first",
    "add a clip that moves from its first frame on",
)
CONTACTS_SOURCE = _knob(
    "contacts_source",
    contacts.SOURCE,
    "what the Contacts input holds",
    "add a clip in which one foot stands while the other is in the air, with soft scores",
)
CONDITION_DIRECTION = _knob(
    "condition_direction",
    condition.DIRECTION,
    "the planar direction of the condition, taken from a raw clip; the last three are of the velocity",
    "add a clip that moves another way than it looks, off the axes",
    in_training="velocity",
)
CONDITION_SPEED_UNIT = _knob("condition_speed_unit", condition.SPEED_FACTOR, "unit of the condition's speed", _MOVES)
CONDITION_NORM = _knob(
    "condition_norm",
    condition.NORMALISE,
    "pass through, or z-score over a window",
    "add a clip whose condition changes",
)
ANGVEL_SOURCE = _knob("angvel_source", angular_velocity.SOURCE, "where the AngVel input comes from", _FAST)
ANGVEL_ANGLE = _knob("angvel_angle", angular_velocity.ANGLE_FACTOR, "the rotation vector's angle: θ or θ/2", _FAST)
ANGVEL_FRAME = _knob(
    "angvel_frame", angular_velocity.FRAME, "the frame in which the rotation vector is expressed", _MANY_AXES
)
ANGVEL_LAG = _knob("angvel_lag", LAG, "frames by which the AngVel input runs ahead", "add a clip with changes of speed")
PREVIOUS_POSE_LAG = _knob(
    "previous_pose_lag", LAG, "which frame ΔR is applied to; +1 is the target itself, a leak", _MOVES
)
BONE_ORDER = ChannelOrder(
    "bone_order", dict.fromkeys(("as_declared", "left_right_swapped")),
    "which rotation each published bone takes; also any permutation: slot i takes bone order[i]",
    knob_hints("bone_order"), advice="add a clip in which left and right differ",
)  # fmt: skip
MIRROR_AXIS = _knob(
    "mirror", output.MIRROR,
    "change of handedness of the published pose: R becomes S·R·S with S = diag(±1)",
)  # fmt: skip
QUATERNION_ORDER = _knob("quaternion_order", FROM_XYZW, "component order of published quaternions")
INPUT_ORDER = InputOrder(
    "input_order", {",".join(INPUTS): INPUTS},
    "which vector is bound at each of the network's five positions; any permutation",
    knob_hints("input_order"), items=INPUTS,
)  # fmt: skip
WRITEBACK = _knob(
    "writeback",
    writeback.WRITEBACK,
    "which state slices free-run renews from the output",
    "add a clip in which the root moves and bones turn",
)
MATH = Knob(
    "math",
    COMPUTE_DTYPE,
    "precision between float32 roundings; benign, never a defect",
    knob_hints("math"),
    is_benign=True,
)
CODEC = (ROT6D_COLUMNS, ROT6D_PACKING, DERIVED_AXIS)
"""The knobs of the six numbers of a rotation."""
KNOBS: Mapping[str, Knob] = {
    knob.name: knob
    for knob in (
        OUTPUT_MODE, *CODEC, COMPOSE_ORDER, DELTA_DIRECTION, REPROJECT, DEGENERATE_AXIS, DENORM, ROOTVEL_SQUASH, ANGVEL_SQUASH,
        YAW_ENCODING, HISTORY_ORDER, HISTORY_PHASE, HISTORY_NORM, HISTORY_START, CONTACTS_SOURCE, CONDITION_DIRECTION,
        CONDITION_SPEED_UNIT, CONDITION_NORM, ANGVEL_SOURCE, ANGVEL_ANGLE, ANGVEL_FRAME, ANGVEL_LAG, PREVIOUS_POSE_LAG,
        BONE_ORDER, MIRROR_AXIS, QUATERNION_ORDER, INPUT_ORDER, WRITEBACK, MATH,
    )
}  # fmt: skip
"""Every knob by name."""


def enemy_conventions(changes: Mapping[str, Any] | None = None) -> Conventions:
    """The contract's own conventions, some changed; UnusableInput for an unknown knob or value."""
    return Conventions(KNOBS, changes)
