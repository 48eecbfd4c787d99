"""The words: explained where every value that differs is, partly where something remains, unexplained where nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis, together
from rigpact.reports.diagnosing.explanation import _explanation, remaining
from rigpact.reports.diagnosing.relations.relation import Relation

from ..every_case import every_case
from .conftest import Doctor


def _conjugated(rows: Any) -> Any:
    quats = rows.copy().reshape(len(rows), -1, 4)
    quats[..., :3] *= -1.0
    return quats.reshape(rows.shape)


def _verdict(found: Diagnosis) -> tuple[str, int, list[str]]:
    return found.verdict, found.exit_code, [stage.stage for stage in found.stages if stage.remains is not None]


def test_a_relation_that_holds_everywhere_explains(doctor: Doctor, honest: Any) -> None:
    """A pose that one sentence explains in every frame was headed UNEXPLAINED, and people looked on."""
    stages = {**honest.stages, "quat": _conjugated(honest.stages["quat"])}

    found = doctor(stages)

    assert _verdict(found) == ("explained", 1, [])
    assert found.to_json()["search"] == {"budget": None, "is_complete": True, "not_tried": []}
    assert [(each.kind, each.frames_explained, each.frames) for each in found.relations] == [("inverse", 16, 16)]
    assert (found.causes, found.first_unexplained) == ((), None)


def test_a_relation_that_misses_a_frame_explains_in_part(doctor: Doctor, honest: Any) -> None:
    """One torn frame among conjugated ones was lost behind the word of the others."""
    quats = _conjugated(honest.stages["quat"])
    quats[4] = quats[4, ::-1]
    found = doctor({**honest.stages, "quat": quats})
    assert _verdict(found) == ("partly_explained", 1, ["quat"])
    (quat,) = (stage for stage in found.stages if stage.stage == "quat")
    assert quat.differs is not None
    assert quat.remains is not None
    assert (quat.differs.when, quat.remains.when) == ("in all 16 frames", "only in frame 4")
    assert found.first_unexplained is not None
    assert (found.first_unexplained.frame, found.first_unexplained.stage) == (4, "quat")


def test_a_search_without_time_judges_and_says_what_it_left(doctor: Doctor, honest: Any) -> None:
    """A search that was cut must not read as one that found nothing; where nothing differs, nothing was searched."""
    quats = _conjugated(honest.stages["quat"])
    quats[9, 3] = np.nan  # a relation in all frames hid a NaN
    told: list[Any] = []
    found = diagnose(
        doctor.evidence({**honest.stages, "quat": quats}),
        doctor.scene.contract,
        budget=Budget.spent(),
        says_stages=lambda verdicts, first: told.append((len(verdicts), first)),
    )
    assert (found.verdict, found.relations, found.causes) == ("unexplained", (), ())
    assert found.search is not None
    assert not found.search.is_complete
    assert "the relations of quat" in found.search.not_tried
    assert told == [(len(found.stages), found.first_divergence)]
    assert doctor({**honest.stages, "quat": quats}).verdict in ("partly_explained", "unexplained")
    assert doctor.judged(honest.stages).to_json()["search"] is None


@every_case(
    ("verdicts", "whole"),
    [
        (("explained", "unexplained"), "partly_explained"),
        (("explained", "agrees"), "explained"),
        (("unexplained", "agrees"), "unexplained"),
        (("partly_explained", "undetermined"), "partly_explained"),
    ],
)
def test_several_recordings_have_one_word(verdicts: Any, whole: str, doctor: Doctor) -> None:
    """A log of two runs, one explained, was called wholly unexplained."""
    parts = [Diagnosis(verdict, None, (), (), ()) for verdict in verdicts]

    assert together(parts, doctor.scene.contract.system.graph).verdict == whole


@dataclass
class _Judged:
    """Hypotheses of one stage with known errors in tolerances, without changes and with."""

    excess: Any
    under: Mapping[str, Any] = field(default_factory=dict)

    def failing(self, _changes: Any) -> list[str]:
        return ["pose"]

    def error(self, _stage: str, changes: Any) -> Any:
        excess = self.under[next(iter(changes))] if changes else self.excess
        return SimpleNamespace(excess=np.asarray(excess, float), ok=not np.nanmax(excess) > 1.0)

    def fits(self, stage: str, changes: Any) -> bool:
        return bool(self.error(stage, changes).ok)


def _relation(excess: Any) -> Relation:
    return Relation("pose", "pose", "test", "turned", 1, 1, 0.5, excess=np.asarray(excess, float))


NAN, INF = float("nan"), float("inf")


@every_case(
    ("before", "after", "left"),
    [
        ([[9, 9, 0]], [[[0, 0, 0]]], [[0, 0, 0]]),
        ([[9, 9, 0]], [[[0, NAN, NAN]]], [[0, 1, 0]]),  # a place that the relation says nothing of
        ([[9, 9, 0]], [[[0, 2, 0]]], [[0, 1, 0]]),  # still beyond its bound
        ([[9, 9, 0]], [[[0, 0, 5]]], [[0, 0, 1]]),  # what fitted is broken
        ([[9, 9, 0]], [[[0, NAN, NAN]], [[NAN, 0, NAN]]], [[0, 0, 0]]),  # two places together
        ([[9, INF, 0]], [[[0, INF, 0]]], [[0, 1, 0]]),
        ([[9, 9, 0]], [], [[1, 1, 0]]),
    ],
)
def test_what_remains_is_every_value_without_an_explanation(before: Any, after: Any, left: Any) -> None:
    """A verdict of explained over one value that differs is worse than none."""
    found = remaining(_Judged(before), {}, {}, [_relation(each) for each in after])  # type: ignore[arg-type]

    np.testing.assert_array_equal(found.get("pose", np.zeros((1, 3), bool)), np.asarray(left, bool))


def test_of_several_explanations_the_one_with_the_fewest_changes_is_given() -> None:
    """Two knobs that explain no more than one send somebody to look for a second mistake."""
    errors: Any = SimpleNamespace(excess=lambda _stage, changes: {"a": 0.2, "ab": 0.1, "c": 0.1}["".join(changes)])
    found = _explanation(errors, "pose", {}, [{"a": 1, "b": 1}, {"a": 1}, {"c": 1}])
    assert (found.changes, found.equivalents) == ({"c": 1}, ({"a": 1},))
