"""Named edits of a declared system's contract file, each labelled by hand with what it changes and for whom.

The letters are those of `bundle_edits`. The file is NeuraRig's as it is committed; nothing is computed by the code under test.
"""

import json

from rigpact.fixtures import demo_bundle

from .bundle_edits import Pair
from .edits import edit_of, rows_of

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


_ROWS = rows_of("contract_pairs")
CONTRACT_BEFORE = {name: edit_of(row[3], globals()) for name, row in _ROWS.items() if len(row) > 3}
CONTRACT_PAIRS = tuple(Pair(name, edit_of(row[2], globals()), row[0], row[1]) for name, row in _ROWS.items())
