"""The six numbers of each bone, held against the columns of a rotation. teacher_rows.py and prediction.py have the rules."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rotation6d import rot6d_defect
from rigpact.contract.rules.clips.clip_rotations import UNIT_TOLERANCE
from rigpact.contract.rules.views.rows import Rows
from rigpact.contract.rules.wording import and_more
from rigpact.contract.statistics import FloatArray


def not_poses(rule: Rule, rows: Rows, columns: FloatArray, path: tuple[str, ...]) -> Iterator[Finding]:
    """One finding of `rule` if some of the columns, (T, B, 6), are not those of a rotation: at the first such row and bone."""
    defects = rot6d_defect(columns)
    bad = np.argwhere(defects > 2 * UNIT_TOLERANCE)
    if len(bad):
        row, bone = (int(index) for index in bad[0])
        values = {"row": row, "bone": rows.bundle.bone(bone), "defect": float(defects[row, bone])}
        more = and_more(len(bad) - 1, "bones and rows")
        yield rule.at(rows.path, json_pointer(*path, row), more=more, **values)
