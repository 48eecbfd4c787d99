"""The loop that `rigpact codegen --loop` writes: compiled, run, and held against numpy's and the native run."""

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.errors import UnusableInput
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.run import ClipDrive
from rigpact.reference_runtime.network import CheckedNetwork, ReplayNetwork
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, free_frames
from rigpact.reports.engine.conformance import made_up_clip
from rigpact.reports.engine.header import contract_header

from .conftest import ROOM, compiled, ran
from .drawn_contracts import small_contract
from .generated_loop import as_numpy, build_loop, by_function
from .test_native_plan import CONTRACTS, ROOT, STEERED, drawn_clip

FRAMES = 150
"""Three times through a clip of `SHORT` rows and more: what a loop carries over shows where the clip begins again."""
SHORT = 43
AHEAD = {"humanml3d": {"positions": 1, "root_rotation": 1}}
"""Given stages that a contract reads in the next frame."""


def clip_of(contract, count, *, recorded):
    """Drawn rows of what comes from outside, with the network's answers or without."""
    clip = drawn_clip(contract, count, seed=5)
    return {name: rows for name, rows in clip.items() if recorded or name not in contract.system.graph.answers}


def agrees(loop, clip, mode):
    """The loop's stages are numpy's within each stage's derived bound, and the native executor's bit for bit."""
    stages = as_numpy(loop, clip, FRAMES, mode)
    native = NativeFrames(loop.contract, [ClipDrive(clip)], by_function(loop.contract), FRAMES, mode)
    with np.errstate(all="ignore"):
        native.run(FRAMES)
    for name, rows in native.kept.items():
        np.testing.assert_array_equal(stages[name], rows[:FRAMES, 0], err_msg=name)


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("installed_library")
@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem)
def test_the_loop_of_every_contract_is_numpys_run(compiler, tmp_path, path):
    """An engine that includes the header plays what the training side computes: driven by a clip, and by itself."""
    contract = open_contract(path)
    loop = build_loop(compiler, contract, tmp_path, ahead=AHEAD.get(path.stem))
    for recorded in (True, False):
        agrees(loop, clip_of(contract, FRAMES, recorded=recorded), "teacher")
        agrees(loop, clip_of(contract, SHORT, recorded=recorded), "free")


@pytest.mark.usefixtures("installed_library")
def test_the_loop_follows_every_convention(any_compiler, tmp_path):
    """`--set` asks what an engine with another convention plays: the loop must be that engine."""
    contract = open_contract(ROOT / "fixtures/contracts/learned_motion_matching.toml")
    changes = {knob.name: list(knob.values)[-1] for knob in contract.system.knobs.values()}
    assert changes
    loop = build_loop(any_compiler, contract.with_conventions(changes), tmp_path)
    agrees(loop, clip_of(contract, SHORT, recorded=False), "free")


# --- by hand: the value before the first frame, what is fed back, what lies ahead ---

REMEMBERS = """format = "rigpact-contract"
version = 1
name = "remembers"
fps = 50
given = [
    { name = "State", size = 1 },
    { name = "last", size = 1, carried = "class", start = [7.0] },
    { name = "before_last", size = 1, carried = "last", start = "zeros" },
]
stages = [
    { name = "zeros", KEPT, length = 4, order = "oldest_first", start = "zeros" },
    { name = "first", KEPT, length = 3, order = "newest_first", start = "first" },
    { name = "old", operation = "shift", of = "State", frames = -5 },
    { name = "next", operation = "shift", of = "State", frames = 2 },
    { name = "class", operation = "blend", of = ["State", "last"], weights = [1.0, 0.5] },
    { name = "step", operation = "blend", of = ["class", "before_last"], weights = [1.0, 10.0] },
]
""".replace("KEPT", 'operation = "history", of = "State", layout = "term_major"')


def remembered(x, count):
    """The stages in plain Python; x: one number for each frame."""
    known = [float(np.float32(each)) for each in x]
    last, before, rows = 7.0, 0.0, []
    for frame in range(count):
        at = {lag: known[(frame + lag) % len(known)] for lag in (0, 1, 2)}
        zeros = [known[(frame - age) % len(known)] if age <= frame else 0.0 for age in (3, 2, 1, 0)]
        first = [known[max(frame - age, 0) % len(known)] for age in (0, 1, 2)]
        klass = float(np.float32(at[0] + 0.5 * last))
        step = float(np.float32(klass + 10.0 * before))
        rows.append([at[0], last, before, *zeros, *first, known[max(frame - 5, 0) % len(known)], at[2], klass, step])
        before, last = last, klass
    return np.array(rows, np.float32)


@pytest.fixture
def written(tmp_path):
    """Write a declaration and open it."""

    def contract_of(text):
        path = tmp_path / "contract.toml"
        path.write_text(text, encoding="utf-8")
        return open_contract(path)

    return contract_of


def test_what_is_remembered_stands_where_it_was(any_compiler, written, tmp_path):
    """A history that starts otherwise, or feedback of the wrong frame, is another policy; any name is allowed."""
    loop = build_loop(any_compiler, written(REMEMBERS), tmp_path, ahead={"State": 2})
    x = np.random.default_rng(3).normal(size=(31, 1)).astype(np.float32)
    start = {"last": np.full((31, 1), 7.0, np.float32), "before_last": np.zeros((31, 1), np.float32)}
    found = loop.run({"State": x, **start}, FRAMES, "free")
    np.testing.assert_array_equal(np.hstack(list(found.values())), remembered(x[:, 0], FRAMES))


# --- your own operations, and what has no form in C++ ---

OWN = """
import numpy as np
from rigpact.contract.declared.operation import Built, Operation
from rigpact.contract.systems.plan import Cpp, Read, Step

CODE = '''
#include "rigpact/vocabulary/call.hpp"
namespace studio {
// numbers: the gain. Reads the row, and the row before.
inline void spring(const rigpact::vocabulary::Call& c) {
    for (int i = 0; i < c.width; ++i) c.out[i] = static_cast<float>(c.numbers[0] * (double{c.in[0][i]} - c.in[1][i]));
}
}  // namespace studio
'''

def build(use):
    source, gain = use.inputs[0], use.number("gain")

    def compute(frames):
        now, before = (frames.at(source.name, lag).astype(np.float64) for lag in (0, -1))
        return gain.of(frames) * (now - before)

    def planned(frames):
        return Step("spring", (Read(source.name), Read(source.name, -1)), numbers=gain.of(frames))

    return Built(source.fields, compute, reach=(1, 0), planned=planned)

SPRING = Operation("spring", "how fast a vector changes, times a gain", build, {"gain": "one number"}, cpp=CPP)
"""
SPRUNG = STEERED.replace("OWN", "spring").replace("MORE", 'of = "wish", gain = 0.5')


@pytest.fixture
def own(command, tmp_path):
    """`rigpact codegen` of a contract with an operation of your own, with its C++ or without."""

    def written_by(cpp, *words):
        module, contract = tmp_path / "own.py", tmp_path / "sprung.toml"
        module.write_text(OWN.replace("cpp=CPP", f"cpp={cpp}"), encoding="utf-8")
        contract.write_text(SPRUNG, encoding="utf-8")
        out = ("-o", tmp_path / "contract.hpp", "--operations", module)
        return command("codegen", contract, *out, *words)

    return written_by


def test_an_operation_of_ones_own_brings_its_cpp(any_compiler, own, tmp_path):
    """A studio's own step is part of its loop, once in a program with two characters; before the first frame it knows nothing."""
    brought = 'Cpp("studio::spring", CODE)'
    assert own(brought, "--loop").status == 0
    assert own(brought, "--loop", "--namespace", "wolf", "-o", tmp_path / "wolf.hpp").status == 0
    program = compiled(any_compiler, ROOM / "springs.cpp", tmp_path / "springs", include=[tmp_path])
    first, *others = (line.split() for line in ran(program).stdout.splitlines())
    assert [each.lstrip("-") for each in first] == ["nan", "nan"]
    assert others == [["2", "2"], ["-1", "-1"]]  # 0.5 · 2 · (3 - 1), 0.5 · 2 · (2 - 3): a wish is twice the stick


def test_an_operation_without_cpp_is_refused_with_a_way_out(own, tmp_path):
    """A loop that leaves a stage out would play something else; the header without the loop is still written."""
    answer = own("None", "--loop")
    assert answer.status == 2
    said = " ".join(answer.err.split())
    for words in ("sprung.toml, stage memory", "found an operation without a form in C++", "Operation(cpp=Cpp("):
        assert words in said
    assert not (tmp_path / "contract.hpp").exists()
    assert own("None").status == 0
    assert "step(State&" not in (tmp_path / "contract.hpp").read_text(encoding="utf-8")


def test_what_no_engine_can_do_is_refused(written):
    """A stage of the next frame exists in a recording, not in a game; a system of windows has no frame after the other."""
    late = '{ name = "late", operation = "shift", of = "wish", frames = 1 },'
    contract = written(STEERED.replace('{ name = "memory", operation = "OWN", MORE },', late))
    windows = ContractFiles(demo_bundle().parent / "imu_pose" / "imu_pose.json").opened()
    for each, words in ((contract, "stage late: found wish, 1 frames later"), (windows, "a system of windows")):
        with pytest.raises(UnusableInput, match=words):
            contract_header(each, with_loop=True)


# --- a character's ---

READINGS = (
    {"output_mode": "absolute", "angvel_source": "frozen"},
    {"condition_norm": "zscore", "writeback": "all", "math": "f32", "degenerate_axis": "previous_frame_for_delta"},
    {"angvel_source": "rotations", "angvel_lag": "+1", "pose_history_start": "first_target", "previous_pose_lag": "+1"},
    {"angvel_source": "rotations", "angvel_lag": "-1", "pose_history_phase": "excludes_current", "mirror": "y",
     "pose_history_order": "newest_first", "bone_order": "2,0,1", "output_mode": "residual"},
    {},
)  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.usefixtures("installed_library")
@pytest.mark.parametrize("changes", READINGS, ids=lambda changes: ",".join(changes.values()) or "default")
def test_a_characters_loop_has_the_bits_of_the_native_run(compiler, tmp_path, changes):
    """What an engine compiles and what `rigpact run` judged it by must be one loop, in a run that a clip drives too."""
    contract = small_contract(tmp_path).with_conventions(changes)
    rows, count = clip_rows(made_up_clip(contract, 70), contract), 66
    answers = np.random.default_rng(6).normal(0.0, 1.0, (70, contract.numbers.output.width)).astype(np.float32)
    network = CheckedNetwork(ReplayNetwork(answers), answers.shape[1], one_by_one=False)
    free = free_frames(contract, network, [rows], rows.x_raw[:1], kind=NativeFrames)
    teacher = NativeFrames(contract, [rows], network, count, "teacher")
    clip = {"x_raw": rows.x_raw, "cond_raw": rows.cond_raw, "contacts": rows.contacts, "y_norm": answers}
    unknown = {"delta6d"} if changes.get("output_mode") == "absolute" else set()

    loop = build_loop(compiler, contract, tmp_path, ahead={"x_raw": 2 if changes.get("angvel_lag") == "+1" else 1})
    for mode, frames in (("free", free), ("teacher", teacher)):
        expected, found = frames.record(range(count)), loop.run(clip, count, mode)
        assert set(found) - unknown == set(expected)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values[:, 0], err_msg=f"{mode} {name}")
