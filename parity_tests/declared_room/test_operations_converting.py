"""Convert: every form of a rotation and every variant of it against scipy; poles of Euler angles; bounds in degrees."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ..every_case import every_case
from .one_operation import F32, Array, Subject, back, drawn, matrix, result_of
from .test_operations_turning import WXYZ_TO_XYZW, XYZW_TO_WXYZ, unturned

FEW = settings(max_examples=5, deadline=None)
"""Six rotations an example, some of them near no turn and near half a turn."""
SEQUENCES = ["".join(letters) for letters in ("xyz", "xzy", "yxz", "yzx", "zxy", "zyx")]
EULER_NAMES = [f"{name}_{unit}" for low in SEQUENCES for name in (low, low.upper()) for unit in ("rad", "deg")]


def _six(m: Array, *, are_rows: bool = False, is_interleaved: bool = False, is_swapped: bool = False) -> Array:
    pairs = (m if are_rows else back(m))[:, [1, 0] if is_swapped else [0, 1]]
    return (back(pairs) if is_interleaved else pairs).reshape(-1, 6)


WRITTEN: Mapping[str, Mapping[str, Callable[[Rotation], Array]]] = {
    "quaternion_xyzw": {"xyzw": Rotation.as_quat, "wxyz": lambda r: r.as_quat()[:, XYZW_TO_WXYZ]},
    "matrix": {
        "row_major": lambda r: r.as_matrix().reshape(-1, 9), "column_major": lambda r: back(r.as_matrix()).reshape(-1, 9),
    },
    "rot6d": {
        "columns": lambda r: _six(r.as_matrix()), "interleaved": lambda r: _six(r.as_matrix(), is_interleaved=True),
        "rows": lambda r: _six(r.as_matrix(), are_rows=True), "columns_exchanged": lambda r: _six(r.as_matrix(), is_swapped=True),
    },
    "rotation_vector": {
        "radians": Rotation.as_rotvec, "degrees": lambda r: np.degrees(r.as_rotvec()), "half_angle": lambda r: r.as_rotvec() / 2,
    },
    "euler": {
        name: (lambda r, word=name: r.as_euler(word[:3], degrees=word.endswith("deg"))) for name in EULER_NAMES
    },
}  # fmt: skip
"""How a rotation is written in each form and variant. scipy's sequences: small letters fixed axes, capitals turned ones."""


def _drawn_rotations(seed: int, count: int = 6) -> Rotation:
    """Random ones, and some near no turn and near half a turn."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 3)) * np.array([1.0, 1.0, 1e-3, 1e-6, 2.0, 0.5])[:count, None]
    return Rotation.from_rotvec(vectors)


def _converted(form: str, variant: str, to: str, writes: str, numbers: Array, sense: str = "") -> tuple[Array, Array]:
    kind = "euler_xyz" if form == "euler" else form
    reads = "" if variant == "xyzw" else f', reads = "{variant}"'
    ways = "" if writes == "xyzw" else f', writes = "{writes}"'
    given_ = f'{{ name = "x", kind = "{kind}", size = {numbers.shape[1]} }}'
    subject = Subject("", given_, f'operation = "convert", of = "x", to = "{to}"{reads}{ways}', drawn(x=4), unturned)
    return result_of(subject, {"x": numbers.astype(F32)}, *(("sense", sense) if sense else ()))


WRITINGS = [(to, name) for to, names in WRITTEN.items() for name in names]


@every_case(("to", "writes"), WRITINGS, by="to")
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_each_way_to_write_a_rotation_is_scipys(to: str, writes: str, seed: int) -> None:
    """Twenty-four sequences of Euler angles exist; the wrong one bends every joint about another axis."""
    turns = _drawn_rotations(seed)
    q = turns.as_quat().astype(F32)
    rows, _ = _converted("quaternion_xyzw", "xyzw", to, writes, q)
    exact = Rotation.from_quat(q.astype(np.float64))
    expected = WRITTEN[to][writes](exact)
    if to.startswith("quaternion"):
        expected = np.where(np.sum(expected * rows, axis=1, keepdims=True) < 0.0, -expected, expected)
    largest = 180.0 if writes.endswith(("deg", "degrees")) else 1.0
    # float32 quaternions are units to 1e-7; a matrix of one that is not is not an exact rotation, and angles near a pole show it
    condition = np.ones((len(rows), 1))
    if to == "euler":
        middle = np.cos(np.radians(expected[:, 1:2]) if writes.endswith("deg") else expected[:, 1:2])
        condition = 1.0 / np.maximum(np.abs(middle), 1e-3)
    assert (np.abs(rows - expected) <= 5e-7 * largest * condition).all()
    turn = (_read_by_scipy(to, writes, rows) * exact.inv()).magnitude()
    assert (turn <= 1e-6 * condition[:, 0]).all(), "the rotation that scipy reads from what was written"


def _read_by_scipy(form: str, variant: str, rows: Array) -> Rotation:
    if form.startswith("quaternion"):
        return Rotation.from_quat(rows[:, WXYZ_TO_XYZW] if variant == "wxyz" else rows)
    if form == "matrix":
        m = rows.reshape(-1, 3, 3)
        return Rotation.from_matrix(back(m) if variant == "column_major" else m)
    if form == "rotation_vector":
        return Rotation.from_rotvec({"radians": rows, "degrees": np.radians(rows), "half_angle": 2.0 * rows}[variant])
    if form == "euler":
        return Rotation.from_euler(variant[:3], rows, degrees=variant.endswith("deg"))
    pairs = rows.reshape(-1, 3, 2).swapaxes(1, 2) if variant == "interleaved" else rows.reshape(-1, 2, 3)
    one, other = (pairs[:, 1], pairs[:, 0]) if variant == "columns_exchanged" else (pairs[:, 0], pairs[:, 1])
    found = np.array([_gram_schmidt(a, b) for a, b in zip(one, other, strict=True)])
    return Rotation.from_matrix(back(found) if variant == "rows" else found)


def _gram_schmidt(a: Array, b: Array) -> Array:
    """Columns: a, then what is left of b, then their cross product."""
    x = a / np.sqrt(np.dot(a, a))
    y = b - np.dot(x, b) * x
    y = y / np.sqrt(np.dot(y, y))
    return np.column_stack([x, y, np.cross(x, y)])


@every_case(("form", "reads"), WRITINGS, by="form")
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_each_way_to_read_a_rotation_is_scipys(form: str, reads: str, seed: int) -> None:
    """A network's six numbers are not a rotation yet; what is read of them must be the same on both sides."""
    random = np.random.default_rng(seed)
    numbers = WRITTEN[form][reads](_drawn_rotations(seed)).astype(F32)
    if form == "rot6d":
        numbers = (2.0 * numbers + 0.2 * random.normal(size=numbers.shape)).astype(F32)
    rows, _ = _converted(form, reads, "matrix", "row_major", numbers)
    exact = numbers.astype(np.float64)
    if form == "matrix":
        expected = back(exact.reshape(-1, 3, 3)) if reads == "column_major" else exact
    else:
        expected = _read_by_scipy(form, reads, exact).as_matrix()
    expected = expected.reshape(-1, 9)
    assert np.abs(rows - expected).max() < 3e-7  # the +1e-8 of small runtimes, a quaternion that is a unit to float32


@pytest.mark.parametrize("reads", ["columns_first_kept", "interleaved_first_kept"])
@FEW
@given(seed=st.integers(0, 2**32 - 1))
def test_a_first_axis_that_is_kept_keeps_its_length(reads: str, seed: int) -> None:
    """Learned motion matching does not normalise it; a runtime that does draws other bones."""
    six = np.random.default_rng(seed).normal(size=(5, 6)).astype(F32)
    rows, _ = _converted("rot6d", reads, "matrix", "row_major", six)
    assert rows.shape == (5, 9)
    for row, numbers in zip(rows, six.astype(np.float64), strict=True):
        a, b = (numbers[:3], numbers[3:]) if reads.startswith("columns") else (numbers[0::2], numbers[1::2])
        whole = _gram_schmidt(a, b)
        assert np.abs(row.reshape(3, 3) - np.column_stack([a, whole[:, 1], whole[:, 2]])).max() < 3e-6


CONVERSIONS = [
    ("quaternion_xyzw", "xyzw", "rotation_vector", "degrees"), ("quaternion_xyzw", "xyzw", "euler", "ZYX_deg"),
    ("matrix", "row_major", "euler", "xyz_rad"), ("matrix", "row_major", "rotation_vector", "radians"),
    ("euler", "xyz_deg", "matrix", "row_major"), ("rotation_vector", "degrees", "matrix", "row_major"),
    ("quaternion_xyzw", "xyzw", "matrix", "row_major"), ("matrix", "row_major", "quaternion_xyzw", "xyzw"),
    ("rot6d", "columns", "matrix", "row_major"),
]  # fmt: skip


@every_case(("form", "reads", "to", "writes"), CONVERSIONS)
def test_a_conversion_in_float32_is_within_its_bound_and_the_bound_is_near(form, reads, to, writes):
    """Angles in degrees round at 180, and near a pole an angle moves far: one bound for all would alarm on right engines."""
    turns = Rotation.random(3000, random_state=5)
    numbers = WRITTEN[form][reads](turns).astype(F32)
    rows, bound = _converted(form, reads, to, writes, numbers)
    found = _float32(form, reads, to, writes, numbers).astype(np.float64)
    if to.startswith("quaternion"):
        found = np.where(np.sum(found * rows, axis=1, keepdims=True) < 0.0, -found, found)
    ratio = np.abs(found - rows) / bound
    assert ratio.max() <= 1.0
    assert ratio.max() >= 1.0 / 50.0


def _float32(form: str, reads: str, to: str, writes: str, x: Array) -> Array:
    """The conversion once more, in float32 and by other formulas."""
    f, half, one = F32, F32(0.5), F32(1)
    if form.startswith("quaternion"):
        m = matrix(x)
    elif form == "euler":
        m = _turns(x * f(np.pi / 180))
    elif form == "rotation_vector":
        v = x * f(np.pi / 180)
        angle = np.sqrt(np.sum(v * v, axis=1, keepdims=True))
        m = matrix(np.hstack([v / angle * np.sin(half * angle), np.cos(half * angle)]))
    elif form == "rot6d":
        m = np.array([_gram_schmidt(a[:3], a[3:]) for a in x], f)
    else:
        m = x.reshape(-1, 3, 3)
    if to == "matrix":
        return m.reshape(-1, 9)
    factor = f(180 / np.pi) if writes.endswith(("deg", "degrees")) else one
    if to == "euler":  # of both conversions: Rz Ry Rx
        pitch = np.arctan2(-m[:, 2, 0], np.sqrt(m[:, 0, 0] * m[:, 0, 0] + m[:, 1, 0] * m[:, 1, 0]))
        roll, yaw = np.arctan2(m[:, 2, 1], m[:, 2, 2]), np.arctan2(m[:, 1, 0], m[:, 0, 0])
        angles = [yaw, pitch, roll] if writes.startswith("ZYX") else [roll, pitch, yaw]
        return np.stack(angles, axis=1) * factor
    q = np.array([_shepperd(each) for each in m], f)
    if to.startswith("quaternion"):
        return q
    q = np.where(q[:, 3:] < 0, -q, q)
    size = np.sqrt(np.sum(q[:, :3] * q[:, :3], axis=1, keepdims=True))
    return q[:, :3] / size * (f(2) * np.arctan2(size, q[:, 3:])) * factor


def _turns(angles: Array) -> Array:
    """Rz Ry Rx of rows (x, y, z), in their float type."""
    (sx, sy, sz), (cx, cy, cz) = np.sin(angles).T, np.cos(angles).T
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def _shepperd(m: Array) -> Array:
    """xyzw by the largest of four squares, in float32."""
    f = np.float32
    squares = [m[0, 0], m[1, 1], m[2, 2], m[0, 0] + m[1, 1] + m[2, 2]]
    k = int(np.argmax(squares))
    if k == 3:
        w = np.sqrt(f(1) + squares[3]) / f(2)
        return np.array([(m[2, 1] - m[1, 2]), (m[0, 2] - m[2, 0]), (m[1, 0] - m[0, 1]), f(4) * w * w], f) / (f(4) * w)
    i, j, n = k, (k + 1) % 3, (k + 2) % 3
    a = np.sqrt(f(1) + m[i, i] - m[j, j] - m[n, n]) / f(2)
    q = np.zeros(4, f)
    q[i], q[3] = a, (m[n, j] - m[j, n]) / (f(4) * a)
    q[j], q[n] = (m[j, i] + m[i, j]) / (f(4) * a), (m[n, i] + m[i, n]) / (f(4) * a)
    return q
