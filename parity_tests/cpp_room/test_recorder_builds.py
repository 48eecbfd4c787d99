"""The recorder under every compiler, standard and sanitizer, and under valgrind."""

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace

from .conftest import COMPILERS, ENGINE_LIKE, ran
from .own_engine import ENDINGS, SANITIZED, SHIPPED, build, play

SCENARIOS = (
    "own_loop",
    "not_finite",
    "refusals",
    "before_first_step",
    "two_on_one_path",
    "switched",
    "reopened",
    "heap",
)
BUILDS = {
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


def test_threads_of_a_game_may_record_while_another_opens_and_closes(tmp_path):
    """A console variable is switched in the middle of a frame. The thread sanitizer watches."""
    program = build("g++", tmp_path, "-std=c++17", *BUILDS["thread"])
    for queue_frames in (0, 4):
        (said,) = play(program, "switched", tmp_path / "run.trace.bin", queue_frames)
        assert said.counts["written"] >= 100


def test_a_library_without_to_chars_writes_the_same_numbers(tmp_path):
    """Some consoles have it not; `printf` needs nine digits and no comma."""
    program = build("g++", tmp_path, "-std=c++17", *BUILDS["no to_chars"])
    for scenario in ("own_loop", "not_finite"):
        paths = [tmp_path / f"{scenario}{ending}" for ending in ENDINGS]
        for path in paths:
            play(program, scenario, path)
        text, binary = map(read_trace, paths)
        for name, rows in binary.stages.items():
            np.testing.assert_array_equal(text.stages[name], rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_every_build_of_an_engine_records(tmp_path, compiler_name, standard, kind):
    """Each platform of a game has its own compiler, and a defect of memory shows on one of them."""
    play_everything(build(compiler_name, tmp_path, standard, *BUILDS[kind]), tmp_path)


@pytest.mark.slow
@pytest.mark.needs_program("valgrind")
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_valgrind_finds_nothing(tmp_path, compiler_name):
    """It sees what the sanitizers do not: bytes that were never written and are recorded."""
    words = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all")
    play_everything(build(compiler_name, tmp_path, "-std=c++17", *BUILDS["plain"]), tmp_path, *words)
