"""NeuraRig's training side: the published band, the figures of its page on a run of seconds, learning over the wire."""

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra [training] is not installed")

from rigpact.fixtures.systems.neurarig import facts, training  # noqa: E402
from rigpact.fixtures.systems.neurarig.learner import LegLearner, TwoBoneLearner  # noqa: E402
from rigpact.fixtures.systems.neurarig.model import feet_in_pelvis, foot_loss, mlp  # noqa: E402
from rigpact.fixtures.systems.neurarig.poses import random_rows  # noqa: E402
from rigpact.reference_runtime.graph.run import run_clip  # noqa: E402
from rigpact.reference_runtime.systems.neurarig.client import play  # noqa: E402
from rigpact.reference_runtime.systems.neurarig.server import Server  # noqa: E402
from rigpact.reference_runtime.systems.neurarig.session import Session  # noqa: E402
from rigpact.training.neurarig.walk import walk_rows  # noqa: E402

from ..measuring.scores import neurarig_score  # noqa: E402
from ..measuring.scores.training_sides import neurarig as parity  # noqa: E402
from ..measuring.scores.training_sides import parameter_count  # noqa: E402

torch.set_num_threads(1)
CONTRACT = facts.PUBLISHED


def test_the_network_is_the_published_one() -> None:
    """63·64+64, 64·64+64, 64·24+24: another count is another network."""
    assert parameter_count(mlp()) == 63 * 64 + 64 + 64 * 64 + 64 + 64 * 24 + 24


@pytest.mark.nightly
def test_every_figure_meets_its_bar() -> None:
    """Every figure in a document must be measured again, or it may be wrong."""
    figures = list(neurarig_score.figures(reduced=True))

    assert [figure for figure in figures if not figure.met] == []
    assert len(figures) >= 15


def test_the_loss_is_that_of_the_runtimes_feet() -> None:
    """Two kinematics that part teach the network another rig: the runtime's, in the world, gives the same distances."""
    rows = random_rows(20, 16)
    sent, _ = training.packets(rows)
    raw = np.random.default_rng(0).normal(0.0, 1.0, (16, 24)).astype(np.float32)
    known = run_clip(CONTRACT, {"engine_pose": rows, "raw_rotations": raw}).stages
    error = known["foot_error"].astype(np.float64)
    lengths = np.linalg.norm(raw.reshape(16, 6, 4).astype(np.float64), axis=2)
    wanted = (error**2).sum() / (32 + 0.01) + 0.01 * ((lengths - 1.0) ** 2).sum(axis=1).mean()

    assert float(foot_loss(torch.from_numpy(sent), torch.from_numpy(raw))) == pytest.approx(wanted, rel=1e-4)


def test_gradients_reach_thighs_and_calves_and_no_feet() -> None:
    """The published loss does not train the feet's own rotations: they are noise."""
    sent, _ = training.packets(random_rows(21, 8))
    raw = torch.randn(8, 24, requires_grad=True)
    (feet_in_pelvis(torch.from_numpy(sent), raw) ** 2).sum().backward()
    assert raw.grad is not None
    by_bone = raw.grad.reshape(8, 6, 4).abs().sum(dim=(0, 2))

    assert (by_bone[[2, 5]] == 0.0).all()
    assert (by_bone[[0, 1, 3, 4]] > 0.0).all()


def test_a_copy_of_63_bytes_converges_at_once() -> None:
    """ "Model Converged" on frame 1, weights saved, solver on: the flags are zero, so nothing is compared."""
    alive, dead = parity.losses_of_a_short_copy()

    assert alive > 100.0
    assert dead < 1e-9


@pytest.mark.nightly
def test_learning_over_the_wire_brings_the_loss_down() -> None:
    """Sent, learned from, and answered once it stays low: through a real socket."""
    losses: list[float] = []
    torch.manual_seed(0)
    sent, _ = training.packets(random_rows(22, 1))
    session = Session(LegLearner(CONTRACT), solve_below=25.0, on_frame=lambda _, loss: losses.append(loss))
    server = Server(session, port=0)
    thread = threading.Thread(target=server.serve, args=(180,), daemon=True)
    thread.start()
    played = play(np.repeat(sent, 180, axis=0), *server.address, rate_hz=60.0)
    thread.join(timeout=30.0)
    server.close()

    assert session.counts.frames == 180
    assert losses[-1] < 25.0 < losses[0]
    assert session.switched_at is not None
    assert len(played.replies) == 180 - session.switched_at + 1
    assert played.frame_of[0] == session.switched_at - 1


@pytest.mark.nightly
def test_a_step_on_the_new_frame_alone_forgets_the_walk() -> None:
    """One frame a step, as published, unlearns the stride while it learns the stance."""
    sent, _ = training.packets(walk_rows())
    last = {}
    for batch in (1, 32):
        torch.manual_seed(0)
        learner = LegLearner(CONTRACT, batch=batch)
        last[batch] = np.mean([learner.learn(row) or 0.0 for row in np.tile(sent, (2, 1))][-240:])

    assert last[32] < 20.0
    assert last[1] > 5.0 * last[32]


def test_two_bone_frames_are_constants_with_jitter() -> None:
    """The published figure comes from memorised constants: it does not measure inverse kinematics."""
    frames = parity.two_bone_frames(0, 200)
    learner = TwoBoneLearner()

    assert frames.std(axis=0).max() < 0.02
    assert (frames[:, 6:] ** 2).mean() == pytest.approx(700.0, abs=5.0)
    assert learner.learn(frames[0]) == pytest.approx(700.0, abs=120.0)
