"""Write a folder that reproduces a failing run anywhere: files, network inputs, a pytest file, a C++ listing.

contract, companion, model or recorded answers, clip   the run's files, under the names in repro.json
repro.json            frames, mode, faults, conventions, place of the failure, the guard that keeps it finite
test_data_set_0/      the network's inputs and outputs at the failing frame, in the layout of ONNX backend tests
test_repro.py         fails while the defect exists; RIGPACT_GUARD=NAME shows that a guard helps
repro_inputs.h        the same inputs as C++ arrays

The run is first made as small as it can be and still fails in the same way, by delta debugging (Zeller and Hildebrandt,
Simplifying and isolating failure-inducing input, 2002).
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file, copy_folder, write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.sentinel import Watched, watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader, write_trace
from rigpact.reports.nonfinite.guards import guarded
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.origin import Origin, input_order, origin_of_run

MOST_RUNS = 200
"""Largest number of runs for leaving channels out; after that, the present result is reported."""
Column = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A smaller subject that fails in the same way in `frames` frames; its non-default columns, and their total."""

    subject: Subject
    origin: Origin
    frames: int
    kept: tuple[Column, ...]
    columns: int
    runs: int


def shrink(subject: Subject, frames: int) -> Shrunk | None:
    """Shrink a run that fails within `frames` frames; None if it does not fail, or its clip has no columns to split."""
    watched, origin = _outcome(subject, frames)
    if origin is None or not subject.files.columns(subject.clip):
        return None
    search = _Search(origin)
    start = next((smaller for smaller in _later_starts(subject, watched) if search.fails_alike(smaller)), subject)
    shortest = _shortened(start, search)
    small, kept = _fewest_columns(shortest, search)
    _, final = _outcome(small, search.frames)
    if final is None:
        return None
    columns = sum(values.shape[1] for values in small.files.columns(shortest.clip).values())
    return Shrunk(small, final, final.frame + 1, tuple(kept), columns, search.runs)


def _outcome(subject: Subject, frames: int) -> tuple[Watched, Origin | None]:
    with np.errstate(all="ignore"):
        runner = subject.start(frames)
        watched = watch_run(runner, range(subject.frames_of(runner, frames)))
        return watched, origin_of_run(subject, watched, with_operands=False)


class _Search:
    """Tests whether a smaller run fails in the same way within the original number of frames; counts the runs."""

    def __init__(self, origin: Origin) -> None:
        self._identity, self.frames, self.runs = origin.identity, origin.frame + 2, 0

    def fails_alike(self, subject: Subject) -> bool:
        """Whether the same stage, channel, operation and node produce the value."""
        self.runs += 1
        try:
            _, origin = _outcome(subject, self.frames)
        except UnusableInput:
            return False
        return origin is not None and origin.identity == self._identity


def _length(subject: Subject) -> tuple[int, int]:
    """Number of frames that the clip drives, and its further rows: the last pose is only a target."""
    steps = int(subject.rows().steps)
    return steps, len(next(iter(subject.files.columns(subject.clip).values()))) - steps


def _later_starts(subject: Subject, watched: Watched) -> Iterator[Subject]:
    """The subject, started at each stored frame, the last frame first."""
    for frame, stages in reversed(watched.frames):
        if frame > 0:
            yield _started_at(subject, frame, stages)


def _started_at(subject: Subject, frame: int, stages: Mapping[str, FloatArray]) -> Subject:
    files, (steps, beyond) = subject.files, _length(subject)
    rows = (np.arange(max(steps - frame, 1) + beyond) + frame) % (steps + beyond * (subject.mode == "teacher"))
    clip = files.with_columns(subject.clip, files.columns(subject.clip), rows)
    if subject.mode == "free":
        carried = next(stage.name for stage in subject.contract.system.stages if stage.carried is not None)
        columns = {name: values.copy() for name, values in files.columns(clip).items()}
        for name, place in files.seeded_columns(subject.contract).items():
            if name in columns:
                columns[name][0] = stages[carried][place]
        clip = files.with_columns(clip, columns, slice(None))
    faults = tuple(replace(fault, frame=max(fault.frame - frame, 0)) for fault in subject.faults)
    return replace(subject, clip=clip, network=_answers_from(subject.network, frame), faults=faults)


def _answers_from(network: Any, frame: int) -> Any:
    """Recorded answers from a frame on; any other network stays unchanged."""
    outputs = getattr(network, "outputs", None)
    if outputs is None:
        return network
    cut = {name: rows[frame:] for name, rows in outputs.items()} if isinstance(outputs, Mapping) else outputs[frame:]
    changed = copy(network)
    changed.__dict__["outputs"] = cut
    return changed


def _shortened(subject: Subject, search: _Search) -> Subject:
    """The subject without the clip's rows after the failing one, if it still fails in the same way."""
    _, origin = _outcome(subject, search.frames)
    steps, beyond = _length(subject)
    if origin is None or steps <= origin.frame + 1:
        return subject
    files = subject.files
    clip = files.with_columns(subject.clip, files.columns(subject.clip), slice(origin.frame + 1 + beyond))
    shorter = replace(subject, clip=clip)
    return shorter if search.fails_alike(shorter) else subject


def _fewest_columns(subject: Subject, search: _Search) -> tuple[Subject, list[Column]]:
    """Delta debugging: leave out smaller and smaller parts of the columns while the failure stays the same."""
    columns = [
        (name, index)
        for name, values in subject.files.columns(subject.clip).items()
        for index in range(values.shape[1])
        if (values[:, index] != subject.files.default_number(subject.contract, name, index)).any()
    ]

    def fails(kept: Sequence[Column]) -> bool:
        return search.fails_alike(_with_columns(subject, kept))

    kept = _minimal(columns, fails, MOST_RUNS)
    return _with_columns(subject, kept), kept


def _minimal(items: list[Column], fails: Callable[[Sequence[Column]], bool], most_runs: int) -> list[Column]:
    if fails([]):
        return []
    parts, runs = 2, 1
    while len(items) >= 2 and runs < most_runs:
        groups = [items[index::parts] for index in range(parts)]
        # one group alone, then all groups but one
        smaller = None
        for candidate in [*groups, *([x for x in items if x not in set(group)] for group in groups if parts > 2)]:
            runs += 1
            if len(candidate) < len(items) and fails(candidate):
                smaller = candidate
                break
        if smaller is not None:
            parts = 2 if len(smaller) <= len(items) // parts + 1 else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(2 * parts, len(items))
    return items


def _with_columns(subject: Subject, kept: Sequence[Column]) -> Subject:
    """The subject with default values in all columns of its clip except the kept ones."""
    files, wanted, columns = subject.files, set(kept), {}
    for name, values in subject.files.columns(subject.clip).items():
        columns[name] = values.copy()
        for index in range(values.shape[1]):
            if (name, index) not in wanted:
                columns[name][:, index] = files.default_number(subject.contract, name, index)
    return replace(subject, clip=files.with_columns(subject.clip, columns, slice(None)))


MODEL, REPLAY = "model.onnx", "replay.trace.jsonl"
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
        found = f"the networks {', '.join(network)}"
        raise UnusableInput("--repro", found, "a contract with one network", "a folder holds one model")
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
    """A float32 array as an ONNX TensorProto: fields dims (1), data_type (2, FLOAT is 1), name (8), raw_data (9).

    The bytes are written by hand, because the format is stable and the package `onnx` is then not needed.
    """
    raw = np.ascontiguousarray(values, "<f4").tobytes()
    dims = b"".join(b"\x08" + _varint(size) for size in values.shape)
    text = name.encode()
    return dims + b"\x10\x01\x42" + _varint(len(text)) + text + b"\x4a" + _varint(len(raw)) + raw


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
