"""The page's expected values, computed without the page's code: one bone and one number at a time, in float64."""

import math
from collections.abc import Sequence

Matrix = Sequence[Sequence[float]]
Vector = tuple[float, float, float]


def joint_positions(parents, offsets, rotations):
    """Component-space positions by walking each bone up to its root: p = o_root + R_root (o + R (o + …))."""
    found = []
    for bone in range(len(parents)):
        place = offsets[bone]
        above = parents[bone]
        while above >= 0:
            turned = [sum(rotations[above][row][k] * place[k] for k in range(3)) for row in range(3)]
            place = (turned[0] + offsets[above][0], turned[1] + offsets[above][1], turned[2] + offsets[above][2])
            above = parents[above]
        found.append(place)
    return found


def luminance(red, green, blue):
    """Relative luminance of an sRGB colour given as 0 to 255. Source: WCAG 2.2."""

    def linear(channel):
        share = channel / 255.0
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)


def contrast(one, other):
    """Contrast ratio of two sRGB colours. Source: WCAG 2.2."""
    dark, light = sorted((luminance(*one[:3]), luminance(*other[:3])))
    return (light + 0.05) / (dark + 0.05)


def as_deuteranope(red, green, blue):
    """An sRGB colour as someone without green receptors sees it, 0 to 255. Source: Machado et al. 2009, severity 1."""
    matrix = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881))
    seen = [sum(row[k] * (red, green, blue)[k] for k in range(3)) for row in matrix]
    clipped = [min(max(channel, 0.0), 255.0) for channel in seen]
    return clipped[0], clipped[1], clipped[2]


def turn(axis, angle_rad):
    """Rotation matrix about an axis (Rodrigues); columns are axes."""
    size = math.sqrt(sum(part * part for part in axis))
    x, y, z = (part / size for part in axis)
    c, s = math.cos(angle_rad), math.sin(angle_rad)
    v = 1.0 - c
    return [
        [c + x * x * v, x * y * v - z * s, x * z * v + y * s], [y * x * v + z * s, c + y * y * v, y * z * v - x * s],
        [z * x * v - y * s, z * y * v + x * s, c + z * z * v],
    ]  # fmt: skip
