"""The recorder under every compiler, standard and sanitizer, and under valgrind."""

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reports.engine.codegen import headers_folder

from .conftest import COMPILERS, ENGINE_LIKE, ROOM, ran
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
    "plain_types",
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


@pytest.mark.nightly
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


def test_c_arrays_bool_and_integers_are_taken_with_tracing_on_and_off(tmp_path):
    """A class that compiled with tracing off and not with it on was found on the day when somebody needed a trace."""
    expected = {
        "pose": [1, 2, 3, 4, 5, 6], "clock": [0.25, 1e-300], "feet": [1, 0], "ids": [16777217, -3], "bytes": [200, 3],
        "flags": [0, 1], "quats": [2, 3, 4, 1], "flag": [1], "count": [7], "one": [0.5], "list": [1, 2], "some": [16777217],
        "asked": [8, 9],
    }  # fmt: skip
    program = build("g++", tmp_path, "-std=c++17", *ENGINE_LIKE)
    for ending in ENDINGS:
        path = tmp_path / f"run{ending}"
        (said,) = play(program, "plain_types", path)
        assert said.is_ok
        trace = read_trace(path)
        assert list(trace.stages) == list(expected)
        for name, row in expected.items():
            np.testing.assert_array_equal(trace.stages[name], np.array([row] * 3, np.float64).astype(np.float32))
    assert b'"float64":["clock","ids","count","list","some"]' in path.read_bytes()

    program, path = build("g++", tmp_path, "-std=c++17", "-DRIGPACT_TRACE=0", *ENGINE_LIKE), tmp_path / "off.trace.bin"
    play(program, "plain_types", path)
    assert not path.exists()


def test_no_header_trips_over_the_macros_of_windows_and_unreal(any_compiler, demo_header, tmp_path):
    """`small` is a type in the headers of Windows, `check` a macro in Unreal: the words are theirs, the errors ours."""
    headers = sorted(path.relative_to(headers_folder()) for path in headers_folder().rglob("*.hpp"))
    includes = [f'#include "{header}"' for header in headers]
    (tmp_path / "all.cpp").write_text("\n".join([*includes, '#include "contract.hpp"', ""]))
    flags = ["-DRIGPACT_TRACE=1", "-fsyntax-only", f"-I{headers_folder()}", f"-I{demo_header}"]
    done = ran(any_compiler, "-std=c++17", "-include", ROOM / "hostile_macros.hpp", *flags, tmp_path / "all.cpp")
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("standard", ["-std=c++17", "-std=c++20"])
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_every_build_of_an_engine_records(tmp_path, compiler_name, standard, kind):
    """Each platform of a game has its own compiler, and a defect of memory shows on one of them."""
    play_everything(build(compiler_name, tmp_path, standard, *BUILDS[kind]), tmp_path)


@pytest.mark.nightly
@pytest.mark.needs_program("valgrind")
@pytest.mark.parametrize("compiler_name", COMPILERS)
def test_valgrind_finds_nothing(tmp_path, compiler_name):
    """It sees what the sanitizers do not: bytes that were never written and are recorded."""
    words = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=all")
    play_everything(build(compiler_name, tmp_path, "-std=c++17", *BUILDS["plain"]), tmp_path, *words)
