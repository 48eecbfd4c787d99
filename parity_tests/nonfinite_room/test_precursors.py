"""The precursors of a failure, and how early they appear."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reports.nonfinite.investigation import investigate, samuelson_limit

from .nonfinite_cases import cases
from .nonfinite_character import sound_contract, sound_network

SLOW = next(case for case in cases() if case.kind == "slow divergence")


def test_no_sample_is_farther_from_its_own_mean_than_the_limit() -> None:
    """A limit that the clip itself exceeds would cause alarms on good motion."""
    for count in (2, 5, 40, 300):
        worst = np.zeros(count)
        worst[0] = 1.0
        assert (worst[0] - worst.mean()) / worst.std() <= samuelson_limit(count) * (1 + 1e-12)
        assert (worst[0] - worst.mean()) / worst.std() == pytest.approx(samuelson_limit(count))


def test_a_slow_divergence_is_announced_thousands_of_frames_ahead() -> None:
    """Lead time is what makes it possible to catch it in a test of one minute."""
    subject = Subject(SLOW.contract, SLOW.network, SLOW.clip)
    found = investigate(subject, SLOW.frames, guard_frames=0)
    assert found.origin is not None
    assert found.precursor is not None
    assert found.precursor.channel == SLOW.expected.channel
    assert found.origin.frame - found.precursor.frame > 1000
    kinds = {entry.kind for entry in found.precursors}
    assert {"envelope", "clamp"} <= kinds


def test_a_run_that_climbs_and_is_still_finite_is_diverging() -> None:
    """Stopping the clock before the overflow must not turn it into a pass."""
    found = investigate(Subject(SLOW.contract, SLOW.network, SLOW.clip), SLOW.frames // 2, guard_frames=0)
    assert (found.verdict, found.exit_code, found.origin) == ("diverging", 1, None)


def test_a_column_near_zero_is_announced_before_it_is_zero() -> None:
    """The engine replaces an axis below 1e-4; a decade before that is time to look."""
    contract = sound_contract()
    statistics = replace(contract.numbers.output_statistics, std=np.full(18, 0.5, np.float32))
    outputs = np.zeros((6, 18), np.float32)
    outputs[3, 6:12] = (-2.0 + 1e-3, 0.0, 0.0, 0.0, 0.0, 0.0)  # the second bone's first axis becomes (5e-4, 0, 0)
    case = cases()[0]
    subject = Subject(
        contract.with_numbers(replace(contract.numbers, output_statistics=statistics)),
        ReplayNetwork(outputs),
        case.clip,
    )
    found = investigate(subject, 6, guard_frames=0)
    near = next(entry for entry in found.precursors if entry.kind == "degenerate")
    assert (found.verdict, near.frame, near.channel) == ("finite", 3, 6)
    assert near.zscore == pytest.approx(5e-4, rel=1e-3)


def test_a_sound_run_of_three_bones_announces_nothing_degenerate() -> None:
    """Users ignore a warning that appears on every run."""
    found = investigate(Subject(sound_contract(), sound_network(), cases()[0].clip), 40, guard_frames=0)
    assert found.verdict == "finite"
    assert "degenerate" not in {entry.kind for entry in found.precursors}


def test_a_mean_that_a_residual_never_uses_does_no_harm() -> None:
    """The engine does not add MuY to a residual; 0 * NaN would make it matter."""
    contract = sound_contract()
    mean = np.array(contract.numbers.output_statistics.mean)
    mean[4] = np.nan
    damaged = contract.with_numbers(
        replace(contract.numbers, output_statistics=replace(contract.numbers.output_statistics, mean=mean))
    )
    assert investigate(Subject(damaged, sound_network(), cases()[0].clip), 20, guard_frames=0).verdict == "finite"
