"""What else can be wrong than a convention: the clip, the frame where it starts, the bundle, or the model's weights are not
those that were given; or what nothing records was never handed on.

A supposition is another choice of the files at hand, or of what they leave out, under which a recording is diagnosed anew. It
is accepted only if the stages that differ become fewer, none is added, and those that come from the clip agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.model.copies import quantised_models
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import ContractFiles, files_of, network_of
from rigpact.reference_runtime.graph.replayed import Evidence, FedBack
from rigpact.reference_runtime.graph.work import Work
from rigpact.reference_runtime.recordings.recording import Recording, judging_contract
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.evidence import EvidenceFiles, Gathered, JudgedPart
from rigpact.reports.diagnosing.hypotheses import Hypotheses

MOST_FILES = 64
"""Clips and bundles of one folder that are tried, the first by name."""
MOST_SLIPS = 3
"""Frames that look like the one before: more of them are a pose that is held."""
FIRST_FRAMES = 3
"""Frames by which the clip's start is looked for, before the whole recording is judged."""
PROOF = 32
"""So many values must be off before other weights are looked for: a wrong choice brings one back by chance at most every other
time."""


@dataclass(frozen=True, eq=False)
class Supposition:
    """Another choice of clip, start, bundle, weights or memory, in words, and what is judged then."""

    words: str
    part: JudgedPart


def best_supposition(
    gathered: Gathered, files: ContractFiles, given_files: EvidenceFiles, room: Path, budget: Budget | None = None
) -> Supposition | None:
    """The choice that leaves the fewest stages open; None where none leaves fewer than what was given.

    room: a folder for models with other weights, which has to last as long as the supposition.
    """
    budget = budget or Budget.unlimited()
    own = gathered.parts[-1]
    given = Hypotheses(replace(own.evidence, work=budget.work), own.contract)
    before, best = set(given.failing({})), None
    fewest = len(before)
    others = _suppositions(given, gathered.recording, files, given_files, room) if before else ()
    for supposed in budget.within(others, "other clips, bundles and weights"):
        tried = Hypotheses(*supposed.part)
        left = set(tried.failing({}))
        if set(given.judged) <= set(tried.judged) and left < before and len(left) < fewest:
            best, fewest = supposed, len(left)
    return best


def _suppositions(
    given: Hypotheses, recording: Recording, files: ContractFiles, given_files: EvidenceFiles, room: Path
) -> Iterator[Supposition]:
    part, clip = JudgedPart(given.evidence, given.contract), given_files.clip
    if clip is not None and set(given.failing({})) & _driven(given):
        words = f"{clip.name} drove it from its frame {{}} on"
        yield from _at_another_start(part, words, part.evidence.drive)
        yield from _another_clip(part, clip)
    yield from _never_carried(part)
    yield from _numbered_otherwise(part)
    yield from _another_bundle(part, recording, files)
    if given_files.onnx is not None:
        yield from _fewer_bits(given, given_files.onnx, room)


def _never_carried(part: JudgedPart) -> Iterator[Supposition]:
    """What a network or a filter remembers, and nothing records, as it is at the start in every frame."""
    known = part.evidence.fed_back
    if known is None:
        return
    names = tuple(known(part.contract, part.evidence.work, part.evidence.end))
    for chosen in dict.fromkeys((names, *((name,) for name in names))):
        words = f"{', '.join(chosen)} {'is' if len(chosen) == 1 else 'are'} never carried: every frame has what the first one has"
        forgotten = replace(part.evidence, fed_back=partial(_forgotten, known, chosen))
        yield Supposition(words, JudgedPart(forgotten, part.contract))


def _forgotten(
    known: Callable[[Contract, Work, int], FedBack], names: Sequence[str], contract: Contract, work: Work, end: int
) -> FedBack:
    found = known(contract, work, end)
    kept = {
        name: (np.broadcast_to(rows[:1], rows.shape), 0 * off) for name, (rows, off) in found.items() if name in names
    }
    return found | kept


def _numbered_otherwise(part: JudgedPart) -> Iterator[Supposition]:
    """A frame that was recorded twice, alone or so that all after it are late; or one that was lost, so that they are early."""
    evidence, count = part.evidence, len(part.evidence.frame)
    if count < 3:
        return
    rows = [values[1:] == values[:-1] for values in evidence.recorded.values()]
    doubled = np.flatnonzero(np.concatenate(rows, axis=1).all(axis=1)) + 1
    for row in doubled if len(doubled) <= MOST_SLIPS else ():
        kept, frame = [place for place in range(count) if place != row], int(evidence.frame[row])
        alone = evidence.at_rows(kept)
        yield Supposition(f"frame {frame} is frame {frame - 1} once more", JudgedPart(alone, part.contract))
        later = replace(alone, frame=np.where(alone.frame > frame, alone.frame - 1, alone.frame))
        yield Supposition(f"frame {frame - 1} was recorded twice", JudgedPart(later, part.contract))
    first = _where_early(part)
    if first is not None:
        frame = int(evidence.frame[first])
        later = replace(evidence, frame=evidence.frame + (np.arange(count) >= first))
        yield Supposition(
            f"frame {frame} was lost, and those after it are numbered without it", JudgedPart(later, part.contract)
        )


def _where_early(part: JudgedPart) -> int | None:
    """The first row from which the recording holds the clip's next frames instead of its own."""
    evidence = part.evidence
    if evidence.drive is None or evidence.mode == "free":
        return None
    drive = evidence.drive(part.contract)
    for stage, recorded in evidence.recorded.items():
        clip = drive.rows(stage)
        if clip is None or clip.shape[1] != recorded.shape[1] or evidence.frame[-1] + 1 >= len(clip):
            continue
        own, following = (np.abs(clip[evidence.frame + ahead] - recorded).max(axis=1) for ahead in (0, 1))
        early = following < own
        first = int(np.argmax(early))
        return first if early[first:].all() and early.any() and first else None
    return None


def _driven(given: Hypotheses) -> set[str]:
    """The judged stages that the clip gives."""
    return {stage for stage in given.judged if not given.graph[stage].needs}


def _another_clip(part: JudgedPart, clip: Path) -> Iterator[Supposition]:
    files = files_of(part.contract)
    for path in _beside(clip):
        try:
            drive = files.drive(path, part.contract)
            drive(part.contract)
        except UnusableInput:  # no clip of this system
            continue
        words = f"{path.name} drove it, not {clip.name}"
        yield Supposition(words, JudgedPart(replace(part.evidence, drive=drive), part.contract))
        yield from _at_another_start(part, f"{words}, from its frame {{}} on", drive)


def _another_bundle(part: JudgedPart, recording: Recording, files: ContractFiles) -> Iterator[Supposition]:
    if files.bundle is None:
        return
    for path in _beside(files.bundle):
        try:
            other = judging_contract(recording, replace(files, bundle=path).opened())
        except UnusableInput:  # no contract
            continue
        held = part.evidence.recorded
        is_alike = other.system.name == part.contract.system.name and set(held) <= set(other.system.graph.names)
        if is_alike and all(other.fields(name).width == part.contract.fields(name).width for name in held):
            yield Supposition(f"{path.name} is its contract, not {files.bundle.name}", JudgedPart(part.evidence, other))


def _fewer_bits(given: Hypotheses, model: Path, room: Path) -> Iterator[Supposition]:
    """The model with the weights that alone bring the network's answer within its bound; none where several do."""
    network, before = given.evidence.network, set(given.failing({}))
    answers = set(given.graph.answers)
    told = [stage for stage in given.judged if stage in before & (answers | given.graph.after(tuple(answers)))]
    if network is None or not told or _values_off(given, told[0]) < PROOF:
        return
    found = []
    for place, (words, content) in enumerate(quantised_models(model)):
        path = room / f"{place}_{model.name}"
        write_bytes(path, content)
        other = replace(given.evidence, network=network_of(given.contract, path))
        tried = Hypotheses(other, given.contract)
        if set(given.judged) <= set(tried.judged) and told[0] not in tried.failing({}):
            fit = f"{told[0]} is then within its bound in {tried.frames_within(told[0], {})} of {tried.frame_count} frames"
            said = f"the network's weights were {words} ({fit})"
            found.append(Supposition(said, JudgedPart(other, given.contract)))
    if len(found) == 1:
        yield found[0]


def _values_off(given: Hypotheses, stage: str) -> int:
    error = given.error(stage, {})
    return 0 if error is None else int(np.count_nonzero(error.excess > 1.0))


def _beside(path: Path) -> list[Path]:
    """The other files of a folder with the same ending, the first by name."""
    others = (other for other in sorted(path.parent.glob(f"*{path.suffix}")) if other.is_file())
    return [other for other in others if other.resolve() != path.resolve()][:MOST_FILES]


def _at_another_start(part: JudgedPart, words: str, drive: Callable[[Any], Any] | None) -> Iterator[Supposition]:
    """The clip cut or put off, so that its rows meet the recording's first frames. Only a run that the clip drives has such.

    A recorder may also have been switched on late: the run remembers frames that were not recorded.
    """
    evidence, said = part.evidence, words.format
    if drive is None or evidence.mode == "free":
        return
    for start in _starts(evidence, drive(part.contract)):
        yield Supposition(said(start), JudgedPart(replace(evidence, drive=_moved(drive, start)), part.contract))
        if start > 0:
            begun = replace(evidence, frame=evidence.frame + start, drive=drive)
            yield Supposition(f"{said(start)}, in a run that had begun before", JudgedPart(begun, part.contract))


def _moved(drive: Callable[[Any], Any], start: int) -> Callable[[Any], Any]:
    return lambda contract: _Moved(drive(contract), start)


def _starts(evidence: Evidence, rows: Any) -> Iterator[int]:
    """The clip's frames at which the recording's first frames are nearest, other than where they stand."""
    for stage, recorded in evidence.recorded.items():
        clip = rows.rows(stage)
        count = min(FIRST_FRAMES, len(recorded))
        if clip is None or clip.shape[1] != recorded.shape[1] or len(clip) <= count:
            continue
        apart = np.stack(
            [
                np.abs(clip[place : len(clip) - count + place + 1] - recorded[place]).max(axis=1)
                for place in range(count)
            ]
        )
        start = int(np.argmin(apart.max(axis=0))) - int(evidence.frame[0])
        if start:
            yield start
        return


class _Moved:
    """A clip's rows from a later frame on; before its first frame nothing is known."""

    def __init__(self, rows: Any, start: int) -> None:
        self._rows, self._start = rows, start

    @property
    def steps(self) -> int:
        """Number of frames that are left, or that come with those put before."""
        return int(self._rows.steps) - self._start

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, moved."""
        found = self._rows.rows(stage)
        return None if found is None else self._moved(found)

    def __getattr__(self, name: str) -> Any:
        """Arrays are moved; all else is the clip's own."""
        value = getattr(self._rows, name)
        return self._moved(value) if isinstance(value, np.ndarray) else value

    def _moved(self, rows: FloatArray) -> FloatArray:
        if self._start >= 0:
            return rows[self._start :]
        unknown = np.full((-self._start, *rows.shape[1:]), np.nan, rows.dtype)
        return np.concatenate((unknown, rows))
