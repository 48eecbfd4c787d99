"""`rigpact explain --follow`: a recording is judged while it grows."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.bundle import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import OnnxNetwork, Trace, TraceHeader, open_run, read_clip, run_frames, write_trace
from rigpact.reference_runtime.graph.run import Mode
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.following import follow as following
from rigpact.reports.following.follow import FollowRequest, follow, growing

from .conftest import allowing

FRAMES, WRONG = 90, 60
FORMATS = ("trace.jsonl", "trace.bin")
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def contract(demo_bundle: Path) -> Any:
    return load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")


@pytest.fixture(scope="module")
def record(demo_bundle: Path, contract: Any) -> Callable[..., Trace]:
    """A run of an engine with conventions of its own."""

    def run(mode: Mode = "free", **conventions: str) -> Trace:
        own, clip = contract.with_conventions(conventions), read_clip(demo_bundle / "clips" / "Sneak_Turn.json")
        runner = open_run(own, OnnxNetwork(demo_bundle / "model.onnx", own), clip, mode, engine="numpy")
        frames = FRAMES if mode == "free" else 30
        return run_frames(runner, range(frames), "Sneak_Turn", mode)

    return run


def nudged(trace: Trace, frame: int, stage: str = "quat") -> Trace:
    stages = {**trace.stages, stage: trace.stages[stage].copy()}
    stages[stage][frame, 41] += 0.3
    return replace(trace, stages=stages)


def pieces_of(path: Path, file: Path, written: list[float], rate_hz: float = 60.0) -> None:
    """Write a recording as an engine does: a frame at a time, each in two halves."""
    content = file.read_bytes()
    if path.name.endswith(".bin"):
        begin = 16 + int.from_bytes(content[8:12], "little")
        size = 8 + int.from_bytes(content[begin : begin + 4], "little")
        parts = [content[:begin], *(content[at : at + size] for at in range(begin, len(content), size))]
    else:
        parts = content.splitlines(keepends=True)
    with path.open("wb", buffering=0) as stream:
        stream.write(parts[0])
        for part in parts[1:]:
            stream.write(part[:50])
            time.sleep(1.0 / rate_hz)
            stream.write(part[50:])
            written.append(time.monotonic())


@pytest.mark.parametrize("ending", FORMATS)
def test_the_first_wrong_stage_is_named_within_a_second_of_its_frame(
    record: Callable[..., Trace], contract: Any, tmp_path: Path, ending: str
) -> None:
    """Who sees the defect on the screen must see its name before the moment is over."""
    write_trace(nudged(record(), WRONG), tmp_path / f"whole.{ending}")
    growing, written = tmp_path / f"growing.{ending}", list[float]()
    engine = threading.Thread(target=pieces_of, args=(growing, tmp_path / f"whole.{ending}", written))
    engine.start()
    found = follow(FollowRequest(growing, contract, EvidenceFiles(), idle_s=20.0))
    seen = time.monotonic()
    engine.join()
    assert found.first is not None
    assert (found.first.frame, found.first.stage, found.first.address.channel) == (WRONG, "quat", 41)
    assert seen - written[WRONG] < 1.0


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("mode", ["free", "teacher"])
@pytest.mark.parametrize("with_clip", [False, True])
def test_a_sound_recording_raises_no_alarm_wherever_it_is_cut(
    record: Callable[..., Trace],
    contract: Any,
    demo_bundle: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: str,
    mode: Mode,
    with_clip: bool,
) -> None:
    """What a piece does not hold, the frames before it, is not known; it is not zero, and no start of a run."""
    monkeypatch.setattr(following, "_MOST_FRAMES", 7)
    path = tmp_path / f"run.{ending}"
    write_trace(record(mode), path)
    given = EvidenceFiles(clip=demo_bundle / "clips" / "Sneak_Turn.json" if with_clip else None)
    found = follow(FollowRequest(path, contract, given, idle_s=0.2))
    assert (found.first, found.frames) == (None, FRAMES if mode == "free" else 30)


def test_frames_that_were_not_recorded_raise_no_alarm(
    record: Callable[..., Trace], contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder that starts late, or drops a frame, is not a defect of the character."""
    monkeypatch.setattr(following, "_MOST_FRAMES", 7)
    whole = record()
    kept = np.flatnonzero((np.arange(FRAMES) > 10) & (np.arange(FRAMES) % 23 != 0))
    stages = {name: rows[kept] for name, rows in whole.stages.items()}
    write_trace(
        replace(whole, frame=whole.frame[kept], time_s=whole.time_s[kept], stages=stages), tmp_path / "run.trace.bin"
    )
    assert follow(FollowRequest(tmp_path / "run.trace.bin", contract, EvidenceFiles(), idle_s=0.2)).first is None


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("compose_order", "prev_delta"), ("pose_history_order", "newest_first"), ("yaw_encoding", "radians"),
        ("angvel_squash", "none"), ("pose_history_norm", "zscore_only"),
    ],
)  # fmt: skip
def test_the_place_is_the_one_that_the_whole_recording_gives(
    record: Callable[..., Trace], contract: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knob: str, value: str
) -> None:
    """A look at a few frames that named another stage than the whole would send people to the wrong line."""
    if value not in contract.system.knobs[knob].values:
        value = next(each for each in contract.system.knobs[knob].values if each != contract.conventions[knob])
    monkeypatch.setattr(following, "_MOST_FRAMES", 5)
    path = tmp_path / "run.trace.jsonl"
    write_trace(record(**{knob: value}), path)
    found = follow(FollowRequest(path, contract, EvidenceFiles(), idle_s=0.2)).first
    whole = diagnose(*read_evidence(path, contract).parts[-1], with_pairs=False).first_divergence
    assert found is not None
    assert whole is not None
    assert (found.frame, found.stage, found.address) == (whole.frame, whole.stage, whole.address)


def test_the_command_names_it_and_then_explains_what_was_recorded(
    record: Callable[..., Trace], demo_bundle: Path, tmp_path: Path, command: Command
) -> None:
    """A place is half an answer."""
    write_trace(record(compose_order="prev_delta"), tmp_path / "run.trace.bin")
    bundle = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    words = ("explain", tmp_path / "run.trace.bin", *bundle, "--follow", "--until-idle", 0.2)
    wrong = command(*words, "--format", "json")
    assert wrong.status == 1
    assert "first wrong: frame 0, stage next6d" in wrong.err
    assert json.loads(wrong.out)["causes"][0]["changes"] == {"compose_order": "prev_delta"}
    write_trace(record(), tmp_path / "run.trace.bin")
    sound = command(*words, *allowing("x_raw", "cond_raw", "contacts", "y_norm"))
    assert (sound.status, "none differs" in sound.err, "AGREES" in sound.out) == (0, True, True)


@pytest.mark.parametrize("name", ["run.trace.safetensors", "run.npz", "run.trace.jsonl.gz"])
def test_a_file_that_does_not_grow_by_frames_is_refused(contract: Any, tmp_path: Path, name: str) -> None:
    """It would be waited for until somebody lost patience."""
    with pytest.raises(UnusableInput, match="only they grow"):
        follow(FollowRequest(tmp_path / name, contract, EvidenceFiles(), idle_s=0.2))


def test_a_file_that_never_comes_is_said(contract: Any, tmp_path: Path) -> None:
    """Nothing was judged: that is not a pass."""
    with pytest.raises(UnusableInput, match="no frame"):
        follow(FollowRequest(tmp_path / "run.trace.bin", contract, EvidenceFiles(), idle_s=0.2))


def test_damage_in_a_growing_file_is_refused(record: Callable[..., Trace], contract: Any, tmp_path: Path) -> None:
    """A frame that does not match its checksum, with others after it, is not a frame that is still being written."""
    path = tmp_path / "run.trace.bin"
    write_trace(record(), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(UnusableInput, match="checksum"):
        follow(FollowRequest(path, contract, EvidenceFiles(), idle_s=0.2))


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_is_recorded_anew_is_read_from_its_start(ending: str, tmp_path: Path) -> None:
    """The engine starts again while the tool watches: frames of two runs mixed would be an error that nobody made."""
    frames = np.arange(6)
    trace = Trace(TraceHeader(60.0, "free"), frames, frames / 60.0, {"cond": np.arange(12.0, dtype="f4").reshape(6, 2)})
    path = tmp_path / f"run.{ending}"
    file = growing(path)
    assert file.more() is None
    write_trace(trace, path)
    seen = file.more()
    assert seen is not None
    assert seen.frame.tolist() == [0, 1, 2, 3, 4, 5]
    again = replace(trace, frame=frames[:2], time_s=trace.time_s[:2], stages={"cond": trace.stages["cond"][3:5]})
    write_trace(again, path)
    seen = file.more()
    assert seen is not None
    assert seen.stages["cond"].tolist() == [[6.0, 7.0], [8.0, 9.0]]


def test_empty_lines_of_a_growing_file_are_no_frames(tmp_path: Path) -> None:
    """Two writers of one log leave empty lines between theirs."""
    trace = Trace(TraceHeader(60.0, "free"), np.arange(2), np.arange(2) / 60.0, {"cond": np.ones((2, 2), np.float32)})
    path = tmp_path / "run.trace.jsonl"
    write_trace(trace, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n \r\n"))
    seen = growing(path).more()
    assert seen is not None
    assert seen.frame.tolist() == [0, 1]


def test_a_binary_file_of_which_only_the_start_is_there_has_no_frame(tmp_path: Path) -> None:
    """The engine has opened its file and not yet written the header: that is not damage."""
    path = tmp_path / "run.trace.bin"
    write_trace(Trace(TraceHeader(60.0, "free"), np.arange(1), np.zeros(1), {"cond": np.ones((1, 2), "f4")}), path)
    whole = path.read_bytes()
    for size in (0, 4, 12, 20):
        path.write_bytes(whole[:size])
        assert growing(path).more() is None, size
