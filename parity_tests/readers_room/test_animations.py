"""BVH: the demo character's poses written, read back and diffed; what an engine reads otherwise is named."""

import itertools
import json

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.recordings.opened import read_table

from ..every_case import every_case
from .samples import BVH, demo_poses, quaternions, write_bvh


def _imported(command, source):
    out = source.with_suffix(".toml")
    made = command("init", "--from", source, "-o", out)
    assert made.status == 0, made.err
    assert command("check", out).status == 0
    return out


def _degrees(poses, expected):
    """The largest angle between two sets of quaternions."""
    one, other = (Rotation.from_quat(each.reshape(-1, 4)) for each in (poses, expected))
    return float(np.degrees((one.inv() * other).magnitude()).max())


@pytest.mark.parametrize("orders", [("ZXY",), ("ZYX", "ZXY", "XYZ")])
def test_a_bvh_of_the_demo_character_is_its_poses_again(tmp_path, command, orders):
    """Joints of one file differ in their order; a reader that takes one order for all bends every second bone."""
    source = write_bvh(tmp_path / "run.bvh", orders)
    contract, trace = _imported(command, source), tmp_path / "run.trace.safetensors"
    assert command("run", "--contract", contract, source, "-o", trace).status == 0
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
    assert command("diff", trace, tmp_path / "engine.npz", "--contract", contract, *stages).status == 0
    assert np.allclose(found["root_metres"][:, 0], np.arange(len(expected)) * 0.02, atol=1e-6)  # 2 cm a frame


ORDERS = ["".join(each) for each in itertools.permutations("XYZ")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("real", "declared"), list(zip(ORDERS, [*ORDERS[1:], ORDERS[0]], strict=True))[::2])
def test_each_order_of_angles_is_named_when_another_is_read(tmp_path, command, real, declared):
    """A fixed order is the most frequent mistake of BVH readers; the answer must be the word that mends it."""
    source = write_bvh(tmp_path / "run.bvh", (real,))
    contract = _imported(command, source)
    contract.write_text(
        contract.read_text(encoding="utf-8").replace(f"{real}_deg", f"{declared}_deg"), encoding="utf-8"
    )
    names, _, _, rotations = demo_poses()
    columns = dict(read_table(source).columns)
    poses = quaternions(rotations, len(names)).astype(np.float32)
    made = {f"pose.{name}": poses[:, bone] for bone, name in enumerate(names)}
    np.savez(tmp_path / "engine.npz", **columns, **made)
    said = json.loads(command("explain", tmp_path / "engine.npz", "--contract", contract, "--format", "json").out)
    assert (said["verdict"], [each["changes"] for each in said["causes"]]) == (
        "explained",
        [{"pose.reads": f"{real}_deg"}],
    )
    columns["root_metres"] = (columns["position.pelvis"] * 0.0254).astype(np.float32)  # inches, 2.5 times too far
    np.savez(tmp_path / "engine.npz", **columns)
    said = json.loads(command("explain", tmp_path / "engine.npz", "--contract", contract, "--format", "json").out)
    assert (said["verdict"], said["causes"][0]["changes"]) == ("explained", {"root_metres.scale": "inches"}), said


def test_a_bvh_with_strange_names_is_read_to_its_last_row(tmp_path):
    """Tools write colons and spaces into names, exponents into offsets, rounded times; what a full disk cut off is not whole."""
    path = tmp_path / "a.bvh"
    path.write_text(BVH, encoding="utf-8")
    table = read_table(path)
    assert table.said == {"fps": 120.0}  # .0083333 is a rounded 1/120
    assert np.array_equal(table.columns["rotation.mixamorig:Left Leg"], [[40, 50, 60], [41, 51, 61]])
    assert np.array_equal(table.columns["position.Hips"], [[1, 2, 3], [1, 2, 3]])
    path = tmp_path / "cut.bvh"
    path.write_text(BVH[: -len("41 51 61\n")], encoding="utf-8")
    assert (read_table(path).truncation, len(read_table(path).columns["time"])) == ("after frame 1 of 2", 1)


@every_case(
    ("old", "new", "says"),
    [
        ("HIERARCHY", "HIER", ":1"), ("OFFSET 0 0 0", "OFFSET 0 0", ":4"), ("OFFSET 0 0 0", "OFFSET 0 0 nan", ":4"),
        ("CHANNELS 3 Z", "CHANNELS 4 Z", ":9"), ("Zrotation Yrotation Xrotation", "Zrotation Yrotation Zrotation", ":9"),
        ("mixamorig:Left Leg", "Hips", "two joints 'Hips'"), ("  }\n}\nMOTION", "  }\nMOTION", "1 joints without }"),
        ("Frames: 2", "Frames: 1", "2 rows"), ("Frames: 2", "Frames 2", ":17"), (".0083333", "0", "frames of 0 s"),
        ("40 50 60", "40 50 x", ":19"), ("40 50 60\n", "40 50\n", ":19"),
    ],
)  # fmt: skip
def test_a_damaged_bvh_is_refused_at_its_line(tmp_path, old, new, says):
    """A row with a number less shifts every joint behind it."""
    path = tmp_path / "a.bvh"
    assert old in BVH
    path.write_text(BVH.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UnusableInput) as refused:
        read_table(path)
    assert says in str(refused.value)
