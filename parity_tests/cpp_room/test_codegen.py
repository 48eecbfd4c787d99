"""The generated header: up to date, deterministic, with a SelfTest() that refuses a changed bundle at start."""

import copy
import ctypes as c
import hashlib
import json
import shutil
import sys

import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reports.command_line import run_command_line
from rigpact.reports.engine.codegen import (
    OWN_HEADERS,
    copy_headers,
    headers_folder,
    shared_knobs,
)
from rigpact.reports.engine.cpp_text import string_literal
from rigpact.reports.engine.header import contract_header

from ..programs import missing
from .conftest import COMPILERS, ROOM, STRICT, compiled, ran
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


def other_columns(document):
    """The six numbers hold X and Y."""
    document["meta"]["rot6d_spec"]["columns"] = ["X", "Y"]


def other_scale(document):
    """Angular velocities are squashed by another scale."""
    document["tanh_scales_angvel"] = [2.0 * value for value in document["tanh_scales_angvel"]]


def other_deviation(document):
    """One channel of the output is scaled by a hundredth more."""
    document["StdY"][4] *= 1.01


def reordered_bones(document):
    """Left and right thigh are swapped in the bone table."""
    document["meta"]["bone_names"] = ["pelvis", "thigh_r", "thigh_l"]


def other_history(document):
    """Two frames of history instead of three."""
    for name in ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"):
        document[name] = document[name][:36]
    document["pose_hist_len"] = 2


def other_mode(document):
    """The network's output means ΔR instead of ΔR minus identity."""
    document["meta"]["rot6d_spec"]["output_mode"] = "delta"


MUTANTS = {
    moved_slice: {"layout"},
    extra_bone: {"widths", "layout"},
    other_columns: {"conventions"},
    other_scale: {"statistics"},
    other_deviation: {"statistics"},
    reordered_bones: {"bones"},
    other_history: {"widths"},
    other_mode: {"conventions"},
}
EVERY_MUTANT = pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)


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


def mutant(mutate, folder):
    document = copy.deepcopy(original())
    mutate(document)
    return written(folder, document)


def test_the_agreed_bundle_passes(self_test, agreed):
    """Users switch off a self-test that refuses a correct bundle."""
    assert self_test(agreed) == (set(), "")


@EVERY_MUTANT
def test_a_changed_bundle_is_refused_before_the_first_frame(self_test, tmp_path, mutate):
    """Otherwise the first to see a twitching character is a player."""
    failed, what = self_test(mutant(mutate, tmp_path))
    assert failed == {"bundle_bytes"} | MUTANTS[mutate], what


@EVERY_MUTANT
def test_code_reviewed_against_one_bundle_does_not_compile_with_another(any_compiler, agreed, tmp_path, mutate):
    """The build machine is the cheapest place to find a stale size."""
    changed = mutant(mutate, tmp_path)
    (tmp_path / "contract.hpp").write_text(contract_header(changed), encoding="utf-8")
    source = tmp_path / "reviewed.cpp"
    source.write_text(
        '#include "contract.hpp"\n'
        f'static_assert(rigpact_contract::widths_are(3, {agreed.numbers.state.width}, 18, 3), "a size");\n'
        f'static_assert(rigpact_contract::kFingerprint == 0x{agreed.sha256[:16]}ULL, "the bundle");\n'
    )
    command = [any_compiler, *STRICT, "-fsyntax-only", f"-I{headers_folder()}", f"-I{tmp_path}", str(source)]
    done = ran(*command)
    assert done.returncode != 0
    assert "the bundle" in done.stderr
    assert ("a size" in done.stderr) == (mutate in {extra_bone, other_history})


@pytest.mark.parametrize("knob", ["compose_order", "delta_direction", "rot6d_packing", "pose_history_order"])
def test_an_engine_with_another_convention_is_refused(self_test, agreed, knob):
    """The bundle is right, and the code was reviewed under other conventions."""
    changed = agreed.with_conventions({knob: KNOBS[knob].values[1]})
    assert self_test(changed)[0] == {"conventions"}


def test_the_same_bundle_gives_the_same_bytes(agreed, tmp_path):
    """A header that differs from run to run makes every engine file compile again."""
    first = (agreed.path.parent / "contract.hpp").read_text(encoding="utf-8")
    assert contract_header(load_contract(agreed.path)) == first
    out = tmp_path / "contract.hpp"
    assert run_command_line(["codegen", str(agreed.path), "-o", str(out), "--headers", str(tmp_path / "sdk")]) == 0
    assert out.read_text(encoding="utf-8") == first
    assert (tmp_path / "sdk" / "rigpact" / "plan.hpp").is_file()


def test_the_enumerations_are_those_of_the_knobs():
    """Run `python -m rigpact.reports.engine.codegen` when this fails: a knob without an enumerator is a mutant C++ cannot be."""
    for name, header in OWN_HEADERS.items():
        assert (headers_folder() / "rigpact" / name).read_text(encoding="utf-8") == header(), name
    lists = {"bone_order", "input_order"}
    assert {*shared_knobs()} >= {*KNOBS} - lists


def test_every_header_compiles_alone(any_compiler, tmp_path):
    """An engine programmer includes a single header."""
    folder = copy_headers(tmp_path)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.hpp"))
    source = tmp_path / "all.cpp"
    for traced in (0, 1):
        for order in (names, names[::-1]):
            source.write_text("".join(f'#include "rigpact/{name}"\n' for name in order))
            flags = [*STRICT, "-fsyntax-only", f"-DRIGPACT_TRACE={traced}", f"-I{tmp_path}"]
            done = ran(any_compiler, *flags, source)
            assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "literal"),
    [("pelvis", '"pelvis"'), ('a"\\b', '"a\\042\\134b"'), ("é\n", '"\\303\\251\\012"'), ("??/", '"\\077\\077/"')]
)  # fmt: skip
def test_a_bone_name_cannot_leave_its_literal(text, literal):
    """Bundles come from anywhere; a name with a quote would be code in the engine."""
    assert string_literal(text) == literal


def test_a_bundle_without_its_history_length_is_told_what_is_missing(tmp_path):
    """A guessed size would give a wrong header."""
    document = {key: value for key, value in original().items() if "ose" not in key}
    with pytest.raises(UnusableInput, match="pose_hist_len"):
        contract_header(written(tmp_path, document))


def test_a_namespace_is_an_identifier(agreed):
    """Two characters in one game need two namespaces; a brace in a namespace would break the code."""
    assert "namespace wolf {" in contract_header(agreed, "wolf")
    with pytest.raises(UnusableInput, match="identifier"):
        contract_header(agreed, "wolf { int x; }")


@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_the_headers_compile_with(demo_header, compiler_name):
    """Consoles and platforms come with clang: what only g++ takes stops a port."""
    if shutil.which(compiler_name) is None:
        missing(compiler_name)
    flags = [*STRICT, "-fsyntax-only", "-DRIGPACT_TRACE=1", f"-I{headers_folder()}", f"-I{demo_header}"]
    command = [compiler_name, *flags, str(ROOM / "self_test_abi.cpp")]
    done = ran(*command)
    assert done.returncode == 0, done.stderr


# --- the example of the CMake project ---


@pytest.fixture(scope="module")
def example(any_compiler, checkout, demo_bundle, tmp_path_factory):
    """Folder of the built example and its twin with the defect compiled in."""
    folder = tmp_path_factory.mktemp("example")
    source = checkout / "reference_runtime" / "cpp"
    command = f"{sys.executable};-m;rigpact.reports"
    settings = [f"-DRIGPACT_BUNDLE={demo_bundle / 'norm_template.json'}", f"-DRIGPACT_COMMAND={command}"]
    configure = ["cmake", "-S", source, "-B", folder, f"-DCMAKE_CXX_COMPILER={any_compiler}", *settings]
    for words in (configure, ["cmake", "--build", folder, "-j", "2"]):
        done = ran(*words)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run_example(folder, name, *words):
    return ran(folder / name, *words)


def explain(command_words, capfd):
    capfd.readouterr()
    status = run_command_line([*map(str, command_words), "--format", "json"])
    return status, json.loads(capfd.readouterr().out)


@pytest.mark.needs_program("cmake")
def test_the_example_agrees_with_the_contract(example, demo_bundle, tmp_path, capfd):
    """It is what an engine programmer starts from."""
    bundle_path, trace = demo_bundle / "norm_template.json", tmp_path / "run.trace.jsonl"
    assert run_example(example, "rigpact_example", bundle_path, trace, 40).returncode == 0
    given = [word for name in ("x_raw", "cond_raw", "contacts", "y_norm") for word in ("--allow-unjudged", name)]
    status, answer = explain(["explain", trace, "--contract", bundle_path, *given], capfd)
    assert (status, answer["verdict"]) == (0, "agrees")


@pytest.mark.needs_program("cmake")
def test_the_defect_compiled_in_is_refused_and_named(example, demo_bundle, tmp_path, capfd):
    """A common defect: a literal `DeltaM * PrevM` in an engine whose matrices hold axes as rows."""
    bundle_path, trace = demo_bundle / "norm_template.json", tmp_path / "defect.trace.jsonl"
    refused = run_example(example, "rigpact_example_prev_delta", bundle_path, trace, 40)
    assert refused.returncode == 1
    assert "self-test" in refused.stderr
    assert not trace.exists()
    assert run_example(example, "rigpact_example_prev_delta", bundle_path, trace, 40, "ignore").returncode == 0
    status, answer = explain(["explain", trace, "--contract", bundle_path], capfd)
    assert (status, answer["verdict"], answer["first_divergence"]["stage"]) == (1, "explained", "next6d")
    assert [cause["changes"] for cause in answer["causes"]] == [{"compose_order": "prev_delta"}]


@pytest.mark.needs_program("cmake")
def test_a_bundle_that_changed_after_the_build_is_refused(example, demo_bundle, tmp_path):
    """An artist exports again and forgets to build."""
    changed = tmp_path / "norm_template.json"
    changed.write_bytes((demo_bundle / "norm_template.json").read_bytes() + b"\n")
    done = run_example(example, "rigpact_example", changed, tmp_path / "run.trace.jsonl", 5)
    assert (done.returncode, "SHA-256" in done.stderr) == (1, True)


def test_a_companion_that_changed_after_the_build_is_refused(any_compiler, demo_bundle, tmp_path):
    """The bundle is the same, and the history is normalised with last month's statistics."""
    paths = [demo_bundle / name for name in ("norm_template.json", "pretrain_template.json")]
    (tmp_path / "contract.hpp").write_text(contract_header(load_contract(*paths)), encoding="utf-8")
    out = compiled(any_compiler, ROOM / "stale_companion.cpp", tmp_path / "stale", "-O1", include=[tmp_path])

    accepted, digest = ran(out, *paths).stdout.splitlines()

    assert accepted == "1 0 SHA-256 of the companion"
    assert digest == hashlib.sha256(paths[1].read_bytes()).hexdigest()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("math", ["f64", "f32"])
def test_a_step_allocates_nothing_and_the_sanitizers_find_nothing(any_compiler, demo_bundle, tmp_path, math):
    """An animation thread that waits for the heap drops frames; one that reads past a row poses a limb from garbage."""
    changes = {"math": math, "condition_norm": "zscore", "writeback": "all", "angvel_source": "rotations"}
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json", changes)
    (tmp_path / "contract.hpp").write_text(contract_header(contract, with_loop=True), encoding="utf-8")
    flags = ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
    out = compiled(any_compiler, ROOM / "no_allocation.cpp", tmp_path / "no_allocation", *flags, include=[tmp_path])
    done = ran(out)
    assert (done.returncode, done.stdout) == (0, "allocations in steps: 0\n"), done.stderr
