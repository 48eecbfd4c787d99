"""Recordings of any length and characters of any size for benchmarks."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from rigpact.contract import Contract, load_contract
from rigpact.contract.bundle import character_contract
from rigpact.contract.character import Character
from rigpact.contract.layout import Layout, Slice
from rigpact.contract.pages.registry import find_system
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import OnnxNetwork, RawClip, Trace, open_run, read_clip, run_frames, write_trace

enemy_conventions = find_system("enemy_animation").conventions


def demo_contract() -> Contract:
    """The demo character: 46 bones."""
    return load_contract(demo_bundle() / "norm_template.json", demo_bundle() / "pretrain_template.json")


def demo_run(frames: int, *, math: str = "f64", mode: str = "teacher") -> Trace:
    """A run of the demo network, every stage."""
    contract = demo_contract().with_conventions({"math": math})
    network = OnnxNetwork(demo_bundle() / "model.onnx", contract)
    clip = read_clip(demo_bundle() / "clips" / "Run_F.json")
    return run_frames(open_run(contract, network, clip, mode, engine="numpy"), range(frames), "Run_F", mode)  # type: ignore[arg-type]


def lengthened(trace: Trace, frames: int) -> Trace:
    """The trace over and over until it has so many frames."""
    rows, frame = np.arange(frames) % len(trace.frame), np.arange(frames, dtype=np.int64)
    stages = {name: values[rows] for name, values in trace.stages.items()}
    return replace(trace, frame=frame, time_s=frame / trace.header.fps, stages=stages)


def write_pair(folder: Path, frames: int) -> tuple[Path, Path]:
    """Two recordings of every stage that differ by rounding and in one value."""
    paths = folder / f"a_{frames}.trace.safetensors", folder / f"b_{frames}.trace.safetensors"
    for path, math in zip(paths, ("f64", "f32"), strict=True):
        trace = lengthened(demo_run(50, math=math), frames)
        trace.stages["y_out"][frames // 2, 7] += np.float32(0.01 * (math == "f32"))
        write_trace(trace, path)
    return paths


def character(bones: int, frames: int) -> tuple[Contract, RawClip]:
    """A character of any number of bones on a binary tree of bones, and a clip of it."""
    widths = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 6 * bones,
              "BoneAngularVelocities": 3 * bones, "Contacts": 2}  # fmt: skip
    starts = np.cumsum([0, *widths.values()])
    state = Layout(
        tuple(Slice(int(start), size, name) for start, (name, size) in zip(starts, widths.items(), strict=False)),
        int(starts[-1]),
    )
    names = tuple(f"bone_{index}" for index in range(bones))
    parents = tuple((index - 1) // 2 if index else -1 for index in range(bones))
    numbers = Character(
        bone_names=names, state=state,
        output=Layout((Slice(0, 6 * bones, "BoneRotations6D"),), 6 * bones),
        state_statistics=_statistics(state.width), output_statistics=_statistics(6 * bones),
        rootvel_scales=frozen_float32([1.0, 1.0]), angvel_scales=frozen_float32(np.full(3 * bones, 3.0)),
        pose_history_length=3, pose_history=_squashed(18 * bones), angular_velocity=_squashed(3 * bones),
        skeleton=Skeleton(names, parents, frozen_float32(np.full((bones, 3), 0.1))),
    )  # fmt: skip
    contract = character_contract(numbers, enemy_conventions(), Path("norm_template.json"), "0" * 64)
    chance = np.random.default_rng(0)
    axes = np.linalg.qr(chance.normal(size=(frames, bones, 3, 3)))[0]
    six = np.concatenate((axes[..., 0], axes[..., 2]), axis=-1)
    rows = {name: chance.normal(size=(frames, size)).astype(np.float32) for name, size in widths.items()}
    clip = RawClip(
        path=Path("Clip.json"), fps=60.0, root_position_m=rows["RootPosition"], root_velocity_m_s=rows["RootVelocity"],
        root_yaw_rad=rows["RootYaw"], rotations6d=six.reshape(frames, -1).astype(np.float32),
        angular_velocity_rad_s=rows["BoneAngularVelocities"], action_bits=np.ones((frames, 4), np.float32),
        trajectory_direction=np.ones((frames, 3, 2), np.float32), contact_scores=np.ones((frames, 2), np.float32),
    )  # fmt: skip
    return contract, clip


def _statistics(width: int) -> Statistics:
    return Statistics(frozen_float32(np.zeros(width)), frozen_float32(np.full(width, 0.5)))


def _squashed(width: int) -> SquashedStatistics:
    return SquashedStatistics(frozen_float32(np.ones(width)), _statistics(width), "bundle")
