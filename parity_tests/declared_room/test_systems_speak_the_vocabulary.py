"""Stages of the five systems, declared over the same fields in the words of the vocabulary: the same numbers.

What the numbers have to be is judged elsewhere, against formulas that the tests write themselves (test_operations_*.py here,
and the tests of each system). Here two ways through the product meet.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.vocabulary import package_of
from rigpact.contract.pages.registry import known_systems
from rigpact.reference_runtime.graph.bounds import replay_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.geometry import same_hemisphere

Array = np.ndarray
FRAMES = 64
LEGS = ("r", "l")


@dataclass(frozen=True)
class Pair:
    """A stage of a system, and the same in a declaration.

    inputs: the stages that the system's stage reads. part: which of its numbers are declared, of its fields. given: the declared
    vectors, from the same inputs. stages: their TOML, the last one is `result`.
    """

    system: str
    stage: str
    inputs: Callable[[Any, np.random.Generator], Mapping[str, Array]]
    part: Callable[[Any], Any]
    given: Callable[[Any, Mapping[str, Array]], Mapping[str, Array]]
    stages: Callable[[Any], str]
    kinds: str = "raw"
    stored_once: bool = True


@cache
def system_contract(bundles: Path, system: str) -> Any:
    """The contract of the system's committed files."""
    files = bundles / "demo" / "norm_template.json", bundles / "demo" / "pretrain_template.json"
    own = bundles / system / f"{system}.json"
    return open_contract(own) if system != "enemy_animation" else open_contract(*files)


def fields(contract: Any, stage: str) -> Any:
    """The fields of one of its stages."""
    return contract.system.graph[stage].fields(contract)


def drawn(*stages: str, scale: float = 1.0) -> Callable[[Any, np.random.Generator], Mapping[str, Array]]:
    """Random numbers in stages."""
    return lambda contract, random: {
        stage: random.normal(0.0, scale, (FRAMES, fields(contract, stage).width)).astype(np.float32) for stage in stages
    }


def listed(numbers: Any) -> str:
    """Numbers as TOML."""
    return "[" + ", ".join(repr(float(each)) for each in np.asarray(numbers).reshape(-1)) + "]"


def whole(_contract: Any) -> Any:
    return slice(None)


def quaternions(random: np.random.Generator, count: int) -> Array:
    """Unit quaternions whose float32 has length 1 exactly: half turns and thirds of a turn."""
    every = [
        *np.eye(4),
        *(0.5 * np.array([[x, y, z, w] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1) for w in (-1, 1)])),
    ]
    return np.array(every, np.float32)[random.integers(0, len(every), count)]


def engine_poses(contract: Any, random: np.random.Generator) -> dict[str, Array]:
    """Poses of the legs in centimetres, the pelvis turned."""
    layout = fields(contract, "engine_pose")
    rows = random.normal(0.0, 60.0, (FRAMES, layout.width)).astype(np.float32)
    rows[:, layout["pelvis_quat"].range] = quaternions(random, FRAMES)
    return {"engine_pose": rows}


def effectors(_contract: Any, random: np.random.Generator) -> dict[str, Array]:
    """Five effectors turned by at most a right angle, hips and armature turned, flat ground, no motion.

    Up to there the triple of Euler angles with the middle one within a right angle has the smaller sum: Blender's triple.
    """
    rows = random.normal(size=(FRAMES, 5, 7))
    rows[..., 3:6] *= 0.7 / np.linalg.norm(rows[..., 3:6], axis=-1, keepdims=True)
    rows[..., 6] = 1.0
    rows[..., 3:] /= np.linalg.norm(rows[..., 3:], axis=-1, keepdims=True)
    root = np.hstack([random.normal(size=(FRAMES, 3)), quaternions(random, FRAMES), quaternions(random, FRAMES)])
    zeros = {"ground": np.zeros((FRAMES, 12), np.float32), "motion": np.zeros((FRAMES, 2), np.float32)}
    return {"effectors": rows.reshape(FRAMES, 35).astype(np.float32), "root": root.astype(np.float32), **zeros}


def rotation_slice(contract: Any, layout: str) -> slice:
    found: slice = getattr(contract.numbers, layout)["BoneRotations6D"].range
    return found


def foot(contract: Any, side: str) -> slice:
    start = 3 * [each.name for each in fields(contract, "joints")].index(f"foot_{side}")
    return slice(start, start + 3)


def target(contract: Any, side: str) -> slice:
    found: slice = fields(contract, "engine_pose")[f"foot_{side}_target"].range
    return found


def movable(contract: Any) -> Array:
    """The components of joints that are not locked."""
    low, high = np.moveaxis(contract.numbers["numbers.limits_rad"].reshape(-1, 2), -1, 0)
    return np.flatnonzero(low < high)


def _into_pelvis(contract: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
    layout, pose = fields(contract, "engine_pose"), inputs["engine_pose"]
    return {
        "points": np.hstack([pose[:, target(contract, side)] for side in LEGS]),
        "origin": pose[:, layout["pelvis_pos"].range],
        "q": pose[:, layout["pelvis_quat"].range],
    }


def _limits(contract: Any) -> str:
    low, high = np.moveaxis(contract.numbers["numbers.limits_rad"].reshape(-1, 2)[movable(contract)], -1, 0)
    return f'{{ name = "result", operation = "clip", of = "x", lowest = {listed(low)}, highest = {listed(high)} }}'


def _scales(contract: Any) -> str:
    layout = fields(contract, "model_input")
    scale = np.ones(layout.width)
    for field in layout:
        scale[field.range] = (
            float(contract.constants["rotation_scale"])
            if field.name.endswith("_rotation")
            else float(contract.constants["height_scale"])
            if field.name in {"LeftFoot_height", "RightFoot_height"}
            else 1.0
        )
    return f'{{ name = "result", operation = "normalise", of = "x", mean = 0, std = {listed(scale)} }}'


def _statistics(contract: Any, operation: str) -> str:
    own, layout = (
        (contract.numbers.state_statistics, "state")
        if operation == "normalise"
        else (contract.numbers.output_statistics, "output")
    )
    place = rotation_slice(contract, layout)
    # the demo's network answers a residual: no mean is added to its rotations
    mean, floor = (listed(own.mean[place]), ", floor = 1e-6") if operation == "normalise" else ("0", "")
    std = listed(np.abs(own.std[place]))
    return f'{{ name = "result", operation = "{operation}", of = "x", mean = {mean}, std = {std}{floor} }}'


def _apart(_contract: Any) -> str:
    return """{ name = "apart", operation = "blend", of = ["a", "b"], weights = [1, -1] },
        { name = "result", operation = "norm", of = "apart", measure = "euclidean" }"""


def _spread(contract: Any) -> str:
    return f"""{{ name = "half", operation = "affine", of = "x", scale = 0.5 }},
        {{ name = "spread", operation = "squash", of = "half", function = "exp" }},
        {{ name = "result", operation = "affine", of = "spread", scale = {float(contract.constants["temperature"])!r} }}"""


def _angles(contract: Any) -> str:
    scale = float(np.deg2rad(contract.constants["angle_range_deg"]))
    return f'{{ name = "result", operation = "affine", of = "x", subtract = 0.5, scale = {scale!r} }}'


PAIRS = (
    Pair("enemy_animation", "state", drawn("x_raw"), lambda c: rotation_slice(c, "state"),
         lambda c, i: {"x": i["x_raw"][:, rotation_slice(c, "state")]}, lambda c: _statistics(c, "normalise")),
    Pair("enemy_animation", "y_raw", drawn("y_norm"), lambda c: rotation_slice(c, "output"),
         lambda c, i: {"x": i["y_norm"][:, rotation_slice(c, "output")]}, lambda c: _statistics(c, "denormalise")),
    Pair("neurarig", "packet", engine_poses,
         lambda c: [n for side in LEGS for n in range(*target(c, side).indices(99))], _into_pelvis,
         lambda c: '{ name = "result", operation = "relative", of = ["points", "origin", "q"], direction = "into_frame" }',
         kinds="quaternion_xyzw"),
    Pair("neurarig", "foot_error",
         lambda c, r: {**engine_poses(c, r), **drawn("packet", "joints", scale=60.0)(c, r)}, whole,
         lambda c, i: {"a": np.hstack([i["joints"][:, foot(c, side)] for side in LEGS]),
                       "b": np.hstack([i["engine_pose"][:, target(c, side)] for side in LEGS])}, _apart, stored_once=False),
    Pair("blender_ik", "limited", drawn("rotations"), movable, lambda c, i: {"x": i["rotations"][:, movable(c)]}, _limits),
    Pair("blender_ik", "model_input", drawn("context"), whole, lambda c, i: {"x": i["context"]}, _scales),
    Pair("blender_ik", "pose", drawn("limited"), whole, lambda c, i: {"q": i["limited"]},
         lambda c: '{ name = "result", operation = "convert", of = "q", to = "quaternion_xyzw", reads = "radians" }',
         kinds="rotation_vector", stored_once=False),
    Pair("blender_ik", "context", effectors, lambda c: [6 * each + axis for each in range(5) for axis in (3, 4, 5)],
         lambda c, i: {"q": i["effectors"].reshape(FRAMES, 5, 7)[..., 3:].reshape(FRAMES, 20)},
         lambda c: '{ name = "result", operation = "convert", of = "q", to = "euler", writes = "xyz_rad" }',
         kinds="quaternion_xyzw", stored_once=False),
    Pair("rig_inversion", "transform", drawn("rig_parameters"), lambda c: slice(0, 3),
         lambda c, i: {"x": i["rig_parameters"][:, :3]}, _angles),
    Pair("rig_inversion", "vertex_error", drawn("mesh", "reconstruction"), whole,
         lambda c, i: {"a": i["reconstruction"], "b": i["mesh"]}, _apart, stored_once=False),
    Pair("imu_pose", "log_variance", drawn("head", scale=9.0), whole, lambda c, i: {"x": i["head"][:, 1::2]},
         lambda c: '{ name = "result", operation = "clip", of = "x", lowest = -8, highest = 4 }'),
    Pair("imu_pose", "sigma", drawn("log_variance"), whole, lambda c, i: {"x": i["log_variance"]}, _spread, stored_once=False),
)  # fmt: skip


def stage_of(contract: Any, inputs: Mapping[str, Array], stage: str) -> tuple[Array, Array]:
    """The stage from its inputs, and its bound."""
    frames = ReplayedFrames(Evidence(np.arange(FRAMES), contract.fps or 50.0, "teacher", dict(inputs)), contract)
    rows = frames.computed(stage)
    assert rows is not None
    return np.asarray(rows), np.asarray(replay_bound(frames, stage, rows))


def declared(pair: Pair, contract: Any, given: Mapping[str, Array], folder: Path) -> Any:
    vectors = ", ".join(
        f'{{ name = "{name}", size = {rows.shape[1]}, kind = "{pair.kinds if name == "q" else "raw"}" }}'
        for name, rows in given.items()
    )
    head = 'format = "rigpact-contract"\nversion = 1\nname = "one"\nfps = 50\n'
    path = folder / "contract.toml"
    path.write_text(f"{head}given = [{vectors}]\nstages = [{pair.stages(contract)}]\n", encoding="utf-8")
    return open_contract(path)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.system}-{pair.stage}")
def test_a_systems_stage_and_its_declaration_give_the_same_numbers(pair: Pair, checkout: Path, tmp_path: Path) -> None:
    """Who moves a hosted contract to a declaration of his own would hear of differences that are rigpact's."""
    contract = system_contract(checkout / "fixtures" / "bundles", pair.system)
    inputs = pair.inputs(contract, np.random.default_rng(3))
    rows, _ = stage_of(contract, inputs, pair.stage)
    given = pair.given(contract, inputs)
    theirs, bound = stage_of(declared(pair, contract, given, tmp_path), given, "result")
    ours = rows[:, pair.part(contract)]
    assert ours.shape == theirs.shape
    assert np.ptp(ours, axis=0).all(), "every number takes part"
    if pair.stored_once:
        assert np.array_equal(ours, theirs)
    else:  # the declaration stores float32 between its stages, or makes no unit of a quaternion that nearly is one
        if pair.stage == "pose":  # q and -q are one rotation
            theirs = same_hemisphere(ours, theirs)
        assert (np.abs(ours.astype(np.float64) - theirs) <= bound).all()


def test_every_system_takes_part() -> None:
    """A system that is left out may keep formulas of its own."""
    hosted = {name for name, entry in known_systems().items() if package_of(entry) == "rigpact"}
    assert {pair.system for pair in PAIRS} == hosted
