"""From the network's output to the published pose, bone by bone, against scalar arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages

from ..every_case import every_case
from . import scalar_oracle as oracle
from . import tiny_character as tiny

STORE = 2.0**-24
IDENTITY = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0]
DOCUMENT = tiny.bundle()
PUBLISHED = np.array([x for rotation in tiny.pose(2) for x in oracle.encode_xz(rotation)], np.float32)
PREVIOUS = np.array([x for rotation in tiny.pose(4) for x in oracle.encode_xz(rotation)], np.float32)
ORDINARY = np.linspace(-1.5, 1.5, 18).astype(np.float32)


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("output"), DOCUMENT)


def f32(values):
    return np.array(values, np.float32).tolist()


def columns(name):
    return f32(DOCUMENT[name])


FACTORS = {
    "std_and_mean": (columns("StdY"), columns("MuY")),
    "std_only": (columns("StdY"), [0.0] * 18),
    "mean_only": ([1.0] * 18, columns("MuY")),
    "variance": ([std * std for std in columns("StdY")], columns("MuY")),
    "state_stats": (columns("StdX")[6:24], columns("MuX")[6:24]),
}


def expected_y_raw(y_norm, mode, denorm="std_and_mean"):
    """Spec 01 section 7: the mean is a pose, so it has no place in a residual."""
    factor, mean = FACTORS[denorm]
    return [y * f + (0.0 if mode == "residual" else m) for y, f, m in zip(f32(y_norm), factor, mean, strict=True)]


def bones(flat):
    return [list(flat[start : start + 6]) for start in range(0, len(flat), 6)]


def expected_stages(y_norm, previous, mode, denorm="std_and_mean", **knobs):
    """Every stage after the network under one set of knobs, float64 throughout."""
    before = knobs.get("reproject", "both") in ("both", "before")
    after = knobs.get("reproject", "both") in ("both", "after")
    y_raw = expected_y_raw(y_norm, mode, denorm)
    stages = {"y_raw": y_raw, "delta6d": [], "next6d": [], "y_out": []}
    for raw, old in zip(bones(y_raw), bones(previous), strict=True):
        if mode == "absolute":
            following = raw
        else:
            six = oracle.plus(raw, IDENTITY) if mode == "residual" else raw
            a, b = oracle.gram_schmidt(six[:3], six[3:]) if before else (six[:3], six[3:])
            stages["delta6d"] += [*a, *b]
            delta = oracle.matrix_from_xz(a, b)
            if knobs.get("delta_direction") == "inverse":
                delta = oracle.transposed(delta)
            factors = (delta, oracle.decode_xz(old))
            order = factors[::-1] if knobs.get("compose_order") == "prev_delta" else factors
            following = oracle.encode_xz(oracle.product(*order))
        stages["next6d"] += following
        halves = oracle.gram_schmidt(following[:3], following[3:]) if after else (following[:3], following[3:])
        stages["y_out"] += [*halves[0], *halves[1]]
    return stages


def assert_stages(got, want, scale=1.0):
    """Each stage is stored once on the way: u each, through two Gram-Schmidts whose |b|/|b_perp| is below 5 here."""
    for name, values in want.items():
        if values:
            np.testing.assert_allclose(got[name], values, rtol=0, atol=60 * STORE * scale, err_msg=name)
        else:
            assert name not in got


MODES = ("delta", "residual", "absolute")


@every_case("mode", MODES)
@every_case("denorm", FACTORS)
def test_denormalisation_of_every_variant(contract, mode, denorm):
    """MuY read into a residual adds the mean pose to every frame: the character folds up within a second."""
    stages = OutputStages(contract.with_conventions({"output_mode": mode, "denorm": denorm}))
    got = stages.y_raw(ORDINARY)
    assert got.dtype == np.float32
    # factor and summand are exact float32; a product, a sum, one store: relative to the larger of both
    np.testing.assert_allclose(got, expected_y_raw(ORDINARY, mode, denorm), rtol=2 * STORE, atol=2 * STORE)


@pytest.mark.parametrize("std", [0.0, 1e-9, -0.5])
def test_output_deviation_has_no_floor_and_keeps_its_sign(tmp_path, std):
    """The state's floor of 1e-6 here would move a bone that the training side keeps still."""
    document = tiny.bundle()
    document["StdY"][0] = std
    contract = tiny.contract(tmp_path, document, output_mode="delta")
    got = OutputStages(contract).y_raw(np.full(18, 1000.0, np.float32))[0]
    assert got == pytest.approx(1000.0 * f32([std])[0] + f32(document["MuY"])[0], rel=4 * STORE)


@every_case("mode", MODES)
@every_case("order", ["delta_prev", "prev_delta"])
@every_case("direction", ["forward", "inverse"])
@every_case("reproject", ["both", "before", "after", "none"])
def test_pose_of_every_way_to_compose(contract, mode, order, direction, reproject):
    """Each of these looks right in code review; only one of them walks."""
    knobs = {"compose_order": order, "delta_direction": direction, "reproject": reproject}
    got = OutputStages(contract.with_conventions({"output_mode": mode, **knobs}))(ORDINARY, PREVIOUS, PUBLISHED)
    assert_stages(got, expected_stages(ORDINARY, PREVIOUS, mode, **knobs))


@pytest.mark.parametrize(("mirror", "signs"), [("x", (-1, 1, 1)), ("y", (1, -1, 1)), ("z", (1, 1, -1))])
def test_mirror_changes_the_handedness_of_the_published_pose(contract, mirror, signs):
    """A left-handed engine fed a right-handed pose waves with the wrong arm."""
    stages = OutputStages(contract.with_conventions({"output_mode": "residual", "mirror": mirror}))
    got = stages(ORDINARY, PREVIOUS, PUBLISHED)
    plain = expected_stages(ORDINARY, PREVIOUS, "residual")
    want = []
    for six in bones(plain["y_out"]):
        rotation = oracle.decode_xz(six)
        mirrored = [[signs[i] * rotation[i][j] * signs[j] for j in range(3)] for i in range(3)]
        want += oracle.encode_xz(mirrored)
    np.testing.assert_allclose(got["y_out"], want, rtol=0, atol=60 * STORE)
    np.testing.assert_allclose(got["next6d"], plain["next6d"], rtol=0, atol=60 * STORE)


@pytest.mark.parametrize(("order", "taken"), [("left_right_swapped", (0, 2, 1)), ((2, 0, 1), (2, 0, 1))])
def test_bone_order_takes_each_slot_from_the_named_bone(contract, order, taken):
    """Left and right swapped is the one mistake that every eye sees and no norm does."""
    stages = OutputStages(contract.with_conventions({"bone_order": order}))
    got = stages(ORDINARY, PREVIOUS, PUBLISHED)
    plain = bones(expected_stages(ORDINARY, PREVIOUS, "residual")["y_out"])
    want = [number for bone in taken for number in plain[bone]]
    np.testing.assert_allclose(got["y_out"], want, rtol=0, atol=60 * STORE)
    with pytest.raises(UnusableInput, match="3 bones"):
        OutputStages(contract.with_conventions({"bone_order": (1, 0)}))
    one_bone_quats = [oracle.quat_to_matrix(quat) for quat in got["quat"].reshape(3, 4).tolist()]
    np.testing.assert_allclose(one_bone_quats, [oracle.decode_xz(plain[bone]) for bone in taken], atol=99 * STORE)


# --- an output that also holds the root -------------------------------------------------------------------------------

WIDE = {"RootVelocity": 2, "BoneRotations6D": 18, "RootYaw": 1, "BoneAngularVelocities": 9}


def wide_document(**changes):
    return tiny.bundle(output=WIDE, **changes)


@given(z=st.lists(st.floats(-6, 6, width=32), min_size=30, max_size=30))
@example(z=[0.0] * 30)
@example(z=[6.0] * 30)
def test_root_channels_of_an_output_undo_their_features(tmp_path_factory, z):
    """An output that is a tanh feature and is read as metres per second stops the character."""
    document = wide_document(tanh_scales_rootvel=[0.0, 0.7])
    contract = tiny.contract(tmp_path_factory.getbasetemp(), document)
    got = OutputStages(contract).y_raw(np.array(z, np.float32))
    std, mean = f32(document["StdY"]), f32(document["MuY"])
    value = [y * s + m for y, s, m in zip(f32(z), std, mean, strict=True)]
    limit = 1.0 - 1e-6
    atanh = [math.atanh(max(-limit, min(limit, v))) for v in value]
    assert got[0] == 0.0  # a scale of 0 is not floored here
    assert got[1] == pytest.approx(f32([0.7])[0] * atanh[1], rel=2 * STORE, abs=1e-12)
    assert got[20] == pytest.approx(max(-1.0, min(1.0, value[20])) * math.pi, rel=2 * STORE, abs=1e-12)
    for channel, scale in enumerate(f32(document["tanh_scales_angvel"])):
        assert got[21 + channel] == pytest.approx(scale * atanh[21 + channel], rel=2 * STORE, abs=1e-12)


def test_mean_of_root_channels_stays_in_a_residual(tmp_path):
    """Only the rotations are residuals: the mean velocity is still the mean velocity."""
    document = wide_document()
    contract = tiny.contract(tmp_path, document, rootvel_squash="none", output_mode="residual")
    got = OutputStages(contract).y_raw(np.zeros(30, np.float32))
    assert got[:2].tolist() == f32(document["MuY"][:2])
    assert got[2:20].tolist() == [0.0] * 18
