"""`rigpact explain` on a recording, with the runtime's own terms or without them.

Without them, what differs is a part of `obs`, or `motor_q`: its place is the term that has the channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..real_mistakes.answers import Asked, ask, options
from ..real_mistakes.grading import Right
from .facts import Facts, recorded
from .statements import STAGES


def asked(folder: Path, name: str, raw: Path | None) -> Asked:
    """The answer. raw: where to write the recording without the terms; None to ask with them."""
    path = folder / f"{name}.npz"
    if raw is not None:
        np.savez(raw, allow_pickle=False, **recorded(path))
        path = raw
    return ask(path, options(folder, name), name)


def in_terms(answer: Mapping[str, Any], facts: Facts, truth: Right | None) -> dict[str, Any]:
    """The answer to a recording without terms, with the terms' names for places."""
    stages = truth.stages if truth else ()
    first = answer["first_divergence"]
    if first is not None:
        stage, channel = first["stage"], first.get("channel")
        covered = STAGES[facts.term_at(channel)] if stage == "obs" and channel is not None else _covered(stage)
        first = {**first, "stage": _one_of(covered, stages)}
    moved = {key: [_moved(each, stages) for each in answer.get(key) or ()] for key in ("causes", "relations")}
    return {**answer, "first_divergence": first, **moved}


def _moved(claim: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
    return {**claim, "stage": _one_of(_covered(claim.get("stage", "")), wanted)}


def _covered(stage: str) -> tuple[str, ...]:
    """The stage, and those that it holds in a recording without terms."""
    terms = [each for covered in STAGES.values() if "obs" in covered for each in covered]
    return (stage, *{"obs": terms, "motor_q": STAGES["target"]}.get(stage, ()))


def _one_of(covered: Sequence[str], wanted: Sequence[str]) -> str:
    return next((stage for stage in covered if stage in wanted), covered[0])
