"""Rig inversion: the rig in closed form, the runtime stage by stage, the committed files, the gate of data."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.training.rig_inversion.rig import rig_mesh

from ..declared_room.one_operation import MEASURES
from ..every_case import every_case
from . import declared_runs
from .declared_runs import BUNDLES, scene

CONTRACT = scene("rig_inversion").contract
CUBE = np.array(CONTRACT.constants["vertices"], np.float64)
MESH = load_file(BUNDLES / "rig_inversion" / "clip.trace.safetensors")["mesh"]
Oracle = Callable[..., np.ndarray]
parameters_of_a_rig = st.tuples(*[st.floats(0.0, 1.0)] * 6)


def mesh_by_hand(parameters: Any) -> np.ndarray:
    """The definition with scipy: scale along the axes, then about x, about y, about z, each about a fixed axis."""
    mesh = CUBE @ np.diag([2.5 * p - 0.5 for p in parameters[3:]])
    for axis, p in zip("xyz", parameters[:3], strict=True):
        mesh = Rotation.from_euler(axis, (p - 0.5) * 90.0, degrees=True).apply(mesh)
    return mesh


def by_hand(rows: np.ndarray) -> np.ndarray:
    """The definition of many rows, (N, 24)."""
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


def test_the_committed_approximation_is_the_rigs() -> None:
    """On the clip's true parameters: a straight line through six numbers, from the contract's text."""
    random = np.random.default_rng(2023)
    start, end = random.random(6), random.random(6)
    parameters = np.array([start + frame / 128 * (end - start) for frame in range(128)])
    truth = by_hand(parameters)
    assert pytest.approx(truth, abs=1e-6) == MESH
    network = onnxruntime.InferenceSession(
        BUNDLES / "rig_inversion" / "approximation.onnx", providers=["CPUExecutionProvider"]
    )
    answer = network.run(None, {network.get_inputs()[0].name: parameters.astype(np.float32)})[0]
    assert np.linalg.norm((answer - truth).reshape(128, 8, 3), axis=2).mean() < 0.035


# ---- every reading of every stage, against expected values that stand here

Signed = Sequence[tuple[int, float]]
"""Of each new axis: which of the old ones, and its sign."""
Z_UP, Y_UP = ((0, 1.0), (1, 1.0), (2, 1.0)), ((0, 1.0), (2, 1.0), (1, -1.0))
MIRRORED = ((0, 1.0), (1, -1.0), (2, 1.0))


def along(v: np.ndarray, axes: Signed) -> np.ndarray:
    return np.stack([v.dtype.type(sign) * v[..., axis] for axis, sign in axes], axis=-1)


def laid(change: Callable[[np.ndarray], np.ndarray]) -> Oracle:
    return lambda mesh: change(mesh.reshape(-1, 8, 3))


def centred(mesh: np.ndarray) -> np.ndarray:
    return mesh - sum(mesh[:, place] for place in reversed(range(8)))[:, None] / mesh.dtype.type(8)


def layer_norm(mesh: np.ndarray) -> np.ndarray:
    moved = centred(mesh)
    square = sum(np.sum(moved[:, place] * moved[:, place], -1) for place in range(8))
    return moved / np.sqrt(square / mesh.dtype.type(24) + mesh.dtype.type(1e-5))[:, None, None]


def transformed(
    *,
    order: Sequence[int] = range(6),
    origin: Sequence[float] = (0.5, 0.5, 0.5),
    angle: float = 90.0 * math.pi / 180.0,
    factor: float = 2.5,
    moved: float = -0.5,
    end: Callable[[np.ndarray], np.ndarray] = lambda scales: scales,
    first: Callable[[np.ndarray], np.ndarray] = lambda p: p,
) -> Oracle:
    """Three angles, then three scales, of six numbers; `first` is done to each number, `end` to each scale."""

    def oracle(p: np.ndarray) -> np.ndarray:
        kind, p = p.dtype.type, first(p)[:, list(order)]
        turns = (p[:, :3] - np.array(origin, kind)) * kind(angle)
        return np.hstack([turns, end(kind(factor) * p[:, 3:] + kind(moved))])

    return oracle


def about(axis: str, angle: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Points (frames, n, 3) turned counter-clockwise about a fixed axis, by an angle of each frame."""
    one, other = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    found, c, s = v.copy(), np.cos(angle)[:, None], np.sin(angle)[:, None]
    found[..., one] = c * v[..., one] - s * v[..., other]
    found[..., other] = s * v[..., one] + c * v[..., other]
    return found


def rotated(
    *,
    order: str = "xyz",
    sense: Sequence[float] = (1.0, 1.0, 1.0),
    behind: bool = False,
    back: bool = False,
    table: np.ndarray = CUBE,
    axes: Signed = Z_UP,
) -> Oracle:
    """The points of a mesh; behind: scaled behind the turns; back: turned by the inverse of all three turns."""

    def oracle(t: np.ndarray) -> np.ndarray:
        angles, scales = t[:, :3] * np.array(sense, t.dtype), t[:, None, 3:]
        points = np.tile(table.astype(t.dtype), (len(t), 1, 1))
        points = points if behind else points * scales
        for axis in reversed(order) if back else order:
            angle = angles[:, "xyz".index(axis)]
            points = about(axis, -angle if back else angle, points)
        return along(points * scales if behind else points, axes)

    return oracle


def off(measure: Callable[[np.ndarray], np.ndarray]) -> Oracle:
    return lambda mesh, found: measure(mesh.reshape(-1, 8, 3) - found.reshape(-1, 8, 3))


SWAPS = {"y_x_z": (1, 0, 2), "z_y_x": (2, 1, 0), "x_z_y": (0, 2, 1)}
ABOUT = {"x": (0.0, 0.5, 0.5), "y": (0.5, 0.0, 0.5), "z": (0.5, 0.5, 0.0)}
TURNED_BACK = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0), "z": (1.0, 1.0, -1.0)}
MENDED = np.array([*CUBE[:7], (1.0, 1.0, 1.0)])
READINGS: dict[str, dict[str, dict[str, Oracle]]] = {
    "model_input": {
        "": {"": laid(lambda mesh: mesh)},
        "flattening": {"axis_by_axis": laid(lambda mesh: mesh.swapaxes(1, 2))},
        "vertex_order": {"reversed": laid(lambda mesh: mesh[:, ::-1]),
                         "x_fastest": laid(lambda mesh: mesh[:, [0, 4, 2, 6, 1, 5, 3, 7]])},
        "mesh_axes": {"y_mirrored": laid(lambda mesh: along(mesh, MIRRORED)), "y_up": laid(lambda mesh: along(mesh, Y_UP))},
        "mesh_origin": {"centroid": laid(centred), "centroid_and_unit_deviation": laid(layer_norm),
                        "neutral_mesh": laid(lambda mesh: mesh - CUBE.astype(mesh.dtype))},
    },
    "transform": {
        "": {"": transformed()},
        "parameter_order": {
            "scales_first": transformed(order=(3, 4, 5, 0, 1, 2)), "interleaved": transformed(order=(0, 2, 4, 1, 3, 5)),
            **{f"angles_{name}": transformed(order=(*swap, 3, 4, 5)) for name, swap in SWAPS.items()},
            **{f"scales_{name}": transformed(order=(0, 1, 2, *(3 + place for place in swap))) for name, swap in SWAPS.items()},
        },
        "output_activation": {"applied_again": transformed(first=lambda p: p.dtype.type(1) / (p.dtype.type(1) + np.exp(-p)))},
        "angle_range": {"45_deg": transformed(angle=math.pi / 4), "180_deg": transformed(angle=math.pi)},
        "angle_origin": {"zero": transformed(origin=(0, 0, 0)),
                         **{f"zero_about_{axis}": transformed(origin=origin) for axis, origin in ABOUT.items()}},
        "angle_unit": {"degrees": transformed(angle=90.0)},
        "scale_mapping": {"zero_to_two": transformed(factor=2.0, moved=0.0), "zero_to_two_and_a_half": transformed(moved=0.0),
                          "half_to_three": transformed(moved=0.5)},
        "scale_limit": {"not_below_zero": transformed(end=lambda s: np.maximum(s, s.dtype.type(0))),
                        "absolute": transformed(end=np.abs)},
    },
    "reconstruction": {
        "": {"": rotated()},
        "rotation_order": {"_".join(word): rotated(order=word) for word in ("zyx", "xzy", "yxz", "yzx", "zxy")},
        "rotation_sense": {"clockwise": rotated(sense=(-1, -1, -1)),
                           **{f"clockwise_about_{axis}": rotated(sense=sense) for axis, sense in TURNED_BACK.items()}},
        "scale_place": {"behind_rotations": rotated(behind=True)},
        "vertex_table": {"missing_corner_repaired": rotated(table=MENDED)}, "vertex_side": {"row": rotated(back=True)},
        "reconstruction_axes": {"y_mirrored": rotated(axes=MIRRORED), "y_up": rotated(axes=Y_UP)},
    },
    "vertex_error": {
        "": {"": off(MEASURES["euclidean"])},
        "error_measure": {name: off(MEASURES[name]) for name in ("squared", "absolute_sum")},
    },
}  # fmt: skip
EVERY = [
    (stage, knob, value) for stage, knobs in READINGS.items() for knob, values in knobs.items() for value in values
]


def test_every_reading_has_an_oracle() -> None:
    """A reading that only agrees with itself explains an engine with a mistake of its own."""
    assert {(knob, value) for _, knob, value in EVERY if knob} == set(declared_runs.alternatives(CONTRACT.system))


@every_case(("stage", "knob", "value"), EVERY)
def test_every_reading_is_its_definition(stage: str, knob: str, value: str) -> None:
    """In float64 the expected values; in float32 another right side, within a bound that is not wide."""
    random = np.random.default_rng(3)
    known = {name: random.uniform(-2.0, 2.0, (300, CONTRACT.stage_widths[name])).astype(np.float32)
             for name in CONTRACT.system.graph[stage].needs}  # fmt: skip
    known |= {name: np.abs(rows) / 2.0 for name, rows in known.items() if name == "rig_parameters"}
    contract = CONTRACT.with_conventions({knob: value} if knob else {})
    ours, oracle = declared_runs.recomputed(contract, stage, known), READINGS[stage][knob][value]
    assert ours == pytest.approx(
        oracle(*(each.astype(float) for each in known.values())).reshape(ours.shape), rel=2e-7, abs=2e-7
    )
    theirs = oracle(*known.values())
    assert theirs.dtype == np.float32
    bound = declared_runs.bound_of(contract, stage, known, ours)
    error = np.abs(theirs.reshape(ours.shape).astype(float) - ours)
    assert np.all(error <= bound)
    assert np.median(bound) <= 50.0 * max(error.max(), 2.0**-24 * np.abs(ours).max())


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
    assert place in _problems(mesh=spoilt[1], rig_parameters=spoilt[0])
