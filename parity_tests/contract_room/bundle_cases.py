"""Defects of the bundle and its companion: the edits that bundle_cases.yaml names."""

import json

from rigpact.fixtures import demo_bundle

from .edits import META, both, case, changed, drop, only, put, rows_of

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


CASES = tuple(case(*row, names=globals()) for row in rows_of("bundle_cases"))
