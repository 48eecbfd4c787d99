"""The C++ loop against the Python loop, stage by stage: every value of every knob, both widths of maths, drawn contracts."""

import ctypes
import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.layout import INPUTS
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import (
    CallableNetwork,
    OnnxNetwork,
    ReplayNetwork,
    open_run,
    read_clip,
    read_trace,
    run_frames,
)
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.systems.enemy_animation.floor import FootContact, FootSample, updated_contact
from rigpact.reports.engine.conformance import made_up_clip

from ..every_case import every_case
from .cpp_side import excess
from .drawn_contracts import CONTRACTS, small_contract

KNOBS = find_system("enemy_animation").knobs
STAGE_NAMES = find_system("enemy_animation").graph.names

STEPS = 6
OUTPUTS = np.random.default_rng(5).normal(0.0, 1.0, (40, 64)).astype(np.float32)
EXTRA = {
    "bone_order": ["2,0,1"],
    "input_order": [",".join(order) for order in itertools.islice(itertools.permutations(INPUTS), 1, 120, 37)],
}
VALUES = [(name, value) for name, knob in KNOBS.items() for value in (*knob.values, *EXTRA.get(name, []))]
SHARED_LIBRARY = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    """Three bones, a Contacts slice so that whitening has statistics, and an output that holds more than rotations."""
    contract = small_contract(tmp_path_factory.mktemp("parity"))
    return contract, made_up_clip(contract, STEPS + 1)


def assert_agrees(cpp, contract, clip, mode, frames=STEPS):
    """Both loops on the same clip and recorded outputs; frame by frame, what C++ makes of *its* previous frame is judged."""
    outputs = OUTPUTS[:frames, : contract.numbers.output.width]
    expected = run_frames(
        open_run(contract, ReplayNetwork(outputs), clip, mode, engine="numpy"), range(frames), None, mode
    ).stages
    found = cpp.run(contract, clip, mode, frames, replay=outputs).stages
    assert list(found) == list(expected)
    bounds = stage_tolerances(contract, expected, given=("y_norm",))
    for name, rows in expected.items():
        assert excess(name, found[name], rows, bounds[name]) <= 0, (name, mode, contract.conventions)


@pytest.mark.sampled(2)
@every_case(("knob", "value"), VALUES, ids=str)
@pytest.mark.parametrize(("mode", "math"), [("teacher", "f32"), ("free", "f64")])
def test_every_value_of_every_knob_agrees(cpp, character, mode, math, knob, value):
    """If C++ reads a convention differently, the diagnosis of an engine names the wrong cause."""
    contract, clip = character
    frames = STEPS if mode == "teacher" else 1  # free-run's own error is carried on: see the growth test
    assert_agrees(cpp, contract.with_conventions({"math": math, knob: value}), clip, mode, min(frames, STEPS - 1))


@pytest.mark.nightly
@every_case(("knob", "value"), [pair for pair in VALUES if pair != ("math", "f32")], ids=str)
def test_every_value_agrees_over_a_free_run_to_rounding(cpp, character, knob, value):
    """History, write-back and windows carry on from frame to frame: a ring that is off by one shows from frame 1 on."""
    contract, clip = character
    assert_agrees_over_a_free_run(cpp, contract.with_conventions({knob: value}), clip)


def assert_agrees_over_a_free_run(cpp, contract, clip, frames=20):
    """float64 inside: both sides round the same number to float32, at most to neighbours (2u), and compose `frames` of them.

    The small contract's worst conditioning is fps / scale / std, 30 / 2 / 0.3, of an angular velocity: at most 2 · 32.
    """
    outputs = OUTPUTS[:frames, : contract.numbers.output.width]
    expected = run_frames(
        open_run(contract, ReplayNetwork(outputs), clip, "free", engine="numpy"), range(frames), None, "free"
    ).stages
    found = cpp.run(contract, clip, "free", frames, replay=outputs).stages
    for name, rows in expected.items():
        scale = np.maximum(np.abs(rows), 1.0)
        assert excess(name, found[name], rows, frames * 64 * 2.0**-24 * scale) <= 0, name


@every_case("writeback", KNOBS["writeback"].values)
def test_a_frozen_input_stays_frozen_without_statistics(cpp, tmp_path, writeback):
    """The deployed engine never recomputes it; one that thaws with the write-back is another engine."""
    contract = small_contract(tmp_path, auxiliary=False)
    contract = contract.with_conventions({"angvel_source": "frozen", "writeback": writeback})
    clip = made_up_clip(contract, STEPS + 1)
    assert_agrees_over_a_free_run(cpp, contract, clip)
    rows = cpp.run(contract, clip, "free", STEPS, replay=OUTPUTS[:, : contract.numbers.output.width]).stages["angvel"]
    assert np.ptp(rows, axis=0).max() == 0


@given(recipe=CONTRACTS, math=st.sampled_from(["f64", "f32"]), mode=st.sampled_from(["teacher", "free"]))
@SHARED_LIBRARY
def test_drawn_contracts_agree(cpp, tmp_path_factory, recipe, math, mode):
    """The loops must agree for any number of bones, any history length and any slice order."""
    contract = recipe(tmp_path_factory.mktemp("drawn")).with_conventions({"math": math})
    assert_agrees(cpp, contract, made_up_clip(contract, STEPS + 1), mode, STEPS if mode == "teacher" else 1)


def test_the_network_gets_the_same_vectors_in_the_same_places(cpp, character):
    """The engine binds by position: a permuted vector is a network that answers nonsense with confidence."""
    contract, clip = character
    contract = contract.with_conventions({"input_order": "pose_hist,cond,state,contacts,angvel"})
    ours, theirs = [], []

    def network(seen):
        return lambda *vectors: (
            seen.extend(map(np.array, vectors)) or np.full((1, contract.numbers.output.width), 0.1, np.float32)
        )

    run_frames(open_run(contract, CallableNetwork(network(ours)), clip, "teacher"), range(2), None, "teacher")
    cpp.run(contract, clip, "teacher", 2, network=network(theirs))
    assert len(ours) == len(theirs) == 10
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


def test_the_demos_recording_is_what_the_cpp_loop_computes(one_cpp, demo_bundle):
    """`rigpact demo --into` calls it the recording of an engine without a defect: an engine has to give these numbers."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    clip = read_clip(demo_bundle / "clips" / "Sneak_Turn.json")
    recorded = read_trace(demo_bundle / "engine" / "Sneak_Turn.trace.bin")
    network, frames = OnnxNetwork(demo_bundle / "model.onnx", contract), len(recorded.frame)
    answer = one_cpp.run(contract, clip, "teacher", frames, network=lambda *vectors: network.run(vectors, 0))
    bounds = stage_tolerances(contract, answer.stages)
    assert (frames, list(recorded.stages)) == (clip.frame_count - 1, ["x_raw", "y_norm", "y_out"])
    for name, rows in recorded.stages.items():
        assert excess(name, rows, answer.stages[name], bounds[name]) <= 0, name


def test_degenerate_outputs_take_the_same_way_out(cpp, character):
    """A network that outputs zeros for a bone must not make the two sides pick different axes for it."""
    contract, clip = character
    outputs = np.zeros((3, contract.numbers.output.width), np.float32)
    rotations = contract.numbers.output["BoneRotations6D"]
    std = contract.numbers.output_statistics.std[rotations.range].reshape(-1, 6)
    wanted = np.array([[0, 0, 0, 0, 0, 1], [1, 0, 0, 2, 0, 0], [1e-5, 5e-5, 0, 0, 0, 0]], np.float64)
    starts = (
        ("residual", np.array([1, 0, 0, 0, 0, 1])),
        ("absolute", contract.numbers.output_statistics.mean[rotations.range].reshape(-1, 6)),
    )
    policies = KNOBS["degenerate_axis"].values
    assert {"previous_frame", "canonical"} <= {*policies}
    for policy, (mode, start) in itertools.product(policies, starts):
        outputs[:, rotations.range] = ((wanted - start) / std).reshape(-1)
        changed = contract.with_conventions({"degenerate_axis": policy, "output_mode": mode})
        expected = run_frames(
            open_run(changed, ReplayNetwork(outputs), clip, "teacher"), range(3), None, "teacher"
        ).stages
        found = cpp.run(changed, clip, "teacher", 3, replay=outputs).stages
        for name in ("delta6d", "y_out") if mode == "residual" else ("y_out",):
            np.testing.assert_allclose(found[name], expected[name], atol=1e-5)
        if mode == "residual" and policy in ("previous_frame", "canonical"):  # ΔR is decoded: coordinate axes
            np.testing.assert_allclose(
                found["delta6d"].reshape(3, -1, 6)[:, :2], [[[1, 0, 0, 0, 0, 1]] * 2] * 3, atol=1e-6
            )


@given(data=st.binary(max_size=300))
@SHARED_LIBRARY
def test_sha256_is_sha256(cpp, data):
    """A wrong digest refuses every bundle, or none."""
    text = ctypes.create_string_buffer(65)
    cpp.library.rigpact_sha256(data, ctypes.c_longlong(len(data)), text)
    assert text.value.decode() == hashlib.sha256(data).hexdigest()


class FootStruct(ctypes.Structure):
    _fields_ = (
        ("distance_cm", ctypes.c_double), ("vertical_cm_s", ctypes.c_double), ("planar_cm_s", ctypes.c_double),
        ("reachable", ctypes.c_bool),
    )  # fmt: skip


feet = st.tuples(st.floats(-1, 8), st.floats(0, 20), st.floats(0, 25), st.booleans())


@given(
    samples=st.lists(feet, min_size=1, max_size=30), frame_time_s=st.sampled_from([0.0, 1 / 120, 1 / 60, 1 / 30, 0.1])
)
@SHARED_LIBRARY
def test_foot_contacts_switch_in_the_same_frame(cpp, samples, frame_time_s):
    """A foot that lands one frame later on one side slides on the other."""
    contact, expected = FootContact(), []
    for sample in samples:
        contact = updated_contact(contact, FootSample(*sample), frame_time_s)
        expected.append(contact.touching)
    touching = (ctypes.c_ubyte * len(samples))()
    rows = (FootStruct * len(samples))(*samples)
    cpp.library.rigpact_foot_contacts(rows, len(samples), ctypes.c_double(frame_time_s), touching)
    assert [bool(flag) for flag in touching] == expected
