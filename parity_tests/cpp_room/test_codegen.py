"""The generated header: up to date, deterministic, with a SelfTest() that refuses a changed bundle at start."""

import copy
import ctypes as c
import json
import sys

import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reports.command_line import run_command_line
from rigpact.reports.engine.cpp_text import OWN_HEADERS, copy_headers, headers_folder, shared_knobs, string_literal
from rigpact.reports.engine.header import contract_header

from ..every_case import every_case
from .conftest import ROOM, STRICT, compiled, ran
from .cpp_side import ContractStruct, Kept
from .drawn_contracts import bundle, state_slices, written

KNOBS = find_system("enemy_animation").knobs

CHECKS = ("bundle_bytes", "widths", "layout", "bones", "statistics", "conventions", "vectors")
SPEC = {"columns": ["X", "Z"], "output_mode": "residual"}


class EngineStruct(c.Structure):
    _fields_ = (
        ("bundle_bytes", c.c_char_p), ("bundle_size", c.c_size_t), ("contract", ContractStruct),
        ("bone_names", c.POINTER(c.c_char_p)), ("conventions_sha256", c.c_char_p), ("companion_bytes", c.c_char_p),
        ("companion_size", c.c_size_t),
    )  # fmt: skip


def original():
    return bundle(state_slices(3, contacts=True), {"BoneRotations6D": 18}, 3, 3, SPEC, 0.3)


def moved_slice(document):
    """Yaw and velocity change places; every width stays."""
    slices = document["meta"]["state_layout"]
    slices["RootYaw"], slices["RootVelocity"] = {"start": 3, "size": 1}, {"start": 4, "size": 2}


def extra_bone(document):
    """A bone more: every later slice moves."""
    document.clear()
    document.update(bundle(state_slices(4, contacts=True), {"BoneRotations6D": 24}, 4, 3, SPEC, 0.3))


def other_history(document):
    """Two frames of history instead of three."""
    for name in ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"):
        document[name] = document[name][:36]
    document["pose_hist_len"] = 2


MUTANTS = {
    "moved slice": (moved_slice, {"layout"}),
    "extra bone": (extra_bone, {"widths", "layout"}),
    "other columns": (lambda root: root["meta"]["rot6d_spec"].update(columns=["X", "Y"]), {"conventions"}),
    "other mode": (lambda root: root["meta"]["rot6d_spec"].update(output_mode="delta"), {"conventions"}),
    "other scale": (lambda root: root["tanh_scales_angvel"].__setitem__(2, 9.0), {"statistics"}),
    "other deviation": (lambda root: root["StdY"].__setitem__(4, 1.01 * root["StdY"][4]), {"statistics"}),
    "reordered bones": (lambda root: root["meta"].update(bone_names=["pelvis", "thigh_r", "thigh_l"]), {"bones"}),
    "other history": (other_history, {"widths"}),
}


@pytest.fixture(scope="module")
def agreed(tmp_path_factory):
    """The contract that the header was generated from, in a folder with contract.hpp."""
    folder = tmp_path_factory.mktemp("agreed")
    contract = written(folder, original())
    (folder / "contract.hpp").write_text(contract_header(contract), encoding="utf-8")
    return contract


@pytest.fixture(scope="module")
def self_test(any_compiler, agreed, tmp_path_factory):
    """SelfTest() of the generated header: contract as the engine parsed it -> (failed checks, what)."""
    out = tmp_path_factory.mktemp("self_test") / "self_test.so"
    flags = ("-O1", "-shared", "-fPIC", "-fno-exceptions", "-fno-rtti")
    library = c.CDLL(str(compiled(any_compiler, ROOM / "self_test_abi.cpp", out, *flags, include=[agreed.path.parent])))
    library.rigpact_self_test.restype = c.c_uint

    def call(contract):
        kept, what, index = Kept(), c.c_char_p(), c.c_int()
        names = (c.c_char_p * contract.numbers.bone_count)(*(name.encode() for name in contract.numbers.bone_names))
        content = contract.path.read_bytes()
        engine = EngineStruct(
            content, len(content), kept.contract(contract), names, contract.hashes["conventions_sha256"].encode()
        )
        failed = library.rigpact_self_test(c.byref(engine), c.byref(what), c.byref(index))
        return {name for bit, name in enumerate(CHECKS) if failed >> bit & 1}, (what.value or b"").decode()

    return call


def mutant(name, folder):
    document = copy.deepcopy(original())
    MUTANTS[name][0](document)
    return written(folder, document)


@every_case("name", MUTANTS)
def test_a_changed_bundle_is_refused_before_the_first_frame(self_test, agreed, tmp_path, name):
    """Otherwise the first to see a twitching character is a player. Users switch off a test that refuses a correct bundle."""
    assert self_test(agreed) == (set(), "")
    failed, what = self_test(mutant(name, tmp_path))
    assert failed == {"bundle_bytes"} | MUTANTS[name][1], what


def test_the_same_bundle_gives_the_same_bytes(agreed, tmp_path):
    """A header that differs from run to run makes every engine file compile again."""
    first = (agreed.path.parent / "contract.hpp").read_text(encoding="utf-8")
    assert contract_header(load_contract(agreed.path)) == first
    out = tmp_path / "contract.hpp"
    assert run_command_line(["codegen", str(agreed.path), "-o", str(out), "--headers", str(tmp_path / "sdk")]) == 0
    assert out.read_text(encoding="utf-8") == first
    assert (tmp_path / "sdk" / "rigpact" / "plan.hpp").is_file()


def test_the_enumerations_are_those_of_the_knobs():
    """Run `python -m rigpact.reports.engine.cpp_text` when this fails: a knob without an enumerator is a mutant C++ cannot be."""
    for name, header in OWN_HEADERS.items():
        assert (headers_folder() / "rigpact" / name).read_text(encoding="utf-8") == header(), name
    lists = {"bone_order", "input_order"}
    assert {*shared_knobs()} >= {*KNOBS} - lists


@pytest.mark.parametrize("traced", [0, 1])
def test_every_header_compiles_in_any_order_and_beside_others_macros(compiler, agreed, tmp_path, traced):
    """`small` is a type in the headers of Windows, `check` a macro in Unreal: the words are theirs, the errors ours."""
    folder = copy_headers(tmp_path)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.hpp"))
    assert len(names) > 20
    includes = [f'#include "rigpact/{name}"\n' for name in (names if traced else names[::-1])]
    (tmp_path / "all.cpp").write_text("".join(includes) + '#include "contract.hpp"\n')
    others = ("-include", ROOM / "hostile_macros.hpp") if traced else STRICT[1:]
    flags = [
        "-std=c++17",
        *others,
        "-fsyntax-only",
        f"-DRIGPACT_TRACE={traced}",
        f"-I{tmp_path}",
        f"-I{agreed.path.parent}",
    ]
    done = ran(compiler, *flags, tmp_path / "all.cpp")
    assert done.returncode == 0, done.stderr


@every_case(
    ("text", "literal"),
    [("pelvis", '"pelvis"'), ('a"\\b', '"a\\042\\134b"'), ("é\n", '"\\303\\251\\012"'), ("??/", '"\\077\\077/"')]
)  # fmt: skip
def test_a_bone_name_cannot_leave_its_literal(text, literal):
    """Bundles come from anywhere; a name with a quote would be code in the engine."""
    assert string_literal(text) == literal


def test_a_namespace_is_an_identifier(agreed):
    """Two characters in one game need two namespaces; a brace in a namespace would break the code."""
    assert "namespace wolf {" in contract_header(agreed, "wolf")
    with pytest.raises(UnusableInput, match="identifier"):
        contract_header(agreed, "wolf { int x; }")


# --- the example of the CMake project ---


@pytest.mark.nightly
@pytest.mark.needs_program("cmake")
def test_the_example_agrees_and_its_defect_is_refused_and_named(any_compiler, checkout, demo_bundle, tmp_path, command):
    """It is what an engine programmer starts from; the defect is a literal `DeltaM * PrevM` where axes are rows."""
    bundle_path, trace = demo_bundle / "norm_template.json", tmp_path / "run.trace.jsonl"
    settings = [f"-DRIGPACT_BUNDLE={bundle_path}", f"-DRIGPACT_COMMAND={sys.executable};-m;rigpact.reports"]
    configure = [
        "cmake",
        "-S",
        checkout / "reference_runtime" / "cpp",
        "-B",
        tmp_path,
        f"-DCMAKE_CXX_COMPILER={any_compiler}",
    ]
    for words in ((*configure, *settings), ("cmake", "--build", tmp_path, "-j", "2")):
        done = ran(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    asked = ("explain", trace, "--contract", bundle_path, "--format", "json")
    given = [word for name in ("x_raw", "cond_raw", "contacts", "y_norm") for word in ("--allow-unjudged", name)]
    assert ran(tmp_path / "rigpact_example", bundle_path, trace, 40).returncode == 0
    assert command(*asked, *given).status == 0
    trace.unlink()
    spoilt = (tmp_path / "rigpact_example_prev_delta", bundle_path, trace, 40)
    refused = ran(*spoilt)
    assert (refused.returncode, "self-test" in refused.stderr, trace.exists()) == (1, True, False)
    assert ran(*spoilt, "ignore").returncode == 0
    assert [cause["changes"] for cause in json.loads(command(*asked).out)["causes"]] == [
        {"compose_order": "prev_delta"}
    ]
    changed = tmp_path / "norm_template.json"  # an artist exports again and forgets to build
    changed.write_bytes(bundle_path.read_bytes() + b"\n")
    done = ran(tmp_path / "rigpact_example", changed, trace, 5)
    assert (done.returncode, "SHA-256" in done.stderr) == (1, True)
