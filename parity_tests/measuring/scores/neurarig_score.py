"""The figures of NeuraRig: feet on new targets, the published losses, damaged datagrams, lost frames, parity."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.neurarig.client import play
from rigpact.reference_runtime.systems.neurarig.server import Server
from rigpact.reference_runtime.systems.neurarig.session import Session
from rigpact.reference_runtime.systems.neurarig.wire import LEGS, TWO_BONE, Reason, encode_frame, encode_handshake

from .figure import Figure, at_least, below, exactly

if TYPE_CHECKING:
    from rigpact.reference_runtime.systems.neurarig.session import Learner

    from .training_sides.neurarig import FootError

FOOT_ERROR_CM, REDUCED_FOOT_ERROR_CM = 1.5, 10.0
TRAINING_CPU_S = 240.0
"""Two minutes on two cores."""
SEEDS, SEEDS_NEEDED = 5, 4
DATAGRAMS, REDUCED_DATAGRAMS = 10_000, 1_000
PLAYED_S, REDUCED_PLAYED_S, RATE_HZ = 10.0, 1.0, 60.0
PARITY = 1e-5
LIVE_FRAMES = 3_600
"""A minute of walking."""
_PEER = ("127.0.0.1", 50_000)


def figures(*, reduced: bool = False) -> Iterator[Figure]:
    """Train and measure. `reduced` trains for seconds and sends a tenth of the datagrams."""
    from rigpact.fixtures.systems.neurarig import training
    from rigpact.fixtures.systems.neurarig.model import mlp
    from rigpact.fixtures.systems.neurarig.poses import random_rows

    from .training_sides import neurarig as parity
    from .training_sides import parameter_count

    yield exactly("parameters", parameter_count(mlp()), 9_816)
    before = time.process_time()
    model = training.train(training.SMALL if reduced else training.COMMITTED)
    cost = time.process_time() - before
    yield from _accuracy(parity.held_out_error(model), reduced=reduced)
    yield below("training, processor time", cost, TRAINING_CPU_S, "s")
    yield from _published_band(SEEDS_NEEDED if reduced else SEEDS)
    yield _learned_live(reduced=reduced)
    dead, alive = reversed(parity.losses_of_a_short_copy())
    yield below("loss of a frame of which 63 bytes were copied", dead, 1e-9, "cm2", f"the whole frame: {alive:.0f}")
    packets, _ = training.packets(random_rows(12, 256))
    yield from _under_fire(packets, REDUCED_DATAGRAMS if reduced else DATAGRAMS)
    yield from _over_loopback(packets, REDUCED_PLAYED_S if reduced else PLAYED_S)
    yield below("ONNX against torch at 7 rows, traced at 2", parity.export_error(model), PARITY)
    for name, error in parity.runtime_errors(model).items():
        yield below(f"runtime against torch, {name}", error, PARITY, "m" if name == "feet" else "")


def _accuracy(after: FootError, *, reduced: bool) -> Iterator[Figure]:
    from .training_sides.neurarig import copy_error, untrained_error

    words = f"untrained {untrained_error().mean_cm:.1f}, legs that stay as they stand {copy_error().mean_cm:.1f}"
    limit = REDUCED_FOOT_ERROR_CM if reduced else FOOT_ERROR_CM
    yield below("mean distance of feet from targets never seen", after.mean_cm, limit, "cm", words)
    yield Figure("the same, 95th percentile", after.p95_cm, "cm")
    yield Figure("the same, worst", after.worst_cm, "cm")


def _losses_over_a_session(seed: int) -> list[float]:
    """The losses of the early build on its frames. The frames are encoded and decoded as on the network."""
    import torch

    from rigpact.fixtures.systems.neurarig import learner

    from .training_sides.neurarig import two_bone_frames

    torch.manual_seed(seed)
    losses: list[float] = []
    session = Session(learner.TwoBoneLearner(), TWO_BONE, learner.TWO_BONE_BELOW, lambda _, loss: losses.append(loss))
    session.receive(encode_handshake(TWO_BONE.bones), _PEER)
    for row in two_bone_frames(seed, learner.TWO_BONE_WITHIN_FRAMES):
        session.receive(encode_frame(row), _PEER)
        if losses[-1] < learner.TWO_BONE_BELOW:
            break
    return losses


def _published_band(seeds: int) -> Iterator[Figure]:
    from rigpact.fixtures.systems.neurarig import learner

    within, firsts, frames = 0, [], []
    for seed in range(seeds):
        losses = _losses_over_a_session(seed)
        firsts.append(losses[0])
        reached = next((index + 1 for index, loss in enumerate(losses) if loss < learner.TWO_BONE_BELOW), None)
        within += reached is not None
        frames.append(reached or -1)
    needed = min(SEEDS_NEEDED, seeds)
    said = f"first losses {min(firsts):.0f} to {max(firsts):.0f}, frames {', '.join(map(str, frames))}; published 845"
    yield at_least(f"early build below 0.001 within 1,100 frames, of {seeds} seeds", within, needed, "", said)


def _learned_live(*, reduced: bool) -> Figure:
    """Send the committed walk again and again to a session with an untrained network, as `serve` starts it."""
    import torch

    from rigpact.fixtures.systems.neurarig import learner, training
    from rigpact.training.neurarig.walk import walk_rows

    torch.manual_seed(0)
    threshold, frames = (25.0, 600) if reduced else (learner.SOLVE_BELOW_CM2, LIVE_FRAMES)
    session = Session(learner.LegLearner(), LEGS, threshold)
    session.receive(encode_handshake(LEGS.bones), _PEER)
    packets, _ = training.packets(walk_rows())
    for index in range(frames):
        if session.switched_at is None:
            session.receive(encode_frame(packets[index % len(packets)]), _PEER)
    switched = session.switched_at or float("nan")
    return below(f"frames of a walk until every loss is below {threshold:g} cm2", switched, frames, "", "60 a second")


class _Silent:
    """A learner that answers at once, so that only the network connection is measured."""

    def learn(self, _values: FloatArray) -> float | None:
        return None

    def answer(self, _values: FloatArray) -> FloatArray:
        return np.zeros(LEGS.reply_floats, np.float32)


def _under_fire(packets: FloatArray, count: int) -> Iterator[Figure]:
    """Send damaged datagrams to a session that learns, and a sound frame after every tenth of them."""
    from rigpact.fixtures.systems.neurarig.learner import LegLearner

    from .training_sides.datagrams import damaged_datagrams

    session, crashes, sound = Session(LegLearner(), LEGS, solve_below=0.0), 0, 0
    level = logging.getLogger(Session.__module__).level
    logging.getLogger(Session.__module__).setLevel(logging.ERROR)
    session.receive(encode_handshake(LEGS.bones), _PEER)
    for index, datagram in enumerate(damaged_datagrams(0, count, packets)):
        try:
            session.receive(datagram, _PEER)
        except Exception:  # noqa: BLE001 - whatever it is, it is counted and shown
            crashes += 1
        if index % 10 == 0:
            taken = session.counts.frames
            session.receive(encode_frame(packets[index % len(packets)]), _PEER)
            sound += session.counts.frames - taken
    logging.getLogger(Session.__module__).setLevel(level)
    refused = session.counts.refused
    yield exactly(f"crashes from {count:,} damaged datagrams", crashes, 0)
    yield exactly("sound frames taken between them", sound, len(range(0, count, 10)))
    yield at_least("different reasons of refusal among them", len(refused), 8, "", f"{sum(refused.values()):,} refused")
    yield at_least("dead inputs refused among them", refused[Reason.DEAD_INPUT], 1)
    finite = session.last_loss is not None and bool(np.isfinite(session.last_loss))
    yield exactly("learning is still finite", float(finite), 1.0)


def _over_loopback(packets: FloatArray, seconds: float) -> Iterator[Figure]:
    learner: Learner = _Silent()
    session = Session(learner, LEGS)
    server = Server(session, port=0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    frames = np.resize(packets, (int(seconds * RATE_HZ), packets.shape[1]))
    played = play(frames, *server.address, rate_hz=RATE_HZ)
    server.stop()
    thread.join(timeout=5.0)
    server.close()
    yield exactly("frames lost at 60 Hz on loopback", played.sent - session.counts.frames, 0, "", f"{played.sent} sent")
    yield exactly(
        "replies lost on the way back", played.sent - len(played.replies), 0, "", f"{len(played.replies)} came"
    )
