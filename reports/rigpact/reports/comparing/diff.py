"""`rigpact diff`: two recordings of any system."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rigpact.contract.character import bone_names_of, contract_of_bones
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import FindingsReport
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import ContractFiles, files_of, network_of
from rigpact.reference_runtime.recordings.recording import Recording, of_bones, read_recording, with_all_bones
from rigpact.reports.checking.check import said_of_inputs
from rigpact.reports.comparing.checkpoints.ranking import bone_name
from rigpact.reports.comparing.compare import Comparison, SomeBones, compare
from rigpact.reports.comparing.judgement import judge

# The error of every bone in every frame as a table, for other tools.


def _write_error_table(comparison: Comparison, path: Path) -> None:
    """Write one row for each frame and bone as CSV: frame, time_s, bone, deg, cm (cm only with a skeleton).

    UnusableInput where no poses were compared, or for another name.
    """
    pose = comparison.pose
    if pose is None:
        raise UnusableInput("--table", "a recording without bones", "--format json")
    if path.suffix.lower() != ".csv":
        raise UnusableInput(path, f"the name {path.name}", "a name ending in .csv")
    frames, bones = pose.deg.shape
    names = [bone_name(comparison.bones, bone) for bone in range(bones)]
    time_s = comparison.frames / comparison.a.trace.header.fps
    columns = {"frame": np.repeat(comparison.frames, bones), "time_s": np.repeat(time_s, bones)}
    columns |= {"bone": np.tile(names, frames), "deg": pose.deg.reshape(-1)}
    table = pd.DataFrame(columns if pose.cm is None else {**columns, "cm": pose.cm.reshape(-1)})
    write_bytes(path, table.to_csv(index=False, lineterminator="\n").encode("utf-8"))


# Compare recordings of which at least one holds some of the bones
def compare_recordings(
    a: Recording,
    b: Recording,
    contract: Contract | None = None,
    *,
    only: Collection[str] = (),
    network: Any = None,
    teacher: Recording | None = None,
) -> Comparison:
    """Measure two recordings against each other, of all bones or of some. Only those of all bones are held against a teacher."""
    if not (a.bones or b.bones):
        return compare(a, b, contract, only=only, network=network, teacher=teacher)
    if teacher is not None:
        raise UnusableInput("--teacher", "a recording of some bones", "two recordings of all bones")
    if contract is None:
        raise UnusableInput("--contract", "none", "the bundle: it says which bones the recordings hold")
    bones = _common(a, b)
    own = contract_of_bones(contract, bones)
    cut = of_bones(a, contract, bones), of_bones(b, contract, bones)
    every = with_all_bones(a) or a, with_all_bones(b) or b
    held = {name for side in cut for name in side.trace.stages}
    first, second = (set() if side.bones else set(side.trace.stages) for side in every)
    whole = held & {name for name in first & second if any(field.bone for field in contract.fields(name))}
    asked = set(only) or held
    parts: dict[bool, Comparison] = {}
    if asked - whole:
        parts[False] = compare(cut[0], cut[1], own, only=sorted(asked - whole))
    if asked & whole:
        parts[True] = compare(every[0], every[1], contract, only=sorted(asked & whole), network=network)
    sides = _mixed(cut[0], every[0], whole), _mixed(cut[1], every[1], whole)
    joined = _joined(parts, sides, own, whole & asked)
    names = bone_names_of(contract)
    held_by = {side.path: tuple(names[bone] for bone in side.bones) for side in (a, b) if side.bones}
    missing = tuple(name for name in names if name not in bone_names_of(own))
    rests = SomeBones(bone_names_of(own), missing, tuple(sorted(whole & asked)), held_by)
    return replace(joined, some_bones=rests)


def _common(a: Recording, b: Recording) -> tuple[int, ...]:
    """The bones that both have, in the order of the recording of some bones; UnusableInput where there is none."""
    bones = a.bones or b.bones
    shared = tuple(bone for bone in bones if not b.bones or bone in b.bones)
    if not shared:
        raise UnusableInput(f"{b.path}#/bones", f"no bone that {a.path.name} holds", "at least one bone that both hold")
    return shared


def _mixed(cut: Recording, every: Recording, whole: Collection[str]) -> Recording:
    """A recording with all bones in some of its stages."""
    stages = {name: (every if name in whole else cut).trace.stages[name] for name in cut.trace.stages}
    return replace(cut, trace=replace(cut.trace, stages=stages, mapping=None))


def _joined(
    parts: Mapping[bool, Comparison], sides: tuple[Recording, Recording], own: Contract, whole: Collection[str]
) -> Comparison:
    """Both comparisons as one. parts: of some bones (False) and of all (True)."""
    some = next(iter(parts.values()))

    def of_both(what: str) -> dict[str, Any]:
        items = [(key, *item) for key, part in parts.items() for item in getattr(part, what).items()]
        found = {name: value for key, name, value in items if (name in whole) is key}
        return {name: found[name] for name in some.stage_order if name in found}

    stages, waived, is_posed_whole = of_both("stages"), of_both("waived"), some.posed in whole
    posed = parts.get(is_posed_whole, some)
    inheriting = [name for key, part in parts.items() for name in part.inheriting if (name in whole) is key]
    return replace(
        some, a=sides[0], b=sides[1], contract=own, bones=posed.bones, stages=stages, waived=waived,
        missing=of_both("missing"), pose=posed.pose, baseline=posed.baseline, inheriting=inheriting,
    )  # fmt: skip


def diff(
    a: Path,
    b: Path,
    files: ContractFiles,
    *,
    stages: Sequence[str] = (),
    table: Path | None = None,
    onnx: Path | None = None,
    resolution: str | None = None,
    teacher: Path | None = None,
) -> FindingsReport:
    """Compare any two recordings of one system; without a contract, only published poses are compared.

    stages: empty for all. table: the file for the table of errors. onnx: the model of both. resolution: how finely the numbers
    of both are written, in words; None where the numbers show it. teacher: the clip that both predict, or a teacher batch of it.
    """
    contract = files.opened_if_given()
    first, second = (_recording(path, contract, resolution) for path in (a, b))
    target = None if teacher is None else _recording(teacher, contract)
    if contract is None and onnx is not None:
        raise UnusableInput("--onnx", "no --contract beside it", "the bundle of the model")
    network = None if contract is None else network_of(contract, onnx)
    comparison = compare_recordings(first, second, contract, only=stages, network=network, teacher=target)
    if target is not None and comparison.baseline is None:
        expected = "two recordings of y_out with the bones of the clip"
        raise UnusableInput("--teacher", "no published pose with a known next one", expected)
    if table is not None:
        _write_error_table(comparison, table)
    return judge(comparison, said_of_inputs(files, (a, b, teacher)))


def _recording(path: Path, contract: Contract | None, resolution: str | None = None) -> Recording:
    found: Recording = read_recording(path) if contract is None else files_of(contract).recording(path, contract)
    return found.with_resolution(resolution)
