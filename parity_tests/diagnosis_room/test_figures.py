"""The figures of the diagnosis, guarded on a sample; `tox -e bench` prints them all."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures.mutants import generated_scene, interacting_pairs, random_pairs
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence

from ..measuring.scores.diagnosis_score import (
    Figure,
    evidence_of,
    invents_nothing,
    is_named,
    score_conventions,
    score_defects,
)


@pytest.mark.nightly
def test_random_pairs_are_named(scene: Any) -> None:
    """Two conventions wrong at once is the usual first day of an integration."""
    figure = Figure("pairs", "")
    score_conventions(figure, scene, random_pairs(scene.contract, 12, seed=3))
    assert figure.wrong == []
    assert figure.exact >= 6  # most word for word; the rest differ in what this clip cannot show


def test_pairs_at_one_stage_are_named() -> None:
    """They interact: mending one alone makes matters worse."""
    scene = generated_scene("run_turn", frames=10)
    figure = Figure("pairs", "")
    score_conventions(figure, scene, interacting_pairs(scene.contract, 8, seed=4))
    assert figure.wrong == []


@pytest.mark.nightly
def test_defects_get_no_made_up_cause() -> None:
    """Stage, frame and channel right, and no cause."""
    figure = Figure("defects", "")
    score_defects(figure, generated_scene("hop", frames=12), 9, seed=9)
    assert figure.wrong == []
    assert figure.total == 9


def test_a_wrong_name_is_not_counted_as_right(scene: Any) -> None:
    """The measure itself: a diagnosis of one mutant must not pass for another's."""
    from rigpact.reports.diagnosing.diagnose import diagnose

    mutant = scene.record({"compose_order": "prev_delta"})
    diagnosis = diagnose(evidence_of(scene, mutant), scene.contract)
    assert is_named(diagnosis, {"compose_order": "prev_delta"}, scene, mutant) == (True, True)
    other = scene.record({"mirror": "x"})
    assert is_named(diagnosis, {"mirror": "x"}, scene, other) == (False, False)
    agreeing = Diagnosis("agrees", None, (), (), ())
    assert is_named(agreeing, {"mirror": "x"}, scene, other) == (False, False)
    assert is_named(agreeing, {"writeback": "none"}, scene, scene.record({"writeback": "none"})) == (True, False)


def test_a_wrong_address_is_not_counted_as_right(scene: Any) -> None:
    """The measure itself: stage, frame and channel are all asked for."""
    from rigpact.reports.comparing.address import Address

    excess = np.zeros((6, 4))
    excess[3, 1] = 50.0

    def answer(frame: int, stage: str, channel: int) -> Diagnosis:
        return Diagnosis("unexplained", Divergence(frame, stage, Address(stage, channel), 1.0, ""), (), (), ())

    assert invents_nothing(answer(3, "y_out", 1), "y_out", excess)
    assert not invents_nothing(answer(2, "y_out", 1), "y_out", excess)
    assert not invents_nothing(answer(3, "quat", 1), "y_out", excess)
    assert not invents_nothing(answer(3, "y_out", 2), "y_out", excess)
    assert not invents_nothing(Diagnosis("agrees", None, (), (), ()), "y_out", excess)
    assert invents_nothing(Diagnosis("agrees", None, (), (), ()), "y_out", excess * 0.0)


SEARCH = """
from dataclasses import replace

from parity_tests.peak_memory import peak_bytes
from parity_tests.measuring.scores.diagnosis_score import evidence_of
from rigpact.fixtures.mutants import generated_scene
from rigpact.reports.diagnosing.diagnose import diagnose

scene = generated_scene("sneak_turn", frames=13)
pose = scene.record().stages["y_out"].copy()
pose[:, 62] = 0.3
evidence = evidence_of(scene, replace(scene.record(), stages={"y_out": pose}))
before = peak_bytes()
found = diagnose(evidence, scene.contract)
print(len(found.causes), peak_bytes() - before)
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="reads the peak of a process")
def test_a_search_for_pairs_stays_small(checkout: Path) -> None:
    """A trace of poses alone with no convention to explain it: all pairs are tried, and a laptop must survive it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout), *sys.path])}
    words = [sys.executable, "-c", SEARCH]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600, check=True)
    causes, grown_bytes = map(int, done.stdout.split())
    assert causes == 0
    assert grown_bytes < 150 << 20  # every pair of changes remembered would be gigabytes
