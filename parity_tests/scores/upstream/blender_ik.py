"""docs/systems-defects-blender_ik.md: what `rigpact explain` says of the upstream's formulas with one mistake in them.

`python -m parity_tests.scores.upstream.blender_ik docs/systems-defects-blender_ik.md` plants every mistake and writes the page;
without an argument it prints it. It exits with 1 if a bar is missed. To add a mistake: a line in blender_ik_side.py and a row
here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from rigpact.contract.systems.reading import read_system_contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..planted import MISTAKE, Answer, Planted, judged, knob, page, publish, says, shortcomings
from .blender_ik_side import Upstream

NAMED = 0.8
"""The bar: so many are named."""
FOLDER = Path(__file__).parents[3] / "fixtures" / "bundles" / "blender_ik"
_HEAD = """# Mistakes in the formulas of Blender IK

The add-on's context, network, clamp and kinematics are written again in plain numpy float32 (`blender_ik_side.py` under
parity_tests/scores/upstream/), without a line of rigpact. Without a mistake, every stage that they record agrees with the
committed contract and model. Each row plants one mistake, records the committed clip, and asks `rigpact explain`.

A mistake is *located* when the first divergence is in the stage where it shows first. It is *named* when a convention or a
relation says what it is. It would be *misleading* to say anything that is not true of it, and *silent* to see nothing.

This page is generated: `python -m parity_tests.scores.upstream.blender_ik docs/systems-defects-blender_ik.md`.
"""


def _knob(name: str, what: str, stage: str, *changes: str) -> Planted:
    return Planted(name, what, (stage,), knob(*changes))


def _says(name: str, what: str, stage: str, *words: str) -> Planted:
    return Planted(name, what, (stage,), says(*words))


MISTAKES = (
    _knob(
        "root_transposed", "positions are multiplied by the root's axes", "context", "root_relative=out_of_hips_axes"
    ),
    _knob("not_turned", "positions are only moved to the hips", "context", "root_relative=translation_only"),
    _knob("posed_root", "the root's axes are those of the posed hips", "context", "root_frame=posed_hips"),
    _knob("armature_axes", "the root's axes are the armature's", "context", "root_frame=armature"),
    _says(
        "left_handed",
        "right is up x forward",
        "context",
        "_position] is what it should be with -x, y, z in place of x, y, z",
    ),
    _knob("up_first", "up comes before forward", "context", "root_axes=z_forward_y_up"),
    _knob("quaternion_w_first", "a quaternion with w last is read w first", "context", "effector_quaternion=wxyz"),
    _knob("euler_zyx", "angles of Rx Ry Rz", "context", "euler_order=zyx"),
    _knob("euler_one_triple", "the middle angle within 90 degrees", "context", "euler_triple=middle_within_90_deg"),
    _says("euler_degrees", "angles in degrees", "context", "180/π"),
    _knob("euler_transposed", "angles of the transposed matrix", "context", "effector_rotation_sense=inverse"),
    _knob("rotation_in_root", "rotations are relative to the root", "context", "effector_rotation_space=hips"),
    _knob("tails", "tails of bones for heads", "context", "effector_point=tail"),
    _says("centimetres", "positions in centimetres", "context", "100 times"),
    _knob("feet_first", "feet before hands", "context", "effector_order=feet_hands_head"),
    _knob("right_first", "right before left", "context", "effector_order=right_before_left"),
    _knob("ground_height", "the ground's height for the foot's", "context", "height=ground_height"),
    _knob("above_zero", "the foot's height above zero", "context", "height=above_zero"),
    _knob("feet_swapped", "the feet swapped in the ground's block", "context", "feet_order=right_left"),
    _knob("flags_swapped", "grounded and desired contact swapped", "context", "contact_flags=desired_grounded"),
    _knob("tasks_sorted", "tasks numbered by the alphabet", "context", "task_numbers=sorted_by_name"),
    _knob("grab_is_reach", "grab is labelled reach", "context", "task_numbers=grab_is_reach"),
    _says("context_late", "the context is a frame late", "context", "frame t-1"),
    _knob("not_normalised", "inputs are not normalised", "model_input", "normalisation=missing"),
    _knob("angles_not_divided", "angles are not divided by pi", "model_input", "rotation_scale=none"),
    _knob("heights_not_divided", "heights are not divided", "model_input", "height_scale=none"),
    _knob("phase_in_radians", "the phase in radians", "model_input", "phase_unit=radians"),
    _knob("task_to_one", "the task scaled to one", "model_input", "task_scale=fifth"),
    _says("relu", "ReLU for tanh", "rotations", "Relu in place of Tanh"),
    _says(
        "leaky_relu",
        "the LeakyReLU of the later network for tanh",
        "rotations",
        "LeakyRelu of a slope of 0.1 in place of Tanh",
    ),
    _says("no_last_bias", "the last layer has no bias", "rotations", "without the bias of the last layer"),
    _knob("no_clamp", "no clamp", "limited", "clamp=none"),
    _knob("limits_in_degrees", "limits in degrees", "limited", "limit_set=in_degrees"),
    _knob("limits_y_z", "limits of y and z swapped", "limited", "limit_set=y_and_z_swapped"),
    _knob("limits_not_mirrored", "the right side has the left side's limits", "limited", "limit_set=right_as_left"),
    _says("wide_limits", "limits 0.2 rad wider", "limited", "held"),
    _knob("pose_w_first", "quaternions with w first", "pose", "quaternion_order=wxyz"),
    _says("pose_inverse", "quaternions turned around", "pose", "x, y, z, -w in place of x, y, z, w"),
    _says("pose_late", "the pose is a frame late", "pose", "frame t-1"),
    _knob(
        "whole_angle", "the length of a rotation vector is half the angle", "pose", "rotation_vector=norm_is_half_angle"
    ),
    _knob("no_rest", "kinematics without rest orientations", "positions", "rest_orientation=ignored"),
    _knob("flat_offsets", "offsets without rest orientations", "positions", "rest_orientation=ignored_in_offsets"),
    _knob("local_first", "A B for B A", "positions", "local_order=local_then_rest"),
    _knob("local_first_below", "A B for B A, but in the root", "positions", "local_order=local_then_rest_below_root"),
    _knob("no_armature", "kinematics without the armature", "positions", "armature_rotation=ignored"),
    _knob("default_root", "the hips at (0, 0, 1)", "positions", "fk_root=default"),
    _knob("rodrigues_sign", "the signs of Rodrigues' sine", "positions", "kinematics_sense=clockwise"),
    _knob("clamped_late", "kinematics of unclamped rotations", "positions", "clamp_place=behind_kinematics"),
    _says("own_offset", "an offset turned by the child", "positions", "child"),
    _knob("targets_in_root", "targets relative to the root", "effector_error", "target_space=hips_relative"),
    _knob("squared_error", "the error is the squared distance", "effector_error", "error_measure=squared"),
)
FEW = (
    "euler_one_triple", "no_armature", "tails", "feet_swapped", "tasks_sorted", "limits_in_degrees", "limits_y_z",
    "rodrigues_sign", "leaky_relu",
)  # fmt: skip
"""Mistakes of the small version in the ordinary suite: those that once had no name."""


class Scene:
    """The committed contract, model and clip, and the upstream's formulas on them."""

    def __init__(self) -> None:
        """Read the committed files."""
        contract, model = FOLDER / "blender_ik.json", FOLDER / "model.onnx"
        self.contract = read_system_contract(contract)
        self._network = OnnxSystemNetwork(model, self.contract.system)
        self.upstream = Upstream(contract, model, load_file(FOLDER / "clip.trace.safetensors"))

    def explained(self, mistake: str = "") -> Diagnosis:
        """What `rigpact explain` says of a recording of the upstream."""
        rows = self.upstream.record(mistake)
        evidence = Evidence(np.arange(len(rows["root"])), 30.0, "teacher", rows, network=self._network)
        return diagnose(evidence, self.contract)

    def answers(self, chosen: Sequence[Planted] = MISTAKES) -> Iterator[Answer]:
        """The answer to each mistake."""
        for planted in chosen:
            yield judged(planted, self.explained(planted.name))


def main(arguments: Sequence[str]) -> int:
    """Write or print the page; 1 if a bar is missed."""
    scene = Scene()
    honest, answers = scene.explained(), list(scene.answers())
    text = page(_HEAD, answers, honest.verdict, (MISTAKE,))
    return publish(arguments, text, shortcomings(answers, {"without a mistake": honest.verdict}, NAMED))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
