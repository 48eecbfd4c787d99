"""Compare the error of the published pose with the project's limits in degrees and centimetres."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import Thresholds
from rigpact.contract.statistics import FloatArray
from rigpact.reports.gate.answer.compared_run import ComparedRun


def beyond_limits(run: ComparedRun, limits: Thresholds, file: str) -> Iterator[Finding]:
    """One finding for each bone beyond a limit, at its worst frame. A non-finite error is beyond every limit."""
    for unit, errors, limit in (("degrees", run.deg, limits.pose_deg), ("cm", run.cm, limits.pose_cm)):
        if limit is not None and errors is not None:
            yield from _beyond(run, errors, limit, unit, file)


def _beyond(run: ComparedRun, errors: FloatArray, limit: float, unit: str, file: str) -> Iterator[Finding]:
    sized = np.where(np.isfinite(errors), errors, np.inf)
    for bone in np.flatnonzero((sized > limit).any(axis=0)).tolist():
        row = int(np.argmax(sized[:, bone]))
        name = run.bone_names[bone] if bone < len(run.bone_names) else f"bone {bone}"
        yield rules.POSE_BEYOND_LIMIT.at(
            file, json_pointer("bones", name, unit), bone=name, error=float(sized[row, bone]), unit=unit,
            frame=int(run.frames[row]), limit=limit,
        )  # fmt: skip
