"""A system of ten stages that is a page of its own package: sixty lines, every command, and its loop in C++.

One of its operations is the package's own, with its C++. No file of rigpact names the robot.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.recordings.trace import write_trace
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader

from ..cpp_room.generated_loop import Rows, as_numpy, build_loop
from ..declared_room.foreign_files import write_model
from ..engine_recordings import as_engine
from ..programs import missing
from .outside_project import InProcess, Rigpact, found_in, install, roots_of
from .test_outside_system import COMMANDS, says

pytestmark = pytest.mark.repository
PACKAGE = Path(__file__).parent / "outside_page"
FRAMES, OBSERVED = 600, 3 * (3 + 3 + 2 + 2)
MODEL = ("--onnx", "policy.onnx")
DRIVEN = ("roll.trace.jsonl", "--contract", "robot.json", *MODEL)
WRONG = ("--set", "obs.order=newest_first")


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the package is installed."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("site")
    install(PACKAGE, folder)
    return folder


@pytest.fixture(scope="module")
def balancing(site: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Rigpact:
    """The command in a project of the robot: contract, model, two clips."""
    rigpact = InProcess(tmp_path_factory.mktemp("project"), (str(site), *roots_of(checkout)))
    says(rigpact("show", "balancing", "--write-contract", "robot.json"), 0)
    write_model(rigpact.folder / "policy.onnx", OBSERVED, 2)
    for seed, name in enumerate(("roll", "sway")):
        header, frame = TraceHeader(50.0, "teacher", system="balancing"), np.arange(90)
        write_trace(Trace(header, frame, frame / 50.0, rolled(90, seed)), rigpact.folder / f"{name}.trace.jsonl")
    return rigpact


def test_it_is_sixty_lines() -> None:
    """A system that takes an afternoon to write is written once, and a system of 600 lines never."""
    files = [path for path in PACKAGE.iterdir() if path.suffix in {".py", ".toml"}]
    assert sorted(path.name for path in files) == ["balancing.py", "balancing.toml", "pyproject.toml"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 60
    assert max(len(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()) <= 135


def test_every_command_answers_for_it(balancing: Rigpact) -> None:
    """A command that knows systems by their names leaves a robot of your own behind."""
    bundle, free = ("--contract", "robot.json"), ("--mode", "free", "--frames", 120)
    run = ("run", *DRIVEN)
    asked = [
        (0, ("show", "balancing"), ("last_torque", "obs.order")),
        (0, ("show", "dead_zone"), ("0 near 0", "balancing")),
        (0, ("show", "robot.json", *MODEL), ("two wheels", "last_torque")),
        (0, ("check", "robot.json", "roll.trace.jsonl", *MODEL), ("PASS: 0 errors",)),
        (0, ("check", "--each", "robot.json"), ()),
        (0, (*run, "--out", "engine.trace.jsonl"), ("teacher run: 90 frames",)),
        (0, (*run, *free, "--out", "free.trace.jsonl"), ("free run: 120 frames",)),
        (0, (*run, *free, *WRONG, "--out", "wrong.trace.jsonl"), ("PASS",)),
        (1, ("diff", "free.trace.jsonl", "wrong.trace.jsonl", *bundle), ("stage obs",)),
        (1, ("explain", "wrong.trace.jsonl", "--clip", *DRIVEN), ("With obs.order = newest_first", "EXPLAINED")),
        (0, ("nan", *DRIVEN), ("FINITE",)),
        (0, ("diff", "robot.json", "robot.json"), ("COMPATIBLE",)),
        (
            0,
            ("sweep", *DRIVEN, *free[2:], "--processes", 1, "--out", "swept"),
            ("2 of 2 measured",),
        ),
        (0, ("codegen", "robot.json", "--loop", "-o", "robot.hpp"), ("balancing, 14 stages",)),
        (0, ("show", "RP711"), ("RP711",)),
    ]
    for status, words, said in asked:
        says(balancing(*words), status, *said)
    as_engine(balancing.folder / "engine.trace.jsonl")
    for name in ("free", "wrong"):
        (balancing.folder / f"{name}.trace.jsonl").unlink()
    says(balancing("init"), 0, "rigpact.toml written for robot.json")
    says(balancing("gate", "--archive", "kept.rigpact.zip"), 0, "PASS: ")
    says(balancing("gate", "--from", "kept.rigpact.zip"), 0, "PASS")
    says(balancing("gate", "--selftest", "--only", "engine"), 0, "planted defects caught")
    assert {*COMMANDS} <= {str(words[0]) for _, words, _ in asked} | {"init", "gate"}


@pytest.fixture
def here(site: Path) -> Iterator[None]:
    """The package known in this very process, and forgotten afterwards."""
    with found_in(str(site)):
        yield


@pytest.mark.usefixtures("here")
def test_its_loop_in_cpp_is_its_loop_in_python(balancing: Rigpact, tmp_path: Path) -> None:
    """The robot's controller includes the header: 600 frames of the clip's and of its own, its own operation among them."""
    compiler = next(filter(shutil.which, ("g++", "clang++")), None)
    if compiler is None:
        missing("C++ compiler")
    contract = open_contract(balancing.folder / "robot.json")
    loop = build_loop(str(compiler), contract, tmp_path)
    for mode in ("teacher", "free"):
        found = as_numpy(loop, rolled(FRAMES), FRAMES, mode)
        speed, moving = found["speed"], found["moving"]
        np.testing.assert_array_equal(moving, np.where(np.abs(speed) < 0.1, 0.0, speed))
        assert 0 < np.count_nonzero(moving) < moving.size
    before = found["torque"][:-1]  # of the free run
    np.testing.assert_array_equal(found["last_torque"][1:], before)
