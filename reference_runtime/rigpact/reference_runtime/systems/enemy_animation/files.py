"""The enemy animation as a system: its page, its files (traces, teacher files, raw clips, a model of five inputs), its runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract import pages
from rigpact.contract.bundle import DESCRIPTION
from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import DeclaredFiles
from rigpact.reference_runtime.files.run import Run, RunOptions
from rigpact.reference_runtime.files.sentinel import RunBaseline
from rigpact.reference_runtime.network import Network, OnnxNetwork, ReplayNetwork, read_replay
from rigpact.reference_runtime.recordings.clip import (
    Clip,
    RawClip,
    diagnostics,
    document_to_clip,
    recorded_inputs,
    write_prediction,
)
from rigpact.reference_runtime.recordings.opened import TRACE_ENDINGS, open_file
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.systems.enemy_animation.faults import (
    GUARDS,
    faulty,
    faulty_contract,
    parse_fault,
    refuse_idle,
)
from rigpact.reference_runtime.systems.enemy_animation.floor import on_floor
from rigpact.reference_runtime.systems.enemy_animation.judged import (
    bundle_numbers,
    clip_limits,
    drift_notes,
    ideal_network,
    ordinary_state,
    refuse_poses,
    watches,
    with_bundle_numbers,
)
from rigpact.reference_runtime.systems.enemy_animation.runs import (
    clip_rows,
    drive_of,
    free_crowd,
    free_run,
    playback,
    teacher_run,
    with_history_length,
)


class EnemyFiles(DeclaredFiles):
    """Reads the files of an enemy animation, and runs the engine's loop."""

    clip_endings = (".json",)
    probe = "rigpact.fixtures.clip_format:probe_clip"
    guards = GUARDS
    drive_of = staticmethod(drive_of)
    fault, acting_contract = staticmethod(parse_fault), staticmethod(faulty_contract)
    numbers, with_numbers = staticmethod(bundle_numbers), staticmethod(with_bundle_numbers)
    recording, network, lockstep = staticmethod(read_recording), staticmethod(OnnxNetwork), staticmethod(free_crowd)
    limits, judging_network = staticmethod(clip_limits), staticmethod(ideal_network)
    watches, ordinary, drift_notes = staticmethod(watches), staticmethod(ordinary_state), staticmethod(drift_notes)

    def clip(self, path: Path, contract: Contract) -> Clip:
        """A raw clip, a teacher file, or the inputs that an engine recorded."""
        file = open_file(path)
        if file.is_recording:
            return recorded_inputs(read_recording(path, contract).trace, path)
        return document_to_clip(file.document)

    def replay(self, path: Path, contract: Contract) -> ReplayNetwork:
        network = read_replay(path)
        refuse_poses(path, network.outputs, contract)
        return network

    def answers(self, path: Path, frame: NDArray[np.int64], contract: Contract) -> dict[str, FloatArray]:
        outputs = read_replay(path).outputs
        if frame[-1] >= len(outputs):
            raise UnusableInput(path, f"{len(outputs)} recorded outputs", f"one for frame {frame[-1]}")
        return {"y_norm": outputs[frame]}

    def start(self, contract: Contract, network: Network | None, clip: Clip, options: RunOptions) -> Run:
        """The engine's loop; a playback needs no network."""
        is_plain = options.mode == "free" and not options.on_floor and not options.faults
        _refuse_options(options, is_plain=is_plain)
        if options.mode == "playback":
            return playback(contract, clip)
        if network is None:
            raise UnusableInput(
                f"mode {options.mode}", "no network", "a model or recorded outputs", "give --onnx or --replay"
            )
        if options.mode == "teacher":
            return teacher_run(contract, network, clip)
        refuse_idle(options.faults, contract, options.frames)
        if is_plain:
            return free_run(contract, network, clip, options.engine)
        whole = with_history_length(contract, network, clip)
        changes = on_floor(whole, clip_rows(clip, whole)) if options.on_floor else faulty(whole, options.faults)
        return free_run(contract, network, clip, "numpy", changes)

    def write(self, out: Path, trace: Trace, contract: Contract, clip: Clip, model: str) -> None:
        if not out.name.endswith(".json"):
            expected = f"a name ending in {', '.join(TRACE_ENDINGS)} or .json"
            raise UnusableInput(out, f"the name {out.name}", expected)
        following = int(trace.frame[-1]) + 1
        has_next = isinstance(clip, RawClip) and following < clip.frame_count
        target = clip.rotations6d[following] if isinstance(clip, RawClip) and has_next else None
        write_prediction(trace, contract, out, model=model, source=clip.path.name, last_target=target)

    def measures(self, trace: Trace, contract: Contract) -> dict[str, Any]:
        if trace.header.mode != "teacher" or "x_raw" not in trace.stages:
            return {}
        after = trace.stages.get("x_raw_next")
        last = None if after is None else after[-1, character_of(contract).state[ROTATIONS].range]
        return {"diagnostics": diagnostics(trace.stages["x_raw"], trace.stages["y_out"], contract, last)}

    def baseline(self, trace: Trace, contract: Contract) -> RunBaseline | None:
        found = self.measures(trace, contract).get("diagnostics", {})
        if found.get("GeoDeg") is None:
            return None
        return RunBaseline("pose", "deg", found["GeoDeg"], found["CopyLastGeoDeg"])

    def next_poses(self, clip: Clip, contract: Contract) -> FloatArray:
        return clip_rows(clip, contract).poses


def _refuse_options(options: RunOptions, *, is_plain: bool) -> None:
    """UnusableInput for what does not go together."""
    mode, is_free = f"a {options.mode} run", options.mode == "free"
    for is_wrong, *words in (
        (options.faults and not is_free, "--perturb", mode, "a free run"),
        (options.on_floor and not is_free, "--floor-contacts", mode, "--mode free"),
        (options.faults and options.on_floor, "--perturb with --floor-contacts", "both", "one of them"),
        (
            options.engine == "native" and not is_plain,
            "--engine native", "another run than a plain free run", "--mode free, or --engine auto",
        ),
    ):  # fmt: skip
        if is_wrong:
            raise UnusableInput(*words)


SYSTEM = replace(pages.enemy_animation.system(), files=EnemyFiles(), description=DESCRIPTION)
