"""A recording of some bones: the columns that it holds, and the contract that judges it.

An engine at a lower level of detail computes only some bones, and its header says which (`bones`). A stage then holds these
bones, or all of them: the network has all inputs whatever is drawn. Both are judged, each under its own contract.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.some_bones import columns_of_fields
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.trace import Trace


@dataclass(frozen=True, eq=False)
class HeldStages:
    """The stages of a recording of some bones. some: of these bones alone, (T, width); whole: those recorded with all."""

    bones: tuple[int, ...]
    some: dict[str, FloatArray]
    whole: Mapping[str, FloatArray]


def held_stages(trace: Trace, contract: Contract, place: object) -> HeldStages | None:
    """What a trace holds; None where its header does not name bones.

    UnusableInput for a bone that the contract does not have, and for a stage that has neither these bones nor all.
    """
    if trace.header.bones is None:
        return None
    bones = _indices(trace.header.bones, contract, f"{place}#/bones")
    some: dict[str, FloatArray] = {}
    whole: dict[str, FloatArray] = {}
    of_no_bone: dict[str, FloatArray] = {}
    for name, rows in trace.stages.items():
        fields = contract.fields(name)
        columns, width = columns_of_fields(fields, bones), rows.shape[1]
        if width == len(columns) or not fields.width:
            some[name] = rows
            of_no_bone |= {name: rows} if width == fields.width else {}
        elif width == fields.width:
            some[name], whole[name] = np.ascontiguousarray(rows[:, columns]), rows
        else:
            expected = f"{len(columns)} for the {len(bones)} bones of the header, or {fields.width} for all"
            hint = "`bones` of the header names the bones in the order in which they are recorded"
            raise UnusableInput(f"{place}#/stages/{name}", f"{width} numbers", expected, hint)
    return HeldStages(bones, some, whole | of_no_bone if whole else {})


def _indices(given: Sequence[Any], contract: Contract, place: str) -> tuple[int, ...]:
    names = list(character_of(contract).bone_names)
    found = []
    for index, bone in enumerate(given):
        if isinstance(bone, str) and bone not in names:
            near = get_close_matches(bone, names)
            hint = f"did you mean {near[0]}?" if near else "is it the right --contract?"
            raise UnusableInput(f"{place}/{index}", f"the bone {bone!r}", f"one of the contract's {len(names)}", hint)
        if not isinstance(bone, str) and not 0 <= bone < len(names):
            raise UnusableInput(f"{place}/{index}", f"the bone {bone}", f"an index from 0 to {len(names) - 1}")
        found.append(names.index(bone) if isinstance(bone, str) else int(bone))
    return tuple(found)


def cut_to(stages: Mapping[str, FloatArray], contract: Contract, bones: Sequence[int]) -> dict[str, FloatArray]:
    """Stages under a contract, with some of its bones only."""
    found = {}
    for name, rows in stages.items():
        fields = contract.fields(name)
        found[name] = np.ascontiguousarray(rows[:, columns_of_fields(fields, bones)]) if fields.width else rows
    return found
