"""The conventions that operations on a character share: the six numbers of a rotation, what a lost axis becomes, precision.

Their tables of effects are those of `operations/six_numbers.py` and `operations/precision.py`.
"""

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.rotation6d import COLUMN_PAIRS
from rigpact.reference_runtime.operations.precision import COMPUTE_DTYPE
from rigpact.reference_runtime.operations.six_numbers import DERIVED_SIGN, LOST_AXES, PACKING

ROT6D_COLUMNS = Knob(
    "rot6d_columns", dict.fromkeys(COLUMN_PAIRS), "which two columns of R the six numbers hold, in this order", {
        columns: CodeHint(
            f"GetScaledAxis(EAxis::{columns[0].upper()}), GetScaledAxis(EAxis::{columns[1].upper()})",
            f'columns=("{columns[0].upper()}", "{columns[1].upper()}")',
        )
        for columns in COLUMN_PAIRS
    },
)  # fmt: skip
ROT6D_PACKING = Knob(
    "rot6d_packing", PACKING, "two columns one after the other, the first two rows of R, or a0 b0 a1 b1 a2 b2", {
        "columns": CodeHint("A = (v[0],v[1],v[2]); B = (v[3],v[4],v[5]); // axes", "torch.cat((R[..., 0], R[..., 2]), -1)"),
        "rows": CodeHint(
            "rows of the matrix are written, not its axes", "R[..., :2, :].reshape(-1, 6)  # PyTorch3D's order"
        ),
        "interleaved": CodeHint(
            "A = (v[0],v[2],v[4]); B = (v[1],v[3],v[5]);", "R[..., :2].reshape(-1, 6)  # a0 b0 a1 b1 a2 b2"
        ),
    },
)  # fmt: skip
DERIVED_AXIS = Knob(
    "derived_axis", DERIVED_SIGN,
    "the cross product of the third axis; the default also flips it when det < 0, the other value trusts it", {
        "second_cross_first": CodeHint("Y = Z ^ X; // flipped if det < 0", "y = cross(z, x)"),
        "first_cross_second": CodeHint("Y = X ^ Z; // and no determinant check", "y = cross(x, z)"),
    },
)  # fmt: skip
DEGENERATE_AXIS = Knob(
    "degenerate_axis", LOST_AXES, "the replacement of an axis too short to normalise; in ΔR the default is a coordinate axis", {
        "previous_frame": CodeHint(
            "Axis.SizeSquared() < 1e-8 ? PrevAxis", "where(norm < 1e-4, previous_axis, axis / norm)"
        ),
        "canonical": CodeHint("Axis.IsNearlyZero() ? FVector::ForwardVector", "where(norm < 1e-4, unit_axis, axis / norm)"),
        "previous_frame_for_delta": CodeHint(
            "Reproject6D(Delta6D, PrevPose): a turn takes an axis of the previous pose",
            "delta = where(norm < 1e-4, previous_axis, axis / norm)",
        ),
        "zero": CodeHint("Axis / FMath::Max(Axis.Size(), 1e-8)", "axis / norm.clamp_min(1e-8)"),
    },
)  # fmt: skip
MATH = Knob(
    "math", COMPUTE_DTYPE, "precision between float32 roundings; benign, never a defect", {
        "f64": CodeHint("FVector of double (UE 5)", "torch.float64"),
        "f32": CodeHint("FVector of float (UE 4)", "torch.float32"),
    },
    is_benign=True,
)  # fmt: skip
CODEC = (ROT6D_COLUMNS, ROT6D_PACKING, DERIVED_AXIS)
"""The conventions of the six numbers of a rotation."""
