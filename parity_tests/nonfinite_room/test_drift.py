"""Separate defects from chaos: growth, envelopes, and traces compared with them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.recordings.trace import write_trace
from rigpact.reports.nonfinite.drift import judge_drift
from rigpact.reports.nonfinite.lanes import growth_per_frame, moved_channels, perturbed_starts

from .conftest import Command

FRAMES = 120


@pytest.mark.parametrize("factor", [0.9, 0.999, 1.0, 1.01, 1.3])
def test_a_known_growth_is_measured(factor: float) -> None:
    """A rate that is off by a little is off by everything after a thousand frames."""
    frames = np.arange(400.0)
    degrees = np.minimum(1e-6 * factor**frames, 90.0)
    assert growth_per_frame(frames, degrees) == pytest.approx(factor, rel=1e-6)


def test_starts_differ_from_the_seed_by_what_they_say(demo_subject: Subject) -> None:
    """A start that is rounded back onto the seed shows no growth at all."""
    seed = demo_subject.rows().x_raw[0]
    rotations = demo_subject.contract.numbers.state["BoneRotations6D"].range
    assert moved_channels(demo_subject.contract) == [*range(rotations.start, rotations.stop)]
    starts, sizes = perturbed_starts(seed, [*range(rotations.start, rotations.stop)])
    assert np.array_equal(starts[0], seed)
    differences = np.abs(starts[1:].astype(np.float64) - seed).max(axis=1)
    assert np.all(differences > 0)
    # the sum is rounded to float32 at magnitude 1: half of 2^-23 either way
    assert np.all(np.abs(differences - sizes) <= 2.0**-24 * 1.01)
    outside = np.delete(np.arange(len(seed)), np.arange(rotations.start, rotations.stop))
    assert np.array_equal(starts[:, outside], np.tile(seed[outside], (len(starts), 1)))


def free_trace(subject: Subject, path: Path, **conventions: str) -> Path:
    loop = open_run(
        subject.contract.with_conventions(conventions), subject.network, subject.clip, "free", engine="numpy"
    )
    write_trace(run_frames(loop, range(FRAMES), "Walk_Spin", "free"), path)
    return path


def test_a_float32_engine_stays_inside_and_a_transposed_product_does_not(demo_subject: Subject, tmp_path: Path) -> None:
    """Rounding must never give an alarm; a swapped factor always must."""
    benign = judge_drift(demo_subject, FRAMES, free_trace(demo_subject, tmp_path / "a.trace.jsonl", math="f32"))
    assert (benign.verdict, benign.compared_frames) == ("finite", FRAMES)
    swapped = free_trace(demo_subject, tmp_path / "b.trace.jsonl", compose_order="prev_delta")
    defect = judge_drift(demo_subject, FRAMES, swapped)
    assert (defect.verdict, defect.exit_code) == ("diverging", 1)
    assert defect.outside is not None
    assert defect.outside.error > defect.outside.allowed


def test_a_nan_in_the_trace_is_outside(demo_subject: Subject, tmp_path: Path) -> None:
    """Comparisons with NaN are false: a wrong comparison would pass the trace."""
    loop = demo_subject.start()
    trace = run_frames(loop, range(20), "Walk_Spin", "free")  # type: ignore[arg-type]
    trace.stages["y_out"] = trace.stages["y_out"].copy()
    trace.stages["y_out"][11, 60] = np.nan
    write_trace(trace, tmp_path / "nan.trace.jsonl")
    outside = judge_drift(demo_subject, 30, tmp_path / "nan.trace.jsonl").outside
    assert outside is not None
    assert (outside.frame, outside.bone) == (11, demo_subject.contract.numbers.bone_names[10])


def test_a_teacher_driven_trace_is_not_judged_as_drift(demo_subject: Subject, tmp_path: Path) -> None:
    """The clip sets its poses in every frame, so it cannot drift."""
    loop = open_run(demo_subject.contract, demo_subject.network, demo_subject.clip, "teacher")
    write_trace(run_frames(loop, range(10), "Walk_Spin", "teacher"), tmp_path / "t.trace.jsonl")
    with pytest.raises(UnusableInput):
        judge_drift(demo_subject, 20, tmp_path / "t.trace.jsonl")
    with pytest.raises(UnusableInput):
        judge_drift(replace(demo_subject, mode="teacher"), 20)


def test_the_command_reports_growth_slide_and_frozen_inputs(nan_command: Command) -> None:
    """One answer must show whether a free run is fit for the game."""
    answer = nan_command("--drift", "--frames", 60, "--format", "json")
    assert answer.status == 0
    drift = answer.document["drift"]
    assert 0.5 < drift["growth_per_frame"] < 1.5
    assert drift["floor"]["slide_cm_per_s"] >= 0.0
    states = {use["name"]: use["state"] for use in drift["inputs"]}
    assert states["angvel"] == "frozen"
    assert nan_command("--drift", "--frames", 30).out.count("cm for each second of contact") == 1


@pytest.mark.nightly
def test_ten_thousand_free_frames_stay_finite(demo_subject: Subject) -> None:
    """An enemy must still be visible after three minutes in a level."""
    drift = judge_drift(demo_subject, 10_000)
    assert (drift.verdict, drift.frames, drift.facts["floor"] is not None) == ("finite", 10_000, True)
