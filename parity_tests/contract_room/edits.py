"""Edits of plain JSON values and of a sample of all artefacts; a rule's case: an edit, and where its finding must be."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

Edit = Callable[[Any], object]
ARTEFACTS = ("bundle", "companion", "clip", "batch", "prediction", "model")
META = ("bundle", "meta")
SPEC = (*META, "rot6d_spec")
SKELETON = (*META, "skeleton")


@dataclass(frozen=True)
class Case:
    """One named defect: the rule that must report it, the artefact and the place in it."""

    code: str
    artefact: str
    pointer: str
    edit: Edit


def case(where, *said, names=None):
    """'RP104 bundle/StdX/12' and an edit, as `edit_of` has it, or `value` and what is put at that very place."""
    code, _, place = where.partition(" ")
    artefact, slash, rest = place.partition("/")
    keys = [int(key) if key.isdigit() else key for key in rest.split("/")]
    edit = said[-1] if callable(said[-1]) else None
    if edit is None and names is not None and said[0] != "value":
        edit = edit_of(said[0], names)
    return Case(code, artefact, slash + rest, edit or put(said[-1], artefact, *keys))


def rows_of(name):
    """A table of this folder: NAME.yaml."""
    return yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))


def edit_of(said, names):
    """An edit as the tables say it: its name, the name with what it takes, or several, one after the other."""
    if isinstance(said, list):
        return both(*(edit_of(each, names) for each in said))
    known = globals() | names
    if isinstance(said, str):
        return known[said]
    [(name, takes)] = said.items()
    return known[name](*takes)


def holder_of(root, path):
    """What holds the last step of a path; of a sample, the first step names the artefact."""
    for key in path[:-1]:
        root = root[key] if isinstance(root, dict | list) else getattr(root, key)
    return root


def put(value, *path):
    """An edit that sets the value at a path."""
    return lambda root: holder_of(root, path).__setitem__(path[-1], value)


def drop(*path):
    """An edit that removes what stands at a path."""
    return lambda root: holder_of(root, path).__delitem__(path[-1])


def both(*edits):
    """One edit after the other."""
    return lambda root: [edit(root) for edit in edits]


def changed(change, *path):
    """An edit of the value at a path."""
    return lambda root: put(change(holder_of(root, path)[path[-1]]), *path)(root)


def shorter(*path):
    """An edit that takes the last element away."""
    return changed(lambda values: values[:-1], *path)


def scaled(factor, *path):
    """An edit that multiplies every number at a path."""

    def times_factor(value):
        return [times_factor(each) for each in value] if isinstance(value, list) else value * factor

    return changed(times_factor, *path)


def more(amount, *path):
    """An edit that adds to one number."""
    return changed(lambda value: value + amount, *path)


def text(name, old, new):
    """An edit of a file's text, for what no JSON writer would write."""
    return lambda sample: sample.texts.update({name: lambda content: content.replace(old, new, 1)})


def only(*names):
    """An edit that hands the check these artefacts alone."""
    return lambda sample: sample.absent.update(set(ARTEFACTS) - set(names))


def times(factor, vector):
    """A vector, longer or turned round."""
    return [factor * value for value in vector]


# --- the clip of a sample ---------------------------------------------------------------------------------------------


def each_frame(change):
    """An edit of every frame of the clip."""
    return lambda sample: [change(index, frame) for index, frame in enumerate(sample.clip["Frames"])]


def bone(frame, index, change):
    """An edit of one bone's two columns in one frame."""
    return changed(lambda six: change(six[:3], six[3:]), "clip", "Frames", frame, "BoneRotations", index)


def foot(frame, side, **fields):
    """An edit of what a foot reports in a frame."""
    return lambda sample: sample.clip["Frames"][frame]["FootEvidence"][side].update(fields)


def planted(first, last, **fields):
    """An edit that gives the left foot contact with the ground for some frames, its speed as it is or as said."""
    contact = {"soft_contact_score": 0.9, "hit_flag": 1, "dist_to_ground_m": 0.0, "vxy_mps": 0.0, **fields}
    return both(*(foot(frame, "L", **contact) for frame in range(first, last)))


def spinning(change):
    """An edit of every angular velocity of the clip."""
    key = "BoneAngularVelocities"
    return each_frame(lambda index, frame: frame.update({key: [change(index, vector) for vector in frame[key]]}))


def little_motion(sample):
    """Statistics of limbs that hardly move, so that 17 degrees tell two of them apart."""
    sample.bundle["StdX"][6:24] = [0.03] * 18


def rows_read(change):
    """An edit of the three rows of every frame."""
    return both(little_motion, each_frame(lambda _, frame: frame.update(BoneRotations=change(frame["BoneRotations"]))))


def leaning(z, x):
    """z, leaned towards x by a tenth; unit length."""
    leaned = [a + 0.1 * b for a, b in zip(z, x, strict=True)]
    return times(1 / math.hypot(*leaned), leaned)


def transposed(row):
    """Columns X and Z of the inverse."""
    x, z = row[:3], row[3:]
    y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]]
    return [x[0], y[0], z[0], x[2], y[2], z[2]]


def lagging(sample):
    """Each frame has the angular velocities of the next."""
    for frame, following in pairwise(sample.clip["Frames"]):
        frame["BoneAngularVelocities"] = following["BoneAngularVelocities"]
