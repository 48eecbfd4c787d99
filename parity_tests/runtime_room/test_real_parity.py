"""The runtime against real exported files of a deployed character: every recorded tensor, within derived bounds.

The knob values are those that spec 02 found in the training side's code. Skips, visibly, where the files are absent.
"""

import json
import math

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import open_run, read_clip, read_replay, run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.vocabulary.character.condition import condition_rows
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

from ..every_case import every_case
from . import scalar_oracle as oracle

TRAINING = {
    "angvel_source": "rotations", "angvel_angle": "half", "angvel_lag": "+1", "pose_history_start": "first_target",
    "output_mode": "residual", "previous_pose_lag": "+1",
}  # fmt: skip
RECORDED = {"contacts": "contacts", "angvel": "angvel_norm", "pose_hist": "pose_hist_norm"}
UNJUDGEABLE_Z = 1.0
"""If one float32 step of the raw value is a whole deviation, StdX is only a floor and the channel is left out."""


class Real:
    """The files, read once."""

    def __init__(self, folder):
        self.folder = folder
        contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json", TRAINING)
        self.contract = contract.with_conventions(contract.conventions.of_training)
        self.clip = read_clip(folder / "Walk_F.json")
        self.replay = read_replay(folder / "Walk_F_network_output.json")
        self.raw_clip = json.loads((folder / "Walk_F.json").read_text())["Frames"]
        self.bundle = json.loads((folder / "norm_template.json").read_text())
        self.companion = json.loads((folder / "pretrain_template.json").read_text())
        document = json.loads((folder / "Walk_F_prediction.json").read_text())
        rows = {"state": document["teacher"]["state_norm"], "cond": document["teacher"]["cond"]}
        rows |= {stage: document["aux_inputs"][name] for stage, name in RECORDED.items()}
        self.prediction = document["prediction"]
        self.recorded = {name: np.array(values, np.float64) for name, values in rows.items()}

    def run(self, **changes):
        runner = open_run(self.contract.with_conventions(changes), self.replay, self.clip, "teacher")
        return run_frames(runner, range(87), "Walk_F", "teacher").stages


@pytest.fixture(scope="module")
def real(real_data):
    return Real(real_data)


@pytest.fixture(scope="module")
def stages(real):
    return real.run()


def poses(real):
    """Recorded predicted poses, (87, 276): y_norm·StdY + MuY in float64."""
    std, mean = (np.array(real.bundle[name], np.float64) for name in ("StdY", "MuY"))
    return np.array(real.prediction["y_norm"], np.float64) * std + mean


@pytest.mark.parametrize("stage", ["state", "cond", "contacts", "angvel", "pose_hist"])
def test_recorded_input_is_recomputed_within_its_bound(real, stages, stage):
    """With one wrong input, the character still moves, only worse; so every number is recomputed."""
    recorded = real.recorded[stage]
    bound = stage_tolerances(real.contract, {name: stages[name] for name in real.recorded})[stage]
    assert stages[stage].shape == recorded.shape
    assert (np.abs(stages[stage] - recorded) <= bound).all()


# what the real files were found to agree to; StdX and its like near 1e-6 magnify one float32 step to 0.1 in z
@pytest.mark.parametrize(
    ("stage", "deviations", "figure"),
    [("state", "StdX", 1.2e-5), ("angvel", "StdAngVel", 2.7e-5), ("pose_hist", "StdPoseHist", 1.4e-4)],
)
def test_recorded_input_is_within_the_specs_figure(real, stages, stage, deviations, figure):
    """The bounds are derived; the figures of spec 02 were measured with another program."""
    std = np.array((real.companion if deviations in real.companion else real.bundle)[deviations])
    error = np.abs(stages[stage] - real.recorded[stage])[:, std > 1e-5]
    assert error.max() <= figure
    assert error.shape[1] > 0.75 * len(std)


@pytest.mark.parametrize("stage", ["cond", "contacts"])
def test_recorded_condition_and_contacts_are_equal(real, stages, stage):
    """Nothing is normalised there: they are the same float32 numbers."""
    np.testing.assert_array_equal(stages[stage], real.recorded[stage].astype(np.float32))


def test_raw_output_of_the_prediction_is_its_denormalised_pose(real):
    """`y_raw` is what both sides look at; 1e-6 is the spec's figure, 4e-8 what was measured there."""
    contract = real.contract.with_conventions({"output_mode": "absolute"})
    y_norm = np.array(real.prediction["y_norm"], np.float32)
    error = np.abs(OutputStages(contract).y_raw(y_norm) - np.array(real.prediction["y_raw"]))
    assert error.max() <= 1e-6


def test_replayed_network_gives_the_recorded_poses(real, stages):
    """Denormalise, reproject, compose, encode, against a tool that shares no line with this one."""
    error = np.abs(stages["y_out"] - poses(real))
    assert error[1:].max() <= 1e-6
    assert error[0].max() > 1e-4  # that tool composed the first frame with F_0, not with its own target


def test_first_frame_was_composed_with_the_seed(real):
    """Lag 0 at t = 0, and nowhere else: the leak of the recording starts at the second row."""
    error = np.abs(real.run(previous_pose_lag="0")["y_out"] - poses(real))
    assert error[0].max() <= 1e-6
    assert error[1:].max() > 1e-2


# --- scalar recomputation, so that the tolerance is not the only judge ------------------------------------------------

ROWS = (0, 1, 2, 40, 85, 86)


def near(value, expected, scale=1.0):
    assert value == pytest.approx(expected, abs=2e-6 * scale)


def rotation(real, frame, bone):
    return oracle.decode_xz(real.raw_clip[min(frame, 87)]["BoneRotations"][bone])


@pytest.mark.parametrize("row", ROWS)
def test_pose_of_a_row_by_hand(real, row):
    """Residual times StdY plus identity, Gram-Schmidt, times the pose: forty-six bones in scalars."""
    out = json.loads((real.folder / "Walk_F_network_output.json").read_text())["prediction"]["y_norm"][row]
    std, got = real.bundle["StdY"], poses(real)[row]
    for bone in range(46):
        place = range(6 * bone, 6 * bone + 6)
        six = [out[c] * std[c] + i for c, i in zip(place, (1, 0, 0, 0, 0, 1), strict=True)]
        previous = rotation(real, 0 if row == 0 else row + 1, bone)
        want = oracle.encode_xz(oracle.product(oracle.decode_xz(six), previous))
        np.testing.assert_allclose(got[6 * bone : 6 * bone + 6], want, rtol=0, atol=1e-6)


@pytest.mark.parametrize("row", ROWS)
def test_angular_velocity_of_a_row_by_hand(real, stages, row):
    """fps times half the rotation vector from F_(t+1) to F_(t+2), the last pair repeated; then tanh and z-score."""
    pair = min(row + 1, 86)
    scale, mean, std = (real.companion[name] for name in ("tanh_scales_angvel", "MuAngVel", "StdAngVel"))
    for bone in range(46):
        turn = oracle.product(rotation(real, pair + 1, bone), oracle.transposed(rotation(real, pair, bone)))
        for c, omega in enumerate(oracle.times(30.0, oracle.log_map(turn)), start=3 * bone):
            want = (math.tanh(omega / max(scale[c], 1e-6)) - mean[c]) / max(std[c], 1e-6)
            # 60 fps times the rounding of stored entries, over scale and deviation
            limit = 60 * 4 * 2.0**-24 / (max(scale[c], 1e-6) * max(std[c], 1e-6)) + 1e-6
            assert stages["angvel"][row, c] == pytest.approx(want, abs=limit)
            assert real.recorded["angvel"][row, c] == pytest.approx(want, abs=limit)


HISTORY = {0: (1, 1, 1), 1: (1, 1, 1), 2: (1, 1, 2), 40: (38, 39, 40), 85: (83, 84, 85), 86: (84, 85, 86)}


@pytest.mark.parametrize("row", ROWS)
def test_pose_history_of_a_row_by_hand(real, stages, row):
    """Frames by a table: F_0 never appears, and the first rows hold their own target."""
    scale, mean, std = (real.companion[name] for name in ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"))
    raw = [x for frame in HISTORY[row] for six in real.raw_clip[frame]["BoneRotations"] for x in six]
    for c, value in enumerate(raw):
        want = (math.tanh(value / max(scale[c], 1e-6)) - mean[c]) / max(std[c], 1e-6)
        limit = 4 * 2.0**-24 / max(std[c], 1e-6) * (1 + 1 / max(scale[c], 1e-6)) + 1e-6
        assert stages["pose_hist"][row, c] == pytest.approx(want, abs=limit)
        assert real.recorded["pose_hist"][row, c] == pytest.approx(want, abs=limit)


@pytest.mark.parametrize("row", ROWS)
def test_state_of_a_row_by_hand(real, stages, row):
    """Yaw over pi, velocities through tanh, everything else as it is; then the z-score."""
    frame, bundle = real.raw_clip[row], real.bundle
    raw = [*frame["RootPosition"], *frame["RootVelocityXY"], frame["RootYaw"]]
    raw += [x for six in frame["BoneRotations"] for x in six] + [x for v in frame["BoneAngularVelocities"] for x in v]
    scales = {3 + k: s for k, s in enumerate(bundle["tanh_scales_rootvel"])}
    scales |= {282 + k: s for k, s in enumerate(bundle["tanh_scales_angvel"])}
    for c, value in enumerate(raw):
        feature = math.tanh(value / max(abs(scales[c]), 1e-3)) if c in scales else value
        feature = oracle.wrapped(value) / math.pi if c == 5 else feature
        std = max(abs(bundle["StdX"][c]), 1e-6)
        limit = 8 * 2.0**-24 * (abs(feature) + abs(bundle["MuX"][c]) + 2.0**-20) / std + 1e-6
        assert stages["state"][row, c] == pytest.approx((feature - bundle["MuX"][c]) / std, abs=limit)
        # the training side floors its scales at 1e-6 and not at 1e-3: same number unless a limb stands still
        if not (c in scales and abs(scales[c]) < 1e-3):
            assert real.recorded["state"][row, c] == pytest.approx((feature - bundle["MuX"][c]) / std, abs=limit)


@pytest.mark.parametrize("row", ROWS)
def test_condition_and_contacts_of_a_row_by_hand(real, stages, row):
    """One-hot of the action, unit direction of the velocity, speed; soft scores as they are."""
    frame = real.raw_clip[row]
    speed = math.hypot(*frame["RootVelocityXY"])
    want = [*frame["ActionBits"], *(v / speed for v in frame["RootVelocityXY"]), speed]
    np.testing.assert_allclose(stages["cond"][row], want, rtol=0, atol=4 * 2.0**-24 * max(1.0, speed))
    scores = [frame["FootEvidence"][foot]["soft_contact_score"] for foot in "LR"]
    np.testing.assert_allclose(stages["contacts"][row], scores, rtol=2.0**-23)


@pytest.mark.parametrize("file", ["Walk_F_teacher", "Walk_F_prediction", "Walk_F_prediction_best"])
def test_every_recorded_direction_of_the_training_side_is_the_velocity_and_opposite_to_the_engines(real, file):
    """The engine looks along the trajectory: on this clip the network is asked to walk the other way than it learnt."""
    recorded = np.array(json.loads((real.folder / f"{file}.json").read_text())["teacher"]["cond"])[:, 4:6]
    frames = real.raw_clip[: len(recorded)]
    velocity = [[v / math.hypot(*frame["RootVelocityXY"]) for v in frame["RootVelocityXY"]] for frame in frames]
    middle = [frame["TrajectoryDir"][len(frame["TrajectoryDir"]) // 2] for frame in frames]
    np.testing.assert_allclose(recorded, velocity, rtol=0, atol=4 * 2.0**-24)
    assert (np.sum(recorded * middle, axis=1) < -0.99).all()
    engine = load_contract(real.folder / "norm_template.json", real.folder / "pretrain_template.json")
    sides = [engine, engine.with_conventions(engine.conventions.of_training)]
    of_engine, of_training = (condition_rows(real.clip, side)[: len(recorded), 4:6] for side in sides)
    np.testing.assert_allclose(of_engine, [np.divide(v, math.hypot(*v)) for v in middle], rtol=0, atol=4 * 2.0**-24)
    np.testing.assert_array_equal(of_training, recorded.astype(np.float32))


def test_clips_own_angular_velocity_is_a_full_angle_central_difference(real):
    """Slope 1: the two ways to measure a turn are not half and full of each other."""
    slope = [0.0, 0.0]
    for frame in range(1, 87, 7):
        for bone in range(46):
            turn = oracle.product(rotation(real, frame + 1, bone), oracle.transposed(rotation(real, frame - 1, bone)))
            mine, theirs = oracle.times(30.0, oracle.log_map(turn)), real.raw_clip[frame]["BoneAngularVelocities"][bone]
            slope = [slope[0] + oracle.dot(mine, theirs), slope[1] + oracle.dot(mine, mine)]
    assert slope[0] / slope[1] == pytest.approx(1.0, abs=1e-4)


# --- wrong values miss by a wide margin -------------------------------------------------------------------------------


@every_case(
    ("stage", "wrong"),
    [
        ("angvel", {"angvel_angle": "full"}), ("angvel", {"angvel_lag": "0"}), ("angvel", {"angvel_lag": "-1"}),
        ("angvel", {"angvel_frame": "local"}), ("angvel", {"angvel_source": "aux_stats"}),
        ("angvel", {"angvel_source": "state_slice"}), ("angvel", {"angvel_source": "zeros"}),
        ("pose_hist", {"pose_history_start": "seed_pose"}), ("pose_hist", {"pose_history_start": "identity"}),
        ("pose_hist", {"pose_history_order": "newest_first"}), ("pose_hist", {"pose_history_phase": "excludes_current"}),
        ("pose_hist", {"pose_history_norm": "tanh"}), ("pose_hist", {"pose_history_norm": "linear"}),
        ("pose_hist", {"pose_history_norm": "tanh_unit_scale"}),
        ("cond", {"condition_direction": "trajectory"}), ("cond", {"condition_direction": "negated"}),
        ("cond", {"condition_speed_unit": "cm_s"}), ("contacts", {"contacts_source": "swapped_feet"}),
        ("contacts", {"contacts_source": "binary"}), ("state", {"rootvel_squash": "linear"}),
        ("state", {"angvel_squash": "none"}),
        ("y_out", {"compose_order": "prev_delta"}), ("y_out", {"output_mode": "delta"}),
        ("y_out", {"output_mode": "absolute"}), ("y_out", {"delta_direction": "inverse"}),
        ("y_out", {"previous_pose_lag": "0"}), ("y_out", {"previous_pose_lag": "-1"}), ("y_out", {"denorm": "variance"}),
        ("y_out", {"bone_order": "left_right_swapped"}), ("y_out", {"mirror": "y"}), ("y_out", {"rot6d_packing": "rows"}),
        ("y_out", {"rot6d_columns": "xy"}), ("y_out", {"denorm": "state_stats"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(f"{k}={v}" for k, v in value.items()),
)  # fmt: skip
def test_wrong_convention_misses_its_tolerance_by_a_wide_margin(real, stages, stage, wrong):
    """If a wrong convention fits within the bound, a broken character passes."""
    recorded = poses(real) if stage == "y_out" else real.recorded[stage]
    known = {name: stages[name] for name in ("state", "cond", "contacts", "angvel", "pose_hist", "y_out")}
    bound = stage_tolerances(real.contract, known)[stage]
    judged = bound < (1e-2 if stage == "y_out" else UNJUDGEABLE_Z)
    error = np.where(judged, np.abs(real.run(**wrong)[stage] - recorded), 0.0)[1:]
    over = error / np.maximum(bound[1:], 1e-12)
    assert (over > 100).any(axis=1).mean() > (0.01 if "pose_history_start" in wrong else 0.5)
