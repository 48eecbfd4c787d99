"""What a convention that differs does to the character: the reference run once more under it, pose against pose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.gate import RecordedRun
from rigpact.reference_runtime.recordings.recording import Recording, contract_of_side
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.reference_run import network_of, played, reference_of
from rigpact.reports.nonfinite.lanes import published_stage


def effect_on_character(
    project: Project, run: RecordedRun, recording: Recording, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """How far the worst bone is off under the changed conventions, as values of a finding; none where no model runs."""
    if project.verdict_only or not project.models or not project.system.posed:
        return {}
    changed = contract_of_side(recording, project.contract).with_conventions(changes)
    try:
        trace = played(project, changed, network_of(project, recording.trace.header.mode), run, recording.trace)
    except UnusableInput as error:
        return {"on_character": f"not measured: {error.one_line()}"}
    stage = published_stage(project.contract)
    reference = reference_of(project, run, recording)
    other = Recording(Path("changed"), "reference run", trace, frozenset(trace.stages))
    bones = judge(compare(reference, other, project.contract, only=(stage.name,))).summary["bones"]
    return {"on_character": _words(bones[0]), "angle_deg": _angle_deg(bones[0])} if bones else {}


def _angle_deg(worst: Mapping[str, Any]) -> float:
    """The worst angle, for the order of causes; half a turn, the largest there is, where a pose is not finite."""
    return 180.0 if worst["max_deg"] is None else float(worst["max_deg"])


def _words(worst: Mapping[str, Any]) -> str:
    if worst["max_deg"] == 0.0:
        return "the pose itself stays as it is"
    sizes = [f"{worst[key]:.3g}{unit}" for key, unit in (("max_deg", "°"), ("max_cm", " cm")) if worst[key] is not None]
    return f"{worst['bone']} is up to {' and '.join(sizes)} off" if sizes else f"{worst['bone']} is not finite"
