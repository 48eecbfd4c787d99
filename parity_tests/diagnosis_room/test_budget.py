"""A search with a budget, and recordings of more frames than are searched. A clock changes no answer."""

from __future__ import annotations

import itertools
import json
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures import demo_robot
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reference_runtime.graph import replayed
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.graph.work import EACH
from rigpact.reports.diagnosing import explain as explaining
from rigpact.reports.diagnosing.budget import Budget, DeadlinePassed, Search, searches_together
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import read_evidence
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..every_case import every_case

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
NUMBERS = np.ones((4, 3))
COST = EACH + 12
COUNT = 1500


@pytest.fixture
def contract(tmp_path: Path) -> Contract:
    """Two steps."""
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    return open_contract(tmp_path / "contract.toml")


def _rows(count: int = COUNT) -> dict[str, np.ndarray]:
    q = np.random.default_rng(5).uniform(-1.0, 1.0, (count, 3)).astype(np.float32)
    centred = q - np.float32([0.1, -0.2, 0.3])
    return {"q": q, "centred": centred, "obs": np.float32(0.5) * centred}


@pytest.fixture
def halved(tmp_path: Path, contract: Contract) -> ExplainRequest:
    """A recording whose last stage has half of its scale, with the noise of another cause in one number."""
    rows = _rows(90)
    rows["obs"] *= np.float32(0.5)
    rows["obs"][:, 2] = np.random.default_rng(8).uniform(-1.0, 1.0, 90)
    np.savez(tmp_path / "run.npz", **rows)
    return ExplainRequest(tmp_path / "run.npz", ContractFiles(contract.path), millions=0.2)


def _spending(millions: float) -> Budget:
    budget = Budget(millions)
    budget.start()
    return budget


def test_candidates_end_with_the_budget_and_half_of_it_leaves_the_rest() -> None:
    """A build that waits for a whole search is a build that nobody waits for; what comes later is tried too."""
    budget, tried = _spending(2.5 * COST / 1e6), []
    for letter in budget.within("abcde", "letters"):
        tried.append(letter)
        budget.work.add(NUMBERS)
    assert (tried, budget.search) == (["a", "b", "c"], Search(2.5 * COST / 1e6, ("letters",)))
    budget = _spending(4 * COST / 1e6)
    for _ in budget.part().within(itertools.count(), "pairs"):
        budget.work.add(NUMBERS)
    assert (budget.work.done, budget.is_spent, budget.search.not_tried) == (2 * COST, False, ("pairs",))


def test_a_search_that_ends_by_itself_leaves_nothing() -> None:
    """A budget that was enough must not look like a search that was cut; without a limit all is tried, spent nothing."""
    budget, endless, spent = _spending(1.0), Budget.unlimited(), Budget.spent()
    endless.start()
    spent.start()
    endless.work.done = 1 << 60
    assert (list(budget.within("abc", "letters")), list(spent.within("abc", "letters"))) == (["a", "b", "c"], [])
    assert (budget.search.is_complete, budget.search.sentence) == (True, "")
    assert list(endless.within(range(1000), "numbers")) == list(range(1000))
    assert endless.search.to_json() == {"budget": None, "is_complete": True, "not_tried": []}
    parts = [Search(3.0, ("a", "b")), Search(3.0, ("b",))]
    assert (searches_together(parts), searches_together([])) == (Search(3.0, ("a", "b")), None)


def test_a_slow_machine_gives_the_same_answer(halved: ExplainRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log was UNEXPLAINED on a busy machine and explained on an idle one. A search that was cut is undetermined."""
    answers = []
    for second in (0.0, 5.0):  # each look at the clock comes so much later
        ticks = itertools.count(0.0, second)
        for clock in ("monotonic", "perf_counter", "process_time", "time"):
            monkeypatch.setattr(time, clock, lambda ticks=ticks: next(ticks))
        found, _ = explain(halved)
        answers.append(json.dumps(found.to_json()))
    assert answers[0] == answers[1]
    assert (found.verdict, found.exit_code) == ("undetermined", 2)
    assert found.search is not None
    assert found.search.not_tried


def test_what_a_machine_cannot_is_status_2(
    halved: ExplainRequest, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million frames ended in an internal error after minutes; a machine that is too slow must not decide the answer."""
    words = ("explain", halved.recording, "--contract", halved.contract.bundle)
    late = command(*words, "--deadline", "0", "--format", "json")
    assert (late.status, late.out, "--deadline: found no answer after 0 s" in late.err) == (2, "", True)
    with pytest.raises(DeadlinePassed):
        explain(replace(halved, deadline_s=0.0))
    monkeypatch.setattr(explaining, "memory_bytes", lambda: 90 * 9 * explaining.BYTES - 1)
    large = command(*words)
    assert (large.status, large.out, "90 frames, which need 0.0 GB of memory" in large.err) == (2, "", True)


# --- recordings of more frames than are searched ---


def _explained(contract: Contract, recorded: dict[str, np.ndarray], budget: Budget | None = None) -> Diagnosis:
    count = len(recorded["q"])
    return diagnose(Evidence(np.arange(count), 50.0, "teacher", recorded), contract, budget=budget)


def test_a_relation_that_ends_behind_the_first_frames_is_not_said(contract: Contract) -> None:
    """What holds for ten seconds of half a minute is not what the engine does."""
    rows = _rows()
    rows["obs"] = np.where(np.arange(COUNT) < 900, 0.25, 0.2).astype(np.float32)[:, None] * rows["centred"]
    found = _explained(contract, rows)
    assert (found.verdict, found.relations) == ("unexplained", ())


def test_a_second_mistake_that_begins_later_is_found_too(contract: Contract) -> None:
    """The first mistake stands in every frame that is searched first; the other one shows only behind them."""
    rows = _rows()
    rows["obs"][100:, 1] *= np.float32(2.0)
    rows["obs"][1000:, 2] *= np.float32(-1.0)
    found = _explained(contract, rows)
    begins = sorted(each.sentence.split(" from frame ")[1].split(" on")[0] for each in found.relations)
    assert (found.verdict, begins) == ("explained", ["100", "1000"])


@every_case("spoiled", [lambda rows: rows["obs"][:, [1, 0, 2]], lambda rows: np.float32(0.5) * rows["obs"]])
def test_a_long_recording_costs_the_search_of_a_short_one(tmp_path: Path, spoiled: Any) -> None:
    """A log of an hour must give the cause that its first seconds show, within the same budget: a relation, a convention."""
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    contract, works = open_contract(tmp_path / "contract.toml"), []
    for count in (600, 30 * 600):
        rows, budget = _rows(count), Budget(2.0)
        rows["obs"] = spoiled(rows)
        found = _explained(contract, rows, budget)
        assert (found.verdict, found.search and found.search.is_complete) == ("explained", True)
        assert {each.frames_explained for each in (*found.causes, *found.relations)} == {count}
        assert [stage.remains for stage in found.stages] == [None, None]
        works.append(budget.work.done)
    assert works[1] < 4 * works[0]


def test_memory_is_that_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What bounds of a network are derived from took 20 kB a frame: a million frames ended in an internal error."""
    files = ContractFiles(demo_robot() / "contract.toml")
    (part,) = read_evidence(demo_robot() / "run.csv", files.opened()).parts
    given = {name: np.tile(rows, (12, 1))[:512] for name, rows in part.evidence.recorded.items()}
    evidence = replace(part.evidence, frame=np.arange(512), recorded=given, precision=None)
    monkeypatch.setattr(replayed, "BLOCK", 64)
    peaks = []
    for count in (256, 512):
        tracemalloc.start()
        found = diagnose(evidence.at_rows(slice(count)), part.contract, budget=Budget.spent())
        assert found.first_divergence is not None  # the demo's own mistake
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    numbers = sum(rows.shape[1] for rows in evidence.recorded.values())
    assert (peaks[1] - peaks[0]) / 256 < 40 * numbers  # replay, tolerance and error of each, and one stage's sums
