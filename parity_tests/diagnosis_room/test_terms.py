"""A mistake at a sensor, where only the history of the whole observation was recorded, is named at its term."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

CONTRACT = """
format = "rigpact-contract"
version = 1
name = "terms"
title = "Terms"
fps = 50
given = [{ name = "q", names = "joints" }, { name = "gyro", size = 3 }]
stages = [
    { name = "q_obs", operation = "affine", of = "q", scale = 2.0, subtract = 0.1 },
    { name = "gyro_obs", operation = "affine", of = "gyro", scale = 0.25 },
    { name = "obs", operation = "concatenate", of = ["gyro_obs", "q_obs"] },
    { name = "kept", operation = "clip", of = "obs", lowest = -3.5, highest = 3.5 },
    { name = "past", operation = "history", of = "kept", length = 3, layout = "frame_major", start = "zeros" },
]
[names]
joints = ["hip", "knee", "ankle", "toe"]
"""
FRAMES = 120
Edit = Callable[[FloatArray], FloatArray]


def _explained(folder: Path, sensor: str, edit: Edit, delay: int = 0) -> Diagnosis:
    """A run of the loop in numpy with an edit of what one sensor gives; recorded are the sensors and the history.

    delay: how many frames late the history is read.
    """
    time, rng = np.arange(FRAMES)[:, None] / 50.0, np.random.default_rng(3)
    given = {
        name: (size * np.sin(time * rng.uniform(3.0, 9.0, (1, width)) + rng.uniform(0.0, 6.0, (1, width)))).astype("f4")
        for name, size, width in (("q", np.array([2.1, 1.0, 1.0, 1.1]), 4), ("gyro", 1.2, 3))
    }
    seen = {name: rows.astype(float) for name, rows in given.items()}
    seen[sensor] = edit(seen[sensor])
    kept = np.clip(np.hstack([0.25 * seen["gyro"], 2.0 * (seen["q"] - 0.1)]), -3.5, 3.5)
    assert 0.0 < np.mean(np.abs(kept) == 3.5) < 0.1, "the limit acts on a few numbers"
    before = np.vstack([np.zeros((2 + delay, 7)), kept])
    past = np.hstack([before[age : age + FRAMES] for age in (0, 1, 2)])
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    np.savez(folder / "run.npz", past=past.astype("f4"), **given)
    return explain(ExplainRequest(folder / "run.npz", ContractFiles(folder / "contract.toml")))[0]


@pytest.mark.parametrize(
    ("sensor", "edit", "term", "words"),
    [
        ("q", lambda q: q[:, [0, 3, 2, 1]], "q_obs", "knee and toe exchanged"),
        ("gyro", lambda gyro: np.where(np.abs(gyro) < 0.3, 0.0, gyro), "gyro_obs", "0 where its size is below 0.075"),
        ("gyro", lambda gyro: gyro.astype(np.float16).astype(float), "gyro_obs", "rounded to float16"),
        ("gyro", lambda gyro: np.vstack([gyro[:1], gyro[:-1]]), "gyro_obs", "of frame t-1"),
    ],
    ids=["exchanged", "dead zone", "float16", "a frame late"],
)
def test_a_mistake_at_a_sensor_is_told_at_its_term(
    tmp_path: Path, sensor: str, edit: Edit, term: str, words: str
) -> None:
    """In 21 numbers of three frames it looks like many mistakes."""
    found = _explained(tmp_path, sensor, edit)
    assert found.verdict == "explained"
    (relation,) = found.relations
    assert (relation.stage, words in relation.sentence) == (term, True), relation.sentence
    assert [(each.stage, each.held_by) for each in found.stages if each.ok is False] == [
        ("past", None), (term, "obs"),
    ]  # fmt: skip
    assert found.first_divergence is not None
    assert found.first_divergence.stage == "past"


def test_a_history_that_is_read_late_is_no_mistake_of_its_terms(tmp_path: Path) -> None:
    """Each term would be of the frame before; the history's own convention says it once."""
    found = _explained(tmp_path, "q", np.asarray, delay=1)
    assert (found.verdict, found.relations) == ("explained", ())
    assert [cause.changes for cause in found.causes] == [{"past.delay": "one_frame"}]


def test_a_right_run_agrees(tmp_path: Path) -> None:
    """No term is said to differ."""
    found = _explained(tmp_path, "q", np.asarray)
    assert (found.verdict, found.relations, found.causes) == ("agrees", (), ())
