"""A search with a budget: what it has when the budget is spent, and what it says of the rest. A clock changes no answer."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.graph.work import EACH, SEARCHED_FRAMES
from rigpact.reports.diagnosing import explain as explaining
from rigpact.reports.diagnosing.budget import Budget, DeadlinePassed, Search, searches_together
from rigpact.reports.diagnosing.explain import ExplainRequest, explain

from ..gate_room.conftest import Command

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


@pytest.fixture
def halved(tmp_path: Path) -> ExplainRequest:
    """A recording whose last stage has half of its scale, with the noise of another cause in one number."""
    q = np.random.default_rng(7).uniform(-1.0, 1.0, (90, 3)).astype(np.float32)
    centred = (q - np.float32([0.1, -0.2, 0.3])).astype(np.float32)
    obs = (0.25 * centred).astype(np.float32)
    obs[:, 2] = np.random.default_rng(8).uniform(-1.0, 1.0, 90)
    np.savez(tmp_path / "run.npz", q=q, centred=centred, obs=obs)
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    return ExplainRequest(tmp_path / "run.npz", ContractFiles(tmp_path / "contract.toml"), millions=0.2)


def _spending(millions: float) -> Budget:
    budget = Budget(millions)
    budget.start()
    return budget


def test_candidates_end_with_the_budget() -> None:
    """A build that waits for a whole search is a build that nobody waits for."""
    budget, tried = _spending(2.5 * COST / 1e6), []
    for letter in budget.within("abcde", "letters"):
        tried.append(letter)
        budget.work.add(NUMBERS)

    assert tried == ["a", "b", "c"]
    assert budget.search == Search(2.5 * COST / 1e6, ("letters",))
    assert Search(100.0, ("letters",)).sentence == (
        "the search ended at its budget of 100 million numbers; not tried: letters (--budget MILLIONS, 0 without a limit)"
    )


def test_a_search_that_ends_by_itself_leaves_nothing() -> None:
    """A budget that was enough must not look like a search that was cut."""
    budget = _spending(1.0)
    assert list(budget.within("abc", "letters")) == ["a", "b", "c"]
    assert (budget.search.is_complete, budget.search.sentence) == (True, "")


def test_without_a_limit_everything_is_tried() -> None:
    budget = Budget.unlimited()
    budget.start()
    budget.work.done = 1 << 60
    assert list(budget.within(range(1000), "numbers")) == list(range(1000))
    assert budget.search.to_json() == {"budget": None, "is_complete": True, "not_tried": []}


def test_half_of_a_budget_leaves_the_rest() -> None:
    """What comes later is tried too, whatever came first."""
    budget = _spending(4 * COST / 1e6)
    half = budget.half()
    for _ in half.within(itertools.count(), "pairs"):
        budget.work.add(NUMBERS)
    assert budget.work.done == 2 * COST
    assert not budget.is_spent
    assert budget.search.not_tried == ("pairs",)


def test_a_spent_budget_tries_nothing() -> None:
    """Where only the judgement is wanted."""
    budget = Budget.spent()
    budget.start()
    assert list(budget.within("abc", "letters")) == []


def test_several_searches_say_together_what_was_left() -> None:
    parts = [Search(3.0, ("a", "b")), Search(3.0, ("b",))]
    assert searches_together(parts) == Search(3.0, ("a", "b"))
    assert searches_together([]) is None


def test_the_frames_of_a_long_recording_cost_no_search() -> None:
    """A log of an hour is searched as far as its first seconds would be."""
    short, long = Budget(), Budget()
    short.work.add(np.ones((SEARCHED_FRAMES, 3)))
    long.work.add(np.ones((SEARCHED_FRAMES * 50, 3)))
    assert short.work.done == long.work.done == EACH + 3 * SEARCHED_FRAMES


@pytest.mark.parametrize("millions", [0.2, 20.0])
def test_a_slow_machine_gives_the_same_answer(
    halved: ExplainRequest, millions: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log was UNEXPLAINED on a busy machine, PARTLY EXPLAINED on a quiet one and explained on an idle one."""
    answers = []
    for second in (0.0, 5.0):  # each look at the clock comes so much later
        ticks = itertools.count(0.0, second)
        for clock in ("monotonic", "perf_counter", "process_time", "time"):
            monkeypatch.setattr(time, clock, lambda ticks=ticks: next(ticks))
        found, _ = explain(ExplainRequest(halved.recording, halved.contract, millions=millions))
        answers.append(json.dumps(found.to_json()))
    assert answers[0] == answers[1]


def test_a_cut_search_is_undetermined(halved: ExplainRequest) -> None:
    """ "No known convention explains it" sends people to look elsewhere: it is true once everything was tried."""
    found, _ = explain(halved)
    assert (found.verdict, found.exit_code) == ("undetermined", 2)
    assert found.search is not None
    assert found.search.not_tried


def test_more_frames_than_the_memory_takes_are_refused(
    halved: ExplainRequest, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million frames ended in an internal error after minutes."""
    monkeypatch.setattr(explaining, "memory_bytes", lambda: 90 * 9 * explaining.BYTES - 1)
    answer = command("explain", halved.recording, "--contract", halved.contract.bundle)
    assert (answer.status, answer.out) == (2, "")
    assert "90 frames, which need 0.0 GB of memory" in answer.err


def test_a_deadline_is_status_2_from_the_command_line(halved: ExplainRequest, command: Command) -> None:
    """Not a traceback, nor an answer."""
    answer = command(
        "explain", halved.recording, "--contract", halved.contract.bundle, "--deadline", "0", "--format", "json"
    )
    assert (answer.status, answer.out) == (2, "")
    assert "--deadline: found no answer after 0 s" in answer.err


def test_a_deadline_ends_a_run_without_a_verdict(halved: ExplainRequest) -> None:
    """A machine that is too slow must not decide what the answer is."""
    late = ExplainRequest(halved.recording, halved.contract, deadline_s=0.0)
    with pytest.raises(DeadlinePassed):
        explain(late)
