"""Systems that rigpact has never heard of, installed as one package: every command answers for them as for its own.

The walking policy is a module, the robot on two wheels a page of sixty lines with an operation of its own. No file of rigpact
names either: if a command fails here, it knows systems by their names.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.systems.layout import FieldKind
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader

from ..cpp_room.generated_loop import Rows, as_numpy, build_loop
from ..declared_room.foreign_files import write_model
from ..engine_recordings import as_engine
from ..programs import missing
from .outside_project import PACKAGE, Answer, InProcess, Rigpact

pytestmark = pytest.mark.repository
MODEL = ("--onnx", "policy.onnx")
DRIVEN = ("walk.trace.jsonl", "--contract", "policy.json", *MODEL)
BUNDLE = ("--contract", "policy.json")
FREE = ("--mode", "free", "--frames", 120)
COMMANDS = ("show", "check", "run", "diff", "explain", "nan", "init", "gate", "sweep", "codegen")


def says(answer: Answer, status: int, *words: str) -> None:
    """The command ended with that status and printed these words."""
    assert answer.status == status, answer.text
    for word in words:
        assert word in answer.text, f"{word!r} is missing in:\n{answer.text}"


ASKED: tuple[tuple[int, tuple[object, ...], tuple[str, ...]], ...] = (
    (0, ("show", "walking-policy"), ("angular_rate", "history_order", "the driver gives degrees")),
    (0, ("show", "policy.json", *MODEL), ("Walking policy", "action_scale", "default_pose", "joint_targets", "MatMul")),
    (0, ("show", "policy.json", "--format", "markdown"), ("| ", "history_order")),
    (0, ("check", "policy.json", "walk.trace.jsonl", *MODEL), ("PASS: 0 errors",)),
    (1, ("check", "moved.json"), ("RP70", "gyroscope")),
    (1, ("check", "poor.json"), ("RP711", "no 'default_pose'")),
    (2, ("show", "poor.json"), ("no 'default_pose'",)),
    (0, ("run", *DRIVEN, "--out", "taught.trace.jsonl"), ("teacher run: 90 frames", "PASS")),
    (0, ("run", *DRIVEN, *FREE, "--out", "free.trace.jsonl"), ("free run: 120 frames", "PASS")),
    (0, ("run", *DRIVEN, *FREE, "--set", "action_scale=one", "--out", "planted.trace.jsonl"), ("PASS",)),
    (0, ("diff", "free.trace.jsonl", "free.trace.jsonl", *BUNDLE), ("PASS: 0 errors",)),
    (1, ("diff", "free.trace.jsonl", "planted.trace.jsonl", *BUNDLE), ("from frame 0, stage joint_targets on", "FAIL")),
    (0, ("explain", "free.trace.jsonl", "--clip", *DRIVEN), ("AGREES",)),
    (1, ("explain", "planted.trace.jsonl", "--clip", *DRIVEN), ("With action_scale = one", "EXPLAINED")),
    (0, ("nan", *DRIVEN), ("FINITE",)),
    (0, ("diff", "policy.json", "policy.json"), ("COMPATIBLE",)),
    (1, ("diff", "policy.json", "stronger.json"), ("BREAKING", "action_scale goes from 0.25 to 0.5")),
    (
        0, ("sweep", *BUNDLE, "walk.trace.jsonl", "turn.trace.jsonl", *MODEL, "--set", "action_scale=declared,one",
            "--frames", 60, "--processes", 1, "--out", "swept"), ("8 of 8 measured",),
    ),
    (0, ("codegen", "policy.json", "--out", "policy.hpp", "--headers", "include"), ("walking_policy, 5 stages",)),
)  # fmt: skip


@pytest.fixture(scope="module")
def answered(outside: Rigpact) -> Rigpact:
    """The project after every command of the table: recordings of an engine lie there."""
    declared = json.loads((outside.folder / "policy.json").read_text(encoding="utf-8"))
    moved = json.loads(json.dumps(declared))
    moved["vectors"]["sensors"]["fields"][0]["name"] = "gyroscope"
    stronger = declared | {"constants": declared["constants"] | {"action_scale": 0.5}}
    for name, document in (("moved", moved), ("poor", declared | {"constants": {}}), ("stronger", stronger)):
        (outside.folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    for status, words, said in ASKED:
        says(outside(*words), status, *said)
    return outside


def test_every_command_answers(answered: Rigpact) -> None:
    """A system that is installed and not listed cannot be found; this is a process of its own."""
    says(answered.python("-m", "rigpact.reports", "show"), 0, "walking_policy", "balancing", "enemy_animation")
    assert {*COMMANDS} - {"init", "gate"} == {str(words[0]) for _, words, _ in ASKED}
    header = (answered.folder / "policy.hpp").read_text(encoding="utf-8")
    assert "SelfTest" in header
    assert "action_scale" in header


def _rows(path: Path) -> list[dict[str, list[float]]]:
    return [json.loads(line)["stages"] for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def test_its_observation_looks_back_in_every_mode(answered: Rigpact) -> None:
    """A history that starts with zeros, or that a free run reads from the clip, is another observation."""
    rows = _rows(answered.folder / "free.trace.jsonl")
    for age in range(3):
        for frame in (0, 1, 2, 50):
            source, seen = rows[max(frame - age, 0)]["sensors"], rows[frame]["observation"][8 * age : 8 * age + 8]
            assert seen == pytest.approx([*(0.25 * rate for rate in source[:3]), *source[3:]])
    for before, after in ((rows[7], rows[8]), (rows[100], rows[101])):
        assert after["last_targets"] == before["joint_targets"]
        expected = [target - own for target, own in zip(before["joint_targets"], (0.1, -0.4, -0.1, 0.4), strict=True)]
        assert after["observation"][24:] == pytest.approx(expected, abs=1e-6)


@pytest.fixture(scope="module")
def gated(answered: Rigpact, tmp_path_factory: pytest.TempPathFactory) -> Rigpact:
    """A project of its own under the gate: the same files and one engine recording, gated."""
    project = InProcess(tmp_path_factory.mktemp("gated"), answered.imports)
    for name in ("policy.json", "policy.onnx", "walk.trace.jsonl", "turn.trace.jsonl"):
        shutil.copyfile(answered.folder / name, project.folder / name)
    shutil.copyfile(answered.folder / "taught.trace.jsonl", project.folder / "engine.trace.jsonl")
    as_engine(project.folder / "engine.trace.jsonl")
    says(project("init"), 0, "rigpact.toml written for policy.json: 2 clips", "1 engine trace")
    said = ("PASS: ", "Free run", "Engine recording", "Conventions that the clips show: 5 of 5 judged")
    says(project("gate", "--html", "page.html", "--report", "gate.xml"), 0, *said)
    assert "testsuite" in (project.folder / "gate.xml").read_text(encoding="utf-8")
    return project


def test_the_gate_runs_over_it(gated: Rigpact, tmp_path: Path) -> None:
    """One verdict; a wrong recording fails it with the package's own hint; stages as strips where there is no skeleton."""
    assert "joint_targets" in (gated.folder / "page.html").read_text(encoding="utf-8")
    says(gated("gate", "--selftest", "--only", "engine"), 0, "target_origin=zero", "planted defects caught")
    wrong = InProcess(tmp_path / "wrong", gated.imports)
    shutil.copytree(gated.folder, wrong.folder)
    says(wrong("run", *DRIVEN, "--set", "target_origin=zero", "--out", "engine.trace.jsonl"), 0)
    as_engine(wrong.folder / "engine.trace.jsonl")
    says(wrong("gate"), 1, "FAIL", "target_origin", "add the default pose")


def test_its_users_test_it_with_pytest(gated: Rigpact) -> None:
    """The plugin collects contract, parity and properties of any system."""
    files = ("--rigpact-bundle", "policy.json", "--rigpact-onnx", "policy.onnx", "--rigpact-clip", "walk.trace.jsonl")
    words = (*files, "--rigpact-trace", "engine.trace.jsonl", "--rigpact-examples", 5)
    answer = gated.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *words)
    says(answer, 0, "passed")
    assert "failed" not in answer.text


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


# ---- a system that is a page


def rolled(count: int, seed: int = 0) -> Rows:
    """A robot that sways and rolls: its sensors, and the torques that stood before each frame."""
    rng, time = np.random.default_rng(seed), np.arange(count)[:, None] / 50.0
    tilt = np.hstack([0.2 * np.sin(3.0 * time + seed), 0.1 * np.cos(2.0 * time), 0.0 * time, 1.0 + 0.0 * time])
    rows = {
        "gyro": 2.0 * np.cos(time * [[1.0, 3.0, 2.0]] + seed),
        "tilt": tilt / np.linalg.norm(tilt, axis=1, keepdims=True),
        "wheels": 0.4 * np.sin(time * [[4.0, 5.0]]),
        "last_torque": rng.uniform(-1.0, 1.0, (count, 2)),
    }
    return {name: values.astype(np.float32) for name, values in rows.items()}


ROLLED = ("roll.trace.jsonl", "--contract", "robot.json", *MODEL)
ASKED_OF_THE_PAGE = (
    (0, ("show", "balancing"), ("last_torque", "obs.order")),
    (0, ("show", "dead_zone"), ("0 near 0", "walking-policy")),
    (0, ("show", "robot.json", *MODEL), ("two wheels", "last_torque")),
    (0, ("check", "robot.json", "roll.trace.jsonl", *MODEL), ("PASS: 0 errors",)),
    (0, ("run", *ROLLED, "--out", "engine.trace.jsonl"), ("teacher run: 90 frames",)),
    (0, ("run", *ROLLED, *FREE, "--set", "obs.order=newest_first", "--out", "wrong.trace.jsonl"), ("PASS",)),
    (1, ("explain", "wrong.trace.jsonl", "--clip", *ROLLED), ("With obs.order = newest_first", "EXPLAINED")),
    (0, ("nan", *ROLLED), ("FINITE",)),
    (0, ("codegen", "robot.json", "--loop", "-o", "robot.hpp"), ("balancing, 14 stages",)),
)


@pytest.mark.usefixtures("outside_here")
def test_a_system_is_a_page_and_its_loop_in_cpp_is_its_loop_in_python(outside: Rigpact, tmp_path: Path) -> None:
    """The robot's controller includes the header: 200 frames of the clip's and of its own, its own operation among them."""
    robot = InProcess(tmp_path, outside.imports)
    says(robot("show", "balancing", "--write-contract", "robot.json"), 0)
    write_model(tmp_path / "policy.onnx", 3 * (3 + 3 + 2 + 2), 2)
    frame = np.arange(90)
    write_trace(
        Trace(TraceHeader(50.0, "teacher", system="balancing"), frame, frame / 50.0, rolled(90)), tmp_path / ROLLED[0]
    )
    for status, words, said in ASKED_OF_THE_PAGE:
        says(robot(*words), status, *said)
    assert sum(len(path.read_text("utf-8").splitlines()) for path in PACKAGE.glob("balancing.*")) <= 60
    compiler = next(filter(shutil.which, ("g++", "clang++")), None)
    if compiler is None:
        missing("C++ compiler")
    loop = build_loop(str(compiler), open_contract(tmp_path / "robot.json"), tmp_path)
    for mode in ("teacher", "free"):
        found = as_numpy(loop, rolled(200), 200, mode)
        speed, moving = found["speed"], found["moving"]
        np.testing.assert_array_equal(moving, np.where(np.abs(speed) < 0.1, 0.0, speed))
        assert 0 < np.count_nonzero(moving) < moving.size
    np.testing.assert_array_equal(found["last_torque"][1:], found["torque"][:-1])  # of the free run
