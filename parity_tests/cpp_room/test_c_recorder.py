"""The recorder as a shared library with a C interface, from C (ctypes) and from C# (mono)."""

import ctypes as c
import os
import subprocess

import numpy as np
import pytest

from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.recordings.trace_bytes import segments
from rigpact.reports.engine.cpp_text import copy_headers

from .conftest import ROOM, STRICT, ran


@pytest.fixture(scope="module")
def folder(any_compiler, tmp_path_factory):
    """The library as its header says how to build it, from the headers that `rigpact codegen --headers` copies."""
    folder = tmp_path_factory.mktemp("library")
    source = copy_headers(folder / "third_party") / "c" / "recorder.cpp"
    flags = ("-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", f"-I{folder / 'third_party'}")
    done = ran(any_compiler, *STRICT, *flags, source, "-o", folder / "librigpact_recorder.so")
    assert done.returncode == 0, done.stderr
    return folder


class Header(c.Structure):
    """`rigpact_header`."""

    _fields_ = (
        ("producer", c.c_char_p), ("producer_version", c.c_char_p), ("bundle_sha256", c.c_char_p), ("fps", c.c_double),
        ("mode", c.c_char_p), ("clip", c.c_char_p), ("companion_sha256", c.c_char_p), ("meaning_sha256", c.c_char_p),
        ("conventions_sha256", c.c_char_p), ("model_sha256", c.c_char_p), ("system", c.c_char_p),
    )  # fmt: skip


def test_the_library_records_what_c_hands_it(folder, tmp_path):
    """Engines that do not compile C++ templates wrote their own recorders, and each printed other digits."""
    library = c.CDLL(str(folder / "librigpact_recorder.so"))
    library.rigpact_create.restype = own_type = c.c_void_p
    library.rigpact_problem.restype = c.c_char_p
    own = own_type(library.rigpact_create())
    header = Header(b"MyGame", b"1.0", None, 30.0, b"free", system=b"studio", model_sha256=b"ab" * 32)
    path = tmp_path / "run.trace.bin"
    library.rigpact_about(own, b"actor", b"Wolf")
    assert library.rigpact_open(own, str(path).encode(), c.byref(header), 8, 1) == 1
    for frame in range(5):
        assert library.rigpact_begin_frame(own, c.c_int64(frame), c.c_double(frame / 30), None) == 1
        library.rigpact_stage_f32(own, b"state", (c.c_float * 2)(frame, 0.1), 2)
        library.rigpact_stage_f64(own, b"clock", (c.c_double * 1)(frame / 4), 1)
        assert library.rigpact_end_frame(own) == 1
    assert library.rigpact_end_frame(own) == 0
    assert library.rigpact_close(own) == 0
    counts = (c.c_int64 * 6)()
    library.rigpact_counts(own, counts)
    assert list(counts) == [5, 0, 1, 0, 0, 1]
    assert library.rigpact_problem(own) == b"end_frame() without begin_frame()"
    library.rigpact_destroy(own)
    trace = read_trace(path)
    assert (trace.header.fps, trace.header.model_sha256, trace.header.about) == (30.0, "ab" * 32, (("actor", "Wolf"),))
    np.testing.assert_array_equal(trace.stages["state"], np.array([[frame, 0.1] for frame in range(5)], np.float32))
    np.testing.assert_array_equal(trace.stages["clock"], [[frame / 4] for frame in range(5)])


@pytest.mark.needs_program("mcs", "mono")
def test_a_game_in_c_sharp_records(folder, tmp_path):
    """Unity and Godot write C#: a wrong size of a struct is a crash on one platform."""
    program, path = folder / "game.exe", tmp_path / "run.trace.bin"
    binding = folder / "third_party" / "rigpact" / "c" / "Rigpact.cs"
    done = ran("mcs", "-langversion:5", "-warnaserror", f"-out:{program}", binding, ROOM / "game.cs")
    assert done.returncode == 0, done.stdout + done.stderr
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run(
        ["mono", program, path], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first == "True 7 3 none"
    assert second.startswith("False No such file or directory")
    with segments(path) as parts:
        one, two, three = (read_trace(part) for part in parts.paths)
    assert one.header.about == (("actor", "Wölf (3)"),)
    np.testing.assert_array_equal(two.stages["state"], [[0, 1, 0.5], [1, 1, 0.5], [2, 1, 0.5]])
    assert (three.header.mode, list(three.stages), three.header.system) == ("teacher", ["target"], "studio")
