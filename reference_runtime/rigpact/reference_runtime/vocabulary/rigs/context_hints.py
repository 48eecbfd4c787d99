"""Words and lines of code for the readings of an effector context."""

from collections.abc import Mapping

from rigpact.contract.conventions import CodeHint
from rigpact.reference_runtime.vocabulary.rigs.turns import ROOT_FRAME_CODE

HINTS: Mapping[str, Mapping[str, str]] = {
    "numbers": {
        "sorted_by_name": "a task's number is its place in the contract's list, not in one that is sorted by name"
    },
    "relative": {
        "out_of_axes": "the hips' axes are the columns of R: a position among them is R^T d, not R d",
        "translation_only": "turn the difference into the hips' axes",
    },
    "root_axes": {
        "z_forward_y_up": "forward is the second column of the hips' matrix, up the third",
        "x_forward_z_up": "forward is the second column of the hips' matrix",
    },
    "euler_order": {"zyx": "Blender's XYZ is Rz Ry Rx on columns: x turns first"},
    "euler_triple": {
        "middle_within_90_deg": "Blender tells (x ± 180, 180 - y, z ± 180) degrees where the sum of those three is smaller",
    },
    "effector_quaternion": {"wxyz": "recorded quaternions have w last, Quaternion((w, x, y, z)) takes it first"},
    "rotation_sense": {"inverse": "angles of the matrix whose columns are the bone's axes, not of its transpose"},
    "rotation_space": {"root": "an effector's rotation stays in world space, only its position is relative"},
    "point": {"tail": "an effector is where its bone begins: bone.head, not bone.tail"},
    "effector_order": {
        "pairs_reversed": "left hand, right hand, left foot, right foot, head",
        "second_of_each_pair_first": "left is first in every pair",
    },
    "height": {
        "ground_height": "training saw the foot's height above the ground, not the ground's own height",
        "above_zero": "take the ground's height off the foot's",
    },
    "feet_order": {"reversed": "the left foot's ground comes first"},
    "contact_flags": {"desired_grounded": "grounded comes before desired contact"},
}
CODE: Mapping[str, Mapping[str, CodeHint]] = {
    "numbers": {
        "declared": CodeHint("x[task] = task;", "tasks.index(task)"),
        "sorted_by_name": CodeHint("std::map<std::string, int> tasks;", "sorted(tasks).index(task)"),
    },
    "root_frame": ROOT_FRAME_CODE,
    "relative": {
        "into_axes": CodeHint("transposed(R) * (p - root)", "R.transposed() @ (p - root)"),
        "out_of_axes": CodeHint("R * (p - root)", "R @ (p - root)"),
        "translation_only": CodeHint("p - root", "p - root"),
    },
    "root_axes": {
        "y_forward_z_up": CodeHint("forward = column(R, 1); up = column(R, 2);", "R.col[1], R.col[2]"),
        "z_forward_y_up": CodeHint("forward = column(R, 2); up = column(R, 1);", "R.col[2], R.col[1]"),
        "x_forward_z_up": CodeHint("forward = column(R, 0); up = column(R, 2);", "R.col[0], R.col[2]"),
    },
    "euler_order": {
        "xyz": CodeHint("Rz * Ry * Rx", "matrix.to_euler('XYZ')"),
        "zyx": CodeHint("Rx * Ry * Rz", "matrix.to_euler('ZYX')"),
    },
    "euler_triple": {
        "smaller_sum": CodeHint("|x| + |y| + |z| of both triples", "matrix.to_euler('XYZ')"),
        "middle_within_90_deg": CodeHint("y = asin(-m[2][0]);", "Rotation.from_matrix(m).as_euler('xyz')"),
    },
    "effector_quaternion": {
        "xyzw": CodeHint("Quat(q[3], q[0], q[1], q[2])", "Quaternion((w, x, y, z))"),
        "wxyz": CodeHint("Quat(q[0], q[1], q[2], q[3])", "Quaternion(q)"),
    },
    "rotation_sense": {"forward": CodeHint("R", "R"), "inverse": CodeHint("transposed(R)", "R.transposed()")},
    "rotation_space": {
        "world": CodeHint("R", "matrix_world @ bone.matrix"),
        "root": CodeHint("transposed(root) * R", "root.inverted() @ bone.matrix"),
    },
    "point": {"head": CodeHint("bone.head", "bone.head"), "tail": CodeHint("bone.tail", "bone.tail")},
    "effector_order": {
        "as_declared": CodeHint("effectors[i]", "effectors"),
        "pairs_reversed": CodeHint("feet, then hands", "feet + hands + head"),
        "second_of_each_pair_first": CodeHint("right, then left", "for side in ('Right', 'Left')"),
    },
    "height": {
        "above_ground": CodeHint("foot.z - ground", "foot.z - ground"),
        "ground_height": CodeHint("ground", "ground"),
        "above_zero": CodeHint("foot.z", "foot.z"),
    },
    "feet_order": {
        "as_declared": CodeHint("feet[i]", "feet"),
        "reversed": CodeHint("feet[count - 1 - i]", "feet[::-1]"),
    },
    "contact_flags": {
        "grounded_desired": CodeHint("grounded, desired", "[grounded, desired]"),
        "desired_grounded": CodeHint("desired, grounded", "[desired, grounded]"),
    },
}
