"""The files of the C++ recorder, also when it is killed during a write."""

import ctypes as c
import json
import signal
import subprocess
import time

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import read_trace
from rigpact.reports.engine.conformance import made_up_clip

from .conftest import ENGINE_LIKE, ROOM, compiled, ran
from .cpp_side import Kept
from .drawn_contracts import small_contract

EVERY_FORMAT = pytest.mark.parametrize("ending", [".trace.jsonl", ".trace.bin"])


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    contract = small_contract(tmp_path_factory.mktemp("recorder"))
    return contract, made_up_clip(contract, 7)


def test_floats_of_every_size_read_back_as_themselves(cpp):
    """Nine digits from a table of powers of ten: one wrong power would move every number of one size."""
    bits = np.random.default_rng(5).integers(0, 2**32, 100_000, np.uint64).astype(np.uint32)
    every_exponent = np.arange(0, 0xFF, dtype=np.uint32)[:, None] << 23
    edges = (every_exponent | np.array([0, 1, 0x7FFFFF, 0x400000], np.uint32)).ravel()
    decimals = [float(f"{digits}e{power}") for power in range(-45, 39) for digits in ("1", "9.99999999", "5")]
    powers = np.minimum(decimals, 3.4e38).astype(np.float32).view(np.uint32)
    values = np.concatenate([bits, edges, edges | np.uint32(1 << 31), powers, powers + 1, powers - 1]).view(np.float32)
    values = np.ascontiguousarray(values[np.isfinite(values)])
    kept, text = Kept(), c.create_string_buffer(len(values) * 32)
    assert cpp.library.rigpact_numbers_text(kept.floats(values), len(values), text, len(text)) > 0
    words = text.value.decode().strip("[]").split(",")
    read = np.array([float(word) for word in words]).astype(np.float32)
    np.testing.assert_array_equal(read.view(np.uint32), values.view(np.uint32))
    assert max(map(len, words)) <= 16
    assert json.loads(text.value)[:2000] == [float(word) for word in words[:2000]]


@EVERY_FORMAT
@pytest.mark.parametrize("queue_frames", [0, 4])
def test_a_queue_changes_nothing_but_who_writes(cpp, character, tmp_path, queue_frames, ending):
    """Taking the file away from the game thread must not cost a frame."""
    contract, clip = character
    outputs = np.random.default_rng(3).normal(0, 1, (50, contract.numbers.output.width)).astype(np.float32)
    outputs[40, :3] = (
        np.nan,
        np.inf,
        -np.inf,
    )  # the search for the origin of a NaN starts with a trace that can hold one
    path = tmp_path / f"run{ending}"
    answer = cpp.run(contract, clip, "free", 50, replay=outputs, trace=path, queue_frames=queue_frames)
    read = read_trace(path)
    assert read.frame.tolist() == list(range(50))
    assert read.header.bundle_sha256 == contract.sha256
    assert read.header.meaning_sha256 == contract.hashes["meaning_sha256"]
    assert read.header.conventions_sha256 == contract.hashes["conventions_sha256"]
    assert (read.header.companion_sha256, read.header.model_sha256) == (None, None)
    np.testing.assert_allclose(read.time_s, np.arange(50) / clip.fps, atol=1e-6)
    for name, rows in answer.stages.items():
        np.testing.assert_array_equal(read.stages[name], rows)


@pytest.mark.nightly
def test_frames_from_many_threads_arrive_whole_and_in_order(any_compiler, tmp_path):
    """Worker threads animate; a torn frame blames a convention for a race. The thread sanitizer watches."""
    flags = ("-O1", "-g", "-pthread", "-fsanitize=thread")
    program = compiled(any_compiler, ROOM / "many_threads.cpp", tmp_path / "many_threads", *flags)
    for queue_frames, ending in ((0, ".trace.jsonl"), (3, ".trace.bin")):
        path = tmp_path / f"run{ending}"
        done = ran(program, path, queue_frames)
        assert done.returncode == 0, done.stderr
        trace = read_trace(path)
        kept, refused = map(int, done.stdout.split())
        assert (len(trace.frame), kept + refused) == (kept, 600)
        np.testing.assert_array_equal(trace.stages["y_out"], np.repeat(trace.frame[:, None], 60, axis=1))


def killed_after(writer, path, queue_frames, wait_s):
    """Kill a writer; how many frames it had ended."""
    counter = path.with_name("counter")
    counter.write_bytes(bytes(4))
    process = subprocess.Popen([writer, path, str(queue_frames), counter])
    time.sleep(wait_s)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the writer ended before it was killed"
    return int.from_bytes(counter.read_bytes(), "little")


def expected_rows(frame):
    return (frame[:, None] + np.arange(276) / 1024.0).astype(np.float32)


def frames_left(path):
    """Whole frames; none where the process died before its first one was."""
    try:
        trace = read_trace(path)
    except UnusableInput:
        return 0
    assert trace.frame.tolist() == list(range(len(trace.frame)))
    np.testing.assert_array_equal(trace.stages["y_out"], expected_rows(trace.frame))
    return len(trace.frame)


@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("queue_frames", "ending"), [(0, ".trace.jsonl"), (8, ".trace.bin")])
def test_a_killed_process_leaves_every_frame_that_it_ended(any_compiler, tmp_path, queue_frames, ending, kills):
    """A crash trace matters most; a wrong number at its end would lead people to a defect that does not exist.

    Without a queue every frame that end_frame() took is in the file; with one, all but those that were in the queue.
    """
    writer = compiled(any_compiler, ROOM / "kill_writer.cpp", tmp_path / "kill_writer", "-O1", "-pthread", *ENGINE_LIKE)
    dice, counts = np.random.default_rng([11, queue_frames, len(ending)]), []
    for attempt in range(kills):
        path = tmp_path / f"{attempt}{ending}"
        ended = killed_after(writer, path, queue_frames, dice.uniform(0.01, 0.03))
        counts.append(frames_left(path))
        assert ended - queue_frames <= counts[-1] <= ended + 1  # the counter moves after the frame
        path.unlink(missing_ok=True)
    assert sum(map(bool, counts)) > len(counts) // 4
