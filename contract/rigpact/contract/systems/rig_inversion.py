"""Rig inversion: a mesh in, the six parameters of a toy rig that make this mesh out; scored through the rig itself.

Source: electronicarts/rig-inversion, text and code; where the two mislead: docs/systems/rig_inversion.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.problem import Problem, entries

VERTICES = (
    (-1, -1, -1), (-1, -1, 1), (-1, 1, -1), (-1, 1, 1), (1, -1, -1), (1, -1, 1), (1, 1, -1), (1, -1, -1),
)  # fmt: skip
"""The neutral mesh. The last vertex repeats the fifth and the corner (1, 1, 1) is missing: that is the contract."""
DUPLICATE_VERTICES = (4, 7)
NEUTRAL_PARAMETERS = (0.5, 0.5, 0.5, 0.6, 0.6, 0.6)
"""The rig's parameters at the neutral mesh; all zeros are far from it."""
ANGLE_RANGE_DEG, SCALE_RANGE = 90.0, (-0.5, 2.0)
PARAMETERS = ("rotate_x", "rotate_y", "rotate_z", "scale_x", "scale_y", "scale_z")
DECODER_WIDTHS, ENCODER_WIDTHS = (6, 1024, 1024, 24), (24, 512, 6)
"""The original's two networks; LeakyReLU between layers, a sigmoid behind the encoder."""
_SPACE = "rig, right-handed"


MESH = tiled(*((f"vertex_{place}", 3, FieldKind.MESH_POINTS, "", _SPACE) for place in range(len(VERTICES))))
RIG_PARAMETERS = tiled(*((name, 1, FieldKind.RIG_PARAMETER, "", "rig", 0.0, 1.0) for name in PARAMETERS))
TRANSFORM = tiled(
    *((f"angle_{axis}", 1, FieldKind.SCALAR, "rad", "rig") for axis in "xyz"),
    *((f"scale_{axis}", 1, FieldKind.SCALAR, "", "rig", *SCALE_RANGE) for axis in "xyz"),
)
VERTEX_ERROR = tiled(*((f"vertex_{place}", 1, FieldKind.SCALAR, "", "rig") for place in range(len(VERTICES))))
FPS = 30.0


@dataclass(frozen=True, eq=False)
class RigConstants:
    """The rig's numbers: vertices (8, 3), the width of the angle's range in degrees, scale at p = 0 and at p = 1."""

    vertices: FloatArray
    angle_range_deg: float
    scale_range: tuple[float, float]


def declared_constants() -> dict[str, Any]:
    """The constants of this system's contract file, as JSON values."""
    return {
        "vertices": [list(map(float, row)) for row in VERTICES],
        "duplicate_vertices": list(DUPLICATE_VERTICES),
        "angle_range_deg": ANGLE_RANGE_DEG,
        "scale_range": list(SCALE_RANGE),
        "neutral_parameters": list(NEUTRAL_PARAMETERS),
        "decoder_widths": list(DECODER_WIDTHS),
        "encoder_widths": list(ENCODER_WIDTHS),
    }


def read_constants(constants: Mapping[str, Any]) -> RigConstants:
    """The numbers that the runtime needs; KeyError, TypeError or ValueError where they are not there or no numbers."""
    low, high = (float(value) for value in constants["scale_range"])
    vertices = np.asarray(constants["vertices"], np.float64).reshape(len(VERTICES), 3)
    return RigConstants(vertices, float(constants["angle_range_deg"]), (low, high))


def constant_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything in which the constants contradict the rig that this system is about."""
    try:
        rig = read_constants(constants)
    except (KeyError, TypeError, ValueError) as error:
        yield Problem("", f"{type(error).__name__}: {error}", "numbers of a rig", "the rig cannot be built")
        return
    yield from _vertex_problems(rig.vertices, constants)
    yield from _range_problems(rig)
    yield from _neutral_problems(rig, constants)
    for name, ends in (("decoder_widths", DECODER_WIDTHS), ("encoder_widths", ENCODER_WIDTHS)):
        widths = entries(constants.get(name))
        if len(widths) < 2 or (widths[0], widths[-1]) != (ends[0], ends[-1]):
            yield Problem(f"/{name}", str(widths), f"{ends[0]} … {ends[-1]}", "the network would not fit the rig")


def _vertex_problems(vertices: FloatArray, constants: Mapping[str, Any]) -> Iterator[Problem]:
    first, second = DUPLICATE_VERTICES
    if entries(constants.get("duplicate_vertices")) != [first, second]:
        yield Problem(
            "/duplicate_vertices", str(constants.get("duplicate_vertices")), str([first, second]),
            "networks were trained on a mesh whose last vertex repeats the fifth",
        )  # fmt: skip
    if not np.array_equal(vertices[first], vertices[second]):
        yield Problem(
            f"/vertices/{second}", str(vertices[second].tolist()), f"vertex {first}, {vertices[first].tolist()}",
            "a mended cube is another rig: every network trained before is a corner off",
        )  # fmt: skip
    for place in np.flatnonzero(np.any(vertices != np.array(VERTICES), axis=1)):
        if place != second:
            yield Problem(
                f"/vertices/{place}", str(vertices[place].tolist()), str(list(VERTICES[place])),
                "the order of the vertices is part of the contract",
            )  # fmt: skip


def _range_problems(rig: RigConstants) -> Iterator[Problem]:
    if rig.angle_range_deg != ANGLE_RANGE_DEG:
        yield Problem(
            "/angle_range_deg", f"{rig.angle_range_deg:g}", f"{ANGLE_RANGE_DEG:g}",
            "every rotation is off by the ratio; the range is its whole width, not half of it",
        )  # fmt: skip
    if rig.scale_range != SCALE_RANGE:
        yield Problem(
            "/scale_range", str(list(rig.scale_range)), str(list(SCALE_RANGE)), "every vertex is off by the scale"
        )


def _neutral_problems(rig: RigConstants, constants: Mapping[str, Any]) -> Iterator[Problem]:
    """The declared neutral parameters must give no rotation and scale one, so that the mesh is the table itself."""
    declared = entries(constants.get("neutral_parameters"))
    if len(declared) != len(PARAMETERS) or not all(isinstance(value, int | float) for value in declared):
        yield Problem("/neutral_parameters", str(declared)[:60], "six numbers", "there is no neutral mesh")
        return
    neutral = np.array(declared, np.float64)
    low, high = rig.scale_range
    angles = (neutral[:3] - 0.5) * rig.angle_range_deg
    scales = low + neutral[3:] * (high - low)
    for place, (found, wanted) in enumerate(zip([*angles, *scales], [0.0] * 3 + [1.0] * 3, strict=True)):
        if abs(found - wanted) > 1e-9:
            yield Problem(
                f"/neutral_parameters/{place}", f"{neutral[place]:g} ({PARAMETERS[place]} {found:g})",
                f"the parameter of {PARAMETERS[place]} {wanted:g}", "a regulariser would pull the mesh away from neutral",
            )  # fmt: skip
