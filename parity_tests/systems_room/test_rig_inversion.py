"""Rig inversion: the rig in closed form, the runtime stage by stage, the committed files, the gate of data."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.operations.scalars import LENGTHS
from rigpact.training.rig_inversion import rig_mesh

from ..every_case import every_case
from . import declared_runs
from .declared_runs import BUNDLES, scene

CONTRACT = scene("rig_inversion").contract
CUBE = np.array(CONTRACT.constants["vertices"], np.float64)
MESH = load_file(BUNDLES / "rig_inversion" / "clip.trace.safetensors")["mesh"]
parameters_of_a_rig = st.tuples(*[st.floats(0.0, 1.0)] * 6)


def mesh_by_hand(parameters: Any) -> np.ndarray:
    """The definition with scipy: scale along the axes, then about x, about y, about z, each about a fixed axis."""
    mesh = CUBE @ np.diag([2.5 * p - 0.5 for p in parameters[3:]])
    for axis, p in zip("xyz", parameters[:3], strict=True):
        mesh = Rotation.from_euler(axis, (p - 0.5) * 90.0, degrees=True).apply(mesh)
    return mesh


def by_hand(rows: np.ndarray) -> np.ndarray:
    return np.array([mesh_by_hand(row) for row in rows.astype(float)]).reshape(-1, 24)


@given(parameters=parameters_of_a_rig)
@example(parameters=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
@example(parameters=(1.0, 0.3, 0.7, 0.2, 0.0, 1.0))  # an axis of no extent, a mirrored one
def test_the_rig_is_the_definition(parameters: tuple[float, ...]) -> None:
    """Two orders of rotation agree for one angle but differ for three; vertices 4 and 7 are one point everywhere."""
    mesh = rig_mesh(np.array(parameters))
    # coordinates up to 2√3, a few dozen float64 operations
    assert mesh == pytest.approx(mesh_by_hand(parameters), abs=1e-14)
    assert np.array_equal(mesh[4], mesh[7])


def test_neutral_is_the_cube_and_nought_is_far_from_it() -> None:
    """The original's regulariser pulls to zeros, 2.14 away; where scales are nought nothing turns, and two poses are one mesh."""
    assert rig_mesh(np.array(CONTRACT.constants["neutral_parameters"])) == pytest.approx(CUBE, abs=1e-15)
    assert LENGTHS["euclidean"](rig_mesh(np.zeros(6)) - CUBE).mean() == pytest.approx(2.14, abs=0.01)
    one, other = (rig_mesh(np.array([turn, 0.5, 0.5, 0.2, 0.2, 0.2])) for turn in (0.1, 0.9))
    assert one == pytest.approx(other, abs=1e-15)


@every_case("value", [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
def test_parameters_outside_their_range_are_refused(value: float) -> None:
    """A rig extrapolates a parameter of 1.2 silently."""
    with pytest.raises(UnusableInput, match=r"\[0, 4\]"):
        rig_mesh(np.array([[0.5, 0.5, 0.5, 0.5, value, 0.5]]))


def test_the_chain_of_encoder_and_rig_inverts_the_clip() -> None:
    """Scored through the rig itself; the approximation never stands in for it."""
    run = declared_runs.run(CONTRACT, {"mesh": MESH}, scene("rig_inversion").network)
    rebuilt = by_hand(run["rig_parameters"])
    assert run["reconstruction"] == pytest.approx(rebuilt, abs=1e-5)
    error = np.linalg.norm((rebuilt - MESH).reshape(128, 8, 3), axis=2)
    assert run["vertex_error"] == pytest.approx(error, abs=1e-5)
    assert error.mean() < 0.027
    assert np.array_equal(run["reconstruction"][:, 12:15], run["reconstruction"][:, 21:24])


# ---- readings that the published program has no mistake of; the others are compared with it in test_matrix.py


def transformed(
    p: np.ndarray,
    *,
    order: Sequence[int] = range(6),
    origin: Sequence[float] = (0.5, 0.5, 0.5),
    degrees: float = 90.0,
    scale: Callable[[np.ndarray], np.ndarray] = lambda p: 2.5 * p - 0.5,
) -> np.ndarray:
    """Three angles, then three scales."""
    p = p[:, list(order)]
    return np.hstack([np.deg2rad((p[:, :3] - origin) * degrees), scale(p[:, 3:])])


def turned(t: np.ndarray, order: str = "xyz", sense: Sequence[float] = (1.0, 1.0, 1.0)) -> np.ndarray:
    """The cube, scaled, then turned about one fixed axis after another."""
    mesh = CUBE * t[:, None, 3:]
    for axis in order:
        place = "xyz".index(axis)
        turns = Rotation.from_euler(axis, sense[place] * t[:, place : place + 1])
        mesh = mesh @ np.swapaxes(turns.as_matrix(), 1, 2)
    return mesh


def distances(mesh: np.ndarray, found: np.ndarray) -> np.ndarray:
    return np.abs((mesh - found).reshape(-1, 8, 3)).sum(axis=2)


NOT_PUBLISHED: dict[tuple[str, str], tuple[str, Callable[..., np.ndarray]]] = {
    ("vertex_order", "reversed"): ("model_input", lambda mesh: mesh.reshape(-1, 8, 3)[:, ::-1]),
    ("mesh_axes", "y_mirrored"): ("model_input", lambda mesh: mesh.reshape(-1, 8, 3) * [1, -1, 1]),
    ("mesh_axes", "y_up"): ("model_input", lambda mesh: mesh.reshape(-1, 8, 3)[..., [0, 2, 1]] * [1, 1, -1]),
    **{("parameter_order", name): ("transform", partial(transformed, order=order)) for name, order in (
        ("scales_first", (3, 4, 5, 0, 1, 2)), ("interleaved", (0, 2, 4, 1, 3, 5)), ("angles_y_x_z", (1, 0, 2, 3, 4, 5)),
        ("angles_z_y_x", (2, 1, 0, 3, 4, 5)), ("scales_z_y_x", (0, 1, 2, 5, 4, 3)), ("scales_x_z_y", (0, 1, 2, 3, 5, 4)),
    )},
    ("angle_range", "45_deg"): ("transform", partial(transformed, degrees=45.0)),
    **{("angle_origin", name): ("transform", partial(transformed, origin=origin)) for name, origin in (
        ("zero", (0.0, 0.0, 0.0)), ("zero_about_y", (0.5, 0.0, 0.5)), ("zero_about_z", (0.5, 0.5, 0.0)),
    )},
    ("scale_mapping", "zero_to_two"): ("transform", partial(transformed, scale=lambda p: 2.0 * p)),
    ("scale_mapping", "half_to_three"): ("transform", partial(transformed, scale=lambda p: 2.5 * p + 0.5)),
    ("scale_limit", "absolute"): ("transform", partial(transformed, scale=lambda p: np.abs(2.5 * p - 0.5))),
    **{("rotation_order", "_".join(order)): ("reconstruction", partial(turned, order=order))
       for order in ("xzy", "yxz", "yzx", "zxy")},
    ("rotation_sense", "clockwise_about_x"): ("reconstruction", partial(turned, sense=(-1, 1, 1))),
    ("rotation_sense", "clockwise_about_z"): ("reconstruction", partial(turned, sense=(1, 1, -1))),
    ("reconstruction_axes", "y_mirrored"): ("reconstruction", lambda t: turned(t) * [1, -1, 1]),
    ("error_measure", "absolute_sum"): ("vertex_error", distances),
}  # fmt: skip


@every_case(("knob", "value"), list(NOT_PUBLISHED))
def test_a_reading_that_no_published_program_has_is_its_definition(knob: str, value: str) -> None:
    """A formula on the page that has a slip would explain an engine with the same slip."""
    stage, expected = NOT_PUBLISHED[knob, value]
    random, needs = np.random.default_rng(3), CONTRACT.system.graph[stage].needs
    known = {name: random.uniform(0.0, 1.0, (300, CONTRACT.stage_widths[name])).astype(np.float32) for name in needs}
    ours = declared_runs.recomputed(CONTRACT, stage, known, **{knob: value})
    theirs = expected(*(each.astype(float) for each in known.values())).reshape(ours.shape)
    assert ours == pytest.approx(theirs, abs=1e-6)


# ---- data gate


def _problems(**pairs: np.ndarray) -> list[str]:
    told = {name: rows.astype(np.float32) for name, rows in pairs.items()}
    return [problem.pointer for problem in CONTRACT.system.data_problems(CONTRACT, told)]


BAD_DATA: dict[str, Any] = {
    "vertices exchanged": (lambda p, m: (p, m.reshape(-1, 8, 3)[:, [0, 1, 2, 3, 4, 5, 7, 6]].reshape(-1, 24)), "mesh/vertex_7"),
    "flattened by axes": (lambda p, m: (p, m.reshape(-1, 8, 3).swapaxes(1, 2).reshape(-1, 24)), "mesh/vertex_7"),
    "half the angles": (lambda p, _m: (p, by_hand(np.hstack([0.25 + p[:, :3] / 2, p[:, 3:]]))), "mesh"),
    "rows moved by one": (lambda p, m: (p, np.roll(m, 1, axis=0)), "mesh"),
    "a parameter of another pose": (lambda p, m: (np.where(p == p[3, 2], 0.1, p), m), "mesh"),
    "one row, again and again": (lambda p, m: (p[:1].repeat(50, 0), m[:1].repeat(50, 0)), "rig_parameters"),
}  # fmt: skip


@every_case("name", BAD_DATA)
def test_bad_data_are_refused_and_good_data_pass(name: str) -> None:
    """An approximation learns bad data without an error."""
    make, place = BAD_DATA[name]
    parameters = np.random.default_rng(4).random((50, 6))
    mesh = by_hand(parameters)
    assert _problems(mesh=mesh, rig_parameters=parameters) == _problems(mesh=MESH) == []
    spoilt = make(parameters, mesh)
    assert _problems(mesh=spoilt[1], rig_parameters=spoilt[0]) == [place]
