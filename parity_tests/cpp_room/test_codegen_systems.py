"""The generated header of a declared system: it compiles, and its self-test fails for every changed stage."""

import json
import shutil
from dataclasses import replace

import pytest

from rigpact.contract.contract_files import contract_in_memory, open_contract
from rigpact.contract.conventions import InputOrder
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import System
from rigpact.fixtures import demo_bundle
from rigpact.reports.command_line import run_command_line
from rigpact.reports.engine.codegen import headers_folder
from rigpact.reports.engine.cpp_text import identifier, identifiers
from rigpact.reports.engine.header import contract_header

from ..programs import missing
from .conftest import COMPILERS, STRICT, compiled, ran

SYSTEMS = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
EVERY_SYSTEM = pytest.mark.parametrize("name", SYSTEMS)
ENGINE = """
#include <cstdio>
#include <vector>
#include "contract.hpp"
using namespace rigpact_contract;

// An engine whose stages are right but for one number. Prints what the self-test says of each.
int main(int, char** words) {
    std::FILE* file = std::fopen(words[1], "rb");
    std::vector<unsigned char> bytes(1 << 22);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    std::vector<std::vector<float>> kept;
    const float* rows[kStageCount];
    for (int i = 0; i < kStageCount; ++i) {
        const int size = kFrames * kExpected[i].width;
        kept.emplace_back(kExpected[i].rows, kExpected[i].rows + size);
        rows[i] = kept.back().data();
    }
    const SelfTestResult right = SelfTest(bytes.data(), bytes.size(), rows);
    std::printf("right:%s:%d\\n", right.what, right.compared);
    for (int i = 0; i < kStageCount; ++i) {
        const std::size_t last = kept[static_cast<std::size_t>(i)].size() - 1;
        float& number = kept[static_cast<std::size_t>(i)][last];
        const float was = number;
        number += 2.0f * kExpected[i].tolerance[last] + 1e-3f;
        const SelfTestResult wrong = SelfTest(bytes.data(), bytes.size(), rows);
        std::printf("%s:%s:%d:%d\\n", kExpected[i].name, wrong.what, wrong.frame, wrong.channel);
        number = was;
    }
    const auto own_loop = [&](int wrong_frame, int count_of_last, bool gives) {
        return SelfTestEngine(bytes.data(), bytes.size(), nullptr, 0, [&](const EngineFrame& in, EngineStages& out) {
            if (in.given[0] != kGiven[0].rows + in.number * kGiven[0].width) std::printf("another row\\n");
            for (int i = 0; gives && i < kStageCount; ++i) {
                const int width = kExpected[i].width, last = i == kStageCount - 1 ? count_of_last : 0;
                std::vector<float> row(rows[i] + in.number * width, rows[i] + (in.number + 1) * width);
                if (in.number == wrong_frame && i == kStageCount - 1) row.back() += 1e3f;
                out.give(static_cast<Stage>(i), row.data(), width + last);
            }
        });
    };
    const SelfTestResult driven = own_loop(-1, 0, true), wrong = own_loop(2, 0, true), narrow = own_loop(-1, -1, true);
    std::printf("driven:%s:%d\\n", driven.what, driven.compared == right.compared);
    std::printf("driven wrong:%s:%d\\n", wrong.what, wrong.frame);
    std::printf("driven narrow:%s:%s:%d\\n", narrow.what, narrow.field, narrow.frame);
    std::printf("driven silent:%s\\n", own_loop(-1, 0, false).what);
    const float* nothing[kStageCount] = {};
    std::printf("nothing:%s\\n", SelfTest(bytes.data(), bytes.size(), nothing).what);
    bytes[0] ^= 1;
    std::printf("stale:%s\\n", SelfTest(bytes.data(), bytes.size(), rows).what);
    return 0;
}
"""


def contract_path(name):
    return demo_bundle().parent / name / f"{name}.json"


@EVERY_SYSTEM
def test_the_self_test_passes_on_the_expected_rows_and_on_no_others(any_compiler, tmp_path, name):
    """A self-test must fail on wrong rows and pass on correct ones."""
    contract = open_contract(contract_path(name))
    (tmp_path / "contract.hpp").write_text(contract_header(contract), encoding="utf-8")
    source = tmp_path / "engine.cpp"
    source.write_text(ENGINE, encoding="utf-8")
    done = ran(compiled(any_compiler, source, tmp_path / "engine", include=[tmp_path]), contract_path(name))
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


@EVERY_SYSTEM
def test_every_field_has_its_place_in_the_header(tmp_path, name):
    """An offset counted by hand becomes wrong when the contract changes."""
    contract = open_contract(contract_path(name))
    text = contract_header(contract, "wolf")

    assert "namespace wolf {" in text
    for stage in contract.system.stages:
        for field in contract.fields(stage.name):
            assert f"inline constexpr int {identifier(field.name)}_start = {field.start};" in text
            assert f"inline constexpr int {identifier(field.name)}_size = {field.size};" in text


@EVERY_SYSTEM
def test_the_command_writes_the_same_bytes(tmp_path, name):
    """A header that differs from run to run makes every engine file compile again."""
    out = tmp_path / "contract.hpp"
    words = ["codegen", str(contract_path(name)), "-o", str(out), "--headers", str(tmp_path / "sdk")]
    assert run_command_line(words) == 0
    assert out.read_text(encoding="utf-8") == contract_header(open_contract(contract_path(name)))
    assert (tmp_path / "sdk" / "rigpact" / "sha256.hpp").is_file()


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


@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_any_name_and_any_constant_becomes_cpp(tmp_path, compiler_name):
    """A studio's system may have a stage called `union` and a table with rows of several lengths."""
    if shutil.which(compiler_name) is None:
        missing(compiler_name)
    contract = contract_in_memory(system_of_a_studio(), CONSTANTS)
    text = contract_header(contract)
    (tmp_path / "contract.hpp").write_text(text, encoding="utf-8")
    source = tmp_path / "engine.cpp"
    source.write_text(ENGINE, encoding="utf-8")
    done = ran(compiler_name, *STRICT, f"-I{headers_folder()}", "-fsyntax-only", source)

    assert done.returncode == 0, done.stderr
    assert "without never, which generated inputs cannot compute" in text
    assert 'kBindOrder[2] = {\n    "a", "b",' in text


def test_a_number_that_is_not_finite_is_refused():
    """C++ has no literal for it, and no engine should compute with it."""
    with pytest.raises(UnusableInput, match="not finite"):
        contract_header(contract_in_memory(system_of_a_studio(), {"scale": [1.0, float("nan")]}))


def test_nothing_to_test_with_is_refused():
    """A header whose self-test compares nothing would always pass."""
    system = replace(system_of_a_studio(), stages=system_of_a_studio().stages[:1])
    with pytest.raises(UnusableInput, match="no stage that made-up inputs lead to"):
        contract_header(contract_in_memory(system, {}))


def test_changed_conventions_change_the_expected_rows(tmp_path):
    """The vectors are those of the conventions that the header names."""
    own = open_contract(contract_path("neurarig"))
    changed = own.with_conventions({"unit": "m"})

    def packet(contract):
        return contract_header(contract).split("kExpected_packet[] = {")[1].split("}")[0]

    assert packet(own) != packet(changed)
    assert "kUnit = Unit::m;" in contract_header(changed)


@pytest.mark.parametrize(
    ("text", "name"),
    [("97_bytes", "n97_bytes"), ("default", "default_"), ("a__b", "a_b"), ("_x", "x"), ("é", "n"), ("x y", "x_y")]
)  # fmt: skip
def test_a_name_becomes_an_identifier(text, name):
    """Two underscores, or one before a capital, belong to the compiler."""
    assert identifier(text) == name


def test_names_stay_apart():
    """Two fields that differ in a sign would be one constant."""
    assert identifiers(["a+", "a-", "a"]) == ["a", "a_2", "a_3"]
    assert json.dumps(identifiers(["é", "ü", "n"])) == '["n", "n_2", "n_3"]'
