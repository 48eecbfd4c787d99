"""The contracts that ship: short, judged, known to no package, right on published files, and searched by their knobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rigpact.reference_runtime.files.contracts import ContractFiles, open_contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.systems.network import OnnxSystemNetwork, bound_part
from rigpact.reports.diagnosing.diagnose import diagnose

from ..scores.declared import gated_controller
from ..scores.declared.benign import MATHS, benign_variants
from ..scores.declared.declared_score import alarms_of
from ..scores.declared.score import RIGHT, UNSEEN, Subject, counted, drawn_pairs, every_mistake, opened
from ..scores.declared.subjects import CONTRACTS, SUBJECTS

Command = Callable[..., Any]
PACKAGES = ("contract", "reference_runtime", "fixtures/rigpact", "fixtures/training", "reports")


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Subject]:
    """Every contract with its independent runtime."""
    folder = tmp_path_factory.mktemp("networks")
    return {name: make(folder) for name, make in SUBJECTS.items()}


def test_every_contract_has_a_runtime_of_its_own() -> None:
    """A contract without a second runtime would only be compared with itself."""
    assert {path.stem for path in CONTRACTS.glob("*.toml")} == set(SUBJECTS)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_passes_check_in_120_lines(name: str, command: Command) -> None:
    """A model to copy from must be short, and have nothing that its own checker complains about."""
    path = CONTRACTS / f"{name}.toml"
    answer = command("check", path, "--format", "json")
    assert answer.status == 0, answer.out
    assert not [each for each in json.loads(answer.out)["findings"] if each["severity"] == "error"]
    assert path.read_text(encoding="utf-8").count("\n") <= 120


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_package_knows_its_name(name: str, checkout: Path) -> None:
    """A special case for one robot would say nothing about the next robot."""
    sources = [path for root in PACKAGES for path in (checkout / root).rglob("*.py")]
    assert len(sources) > 100
    assert not [path for path in sources if name in path.read_text(encoding="utf-8")]


def test_the_statistics_beside_a_contract_are_drawn_ones() -> None:
    """Published statistics may not be copied; these are the runtime's own, from a fixed seed."""
    held = load_file(CONTRACTS / "mode_adaptive_controller.safetensors")
    for key, values in gated_controller.drawn_statistics().items():
        np.testing.assert_array_equal(held[key], values, err_msg=key)


@pytest.mark.parametrize("name", SUBJECTS)
def test_some_single_mistakes_are_named(name: str, subjects: dict[str, Subject]) -> None:
    """Without a name for the mistake an engineer searches for days; the score page has them all."""
    subject = subjects[name]
    every = every_mistake(opened(subject))
    chosen = [every[index] for index in np.random.default_rng(11).permutation(len(every))[:4]]
    assert {str(each.planted): each.word for each in counted(subject, chosen)} == {
        str(each): "named" for each in chosen
    }


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_pair_of_mistakes_is_named(name: str, subjects: dict[str, Subject]) -> None:
    """Two mistakes at once are common after a port, and a search for one of them alone finds nothing."""
    answers = list(counted(subjects[name], drawn_pairs(opened(subjects[name]), 1, seed=5), seed=2))
    assert all(each.word in RIGHT | {UNSEEN} for each in answers), answers


@pytest.mark.parametrize("name", SUBJECTS)
def test_correct_runtimes_raise_no_alarm(name: str, subjects: dict[str, Subject]) -> None:
    """An alarm about a fused multiply-add would be believed once, and the next one would not."""
    variants = list(benign_variants(subjects[name].record, seeds=1))
    assert len(variants) >= len(MATHS)
    assert alarms_of(subjects[name], variants) == []


def _evidence(contract: Any, rows: dict[str, Any], network: Any) -> Evidence:
    recorded = {name: np.asarray(values, np.float32) for name, values in rows.items()}
    return Evidence(np.arange(len(next(iter(recorded.values())))), contract.fps, "free", recorded, network=network)


GOLDEN = {
    "gyro": "gyro", "imu_quat": "imu_quat_wxyz", "q": "q_sdk", "dq": "dq_sdk", "sticks": "stick_ly_lx_rx", "obs": "obs",
    "action": "action", "motor_q": "motor_q_sdk",
}  # fmt: skip


@pytest.mark.parametrize("name", ["unitree_rl_lab_g1", "unitree_rl_mjlab_g1"])
def test_the_golden_frames_of_a_robot_agree(name: str, real_data: Path) -> None:
    """The compiled runtime of the robot made these numbers; a contract that disagrees is wrong about the robot."""
    folder = _published(real_data, name)
    contract = open_contract(ContractFiles(CONTRACTS / f"{name}.toml"))
    held = load_file(folder / "golden_24_frames.safetensors")
    network = OnnxSystemNetwork(folder / "policy.onnx", contract.system)
    evidence = _evidence(contract, {stage: held[key] for stage, key in GOLDEN.items()}, network)
    diagnosis = diagnose(evidence, contract)
    assert diagnosis.verdict == "agrees", diagnosis
    assert {each.stage for each in diagnosis.stages if each.ok} == {"obs", "action", "motor_q"}
    scaled = dict(evidence.recorded) | {"obs": evidence.recorded["obs"] * np.float32(1.01)}
    assert diagnose(_evidence(contract, scaled, network), contract, with_pairs=False).verdict != "agrees"


def test_the_golden_frames_of_learned_motion_matching_agree(real_data: Path, tmp_path: Path) -> None:
    """The compiled runtime of the authors made these numbers, with their networks."""
    contract, networks, held = _motion_matching(real_data, tmp_path)
    frames = len(held["features"])
    rows = {
        "features": held["features"], "latent": held["latent"], "rotations": held["rotation_wxyz"][:, 1:].reshape(frames, -1),
        "positions": held["position"][:, 1:].reshape(frames, -1), "root_position": held["position"][:, 0],
        "root_rotation": held["rotation_wxyz"][:, 0], "contacts": held["contact"].reshape(frames, 2),
    }  # fmt: skip
    diagnosis = diagnose(_evidence(contract, rows, networks), contract)
    assert diagnosis.verdict == "agrees", [each for each in diagnosis.stages if not each.ok]
    assert {each.stage for each in diagnosis.stages if each.ok} == set(rows)


def _published(real_data: Path, name: str) -> Path:
    folder = real_data / "others" / name
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return folder


def _motion_matching(real_data: Path, tmp_path: Path) -> tuple[Any, Any, dict[str, Any]]:
    """The contract, and the published networks written as models beside a copy of it that names them."""
    from ..scores.declared.published_networks import write_onnx

    folder = _published(real_data, "orangeduck_lmm")
    text = (CONTRACTS / "learned_motion_matching.toml").read_text(encoding="utf-8")
    for name in ("stepper", "decompressor"):
        write_onnx(folder / f"{name}.bin", tmp_path / f"{name}.onnx")
        text = text.replace(f"[networks.{name}]\n", f'[networks.{name}]\nfile = "{name}.onnx"\n')
    (tmp_path / "contract.toml").write_text(text, encoding="utf-8")
    contract = open_contract(ContractFiles(tmp_path / "contract.toml"))
    networks = {
        name: OnnxSystemNetwork(each.path, bound_part(contract.system, each))
        for name, each in contract.system.networks.items()
    }
    return contract, networks, load_file(folder / "golden_60_frames.safetensors")
