"""`--engine native`: the compiled loop against numpy under every convention, and every way in which it must step aside."""

import ctypes
import os
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import CallableNetwork, OnnxNetwork, read_clip
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.run import Crowd, RunOptions
from rigpact.reference_runtime.graph import native_agreement as agreement
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.native import library as loading
from rigpact.reference_runtime.operations.scalars import FUNCTIONS
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, disagreement, engine_for, free_frames
from rigpact.reports.engine.conformance import made_up_clip

from ..every_case import every_case
from .conftest import compiled
from .drawn_contracts import small_contract
from .test_stage_parity import VALUES

pytestmark = pytest.mark.usefixtures("installed_library")
FRAMES = 20
ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "hatch_build.py"


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    contract = small_contract(tmp_path_factory.mktemp("native"))
    return contract, made_up_clip(contract, FRAMES + 1)


@pytest.fixture
def demo(demo_bundle):
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    return contract, OnnxNetwork(demo_bundle / "model.onnx", contract), read_clip(demo_bundle / "clips/Sneak_Turn.json")


def crowd_of(contract, network, sources, starts, *, is_one=False):
    """Runs in C++."""
    return Crowd(free_frames(contract, network, sources, starts, kind=NativeFrames), is_one=is_one)


def native(contract, network, rows):
    """One run in C++."""
    return crowd_of(contract, network, [rows], rows.x_raw[:1], is_one=True)


@every_case("math", ["f64", "f32"])
@every_case(("knob", "value"), VALUES, ids=str)
def test_the_check_before_a_run_lets_every_convention_pass(character, math, knob, value):
    """A check that alarms on rounding would silently cost a studio its fast loop."""
    assert disagreement(character[0].with_conventions({"math": math, knob: value})) == ""


def test_a_crowd_is_its_single_runs(demo):
    """A crowd whose rows reach into one another moves every character a little wrong."""
    contract, _, clip = demo
    other = read_clip(clip.path.with_name("Walk_Spin.json"))
    sources = [clip_rows(each, contract) for each in (clip, other, clip)]
    starts = np.stack([rows.x_raw[row] for rows, row in zip(sources, (0, 3, 7), strict=True)])
    answers = np.random.default_rng(3).normal(0.0, 1.0, (3, contract.numbers.output.width)).astype(np.float32)
    crowd = crowd_of(contract, CallableNetwork(lambda *_: answers), sources, starts)
    beside = Crowd(free_frames(contract, CallableNetwork(lambda *_: answers), sources, starts))
    for _ in range(12):
        found, expected = crowd.step(), beside.step()
        for name, rows in expected.items():
            np.testing.assert_allclose(
                found[name], rows, rtol=0, atol=12 * 64 * 2.0**-24 * max(1.0, np.abs(rows).max())
            )
    assert found
    for run, rows in enumerate(sources):
        alone = crowd_of(
            contract, CallableNetwork(lambda *_, run=run: answers[run : run + 1]), [rows], starts[run : run + 1]
        )
        again = crowd_of(contract, CallableNetwork(lambda *_: answers), sources, starts)
        for _ in range(5):
            one, all_of_them = alone.step(), again.step()
        for name, values in one.items():
            np.testing.assert_array_equal(all_of_them[name][run], values[0])


@pytest.mark.parametrize(("cut", "is_bound"), [(0, True), (1, False)])
def test_the_network_reads_the_loops_own_memory_where_every_vector_fits(demo, monkeypatch, cut, is_bound):
    """A network that is bound to rows of another width reads beside them; one that is never bound costs a copy a frame."""
    contract, network, clip = demo
    widths, bound, bind = network.bound_widths, [], OnnxNetwork.bound_to
    monkeypatch.setattr(network, "bound_widths", (widths[0] - cut, *widths[1:]))
    monkeypatch.setattr(OnnxNetwork, "bound_to", lambda self, *rows: bound.append(len(rows[0])) or bind(self, *rows))
    monkeypatch.setattr(OnnxNetwork, "run", lambda *_: np.zeros((1, contract.numbers.output.width), np.float32))
    native(contract, network, clip_rows(clip, contract)).step()
    assert bool(bound) is is_bound


def threads_of_this_process():
    return sum(1 for _ in Path("/proc/self/task").iterdir())


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted as Linux lists them")
def test_a_large_crowd_is_shared_among_threads_and_has_the_same_bits(demo, monkeypatch):
    """A character that is computed twice, or not at all, is seen only in a crowd. No thread stays when the crowd is gone."""
    contract, _, clip = demo
    rows, rng = clip_rows(clip, contract), np.random.default_rng(4)
    starts = rows.x_raw[np.arange(200) % len(rows.x_raw)]
    answers = rng.normal(0.0, 1.0, (200, contract.numbers.output.width)).astype(np.float32)
    found, before = {}, threads_of_this_process()
    for threads, helpers in (("1", 0), ("3", 2), ("8", 2)):  # 64 characters at least for each
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        crowd = crowd_of(contract, CallableNetwork(lambda *_: answers), [rows], starts)
        crowd.step()
        assert threads_of_this_process() == before + helpers
        for _ in range(4):
            found[threads] = crowd.step()
        del crowd
        assert threads_of_this_process() == before
    for threads in ("3", "8"):
        for name, expected in found["1"].items():
            np.testing.assert_array_equal(found[threads][name], expected)


@every_case("change", [{"previous_pose_lag": "+1"}, {"pose_history_start": "first_target"}], ids=str)
def test_a_clip_that_numpy_refuses_is_refused(demo, change):
    """C++ would read the pose after the last one, which is anything."""
    contract, network, clip = demo
    contract = contract.with_conventions(change)
    rows = clip_rows(clip, contract)
    one = type(rows)(**{**vars(rows), "poses": rows.poses[:1]})
    with pytest.raises(UnusableInput):
        native(contract, network, one)


def test_tanh_is_within_its_documented_bound(any_compiler, tmp_path):
    """A thousand of them in every frame: within three roundings, NaN stays NaN, ±1 far out."""
    mpmath = pytest.importorskip("mpmath")
    lines = ['#include "rigpact/tanh.hpp"', 'extern "C" double d(double x) { return rigpact::tanh_of(x); }']
    (tmp_path / "t.cpp").write_text(
        "\n".join([*lines, 'extern "C" double f(float x) { return double(rigpact::tanh_of(x)); }'])
    )
    loaded = ctypes.CDLL(str(compiled(any_compiler, tmp_path / "t.cpp", tmp_path / "t.so", "-O2", "-shared", "-fPIC")))
    rng = np.random.default_rng(0)
    drawn = (rng.normal(0, 1, 400), rng.normal(0, 8, 200), 10.0 ** rng.uniform(-300, 1, 300), [20.0, 700.0])
    for name, taken, unit in (("d", ctypes.c_double, 2.0**-53), ("f", ctypes.c_float, 2.0**-24)):
        tanh = getattr(loaded, name)
        tanh.restype, tanh.argtypes = ctypes.c_double, (taken,)
        values = np.concatenate(drawn)
        for value in map(float, values if name == "d" else values[np.abs(values) > 1e-37].astype(np.float32)):
            with mpmath.workdps(40):
                exact = mpmath.tanh(mpmath.mpf(value))
                assert abs(tanh(value) - exact) <= 3 * unit * abs(exact), value
        assert np.isnan(tanh(np.nan))
        assert [tanh(np.inf), tanh(-np.inf), tanh(-0.0)] == [1.0, -1.0, 0.0]
    assert FUNCTIONS["tanh"](0.5) == pytest.approx(loaded.d(0.5), rel=1e-15)


# --- stepping aside ---


@pytest.fixture
def own_library(monkeypatch):
    """`library()` read anew inside and after the test."""
    loading.library.cache_clear()
    disagreement.cache_clear()
    agreement.say_slow.cache_clear()
    yield monkeypatch
    loading.library.cache_clear()
    disagreement.cache_clear()


def test_without_a_library_numpy_runs_and_says_once_that_it_is_slow(own_library, character):
    """On a machine without a compiler the install has no library; everything works, and nobody wonders for long."""
    own_library.setattr(loading, "STEM", "not_there")
    with pytest.warns(UserWarning, match="no compiled loop: numpy computes free runs, many times slower"):
        assert engine_for(character[0], "auto") == ("numpy", "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine_for(character[0], "auto") == ("numpy", "")
    with pytest.raises(UnusableInput, match="no compiled loop"):
        engine_for(character[0], "native")


@pytest.mark.parametrize(
    ("content", "words"), [(None, "other sources"), (b"", "does not load"), (b"MZ of another machine", "does not load")]
)
def test_a_library_that_is_another_is_not_used(own_library, character, tmp_path, content, words):
    """A header that was changed after the compilation; a wheel of another machine; a file that a download cut off."""
    if content is None:
        own_library.setattr(loading, "sources_sha256", lambda _folder: "0" * 64)
    else:
        own_library.setattr(loading, "__file__", str(tmp_path / "library.py"))
        (tmp_path / f"{loading.STEM}{loading.ENDING}").write_bytes(content)
    assert engine_for(character[0], "auto") == ("numpy", "")
    with pytest.raises(UnusableInput, match=words):
        engine_for(character[0], "native")


@every_case("options", [RunOptions("teacher", engine="native"), RunOptions("free", on_floor=True, engine="native")])
def test_a_run_that_c_plus_plus_does_not_make_is_refused(demo, options):
    """Asked for by name, the engine must not be another one."""
    contract, network, clip = demo
    with pytest.raises(UnusableInput, match="--engine native"):
        files_of(contract).start(contract, network, clip, options)


def test_the_build_leaves_it_out_where_it_cannot_compile(monkeypatch, tmp_path):
    """An install without a compiler, or with one that fails, is an install."""
    if not BUILD.is_file():
        pytest.skip("no checkout: the build's hook is not in the wheel")
    build = runpy.run_path(str(BUILD))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert build["compiled"]() == []
    failing = tmp_path / "c++"
    failing.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    failing.chmod(0o755)
    before = {path.name: path.stat().st_mtime_ns for path in Path(loading.__file__).parent.glob("rigpact_native*")}
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert build["compiled"]() == []
    after = {path.name: path.stat().st_mtime_ns for path in Path(loading.__file__).parent.glob("rigpact_native*")}
    assert after == before
