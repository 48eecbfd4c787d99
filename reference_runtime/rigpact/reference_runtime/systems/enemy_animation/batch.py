"""A teacher-driven clip in one batch: the inputs of all frames are known, so the network is called once.

Stage functions accept leading axes: with the same `y_norm`, every stage has the same bits as in a loop over the frames.
`y_norm` itself agrees with the loop's within `stage_tolerances`: for another number of rows the network sums its matrix
products in another order, which changes the last bits of float32.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network, ReplayNetwork, aligned, of_shape
from rigpact.reference_runtime.recordings.clip import Clip
from rigpact.reference_runtime.recordings.trace import Trace, run_header
from rigpact.reference_runtime.systems.enemy_animation.drive import Stages, TeacherInputs, clip_rows
from rigpact.reference_runtime.systems.enemy_animation.loop import with_history_length
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.stages import STAGE_NAMES


def evaluate_clip(contract: Contract, network: Network, clip: Clip, clip_name: str | None = None) -> Trace:
    """Every stage of a teacher-driven run over the whole clip, (T, width), with one call of the network.

    UnusableInput if the network returns a wrong number of rows or channels.
    """
    contract = with_history_length(contract, network, clip)
    rows = clip_rows(clip, contract)
    inputs, outputs = TeacherInputs(contract, rows), OutputStages(contract)
    count = inputs.frame_limit or 0
    stages: Stages = dict(inputs.stages)
    stages["y_norm"] = _answers(contract, network, stages, count)
    stages |= _published(outputs, stages["y_norm"], inputs.previous_poses)
    if len(rows.x_raw) > count:
        stages["x_raw_next"] = rows.x_raw[1 : count + 1]
    header = run_header(contract, rows.fps, "teacher", clip_name, network)
    frame = np.arange(count, dtype=np.int64)
    return Trace(header, frame, frame / rows.fps, {name: stages[name] for name in STAGE_NAMES if name in stages})


def _answers(contract: Contract, network: Network, stages: Stages, count: int) -> FloatArray:
    if isinstance(network, ReplayNetwork):  # it answers one frame at a time
        answers = network.outputs[:count]
    else:
        vectors = [stages[name] for name in contract.conventions.input_order]
        answers = network.run(aligned(vectors, network.bound_widths), 0)
    return of_shape(answers, (count, contract.output.width), network.name)


def _published(outputs: OutputStages, y_norm: FloatArray, previous6d: FloatArray) -> Stages:
    """The stages after the network.

    A lost axis is replaced by the axis of the pose published one frame before, and this function computes that pose
    too. So it repeats the stages until no pose changes: one pass for each consecutive frame that lost the same axis.
    """
    identity = outputs.identity_pose()[None]
    published = np.repeat(identity, len(y_norm), axis=0)
    while True:
        stages = outputs(y_norm, previous6d, published)
        following = np.concatenate((identity, stages["y_out"][:-1, outputs.rotations]))
        if not outputs.looked_back or following.tobytes() == published.tobytes():
            return stages
        published = following
