"""Named edits of a declared system's contract file, each labelled by hand with what it changes and for whom.

The letters are those of `bundle_edits`. The file is NeuraRig's as it is committed; nothing is computed by the code under test.
"""

import json

from rigpact.fixtures import demo_bundle

from .bundle_edits import Pair
from .edits import both, drop, put, scaled

FIRST = ("vectors", "packet", "fields", 0)
LIMITED = ("vectors", "packet", "fields", 15)
LAST = ("vectors", "joints", "fields", 5)
TOE = {"name": "toe", "start": 0, "size": 3, "kind": "position", "unit": "cm"}


def contract():
    """NeuraRig's contract file."""
    path = demo_bundle().parent / "neurarig" / "neurarig.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def rename_stage(root):
    root["vectors"]["legs"] = root["vectors"].pop("joints")


def add_stage(root):
    root["vectors"]["toes"] = {"fields": [TOE]}


def swap_fields(root):
    first, second = root["vectors"]["joints"]["fields"][:2]
    first["start"], second["start"] = second["start"], first["start"]


def add_field(root):
    root["vectors"]["joints"]["fields"].append({**TOE, "name": "toe_l", "start": 18})


def write_down(root):
    root["vectors"]["engine_pose_next"] = root["vectors"]["engine_pose"]


CONTRACT_BEFORE = {"a vector that was never readable": put(7, "vectors", "packet", "fields")}
CONTRACT_PAIRS = (
    Pair("a stage is new", add_stage, "stage-added", "ERT"),
    Pair("a stage has another name", rename_stage, "stage-renamed", "ET"),
    Pair("a vector without fields", put(7, "vectors", "packet", "fields"), "vector-broken", "ERT"),
    Pair("a stage that the next frame takes over is written down", write_down, "declaration-added", "C"),
    Pair("a vector that was never readable", put(8, "vectors", "packet", "fields"), "vector-unreadable", "ERT"),
    Pair("a field is new", add_field, "field-added", "ERT"),
    Pair("two fields change places", swap_fields, "field-moved field-moved", "ERT"),
    Pair("a field is wider", put(6, *LAST, "size"), "field-resized", "ERT"),
    Pair("a field has another name", put("ball_l", *LAST, "name"), "field-renamed", "E"),
    Pair("a field is another quantity", put("direction", *FIRST, "kind"), "field-kind-changed", "MRT"),
    Pair("a field is in metres", put("m", *FIRST, "unit"), "field-unit-changed", "MRT"),
    Pair("a field is in another space", put("pelvis", *FIRST, "space"), "field-space-changed", "MRT"),
    Pair("a field has a range", both(put(-500.0, *FIRST, "low"), put(500.0, *FIRST, "high")), "field-range-changed", "T"),
    Pair("another convention", put("m", "conventions", "unit"), "convention-changed", "MRT"),
    Pair("a convention that nobody knows", put("loud", "conventions", "voice"), "convention-changed", "MRT"),
    Pair("a convention is left to the system", drop("conventions", "unit"), "declaration-removed", "C"),
    Pair("another rate", put(30.0, "fps"), "frame-rate-changed", "MRT"),
    Pair("the rate is left to the system", drop("fps"), "declaration-removed", "C"),
    Pair("a thigh is 5 % longer", scaled(1.05, "constants", "femur_cm", 1), "constant-changed", "MRT"),
    Pair("a thigh is a rounding longer", scaled(1 + 1e-9, "constants", "femur_cm", 1), "constant-rounded", "C"),
    Pair("a constant is new", put(0.5, "constants", "toe_cm"), "constant-added", "MRT"),
    Pair("a constant is a word", put("long", "constants", "femur_cm"), "constant-changed", "MRT"),
    Pair("a table has another shape", put([45.0], "constants", "femur_cm"), "constant-changed", "MRT"),
    Pair("a constant is a list of names", put(["a"], "constants", "bones"), "constant-changed", "MRT"),
    Pair("a key that nobody knows", put(1, "gravity"), "unjudged-change", "MRT"),
    Pair("a key beside the fields", put("x", "vectors", "packet", "codec"), "unjudged-change", "MRT"),
    Pair("the hash alone", put("0" * 64, "vectors", "packet", "layout_hash"), "unjudged-change", "MRT"),
    Pair("conventions that are not an object", put([], "conventions"), "unjudged-change" + 23 * " declaration-removed", "MRTC"),
    Pair("a note", put("for Ana", "notes"), "bookkeeping-changed", "C"),
    Pair("the name of the system in another spelling", put("NeuraRig", "system"), "spelled-differently", "C"),
    Pair("a space that is null", put(None, *LIMITED, "space"), "spelled-differently", "C"),
)  # fmt: skip
