"""Separate defects from chaos: growth, envelopes, and traces compared with them."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reports.nonfinite.drift import (
    growth_per_frame,
    judge_drift,
    moved_channels,
    outside_envelope,
    perturbed_starts,
)

from ..every_case import every_case


@every_case("factor", [0.9, 0.999, 1.0, 1.01, 1.3])
def test_a_known_growth_is_measured(factor):
    """A rate that is off by a little is off by everything after a thousand frames."""
    frames = np.arange(400.0)
    degrees = np.minimum(1e-6 * factor**frames, 90.0)
    assert growth_per_frame(frames, degrees) == pytest.approx(factor, rel=1e-6)


def test_starts_differ_from_the_seed_by_what_they_say(demo_subject):
    """A start that is rounded back onto the seed shows no growth at all."""
    seed = demo_subject.rows().x_raw[0]
    rotations = demo_subject.contract.numbers.state["BoneRotations6D"].range
    assert moved_channels(demo_subject.contract) == [*range(rotations.start, rotations.stop)]
    starts, sizes = perturbed_starts(demo_subject, demo_subject.contract)
    assert np.array_equal(starts[0], seed)
    differences = np.abs(starts[1:].astype(np.float64) - seed).max(axis=1)
    assert np.all(differences > 0)
    # the sum is rounded to float32 at magnitude 1: half of 2^-23 either way
    assert np.all(np.abs(differences - sizes) <= 2.0**-24 * 1.01)
    outside = np.delete(np.arange(len(seed)), np.arange(rotations.start, rotations.stop))
    assert np.array_equal(starts[:, outside], np.tile(seed[outside], (len(starts), 1)))


def test_only_a_defect_leaves_the_envelope(demo_subject, tmp_path):
    """Rounding must never give an alarm; a swapped factor always must; a wrong comparison would pass a NaN."""

    def judged(name, frames, place=None, **conventions):
        contract = demo_subject.contract.with_conventions(conventions)
        loop = open_run(contract, demo_subject.network, demo_subject.clip, "free", engine="numpy")
        trace = run_frames(loop, range(frames), "Walk_Spin", "free")
        if place is not None:
            trace.stages["y_out"][place] = np.nan
        write_trace(trace, tmp_path / f"{name}.trace.jsonl")
        recording = demo_subject.files.recording(tmp_path / f"{name}.trace.jsonl", demo_subject.contract)
        return outside_envelope(demo_subject, frames, recording)

    benign, defect, broken = (
        judged("a", 60, math="f32"),
        judged("b", 60, compose_order="prev_delta"),
        judged("c", 20, (11, 60)),
    )
    assert benign is None
    assert defect.error > defect.allowed
    assert (broken.frame, broken.bone) == (11, demo_subject.contract.numbers.bone_names[10])


def test_a_teacher_driven_run_is_not_judged_as_drift(demo_subject):
    """The clip sets its poses in every frame, so it cannot drift."""
    with pytest.raises(UnusableInput):
        judge_drift(replace(demo_subject, mode="teacher"), 20)


def test_the_command_reports_growth_slide_and_frozen_inputs(nan_command):
    """One answer must show whether a free run is fit for the game."""
    status, document = nan_command("--drift", "--frames", 60)
    drift = document["drift"]
    assert status == 0
    assert 0.5 < drift["growth_per_frame"] < 1.5
    assert drift["floor"]["slide_cm_per_s"] >= 0.0
    frozen = {use["name"]: use for use in drift["inputs"]}["angvel"]
    assert frozen["state"] == "frozen"
    assert 0.0 < frozen["mean_deg"] < frozen["largest_deg"]


@pytest.mark.nightly
def test_ten_thousand_free_frames_stay_finite(demo_subject):
    """An enemy must still be visible after three minutes in a level."""
    drift = judge_drift(demo_subject, 10_000)
    assert (drift.verdict, drift.frames, drift.facts["floor"] is not None) == ("finite", 10_000, True)
