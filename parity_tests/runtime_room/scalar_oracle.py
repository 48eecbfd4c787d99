"""The expected values of this folder's tests: scalar arithmetic, one number at a time, written from spec 01 and 02.

Nothing of the code under test is imported here. Rotations are lists of rows, R[row][column], columns are axes.
"""

import math
from collections.abc import Sequence

Vector = Sequence[float]
Matrix = Sequence[Sequence[float]]

EYE = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def dot(a: Vector, b: Vector) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def length(a: Vector) -> float:
    return math.sqrt(dot(a, a))


def times(factor: float, a: Vector) -> list[float]:
    return [factor * x for x in a]


def plus(a: Vector, b: Vector) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


def cross(a: Vector, b: Vector) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def product(a: Matrix, b: Matrix) -> list[list[float]]:
    return [[math.fsum(a[i][k] * b[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def transposed(a: Matrix) -> list[list[float]]:
    return [[a[j][i] for j in range(3)] for i in range(3)]


def determinant(a: Matrix) -> float:
    return dot(a[0], cross(a[1], a[2]))


def rodrigues(axis: Vector, angle: float) -> list[list[float]]:
    """R = cos I + sin [u]x + (1 - cos) u uT."""
    x, y, z = times(1.0 / length(axis), axis)
    c, s, t = math.cos(angle), math.sin(angle), 2.0 * math.sin(angle / 2.0) ** 2
    return [
        [c + t * x * x, t * x * y - s * z, t * x * z + s * y],
        [t * x * y + s * z, c + t * y * y, t * y * z - s * x],
        [t * x * z - s * y, t * y * z + s * x, c + t * z * z],
    ]


def log_map(rotation: Matrix) -> list[float]:
    """Axis times angle for angles well below pi: the skew part is 2 sin(angle) axis."""
    skew = [
        rotation[2][1] - rotation[1][2],
        rotation[0][2] - rotation[2][0],
        rotation[1][0] - rotation[0][1],
    ]
    twice_sine = length(skew)
    angle = math.atan2(twice_sine, rotation[0][0] + rotation[1][1] + rotation[2][2] - 1.0)
    return [0.0, 0.0, 0.0] if twice_sine == 0.0 else times(angle / twice_sine, skew)


def angle_between(a: Matrix, b: Matrix) -> float:
    return length(log_map(product(transposed(a), b)))


def quat_to_matrix(quat: Vector) -> list[list[float]]:
    x, y, z, w = quat
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]


def perpendicular(b: Vector, unit: Vector) -> list[float]:
    return plus(b, times(-dot(unit, b), unit))


def gram_schmidt(a: Vector, b: Vector) -> tuple[list[float], list[float]]:
    """Two right-angled unit vectors from two vectors that are long enough."""
    first = times(1.0 / length(a), a)
    rest = perpendicular(b, first)
    return first, times(1.0 / length(rest), rest)


def amplification(a: Vector, b: Vector) -> float:
    """How much Gram-Schmidt magnifies a rounding of b: |b| / |b_perp|; infinite when they are parallel."""
    rest = length(perpendicular(b, times(1.0 / length(a), a)))
    return length(b) / rest if rest else math.inf


def matrix_from_xz(first: Vector, second: Vector) -> list[list[float]]:
    """Spec 01 section 8 for columns (X, Z): Y = Z x X, which is right-handed."""
    y = cross(second, first)
    return [[first[i], y[i], second[i]] for i in range(3)]


def decode_xz(six: Vector) -> list[list[float]]:
    return matrix_from_xz(*gram_schmidt(six[:3], six[3:]))


def encode_xz(rotation: Matrix) -> list[float]:
    return [row[0] for row in rotation] + [row[2] for row in rotation]


def wrapped(angle: float) -> float:
    """Engine `UnwindRadians`: add or subtract turns while outside [-pi, pi]."""
    while angle > math.pi:
        angle -= 2.0 * math.pi
    while angle < -math.pi:
        angle += 2.0 * math.pi
    return angle


def quantile(samples: Sequence[float], fraction: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(samples)
    place = fraction * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
