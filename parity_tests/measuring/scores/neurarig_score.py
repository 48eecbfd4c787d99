"""The figures of NeuraRig: feet on new targets, damaged datagrams, parity."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.neurarig.session import Session
from rigpact.reference_runtime.systems.neurarig.wire import RIG_BONES, Reason
from rigpact.training.neurarig.datagrams import encode_frame, encode_handshake

from .figure import Figure, at_least, below, exactly

if TYPE_CHECKING:
    from .training_sides.neurarig import FootError

FOOT_ERROR_CM, REDUCED_FOOT_ERROR_CM = 1.5, 10.0
TRAINING_CPU_S = 240.0
"""Two minutes on two cores."""
DATAGRAMS, REDUCED_DATAGRAMS = 10_000, 1_000
PARITY = 1e-5
_PEER = ("127.0.0.1", 50_000)


def figures(*, reduced: bool = False) -> Iterator[Figure]:
    """Train and measure. `reduced` trains for seconds and sends a tenth of the datagrams."""
    from rigpact.training.neurarig import training
    from rigpact.training.neurarig.poses import random_rows
    from rigpact.training.neurarig.training import mlp

    from .training_sides import neurarig as parity
    from .training_sides import parameter_count

    yield exactly("parameters", parameter_count(mlp()), 9_816)
    before = time.process_time()
    model = training.train(training.SMALL if reduced else training.COMMITTED)
    cost = time.process_time() - before
    yield from _accuracy(parity.held_out_error(model), reduced=reduced)
    yield below("training, processor time", cost, TRAINING_CPU_S, "s")
    dead, alive = reversed(parity.losses_of_a_short_copy())
    yield below("loss of a frame of which 63 bytes were copied", dead, 1e-9, "cm2", f"the whole frame: {alive:.0f}")
    packets, _ = training.packets(random_rows(12, 256))
    yield from _under_fire(packets, REDUCED_DATAGRAMS if reduced else DATAGRAMS)
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


def _under_fire(packets: FloatArray, count: int) -> Iterator[Figure]:
    """Send damaged datagrams to a session, and a sound frame after every tenth of them."""
    from .training_sides.datagrams import damaged_datagrams

    session, crashes, sound = Session(lambda _packet: np.zeros(24, np.float32)), 0, 0
    level = logging.getLogger(Session.__module__).level
    logging.getLogger(Session.__module__).setLevel(logging.ERROR)
    session.receive(encode_handshake(RIG_BONES), _PEER)
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
