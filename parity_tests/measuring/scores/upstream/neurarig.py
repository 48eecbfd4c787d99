"""NeuraRig's public loop with one of 36 mistakes, and what is true of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..planted import Answer, Planted, judged, knob, says
from .neurarig_loop import AS_PUBLISHED, Network, recorded

BUNDLE = Path(__file__).parents[4] / "fixtures" / "bundles" / "neurarig"
FRAMES = 120
PUBLISHED: Mapping[str, str] = {
    "input_scale": "none", "normalisation": "none", "quaternion_sign": "as_it_comes", "leg_lengths": "rounded",
}  # fmt: skip
"""The conventions of the public server, where they are not those of the committed contract."""


DEFECTS = (
    Planted(
        "target_not_moved",
        "targets are turned into the pelvis' space and not moved",
        ("packet",),
        knob("target_space=turned_not_moved"),
    ),
    Planted(
        "target_turned_forward",
        "targets are turned by the pelvis' rotation, not by its inverse",
        ("packet",),
        knob("target_space=forward_transform"),
    ),
    Planted(
        "normal_turned_forward",
        "ground normals are turned by the rotation, not by its inverse",
        ("packet",),
        knob("normal_space=forward_transform"),
    ),
    Planted(
        "packet_quaternions_w_first",
        "w is first in every quaternion that is sent",
        ("packet",),
        knob("quaternion_order=wxyz"),
    ),
    Planted(
        "older_tail",
        "the tail has the order of an older schema of 63 numbers",
        ("packet",),
        knob("tail_order=targets_normals_hits_by_side"),
    ),
    Planted("hits_swapped", "each foot has the other one's hit", ("packet",), knob("tail_order=left_hit_first")),
    Planted(
        "targets_swapped", "each foot has the other one's target", ("packet",), knob("tail_order=left_target_first")
    ),
    Planted(
        "63_bytes", "63 bytes of the packet are copied, not 63 floats", ("model_input",), knob("input_copy=63_bytes")
    ),
    Planted("raw_centimetres", "the network is given centimetres", ("model_input",), knob("input_scale=none")),
    Planted(
        "scaled_by_100",
        "positions are multiplied by 100, not by 0.01",
        ("model_input",),
        says("position_scale inverted"),
    ),
    Planted(
        "targets_in_centimetres",
        "positions of bones are in metres and targets in centimetres",
        ("model_input",),
        says("target", "100 times"),
    ),
    Planted(
        "leaky_relu",
        "the network's hidden layers have a leaky ReLU",
        ("raw_rotations",),
        says("LeakyRelu in place of Relu"),
    ),
    Planted("raw_answer", "the network's quaternions are not made unit", ("rotations",), knob("normalisation=none")),
    Planted(
        "normalised_together",
        "all six quaternions are divided by one length",
        ("rotations",),
        knob("normalisation=together"),
    ),
    Planted(
        "q_or_minus_q",
        "a quaternion with negative w is sent as it is",
        ("rotations",),
        knob("quaternion_sign=as_it_comes"),
    ),
    Planted(
        "legs_swapped",
        "the legs are swapped when the reply is read",
        ("reply",),
        knob("reply_legs=left_first") + says("read 12 channels too"),
    ),
    Planted(
        "read_one_float_late",
        "the reply is read one float too late",
        ("reply",),
        says("read 1 channels too late")
        + says(r"\[0:23\] from reply\[1:24\]")
        + says(r"foot_l_quat\[3\] is stuck at 0"),
    ),
    Planted(
        "reply_of_24_bytes", "24 bytes of the reply arrive, not 24 floats", ("reply",), knob("reply_length=25_bytes")
    ),
    Planted(
        "reply_smoothed",
        "the plug-in interpolates from the last reply to the new one",
        ("reply",),
        says("smoothed", 0.25),
    ),
    Planted("reply_a_frame_late", "the reply of the frame before is used", ("reply",), says("t-1") + says("late")),
    Planted(
        "product_y_sign",
        "the quaternion product has a wrong sign in y",
        ("joints",),
        knob("multiplication=y_sign_of_ax_bz"),
    ),
    Planted("inverse_rotation", "kinematics turn by the inverse rotation", ("joints",), knob("turning=inverse")),
    Planted("hip_one_float_late", "the hip is read one float too late", ("joints",), knob("hip_offset=one_late")),
    Planted("hip_of_next_bone", "the hip is read from the calf's position", ("joints",), knob("hip_offset=next_bone")),
    Planted("w_first_in_formula", "the rotation formula takes w first", ("joints",), knob("turning=w_first")),
    Planted("child_times_parent", "world = local * parent", ("joints",), knob("multiplication=child_parent")),
    Planted(
        "calf_without_parent",
        "local rotations are used as rotations in the world",
        ("joints",),
        knob("multiplication=child_only"),
    ),
    Planted("knee_by_calf", "the knee is placed with the calf's rotation", ("joints",), knob("bone_turn=next_bone")),
    Planted(
        "pelvis_not_turned",
        "the pelvis' rotation is missing in kinematics",
        ("joints",),
        knob("fk_space=world_not_turned"),
    ),
    Planted(
        "right_hip_for_both",
        "the left leg hangs at the right hip",
        ("joints",),
        says(r"engine_pose\[thigh_r_pos\] in place of engine_pose\[thigh_l_pos\]"),
    ),
    Planted("axis_minus_z", "bones run along -z", ("joints",), knob("bone_axis=minus_z")),
    Planted("rounded_lengths", "lengths are rounded to 45.75 and 41.70", ("joints",), knob("leg_lengths=rounded")),
    Planted(
        "target_without_pelvis",
        "the target in the world lacks the pelvis' position",
        ("foot_error",),
        knob("error_target=turned_not_moved"),
    ),
    Planted(
        "target_in_pelvis_space",
        "the foot in the world is compared with the target in the pelvis' space",
        ("foot_error",),
        knob("error_target=pelvis_target_as_world"),
    ),
    Planted("squared_distance", "the error is the squared distance", ("foot_error",), knob("error_length=squared")),
    Planted(
        "sum_of_differences",
        "the error is the sum of absolute differences, as in the later loss",
        ("foot_error",),
        knob("error_length=absolute_sum"),
    ),
)
"""Each mistake, where it shows first, and what is true of it."""


def explained(mistakes: Sequence[str], changes: Mapping[str, str] | None = None) -> Diagnosis:
    """Record the loop with these mistakes and ask what differs, under changed conventions."""
    contract = open_contract(BUNDLE / "neurarig.json")
    clip = load_file(BUNDLE / "clip.trace.safetensors")["engine_pose"][:FRAMES]
    rows = recorded(clip, Network(BUNDLE / "model.onnx"), mistakes)
    network = OnnxSystemNetwork(BUNDLE / "model.onnx", contract.system)
    evidence = Evidence(np.arange(len(clip)), contract.fps or 1.0, "teacher", rows, network=network)
    return diagnose(evidence, contract.with_conventions(dict(changes or {})), with_pairs=True)


def every_answer(chosen: Sequence[Planted] = DEFECTS) -> Iterator[Answer]:
    """The answer to each mistake."""
    for planted in chosen:
        yield judged(planted, explained((planted.name,)))


def honest_verdicts() -> dict[str, str]:
    """The verdicts on the loop without a mistake: as the contract says, and as the public server is."""
    return {
        "as the contract says": explained(()).verdict,
        "as the public server is": explained(AS_PUBLISHED, PUBLISHED).verdict,
    }
