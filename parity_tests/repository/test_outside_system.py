"""A system that rigpact has never heard of, installed as a package: every command answers for it as for its own.

No file of rigpact names the walking policy. If a command fails here, the command knows systems by their names.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rigpact.contract.systems.layout import FieldKind

from ..engine_recordings import as_engine
from ..every_case import every_case
from .outside_project import InProcess, Rigpact, keep_stages

pytestmark = pytest.mark.repository
MODEL = ("--onnx", "policy.onnx")
DRIVEN = ("walk.trace.jsonl", "--contract", "policy.json", "--onnx", "policy.onnx")
BUNDLE = ("--contract", "policy.json")
COMMANDS = (
    "show", "check", "run", "diff", "explain", "nan", "init", "gate",
    "sweep", "codegen",
)  # fmt: skip


def says(answer: object, status: int, *words: str) -> None:
    """The command ended with that status and printed these words."""
    text = answer.text  # type: ignore[attr-defined]
    assert answer.status == status, text  # type: ignore[attr-defined]
    for word in words:
        assert word in text, f"{word!r} is missing in:\n{text}"


@pytest.fixture(scope="module")
def recorded(outside: Rigpact) -> Rigpact:
    """The project with an engine's recordings: one as declared, one whose actions are not scaled."""
    run = ("run", *DRIVEN)
    says(outside(*run, "--out", "taught.trace.jsonl"), 0, "teacher run: 90 frames", "PASS")
    free = ("--mode", "free", "--frames", 120)
    says(outside(*run, *free, "--out", "free.trace.jsonl"), 0, "free run: 120 frames", "PASS")
    says(outside(*run, *free, "--set", "action_scale=one", "--out", "planted.trace.jsonl"), 0, "PASS")
    return outside


@pytest.fixture(scope="module")
def gated(recorded: Rigpact, tmp_path_factory: pytest.TempPathFactory) -> Rigpact:
    """A project of its own under the gate: the same files and one engine recording, gated and kept."""
    project = InProcess(tmp_path_factory.mktemp("gated"), recorded.imports)
    for name in ("policy.json", "policy.onnx", "walk.trace.jsonl", "turn.trace.jsonl"):
        shutil.copyfile(recorded.folder / name, project.folder / name)
    shutil.copyfile(recorded.folder / "taught.trace.jsonl", project.folder / "engine.trace.jsonl")
    as_engine(project.folder / "engine.trace.jsonl")
    says(project("init"), 0, "rigpact.toml written for policy.json: 2 clips", "1 engine trace")
    says(project("gate", "--archive", "kept.rigpact.zip"), 0, "PASS: ", "Free run", "Engine recording")
    return project


def test_the_schema_knows_every_kind_of_field(checkout: Path) -> None:
    """A kind that layouts have and the schema does not: a contract file that rigpact itself wrote is refused."""
    path = checkout / "contract" / "rigpact" / "contract" / "schemas" / "system_contract.schema.json"
    assert json.dumps(sorted(FieldKind)) == json.dumps(sorted(_kinds(json.loads(path.read_text(encoding="utf-8")))))


def _kinds(schema: object) -> list[str]:
    """The values of the property `kind`, wherever it stands."""
    if not isinstance(schema, dict):
        return []
    own = schema.get("kind", {})
    return own["enum"] if "enum" in own else [kind for value in schema.values() for kind in _kinds(value)]


def test_it_is_listed_with_its_package(outside: Rigpact) -> None:
    """A system that is installed and not listed cannot be found."""
    says(outside.python("-m", "rigpact.reports", "show"), 0, "walking_policy", "enemy_animation")
    says(outside("show", "walking-policy"), 0, "angular_rate", "history_order", "the driver gives degrees")


def test_it_is_described(outside: Rigpact) -> None:
    """The page that the two teams agree on."""
    says(
        outside("show", "policy.json", *MODEL),
        0,
        "Walking policy",
        "action_scale",
        "default_pose",
        "joint_targets",
        "Gemm",
    )
    says(outside("show", "policy.json", "--format", "markdown"), 0, "| ", "history_order")


def test_its_files_are_checked(outside: Rigpact) -> None:
    """Rules on layouts, numbers and models need no line for each system."""
    says(outside("check", "policy.json", "walk.trace.jsonl", *MODEL), 0, "PASS: 0 errors")
    declared = json.loads((outside.folder / "policy.json").read_text(encoding="utf-8"))
    moved = json.loads(json.dumps(declared))
    moved["vectors"]["sensors"]["fields"][0]["name"] = "gyroscope"
    (outside.folder / "moved.json").write_text(json.dumps(moved), encoding="utf-8")
    says(outside("check", "moved.json"), 1, "RP70", "gyroscope")


def test_constants_that_it_cannot_read_are_a_finding(outside: Rigpact) -> None:
    """The package has no check of its own: a missing number is the file's fault, not a defect of rigpact."""
    declared = json.loads((outside.folder / "policy.json").read_text(encoding="utf-8"))
    (outside.folder / "poor.json").write_text(json.dumps(declared | {"constants": {}}), encoding="utf-8")
    says(outside("check", "poor.json"), 1, "RP711", "no 'default_pose'")
    says(outside("show", "poor.json"), 2, "no 'default_pose'")


def test_its_observation_looks_back_in_every_mode(recorded: Rigpact) -> None:
    """A history that starts with zeros, or that a free run reads from the clip, is another observation."""
    rows = _rows(recorded.folder / "free.trace.jsonl")
    for age in range(3):
        for frame in (0, 1, 2, 50):
            source = rows[max(frame - age, 0)]["sensors"]
            seen = rows[frame]["observation"][8 * age : 8 * age + 8]
            assert seen[3:] == pytest.approx(source[3:])
            assert seen[:3] == pytest.approx([0.25 * rate for rate in source[:3]])
    pose = (0.1, -0.4, -0.1, 0.4)
    for before, after in ((rows[7], rows[8]), (rows[100], rows[101])):
        assert after["last_targets"] == before["joint_targets"]
        expected = [target - own for target, own in zip(before["joint_targets"], pose, strict=True)]
        assert after["observation"][24:] == pytest.approx(expected, abs=1e-6)


def _rows(path: Path) -> list[dict[str, list[float]]]:
    return [json.loads(line)["stages"] for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def test_runs_are_compared(recorded: Rigpact) -> None:
    """Stage by stage, with the name of the joint."""
    says(recorded("diff", "free.trace.jsonl", "free.trace.jsonl", *BUNDLE), 0, "PASS: 0 errors")
    answer = recorded("diff", "free.trace.jsonl", "planted.trace.jsonl", *BUNDLE)
    says(answer, 1, "the recordings differ from frame 0, stage joint_targets on", "FAIL")


def test_a_planted_convention_is_named(recorded: Rigpact) -> None:
    """Every stage recorded, with the clip and the model at hand."""
    says(recorded("explain", "free.trace.jsonl", "--clip", *DRIVEN), 0, "AGREES")
    says(recorded("explain", "planted.trace.jsonl", "--clip", *DRIVEN), 1, "With action_scale = one", "EXPLAINED")


def test_a_sparse_recording_is_enough(recorded: Rigpact) -> None:
    """A robot logs only sensors, observation and targets: the missing network output must be recomputed."""
    sparse = recorded.folder / "sparse.trace.jsonl"
    keep_stages(recorded.folder / "planted.trace.jsonl", sparse, ("sensors", "observation", "joint_targets"))
    says(recorded("explain", sparse, *BUNDLE, *MODEL), 1, "With action_scale = one", "EXPLAINED")


def test_a_history_that_is_read_backwards_is_named_from_sensors_and_targets(recorded: Rigpact) -> None:
    """Without the observation two stages are folded: the history, and the network behind it."""
    run = ("run", *DRIVEN, "--mode", "free", "--frames", 60, "--set", "history_order=oldest_first")
    says(recorded(*run, "--out", "backwards.trace.jsonl"), 0)
    folded = recorded.folder / "folded.trace.jsonl"
    keep_stages(recorded.folder / "backwards.trace.jsonl", folded, ("sensors", "joint_targets"))
    answer = recorded("explain", folded, "--clip", *DRIVEN)
    says(answer, 1, "With history_order = oldest_first", "EXPLAINED")


def test_values_that_are_not_finite_are_traced_to_their_producer(recorded: Rigpact) -> None:
    """The same question as for a character that explodes."""
    says(recorded("nan", *DRIVEN), 0, "FINITE")
    header, *rows = (recorded.folder / "free.trace.jsonl").read_text(encoding="utf-8").splitlines()
    broken = json.loads(rows[40])
    broken["stages"]["joint_targets"][2] = "NaN"
    lines = (header, *rows[:40], json.dumps(broken), *rows[41:])
    (recorded.folder / "broken.trace.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    answer = recorded("nan", *BUNDLE, *MODEL, "broken.trace.jsonl")
    says(answer, 1, "NONFINITE", "joint_targets", "hip_r")


def test_changes_of_its_contract_are_told(outside: Rigpact) -> None:
    """The same layout with another number runs, and walks into a wall."""
    says(outside("diff", "policy.json", "policy.json"), 0, "COMPATIBLE")
    declared = json.loads((outside.folder / "policy.json").read_text(encoding="utf-8"))
    declared["constants"]["action_scale"] = 0.5
    (outside.folder / "stronger.json").write_text(json.dumps(declared), encoding="utf-8")
    says(outside("diff", "policy.json", "stronger.json"), 1, "BREAKING", "action_scale goes from 0.25 to 0.5")


def test_a_header_is_written_for_its_engine(outside: Rigpact) -> None:
    """The robot's controller is C++ too. Where a compiler is there, the header's own test is run."""
    says(
        outside("codegen", "policy.json", "--out", "policy.hpp", "--headers", "include"), 0, "walking_policy, 5 stages"
    )
    header = (outside.folder / "policy.hpp").read_text(encoding="utf-8")
    assert "SelfTest" in header
    assert "action_scale" in header
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is not None:
        words = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Iinclude", "policy.hpp")
        done = subprocess.run(
            [compiler, "-xc++", *words], check=False, cwd=outside.folder, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0 or "pragma once in main file" in done.stderr, done.stderr


def test_checkpoints_are_swept(outside: Rigpact) -> None:
    """Two clips, both modes, two values of a convention."""
    words = ("walk.trace.jsonl", "turn.trace.jsonl", *MODEL, "--set", "action_scale=declared,one")
    says(
        outside("sweep", *BUNDLE, *words, "--frames", 60, "--processes", 1, "--out", "swept"),
        0,
        "8 of 8 measured",
    )


def test_the_gate_runs_over_it(gated: Rigpact) -> None:
    """One verdict over files, model, recording, free run and clips; a wrong recording fails it."""
    says(gated("gate", "--report", "gate.xml"), 0, "PASS", "Conventions that the clips show: 5 of 5 judged")
    assert "testsuite" in (gated.folder / "gate.xml").read_text(encoding="utf-8")


def test_the_gate_names_the_convention(gated: Rigpact, recorded: Rigpact, tmp_path: Path) -> None:
    """The finding is a convention of the package, with the package's own hint."""
    wrong = InProcess(tmp_path / "wrong", gated.imports)
    shutil.copytree(gated.folder, wrong.folder)
    run = ("run", *DRIVEN, "--set", "target_origin=zero", "--out", "engine.trace.jsonl")
    says(wrong(*run), 0)
    as_engine(wrong.folder / "engine.trace.jsonl")
    says(wrong("gate"), 1, "FAIL", "target_origin", "add the default pose")


def test_the_selftest_plants_its_conventions(gated: Rigpact) -> None:
    """Who gates a robot wants to know what the gate would miss."""
    says(gated("gate", "--selftest", "--only", "engine"), 0, "target_origin=zero", "planted defects caught")


def test_the_archive_is_shown_as_a_page(gated: Rigpact) -> None:
    """No skeleton: stages as strips, no player."""
    says(gated("gate", "--from", "kept.rigpact.zip", "--html", "page.html"), 0, "PASS")
    page = (gated.folder / "page.html").read_text(encoding="utf-8")
    assert "joint_targets" in page


def test_its_users_test_it_with_pytest(gated: Rigpact) -> None:
    """The plugin collects contract, parity and properties of any system."""
    files = ("--rigpact-bundle", "policy.json", "--rigpact-onnx", "policy.onnx", "--rigpact-clip", "walk.trace.jsonl")
    words = (*files, "--rigpact-trace", "engine.trace.jsonl", "--rigpact-examples", 5)
    answer = gated.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
    says(answer, 0, "passed")
    assert "failed" not in answer.text


@every_case("command", COMMANDS)
def test_help_is_there_beside_an_outside_package(
    outside_here: None, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that breaks `--help` breaks the first thing that people type."""
    from rigpact.reports.command_line import run_command_line

    assert run_command_line([command, "--help"]) == 0
    assert "Usage: rigpact" in capsys.readouterr().out
