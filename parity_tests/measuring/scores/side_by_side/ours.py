"""`rigpact explain` on a recording, with the runtime's own terms or without them.

Without them, what differs is a part of `obs`, or `motor_q`: its place is the term that has the channel.
"""

from __future__ import annotations

import re
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
    wanted = truth.stages if truth else ()
    first = answer["first_divergence"]
    if first is not None:
        stage, channel = first["stage"], first.get("channel")
        terms = _terms(facts, [channel] if stage == "obs" and channel is not None else [])
        first = {**first, "stage": _one_of(_covered(stage, terms), wanted)}
    moved = {key: [_moved(each, facts, wanted) for each in answer.get(key) or ()] for key in ("causes", "relations")}
    return {**answer, "first_divergence": first, **moved}


def _moved(claim: Mapping[str, Any], facts: Facts, wanted: Sequence[str]) -> dict[str, Any]:
    place, source = claim.get("place") or claim.get("stage", ""), str(claim.get("source") or "")
    stage = re.split(r" of |\[", place)[0]
    own = claim.get("channels", ()) if stage == "obs" and not source else ()  # else they are the source's
    terms = [source] if source in facts.scales else _terms(facts, own)
    moved = _one_of(_covered(stage, terms), wanted)
    return {**claim, "stage": moved, "place": place if moved == stage else moved}


def _terms(facts: Facts, channels: Sequence[int]) -> list[str]:
    """The terms of some channels of the stacked observation; all where none is named."""
    named = {facts.term_at(channel) for channel in channels}
    return [term for term in facts.scales if term in named or not named]


def _covered(stage: str, terms: Sequence[str]) -> tuple[str, ...]:
    """The stage and what it holds: those of the same term or of the target; of the stacked observation, those of its terms."""
    parts = {term: [each for each in covered if each not in ("obs", "action")] for term, covered in STAGES.items()}
    held = [each for term in terms for each in parts[term]] if stage == "obs" else []
    return (*held, stage, *(each for part in parts.values() if stage in part for each in part))


def _one_of(covered: Sequence[str], wanted: Sequence[str]) -> str:
    return next((stage for stage in covered if stage in wanted), covered[0])
