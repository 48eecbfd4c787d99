"""NeuraRig's training side: the figures of its page on a run of seconds, and the loss."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra [training] is not installed")


from rigpact.reference_runtime.graph.run import run_clip  # noqa: E402
from rigpact.training.neurarig import facts, training  # noqa: E402
from rigpact.training.neurarig.model import feet_in_pelvis, foot_loss, mlp  # noqa: E402
from rigpact.training.neurarig.poses import random_rows  # noqa: E402

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
    assert len(figures) >= 12


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
