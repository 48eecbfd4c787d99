"""Rig inversion: its contract, the rig in closed form, the runtime stage by stage, and the committed files."""

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.contract.systems.layout import FieldLayout
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.training.rig_inversion.rig import rig_mesh

from ..every_case import every_case
from . import declared_runs

SYSTEM = find_system("rig_inversion")
CONSTANTS = dict(SYSTEM.template())
VERTICES, NEUTRAL_PARAMETERS = CONSTANTS["vertices"], CONSTANTS["neutral_parameters"]
CONTRACT = contract_in_memory(SYSTEM, CONSTANTS)
parameters_of_a_rig = st.tuples(*[st.floats(0.0, 1.0)] * 6)


def mesh_by_hand(parameters: Any) -> np.ndarray:
    """The definition with scipy: scale along the axes, then about x, about y, about z, each about a fixed axis."""
    mesh = np.array(VERTICES, np.float64) @ np.diag([2.5 * p - 0.5 for p in parameters[3:]])
    for axis, p in zip("xyz", parameters[:3], strict=True):
        mesh = Rotation.from_euler(axis, (p - 0.5) * 90.0, degrees=True).apply(mesh)
    return mesh


@pytest.fixture(scope="module")
def bundle(checkout: Path) -> Path:
    """The committed files."""
    return checkout / "fixtures" / "bundles" / "rig_inversion"


@pytest.fixture(scope="module")
def mesh(bundle: Path) -> np.ndarray:
    """The clip's meshes, (128, 24)."""
    return load_file(bundle / "clip.trace.safetensors")["mesh"]


@pytest.fixture(scope="module")
def run(bundle: Path, mesh: np.ndarray) -> dict[str, np.ndarray]:
    """The clip through the committed encoder and the rig."""
    session = onnxruntime.InferenceSession(bundle / "model.onnx", providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return declared_runs.run(CONTRACT, {"mesh": mesh}, lambda inputs: session.run(None, {name: inputs[0]}))


# ---- contract


def test_the_vectors_have_the_contracts_widths_and_names() -> None:
    """24 numbers are eight vertices, x y z of each in turn; six parameters are three rotations, then three scales."""
    layout = SYSTEM.vectors["rig_parameters"]
    assert [field.name for field in layout] == ["rotate_x", "rotate_y", "rotate_z", "scale_x", "scale_y", "scale_z"]
    assert all((field.low, field.high) == (0.0, 1.0) for field in layout)
    assert [(field.start, field.size) for field in SYSTEM.vectors["mesh"]] == [(3 * v, 3) for v in range(8)]


def test_another_order_of_vertices_is_another_hash() -> None:
    """The same 24 numbers, seven of eight vertices somewhere else."""
    fields = tuple(reversed(list(SYSTEM.vectors["mesh"])))
    assert FieldLayout(fields).layout_hash != SYSTEM.vectors["mesh"].layout_hash


def test_the_declared_constants_are_without_problems() -> None:
    """Users ignore a check that reports problems in its own contract."""
    assert list(SYSTEM.problems_of(orjson.loads(orjson.dumps(CONSTANTS)))) == []


def _changed(*path: Any, to: Any) -> dict[str, Any]:
    constants: Any = deepcopy(CONSTANTS)
    node = constants
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = to
    return constants


@every_case(("constants", "pointer"), [
    (_changed("vertices", 7, to=[1.0, 1.0, 1.0]), "/vertices/7"),
    (_changed("vertices", 2, to=[1.0, 1.0, 1.0]), "/vertices/2"),
    (_changed("duplicate_vertices", to=[]), "/duplicate_vertices"),
    (_changed("angle_range_deg", to=45.0), "/angle_range_deg"),
    (_changed("scale_range", to=[0.0, 2.5]), "/scale_range/1"),
    (_changed("neutral_parameters", to=[0.0] * 6), "/neutral_parameters/0"),
    (_changed("neutral_parameters", 4, to=0.5), "/neutral_parameters/4"),
    (_changed("neutral_parameters", to=[0.5] * 5), "/neutral_parameters"),
    (_changed("decoder_widths", to=[24, 512, 6]), "/decoder_widths"),
    (_changed("encoder_widths", to=[]), "/encoder_widths"),
    (_changed("vertices", to="cube"), "/vertices"),
])  # fmt: skip
def test_a_contradiction_in_the_constants_is_found(constants: dict[str, Any], pointer: str) -> None:
    """A corrected cube, half the range, zeros for neutral: each file loads, but each is another rig."""
    assert pointer in [problem.pointer for problem in SYSTEM.problems_of(constants)]


@every_case("junk", [None, 5, "x", [], {}, [[]], [None], [["x"]], True], ids=repr)
@every_case("name", CONSTANTS)
def test_junk_in_a_constant_is_a_problem_and_no_crash(name: str, junk: Any) -> None:
    """If an exporter writes null, the check must report it with its place."""
    assert list(SYSTEM.problems_of(_changed(name, to=junk)))


# ---- the rig


@given(parameters=parameters_of_a_rig)
@example(parameters=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
@example(parameters=(1.0, 0.3, 0.7, 0.2, 0.0, 1.0))  # an axis of no extent, a mirrored one
def test_the_rig_is_the_definition(parameters: tuple[float, ...]) -> None:
    """Two orders of rotation agree for one angle but differ for three."""
    # coordinates up to 2√3, a few dozen float64 operations
    assert rig_mesh(np.array(parameters)) == pytest.approx(mesh_by_hand(parameters), abs=1e-14)


@given(parameters=parameters_of_a_rig)
def test_the_duplicate_vertex_is_one_everywhere(parameters: tuple[float, ...]) -> None:
    """Vertices 4 and 7 are the same point of the contract's mesh; a rig that separates them is another rig."""
    mesh = rig_mesh(np.array(parameters))
    assert np.array_equal(mesh[4], mesh[7])


def test_neutral_is_the_cube_and_nought_is_far_from_it() -> None:
    """The original's regulariser pulls the neutral mesh to zeros, 2.14 away from it."""
    cube = np.array(VERTICES, np.float64)
    assert rig_mesh(np.array(NEUTRAL_PARAMETERS)) == pytest.approx(cube, abs=1e-15)
    assert LENGTHS["euclidean"](rig_mesh(np.zeros(6)) - cube).mean() == pytest.approx(2.14, abs=0.01)


def test_two_parameters_may_make_one_mesh() -> None:
    """Where scales are nought nothing turns: an inversion is judged on meshes, never on parameters."""
    one, other = (rig_mesh(np.array([turn, 0.5, 0.5, 0.2, 0.2, 0.2])) for turn in (0.1, 0.9))
    assert one == pytest.approx(other, abs=1e-15)


@pytest.mark.parametrize("value", [-1e-9, 1.0 + 1e-9, math.nan, math.inf])
def test_parameters_outside_their_range_are_refused(value: float) -> None:
    """A rig extrapolates a parameter of 1.2 silently."""
    with pytest.raises(UnusableInput, match=r"\[0, 4\]"):
        rig_mesh(np.array([[0.5, 0.5, 0.5, 0.5, value, 0.5]]))


# ---- runtime


def test_the_chain_of_encoder_and_rig_inverts_the_clip(run: dict[str, np.ndarray], mesh: np.ndarray) -> None:
    """Scored through the rig itself; the approximation never stands in for it."""
    rebuilt = np.array([mesh_by_hand(row) for row in run["rig_parameters"].astype(float)])
    assert run["reconstruction"] == pytest.approx(rebuilt.reshape(128, 24), abs=1e-5)
    error = np.linalg.norm(rebuilt - mesh.reshape(128, 8, 3), axis=2)
    assert run["vertex_error"] == pytest.approx(error, abs=1e-5)
    assert error.mean() < 0.027
    assert np.array_equal(run["reconstruction"][:, 12:15], run["reconstruction"][:, 21:24])


def test_the_committed_approximation_is_the_rigs(bundle: Path, mesh: np.ndarray) -> None:
    """On the clip's true parameters: a straight line through six numbers, from the contract's text."""
    random = np.random.default_rng(2023)
    start, end = random.random(6), random.random(6)
    parameters = np.array([start + frame / 128 * (end - start) for frame in range(128)])
    truth = np.array([mesh_by_hand(row) for row in parameters])
    assert mesh == pytest.approx(truth.reshape(128, 24), abs=1e-6)
    session = onnxruntime.InferenceSession(bundle / "approximation.onnx", providers=["CPUExecutionProvider"])
    answer = session.run(None, {session.get_inputs()[0].name: parameters.astype(np.float32)})[0]
    assert np.linalg.norm(answer.reshape(128, 8, 3) - truth, axis=2).mean() < 0.035


def test_committed_files_are_small(bundle: Path) -> None:
    """Large committed files make every clone slow."""
    assert sum(path.stat().st_size for path in bundle.iterdir()) < 2_000_000


def test_every_knob_has_a_stage_and_every_value_a_hint() -> None:
    """A named cause without a hint does not help an engineer."""
    declared_runs.assert_every_value_has_its_hint(SYSTEM)


# ---- data gate


def _problems(parameters: np.ndarray, mesh: np.ndarray) -> list[str]:
    """What the checks of the page find wrong with pairs, by place."""
    pairs = {"mesh": mesh.astype(np.float32), "rig_parameters": parameters.astype(np.float32)}
    return [problem.pointer for problem in SYSTEM.data_problems(CONTRACT, pairs)]


def _pairs(rows: int = 50) -> tuple[np.ndarray, np.ndarray]:
    parameters = np.random.default_rng(4).random((rows, 6))
    return parameters, np.array([mesh_by_hand(row) for row in parameters]).reshape(rows, 24)


def test_good_data_pass_the_gate(mesh: np.ndarray) -> None:
    """Users switch off a gate that refuses good data."""
    assert _problems(*_pairs()) == []
    assert list(SYSTEM.data_problems(CONTRACT, {"mesh": mesh})) == []


def _swapped(mesh: np.ndarray) -> np.ndarray:
    return mesh.reshape(-1, 8, 3)[:, [0, 1, 2, 3, 4, 5, 7, 6]].reshape(-1, 24)


BAD_DATA: dict[str, Any] = {
    "vertices exchanged": (lambda p, m: (p, _swapped(m)), "mesh/vertex_7"),
    "flattened by axes": (lambda p, m: (p, m.reshape(-1, 8, 3).swapaxes(1, 2).reshape(-1, 24)), "mesh/vertex_7"),
    "half the angles": (
        lambda p, _m: (p, np.array([mesh_by_hand([*(0.25 + row[:3] / 2), *row[3:]]) for row in p]).reshape(-1, 24)), "mesh",
    ),
    "rows moved by one": (lambda p, m: (p, np.roll(m, 1, axis=0)), "mesh"),
    "a parameter of another pose": (lambda p, m: (np.where(p == p[3, 2], 0.1, p), m), "mesh"),
    "one row only, again and again": (
        lambda p, m: (np.repeat(p[:1], 50, axis=0), np.repeat(m[:1], 50, axis=0)), "rig_parameters",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_are_refused(name: str) -> None:
    """An approximation learns bad data without an error."""
    make, place = BAD_DATA[name]
    assert place in _problems(*make(*_pairs()))
