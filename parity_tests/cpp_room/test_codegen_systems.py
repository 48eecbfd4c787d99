"""The generated header of a declared system: it compiles, and its self-test fails for every changed stage."""

from dataclasses import replace

import pytest

from rigpact.contract.contract_files import contract_in_memory, open_contract
from rigpact.contract.conventions import InputOrder
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import System
from rigpact.fixtures import demo_bundle
from rigpact.reports.engine.cpp_text import headers_folder, identifier, identifiers
from rigpact.reports.engine.header import contract_header

from ..every_case import every_case
from .conftest import ROOM, STRICT, compiled, ran
from .drawn_contracts import bundle, state_slices, written

SYSTEMS = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
ENGINE = ROOM / "studio_engine.cpp"


def contract_path(name):
    return demo_bundle().parent / name / f"{name}.json"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_self_test_passes_on_the_expected_rows_and_on_no_others(any_compiler, tmp_path, name):
    """A self-test must fail on wrong rows and pass on correct ones."""
    contract = open_contract(contract_path(name))
    (tmp_path / "contract.hpp").write_text(contract_header(contract), encoding="utf-8")
    done = ran(compiled(any_compiler, ENGINE, tmp_path / "engine", include=[tmp_path]), contract_path(name))
    said = [line.split(":") for line in done.stdout.splitlines()]

    assert said[0][:2] == ["right", ""]
    assert int(said[0][2]) > 0
    last = contract.system.graph.names[-1]
    assert said[-6:-2] == [
        ["driven", "", "1"],
        ["driven wrong", last, "2"],
        ["driven narrow", "another width", last, "0"],
        ["driven silent", "no stage was compared"],
    ]
    changed = said[1:-6]
    assert changed == [[stage, stage, "3", str(contract.fields(stage).width - 1)] for stage, *_ in changed]
    given = {*contract.system.graph.given, *contract.system.graph.answers}
    assert [stage for stage, *_ in changed] == [stage for stage in contract.system.graph.names if stage not in given]
    assert said[-2:] == [["nothing", "no stage was compared"], ["stale", "SHA-256 of the contract"]]


@every_case("name", SYSTEMS)
def test_every_field_has_its_place_in_the_header_that_the_command_writes(command, tmp_path, name):
    """An offset counted by hand becomes wrong when the contract changes; other bytes make every engine file compile again."""
    contract, out = open_contract(contract_path(name)), tmp_path / "contract.hpp"
    assert command("codegen", contract_path(name), "-o", out, "--headers", tmp_path / "sdk").status == 0
    text = out.read_text(encoding="utf-8")
    assert text == contract_header(contract)
    assert (tmp_path / "sdk" / "rigpact" / "sha256.hpp").is_file()
    fields = [field for stage in contract.system.stages for field in contract.fields(stage.name)]
    assert fields
    for field in fields:
        assert f"inline constexpr int {identifier(field.name)}_start = {field.start};" in text
        assert f"inline constexpr int {identifier(field.name)}_size = {field.size};" in text


def system_of_a_studio():
    """Stages, fields and knobs with names that C++ does not take as they are."""
    given = tiled(
        ("class", 3, FieldKind.DIRECTION, "", "a \\ b"),
        ("é", 6, FieldKind.ROT6D, "", ""),
        ("x y", 1, FieldKind.FLAG, "", ""),
    )
    order = InputOrder("bind order", {"a,b": ("a", "b")}, "which is bound where", items=("a", "b"))
    stages = (
        Stage("union", given),
        Stage("2nd", given, ("union",), lambda frames: frames["union"], knobs=(order,)),
        Stage("never", given, ("union",), lambda frames: frames.drive),
    )
    return System("studio", "A studio's", stages, ("union",), ("2nd",))


CONSTANTS = {
    "class": 3, "n": 2.5, "yes": True, "name": 'a"b\\', "none": None, "empty": [], "huge": 1e300, "wide": 2**40,
    "names": ["a", "é"], "table": [[1, 2], [3, 4.5]], "ragged": [[1], [1, 2]], "mixed": [1, "a"],
    "deep": {"int": [1, 2], "more": {"x": 1}}, "flags": [True, False], "a b": 1, "a_b": 2,
}  # fmt: skip


def test_any_name_and_any_constant_becomes_cpp(compiler, tmp_path):
    """A studio's system may have a stage called `union` and a table with rows of several lengths."""
    text = contract_header(contract_in_memory(system_of_a_studio(), CONSTANTS))
    (tmp_path / "contract.hpp").write_text(text, encoding="utf-8")
    done = ran(compiler, *STRICT, f"-I{headers_folder()}", f"-I{tmp_path}", "-fsyntax-only", ENGINE)
    assert done.returncode == 0, done.stderr
    assert "without never, which generated inputs cannot compute" in text
    assert 'kBindOrder[2] = {\n    "a", "b",' in text


def test_what_no_header_can_say_is_refused(tmp_path):
    """C++ has no literal for NaN; a self-test that compares nothing would always pass; a guessed size is a wrong header."""
    own = system_of_a_studio()
    document = bundle(state_slices(3, contacts=True), {"BoneRotations6D": 18}, 3, 3, {"columns": ["X", "Z"]}, 0.3)
    short = written(tmp_path, {key: value for key, value in document.items() if "ose" not in key})
    for contract, words in (
        (contract_in_memory(own, {"scale": [1.0, float("nan")]}), "not finite"),
        (contract_in_memory(replace(own, stages=own.stages[:1]), {}), "no stage that made-up inputs lead to"),
        (short, "pose_hist_len"),
    ):
        with pytest.raises(UnusableInput, match=words):
            contract_header(contract)


@pytest.mark.parametrize("optimisation", ["-O3", pytest.param("-O0", marks=pytest.mark.nightly)])
def test_a_start_up_test_refuses_nan_under_fast_maths(compiler, tmp_path, optimisation):
    """With `-ffast-math` every comparison with NaN was true, so a network of NaN passed."""
    (tmp_path / "contract.hpp").write_text(contract_header(open_contract(contract_path("neurarig"))), encoding="utf-8")
    flags, vectors, statistics = (optimisation, "-ffast-math"), 64, 16  # bits of rigpact::Check
    done = ran(compiled(compiler, ROOM / "fast_math.cpp", tmp_path / "fast_math", *flags, include=[tmp_path]))
    assert done.stdout.splitlines() == [f"{vectors} {vectors} {statistics} 0"] * 4 + ["0"]


NAMES = [("97_bytes", "n97_bytes"), ("default", "default_"), ("a__b", "a_b"), ("_x", "x"), ("é", "n"), ("x y", "x_y")]


@every_case(("text", "name"), NAMES)
def test_a_name_becomes_an_identifier_and_names_stay_apart(text, name):
    """Two underscores, or one before a capital, belong to the compiler; two fields that differ in a sign are two."""
    assert identifier(text) == name
    assert identifiers(["a+", "a-", "a"]) == ["a", "a_2", "a_3"]
    assert identifiers(["é", "ü", "n"]) == ["n", "n_2", "n_3"]
