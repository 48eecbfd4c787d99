"""How far an agreement saw: the stages that were judged, the widest tolerance, and what nothing judged."""

import json
from typing import Any

import jsonschema
import numpy as np

from rigpact.contract.rules.structure import load_schema
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.judged import Widest

from .conftest import Doctor

FEW = ("x_raw", "y_norm", "quat")


def _widest(doctor: Doctor, stages: Any, unit: str = "deg") -> Widest:
    seen = doctor(stages, FEW).seen
    assert seen is not None
    return next(each for each in seen.widest if each.unit == unit)


def test_an_agreement_counts_what_it_judged_and_what_it_folded(doctor: Doctor, honest: Any) -> None:
    """Two of fifteen stages and fifteen of fifteen were the same word; who reads it cannot know how much was looked at."""
    few, whole = doctor(honest.stages, FEW), doctor(honest.stages)
    assert few.verdict == whole.verdict == "agrees"
    assert few.seen is not None
    assert whole.seen is not None
    assert (few.seen.judged, few.seen.stages) == (FEW, 15)
    assert set(few.seen.folded) == set(honest.stages) - {*FEW, "x_raw_next"}
    assert (len(whole.seen.judged), whole.seen.folded) == (15, ())
    assert few.seen.sentence.startswith(
        "3 of 15 stages judged, 11 more folded into them; nothing judged x_raw_next; the widest tolerance"
    )
    assert few.seen.sentence.endswith(": a smaller difference would not show")


def test_a_turn_below_the_widest_tolerance_does_not_show_and_a_larger_one_does(doctor: Doctor, honest: Any) -> None:
    """A figure that no experiment bears out would be believed. The turn is planted by hand: about x, on the named bone."""
    said = _widest(doctor, honest.stages)
    contract, bone, row = doctor.scene.contract, said.address.bone, said.frame
    assert said.words.endswith(f"° at {bone} ({said.stage}, frame {row})")
    start = 4 * contract.numbers.bone_names.index(str(bone))
    for times, verdict in ((0.2, "agrees"), (4.0, "unexplained")):
        stages = {name: rows.copy() for name, rows in honest.stages.items()}
        x, y, z, w = stages["quat"][row, start : start + 4].astype(np.float64)
        half = np.radians(times * said.tolerance) / 2.0
        sine, cosine = np.sin(half), np.cos(half)
        turned = (cosine * x + sine * w, cosine * y - sine * z, cosine * z + sine * y, cosine * w - sine * x)
        stages["quat"][row, start : start + 4] = turned
        assert doctor.judged(stages, FEW).verdict == verdict


def test_what_nothing_judged_is_never_an_agreement(doctor: Doctor, honest: Any) -> None:
    """The answer of another checkpoint was recorded, or the condition of another clip, and nothing looked at it: exit 0."""
    alone = doctor(honest.stages, FEW, network=None)
    assert (alone.verdict, alone.exit_code, alone.unjudged) == ("undetermined", 2, ("y_norm",))
    evidence = doctor.evidence(honest.stages, FEW, network=None)
    assert diagnose(evidence, doctor.scene.contract, allow_unjudged=("y_norm",)).verdict == "agrees"
    found = doctor(honest.stages, ("cond_raw", "cond"), drive=None)
    assert (found.verdict, found.unjudged) == ("undetermined", ("cond_raw",))
    document = json.loads(json.dumps(alone.to_json()))
    jsonschema.validate(document, load_schema("diagnosis"))
    assert document["seen"]["widest"][0]["unit"] == "deg"
    assert document["seen"]["widest"][0]["tolerance"] > 0.0
