"""BVH and glTF: the demo character's poses written, read back and diffed; what an engine reads otherwise is named."""

import base64
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation, Slerp

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.tables import read_table

from ..every_case import every_case
from .animations import BVH, demo_poses, quaternions, write_bvh, write_gltf

Command = Callable[..., Any]


def _imported(command: Command, source: Path) -> Path:
    out = source.with_suffix(".toml")
    made = command("import", source, "-o", out)
    assert made.status == 0, made.err
    assert command("check", out).status == 0
    return out


def _degrees(poses: np.ndarray, expected: np.ndarray) -> float:
    """The largest angle between two sets of quaternions."""
    one, other = (Rotation.from_quat(each.reshape(-1, 4)) for each in (poses, expected))
    return float(np.degrees((one.inv() * other).magnitude()).max())


@pytest.mark.parametrize("orders", [("ZXY",), ("ZYX", "ZXY", "XYZ")])
def test_a_bvh_of_the_demo_character_is_its_poses_again(
    tmp_path: Path, command: Command, orders: tuple[str, ...]
) -> None:
    """Joints of one file differ in their order; a reader that takes one order for all bends every second bone."""
    source = write_bvh(tmp_path / "run.bvh", orders)
    contract, trace = _imported(command, source), tmp_path / "run.trace.safetensors"
    assert command("run", contract, "--clip", source, "-o", trace).status == 0
    names, _, _, rotations = demo_poses()
    expected, found = quaternions(rotations, len(names)), load_file(trace)

    engine = {}
    for place, order in enumerate(orders):
        vector = "pose" if len(orders) == 1 else f"pose_{order.lower()}"
        bones = [index for index in range(len(names)) if index % len(orders) == place]
        assert _degrees(found[vector], expected[:, bones]) <= 1e-4
        engine.update({f"pose.{names[bone]}": expected[:, bone].astype(np.float32) for bone in bones})
    np.savez(tmp_path / "engine.npz", **engine)
    stages = [word for name in found if name.startswith("pose") for word in ("--stage", name)]
    assert command("diff", trace, tmp_path / "engine.npz", "--bundle", contract, *stages).status == 0
    assert np.allclose(found["root_metres"][:, 0], np.arange(len(expected)) * 0.02, atol=1e-6)  # 2 cm a frame


@pytest.mark.parametrize("ending", ["glb", "gltf"])
@pytest.mark.filterwarnings("ignore:This file")
def test_a_gltf_of_the_demo_character_is_its_poses_again(tmp_path: Path, command: Command, ending: str) -> None:
    """Nodes stand in another order than the engine's bones: taken by place, a foot moves as a head."""
    source = write_gltf(tmp_path / f"run.{ending}")
    contract, trace = _imported(command, source), tmp_path / "run.trace.safetensors"
    assert command("run", contract, "--clip", source, "-o", trace).status == 0
    names, _, _, rotations = demo_poses()
    expected, found = quaternions(rotations, len(names)), load_file(trace)
    assert _degrees(found["pose"], expected[:, ::-1]) <= 1e-4

    engine = {f"pose.{name}": expected[:, bone].astype(np.float32) for bone, name in enumerate(names)}
    np.savez(tmp_path / "engine.npz", **engine)
    assert command("diff", trace, tmp_path / "engine.npz", "--bundle", contract, "--stage", "pose").status == 0


ORDERS = ["".join(each) for each in itertools.permutations("XYZ")]


@pytest.mark.parametrize(("real", "declared"), list(zip(ORDERS, [*ORDERS[1:], ORDERS[0]], strict=True)))
def test_each_order_of_angles_is_named_when_another_is_read(
    tmp_path: Path, command: Command, real: str, declared: str
) -> None:
    """A fixed order is the most frequent mistake of BVH readers; the answer must be the word that mends it."""
    source = write_bvh(tmp_path / "run.bvh", (real,))
    contract = _imported(command, source)
    contract.write_text(
        contract.read_text(encoding="utf-8").replace(f"{real}_deg", f"{declared}_deg"), encoding="utf-8"
    )
    names, _, _, rotations = demo_poses()
    columns = dict(read_table(source).columns)
    poses = quaternions(rotations, len(names)).astype(np.float32)
    np.savez(tmp_path / "engine.npz", **columns, **{f"pose.{name}": poses[:, bone] for bone, name in enumerate(names)})

    answer = command("explain", tmp_path / "engine.npz", "--bundle", contract, "--singles-only", "--format", "json")
    said = json.loads(answer.out)
    assert said["verdict"] == "explained", answer.out
    assert [cause["changes"] for cause in said["causes"]] == [{"pose.reads": f"{real}_deg"}]


def test_a_rest_that_is_left_out_and_another_unit_are_named(tmp_path: Path, command: Command) -> None:
    """An engine that adds animations to its rest pose turns every joint twice; one in centimetres stands 100 times too far."""
    source = write_gltf(tmp_path / "run.glb")
    contract = _imported(command, source)
    names, _, _, rotations = demo_poses()
    poses = quaternions(rotations, len(names))
    columns: dict[str, Any] = dict(read_table(source).columns)
    for bone, name in enumerate(names):
        own = Rotation.from_quat(poses[:1, bone]).inv() * Rotation.from_quat(poses[:, bone])
        columns[f"pose.{name}"] = own.as_quat().astype(np.float32)
    columns["root_metres"] = columns["position.pelvis"].astype(np.float32) * np.float32(0.01)
    np.savez(tmp_path / "engine.npz", **columns)

    answer = command("explain", tmp_path / "engine.npz", "--bundle", contract, "--format", "json")
    said = json.loads(answer.out)
    found = {key: value for cause in said["causes"] for key, value in cause["changes"].items()}
    assert said["verdict"] == "explained", answer.out
    assert found == {"pose.product": "inverse_of_first", "root_metres.scale": "centimetres"}


def _gltf(path: Path, rotation: np.ndarray, times: np.ndarray, how: str, kind: int = 5126, **node: Any) -> Path:
    """A node that turns, by hand: times and values in one buffer of base64."""
    content = times.astype("<f4").tobytes() + rotation.tobytes()
    root = {
        "asset": {"version": "2.0"}, "nodes": [{"name": "a", **node}, {"name": "b", "children": [0]}],
        "buffers": [{"byteLength": len(content), "uri": "data:;base64," + base64.b64encode(content).decode()}],
        "bufferViews": [{"buffer": 0}, {"buffer": 0, "byteOffset": 4 * len(times)}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": len(times), "type": "SCALAR"},
            {"bufferView": 1, "componentType": kind, "normalized": kind != 5126, "count": len(rotation), "type": "VEC4"},
        ],
        "animations": [{
            "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
            "samplers": [{"input": 0, "output": 1, "interpolation": how}],
        }],
        "skins": [{"joints": [0, 1]}],
    }  # fmt: skip
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


TIMES = np.array([0.0, 0.5, 1.5])
TURNS = Rotation.from_rotvec([[0.1, 0.2, 0.3], [0.5, -0.4, 0.1], [1.0, 0.0, 2.0]])


def test_keys_between_and_outside_follow_the_rules_of_gltf(tmp_path: Path) -> None:
    """A sign that flips between two keys must not turn a joint the long way round; integers are normalised."""
    from rigpact.reference_runtime.recordings.other_formats.gltf_files import _Curve

    keys = TURNS.as_quat() * np.array([[1], [-1], [1]])
    between = np.array([-1.0, 0.2, 0.5, 1.1, 9.0])
    found = _Curve(TIMES, keys, "LINEAR", is_rotation=True).at(between)
    assert _degrees(found, Slerp(TIMES, TURNS)(np.clip(between, 0, 1.5)).as_quat()) < 1e-9
    assert np.array_equal(_Curve(TIMES, keys, "STEP", is_rotation=True).at(between), keys[[0, 0, 1, 1, 2]])

    cubic = np.zeros((3, 3, 1))  # p(t) = t³ from its own values and slopes
    cubic[:, 1, 0], cubic[:, 0, 0], cubic[:, 2, 0] = TIMES**3, 3 * TIMES**2, 3 * TIMES**2
    at = np.array([0.0, 0.3, 0.5, 0.9, 1.5])
    assert np.allclose(_Curve(TIMES, cubic, "CUBICSPLINE", is_rotation=False).at(at)[:, 0], at**3, atol=1e-12)

    half = np.round(TURNS.as_quat() * 32767).astype("<i2")
    table = read_table(_gltf(tmp_path / "a.gltf", half, TIMES, "STEP", kind=5122))
    assert _degrees(table.columns["rotation.a"], TURNS.as_quat()) < 0.01
    assert np.array_equal(table.columns["rotation.b"], np.tile([0, 0, 0, 1.0], (3, 1)))  # never animated


def test_a_node_with_a_matrix_is_at_its_rotation(tmp_path: Path) -> None:
    """Matrices stand column by column: read row by row, every rest pose is the inverse."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = TURNS[2].as_matrix() * 2.0, [1, 2, 3]
    path = _gltf(tmp_path / "a.gltf", TURNS.as_quat().astype("<f4"), TIMES, "LINEAR")
    root = json.loads(path.read_text(encoding="utf-8"))
    root["nodes"][1]["matrix"] = matrix.T.reshape(-1).tolist()
    path.write_text(json.dumps(root), encoding="utf-8")
    columns = read_table(path).columns
    assert _degrees(columns["rotation.b"][:1], TURNS[2:].as_quat()) < 1e-6
    assert np.array_equal(columns["position.b"][0], [1, 2, 3])


def test_a_bvh_with_strange_names_is_read(tmp_path: Path) -> None:
    """Tools write colons and spaces into names, exponents into offsets, and times that are rounded."""
    path = tmp_path / "a.bvh"
    path.write_text(BVH, encoding="utf-8")
    table = read_table(path)
    assert table.said == {"fps": 120.0}  # .0083333 is a rounded 1/120
    assert np.array_equal(table.columns["rotation.mixamorig:Left Leg"], [[40, 50, 60], [41, 51, 61]])
    assert np.array_equal(table.columns["position.Hips"], [[1, 2, 3], [1, 2, 3]])


@every_case(
    ("old", "new", "says"),
    [
        ("HIERARCHY", "HIER", [":1", "HIERARCHY"]),
        ("OFFSET 0 0 0", "OFFSET 0 0", [":4", "OFFSET x y z"]),
        ("OFFSET 0 0 0", "OFFSET 0 0 nan", [":4", "finite"]),
        ("CHANNELS 3 Z", "CHANNELS 4 Z", [":9", "channels 4"]),
        ("Zrotation Yrotation Xrotation", "Zrotation Yrotation Zrotation", [":9", "channels 3"]),
        ("mixamorig:Left Leg", "Hips", ["two joints 'Hips'"]),
        ("  }\n}\nMOTION", "  }\nMOTION", ["1 joints without }"]),
        ("Frames: 2", "Frames: 1", ["2 rows", "1, as Frames says"]),
        ("Frames: 2", "Frames 2", [":17", "frames: a number"]),
        (".0083333", "0", ["frames of 0 s"]),
        ("40 50 60", "40 50 x", [":19", "'x'"]),
        ("40 50 60\n", "40 50\n", [":19", "8 numbers", "9, one for each channel"]),
    ],
)
def test_a_damaged_bvh_is_refused_at_its_line(tmp_path: Path, old: str, new: str, says: list[str]) -> None:
    """A row with a number less shifts every joint behind it."""
    path = tmp_path / "a.bvh"
    assert old in BVH
    path.write_text(BVH.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UnusableInput) as refused:
        read_table(path)
    assert all(each in str(refused.value) for each in says), refused.value


def test_a_bvh_that_was_cut_off_is_read_to_its_last_row(tmp_path: Path) -> None:
    """What was captured before the disk was full is shown as cut off, not passed off as whole."""
    path = tmp_path / "a.bvh"
    path.write_text(BVH[: -len("41 51 61\n")], encoding="utf-8")
    table = read_table(path)
    assert table.truncation == "after frame 1 of 2"
    assert len(table.columns["time"]) == 1


@every_case(
    ("keys", "value", "says"),
    [
        (("asset", "version"), "1.0", ["/asset/version", "2.0"]),
        (("animations",), [], ["/animations", "0 animations"]),
        (("accessors", 0, "count"), 999, ["/accessors/0", "999 rows"]),
        (("accessors", 1, "sparse"), {}, ["/accessors/1", "sparse"]),
        (("accessors", 1, "componentType"), 5125, ["/accessors/1", "5125"]),
        (("bufferViews", 0, "extensions"), {"EXT_meshopt_compression": {}}, ["/accessors/0", "compressed"]),
        (("bufferViews", 1, "byteOffset"), -4, ["/accessors/1", "whole numbers"]),
        (("buffers", 0, "uri"), "../other.bin", ["/buffers/0/uri", "in the folder"]),
        (("buffers", 0, "uri"), "http://x/y.bin", ["/buffers/0/uri", "in the folder"]),
        (("buffers", 0, "uri"), "data:;base64,???", ["/buffers/0/uri", "base64"]),
        (("animations", 0, "samplers", 0, "interpolation"), "SMOOTH", ["/channels/0", "SMOOTH"]),
        (("animations", 0, "samplers", 0, "input"), 7, ["/accessors", "7", "0 to 1"]),
        (("animations", 0, "channels", 0, "target", "node"), 7, ["/nodes", "7", "0 to 1"]),
        (("skins", 0, "joints"), [0, 9], ["/skins", "not a node"]),
        (("nodes", 1, "name"), "a", ["two joints 'a'"]),
    ],
)
def test_a_damaged_gltf_is_refused_at_its_place(
    tmp_path: Path, keys: tuple[Any, ...], value: Any, says: list[str]
) -> None:
    """An offset out of the buffer reads another file's memory; a path out of the folder reads another file."""
    path = _gltf(tmp_path / "a.gltf", TURNS.as_quat().astype("<f4"), TIMES, "LINEAR")
    root = json.loads(path.read_text(encoding="utf-8"))
    inside = root
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = value
    path.write_text(json.dumps(root), encoding="utf-8")
    with pytest.raises(UnusableInput) as refused:
        read_table(path)
    assert all(each in str(refused.value) for each in says), refused.value


def test_a_cut_glb_is_refused(tmp_path: Path) -> None:
    """The lengths of chunks are checked against the bytes that are left."""
    path = write_gltf(tmp_path / "run.glb")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UnusableInput) as refused:
        read_table(path)
    assert "that are left" in str(refused.value)
