"""Defects of the bundle and its companion: the rule, the place, and the edit or the value that is put there."""

import json

from rigpact.fixtures import demo_bundle

from .edits import META, SKELETON, SPEC, both, case, changed, drop, only, put, scaled, shorter, text

HISTORY = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
AUX = {"PoseHist": HISTORY, "AngVel": ("MuAngVel", "StdAngVel")}


def slice_at(side, name, start, size):
    return put({"start": start, "size": size}, *META, f"{side}_layout", name)


def no_aux(prefix):
    """Remove one family of auxiliary statistics from the bundle; the companion keeps it."""
    return both(*(drop("bundle", key) for key in AUX[prefix]))


def no_aux_anywhere(prefix):
    return both(no_aux(prefix), *(drop("companion", key) for key in AUX[prefix]))


def renamed_contacts(sample):
    layout = sample.bundle["meta"]["state_layout"]
    layout["Contact"] = layout.pop("Contacts")


def swapped_means(sample):
    """Two numbers of one bone's mean that changed places; the nearest rotation is less than 30 degrees away."""
    means = sample.bundle["MuY"]
    means[8], means[10] = means[10], means[8]


def turned(first, *path):
    """Half a turn of a mean pose: three of its numbers negated."""
    return changed(lambda means: [*means[:first], *(-n for n in means[first : first + 3]), *means[first + 3 :]], *path)


def swapped_thighs(sample):
    """A body with more than one pair of limbs: the demo character, its thighs exchanged by name."""
    sample.bundle = json.loads((demo_bundle() / "norm_template.json").read_text(encoding="utf-8"))
    only("bundle")(sample)
    for names in (sample.bundle["meta"]["bone_names"], sample.bundle["meta"]["skeleton"]["bone_names"]):
        left, right = names.index("thigh_l"), names.index("thigh_r")
        names[left], names[right] = names[right], names[left]


CASES = (
    case("RP001 bundle/fps", text("bundle", '"fps": 60', '"fps": 60, "fps": 30')),
    case("RP002 bundle/MuX/2", float("nan")),
    case("RP002 companion/StdPoseHist/5", text("companion", f'Hist": [{5 * "0.3, "}0.3', f'Hist": [{5 * "0.3, "}1e999')),
    case("RP003 bundle", text("bundle", '"Raw"', '"Raw", "note": "\\ud800"')),
    case("RP020 bundle/MuX/0", put([str(n) for n in range(35)], "bundle", "MuX")),
    case("RP020 bundle/meta", []),
    case("RP021 bundle", drop("bundle", "MuY")),
    case("RP023 bundle/pose_hist_len", 0),
    case("RP024 bundle/bundle_version", "two"),
    case("RP050 bundle/meta/state_layout", drop(*META, "state_layout", "RootYaw")),
    case("RP051 bundle/meta/output_layout", {}),
    case("RP052 bundle/meta/output_layout/BoneRotations6D", slice_at("output", "BoneRotations6D", 0, 17)),
    case("RP053 bundle/meta/state_layout/RootYaw", slice_at("state", "RootYaw", 4, 1)),
    case("RP054 bundle/meta/state_layout", drop(*META, "state_layout", "RootPosition")),
    case("RP055 bundle/meta/state_layout/Contacts", slice_at("state", "Contacts", 34, 2)),
    case("RP055 bundle/meta/state_layout/RootPosition", slice_at("state", "RootPosition", -1, 3)),
    case("RP056 bundle/meta/output_layout/BoneRotations6D", [0, 18]),
    case("RP057 bundle/meta/state_layout/RootPosition", put([33, 35], *META, "state_layout", "Contacts")),
    case("RP058 bundle/input_dim", 36),
    case("RP059 bundle/meta/state_layout/RootVelocity", slice_at("state", "RootVelocity", 3, 1)),
    case("RP060 bundle/meta/state_layout", drop(*META, "state_layout", "Contacts")),
    case("RP061 bundle/meta/state_layout/Contacts", slice_at("state", "Contacts", 33, 0)),
    case("RP062 bundle/meta/output_layout/RootYaw", slice_at("output", "RootYaw", 18, 2)),
    case("RP070 bundle", drop("bundle", "fps")),
    case("RP071 bundle/fps", 0),
    case("RP080 bundle/cond_norm_config/mode", "Adaptive"),
    case("RP081 bundle/cond_norm_config/mode", "ZScore"),
    case("RP100 bundle/StdX", shorter("bundle", "StdX")),
    case("RP100 bundle/tanh_scales_rootvel", [1.0]),
    case("RP101 bundle/MuX/0", 1e39),
    case("RP102 bundle/MuX/5", 57.0),
    case("RP103 bundle/StdX/4", 3.0),
    case("RP104 bundle/StdX/12", 0.0),
    case("RP104 companion/StdAngVel/3", -0.4),
    case("RP105 bundle/StdY/6", 1e-7),
    case("RP106 bundle/tanh_scales_angvel/8", 0.0),
    case("RP107 bundle/tanh_scales_rootvel/1", 1e-4),
    case("RP118 bundle/MuY/8", swapped_means),
    case("RP206 bundle/meta", drop(*META, "handedness")),
    case("RP206 bundle/meta", drop(*META, "units")),
    case("RP206 bundle/meta", drop(*META, "axes")),
    case("RP200 bundle/meta/rot6d_spec", drop(*SPEC, "columns")),
    case("RP201 bundle/meta/rot6d_spec/columns", ["X", "X"]),
    case("RP202 bundle/meta/rot6d_spec", drop(*SPEC, "output_mode")),
    case("RP203 bundle/meta/rot6d_spec/output_mode", "relative"),
    case("RP204 bundle/MuY/12", put("delta", *SPEC, "output_mode")),
    case("RP220 bundle/meta/bone_names", ["pelvis", "thigh_l"]),
    case("RP220 bundle/meta/state_layout/BoneAngularVelocities", slice_at("state", "BoneAngularVelocities", 24, 6)),
    case("RP221 bundle/meta/bone_names/2", "thigh_l"),
    case("RP222 bundle/meta/skeleton/parents/1", 7),
    case("RP223 bundle/meta/skeleton/parents/1", put([-1, 2, 1], *SKELETON, "parents")),
    case("RP224 bundle/meta/skeleton/bone_names/1", put(["pelvis", "thigh_r", "thigh_l"], *SKELETON, "bone_names")),
    case("RP225 bundle/meta/skeleton/parents/2", -1),
    case("RP226 bundle/meta", drop(*META, "bone_names")),
    case("RP227 bundle/meta", drop(*SKELETON)),
    case("RP300 bundle", no_aux_anywhere("PoseHist")),
    case("RP301 bundle", no_aux("PoseHist")),
    case("RP302 bundle", no_aux_anywhere("AngVel")),
    case("RP303 bundle", no_aux("AngVel")),
    case("RP304 bundle", drop("bundle", "StdPoseHist")),
    case("RP305 companion/MuPoseHist", shorter("companion", "MuPoseHist")),
    case("RP306 companion/tanh_scales_angvel/4", 1.0),
    case("RP307 companion/MuPoseHist/20", 0.2),
    case("RP063 bundle/meta/state_layout/Contact", renamed_contacts),
    case("RP072 bundle/fps", 3000),
    case("RP082 bundle/cond_norm_config/size", 6),
    case("RP108 bundle/StdX/0", both(put(3000.0, "bundle", "MuX", 0), put(1e-5, "bundle", "StdX", 0))),
    case("RP109 bundle/StdX/2", 1e-6),
    case("RP110 bundle/MuX/0", 9000.0),
    case("RP111 bundle/tanh_scales_rootvel/0", 150.0),
    case("RP112 bundle/tanh_scales_angvel/3", 458.0),
    case("RP113 bundle/tanh_scales_pose_hist/0", put(0.95, "bundle", "MuPoseHist", 0)),
    case("RP114 bundle/MuAngVel/0", put([0.0] * 9, "bundle", "MuAngVel")),
    case("RP115 bundle/MuX/6", put([0.0] * 3, "bundle", "MuX", slice(6, 9))),
    case("RP116 bundle/StdX/6", 0.9),
    case("RP117 bundle/MuY/12", turned(12, "bundle", "MuY")),
    case("RP130 bundle/s_eff_Y", shorter("bundle", "s_eff_Y")),
    case("RP131 bundle/s_eff_X/5", 1.0),
    case("RP132 bundle/group_priors_rot6d/groups/bone_2", [3]),
    case("RP132 bundle/group_priors_rot6d/prior_per_dim", [0.25] * 24),
    case("RP133 bundle/group_priors_rot6d/prior_per_dim/4", 0.0),
    case("RP134 bundle/StdY/3", 5e-4),
    case("RP205 bundle/meta/rot6d_spec/matrix_layout", "rows_are_axes"),
    case("RP228 bundle/meta/skeleton/ref_local_offsets_m/0", scaled(100.0, *SKELETON, "ref_local_offsets_m")),
    case("RP229 bundle/meta/skeleton/ref_local_offsets_m/1", [0.0, -0.2, 0.0]),
    case("RP230 bundle/meta/skeleton/parents/1", put([-1, 0, 1], *SKELETON, "parents")),
    case("RP231 bundle/meta/skeleton/bone_names/40", swapped_thighs),
    case("RP232 bundle/meta/skeleton/parents/0", put([1, -1, 1], *SKELETON, "parents")),
    case("RP240 bundle/meta/units", "centimeters"),
    case("RP241 bundle/meta/handedness", put("right", *SPEC, "handedness")),
    case("RP242 bundle/meta/axes", put("forward", *META, "axes", "y")),
    case("RP243 bundle/meta/axes/x", put({"x": "right", "y": "backward", "z": "up"}, *META, "axes")),
    case("RP244 bundle/meta/root_motion/root_yaw_units", "degrees"),
    case("RP245 bundle/meta/alignment/x_to_y/offset", 2),
    case("RP244 bundle/meta/root_motion/root_yaw_units", 4),
    case("RP245 bundle/meta/alignment/x_to_y/mode", "same"),
    case("RP246 bundle/meta/spaces/bone_rotations", "component_6d"),
    case("RP247 bundle/meta/trajectory/seconds", [0.3, 0.15, 0.0, -0.15, -0.3]),
    case("RP308 companion/angvel_dim", 12),
    case("RP310 companion/MuPoseHist/18", turned(18, "companion", "MuPoseHist")),
)  # fmt: skip
