"""A search with a budget: what it has when the budget is spent, and what it says of the rest."""

from __future__ import annotations

import itertools

from rigpact.reports.diagnosing.budget import Budget, Search, searches_together


def _clock(*seconds: float) -> Budget:
    """A budget of 10 s; each look at the clock takes the next of `seconds`."""
    ticks = itertools.chain(seconds, itertools.repeat(seconds[-1]))
    return Budget(10.0, clock=lambda: next(ticks))


def test_candidates_end_with_the_budget() -> None:
    """A search that looks at the clock only at its end has no answer for minutes."""
    budget = _clock(0.0, 0.5, 1.0, 9.0, 10.0)  # the start, before all, then before each candidate
    budget.start()

    assert list(budget.within("abc", "letters")) == ["a", "b"]
    assert budget.search == Search(10.0, ("letters",))
    assert budget.search.sentence == (
        "the search ended at its budget of 10 s; not tried: letters (--budget SECONDS, 0 without a limit)"
    )


def test_a_search_that_came_to_its_end_says_nothing() -> None:
    """A budget that was enough must not look like a search that was cut."""
    budget = _clock(0.0, 1.0)
    budget.start()

    assert list(budget.within("abc", "letters")) == ["a", "b", "c"]
    assert (budget.search.is_complete, budget.search.sentence) == (True, "")


def test_without_a_limit_no_clock_is_read() -> None:
    """The gate would find one thing on a fast machine and another on a slow one."""
    budget = Budget(None, clock=lambda: float("inf"))
    budget.start()

    assert list(budget.within(range(1000), "numbers")) == list(range(1000))
    assert budget.search.to_json() == {"budget_s": None, "is_complete": True, "not_tried": []}


def test_a_budget_counts_from_the_search_on() -> None:
    """Reading a large recording would use it up."""
    budget = _clock(500.0, 501.0)

    assert not budget.is_spent
    budget.start()
    budget.start()
    assert not budget.is_spent


def test_half_of_a_budget_leaves_the_rest() -> None:
    """Thousands of pairs of conventions would leave no time for the relation that explains the recording."""
    now = [100.0]
    budget = Budget(10.0, clock=lambda: now[0])
    budget.start()
    now[0] = 102.0
    half = budget.half()

    now[0] = 106.0
    assert half.cuts("pairs")
    assert not budget.is_spent
    assert budget.search.not_tried == ("pairs",)


def test_a_spent_budget_tries_nothing() -> None:
    """A replay that only judges would search after all."""
    budget = Budget.spent()
    budget.start()

    assert list(budget.within("abc", "letters")) == []


def test_searches_of_parts_are_one() -> None:
    """Of a log of several runs, the run whose search was cut would be hidden by the others."""
    assert searches_together([Search(10.0), Search(10.0, ("pairs",)), Search(10.0, ("pairs", "bones"))]) == Search(
        10.0, ("pairs", "bones")
    )
    assert searches_together([]) is None
