"""Threads about rotations, frames and axes, of robots and of characters. Nothing here imports rigpact."""

from __future__ import annotations

import numpy as np

from .thread import Rows, Thread, back, drawn, matrices, quaternions, recorded, turned

Random = np.random.Generator
DOWN = np.array([0.0, 0.0, -1.0])


def gravity_turned_forward(random: Random, is_wrong: bool) -> Rows:
    q = quaternions(random)
    return recorded(base=q, gravity=turned(matrices(q) if is_wrong else back(matrices(q)), DOWN))


def gravity_of_another_order(random: Random, is_wrong: bool) -> Rows:
    q = quaternions(random, "xyzw")
    right = q[:, [3, 0, 1, 2]]
    return recorded(base=q, gravity=turned(back(matrices(q if is_wrong else right)), DOWN))


def gravity_of_the_torso(random: Random, is_wrong: bool) -> Rows:
    torso, waist = quaternions(random), quaternions(random)
    pelvis = matrices(torso) if is_wrong else matrices(torso) @ back(matrices(waist))
    return recorded(torso=torso, waist=waist, gravity=turned(back(pelvis), DOWN))


def gyro_turned_once_more(random: Random, is_wrong: bool) -> Rows:
    q, gyro = quaternions(random), drawn(random, 3)
    return recorded(imu=q, gyro=gyro, ang_vel=turned(back(matrices(q)), gyro) if is_wrong else gyro)


def six_numbers_as_blocks(random: Random, is_wrong: bool) -> Rows:
    """The six numbers are a network's: near an interleaved rotation, and of no use as two blocks."""
    six = drawn(random, 6)
    pairs = (six[:, :3], six[:, 3:]) if is_wrong else (six[:, 0::2], six[:, 1::2])
    return recorded(six=six, matrix=_gram_schmidt(*pairs).reshape(-1, 9))


def rows_for_columns(random: Random, is_wrong: bool) -> Rows:
    six = drawn(random, 6)
    columns = _gram_schmidt(six[:, :3], six[:, 3:])
    return recorded(six=six, matrix=(back(columns) if is_wrong else columns).reshape(-1, 9))


def _gram_schmidt(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Matrices with the two axes as columns, the second made orthogonal."""
    found = []
    for one, other in zip(first.astype(float), second.astype(float), strict=True):
        x = one / np.sqrt(one @ one)
        y = other - (x @ other) * x
        y = y / np.sqrt(y @ y)
        found.append(np.column_stack([x, y, np.cross(x, y)]))
    return np.array(found)


def bone_turned_by_its_parent(random: Random, is_wrong: bool) -> Rows:
    """The offset of a bone is turned by its parent's rotation and its own; the wrong side leaves its own out."""
    parent, own, offset = quaternions(random), quaternions(random), drawn(random, 3)
    chain = matrices(parent) if is_wrong else matrices(parent) @ matrices(own)
    return recorded(parent=parent, own=own, offset=offset, bone=turned(chain, offset))


def root_turned_to_the_world(random: Random, is_wrong: bool) -> Rows:
    root, velocity = quaternions(random), drawn(random, 3)
    turn = back(matrices(root)) if is_wrong else matrices(root)
    return recorded(root=root, velocity=velocity, facing=turned(turn, velocity))


def acceleration_in_g(random: Random, is_wrong: bool) -> Rows:
    raw = drawn(random, 3)
    return recorded(raw=raw, acceleration=raw * (1.0 if is_wrong else 9.81))


def acceleration_of_the_sensor(random: Random, is_wrong: bool) -> Rows:
    sensor, raw = quaternions(random), drawn(random, 3, 9.0)
    return recorded(sensor=sensor, raw=raw, acceleration=raw if is_wrong else turned(matrices(sensor), raw))


def axes_of_the_engine(random: Random, is_wrong: bool) -> Rows:
    """The engine's z is up, the network's y."""
    place = drawn(random, 3)
    return recorded(place=place, root=place if is_wrong else place[:, [0, 2, 1]])


def gravity_for_a_quaternion(random: Random, is_wrong: bool) -> Rows:
    q = quaternions(random)
    gravity = turned(back(matrices(q)), DOWN)
    return recorded(root_quat=gravity if is_wrong else q, gravity=gravity)


_GRAVITY = """
given = [{ name = "base", kind = "quaternion_KIND" }]
stages = [{ name = "gravity", operation = "rotate", of = "base", vector = [0, 0, -1], direction = "inverse" }]
"""
_PELVIS = """
given = [{ name = "torso", kind = "quaternion_wxyz" }, { name = "waist", kind = "quaternion_wxyz", space = "pelvis to torso" }]
stages = [
    { name = "pelvis", operation = "compose", of = ["torso", "waist"], product = "inverse_of_second" },
    { name = "gravity", operation = "rotate", of = "pelvis", vector = [0, 0, -1], direction = "inverse" },
]
"""
_TURNED = """
given = [{ name = "ONE", kind = "quaternion_wxyz" }, { name = "OTHER", size = 3 }]
stages = [{ name = "RESULT", operation = "rotate", of = ["ONE", "OTHER"], direction = "DIRECTION" }]
"""
_SIX = """
given = [{ name = "six", kind = "rot6d" }]
stages = [{ name = "matrix", operation = "convert", of = "six", to = "matrix", reads = "READS", writes = "row_major" }]
"""
_BONE = """
given = [
    { name = "parent", kind = "quaternion_wxyz" }, { name = "own", kind = "quaternion_wxyz" }, { name = "offset", size = 3 },
]
stages = [
    { name = "chain", operation = "compose", of = ["parent", "own"], product = "first_second" },
    { name = "bone", operation = "rotate", of = ["chain", "offset"], direction = "forward" },
]
"""


def _turned(one: str, other: str, result: str, direction: str) -> str:
    words = (("ONE", one), ("OTHER", other), ("RESULT", result), ("DIRECTION", direction))
    text = _TURNED
    for word, value in words:
        text = text.replace(f'"{word}"', f'"{value}"')
    return text


THREADS = (
    Thread("OmniIsaacGymEnvs#168", "Gravity was turned by the quaternion and not by its inverse.",
        {"gravity.direction": "forward"}, _GRAVITY.replace("KIND", "wxyz"), gravity_turned_forward),
    Thread("IsaacLab PR#4437", "The release changed quaternions from w, x, y, z to x, y, z, w; a side still read the old order.",
        {"gravity.quaternion_order": "wxyz"}, _GRAVITY.replace("KIND", "xyzw"), gravity_of_another_order),
    Thread("HOVER#29", "Gravity came from the IMU of the torso; the network was trained with the pelvis's.",
        {"pelvis.product": "first_only"}, _PELVIS, gravity_of_the_torso),
    Thread("SLR-master#2", "The gyro reads in the body's frame already and was rotated once more.",
        {"ang_vel.direction": "inverse"}, _turned("imu", "gyro", "ang_vel", "none"), gyro_turned_once_more),
    Thread("InterGen#29", "The six numbers of a rotation were read as two blocks; they are interleaved.",
        {"matrix.reads": "columns"}, _SIX.replace("READS", "interleaved"), six_numbers_as_blocks),
    Thread("pytorch3d#1214", "The six numbers of a rotation were taken for rows of its matrix; they are columns.",
        {"matrix.reads": "rows"}, _SIX.replace("READS", "columns"), rows_for_columns),
    Thread("HumanML3D#26", "A bone was turned by its parent's rotation only; the file's rotation belongs to the child.",
        {"chain.product": "first_only"}, _BONE, bone_turned_by_its_parent),
    Thread("HumanML3D#142", "The root's rotation leads from the world to the facing frame and was read the other way.",
        {"facing.direction": "inverse"}, _turned("root", "velocity", "facing", "forward"), root_turned_to_the_world),
    Thread("TransPose#62", "The sensor gave accelerations in g; the network takes m/s².",
        {"acceleration.scale": "none"},
        'given = [{ name = "raw", size = 3 }]\n'
        'stages = [{ name = "acceleration", operation = "affine", of = "raw", scale = 9.81 }]\n', acceleration_in_g),
    Thread("PIP#44", "The acceleration stayed in the sensor's frame; the network takes it in the global one.",
        {"acceleration.direction": "none"}, _turned("sensor", "raw", "acceleration", "forward"), acceleration_of_the_sensor),
    Thread("Learned_Motion_Matching_UE5#1", "The engine's axes went into the network, 90 degrees off.",
        {"root.order": "as_given"},
        'given = [{ name = "place", names = ["x", "y", "z"] }]\n'
        'stages = [{ name = "root", operation = "select", of = "place", take = ["x", "z", "y"] }]\n', axes_of_the_engine),
    Thread("IsaacLab PR#6007", "The export gave gravity where the root's quaternion was meant.", {},
        _GRAVITY.replace("KIND", "wxyz").replace('"base"', '"root_quat"'), gravity_for_a_quaternion,
        "the vector has 3 numbers and not 4: the recording is refused, with both widths, before any convention is searched."),
)  # fmt: skip
