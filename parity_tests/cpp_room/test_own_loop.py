"""An engine that keeps its loop: its own types, and a recorder that never stops or slows the game, by every compiler."""

import os
import subprocess
import threading
from resource import RLIM_INFINITY, RLIMIT_FSIZE, RLIMIT_STACK, setrlimit

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace

from ..every_case import every_case
from .conftest import COMPILERS, ENGINE_LIKE, ran
from .own_engine import ENDINGS, SANITIZED, SHIPPED, build, play, told

EVERY_FORMAT = every_case("ending", ENDINGS)
EVERY_QUEUE = every_case("queue_frames", [0, 4])
BUILDS = [
    pytest.param(("g++", "-std=c++20", *SANITIZED), id="sanitized", marks=pytest.mark.nightly),
    pytest.param(("g++", "-std=c++17", *SHIPPED), id="fast-math, no exceptions, no RTTI"),
    pytest.param(
        ("clang++", "-std=c++17", *SHIPPED), id="the same by clang++", marks=pytest.mark.needs_program("clang++")
    ),
]


@pytest.fixture(scope="module", params=BUILDS)
def engine(request, tmp_path_factory):
    """The engine as it is tested (C++20, sanitizers) and as it ships (C++17, fast maths, no exceptions)."""
    compiler_name, *flags = request.param
    return build(compiler_name, tmp_path_factory.mktemp("engine"), "-DOWN_ENGINE_COUNTS_ALLOCATIONS", *flags)


def single(values):
    return np.array(values, np.float64).astype(np.float32)


@EVERY_FORMAT
@EVERY_QUEUE
def test_stages_arrive_in_any_order_in_the_engines_own_types(engine, tmp_path, ending, queue_frames):
    """An engine's functions are const, run in their own order and write over their buffers."""
    path = tmp_path / f"run{ending}"
    (said,) = play(engine, "own_loop", path, queue_frames)
    trace, frame = read_trace(path), np.arange(40)

    assert (said.is_ok, said.counts["written"], said.elsewhere, said.problem) == (True, 40, {}, "")
    assert (trace.header.clip, trace.header.mode, trace.header.system) == ("walk", "free", "studio")
    assert trace.truncation is None
    assert trace.frame.tolist() == frame.tolist()
    np.testing.assert_allclose(trace.time_s, frame / 60.0, rtol=2.0**-52)  # fast maths multiplies by the reciprocal
    rows = {name: trace.stages[name].tolist() for name in trace.stages}
    for k in frame.tolist():
        turned = [0.1, 0.2, 0.3 + k, 0.5]
        assert rows["y_raw"][k] == single([k, 0.1, -0.0]).tolist()
        assert rows["quat"][k] == single([0, 0, 0, 1, *turned]).tolist()
        assert rows["turns"][k] == single([*turned, 0, 0, 0, 1]).tolist()
        assert rows["clock"][k] == single([k * 0.1, 1e-300]).tolist()
        assert rows["contacts"][k] == [1.0, float(k % 2)]
    assert np.signbit(trace.stages["y_raw"][:, 2]).all()


@EVERY_FORMAT
@EVERY_QUEUE
def test_nan_and_infinity_survive_fast_maths(engine, tmp_path, ending, queue_frames):
    """`-ffast-math` lets a compiler drop every test for NaN: its trace said "." where the character blew up."""
    path = tmp_path / f"run{ending}"
    (said,) = play(engine, "not_finite", path, queue_frames)
    trace = read_trace(path)

    assert (said.counts["written"], said.elsewhere, said.problem) == (3, {"refused": 1}, "a time that is not finite")
    expected = np.array([np.nan, np.inf, -np.inf, np.nan, np.float32(1e-45), -0.0], np.float32)
    np.testing.assert_array_equal(trace.stages["floats"], np.tile(expected, (3, 1)))
    assert np.signbit(trace.stages["floats"][:, 5]).all()
    np.testing.assert_array_equal(trace.stages["doubles"], [[np.nan, np.inf, -np.inf]] * 3)


@EVERY_FORMAT
@EVERY_QUEUE
def test_what_is_not_a_frame_is_refused_and_counted(engine, tmp_path, ending, queue_frames):
    """A frame with half its stages, or one that stands twice, would be judged as if the engine had computed it."""
    path = tmp_path / f"run{ending}"
    (said,) = play(engine, "refusals", path, queue_frames)

    assert (said.is_ok, said.counts["written"], said.elsewhere) == (False, 2, {"refused": 8, "stray": 2})
    assert said.problem == "stage() outside begin_frame() and end_frame(): a"
    trace = read_trace(path)
    assert (trace.frame.tolist(), trace.widths) == ([5, 7], {"a": 4, "b": 2})
    np.testing.assert_array_equal(trace.stages["a"], [[1, 2, 3, 4]] * 2)
    np.testing.assert_array_equal(trace.stages["b"], [[1, 2]] * 2)


@EVERY_FORMAT
def test_a_header_says_which_bones_were_recorded(engine, tmp_path, ending):
    """At a lower level of detail an engine has some bones only: without their names they are read as the first ones."""
    paths = [tmp_path / f"{by}{ending}" for by in ("name", "index")]
    said = play(engine, "level_of_detail", paths[0], 0, "drop", paths[1])
    assert [each.is_ok for each in said] == [True, True]
    by_name, by_index = (read_trace(path) for path in paths)
    assert by_name.header.bones == ("pelvis", 'spine "01"', "hand_l")
    assert by_index.header.bones == (0, 7, 41)
    assert by_name.widths == by_index.widths == {"y_out": 18}


@EVERY_FORMAT
def test_two_recorders_on_one_path_do_not_mix(engine, tmp_path, ending):
    """Two characters with one name: both wrote into one file, and every line of it was whole."""
    path = tmp_path / f"run{ending}"
    first, second, later = play(engine, "two_on_one_path", path)
    assert (first.is_ok, first.counts["written"], first.problem) == (True, 3, "")
    assert (second.is_ok, second.elsewhere) == (False, {"lost": 3})
    assert second.problem.startswith("another recorder writes this file: ")
    assert (later.is_ok, later.counts["written"]) == (True, 1)
    assert read_trace(path).frame.tolist() == [7]


def test_two_processes_on_one_path_do_not_mix(engine, tmp_path):
    """A server and a client on one machine record under the same name."""
    import fcntl

    path = tmp_path / "run.trace.bin"
    with path.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b"what another process wrote")
        other.flush()
        (said,) = play(engine, "own_loop", path)
        assert path.read_bytes() == b"what another process wrote"
    assert (said.is_ok, said.elsewhere) == (False, {"lost": 40})


@EVERY_QUEUE
@every_case(
    ("name", "words"),
    [
        ("no/folder.trace.bin", "No such file or directory"),
        ("is_folder.trace.bin", "Is a directory"),
        ("run.json", "must end in"),
        ("full.trace.bin", "the file cannot be written"),
        ("full.trace.jsonl", "the file cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_said_and_the_game_goes_on(engine, tmp_path, name, words, queue_frames):
    """A read-only build folder, or a full disk, must not cost the frame rate, nor pass for a recording."""
    (tmp_path / "is_folder.trace.bin").mkdir()
    for ending in ENDINGS:
        (tmp_path / f"full{ending}").symlink_to("/dev/full")
    (said,) = play(engine, "own_loop", tmp_path / name, queue_frames)
    assert (said.is_ok, said.counts["written"], said.elsewhere) == (False, 0, {"lost": 40})
    assert words in said.problem


@EVERY_FORMAT
@EVERY_QUEUE
def test_a_disk_that_fills_up_keeps_the_frames_before(engine, tmp_path, ending, queue_frames):
    """Half a night is worth having, and its torn last frame must not pass for a pose."""
    path, limit = tmp_path / f"run{ending}", 4096
    # restore_signals would bring back the signal that ends a process at its limit; a full disk only refuses the write
    done = subprocess.run(
        [engine, "own_loop", path, str(queue_frames)], capture_output=True, text=True, check=True, restore_signals=False,
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    said, trace = told(done.stdout.strip()), read_trace(path)
    written = said.counts["written"]
    assert 1 < written < 40
    assert (said.is_ok, said.elsewhere, said.problem) == (False, {"lost": 40 - written}, "the file cannot be written")
    assert trace.frame.tolist() == list(range(written))
    assert f"after {written} whole frames" in trace.truncation
    assert path.stat().st_size == limit


def test_a_queue_without_a_thread_is_said_and_the_game_goes_on(engine, tmp_path):
    """A game near its limit of threads must not end because someone records it: an exception would, where there are none."""
    # a thread's stack is as large as this limit says, and no address space holds it
    done = subprocess.run(
        [engine, "own_loop", tmp_path / "run.trace.bin", "4"], capture_output=True, text=True, check=True,
        preexec_fn=lambda: setrlimit(RLIMIT_STACK, (1 << 50, RLIM_INFINITY)),
    )  # fmt: skip
    said = told(done.stdout.strip())
    assert (said.is_ok, said.elsewhere, said.problem) == (False, {"lost": 40}, "no thread for the queue")


@EVERY_FORMAT
def test_a_disk_that_stands_still_drops_new_frames_and_no_time(engine, tmp_path, ending):
    """The game went on at the speed of the disk. Now the newest frames are dropped, counted, and missing in the numbers."""
    pipe, copy = tmp_path / f"run{ending}", tmp_path / f"copy{ending}"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    answer = []
    game = threading.Thread(target=lambda: answer.append(ran(engine, "stalled", pipe, 2, "drop")))
    game.start()
    content = b""
    try:
        # nothing is read until the game is through its frames: they take far less than this
        game.join(timeout=1.0)
        while block := os.read(reader, 1 << 16):
            content += block
    finally:
        os.close(reader)
        game.join()
    first, last = answer[0].stdout.splitlines()
    longest_s, dropped = float(first.split()[0]), int(first.split()[1])
    said = told(last)
    copy.write_bytes(content)
    trace = read_trace(copy)

    assert longest_s < 0.5, "the game waited for the disk"
    assert dropped > 40
    assert (said.is_ok, said.elsewhere) == (False, {"dropped": dropped})
    assert len(trace.frame) == said.counts["written"] == 60 - dropped
    assert said.problem == "the queue was full: frames were dropped"


@EVERY_FORMAT
@EVERY_QUEUE
def test_after_the_first_frame_nothing_is_allocated(engine, tmp_path, ending, queue_frames):
    """An animation thread that waits for the heap drops frames."""
    path = tmp_path / f"run{ending}"
    done = ran(engine, "heap", path, queue_frames)
    assert done.stdout.splitlines()[0] == "allocations: 0"
    assert len(read_trace(path).frame) == 300


def test_a_recorder_is_used_again_for_other_stages(engine, tmp_path):
    """A console variable is switched off and on, and the character has another level of detail."""
    path = tmp_path / "run.trace.bin"
    first, second = play(engine, "reopened", path)
    assert (first.is_ok, first.counts["written"]) == (True, 5)
    assert (second.counts["written"], second.elsewhere) == (4, {"refused": 1})
    assert second.problem == "missing in a frame, and the first frame had it: b"
    trace = read_trace(path)
    assert (trace.frame.tolist(), trace.widths) == ([0, 1, 2, 4], {"b": 3, "c": 1})


PLAIN = {
    "pose": [1, 2, 3, 4, 5, 6], "clock": [0.25, 1e-300], "feet": [1, 0], "ids": [16777217, -3], "bytes": [200, 3],
    "flags": [0, 1], "quats": [2, 3, 4, 1], "flag": [1], "count": [7], "one": [0.5], "list": [1, 2], "some": [16777217],
    "asked": [8, 9],
}  # fmt: skip


@EVERY_FORMAT
def test_c_arrays_bool_and_integers_are_taken(engine, tmp_path, ending):
    """An engine hands over what it has: a type that is read as another one is a number that the engine never had."""
    path = tmp_path / f"run{ending}"
    (said,) = play(engine, "plain_types", path)
    trace = read_trace(path)
    assert (said.is_ok, list(trace.stages)) == (True, list(PLAIN))
    for name, row in PLAIN.items():
        np.testing.assert_array_equal(trace.stages[name], [single(row)] * 3, err_msg=name)
    assert b'"float64":["clock","ids","count","list","some"]' in path.read_bytes()


def test_with_tracing_off_it_compiles_and_writes_nothing(tmp_path):
    """A class that compiled with tracing on and not with it off was found on the day of the release."""
    play(
        build("g++", tmp_path, "-std=c++17", "-DRIGPACT_TRACE=0", *ENGINE_LIKE),
        "plain_types",
        tmp_path / "off.trace.bin",
    )
    assert not (tmp_path / "off.trace.bin").exists()


# --- every compiler, standard and sanitizer, and valgrind ---

SCENARIOS = (
    "own_loop", "not_finite", "refusals", "before_first_step", "two_on_one_path", "switched", "reopened", "heap", "plain_types",
)  # fmt: skip
KINDS = {
    "address and undefined": SANITIZED,
    "thread": ("-g", "-O1", "-fsanitize=thread"),
    "fast maths": SHIPPED,
    "no to_chars": ("-O1", "-DRIGPACT_TO_CHARS=0", *ENGINE_LIKE),
    "plain": ("-O0", "-gdwarf-4"),  # valgrind reads no newer one of clang
}


def play_everything(program, folder, *before):
    """Every scenario in every format, with and without a queue; sanitizers and valgrind end a program with another status."""
    for ending in ENDINGS:
        for queue_frames in (0, 4):
            for scenario in SCENARIOS:
                path = folder / f"{scenario}{queue_frames}{ending}"
                done = ran(*before, program, scenario, path, queue_frames)
                assert (done.returncode, done.stderr) == (0, ""), (scenario, ending, queue_frames)
                assert len(read_trace(path).frame) > 0
    numbers = [read_trace(folder / f"not_finite0{ending}").stages["floats"] for ending in ENDINGS]
    np.testing.assert_array_equal(*numbers)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_every_build_of_an_engine_records(tmp_path, compiler_name, standard, kind):
    """Each platform of a game has its own compiler, and a defect of memory shows on one of them."""
    play_everything(build(compiler_name, tmp_path, standard, *KINDS[kind]), tmp_path)


@pytest.mark.nightly
@pytest.mark.needs_program("valgrind")
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_valgrind_finds_nothing(tmp_path, compiler_name):
    """It sees what the sanitizers do not: bytes that were never written and are recorded."""
    words = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all")
    play_everything(build(compiler_name, tmp_path, "-std=c++17", *KINDS["plain"]), tmp_path, *words)
