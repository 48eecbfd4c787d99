"""The enemy animation as a system: its page, its files (traces, teacher files, raw clips, a model of five inputs), its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from rigpact.reference_runtime.files.declared import DeclaredFiles, RunSetup
from rigpact.reference_runtime.files.run import Crowd, Run, RunOptions, Stages
from rigpact.reference_runtime.files.sentinel import Ordinary, RunBaseline, Watch
from rigpact.reference_runtime.native.library import Engine
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
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.systems.enemy_animation.faults import (
    GUARDS,
    faulty,
    faulty_contract,
    parse_fault,
    refuse_idle,
)
from rigpact.reference_runtime.systems.enemy_animation.floor import measure_floor, on_floor
from rigpact.reference_runtime.systems.enemy_animation.judged import (
    bundle_numbers,
    clip_limits,
    ideal_outputs,
    input_uses,
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
    limits = staticmethod(clip_limits)
    fault, acting_contract = staticmethod(parse_fault), staticmethod(faulty_contract)
    numbers, with_numbers = staticmethod(bundle_numbers), staticmethod(with_bundle_numbers)

    def recording(self, path: Path, contract: Contract | None) -> Recording:
        """A trace, a teacher batch or prediction, or a raw clip."""
        return read_recording(path, contract)

    def clip(self, path: Path, contract: Contract) -> Clip:
        """A raw clip, a teacher file, or the inputs that an engine recorded."""
        file = open_file(path)
        if file.is_recording:
            return recorded_inputs(read_recording(path, contract).trace, path)
        return document_to_clip(file.document)

    def network(self, path: Path, contract: Contract) -> OnnxNetwork:
        """The model of five inputs."""
        return OnnxNetwork(path, contract)

    def replay(self, path: Path, contract: Contract) -> ReplayNetwork:
        """Recorded answers in place of a model."""
        network = read_replay(path)
        refuse_poses(path, network.outputs, contract)
        return network

    def answers(self, path: Path, frame: NDArray[np.int64], contract: Contract) -> dict[str, FloatArray]:
        """Recorded answers of the network at some frames; UnusableInput if a frame is missing."""
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
        completed = with_history_length(contract, network, clip)
        changes = (
            on_floor(completed, clip_rows(clip, completed)) if options.on_floor else faulty(completed, options.faults)
        )
        return free_run(contract, network, clip, "numpy", changes)

    def lockstep(
        self,
        contract: Contract,
        network: Network,
        clip: Clip,
        starts: FloatArray,
        frames: int,
        engine: Engine = "auto",
    ) -> Crowd:
        """Free runs from several raw states at once."""
        return free_crowd(contract, network, clip, starts, engine)

    def write(self, out: Path, trace: Trace, contract: Contract, clip: Clip, model: str) -> None:
        """Write a teacher prediction, if the name ends in .json."""
        if not out.name.endswith(".json"):
            expected = f"a name ending in {', '.join(TRACE_ENDINGS)} or .json"
            raise UnusableInput(out, f"the name {out.name}", expected)
        following = int(trace.frame[-1]) + 1
        has_next = isinstance(clip, RawClip) and following < clip.frame_count
        target = clip.rotations6d[following] if isinstance(clip, RawClip) and has_next else None
        write_prediction(trace, contract, out, model=model, source=clip.path.name, last_target=target)

    def measures(self, trace: Trace, contract: Contract) -> dict[str, Any]:
        """The errors of a teacher-driven run against the clip's next poses."""
        if trace.header.mode != "teacher" or "x_raw" not in trace.stages:
            return {}
        after = trace.stages.get("x_raw_next")
        last = None if after is None else after[-1, character_of(contract).state[ROTATIONS].range]
        return {"diagnostics": diagnostics(trace.stages["x_raw"], trace.stages["y_out"], contract, last)}

    def baseline(self, trace: Trace, contract: Contract) -> RunBaseline | None:
        """The published pose against the clip's next pose."""
        found = self.measures(trace, contract).get("diagnostics", {})
        if found.get("GeoDeg") is None:
            return None
        return RunBaseline("pose", "deg", found["GeoDeg"], found["CopyLastGeoDeg"])

    def next_poses(self, clip: Clip, contract: Contract) -> FloatArray:
        """The clip's own poses."""
        return clip_rows(clip, contract).poses

    def judging_network(self, clip: Clip, contract: Contract) -> ReplayNetwork:
        """A network that predicts the clip almost exactly."""
        return ReplayNetwork(ideal_outputs(clip, contract))

    def watches(self, contract: Contract) -> Sequence[Watch]:
        """The clamp, saturated tanh, axes near zero."""
        return tuple(watches(contract))

    def ordinary(self, clip: Clip | None, contract: Contract) -> Ordinary:
        """The ordinary size of the state, by the contract's own statistics."""
        return ordinary_state(contract)

    def drift_notes(
        self, subject: RunSetup, published: FloatArray, sampled: Mapping[int, Stages]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Feet on the floor, and inputs that the deployed engine leaves frozen or zero."""
        uses = input_uses(subject, [{**stages, "frame": np.array([float(frame)])} for frame, stages in sampled.items()])
        facts: dict[str, Any] = {"floor": None, "inputs": [vars(use) for use in uses]}
        lines = [str(use) for use in uses]
        try:
            floor = measure_floor(subject, published[:, character_of(subject.contract).output[ROTATIONS].range])
        except UnusableInput as refusal:
            return facts, (*lines, f"feet not measured: {refusal.found}")
        return facts | {"floor": floor.to_json()}, (floor.words, *lines)


def _refuse_options(options: RunOptions, *, is_plain: bool) -> None:
    """UnusableInput for what does not go together."""
    if options.faults and options.mode != "free":
        raise UnusableInput("--perturb", f"a {options.mode} run", "a free run")
    if options.on_floor and options.mode != "free":
        raise UnusableInput("--floor-contacts", f"a {options.mode} run", "--mode free")
    if options.faults and options.on_floor:
        raise UnusableInput("--perturb with --floor-contacts", "both", "one of them")
    if options.engine == "native" and not is_plain:
        raise UnusableInput("--engine native", "another run than a plain free run", "--mode free, or --engine auto")


SYSTEM = replace(pages.enemy_animation.system(), files=EnemyFiles(), description=DESCRIPTION)
