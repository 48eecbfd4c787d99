"""Named edits of the small character's bundle, each labelled by hand with what it changes and for whom.

E: ENGINE_LAYOUT, M: ENGINE_MATH, R: RETRAIN, T: TRACE, C: COSMETIC. The code under test computes no label.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

from .edits import Edit, both, changed, drop, more, put, scaled, shorter
from .small_character import bundle_document, rot6d

PER_BONE = {"BoneRotations6D": 6, "BoneAngularVelocities": 3}
HISTORY = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
SPEC, SKELETON = ("meta", "rot6d_spec"), ("meta", "skeleton")
RESIZED = "slice-resized slice-resized slice-moved slice-moved vector-width-changed vector-width-changed slice-resized"
WITHOUT_HISTORY = both(*(drop(key) for key in HISTORY))


@dataclass(frozen=True)
class Pair:
    """An edit, the kinds of change that it makes, and the classes that it has in all."""

    name: str
    edit: Edit
    kinds: str
    classes: str


def next_float32(value):
    """The neighbour of a float32 above it: 24 bits of mantissa."""
    return value + 2.0 ** (math.frexp(value)[1] - 24)


def one_step(key, index):
    return changed(next_float32, key, index)


def slices(bundle):
    """The slices of the state in their order, each with its statistics."""
    layout = sorted(bundle["meta"]["state_layout"].items(), key=lambda item: item[1]["start"])
    spans = [(name, slice(entry["start"], entry["start"] + entry["size"])) for name, entry in layout]
    return [(name, bundle["MuX"][span], bundle["StdX"][span]) for name, span in spans]


def write_slices(bundle, parts):
    layout, start = {}, 0
    for name, mean, _ in parts:
        layout[name] = {"start": start, "size": len(mean)}
        start += len(mean)
    bundle["meta"]["state_layout"], bundle["input_dim"] = layout, start
    bundle["MuX"] = [number for _, mean, _ in parts for number in mean]
    bundle["StdX"] = [number for _, _, std in parts for number in std]


def without_slice(name):
    return lambda bundle: write_slices(bundle, [part for part in slices(bundle) if part[0] != name])


def with_slice(name, size, place):
    def edit(bundle):
        parts = slices(bundle)
        write_slices(bundle, [*parts[:place], (name, [0.0] * size, [1.0] * size), *parts[place:]])

    return edit


def swap_slices(first, second):
    def edit(bundle):
        parts = slices(bundle)
        parts[first], parts[second] = parts[second], parts[first]
        write_slices(bundle, parts)

    return edit


def four_contacts(bundle):
    """Toes beside heels, measured alike."""
    write_slices(bundle, [*slices(bundle)[:-1], ("Contacts", [0.5] * 4, [0.5] * 4)])


def rename_slice(old, new):
    renamed = {old: new}
    return changed(
        lambda layout: {renamed.get(key, key): entry for key, entry in layout.items()}, "meta", "state_layout"
    )


def with_bones(*picks, names_only=False):
    """Rebuild the bundle with these bones; each is a name and the old bone whose numbers it takes. Per-bone arrays follow."""

    def edit(bundle):
        names, sources = [name for name, _ in picks], [source for _, source in picks]
        meta, skeleton = bundle["meta"], bundle["meta"]["skeleton"]
        meta["bone_names"], skeleton["bone_names"] = list(names), list(names)
        if names_only:
            return
        widths = [(PER_BONE.get(name, 0), name, mean, std) for name, mean, std in slices(bundle)]
        write_slices(bundle, [(name, pick(m, width, sources), pick(s, width, sources)) for width, name, m, s in widths])
        for width, *keys in (6, "MuY", "StdY"), (3, "tanh_scales_angvel", "MuAngVel", "StdAngVel"):
            for key in keys:
                bundle[key] = pick(bundle[key], width, sources)
        for key in HISTORY:
            frame = len(bundle[key]) // bundle["pose_hist_len"]
            frames = [bundle[key][start : start + frame] for start in range(0, len(bundle[key]), frame)]
            bundle[key] = [number for each in frames for number in pick(each, 6, sources)]
        meta["output_layout"]["BoneRotations6D"]["size"] = bundle["output_dim"] = 6 * len(picks)
        skeleton["ref_local_offsets_m"] = [list(skeleton["ref_local_offsets_m"][source]) for source in sources]
        old_parents = skeleton["parents"]
        skeleton["parents"] = [sources.index(old_parents[s]) if old_parents[s] >= 0 else -1 for s in sources]

    return edit


def pick(values, per_bone, sources):
    if not per_bone:
        return values
    return [number for source in sources for number in values[per_bone * source : per_bone * source + per_bone]]


def longer_history(bundle):
    bundle["pose_hist_len"] = 3
    for key in HISTORY:
        bundle[key] = bundle[key][:18] + bundle[key]


def reread_as_array(side):
    """Every entry of a layout as [start, end), which the engine reads to the same slices."""
    return changed(
        lambda layout: {key: [entry["start"], entry["start"] + entry["size"]] for key, entry in layout.items()},
        "meta", f"{side}_layout",
    )  # fmt: skip


P, L, R = ("pelvis", 0), ("thigh_l", 1), ("thigh_r", 2)
PAIRS = (
    # layouts
    Pair("contacts removed", without_slice("Contacts"), "slice-removed vector-width-changed", "ERT"),
    Pair("slice added at the end", with_slice("RootHeight", 1, 6), "slice-added vector-width-changed", "ERT"),
    Pair("slice added in the middle", with_slice("RootHeight", 1, 3),
         "slice-added slice-moved slice-moved slice-moved vector-width-changed", "ERT"),
    Pair("two slices swapped", swap_slices(4, 5), "slice-moved slice-moved", "ERT"),
    Pair("contacts widened to four", four_contacts, "slice-resized vector-width-changed", "ERT"),
    Pair("slice renamed", rename_slice("Contacts", "FootContacts"), "slice-renamed", "E"),
    Pair("input_dim wider than its slices", both(put(36, "input_dim"), lambda b: b["MuX"].append(0.0),
         lambda b: b["StdX"].append(1.0)), "vector-width-changed", "ERT"),
    Pair("input_dim left out", drop("input_dim"), "declaration-removed", "C"),
    Pair("input_dim as 35.0", put(35.0, "input_dim"), "formatting-changed", "C"),
    Pair("output slice as an array from 0", reread_as_array("output"), "layout-written-differently", "C"),
    Pair("state slices as arrays", reread_as_array("state"), " ".join(["layout-ambiguous"] * 5), "R"),
    Pair("slice order in the file", lambda b: b["meta"].update(state_layout=dict(reversed(b["meta"]["state_layout"].items()))),
         "formatting-changed", "C"),
    # bones
    Pair("bones reordered", with_bones(P, R, L), "bones-reordered", "ERT"),
    Pair("bone labels swapped", with_bones(P, ("thigh_r", 1), ("thigh_l", 2), names_only=True), "bones-relabelled", "ET"),
    Pair("repeated names in another order", put(["thigh", "thigh", "pelvis"], "meta", "bone_names"), "bones-reordered", "ERT"),
    Pair("repeated names, and another rate", put(30, "fps"), "frame-rate-changed", "MRT"),
    Pair("bone renamed", with_bones(("hips", 0), L, R), "bone-renamed", "E"),
    Pair("two bones renamed", with_bones(P, ("leg_l", 1), ("leg_r", 2)), "bone-renamed bone-renamed", "E"),
    Pair("bone renamed and moved", with_bones(P, ("leg_r", 2), L), "bone-renamed bones-reordered", "ERT"),
    Pair("bone added at the end", with_bones(P, L, R, ("tail", 1)), f"bone-added {RESIZED}", "ERT"),
    Pair("bone added in the middle", with_bones(P, ("tail", 2), L, R), f"bone-added {RESIZED}", "ERT"),
    Pair("bone removed", with_bones(P, L), f"bone-removed {RESIZED}", "ERT"),
    Pair("bone replaced by another", both(with_bones(P, L, ("tail", 0)), put([-1, 0, 0], *SKELETON, "parents"),
         put([[0.0, 0.0, 0.9], [0.0, -0.1, 0.0], [0.3, 0.0, 0.0]], *SKELETON, "ref_local_offsets_m")),
         "bone-removed bone-added", "ERT"),
    Pair("bone names left out", drop("meta", "bone_names"), "bone-names-removed", "E"),
    Pair("bone names are numbers", put([1, 2, 4], "meta", "bone_names"), "bone-names-unreadable", "E"),
    Pair("the skeleton lists its bones in another order", put(["pelvis", "thigh_r", "thigh_l"], *SKELETON, "bone_names"),
         "skeleton-bones-changed", "T"),
    Pair("root bone renamed", put("armature", *SKELETON, "root_bone"), "root-bone-renamed", "E"),
    Pair("thigh moved under the other thigh", put([-1, 0, 1], *SKELETON, "parents"), "bone-reparented", "MRT"),
    Pair("offsets a centimetre longer", put([0.0, -0.11, 0.0], *SKELETON, "ref_local_offsets_m", 1),
         "skeleton-offsets-moved", "T"),
    Pair("offsets in centimetres", scaled(100.0, *SKELETON, "ref_local_offsets_m"), "skeleton-offsets-moved", "T"),
    Pair("offset one float32 step off", put([0.0, 0.0, next_float32(0.9)], *SKELETON, "ref_local_offsets_m", 0),
         "skeleton-offsets-rounded", "C"),
    Pair("skeleton left out", drop(*SKELETON), "skeleton-removed", "T"),
    # statistics of the state
    Pair("MuX moved by two deviations", more(0.5, "MuX", 9), "input-mean-moved", "MRT"),
    Pair("MuX moved by a tenth of a deviation", more(0.025, "MuX", 9), "input-mean-moved", "MRT"),
    Pair("MuX moved by a hundredth of a deviation", more(0.0025, "MuX", 9), "input-mean-drifted", "MT"),
    Pair("MuX one float32 step off", one_step("MuX", 6), "input-mean-rounded", "C"),
    Pair("MuX in two slices", both(more(3.0, "MuX", 0), more(0.5, "MuX", 9)), "input-mean-moved input-mean-moved", "MRT"),
    Pair("MuX is not a number", put(float("nan"), "MuX", 9), "input-mean-moved", "MRT"),
    Pair("StdX doubled", scaled(2.0, "StdX", 9), "input-std-moved", "MRT"),
    Pair("StdX two per cent off", scaled(1.02, "StdX", 9), "input-std-drifted", "MT"),
    Pair("StdX one float32 step off", one_step("StdX", 9), "input-std-rounded", "C"),
    Pair("StdX negated", scaled(-1.0, "StdX", 9), "input-std-moved", "MRT"),
    Pair("StdX below the floor", put(1e-9, "StdX", 9), "input-std-moved", "MRT"),
    # statistics of the output
    Pair("MuY moved, residual", more(0.5, "MuY", 9), "recorded-mean-moved", "T"),
    Pair("MuY moved, delta", more(0.5, "MuY", 9), "output-mean-moved", "MRT"),
    Pair("MuY a hundredth of a deviation off, residual", more(0.001, "MuY", 9), "recorded-mean-drifted", "T"),
    Pair("MuY a hundredth of a deviation off, absolute", more(0.001, "MuY", 9), "output-mean-drifted", "MT"),
    Pair("MuY one float32 step off, absolute", one_step("MuY", 0), "output-mean-rounded", "C"),
    Pair("MuY one float32 step off", one_step("MuY", 0), "recorded-mean-rounded", "C"),
    Pair("StdY halved", scaled(0.5, "StdY"), "output-std-moved", "MRT"),
    Pair("StdY one per cent off", scaled(1.01, "StdY", 3), "output-std-drifted", "MT"),
    Pair("StdY one float32 step off", one_step("StdY", 3), "output-std-rounded", "C"),
    Pair("StdY negated", scaled(-1.0, "StdY", 3), "output-std-moved", "MRT"),
    Pair("MuX cut short", shorter("MuX"), "array-broken", "ERT"),
    Pair("StdY left out", drop("StdY"), "array-broken", "ERT"),
    Pair("StdX holds words", put("many", "StdX", 4), "array-broken", "ERT"),
    Pair("MuX too short in both", shorter("MuX"), "array-unreadable", "ERT"),
    # scales
    Pair("angular-velocity scales doubled", scaled(2.0, "tanh_scales_angvel"), "squash-scale-moved", "MRT"),
    Pair("root-velocity scale two per cent off", scaled(1.02, "tanh_scales_rootvel", 0), "squash-scale-drifted", "MT"),
    Pair("scale one float32 step off", one_step("tanh_scales_angvel", 3), "squash-scale-rounded", "C"),
    Pair("scale below the engine's floor", put(1e-4, "tanh_scales_angvel", 4), "squash-scale-moved", "MRT"),
    # the companion's statistics
    Pair("history statistics unmerged", WITHOUT_HISTORY, "history-statistics-unmerged", "MT"),
    Pair("angular-velocity statistics unmerged", both(drop("MuAngVel"), drop("StdAngVel")), "angvel-statistics-unmerged", "T"),
    Pair("MuAngVel moved", more(0.4, "MuAngVel", 2), "training-statistics-moved", "RT"),
    Pair("StdAngVel one per cent off", scaled(1.01, "StdAngVel", 2), "training-statistics-drifted", "T"),
    Pair("StdAngVel one float32 step off", one_step("StdAngVel", 2), "training-statistics-rounded", "C"),
    Pair("MuPoseHist moved", more(0.3, "MuPoseHist", 20), "input-mean-moved", "MRT"),
    Pair("history one frame longer", longer_history, "history-length-changed", "ERT"),
    Pair("history length left out", drop("pose_hist_len"), "history-length-undeclared", "C"),
    # declarations
    Pair("history length left out, and nothing it follows from", drop("pose_hist_len"), "history-length-changed", "ERT"),
    Pair("columns X and Y", put(["X", "Y"], *SPEC, "columns"), "rotation-columns-changed", "MRT"),
    Pair("columns in small letters", put(["x", "z"], *SPEC, "columns"), "spelled-differently", "C"),
    Pair("columns left out", drop(*SPEC, "columns"), "declaration-removed", "C"),
    Pair("residual becomes delta", put("delta", *SPEC, "output_mode"), "output-mode-changed", "MRT"),
    Pair("residual becomes undeclared, which is delta", drop(*SPEC, "output_mode"), "output-mode-changed", "MRT"),
    Pair("residual becomes absolute", put("absolute", *SPEC, "output_mode"), "output-mode-changed", "MRT"),
    Pair("output mode in capitals, which no reader knows", put("Residual", *SPEC, "output_mode"), "output-mode-changed", "MRT"),
    Pair("matrix layout declared", put("columns_are_axes", *SPEC, "matrix_layout"), "declaration-added", "C"),
    Pair("rows in place of columns", put("rows_are_axes", *SPEC, "matrix_layout"), "rotation-spec-changed", "MRT"),
    Pair("second column first", put("B_then_A", *SPEC, "order"), "rotation-spec-changed", "MRT"),
    Pair("fps 30", put(30, "fps"), "frame-rate-changed", "MRT"),
    Pair("fps left out, which is 60", drop("fps"), "declaration-removed", "C"),
    Pair("condition z-scored", put("ZScore", "cond_norm_config", "mode"), "condition-mode-changed", "MRT"),
    Pair("condition mode in capitals", put("RAW", "cond_norm_config", "mode"), "spelled-differently", "C"),
    Pair("condition two values wider", put(9, "cond_norm_config", "size"), "condition-width-changed", "ERT"),
    Pair("metres become centimetres", put("centimeters", "meta", "units"), "units-changed", "MRT"),
    Pair("meters spelled m", put("m", "meta", "units"), "spelled-differently", "C"),
    Pair("left-handed becomes right-handed", put("right", "meta", "handedness"), "handedness-changed", "MRT"),
    Pair("y becomes up", put({"x": "right", "y": "up", "z": "forward"}, "meta", "axes"),
         "axes-changed axes-changed axes-changed", "MRT"),
    Pair("angular velocity in the local frame", put("world", "meta", "spaces", "bone_angular_velocities"),
         "spaces-changed", "MRT"),
    Pair("targets two frames ahead", put(2, "meta", "alignment", "x_to_y", "offset"), "target-alignment-changed", "MRT"),
    Pair("condition of the target frame", put(1, "meta", "alignment", "cond_to_y", "offset"),
         "condition-alignment-changed", "RT"),
    Pair("trajectory seconds", put([-0.2, 0.0, 0.2], "meta", "trajectory", "seconds"), "trajectory-changed", "RT"),
    Pair("outputs written back elsewhere", put([1, 0], "meta", "y_to_x_map"), "writeback-map-changed", "RT"),
    Pair("trajectory seconds in float32", put([-0.30000001192092896, 0, 0.30000001192092896], "meta", "trajectory", "seconds"),
         "spelled-differently", "C"),
    Pair("yaw in degrees", put("degrees", "meta", "root_motion", "root_yaw_units"), "root-motion-changed", "MRT"),
    Pair("forward axis turned", put(-90, "meta", "root_motion", "forward_axis_offset_deg"), "root-motion-changed", "MRT"),
    Pair("a right-handed character that says so", put("right", "meta", "handedness"), "handedness-changed", "MRT"),
    Pair("handedness left out, which is left", drop("meta", "handedness"), "declaration-removed", "C"),
    Pair("basis change applied", put(True, "meta", "asset_to_ue", "applied"), "basis-changed", "MRT"),
    # notes
    Pair("notes", put("a better walk", "notes"), "bookkeeping-changed", "C"),
    Pair("bundle version", put(3, "bundle_version"), "bookkeeping-changed", "C"),
    Pair("effective scales", put([1.0] * 35, "s_eff_X"), "bookkeeping-changed", "C"),
    Pair("a key that nobody can judge", put({"by": "me"}, "exported"), "unjudged-change", "MRT"),
    Pair("an empty map of alignments", put({}, "meta", "alignment"), "declaration-added", "C"),
    Pair("several things at once", both(put("x", "notes"), put(30, "fps"), more(0.5, "MuY", 9), with_bones(("hips", 0), L, R)),
         "bookkeeping-changed frame-rate-changed recorded-mean-moved bone-renamed", "EMRTC"),
)  # fmt: skip
"""Every pair; `before` of some of them is edited too, see BEFORE."""


def base():
    """The small character with nothing but what the pairs are about: everything declared but the matrix layout."""
    bundle: dict[str, Any] = json.loads(json.dumps(bundle_document()))
    bundle["MuY"] = [number for bone in range(3) for number in rot6d(1.2 + 0.3 * bone)]  # which tells the bones apart
    bundle["MuX"][6:24] = bundle["MuY"]
    for key in ("pose_hist_dim", "group_priors_rot6d", "s_eff_Y", "s_eff_meta"):
        del bundle[key]
    meta = bundle["meta"]
    del meta["std_floor"]
    meta |= {"rot6d_spec": {"columns": ["X", "Z"], "output_mode": "residual"}, "asset_to_ue": {"applied": False}}
    meta |= {"trajectory": {"type": "direction_window", "seconds": [-0.3, 0.0, 0.3]}}
    return bundle | {"notes": "a walk", "cond_norm_config": {"mode": "Raw"}}


_ABSOLUTE = put("absolute", *SPEC, "output_mode")
BEFORE: dict[str, Edit] = {
    "repeated names in another order": put(["pelvis", "thigh", "thigh"], "meta", "bone_names"),
    "repeated names, and another rate": put(["pelvis", "thigh", "thigh"], "meta", "bone_names"),
    "MuY moved, delta": put("delta", *SPEC, "output_mode"),
    "MuY a hundredth of a deviation off, absolute": _ABSOLUTE,
    "MuY one float32 step off, absolute": _ABSOLUTE,
    "bone names are numbers": put([1, 2, 3], "meta", "bone_names"),
    "MuX too short in both": shorter("MuX"),
    "rows in place of columns": put("columns_are_axes", *SPEC, "matrix_layout"),
    "second column first": put("A_then_B", *SPEC, "order"),
    "an empty map of alignments": drop("meta", "alignment"),
    "a right-handed character that says so": drop("meta", "handedness"),
    "history length left out, and nothing it follows from": WITHOUT_HISTORY,
    "outputs written back elsewhere": put([0, 1], "meta", "y_to_x_map"),
}
"""Pairs whose old bundle differs from the common base."""
