"""IMU pose: simulated bodies, the sensor on them, the network, its head and its spread."""

import math

import numpy as np
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

pytest.importorskip("mujoco", reason="the extra [physics] is not installed")

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.graph.window import SampleWindow, stream
from rigpact.training.imu_pose.evaluation import coverage, fit_temperature, moving, standard_scores
from rigpact.training.imu_pose.exporter import export_imu_pose
from rigpact.training.imu_pose.facts import EXERCISES, FORMS, JOINTS, SYSTEM
from rigpact.training.imu_pose.model import FULL, ImuPoseNetwork, Size
from rigpact.training.imu_pose.sensor import Flaws, draw_flaws, ideal, measured
from rigpact.training.imu_pose.training import MultiTaskLoss, mean_joint_error_m, negative_log_likelihood

from ..every_case import every_case
from ..measuring.scores.training_sides import parameter_count

TINY = Size(16, 2, 1, 2, 32, (32, 24), 16)


def test_the_full_network_has_the_published_number_of_parameters() -> None:
    """6,107,375 at three exercises and five forms: any other number is another head, and its weights will not load."""
    assert parameter_count(ImuPoseNetwork(FULL)) == 6_107_375
    one_class = Size(256, 4, 6, 8, 1024, (512, 256), 128, exercises=1)
    ten_classes = Size(256, 4, 6, 8, 1024, (512, 256), 128, exercises=10)
    assert parameter_count(ImuPoseNetwork(one_class)) == 6_107_117
    assert parameter_count(ImuPoseNetwork(ten_classes)) == 6_108_278
    # one more row of the last layer and its bias: 128 + 1 for an exercise, 64 + 1 for a form
    more = Size(256, 4, 6, 8, 1024, (512, 256), 128, exercises=4, forms=7)
    assert parameter_count(ImuPoseNetwork(more)) == 6_107_375 + 129 + 2 * 65


@every_case("shape", [(1, 60), (3, 37), (2, 100)])
def test_onnx_agrees_at_lengths_it_was_not_traced_at(
    tiny_onnx: tuple[ImuPoseNetwork, bytes], shape: tuple[int, int]
) -> None:
    """An exporter that freezes the window's length answers rightly in every test at the traced one."""
    model, content = tiny_onnx
    samples = torch.randn(*shape, 6, generator=torch.Generator().manual_seed(5))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    answers = session.run(list(SYSTEM.outputs), {"model_input": samples.numpy()})
    with torch.no_grad():
        expected = model(samples)
    for answer, wanted in zip(answers, expected, strict=True):
        assert answer.shape == wanted.shape
        assert np.abs(answer - wanted.numpy()).max() <= 1e-5


@pytest.fixture(scope="module")
def tiny_onnx() -> tuple[ImuPoseNetwork, bytes]:
    """A network with weights and batch statistics that are not the initial ones, and its export."""
    torch.manual_seed(3)
    model = ImuPoseNetwork(TINY)
    model(torch.randn(8, 50, 6))  # in training mode: moves the batch statistics
    return model.eval(), export_imu_pose(model)


def test_every_answer_depends_on_the_last_sample(tiny_onnx: tuple[ImuPoseNetwork, bytes]) -> None:
    """The network looks at the whole window; a runtime that treats it as a filter shows poses from the future."""
    model, _ = tiny_onnx
    samples = torch.zeros(1, 30, 6)
    changed = samples.clone()
    changed[0, -1] = 1.0
    with torch.no_grad():
        assert (model(samples)[0][0, 0] != model(changed)[0][0, 0]).any()


# --- the sensor ---------------------------------------------------------------------------------------------------------


def test_a_sensor_at_rest_feels_the_floor() -> None:
    """Specific force, not acceleration: a side that takes gravity off twice sees a body fall upwards."""
    reading = ideal(np.zeros((5, 3)), np.broadcast_to(np.eye(3), (5, 3, 3)))
    assert reading == pytest.approx(np.tile([0.0, 0.0, 9.81, 0.0, 0.0, 0.0], (5, 1)))


def test_a_sensor_on_a_turntable_feels_the_centre() -> None:
    """Circular motion in closed form: w²r towards the centre, w about z, both constant in the sensor's own axes."""
    rate, radius, step = 3.0, 0.4, 0.01
    angle = rate * step * np.arange(50)
    cosine, sine = np.cos(angle), np.sin(angle)
    position = radius * np.stack([cosine, sine, np.zeros(50)], axis=1)
    rotation = np.stack([[[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]] for c, s in zip(cosine, sine, strict=True)])
    reading = ideal(position, rotation)
    # the second difference of a cosine is 2(1-cos(w h))/h² = w²(1 - (w h)²/12 + …) times its value
    exact = -radius * 2.0 * (1.0 - math.cos(rate * step)) / step**2
    assert reading[5] == pytest.approx([exact, 0.0, 9.81, 0.0, 0.0, rate], abs=1e-9)
    assert exact == pytest.approx(-radius * rate**2, rel=(rate * step) ** 2 / 12.0 * 1.01)


def test_a_phone_clips() -> None:
    """Beyond 16 g a phone reports 16 g; simulated data without the clip teaches on readings that no device gives."""
    flaws = Flaws(np.eye(3), np.ones(6), np.zeros(3), np.zeros(3), 0.0, 0.0)
    reading = measured(np.array([[1000.0, 0, 0, 0, -100.0, 0]]), flaws, np.random.default_rng(0))
    assert reading[0, 0] == pytest.approx(16 * 9.81)
    assert reading[0, 4] == pytest.approx(-math.radians(2000.0))


def test_drawn_mountings_are_rotations() -> None:
    """A mounting that stretches makes the sensor feel more gravity than there is."""
    for seed in range(20):
        mounting = draw_flaws(np.random.default_rng(seed)).mounting
        assert mounting @ mounting.T == pytest.approx(np.eye(3), abs=1e-14)
        assert np.linalg.det(mounting) == pytest.approx(1.0)


# --- before and behind the network --------------------------------------------------------------------------------------


def test_swapped_sides_swap_pairs_only() -> None:
    """Left and right exchanged: pelvis, spine and head stay."""
    mapping = SYSTEM.knobs["joint_order"].effects["left_right_swapped"]
    assert sorted(mapping) == list(range(17))
    assert [JOINTS[place] for place in mapping[:5]] == ["pelvis", "spine", "head", "shoulder_r", "shoulder_l"]
    assert sorted(SYSTEM.knobs["joint_order"].effects["constraint_loss"]) == list(range(17))


# --- the window ---------------------------------------------------------------------------------------------------------


def test_streaming_and_batches_of_windows_agree_bit_for_bit(tiny_onnx: tuple[ImuPoseNetwork, bytes]) -> None:
    """The same rows reach the network, whether they come one by one or lie in a file."""
    session = onnxruntime.InferenceSession(tiny_onnx[1], providers=["CPUExecutionProvider"])

    def evaluate(window: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = session.run(["head"], {"model_input": np.ascontiguousarray(window)[None]})[0][0]
        return answer

    samples = np.random.default_rng(2).normal(size=(70, 6)).astype(np.float32)
    newest, rows = stream(samples, 32, evaluate, hop=3)
    assert newest.tolist() == list(range(31, 70, 3))
    for index, row in zip(newest, rows, strict=True):
        assert np.array_equal(row, evaluate(samples[index - 31 : index + 1])[-1])


def test_a_short_window_is_refused() -> None:
    """Padded with zeros, a standing body falls: zero is not a reading of a sensor at rest."""
    window = SampleWindow(4, 6)
    for _ in range(3):
        window.push(np.ones(6, np.float32))
    with pytest.raises(UnusableInput, match="3 samples"):
        _ = window.rows
    with pytest.raises(UnusableInput, match="at least 32"):
        stream(np.zeros((31, 6), np.float32), 32, lambda rows: rows)


# --- losses and calibration ---------------------------------------------------------------------------------------------


def test_the_likelihood_is_that_of_a_normal_distribution() -> None:
    """Against torch's own distribution."""
    generator = torch.Generator().manual_seed(1)
    head, pose = torch.randn(2, 3, 102, generator=generator), torch.randn(2, 3, 51, generator=generator)
    normal = torch.distributions.Normal(head[..., 0::2], (0.5 * head[..., 1::2]).exp())
    assert negative_log_likelihood(head, pose).item() == pytest.approx(-normal.log_prob(pose).mean().item(), rel=1e-5)


def test_the_joint_error_is_a_mean_distance() -> None:
    """A sum over axes would be three times too small or too large."""
    head, pose = torch.zeros(1, 2, 102), torch.zeros(1, 2, 51)
    pose[..., 0], pose[..., 1] = 0.3, 0.4  # one joint of 17 is half a metre off
    assert mean_joint_error_m(head, pose).item() == pytest.approx(0.5 / 17)


def test_the_learned_weights_cannot_run_away() -> None:
    """With exp(w)·loss alone the cheapest weight is zero and the task is never learned: here the optimum is finite."""
    loss = MultiTaskLoss()
    outputs = (torch.zeros(2, 4, 102), torch.zeros(2, 3), torch.zeros(2, 5), torch.full((2, 1), 0.5))
    pose, labels = torch.ones(2, 4, 51), torch.zeros(2, dtype=torch.long)
    optimiser = torch.optim.SGD(loss.parameters(), lr=0.3)
    for _ in range(400):
        optimiser.zero_grad()
        loss(outputs, pose, labels, labels).backward()
        optimiser.step()
    wanted = [math.log(0.5 * (math.log(2 * math.pi) + 1.0)), math.log(0.5 * math.log(3)), math.log(0.3 * math.log(5))]
    assert loss.log_weights.detach().numpy()[:3] == pytest.approx(wanted, abs=1e-3)


def test_a_temperature_mends_a_spread_that_is_off_by_a_factor() -> None:
    """Scores of a normal distribution claimed half as wide: the fitted factor is 2, and coverage is 68 %."""
    scores = 2.0 * np.random.default_rng(4).normal(size=200_000)
    temperature = fit_temperature(scores)
    assert temperature == pytest.approx(2.0, rel=0.01)
    assert coverage(scores) == pytest.approx(math.erf(0.5 / math.sqrt(2)), abs=0.01)
    assert coverage(scores / temperature) == pytest.approx(math.erf(1 / math.sqrt(2)), abs=1e-3)


def test_coordinates_that_never_move_are_not_scored() -> None:
    """A third of the body stands still; counted, it turns any spread into a perfect one."""
    pose = np.zeros((5, 10, 51))
    pose[..., 7] = np.linspace(0.0, 1.0, 10)
    assert np.flatnonzero(moving(pose)).tolist() == [7]
    scores = standard_scores(np.zeros_like(pose), np.ones_like(pose), pose)
    assert scores.shape == (50,)


def test_names_are_those_of_the_contract() -> None:
    """Only the position identifies a logit, so the order of names must match the contract."""
    assert [field.name for field in SYSTEM.vectors["exercise_logits"]] == list(EXERCISES)
    assert [field.name for field in SYSTEM.vectors["form_logits"]] == list(FORMS)
    assert SYSTEM.vectors["head"].width == 102
