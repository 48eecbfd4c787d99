"""The six numbers of each bone, held against the columns of a rotation. teacher_rows.py and prediction.py have the rules."""

from collections.abc import Iterator

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rotation6d import rot6d_defect
from rigpact.contract.rules.clips.clip_rotations import UNIT_TOLERANCE
from rigpact.contract.rules.views.rows import Rows
from rigpact.contract.rules.wording import first_of
from rigpact.contract.statistics import FloatArray


def not_poses(rule: Rule, rows: Rows, columns: FloatArray, path: tuple[str, ...]) -> Iterator[Finding]:
    """One finding of `rule` if some of the columns, (T, B, 6), are not those of a rotation: at the first such row and bone."""
    defects = rot6d_defect(columns)
    for (row, bone), more in first_of(defects > 2 * UNIT_TOLERANCE, "bones and rows"):
        values = {"row": row, "bone": rows.bundle.bone(bone), "defect": float(defects[row, bone])}
        yield rule.at(rows.path, (*path, row), more=more, **values)
