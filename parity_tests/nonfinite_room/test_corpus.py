"""The seeded corpus: is the producer named exactly, and how would a scan for the first NaN have done?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime.files.subject import Subject
from rigpact.reports.nonfinite.guards import guarded
from rigpact.reports.nonfinite.investigation import investigate

from .nonfinite_cases import Case, Expected, cases
from .nonfinite_models import damaged_demo_cases, failing_operation_cases

LEAST_CASES, LEAST_EXACT = 120, 0.99


def subject_of(case: Case) -> Subject:
    return Subject(case.contract, case.network, case.clip, case.mode, case.faults)


def found_place(case: Case) -> Expected | None:
    origin = investigate(subject_of(case), case.frames, guard_frames=0).origin
    if origin is None:
        return None
    node = origin.node.name if origin.node else None
    return Expected(origin.frame, origin.stage, origin.channel, origin.bone, origin.slice, node)


def scanned_place(case: Case) -> tuple[int, str, int] | None:
    """The result of a scan of the published pose: the first non-finite frame and channel."""
    loop = subject_of(case).start()
    for frame in range(case.frames):
        bad = np.flatnonzero(~np.isfinite(loop.step()["y_out"]))
        if len(bad):
            return frame, "y_out", int(bad[0])
    return None


def corpus(folder: Path) -> list[Case]:
    return [*cases(), *damaged_demo_cases(folder), *failing_operation_cases(folder)]


def exact_share(all_cases: Sequence[Case]) -> tuple[float, list[str]]:
    wrong = [case.name for case in all_cases if found_place(case) != case.expected]
    return 1.0 - len(wrong) / len(all_cases), wrong


def test_the_producer_of_every_case_is_named_exactly(tmp_path: Path) -> None:
    """With a wrong stage or bone, an engineer reads the wrong file for a day."""
    all_cases = corpus(tmp_path)
    share, wrong = exact_share(all_cases)
    assert len(all_cases) >= LEAST_CASES
    assert share >= LEAST_EXACT, wrong


def test_a_scan_of_the_published_pose_names_almost_none() -> None:
    """When the pose shows a NaN, all values are NaN: a scan cannot find the producer."""
    few = [case for case in cases() if case.kind not in {"slow divergence", "truncated output"}]
    with np.errstate(all="ignore"):
        places = [scanned_place(case) for case in few]
    right = sum(
        place is not None and place == (case.expected.frame, case.expected.stage, case.expected.channel)
        for case, place in zip(few, places, strict=True)
    )
    assert right / len(few) < 0.1


ONE_OF_EACH = {case.kind: case for case in cases() if case.guard and case.kind != "slow divergence"}


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_the_named_guard_cures_the_case_and_a_run_without_it_fails(kind: str) -> None:
    """A guard that is recommended and does not help costs a build."""
    case = ONE_OF_EACH[kind]
    changed = dict(guarded(subject_of(case)))
    assert case.guard in changed
    assert investigate(subject_of(case), case.frames, guard_frames=0).verdict == "nonfinite"
    assert investigate(changed[case.guard][0], 50, guard_frames=0).verdict == "finite"
