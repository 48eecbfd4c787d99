"""The torch geometry of the training side against scalar arithmetic in 50 digits."""

import itertools
from collections.abc import Sequence
from typing import Any

import mpmath
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from rigpact.training.enemy_animation import geometry  # noqa: E402  (torch is optional)

mpmath.mp.dps = 50
UNIT = 2.0**-53  # unit roundoff of the float64 functions under test
COLUMN_PAIRS = list(itertools.permutations("XYZ", 2))
numbers = st.floats(-4.0, 4.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
axes = vectors.filter(lambda v: sum(x * x for x in v) > 1e-4)
angles = st.floats(0.0, 3.14159)
Matrix, Vector = list[list[mpmath.mpf]], tuple[float, float, float]


def unit(axis: Sequence[float]) -> list[mpmath.mpf]:
    wide = [mpmath.mpf(x) for x in axis]
    return [x / mpmath.norm(wide) for x in wide]


def rodrigues(axis: Sequence[float], angle: float) -> Matrix:
    """R = cos I + sin [u]x + (1 - cos) u u^T, one entry after the other."""
    u, c, s = unit(axis), mpmath.cos(angle), mpmath.sin(angle)
    cross = [[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]]
    return [[c * (i == j) + s * cross[i][j] + (1 - c) * u[i] * u[j] for j in range(3)] for i in range(3)]


def tensor(values: Any) -> Any:
    rows = [[float(x) for x in row] for row in values] if isinstance(values[0], list) else [float(x) for x in values]
    return torch.tensor(rows, dtype=torch.float64)


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def six(matrix: Matrix, minus: float = 0.0) -> list[float]:
    """Columns X and Z, of a residual minus the identity."""
    return [float(matrix[row][column] - minus * (row == column)) for column in (0, 2) for row in range(3)]


def gram_schmidt(a: Sequence[float], b: Sequence[float]) -> tuple[list[mpmath.mpf], list[mpmath.mpf], float]:
    """Two orthonormal vectors, and how much the second amplifies rounding: |b| / |b_perp|."""
    first, wide = unit(a), [mpmath.mpf(x) for x in b]
    along = sum(x * y for x, y in zip(first, wide, strict=True))
    ortho = [y - along * x for x, y in zip(first, wide, strict=True)]
    length = mpmath.norm(ortho)
    return first, unit(ortho) if length else ortho, float(mpmath.norm(wide) / length) if length else mpmath.inf


@pytest.mark.parametrize("columns", COLUMN_PAIRS, ids="".join)
@given(a=axes, b=axes)
@example(a=(0.0, 2.0, 0.0), b=(1.0, 1.0, 0.5))
def test_two_columns_become_a_right_angled_frame(columns: tuple[str, str], a: Vector, b: Vector) -> None:
    """A mirrored third column turns the hand inside out; the flip of the derived column prevents it."""
    first, second, amplification = gram_schmidt(a, b)
    assume(amplification < 1e4)
    got = geometry.rot6d_to_matrix(tensor([*a, *b]), columns)
    # 1e-8 is added to each norm, so a column is short by 1e-8 / norm; with |b_perp| = |b| / amplification.
    norms = [float(mpmath.norm(v)) for v in (a, b)]
    limit = 3e-8 * (1 / norms[0] + amplification / norms[1]) * amplification + 40 * UNIT * amplification
    for axis, column in zip(columns, (first, second), strict=True):
        assert [float(x) for x in column] == pytest.approx(got[:, "XYZ".index(axis)].tolist(), abs=limit)
    assert float(torch.linalg.det(got)) == pytest.approx(1.0, abs=6 * limit)


@given(a=vectors, b=vectors)
@example(a=(0.0, 0.0, 0.0), b=(1.0, 0.0, 0.0))
def test_reprojection_normalises_and_leaves_zero_vectors_zero(a: Vector, b: Vector) -> None:
    """The engine replaces a zero column by the last frame's; training keeps it: both must do it on purpose."""
    got = geometry.reproject_rot6d(tensor([*a, *b]))
    if not any(a):
        assert got[:3].tolist() == [0.0, 0.0, 0.0]
        return
    assume(sum(x * x for x in a) > 1e-6)
    first, second, amplification = gram_schmidt(a, b)
    assert got[:3].tolist() == pytest.approx([float(x) for x in first], abs=8 * UNIT)
    assume(float(mpmath.norm(b)) / float(amplification) > 1e-6)
    assert got[3:].tolist() == pytest.approx([float(x) for x in second], abs=40 * UNIT * amplification)


@pytest.mark.parametrize("size", [1e-6, 3e-8])
def test_tiny_columns_are_still_normalised(size: float) -> None:
    """Between 1e-8 and 1e-4 the engine already gives up on a column: a band where the sides differ by design."""
    got = geometry.reproject_rot6d(tensor([0.0, size, 0.0, 0.0, 0.0, size]))
    assert got.tolist() == pytest.approx([0.0, 1.0, 0.0, 0.0, 0.0, 1.0])


@given(axis=axes, angle=angles, delta_axis=axes, delta_angle=st.floats(0.0, 1.5))
@example(axis=(0.0, 0.0, 1.0), angle=1.5707963, delta_axis=(1.0, 0.0, 0.0), delta_angle=0.0872665)  # do not commute
def test_delta_is_applied_on_the_left(axis: Vector, angle: float, delta_axis: Vector, delta_angle: float) -> None:
    """Applied on the right, every limb turns about its own axis instead of its parent's."""
    previous, delta = rodrigues(axis, angle), rodrigues(delta_axis, delta_angle)
    got = geometry.compose_rot6d_delta(tensor(six(previous)), tensor(six(delta, minus=1)))
    # Each of the two decodes adds 1e-8 to two norms near 1.
    assert got.tolist() == pytest.approx(six(product(delta, previous)), abs=8e-8)


@given(axis=axes, angle=st.floats(1e-9, 3.1415926))
@example(axis=(1.0, 2.0, -3.0), angle=1e-9)
@example(axis=(0.0, 0.0, 1.0), angle=3.1415926)
@example(axis=(0.0, 0.0, 1.0), angle=0.0)  # 0/0 here is a NaN in the first frame of every idle
def test_log_and_exponential_map_are_each_others_inverse(axis: Vector, angle: float) -> None:
    """Half the vector halves every swing: angular velocity fed to the network, and the disturbance of the training data."""
    matrix, want = tensor(rodrigues(axis, angle)), [float(angle * x) for x in unit(axis)]
    # Entries are rounded once (2^-53); the quaternion divides by at least 1/2; angle = 2 atan2 of them.
    assert geometry.so3_log_map(matrix).tolist() == pytest.approx(want, abs=64 * UNIT)
    assert geometry.so3_log_map(matrix, half=True).tolist() == pytest.approx([x / 2 for x in want], abs=64 * UNIT)
    assert geometry.so3_exp_map(tensor(want)).flatten().tolist() == pytest.approx(
        matrix.flatten().tolist(), abs=64 * UNIT
    )


@given(rotations=st.lists(st.tuples(axes, angles), min_size=3, max_size=5))
def test_angular_velocity_looks_one_frame_ahead_in_the_parents_frame(rotations: list[tuple[Vector, float]]) -> None:
    """In the bone's own frame a turning arm spins about the wrong axis."""
    matrices = [rodrigues(axis, angle) for axis, angle in rotations]
    steps = [product(b, [list(row) for row in zip(*a, strict=True)]) for a, b in itertools.pairwise(matrices)]
    assume(all(step[0][0] + step[1][1] + step[2][2] > -0.99 for step in steps))
    got = geometry.angvel_vec_from_R_seq(torch.stack([tensor(m) for m in matrices]), 60.0)
    assert got.shape == (len(matrices), 3)
    for row, step in zip(got, [*steps, steps[-1]], strict=True):
        vee = [step[2][1] - step[1][2], step[0][2] - step[2][0], step[1][0] - step[0][1]]
        sine2 = mpmath.norm(vee)
        angle = mpmath.atan2(sine2, step[0][0] + step[1][1] + step[2][2] - 1)
        factor = 60 * angle / sine2 if sine2 else mpmath.mpf(30)
        assert row.tolist() == pytest.approx([float(factor * x) for x in vee], abs=60 * 256 * UNIT)


@given(axis=axes, angle=angles, delta_axis=axes, delta_angle=angles)
def test_geodesic_angle_is_clamped_and_the_atan2_form_is_not(
    axis: Vector, angle: float, delta_axis: Vector, delta_angle: float
) -> None:
    """A report that cannot go below 0.081 degrees says that two identical poses differ."""
    a = rodrigues(axis, angle)
    b = product(a, rodrigues(delta_axis, delta_angle))
    exact = float(geometry.rotation_angle_rad(tensor(a), tensor(b)))
    assert exact == pytest.approx(delta_angle, abs=256 * UNIT)
    reported = float(geometry.geodesic_R(tensor(a), tensor(b)))
    clamped = min(max(float(mpmath.cos(delta_angle)), -(1 - 1e-6)), 1 - 1e-6)
    # acos near +-1 amplifies the cosine's rounding by at most 1 / sin(acos(1 - 1e-6)) = 707.
    assert reported == pytest.approx(float(mpmath.acos(clamped)), abs=16 * UNIT * 707)
