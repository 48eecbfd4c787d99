"""The demo character's poses as a BVH, written without the code under test: scipy turns matrices into angles."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from rigpact.fixtures import demo_bundle

FPS = 60
BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT mixamorig:Left Leg
  {
    OFFSET 0 -1e1 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 0 -1 0
    }
  }
}
MOTION
Frames: 2
Frame Time: .0083333
1 2 3 10 20 30 40 50 60
1 2 3 11 21 31 41 51 61
"""


def demo_poses() -> tuple[list[str], list[str], np.ndarray, Rotation]:
    """Names and parents' names of the demo character's bones, offsets (B, 3) in metres, local rotations of T · B."""
    meta = json.loads((demo_bundle() / "norm_template.json").read_text(encoding="utf-8"))["meta"]
    names, chain = meta["bone_names"], meta["skeleton"]
    frames = json.loads((demo_bundle() / "clips" / "Run_F.json").read_text(encoding="utf-8"))["Frames"]
    six = np.array([frame["BoneRotations"] for frame in frames], np.float64)
    x, z = six[..., :3], six[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    z = z - (x * z).sum(axis=-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    matrices = np.stack([x, np.cross(z, x), z], axis=-1)
    parents = ["" if parent < 0 else names[parent] for parent in chain["parents"]]
    return names, parents, np.array(chain["ref_local_offsets_m"]), Rotation.from_matrix(matrices.reshape(-1, 3, 3))


def quaternions(rotations: Rotation, bones: int) -> np.ndarray:
    """(T, B, 4) x, y, z, w."""
    return rotations.as_quat().reshape(-1, bones, 4)


def write_bvh(path: Path, orders: Sequence[str]) -> Path:
    """Degrees with nine decimals; bone b has the order orders[b % n]. The root has six channels in centimetres."""
    names, parents, offsets, rotations = demo_poses()
    own = [orders[index % len(orders)] for index in range(len(names))]
    angles = {order: rotations.as_euler(order, degrees=True).reshape(-1, len(names), 3) for order in set(own)}
    visited: list[int] = []

    def joint(index: int, indent: str) -> list[str]:
        visited.append(index)
        turns = " ".join(f"{letter}rotation" for letter in own[index])
        channels = f"6 Xposition Yposition Zposition {turns}" if not parents[index] else f"3 {turns}"
        place = " ".join(f"{100 * number:.6f}" for number in offsets[index])
        kind = "JOINT" if parents[index] else "ROOT"
        lines = [f"{kind} {names[index]}", "{", f"OFFSET {place}", f"CHANNELS {channels}"]
        children = [child for child, parent in enumerate(parents) if parent == names[index]]
        for child in children:
            lines += joint(child, indent + "\t")
        if not children:
            lines += ["End Site", "{", "OFFSET 0 0 1", "}"]
        return [f"{indent}{line}" for line in [*lines, "}"]]

    lines = ["HIERARCHY", *joint(parents.index(""), "")]
    count = len(next(iter(angles.values())))
    lines += ["MOTION", f"Frames: {count}", f"Frame Time: {1 / FPS:.7f}"]
    for frame in range(count):
        row = [frame * 2.0, 90.0, 0.0]
        for index in visited:
            row += angles[own[index]][frame, index].tolist()
        lines.append(" ".join(f"{number:.9f}" for number in row))
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8")
    return path
