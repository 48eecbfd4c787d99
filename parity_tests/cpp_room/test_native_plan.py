"""`--engine native` for declared contracts: each operation in C++ against the oracles of the declared room, whole contracts,
and every way in which C++ must step aside."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.files.declared import DeclaredFiles
from rigpact.reference_runtime.files.run import DeclaredClip, RunOptions
from rigpact.reference_runtime.graph import native_agreement as drawn
from rigpact.reference_runtime.graph import native_plan as plan
from rigpact.reference_runtime.graph.native_agreement import first_difference
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.native import library as loading
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, run_header
from rigpact.reference_runtime.systems.enemy_animation.runs import disagreement

from ..declared_room import one_operation
from ..declared_room import test_operations_converting as converting
from ..declared_room import test_operations_scaling as scaling
from ..declared_room import test_operations_timing as timing
from ..declared_room import test_operations_turning as turning
from ..declared_room.one_operation import judge_value, readings_of
from ..every_case import every_case
from ..measuring.pages.generated_docs import SAMPLES, sample_contract
from .conftest import ran
from .generated_loop import by_function
from .libraries import LANES, library_of, library_of_lanes, spoilt_library

pytestmark = pytest.mark.usefixtures("installed_library")
ROOT = Path(__file__).resolve().parents[2]
NOT_IN_CPP = (
    "unit_quaternions", "unit_or_zeros", "a vector for each", "copied", "replaced", "linear_map", "standardise",
)  # fmt: skip
"""A run that has one is computed by numpy."""
SUBJECTS = tuple(
    each for each in (*scaling.SUBJECTS, *turning.SUBJECTS, *timing.SUBJECTS) if each.name not in NOT_IN_CPP
)
CONTRACTS = sorted((ROOT / "fixtures/contracts").glob("*.toml"))
FRAMES = 40


def drawn_clip(contract, frames, seed=0):
    """Rows of every stage that a run does not compute."""
    rng, graph = np.random.default_rng(seed), contract.system.graph
    return {
        name: rng.normal(0.0, 0.5, (frames, contract.fields(name).width)).astype(np.float32)
        for name in (*graph.given, *graph.answers)
    }


# --- each operation ---


@pytest.fixture
def in_cpp(monkeypatch):
    """The declared room's oracles judge what C++ computes: from the second frame on nothing of it is numpy's."""
    by_numpy = one_operation.result_of

    def by_cpp(subject, inputs, knob="", value=""):
        contract = one_operation.replayed(subject, inputs, knob, value).contract
        rows = {name: values.astype(np.float32) for name, values in inputs.items()}
        count = len(next(iter(rows.values())))
        frames = NativeFrames(contract, [ClipDrive(rows)], None, count, "teacher")
        frames.run(count)
        _, bound = by_numpy(subject, inputs, knob, value)
        return frames.kept["result"][:, 0].astype(np.float64), bound

    for module in (one_operation, converting, scaling, turning):
        monkeypatch.setattr(module, "result_of", by_cpp)


@readings_of(SUBJECTS)
def test_every_reading_of_every_operation_is_its_oracles(in_cpp, subject, knob, value, oracle):
    """An engine includes these headers; a reading that is another one there blames the wrong convention."""
    judge_value(subject, knob, value, oracle, subject.draw(np.random.default_rng(11), 9))


@pytest.mark.parametrize("name", scaling.FUNCTIONS)
def test_each_function_is_the_one_of_its_name(in_cpp, name):
    """Against mpmath: a network's last activation in another form gives actions of another size."""
    scaling.test_each_function_is_the_one_of_its_name.hypothesis.inner_test(name=name, seed=5)


@every_case(("form", "variant"), converting.WRITINGS)
@every_case("seed", [1, 2])
def test_each_way_to_read_and_to_write_a_rotation_is_scipys(in_cpp, form, variant, seed):
    """Twenty-four sequences of Euler angles exist; the wrong one bends every joint about another axis."""
    converting.test_each_way_to_write_a_rotation_is_scipys.hypothesis.inner_test(to=form, writes=variant, seed=seed)
    converting.test_each_way_to_read_a_rotation_is_scipys.hypothesis.inner_test(form=form, reads=variant, seed=seed)


IN_NUMPY = (
    "copied", "switch", "linear_map", "phase_clock", "played", "range_denormalise", "range_normalise",
    "replaced", "standardise", "unit_quaternions",
)  # fmt: skip
"""Operations without a form in C++: a run that has one is computed by numpy."""


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in {"network", *IN_NUMPY}])
def test_the_check_before_a_run_lets_every_reading_pass(name):
    """A check that alarms on rounding would silently cost a studio its fast runs."""
    contract = sample_contract(name)
    readings = [{knob.name: value} for knob in contract.system.knobs.values() for value in knob.values]
    for changes in ({}, *readings):
        assert drawn.engine_for(contract.with_conventions(changes), "native") == ("native", ""), changes


@every_case("name", IN_NUMPY)
def test_an_operation_without_cpp_is_run_by_numpy_and_named(name):
    """Who asks for the fast engine and silently gets the slow one takes it for a defect of the network."""
    contract = sample_contract(name)
    assert drawn.engine_for(contract, "auto")[0] == "numpy"
    with pytest.raises(UnusableInput, match="result"):
        drawn.engine_for(contract, "native")


# --- whole contracts ---


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("asks", [True, False], ids=["network", "recorded answers"])
def test_every_contract_runs_as_numpy_runs_it(path, asks):
    """Each stage of each character is within the stage's own bound of what numpy makes of the same stages before it."""
    contract = open_contract(path)
    clips = [drawn_clip(contract, 17, seed) for seed in (1, 2, 3)]
    network = by_function(contract) if asks and contract.system.networks else None
    for clip in clips:
        for name in contract.system.graph.answers if network is not None else ():
            del clip[name]
    frames = NativeFrames(contract, [ClipDrive(clip) for clip in clips], network, FRAMES, "free")
    beside = LiveFrames(contract, [ClipDrive(clip) for clip in clips], network, FRAMES, "free")
    with np.errstate(all="ignore"):
        frames.run(FRAMES)
        beside.run(2)
    assert list(frames.kept) == list(beside.kept)
    for lane, clip in enumerate(clips):
        stages = {name: rows[:, lane] for name, rows in frames.kept.items()}
        looped = {name: rows[np.arange(FRAMES) % len(rows)] for name, rows in clip.items()}
        drive = ClipDrive(looped)
        evidence = Evidence(np.arange(FRAMES), contract.fps or 1.0, "free", stages, lambda _, drive=drive: drive)
        with np.errstate(all="ignore"):
            assert first_difference(ReplayedFrames(evidence, contract), stages) == ""
        for name, rows in beside.kept.items():  # the second frame begins from the same bits
            scale = max(1.0, float(np.nan_to_num(np.abs(rows[:2])).max()))
            np.testing.assert_allclose(stages[name][:2], rows[:2, lane], rtol=0, atol=1e-5 * scale, err_msg=name)


def test_more_frames_than_there_is_room_for_find_more():
    """C++ writes into memory that Python made: a run that goes on writes into new memory, with what was in the old one."""
    contract = sample_contract("clip")
    clip = [ClipDrive(drawn_clip(contract, 5))]
    grown, at_once = (NativeFrames(contract, clip, None, room, "free") for room in (5, 23))
    for count in (3, 4, 1, 15):
        grown.run(count)
    at_once.run(23)
    for name, rows in at_once.kept.items():
        np.testing.assert_array_equal(grown.kept[name][:23], rows, err_msg=name)


# --- one contract of the command line ---

STEERED = """format = "rigpact-contract"
version = 1
name = "steered"
fps = 50
given = [{ name = "stick", size = 2 }, { name = "last", size = 2, carried = "place", start = "zeros" }]
stages = [
    { name = "wish", operation = "affine", of = "stick", scale = 2, offset = -0.25 },
    { name = "memory", operation = "OWN", MORE },
    { name = "place", operation = "integrate", of = ["last", "wish"] },
]
"""
HISTORY = 'of = "wish", length = 3, layout = "frame_major", order = "oldest_first", start = "first"'


@pytest.fixture
def steered(tmp_path):
    """A contract that feeds itself, and a clip for it."""
    path = tmp_path / "steered.toml"
    path.write_text(STEERED.replace("OWN", "history").replace("MORE", HISTORY), encoding="utf-8")
    contract = open_contract(path)
    stick = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    clip = tmp_path / "stick.trace.jsonl"
    frame = np.arange(30)
    write_trace(Trace(run_header(contract, 50.0, "playback"), frame, frame / 50.0, {"stick": stick}), clip)
    return path, clip, stick


def by_hand(stick, count):
    """The places, in plain Python."""
    place, places = [0.0, 0.0], []
    for frame in range(count):
        wish = [float(np.float32(2.0 * float(x) - 0.25)) for x in stick[frame % len(stick)]]
        place = [float(np.float32(old + 0.02 * rate)) for old, rate in zip(place, wish, strict=True)]
        places.append(place)
    return np.array(places)


def report_of(command, path, clip, out, *more):
    answer = command("run", "--contract", path, clip, "--mode", "free", "-o", out, "--format", "json", *more)
    return answer.status, json.loads(answer.out)


def test_a_free_run_takes_it_by_itself_and_is_the_same_path(command, steered, tmp_path):
    """`auto` is the default; where the path ends must not depend on who computed it."""
    path, clip, stick = steered
    out = tmp_path / "run.trace.bin"
    for engine, asked in (("native", ()), ("native", ("--engine", "native")), ("numpy", ("--engine", "numpy"))):
        status, report = report_of(command, path, clip, out, *asked)
        assert (status, report["summary"]["engine"]) == (0, engine)
        np.testing.assert_array_equal(read_trace(out).stages["place"], by_hand(stick, 30))


def test_a_nan_comes_out_where_numpy_has_it(steered):
    """`rigpact nan` looks for the first frame and stage of a NaN; C++ must not move it."""
    path, _, stick = steered
    stick[7, 1], stick[9, 0] = np.nan, np.inf
    contract = open_contract(path)
    both = [kind(contract, [ClipDrive({"stick": stick})], None, 20, "free") for kind in (NativeFrames, LiveFrames)]
    for frames in both:
        frames.run(20)
    assert both[1].kept.keys() == both[0].kept.keys() != set()
    for name, rows in both[1].kept.items():
        np.testing.assert_array_equal(both[0].kept[name], rows, err_msg=name)


# --- stepping aside ---


OWN = """
from rigpact.contract.declared.operation import Built, Operation

def build(use):
    name = use.inputs[0].name
    return Built(use.inputs[0].fields, lambda frames: frames[name] * 2)

DOUBLED = Operation("doubled", "twice a vector", build)
"""
WITH_CPP = OWN.replace("frames[name] * 2)", "frames[name] * 2, planned=planned)").replace(
    "    return", "    planned = lambda frames: Step('doubled', (Read(name),))\n    return"
)
WITH_CPP = "from rigpact.contract.systems.plan import Cpp, Read, Step\n" + WITH_CPP.replace(
    ", build)", ", build, cpp=Cpp('x', ''))"
)


@pytest.mark.parametrize(
    ("name", "own"),
    [("doubled", OWN), ("norm", OWN), ("doubled", WITH_CPP)],
    ids=["own name", "rigpact's name", "its own C++"],
)
def test_an_operation_of_ones_own_is_numpys_without_a_word(command, steered, tmp_path, name, own):
    """rigpact compiles no operation of a studio: the run is numpy's, and asked for by name it is refused."""
    path, clip, _ = steered
    own = own.replace("doubled", name)
    path.write_text(STEERED.replace("OWN", name).replace("MORE", 'of = "wish"'), encoding="utf-8")
    module, out = tmp_path / "own.py", tmp_path / "run.trace.bin"
    module.write_text(own, encoding="utf-8")
    status, report = report_of(command, path, clip, out, "--operations", module)
    assert (status, report["summary"]["engine"], report["findings"]) == (0, "numpy", [])
    words = (clip, "--mode", "free", "--operations", module, "--engine", "native", "-o", out)
    refused = command("run", "--contract", path, *words)
    assert (refused.status, "the stage memory, which has no form in C++" in refused.err) == (2, True)


def test_a_run_that_a_clip_drives_is_numpys(steered):
    """Asked for by name, the engine must not be another one: a clip is computed in one batch."""
    path, clip, stick = steered
    rows, options = DeclaredClip(clip, 50.0, {"stick": stick, "last": stick}), RunOptions("teacher", engine="native")
    with pytest.raises(UnusableInput, match="another run than a free run"):
        DeclaredFiles().start(open_contract(path), None, rows, options)


@pytest.mark.parametrize("stage", ["wish", "state"])
def test_a_wrong_sign_in_a_header_is_not_used_and_said(command, steered, demo_bundle, tmp_path, monkeypatch, stage):
    """The compiler's options, or a defect of the headers: the run goes on in numpy, and the report says what was seen."""
    path, clip, _ = steered
    words: tuple[object, ...] = (clip,)
    if stage == "state":
        path, words = (
            demo_bundle / "norm_template.json",
            (demo_bundle / "clips/Sneak_Turn.json", "--onnx", demo_bundle / "model.onnx"),
        )
    out, free = tmp_path / "run.trace.bin", ("--mode", "free", "--frames", 5)
    monkeypatch.setattr(plan, "library", spoilt_library)
    for known in (drawn.disagreement, disagreement):
        known.cache_clear()
    answer = command("run", "--contract", path, *words, *free, "-o", out, "--format", "json")
    refused = command("run", "--contract", path, *words, *free, "--engine", "native", "-o", out)
    for known in (drawn.disagreement, disagreement):
        known.cache_clear()
    report = json.loads(answer.out)
    (finding,) = report["findings"]
    assert (answer.status, report["summary"]["engine"], finding["code"]) == (0, "numpy", "RP817")
    assert f"{stage} at frame 0" in finding["message"]
    assert (refused.status, "a loop that differs" in refused.err) == (2, True)


SANITIZED = """
import sys
from pathlib import Path
from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph import native_agreement as drawn
from rigpact.reference_runtime.graph import native_plan as plan
from rigpact.reference_runtime.native import library as loading
loaded = loading._loaded(Path(sys.argv[1]))
plan.library = lambda: loaded
for path in sys.argv[2:]:
    assert drawn.disagreement(open_contract(Path(path))) == "", path
print("sound")
"""


@pytest.mark.nightly
def test_no_operation_reads_or_writes_beside_its_rows(tmp_path):
    """A history of a wrong length would read a neighbour's memory: silent here, a crash in a game."""
    flags = ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    out = library_of(loading.headers_folder().parent, tmp_path / "checked.so", *flags)
    runtime = ran("g++", "-print-file-name=libasan.so").stdout.strip()
    words = ("env", f"LD_PRELOAD={runtime}", "ASAN_OPTIONS=detect_leaks=0", f"PYTHONPATH={os.pathsep.join(sys.path)}")
    done = ran(*words, sys.executable, "-c", SANITIZED, out, *CONTRACTS)
    assert (done.returncode, done.stdout) == (0, "sound\n"), done.stderr[-2000:]


@pytest.mark.parametrize("kind", LANES)
def test_lanes_of_every_kind_give_the_same_bits(monkeypatch, kind):
    """Another processor has wider registers; the character must not depend on it."""
    contract = open_contract(ROOT / "fixtures/contracts/mode_adaptive_controller.toml")
    clip, runs = [ClipDrive(drawn_clip(contract, 9))], []
    for library in map(library_of_lanes, ("SSE", kind)):
        monkeypatch.setattr(plan, "library", lambda library=library: library)
        runs.append(NativeFrames(contract, clip, None, FRAMES, "free"))
        runs[-1].run(FRAMES)
    assert runs[0].kept.keys() == runs[1].kept.keys() != set()
    for name, rows in runs[0].kept.items():
        np.testing.assert_array_equal(runs[1].kept[name], rows, err_msg=name)
