"""Write a folder that reproduces a failing run anywhere: files, network inputs, a pytest file, a C++ listing.

contract, companion, model or recorded answers, clip   the run's files, under the names in repro.json
repro.json            frames, mode, faults, conventions, place of the failure, the guard that keeps it finite
test_data_set_0/      the network's inputs and outputs at the failing frame, in the layout of ONNX backend tests
test_repro.py         fails while the defect exists; RIGPACT_GUARD=NAME shows that a guard helps
repro_inputs.h        the same inputs as C++ arrays
"""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file, copy_folder, write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, write_trace
from rigpact.reports.nonfinite.guards import guarded
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.origin import input_order
from rigpact.reports.nonfinite.shrink import Shrunk, shrink

MODEL, REPLAY = "model.onnx", "replay.trace.jsonl"
_FLOAT = 1
"""TensorProto.DataType.FLOAT"""
_TEST = '''"""Fails while the defect is there. RIGPACT_GUARD=NAME runs it with a guard{guard}."""

import os
from pathlib import Path

from rigpact.reports.nonfinite.repro import replay_repro


def test_the_run_stays_finite():
    """{story}"""
    found = replay_repro(Path(__file__).parent, os.environ.get("RIGPACT_GUARD"))
    assert found.verdict == "finite", found.origin
'''


def write_repro(folder: Path, subject: Subject, found: Investigation, files: tuple[Path, Path | None]) -> Path:
    """Shrink a failing run and write its folder; UnusableInput for a clip that cannot be split into columns."""
    failing = found.origin.frame if found.origin else 0
    shrunk = shrink(subject, max(found.frames, failing) + 2)
    if shrunk is None:
        raise UnusableInput("--repro", "a run of a teacher file, or one that does not fail", "a failing run of a clip")
    with tempfile.TemporaryDirectory() as made:
        _write_files(Path(made), shrunk, found, files)
        return copy_folder(Path(made), folder)


def _write_files(folder: Path, shrunk: Shrunk, found: Investigation, files: tuple[Path, Path | None]) -> None:
    for source in files:
        if source is not None:
            copy_file(source, folder / source.name)
    small = shrunk.subject
    names = {"bundle": files[0].name, "companion": files[1].name if files[1] else None}
    names["clip"] = small.files.write_clip(small.clip, folder, small.contract).name
    names["network"] = _write_network(folder, small)
    guard = found.guard.guard if found.guard else None
    facts = {**_facts(shrunk, guard, folder, names), "files": names}
    write_bytes(folder / "repro.json", json.dumps(facts, indent=1).encode())
    if not small.contract.system.windowed:
        _write_vectors(folder, shrunk)
    story = f"{shrunk.origin.stage} at frame {shrunk.origin.frame}: {shrunk.origin.operation}".replace('"', "'")
    words = f"; {guard} cures it" if guard else ""
    test = _TEST.format(guard=words, story=story.replace("\\", "/"))
    write_bytes(folder / "test_repro.py", test.encode())


def replay_repro(folder: Path, guard: str | None = None) -> Investigation:
    """Run a repro folder again, with a guard if one is given."""
    facts = json.loads((folder / "repro.json").read_text(encoding="utf-8"))
    names = facts["files"]
    contract = _declared(folder, names).with_conventions(facts["conventions"])
    files, network = files_of(contract), names["network"]
    if network is not None:
        read = files.network if network == MODEL else files.replay
        network = read(folder / network, contract)
    faults = tuple(files.fault(word) for word in facts["faults"])
    subject = Subject(contract, network, files.clip(folder / names["clip"], contract), facts["mode"], faults)
    if guard:
        changed = dict(guarded(subject))
        if guard not in changed:
            raise UnusableInput("RIGPACT_GUARD", guard, f"one of {', '.join(changed)}")
        subject = changed[guard][0]
    return investigate(subject, facts["frames"], guard_frames=0)


def _declared(folder: Path, names: Mapping[str, Any]) -> Any:
    companion = names["companion"] and folder / names["companion"]
    return open_contract(folder / names["bundle"], companion)


def _facts(shrunk: Shrunk, guard: str | None, folder: Path, names: Mapping[str, Any]) -> dict[str, Any]:
    subject = shrunk.subject
    declared = _declared(folder, names).conventions
    return {
        "format": "rigpact-repro",
        "version": 1,
        "mode": subject.mode,
        "frames": shrunk.frames,
        "faults": [str(fault) for fault in subject.faults],
        "conventions": subject.contract.conventions.changes_from(declared),
        "origin": shrunk.origin.to_json(),
        "guard": guard,
        "channels": [f"{name}[{column}]" for name, column in shrunk.kept],
        "channels_before": shrunk.columns,
        "runs": shrunk.runs,
    }


def _write_network(folder: Path, subject: Subject) -> str | None:
    """Write the model or the recorded answers; None where the clip itself holds the answers."""
    network, contract = subject.network, subject.contract
    if network is None:
        return None
    if isinstance(network, Mapping):
        found = ", ".join(network)
        raise UnusableInput(
            "--repro", f"the networks {found}", "a contract with one network", "a folder holds one model"
        )
    if hasattr(network, "signature"):
        copy_file(network.signature.path, folder / MODEL)
        return MODEL
    if not hasattr(network, "outputs"):
        raise UnusableInput("--repro", f"the network {network.name}", "an ONNX file or recorded outputs")
    outputs = network.outputs if isinstance(network.outputs, Mapping) else {contract.system.outputs[0]: network.outputs}
    count = np.arange(min(map(len, outputs.values())), dtype=np.int64)
    header = TraceHeader(contract.fps or 1.0, subject.mode, system=contract.system.name)
    write_trace(Trace(header, count, count / header.fps, dict(outputs)), folder / REPLAY)
    return REPLAY


def _write_vectors(folder: Path, shrunk: Shrunk) -> None:
    subject = shrunk.subject
    with np.errstate(all="ignore"):
        watched = watch_run(subject.start(shrunk.frames), range(shrunk.frames))
    names = input_order(subject.contract)
    if not watched.frames or any(name not in watched.frames[-1][1] for name in names):
        return
    stages, data = watched.frames[-1][1], folder / "test_data_set_0"
    data.mkdir(exist_ok=True)
    vectors = {name: stages[name][None] for name in names}
    for place, (name, vector) in enumerate(vectors.items()):
        write_bytes(data / f"input_{place}.pb", tensor_proto(name, vector))
    for place, name in enumerate(subject.contract.system.outputs):
        write_bytes(data / f"output_{place}.pb", tensor_proto(name, stages[name][None]))
    write_bytes(folder / "repro_inputs.h", cpp_listing(vectors).encode())


def tensor_proto(name: str, values: FloatArray) -> bytes:
    """A float32 array as an ONNX TensorProto: fields dims (1), data_type (2), name (8), raw_data (9).

    The bytes are written by hand, because the format is stable and the package `onnx` is then not needed.
    """
    raw = np.ascontiguousarray(values, "<f4").tobytes()
    dims = b"".join(b"\x08" + _varint(size) for size in values.shape)
    text = name.encode()
    return dims + b"\x10" + _varint(_FLOAT) + b"\x42" + _varint(len(text)) + text + b"\x4a" + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])


def cpp_listing(vectors: Mapping[str, FloatArray]) -> str:
    """The vectors as exact C++ arrays: hexadecimal floats, and the macros NAN and INFINITY."""
    lines = ["// The network's inputs at the failing frame, in binding order.", "#pragma once", "#include <cmath>", ""]
    for name, vector in vectors.items():
        numbers = ", ".join(_cpp_number(float(value)) for value in vector.ravel())
        lines.append(f"static const float repro_{name}[{vector.size}] = {{{numbers}}};")
    return "\n".join(lines) + "\n"


def _cpp_number(value: float) -> str:
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{value.hex()}f"
