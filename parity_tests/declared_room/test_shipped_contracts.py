"""The contracts that ship: short, judged, known to no package, right on published files, and searched by their knobs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, bound_part
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose

from ..conftest import CHECKOUT
from ..measuring.scores.random_programs.program import Layers, write_network
from ..models import floats, saved

CONTRACTS = CHECKOUT / "fixtures" / "contracts"
SHIPPED = sorted(path.stem for path in CONTRACTS.glob("*.toml"))


@pytest.mark.nightly
@pytest.mark.parametrize("name", SHIPPED)
def test_the_commands_of_its_section_answer_as_it_says(name, command, checkout, monkeypatch):
    """Who copies a command from the page must see what it promises."""
    monkeypatch.chdir(checkout)
    page = (checkout / "docs" / "contracts.md").read_text(encoding="utf-8")
    page = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    shown, checked, explained, changed = (
        line.split()[2:] for line in page.splitlines() if line.startswith("$ rigpact ")
    )
    assert [command(*words).status for words in (shown, checked)] == [0, 0]
    sound = command(*explained)
    assert sound.status == 0
    assert "AGREES" in sound.out
    other = command(*changed)
    assert other.status == 1
    assert f"With {changed[-1].split('=')[0]} = " in other.out
    assert "EXPLAINED" in other.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_recording_agrees_and_a_declaration_that_is_wrong_by_one_convention_is_named(name):
    """Without a name for the mistake an engineer searches for days. The recorded runtimes share no code with rigpact."""
    contract = open_contract(CONTRACTS / f"{name}.toml")
    graph, rows = contract.system.graph, load_file(CONTRACTS / "recordings" / f"{name}.safetensors")
    evidence = _evidence(contract, rows, None, "free" if graph.feeds_itself else "teacher")
    right = diagnose(evidence, contract, allow_unjudged=graph.answers)
    assert (right.verdict, right.causes, right.relations) == ("agrees", (), ())
    for knob in np.random.default_rng(11).choice(list(contract.system.knobs.values()), 2, replace=False):
        found = diagnose(evidence, contract.with_conventions({knob.name: knob.values[1]}), allow_unjudged=graph.answers)
        named = [changes for cause in found.causes for changes in (cause.changes, *cause.equivalents)]
        assert {knob.name: contract.conventions[knob.name]} in named, knob.name


def _evidence(contract, rows, network, mode="free"):
    recorded = {name: np.asarray(values, np.float32) for name, values in rows.items()}
    frame = np.arange(len(next(iter(recorded.values()))))
    return Evidence(frame, contract.fps or 1.0, mode, recorded, network=network)


GOLDEN = {
    "gyro": "gyro", "imu_quat": "imu_quat_wxyz", "q": "q_sdk", "dq": "dq_sdk", "sticks": "stick_ly_lx_rx", "obs": "obs",
    "action": "action", "motor_q": "motor_q_sdk",
}  # fmt: skip


@pytest.mark.parametrize("name", ["unitree_rl_lab_g1", "unitree_rl_mjlab_g1"])
def test_the_golden_frames_of_a_robot_agree(name, real_data):
    """The compiled runtime of the robot made these numbers; a contract that disagrees is wrong about the robot."""
    folder = _published(real_data, name)
    contract = open_contract(CONTRACTS / f"{name}.toml")
    held = load_file(folder / "golden_24_frames.safetensors")
    network = OnnxSystemNetwork(folder / "policy.onnx", contract.system)
    evidence = _evidence(contract, {stage: held[key] for stage, key in GOLDEN.items()}, network)
    diagnosis = diagnose(evidence, contract)
    assert diagnosis.verdict == "agrees", diagnosis
    assert {each.stage for each in diagnosis.stages if each.ok} == {"obs", "action", "motor_q"}
    scaled = dict(evidence.recorded) | {"obs": evidence.recorded["obs"] * np.float32(1.01)}
    found = diagnose(_evidence(contract, scaled, network), contract, budget=Budget.spent()).first_divergence
    assert found is not None
    assert found.stage == "obs"


def test_the_golden_frames_of_learned_motion_matching_agree(real_data, tmp_path):
    """The compiled runtime of the authors made these numbers; what their networks answered is not among them."""
    contract, networks, held = _motion_matching(real_data, tmp_path)
    frames = len(held["features"])
    rows = {
        "features": held["features"], "latent": held["latent"], "contacts": held["contact"].reshape(frames, 2),
        "positions": held["position"][:, 1:].reshape(frames, -1), "root_position": held["position"][:, 0],
        "rotations": held["rotation_wxyz"][:, 1:].reshape(frames, -1), "root_rotation": held["rotation_wxyz"][:, 0],
    }  # fmt: skip
    diagnosis = diagnose(_evidence(contract, rows, networks), contract)
    assert diagnosis.verdict == "agrees", [each for each in diagnosis.stages if not each.ok]
    assert {each.stage for each in diagnosis.stages if each.ok} == set(rows)


def test_a_stepper_runs_free_for_ten_seconds_from_the_contract_alone(tmp_path, command):
    """Two networks that feed each other's state: a harness that runs one model a frame cannot follow such a character."""
    contract = _drawn_motion_matching(tmp_path, gain=0.5)
    start, out = _start(tmp_path), tmp_path / "run.trace.safetensors"
    answer = command(
        "run", "--contract", contract, start, "--mode", "free", "--frames", 600, "-o", out, "--format", "json"
    )
    assert answer.status == 0, answer.out + answer.err
    held = load_file(out)
    state = next(held[key] for key in held if key.endswith("next_state"))
    assert state.shape == (600, 59)
    assert np.isfinite(state).all()
    whole = command("nan", "--contract", contract, start, "--format", "json")
    assert (whole.status, json.loads(whole.out)["verdict"], json.loads(whole.out)["frames"]) == (0, "finite", 600)


def test_growth_of_a_stepper_is_named(tmp_path, command):
    """A stepper whose answer grows with its state throws the character out of the world after some seconds."""
    contract = _drawn_motion_matching(tmp_path, gain=0.5)
    _write_growing_stepper(tmp_path / "stepper.onnx")
    answer = command("nan", "--contract", contract, _start(tmp_path), "--format", "json")
    found = json.loads(answer.out)
    assert answer.status == 1
    assert found["verdict"] == "diverging"
    assert found["left"]["stage"] in {"state", "last_features", "features", "next_state"}


def test_one_model_for_two_networks_is_refused(tmp_path, command):
    """One file cannot be both; bound to either it would answer nonsense."""
    contract = _drawn_motion_matching(tmp_path, gain=0.5)
    answer = command("nan", "--contract", contract, _start(tmp_path), "--onnx", tmp_path / "stepper.onnx")
    assert answer.status == 2
    assert "a file for each network" in answer.err


def _write_growing_stepper(path):
    """A model that answers three times its state: a frame multiplies it by 1.05."""
    saved(path, "(float[n, 59] x) => (float[n, 59] y) { y = Mul(x, three) }", three=np.array([3.0], np.float32))


def _drawn_motion_matching(folder, *, gain):
    """A copy of the contract that names two drawn networks beside it."""
    text = (CONTRACTS / "learned_motion_matching.toml").read_text(encoding="utf-8")
    for name, width, seed, strength in (("stepper", 59, 4, gain), ("decompressor", 338, 5, 0.5)):
        rng = np.random.default_rng(seed)
        shapes, sizes = ((59, 24), 24, (24, width), width), (59**-0.5, 0.1, strength * 24**-0.5, 0.1 * strength)
        layers = (size * rng.normal(size=shape) for size, shape in zip(sizes, shapes, strict=True))
        write_network(Layers(*layers), folder / f"{name}.onnx")
        text = text.replace(f"[networks.{name}]\n", f'[networks.{name}]\nfile = "{name}.onnx"\n')
    path = folder / "contract.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _start(folder):
    """A recording of one frame: the state and the root that a run starts from."""
    rng, path = np.random.default_rng(0), folder / "start.npz"
    latent = rng.normal(0.0, 0.5, (1, 32)).astype(np.float32)
    np.savez(
        path, last_features=rng.normal(0.0, 0.5, (1, 27)).astype(np.float32), last_latent=latent,
        last_root_position=np.zeros((1, 3), np.float32), last_root_rotation=np.array([[1, 0, 0, 0]], np.float32),
    )  # fmt: skip
    return path


def _published(real_data, name):
    folder = real_data / "others" / name
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return folder


def _motion_matching(real_data, tmp_path):
    """The contract, and the published networks written as models beside a copy of it that names them."""
    folder = _published(real_data, "orangeduck_lmm")
    text = (CONTRACTS / "learned_motion_matching.toml").read_text(encoding="utf-8")
    for name in ("stepper", "decompressor"):
        write_onnx(folder / f"{name}.bin", tmp_path / f"{name}.onnx")
        text = text.replace(f"[networks.{name}]\n", f'[networks.{name}]\nfile = "{name}.onnx"\n')
    (tmp_path / "contract.toml").write_text(text, encoding="utf-8")
    contract = open_contract(tmp_path / "contract.toml")
    networks = {
        name: OnnxSystemNetwork(each.path, bound_part(contract.system, each))
        for name, each in contract.system.networks.items()
    }
    return contract, networks, load_file(folder / "golden_60_frames.safetensors")


# The networks of Learned Motion Matching as their authors publish them: four vectors (int32 length, float32 values), mean and std
# of the input and of the output; the number of layers; of each rows, columns, W[in][out], its bias with its length. ReLU between.


def _vectors(path: Path) -> list[Any]:
    """The four statistics, then weights and bias of each layer."""
    content, place = path.read_bytes(), 0

    def taken(kind: str, count: int) -> Any:
        nonlocal place
        place += 4 * count
        return np.frombuffer(content, kind, count, place - 4 * count).copy()

    def whole() -> int:
        return int(taken("<i4", 1)[0])

    found = [taken("<f4", whole()) for _ in range(4)]
    for _ in range(whole()):
        rows, columns = whole(), whole()
        found += [taken("<f4", rows * columns).reshape(rows, columns), taken("<f4", whole())]
    assert place == len(content), "bytes are left over"
    return found


def write_onnx(path: Path, out: Path) -> Path:
    *statistics, mean_out, std_out = (found := _vectors(path))[:4]
    weights = dict(zip(("mean_in", "std_in"), statistics, strict=True)) | {"mean_out": mean_out, "std_out": std_out}
    nodes = "c = Sub(x, mean_in) h0 = Div(c, std_in)"
    count = len(found) // 2 - 2
    for place in range(count):
        weights |= {f"w{place}": found[4 + 2 * place], f"b{place}": found[5 + 2 * place]}
        nodes += f" g{place} = Gemm(h{place}, w{place}, b{place})"
        nodes += f" h{place + 1} = {'Relu' if place < count - 1 else 'Identity'}(g{place})"
    takes, gives = floats("x", len(weights["mean_in"])), floats("y", len(weights["mean_out"]))
    nodes += f" scaled = Mul(h{count}, std_out) y = Add(scaled, mean_out)"
    return saved(out, f"({takes}) => ({gives}) {{ {nodes} }}", opset=17, **weights)
