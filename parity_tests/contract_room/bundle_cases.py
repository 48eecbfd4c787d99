"""Defects of the bundle and its companion."""

import json
from typing import Any

from rigpact.fixtures import demo_bundle

from .rule_cases import (
    META,
    SKELETON,
    SPEC,
    Case,
    both,
    drop,
    no_aux,
    no_aux_anywhere,
    only,
    put,
    scaled,
    slice_at,
    text,
)

PRIORS = ("bundle", "group_priors_rot6d")
OFFSETS = "/meta/skeleton/ref_local_offsets_m"


def renamed_contacts(sample: Any) -> None:
    layout = sample.bundle["meta"]["state_layout"]
    layout["Contact"] = layout.pop("Contacts")


def swapped_means(sample: Any) -> None:
    """Two numbers of one bone's mean that changed places; the nearest rotation is less than 30 degrees away."""
    means = sample.bundle["MuY"]
    means[8], means[10] = means[10], means[8]


def flipped_mean(sample: Any) -> None:
    """Turn the mean output pose of thigh_r by half a turn: both columns negated."""
    for index in range(12, 15):
        sample.bundle["MuY"][index] *= -1


def flipped_history(sample: Any) -> None:
    """Turn pelvis in the newer of the two frames."""
    for index in range(18, 21):
        sample.companion["MuPoseHist"][index] *= -1


def swapped_thighs(sample: Any) -> None:
    """A body with more than one pair of limbs: the demo character, its thighs exchanged by name."""
    sample.bundle = json.loads((demo_bundle() / "norm_template.json").read_text(encoding="utf-8"))
    only("bundle")(sample)
    for names in (sample.bundle["meta"]["bone_names"], sample.bundle["meta"]["skeleton"]["bone_names"]):
        left, right = names.index("thigh_l"), names.index("thigh_r")
        names[left], names[right] = names[right], names[left]


CASES = (
    Case("RP001", "bundle", "/fps", text("bundle", '"fps": 60', '"fps": 60, "fps": 30'), "fps"),
    Case("RP002", "bundle", "/MuX/2", put(float("nan"), "bundle", "MuX", 2), "nan"),
    Case("RP002", "companion", "/StdPoseHist/5", text("companion", '"StdPoseHist": [0.3, 0.3, 0.3, 0.3, 0.3, 0.3',
         '"StdPoseHist": [0.3, 0.3, 0.3, 0.3, 0.3, 1e999'), "inf"),
    Case("RP003", "bundle", "", text("bundle", '"Raw"', '"Raw", "note": "\\ud800"')),
    Case("RP020", "bundle", "/MuX/0", put([str(n) for n in range(35)], "bundle", "MuX"), "34 more"),
    Case("RP020", "bundle", "/meta", put([], "bundle", "meta"), "an array of 0"),
    Case("RP021", "bundle", "", drop("bundle", "MuY"), "'MuY'"),
    Case("RP023", "bundle", "/pose_hist_len", put(0, "bundle", "pose_hist_len"), "at least 1"),
    Case("RP024", "bundle", "/bundle_version", put("two", "bundle", "bundle_version"), "'two'"),
    Case("RP050", "bundle", "/meta/state_layout", drop(*META, "state_layout", "RootYaw"), "RootYaw"),
    Case("RP051", "bundle", "/meta/output_layout", put({}, *META, "output_layout"), "0 entries"),
    Case("RP052", "bundle", "/meta/output_layout/BoneRotations6D", slice_at("output", "BoneRotations6D", 0, 17), "17"),
    Case("RP053", "bundle", "/meta/state_layout/RootYaw", slice_at("state", "RootYaw", 4, 1), "by 1 channels"),
    Case("RP054", "bundle", "/meta/state_layout", drop(*META, "state_layout", "RootPosition"), "[0, 3)"),
    Case("RP055", "bundle", "/meta/state_layout/Contacts", slice_at("state", "Contacts", 34, 2), "[34, 36)"),
    Case("RP055", "bundle", "/meta/state_layout/RootPosition", slice_at("state", "RootPosition", -1, 3), "[-1, 2)"),
    Case("RP056", "bundle", "/meta/output_layout/BoneRotations6D",
         put([0, 18], *META, "output_layout", "BoneRotations6D"), "[0, 18]"),
    Case("RP057", "bundle", "/meta/state_layout/RootPosition", put([33, 35], *META, "state_layout", "Contacts"), "Contacts"),
    Case("RP058", "bundle", "/input_dim", put(36, "bundle", "input_dim"), "36"),
    Case("RP059", "bundle", "/meta/state_layout/RootVelocity", slice_at("state", "RootVelocity", 3, 1), "has 1"),
    Case("RP060", "bundle", "/meta/state_layout", drop(*META, "state_layout", "Contacts")),
    Case("RP061", "bundle", "/meta/state_layout/Contacts", slice_at("state", "Contacts", 33, 0), "0 channels"),
    Case("RP062", "bundle", "/meta/output_layout/RootYaw", slice_at("output", "RootYaw", 18, 2), "has 2"),
    Case("RP070", "bundle", "", drop("bundle", "fps"), "60"),
    Case("RP071", "bundle", "/fps", put(0, "bundle", "fps"), "fps = 0"),
    Case("RP080", "bundle", "/cond_norm_config/mode", put("Adaptive", "bundle", "cond_norm_config", "mode"), "Adaptive"),
    Case("RP081", "bundle", "/cond_norm_config/mode", put("ZScore", "bundle", "cond_norm_config", "mode"), "ZScore"),
    Case("RP100", "bundle", "/StdX", lambda s: s.bundle["StdX"].pop(), "34 numbers"),
    Case("RP100", "bundle", "/tanh_scales_rootvel", put([1.0], "bundle", "tanh_scales_rootvel"), "1 numbers"),
    Case("RP101", "bundle", "/MuX/0", put(1e39, "bundle", "MuX", 0), "1e+39"),
    Case("RP102", "bundle", "/MuX/5", put(57.0, "bundle", "MuX", 5), "RootYaw"),
    Case("RP103", "bundle", "/StdX/4", put(3.0, "bundle", "StdX", 4), "RootVelocity"),
    Case("RP104", "bundle", "/StdX/12", put(0.0, "bundle", "StdX", 12), "BoneRotations6D, thigh_l"),
    Case("RP104", "companion", "/StdAngVel/3", put(-0.4, "companion", "StdAngVel", 3), "thigh_l"),
    Case("RP105", "bundle", "/StdY/6", put(1e-7, "bundle", "StdY", 6), "thigh_l"),
    Case("RP106", "bundle", "/tanh_scales_angvel/8", put(0.0, "bundle", "tanh_scales_angvel", 8), "thigh_r"),
    Case("RP107", "bundle", "/tanh_scales_rootvel/1", put(1e-4, "bundle", "tanh_scales_rootvel", 1), "0.0001"),
    Case("RP118", "bundle", "/MuY/8", swapped_means, "standard deviations apart"),
    Case("RP206", "bundle", "/meta", drop(*META, "handedness"), "meta.handedness is absent: readers take a left-handed"),
    Case("RP206", "bundle", "/meta", drop(*META, "units"), "meta.units is absent"),
    Case("RP206", "bundle", "/meta", drop(*META, "axes"), "meta.axes is absent"),
    Case("RP200", "bundle", "/meta/rot6d_spec", drop(*SPEC, "columns")),
    Case("RP201", "bundle", "/meta/rot6d_spec/columns", put(["X", "X"], *SPEC, "columns"), "X"),
    Case("RP202", "bundle", "/meta/rot6d_spec", drop(*SPEC, "output_mode"), "speaks against"),
    Case("RP203", "bundle", "/meta/rot6d_spec/output_mode", put("relative", *SPEC, "output_mode"), "relative"),
    Case("RP204", "bundle", "/MuY/12", put("delta", *SPEC, "output_mode"), "thigh_r by 41.1°"),
    Case("RP220", "bundle", "/meta/bone_names", put(["pelvis", "thigh_l"], *META, "bone_names"), "2 bones"),
    Case("RP220", "bundle", "/meta/state_layout/BoneAngularVelocities",
         slice_at("state", "BoneAngularVelocities", 24, 6), "2 bones"),
    Case("RP221", "bundle", "/meta/bone_names/2", put("thigh_l", *META, "bone_names", 2), "1 and 2"),
    Case("RP222", "bundle", "/meta/skeleton/parents/1", put(7, *SKELETON, "parents", 1), "7"),
    Case("RP223", "bundle", "/meta/skeleton/parents/1", put([-1, 2, 1], *SKELETON, "parents"), "thigh_l, thigh_r"),
    Case("RP224", "bundle", "/meta/skeleton/bone_names/1",
         put(["pelvis", "thigh_r", "thigh_l"], *SKELETON, "bone_names"), "1 more bones differ"),
    Case("RP225", "bundle", "/meta/skeleton/parents/2", put(-1, *SKELETON, "parents", 2), "2 bones"),
    Case("RP226", "bundle", "/meta", drop(*META, "bone_names")),
    Case("RP227", "bundle", "/meta", drop(*SKELETON), "parents"),
    Case("RP300", "bundle", "", no_aux_anywhere("PoseHist"), "falls back to scale 1"),
    Case("RP301", "bundle", "", no_aux("PoseHist"), "only in a file the engine does not read"),
    Case("RP302", "bundle", "", no_aux_anywhere("AngVel"), "MuAngVel"),
    Case("RP303", "bundle", "", no_aux("AngVel"), "companion.json"),
    Case("RP304", "bundle", "", drop("bundle", "StdPoseHist"), "without StdPoseHist"),
    Case("RP305", "companion", "/MuPoseHist", lambda s: s.companion["MuPoseHist"].pop(), "35 numbers, 36"),
    Case("RP306", "companion", "/tanh_scales_angvel/4", put(1.0, "companion", "tanh_scales_angvel", 4), "1 of 9"),
    Case("RP307", "companion", "/MuPoseHist/20", put(0.2, "companion", "MuPoseHist", 20), "PoseHistory[1], pelvis"),
    Case("RP063", "bundle", "/meta/state_layout/Contact", renamed_contacts, "Contacts was meant?"),
    Case("RP072", "bundle", "/fps", put(3000, "bundle", "fps"), "fps = 3000"),
    Case("RP082", "bundle", "/cond_norm_config/size", put(6, "bundle", "cond_norm_config", "size"), "size is 6"),
    Case("RP108", "bundle", "/StdX/0", both(put(3000.0, "bundle", "MuX", 0), put(1e-5, "bundle", "StdX", 0)), "24.4"),
    Case("RP109", "bundle", "/StdX/2", put(1e-6, "bundle", "StdX", 2), "1 of 35"),
    Case("RP110", "bundle", "/MuX/0", put(9000.0, "bundle", "MuX", 0), "9001 m"),
    Case("RP111", "bundle", "/tanh_scales_rootvel/0", put(150.0, "bundle", "tanh_scales_rootvel", 0), "1.5 m/s"),
    Case("RP112", "bundle", "/tanh_scales_angvel/3", put(458.0, "bundle", "tanh_scales_angvel", 3), "188.5 rad/s"),
    Case("RP113", "bundle", "/tanh_scales_pose_hist/0", put(0.95, "bundle", "MuPoseHist", 0), "±0.7616"),
    Case("RP114", "bundle", "/MuAngVel/0", put([0.0] * 9, "bundle", "MuAngVel"), "all 9 numbers"),
    Case("RP115", "bundle", "/MuX/6", lambda s: s.bundle["MuX"].__setitem__(slice(6, 9), [0.0] * 3), "0.188"),
    Case("RP116", "bundle", "/StdX/6", put(0.9, "bundle", "StdX", 6), "1.748"),
    Case("RP117", "bundle", "/MuY/12", flipped_mean, "180.0°"),
    Case("RP130", "bundle", "/s_eff_Y", lambda s: s.bundle["s_eff_Y"].pop(), "17 numbers"),
    Case("RP131", "bundle", "/s_eff_X/5", put(1.0, "bundle", "s_eff_X", 5), "is 3.14159"),
    Case("RP132", "bundle", "/group_priors_rot6d/groups/bone_2", put([3], *PRIORS, "groups", "bone_2"), "names bone 3"),
    Case("RP132", "bundle", "/group_priors_rot6d/prior_per_dim", put([0.25] * 24, *PRIORS, "prior_per_dim"), "24"),
    Case("RP133", "bundle", "/group_priors_rot6d/prior_per_dim/4", put(0.0, *PRIORS, "prior_per_dim", 4), "= 0"),
    Case("RP134", "bundle", "/StdY/3", put(5e-4, "bundle", "StdY", 3), "meta.std_floor"),
    Case("RP205", "bundle", "/meta/rot6d_spec/matrix_layout", put("rows_are_axes", *SPEC, "matrix_layout"), "rows_are_axes"),
    Case("RP228", "bundle", OFFSETS + "/0", scaled(100.0, *SKELETON, "ref_local_offsets_m"), "is 90 m (pelvis)"),
    Case("RP229", "bundle", OFFSETS + "/1", put([0.0, -0.2, 0.0], *SKELETON, "ref_local_offsets_m", 1), "0.2000 m"),
    Case("RP230", "bundle", "/meta/skeleton/parents/1", put([-1, 0, 1], *SKELETON, "parents"), "thigh_r on thigh_l"),
    Case("RP231", "bundle", "/meta/skeleton/bone_names/40", swapped_thighs, "thigh_l lies 0.1"),
    Case("RP232", "bundle", "/meta/skeleton/parents/0", put([1, -1, 1], *SKELETON, "parents"), "thigh_l (1)"),
    Case("RP240", "bundle", "/meta/units", put("centimeters", *META, "units"), "'centimeters'"),
    Case("RP241", "bundle", "/meta/handedness", put("right", *SPEC, "handedness"), "rot6d_spec.handedness is 'right'"),
    Case("RP242", "bundle", "/meta/axes", put("forward", *META, "axes", "y"), "forward"),
    Case("RP243", "bundle", "/meta/axes/x", put({"x": "right", "y": "backward", "z": "up"}, *META, "axes"), "90° from"),
    Case("RP244", "bundle", "/meta/root_motion/root_yaw_units", put("degrees", *META, "root_motion", "root_yaw_units")),
    Case("RP245", "bundle", "/meta/alignment/x_to_y/offset", put(2, *META, "alignment", "x_to_y", "offset"), "is 2"),
    Case("RP244", "bundle", "/meta/root_motion/root_yaw_units", put(4, *META, "root_motion", "root_yaw_units"), "a number 4"),
    Case("RP245", "bundle", "/meta/alignment/x_to_y/mode", put("same", *META, "alignment", "x_to_y", "mode"), "is 'same'"),
    Case("RP246", "bundle", "/meta/spaces/bone_rotations", put("component_6d", *META, "spaces", "bone_rotations")),
    Case("RP247", "bundle", "/meta/trajectory/seconds",
         put([0.3, 0.15, 0.0, -0.15, -0.3], *META, "trajectory", "seconds"), "[0.3, 0.15, 0, -0.15, -0.3]"),
    Case("RP308", "companion", "/angvel_dim", put(12, "companion", "angvel_dim"), "is 12, the character has 9"),
    Case("RP310", "companion", "/MuPoseHist/18", flipped_history, "PoseHistory[1]"),
)  # fmt: skip
