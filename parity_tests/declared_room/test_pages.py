"""Systems that are one page: the page is short and follows the schema, and a contract file fills it."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import pages
from rigpact.contract.contract_files import open_contract
from rigpact.contract.declared.page import Page
from rigpact.contract.declared.reading import with_changed_words
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system, known_systems
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reports.command_line import run_command_line
from rigpact.reports.diagnosing.relations.contract_arrays import arrays_of

from ..every_case import every_case
from .one_operation import matrix, product
from .samples_of_files import sample

NAMES = sorted(path.name.removesuffix(".toml") for path in files(pages).iterdir() if path.name.endswith(".toml"))
SMALL, INSIDE, LEGS = (sample(name) for name in ("page_small.toml", "page_inside.toml", "legs.toml"))


@pytest.mark.parametrize("name", [name for name in NAMES if find_system(name).vectors])
def test_the_committed_contract_is_the_pages(name, checkout):
    """An exporter that starts from the page and one that has the committed file mean the same.

    A file need not list what only goes into the next frame.
    """
    committed = json.loads((checkout / "fixtures" / "bundles" / name / f"{name}.json").read_text(encoding="utf-8"))
    system = find_system(name)
    said = {vector: entry["layout_hash"] for vector, entry in committed["vectors"].items()}
    own = {vector: layout.layout_hash for vector, layout in system.vectors.items()}
    assert said == {vector: hashed for vector, hashed in own.items() if vector in said}
    assert own.keys() - said.keys() <= system.graph.handed_on
    assert dict(system.conventions()) == committed["conventions"]
    assert set(system.template()) == set(committed["constants"])
    assert known_systems()[name].value == f"rigpact.contract.pages:{name}"


CHARACTER = sample("page_character.toml")


def test_a_convention_of_several_stages_is_said_once():
    """Said at each stage, one side's word would be changed at one of them, and the reference would run on two conventions."""
    system = Page("character", CHARACTER).system()
    assert system.graph.stages_of("rot6d_columns") == {"y", "next"}
    assert system.knobs["rot6d_columns"].values == ("zx", "xz", "xy", "yx", "yz", "zy")
    assert {stage.name: [k.meaning for k in stage.knobs if k.name == "rot6d_columns"] for stage in system.stages} == {
        "x": [], "z": [], "y": ["which columns"], "next": ["which columns"],
    }  # fmt: skip
    angle = system.knobs["angvel_angle"]
    assert (angle.default, angle.advice, angle.in_training) == ("half", "turn faster", "full")
    assert system.conventions().of_training == {"angvel_angle": "full"}
    assert [knob.name for knob in system.benign_knobs] == ["math"], "no value of it is ever a defect"
    assert system.graph.stages_of("math") == frozenset()


def test_the_page_of_a_character_is_as_wide_as_its_bundle(demo_bundle):
    """A layout of the page's own would call another rig's recording broken, or read one bone's numbers as another's."""
    contract = open_contract(demo_bundle / "norm_template.json")
    meta = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))["meta"]
    fields = find_system("enemy_animation").graph["x_raw"].fields(contract)
    bones = len(meta["bone_names"])
    rotations = [field for field in fields if field.name == "BoneRotations6D"]
    start = meta["state_layout"]["BoneRotations6D"]["start"]
    assert [(field.bone, field.start, field.kind) for field in rotations] == [
        (name, start + 6 * place, "rot6d") for place, name in enumerate(meta["bone_names"])
    ]
    assert {field.unit for field in fields if field.name == "BoneAngularVelocities"} == {"rad/s"}
    assert find_system("enemy_animation").graph["quat"].fields(contract).width == 4 * bones
    assert find_system("enemy_animation").vectors == {}


def test_a_contract_of_ones_own_has_no_character(tmp_path, capsys):
    """Its numbers are numbers of a file: an operation that asks for a skeleton would end in an error of rigpact."""
    given = 'given = [{ name = "v", size = 3 }]\nstages = [{ name = "s", operation = "state_features", of = "v" }]\n'
    path = tmp_path / "own.toml"
    path.write_text(f'format = "rigpact-contract"\nversion = 1\nname = "own"\n{given}', encoding="utf-8")
    assert run_command_line(["check", str(path)]) == 1
    assert "found state_features, expected an operation of any contract" in capsys.readouterr().out


AFFINE = 'operation = "affine", of = "x", scale = "gain"'
WITHOUT_USE = SMALL.partition("gain_use =")[0]
OF_Y = "[1.0, 2.0] },"
SLIPS = [
    # a page, what stands there, what stands there by a slip, what the answer says
    (CHARACTER, '"next" }', '"nxt" }', "found 'nxt', expected a stage, for x: x, z, y, next"),
    (CHARACTER, 'carried = "next"', "carried = 1", "found nothing, expected a word"),
    (CHARACTER, "rot6d_columns =", "rot6d_column =", "found rot6d_column, expected a convention that stages share"),
    (CHARACTER, '"zx"', '"zz"', "found 'zz', expected a reading of rot6d_columns: xz"),
    (SMALL, 'value = "squared"', 'value = "cubed"', "cubed"),
    (SMALL, 'only = ["squared", "largest"]', 'only = ["squared", "longest"]', "longest"),
    (SMALL, 'only = ["squared", "largest"]', 'only = ["largest"]', "squared"),
    (SMALL, 'at = "y.scale"', 'at = "y.sale"', "y.sale"),
    (SMALL, 'at = "y.scale"', 'at = "w.scale"', "w.scale"),
    *((WITHOUT_USE, AFFINE, f'operation = "formula", of = "x", is = "{formula}"', says) for formula, says in (
        ("x + gain * w", "'w', expected a name"), ("x +", "a formula"), ("__import__('os')", "__import__"), ("roots(x)", "roots"),
    )),
    (INSIDE, OF_Y, f'{OF_Y}\n    {{ name = "z", operation = "shift", of = "y", frames = -1, inner = true }},', "inner"),
    (INSIDE, '"half.scale" = { whole', '"half.order" = { whole', "half.order"),
    (INSIDE, 'value = "halved"', "", "value"),
    (INSIDE, ', measure = "euclidean"', "", "measure"),
]  # fmt: skip


@every_case(("page", "old", "new", "says"), SLIPS, ids=lambda each: each[-30:])
def test_a_slip_on_a_page_is_refused(page, old, new, says):
    """A convention that nothing reads, feedback from nowhere, a name that nothing has would be lost without a word."""
    assert old in page
    with pytest.raises(UnusableInput) as refused:
        Page("small", page.replace(old, new), by_rigpact=True).system()
    assert says in str(refused.value)


def small(**changes: Any):
    """The system of the page above, with constants of a contract file."""
    system = Page("small", SMALL).system()
    return system, {**system.template(), **changes}


@every_case(
    ("changes", "pointer", "expected"),
    [
        ({"gain": [2.0, 0.0]}, "/gain", "above zero"),
        ({"gain": [2.0, 3.0, 4.0]}, "/gain", "2 numbers"),
        ({"gain": [True, False]}, "/gain", "2 numbers"),
        ({"gain": [float("nan"), 1.0]}, "/gain", "2 numbers"),
        ({"frozen": [[1, 2], [3, 5]]}, "/frozen/1", "[3, 4]"),
        ({"frozen": [[1, 2], [3]]}, "/frozen", "2 × 2 numbers"),
        ({"words": ["one", 2]}, "/words", "names: one, two, …"),
        ({"words": []}, "/words", "names: one, two, …"),
        ({"names": ["right", "left"]}, "/names", "left, right"),
        ({"names": ["left"]}, "/names", "left, right"),
        ({"sizes": [20, 40]}, "/sizes", "two sizes of 10 to 40"),
        ({"sizes": [20]}, "/sizes", "two sizes of 10 to 40"),
        ({"axes": [[1, 0], [-2, 0]]}, "/axes", "unit vectors"),
        ({"axes": [[1, 0], [0.6, 0.8]]}, "/axes", "rows that point to opposite sides"),
        ({"spare": "seven"}, "/spare", "a number"),
    ],
)
def test_a_constant_that_contradicts_the_page_is_named(changes, pointer, expected):
    """A file that loads with a table of another shape computes something else."""
    system, constants = small(**changes)
    assert [(each.pointer, each.expected) for each in system.problems_of(constants)] == [(pointer, expected)]


def test_what_a_contract_file_leaves_out_is_said_in_one_finding():
    """Of a file without constants, a list of seven findings hides that it is one mistake."""
    system, _ = small()
    (problem,) = system.problems_of({"words": ["one", "two"]})
    assert (problem.pointer, problem.found) == ("", "no gain, frozen, names, sizes, axes")


def test_words_of_a_page_are_none_of_a_contract_of_ones_own(tmp_path):
    """What a command does not compute with must not look as if it did."""
    path = tmp_path / "contract.toml"
    path.write_text(SMALL, encoding="utf-8")
    with pytest.raises(UnusableInput, match="constants"):
        open_contract(path)


def test_numbers_that_no_contract_may_have_are_no_candidate(checkout):
    """`explain` would say that a thigh is a centimetre long, and no file could be written that says so."""
    contract = open_contract(checkout / "fixtures/bundles/neurarig/neurarig.json")
    femur = next(array for array in arrays_of(contract) if array.name == "femur_cm")
    assert femur.replaced(np.array([1.0, 1.0])) is None
    assert femur.replaced(np.array([44.0, 45.0])).constants["femur_cm"] == [44.0, 45.0]


def test_numbers_of_a_filled_page_are_computed_with(checkout):
    """The rig of a customer has vertices of its own."""
    contract: Any = open_contract(checkout / "fixtures/bundles/rig_inversion/rig_inversion.json")
    doubled = {**contract.constants, "vertices": (2.0 * np.array(contract.constants["vertices"])).tolist()}
    known = {"transform": np.array([[0.1, 0.2, 0.3, 1.0, 1.5, -0.5]], np.float32)}
    once, twice = (
        stages_from(each, known)["reconstruction"] for each in (contract, replace(contract, constants=doubled))
    )
    assert twice == pytest.approx(2.0 * once, rel=1e-6)


FRAMES = 40


def _recording(folder, composed, of_calf=None, length=41.7):
    """The legs of an engine that composes by `composed`; only positions and what is given are recorded."""
    random = np.random.default_rng(5)
    turns = random.normal(size=(3, FRAMES, 4))
    pelvis, thigh, calf = turns / np.linalg.norm(turns, axis=2, keepdims=True)
    thigh_world = composed(pelvis, thigh)
    calf_world = (of_calf or composed)(thigh_world, calf)
    rows = {"pelvis": pelvis, "thigh": thigh, "calf": calf}
    rows |= {"knee": 45.75 * matrix(thigh_world)[..., 0], "foot": length * matrix(calf_world)[..., 0]}
    path = folder / "engine.npz"
    np.savez(path, **{name: each.astype(np.float32) for name, each in rows.items()})
    return path


@pytest.fixture
def contract(tmp_path):
    path = tmp_path / "contract.toml"
    path.write_text(LEGS, encoding="utf-8")
    return path


def test_a_wrong_product_in_both_legs_is_one_cause(command, contract, tmp_path):
    """One line of the engine is wrong and two stages differ: it must be one change, not two or none."""
    recording = _recording(tmp_path, lambda first, second: product(second, first))
    patched = tmp_path / "patched.toml"
    answer = command("explain", recording, "--contract", contract, "--patch", patched, "--format", "json")
    assert answer.status == 1
    assert [each["changes"] for each in json.loads(answer.out)["causes"]] == [{"multiplication": "second_first"}]
    assert (
        tomllib.loads(patched.read_text(encoding="utf-8"))["conventions"]["multiplication"]["value"] == "second_first"
    )
    assert command("explain", recording, "--contract", patched).status == 0


ANOTHER_WORD_EACH = sample("legs_other_words.toml")


@every_case(
    ("reading", "composed", "back", "length"),
    [("world", lambda _parent, own: own, 1, 41.7), ("mirrored", product, -1, -41.7)],
)
def test_a_convention_may_be_another_word_at_each_place(reading, composed, back, length, command, contract, tmp_path):
    """A foot that is mirrored is a turn and a length at once: two causes for one line of the engine are none."""
    contract.write_text(LEGS.partition("multiplication =")[0] + ANOTHER_WORD_EACH, encoding="utf-8")
    recording = _recording(tmp_path, product, lambda thigh, calf: composed(thigh, calf) * ([back] * 3 + [1]), length)
    patched = tmp_path / "patched.toml"
    answer = command("explain", recording, "--contract", contract, "--patch", patched, "--format", "json")
    assert [each["changes"] for each in json.loads(answer.out)["causes"]] == [{"frame": reading}]
    assert tomllib.loads(patched.read_text(encoding="utf-8"))["conventions"]["frame"]["value"] == reading
    assert command("explain", recording, "--contract", patched).status == 0


def test_a_stage_inside_others_is_computed_where_it_is_read_and_recorded_nowhere():
    """What the page computes on the way is nobody's vector: no recording has it, no contract file lists it."""
    system = Page("inside", INSIDE).system()
    assert (system.graph.names, system.graph["far"].needs) == (("x", "y", "far"), ("x",))
    assert (list(system.vectors), list(system.knobs)) == (["x", "y", "far"], ["halved"])
    assert system.graph.stages_of("halved") == {"y", "far"}
    contract: Any = Contract(system, Path(), "", {}, system.conventions(), {})
    rows = {"x": np.array([[6.0, 8.0]], np.float32)}
    for changes, y, far in (({}, [4.0, 6.0], 5.0), ({"halved": "whole"}, [7.0, 10.0], 10.0)):
        found = stages_from(contract.with_conventions(changes), rows)
        assert (found["y"].tolist(), found["far"].tolist()) == ([y], [[far]])


def test_own_words_of_a_contract_are_written_back_as_the_operation_has_them(contract):
    """The contract may call a reading by its own word; the file still needs the operation's."""
    named = LEGS.replace(
        'value = "first_second" }', 'value = "first_second", words = { second_first = "child_parent" } }'
    )
    contract.write_text(named, encoding="utf-8")
    knobs = open_contract(contract).system.knobs
    changed = with_changed_words(named.encode(), knobs, {"multiplication": "child_parent"})
    assert knobs["multiplication"].values[1] == "child_parent"
    assert changed == named.replace('value = "first_second"', 'value = "second_first"').encode()


SHARED = 'at = ["thigh_world.product", "calf_world.product"], value'
TWICE = 'at = ["calf_world.product", "calf_world.product"], value'


@every_case(
    ("old", "new", "code", "place", "expected"),
    [
        (SHARED, 'at = "shin_world.product", value', "RP740", "multiplication/at", "thigh_world"),
        (SHARED, 'at = "thigh_world.prduct", value', "RP740", "multiplication/at", "product"),
        (SHARED, "value", "RP741", "multiplication/at", "STAGE.PARAMETER"),
        (SHARED, TWICE, "RP747", "multiplication/at", "one convention"),
        (SHARED, 'at = "knee.direction", value', "RP746", "multiplication/at", "no word at the stage"),
        ('value = "first_second"', 'value = "frist_second"', "RP746", "/stages/0/product", "first_second"),
    ],
)
def test_a_convention_of_nothing_is_refused(old, new, code, place, expected, command, contract):
    """A misspelt place would leave the convention without effect, and nobody would know."""
    assert old in LEGS
    contract.write_text(LEGS.replace(old, new), encoding="utf-8")
    answer = command("check", contract, "--format", "json")
    found = json.loads(answer.out)["findings"][0]
    assert found["code"] == code
    assert found["pointer"].endswith(place)
    assert expected in found["message"] + found["hint"]
