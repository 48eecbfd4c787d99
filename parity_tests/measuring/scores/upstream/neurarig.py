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

from ..planted import Answer, Planted, judged, mistake
from .neurarig_loop import AS_PUBLISHED, Network, recorded

BUNDLE = Path(__file__).parents[4] / "fixtures" / "bundles" / "neurarig"
FRAMES = 120
PUBLISHED: Mapping[str, str] = {
    "input_scale": "none", "normalisation": "none", "quaternion_sign": "as_it_comes", "leg_lengths": "rounded",
}  # fmt: skip
"""The conventions of the public server, where they are not those of the committed contract."""
# fmt: off
DEFECTS = (
    mistake("target_not_moved", "packet", "target_space=turned_not_moved"),
    mistake("target_turned_forward", "packet", "target_space=forward_transform"),
    mistake("normal_turned_forward", "packet", "normal_space=forward_transform"),
    mistake("packet_quaternions_w_first", "packet", "quaternion_order=wxyz"),
    mistake("older_tail", "packet", "tail_order=targets_normals_hits_by_side"),
    mistake("hits_swapped", "packet", "tail_order=left_hit_first"),
    mistake("targets_swapped", "packet", "tail_order=left_target_first"),
    mistake("63_bytes", "model_input", "input_copy=63_bytes"),
    mistake("raw_centimetres", "model_input", "input_scale=none"),
    mistake("scaled_by_100", "model_input", ("position_scale inverted",)),
    mistake("targets_in_centimetres", "model_input", ("target", "100 times")),
    mistake("leaky_relu", "raw_rotations", ("LeakyRelu in place of Relu",)),
    mistake("raw_answer", "rotations", "normalisation=none"),
    mistake("normalised_together", "rotations", "normalisation=together"),
    mistake("q_or_minus_q", "rotations", "quaternion_sign=as_it_comes"),
    mistake("legs_swapped", "reply", "reply_legs=left_first", ("read 12 channels too",)),
    mistake("read_one_float_late", "reply", ("read 1 channels too late",), (r"\[0:23\] from reply\[1:24\]",),
            (r"foot_l_quat\[3\] is stuck at 0",)),
    mistake("reply_of_24_bytes", "reply", "reply_length=25_bytes"),
    mistake("reply_smoothed", "reply", ("smoothed", 0.25)),
    mistake("reply_a_frame_late", "reply", ("t-1",), ("late",)),
    mistake("product_y_sign", "joints", "multiplication=y_sign_of_ax_bz"),
    mistake("inverse_rotation", "joints", "turning=inverse"),
    mistake("hip_one_float_late", "joints", "hip_offset=one_late"),
    mistake("hip_of_next_bone", "joints", "hip_offset=next_bone"),
    mistake("w_first_in_formula", "joints", "turning=w_first"),
    mistake("child_times_parent", "joints", "multiplication=child_parent"),
    mistake("calf_without_parent", "joints", "multiplication=child_only"),
    mistake("knee_by_calf", "joints", "bone_turn=next_bone"),
    mistake("pelvis_not_turned", "joints", "fk_space=world_not_turned"),
    mistake("right_hip_for_both", "joints", (r"engine_pose\[thigh_r_pos\] in place of engine_pose\[thigh_l_pos\]",)),
    mistake("axis_minus_z", "joints", "bone_axis=minus_z"),
    mistake("rounded_lengths", "joints", "leg_lengths=rounded"),
    mistake("target_without_pelvis", "foot_error", "error_target=turned_not_moved"),
    mistake("target_in_pelvis_space", "foot_error", "error_target=pelvis_target_as_world"),
    mistake("squared_distance", "foot_error", "error_length=squared"),
    mistake("sum_of_differences", "foot_error", "error_length=absolute_sum"),
)
# fmt: on
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
