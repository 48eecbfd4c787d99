"""Recordings of more frames than are searched: what is found where they differ first is tried on every frame."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.demo import demo_robot
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.graph import replayed
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import read_evidence

Spoiled = Callable[[dict[str, np.ndarray]], np.ndarray]
COUNT = 1500
REST = np.float32([0.1, -0.2, 0.3])
CONTRACT = """
format = "rigpact-contract"
version = 1
name = "two_steps"
fps = 50
given = [{ name = "q", names = "joints" }]
stages = [
    { name = "centred", operation = "affine", of = "q", subtract = "rest" },
    { name = "obs", operation = "affine", of = "centred", scale = 0.5 },
]
[names]
joints = ["hip", "knee", "ankle"]
[numbers.rest]
names = "joints"
value = [0.1, -0.2, 0.3]
"""


@pytest.fixture
def contract(tmp_path: Path) -> Contract:
    path = tmp_path / "contract.toml"
    path.write_text(CONTRACT, encoding="utf-8")
    return open_contract(path)


def _rows(count: int = COUNT) -> dict[str, np.ndarray]:
    q = np.random.default_rng(5).uniform(-1.0, 1.0, (count, 3)).astype(np.float32)
    centred = q - REST
    return {"q": q, "centred": centred, "obs": np.float32(0.5) * centred}


def _explained(contract: Contract, recorded: dict[str, np.ndarray], budget: Budget | None = None) -> Diagnosis:
    count = len(recorded["q"])
    return diagnose(Evidence(np.arange(count), 50.0, "teacher", recorded), contract, budget=budget)


def _said(found: Diagnosis) -> list[str]:
    return [relation.sentence for relation in found.relations]


def test_a_relation_of_the_first_frames_is_one_of_all(contract: Contract) -> None:
    """ "Remains: from frame 600 on" was where the search had stopped to look, and no frame of the engine."""
    rows = _rows()
    rows["obs"] = np.float32(0.3) * rows["centred"]
    found = _explained(contract, rows)
    assert (found.verdict, [stage.remains for stage in found.stages]) == ("explained", [None, None])
    (said,) = _said(found)
    assert said.endswith(f"explains {COUNT} of {COUNT} frames")


def test_a_relation_that_ends_behind_the_first_frames_is_not_said(contract: Contract) -> None:
    """What holds for ten seconds of half a minute is not what the engine does."""
    rows = _rows()
    scale = np.where(np.arange(COUNT) < 900, 0.25, 0.2).astype(np.float32)
    rows["obs"] = scale[:, None] * rows["centred"]
    found = _explained(contract, rows)
    assert (found.verdict, _said(found)) == ("unexplained", [])


def test_a_second_mistake_that_begins_later_is_found_too(contract: Contract) -> None:
    """The first mistake stands in every frame that is searched first; the other one shows only behind them."""
    rows = _rows()
    rows["obs"][100:, 1] *= np.float32(2.0)
    rows["obs"][1000:, 2] *= np.float32(-1.0)
    found = _explained(contract, rows)
    assert found.verdict == "explained"
    assert sorted(said.split(" from frame ")[1].split(" on")[0] for said in _said(found)) == ["100", "1000"]


@pytest.mark.parametrize(
    "spoiled",
    [
        pytest.param(lambda rows: rows["obs"][:, [1, 0, 2]], id="a relation"),
        pytest.param(lambda rows: np.float32(0.5) * rows["obs"], id="a convention"),
    ],
)
def test_a_long_recording_costs_the_search_of_a_short_one(contract: Contract, spoiled: Spoiled) -> None:
    """A log of an hour must give the cause that its first seconds show, within the same budget."""
    works = []
    for count in (600, 30 * 600):
        rows, budget = _rows(count), Budget(2.0)
        rows["obs"] = spoiled(rows)
        found = _explained(contract, rows, budget)
        assert (found.verdict, found.search and found.search.is_complete) == ("explained", True)
        assert {each.frames_explained for each in (*found.causes, *found.relations)} == {count}
        works.append(budget.work.done)
    assert works[1] < 4 * works[0]


def test_memory_is_that_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds of a network are derived from took 20 kB a frame: a million frames ended in an internal error."""
    files = ContractFiles(demo_robot() / "contract.toml")
    (part,) = read_evidence(demo_robot() / "run.csv", files.opened()).parts
    given = {name: np.tile(rows, (24, 1))[:1024] for name, rows in part.evidence.recorded.items()}
    evidence = replace(part.evidence, frame=np.arange(1024), recorded=given, precision=None)
    monkeypatch.setattr(replayed, "BLOCK", 128)
    peaks = []
    for count in (512, 1024):
        tracemalloc.start()
        found = diagnose(evidence.at_rows(slice(count)), part.contract, budget=Budget.spent())
        assert found.first_divergence is not None  # the demo's own mistake
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    numbers = sum(rows.shape[1] for rows in evidence.recorded.values())
    assert (peaks[1] - peaks[0]) / 512 < 40 * numbers  # replay, tolerance and error of each, and one stage's sums
