"""What an engine at a lower level of detail records: the columns of some bones, laid out by hand."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigpact.contract import Contract
from rigpact.reference_runtime import Trace, write_trace

from .engine_recordings import ENGINE

NUMBERS_OF_A_BONE = {"BoneRotations6D": 6, "BoneAngularVelocities": 3}
PUBLISHED = ("delta6d", "next6d", "y_out", "quat")
"""What such an engine computes for its bones alone; the network's inputs and answer it has for all."""


def columns(contract: Contract, stage: str, bones: Sequence[int]) -> list[int]:
    """The channels of some bones in a stage, as docs/trace-format.md says."""

    def blocks(start: int, size: int) -> list[int]:
        return [start + bone * size + number for bone in bones for number in range(size)]

    if stage in ("x_raw", "state", "x_raw_next"):
        found: list[int] = []
        for entry in sorted(contract.numbers.state, key=lambda entry: entry.start):
            size = NUMBERS_OF_A_BONE.get(entry.name)
            found += range(entry.start, entry.stop) if size is None else blocks(entry.start, size)
        return found
    if stage in ("pose_hist_raw", "pose_hist"):
        return [one for frame in range(contract.numbers.pose_history_length or 0) for one in blocks(frame * 46 * 6, 6)]
    if stage in ("cond_raw", "cond", "contacts"):
        return list(range(2 if stage == "contacts" else 7))
    return blocks(0, {"angvel": 3, "quat": 4}.get(stage, 6))


def of_bones(
    trace: Trace,
    contract: Contract,
    bones: Sequence[int],
    whole: Collection[str] = (),
    said: Sequence[Any] | None = None,
) -> Trace:
    """The recording with some bones; `whole` stages with all; `said` in its header, by default the bones' names."""
    stages = {
        name: rows if name in whole else rows[:, columns(contract, name, bones)] for name, rows in trace.stages.items()
    }
    names = tuple(contract.numbers.bone_names[bone] for bone in bones) if said is None else tuple(said)
    header = replace(trace.header, producer=ENGINE, bones=names)
    return replace(trace, header=header, stages=stages, mapping=None)


def written(folder: Path, trace: Trace, name: str = "lod.trace.bin") -> Path:
    """The recording as a file."""
    write_trace(trace, folder / name)
    return folder / name
