"""Named edits of the small character's bundle, each labelled by hand with what it changes and for whom.

E: ENGINE_LAYOUT, M: ENGINE_MATH, R: RETRAIN, T: TRACE, C: COSMETIC. The code under test computes no label.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

from .edits import Edit, both, changed, drop, edit_of, rows_of
from .small_character import bundle_document, rot6d

PER_BONE = {"BoneRotations6D": 6, "BoneAngularVelocities": 3}
HISTORY = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
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


def one_channel_more(bundle):
    bundle["MuX"].append(0.0)
    bundle["StdX"].append(1.0)


def slices_reversed(bundle):
    bundle["meta"].update(state_layout=dict(reversed(bundle["meta"]["state_layout"].items())))


labels_swapped = with_bones(("pelvis", 0), ("thigh_r", 1), ("thigh_l", 2), names_only=True)
_ROWS = rows_of("bundle_pairs")
PAIRS = tuple(Pair(name, edit_of(row[2], globals()), row[0], row[1]) for name, row in _ROWS.items())
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


BEFORE: dict[str, Edit] = {name: edit_of(row[3], globals()) for name, row in _ROWS.items() if len(row) > 3}
"""Pairs whose old bundle differs from the common base."""
