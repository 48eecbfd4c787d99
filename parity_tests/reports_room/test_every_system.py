"""describe, breaking, codegen and systems answer for every system through one path, the enemy animation among them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.pages.registry import find_system, known_systems
from rigpact.fixtures import demo_bundle

BUNDLES = demo_bundle().parent
CONTRACTS = {
    "enemy_animation": BUNDLES / "demo" / "norm_template.json",
    **{name: BUNDLES / name / f"{name}.json" for name in ("neurarig", "blender_ik", "rig_inversion", "imu_pose")},
}
EVERY_SYSTEM = pytest.mark.parametrize("name", CONTRACTS)
Call = Callable[..., Any]


def test_every_system_of_rigpact_is_asked() -> None:
    """A new system must not be supported without a test."""
    own = {name for name, entry in known_systems().items() if entry.module.startswith("rigpact.")}
    assert own == set(CONTRACTS)


@EVERY_SYSTEM
def test_describe_shows_every_stage_field_knob_and_tensor(command: Call, name: str) -> None:
    """The contract document is written from this: what is missing there is not agreed on."""
    path, system = CONTRACTS[name], find_system(name)
    answer = command("show", path, "--onnx", path.with_name("model.onnx"), "--format", "markdown")

    assert answer.status == 0
    for title in ("Stages", "Fields", "Tensors", "Conventions", "Feedback", "Model"):
        assert f"\n## {title}\n" in answer.out
    rows = [line[2:-2].split(" | ") for line in answer.out.splitlines() if line.startswith("| ")]
    firsts = {row[0] for row in rows}
    assert {*system.graph.names, *system.knobs} <= firsts
    assert [row[1] for row in rows if row[0].isdigit()] == list(system.inputs)
    assert [row[1] for row in rows if row[0].startswith("output ")] == list(system.outputs)
    for layout in system.vectors.values():
        for field in layout:
            found = [row for row in rows if len(row) == 10 and row[1] == field.name]
            assert any(row[2:4] == [str(field.start), str(field.stop)] and row[5] == field.kind.value for row in found)


@EVERY_SYSTEM
def test_describe_says_where_a_convention_comes_from(command: Call, name: str) -> None:
    """Readers must see whether a convention is declared or only the default."""
    path = CONTRACTS[name]
    place = "meta.rot6d_spec.output_mode" if name == "enemy_animation" else "| conventions."
    assert place in command("show", path, "--format", "markdown").out


@EVERY_SYSTEM
def test_breaking_sees_no_change_and_a_changed_rate(command: Call, tmp_path: Path, name: str) -> None:
    """Half the frame rate makes every system wrong."""
    document = json.loads(CONTRACTS[name].read_text(encoding="utf-8"))
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document | {"fps": 15.0}), encoding="utf-8")
    same = command("diff", CONTRACTS[name], CONTRACTS[name])
    answer = command("diff", CONTRACTS[name], changed, "--format", "json")

    assert (same.status, same.out.startswith("COMPATIBLE: 0 changes")) == (0, True)
    assert answer.status == 1
    assert [each["kind"] for each in json.loads(answer.out)["changes"]] == ["frame-rate-changed"]


@EVERY_SYSTEM
def test_breaking_refuses_a_contract_of_another_system(command: Call, name: str) -> None:
    """For a file of another system, 'everything changed' would be a misleading answer."""
    other = CONTRACTS["neurarig" if name != "neurarig" else "imu_pose"]
    answer = command("diff", CONTRACTS[name], other)

    assert (answer.status, answer.out) == (2, "")
    assert len(answer.err.strip().splitlines()) == 1


@EVERY_SYSTEM
def test_codegen_writes_a_header_with_a_self_test(command: Call, tmp_path: Path, name: str) -> None:
    """The command must accept every contract; cpp_room compiles and runs the headers."""
    answer = command("codegen", CONTRACTS[name], "--out", tmp_path / "contract.hpp", "--namespace", "wolf")

    assert answer.status == 0
    assert name in answer.out
    text = (tmp_path / "contract.hpp").read_text(encoding="utf-8")
    assert "namespace wolf {" in text
    assert "SelfTestResult SelfTest(" in text


@EVERY_SYSTEM
def test_systems_shows_stages_feedback_knobs_and_hints(command: Call, name: str) -> None:
    """Authors of exporters and engineers who search a defect start here."""
    system, told = find_system(name), json.loads(command("show", name, "--format", "json").out)
    rows = {section["title"]: section["rows"] for section in told["sections"]}
    text = command("show", name).out

    assert ["package", "rigpact"] in rows["System"]
    assert [row[0] for row in rows["Stages"]] == list(system.graph.names)
    assert [row[0] for row in rows["Feedback"]] == [stage.name for stage in system.stages if stage.carried]
    for knob in system.knobs.values():
        (row,) = (row for row in rows["Conventions"] if row[0] == knob.name)
        assert (row[2], row[3]) == (", ".join(knob.values[1:]), knob.meaning)
        assert knob.name in text
    assert name in command("show").out


@EVERY_SYSTEM
def test_a_contract_to_start_from_is_written_or_refused_in_one_sentence(
    command: Call, tmp_path: Path, name: str
) -> None:
    """The enemy animation's contract is a schema bundle, which training writes."""
    path = tmp_path / "new.json"
    answer = command("show", name, "--write-contract", path)

    if name == "enemy_animation":
        assert (answer.status, answer.out, path.exists()) == (2, "", False)
        assert "docs/systems.md" in answer.err
    else:
        assert answer.status == 0
        assert json.loads(path.read_text(encoding="utf-8"))["system"] == name


@EVERY_SYSTEM
def test_every_system_has_its_section(checkout: Path, name: str) -> None:
    """What a refusal of the command line points to must be there."""
    assert f"\n## {name}\n" in (checkout / "docs" / "systems.md").read_text(encoding="utf-8")
