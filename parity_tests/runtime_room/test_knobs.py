"""Every value of every knob: it runs in every mode, it changes something, and float32 stays within tolerance of float64."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import INPUTS
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import ReplayNetwork, open_run, run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.files import SYSTEM

from ..every_case import every_case
from . import tiny_character as tiny

KNOBS = find_system("enemy_animation").knobs

OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(6)], np.float32)
EXTRA = {
    "bone_order": ["2,0,1"],
    "input_order": [",".join(order) for order in itertools.islice(itertools.permutations(INPUTS), 1, 120, 37)],
}
VALUES = [(name, value) for name, knob in KNOBS.items() for value in (*knob.values, *EXTRA.get(name, []))]
EVERY_VALUE = every_case(("knob", "value"), VALUES, ids=str, by="knob")
MODES = ("teacher", "free", "playback")


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    """A contract with a Contacts slice, so that whitening has statistics, and its clip."""
    folder = tmp_path_factory.mktemp("knobs")
    return tiny.contract(folder, tiny.bundle(contacts=True)), tiny.clip(folder)


def stages_of(contract, clip, mode="teacher", frames=6, **conventions):
    runner = open_run(contract.with_conventions(conventions), ReplayNetwork(OUTPUTS), clip, mode, engine="numpy")
    return run_frames(runner, range(frames), "Walk", mode).stages


def test_every_knob_belongs_to_a_stage_or_is_benign():
    """A knob that no stage uses can be set without any effect."""
    graph, knobs = SYSTEM.graph, SYSTEM.knobs
    assert [name for name in knobs if not graph.stages_of(name) and not knobs[name].is_benign] == []
    assert sorted(knobs) == sorted(KNOBS)


@EVERY_VALUE
@every_case("mode", MODES)
def test_every_value_of_every_knob_runs(character, mode, knob, value):
    """The diagnosis runs all values: a traceback in one of them loses all answers."""
    stages = stages_of(*character, mode, **{knob: value})
    assert stages["y_out"].shape == (6, 18)
    for name, rows in stages.items():
        assert np.isfinite(rows).all(), name


# Knobs that this run cannot show: nothing is degenerate, and replayed outputs do not look at their inputs.
BLIND = {"degenerate_axis", "input_order", "writeback"}
# A clip drives these runs, and this one begins with the seed's pose then; test_network_inputs.py shows its free run.
OF_A_FREE_RUN = {"identity_after_seed"}
# What must be set beside a knob for it to matter.
BESIDE = {"denorm": {"output_mode": "delta"}}  # a residual has no mean to leave out


@EVERY_VALUE
def test_every_value_changes_only_stages_from_its_own_on(character, knob, value):
    """If a knob has no effect, rigpact does not test its convention."""
    base = BESIDE.get(knob, {})
    plain, changed = stages_of(*character, **base), stages_of(*character, **base | {knob: value})
    parted = {name for name in changed if name in plain and not np.array_equal(plain[name], changed[name])}
    parted |= set(plain) ^ set(changed)
    if knob == "math":
        return  # changes any stage by a rounding: see the next test
    is_default = value == getattr(character[0].conventions, knob) or value == ",".join(INPUTS)
    assert bool(parted) != (is_default or knob in BLIND or value in OF_A_FREE_RUN)
    # the stages that the knob names, and what follows from them; the pose of the next frame is the clip's in this mode
    inherits = {"state": {"angvel"}, "cond_raw": {"cond"}, "pose_hist_raw": {"pose_hist"}, "y_raw": {"delta6d"}}
    own = SYSTEM.graph.stages_of(knob)
    allowed = set(own)
    for name in own:
        allowed |= inherits.get(name, set())
    if allowed & {"y_raw", "delta6d", "next6d", "y_out", "quat"}:
        allowed |= {"delta6d", "next6d", "y_out", "quat"}
    assert parted <= allowed


@EVERY_VALUE
def test_float32_stays_within_tolerance_of_float64(character, knob, value):
    """UE 4 and UE 5 compute in different precision; false alarms for that teach people to ignore alarms."""
    contract, clip = character
    contract = contract.with_conventions({knob: value})
    wide, narrow = stages_of(contract, clip, math="f64"), stages_of(contract, clip, math="f32")
    bounds = stage_tolerances(contract, wide)
    assert list(wide) == list(narrow) != []
    for name, rows in wide.items():
        other = narrow[name]
        if name == "quat":  # q and -q are one rotation
            quats, others = rows.reshape(-1, 4), other.reshape(-1, 4)
            other = (others * np.sign(np.sum(quats * others, axis=-1, keepdims=True))).reshape(rows.shape)
        excess = np.abs(rows.astype(np.float64) - other) - bounds[name]
        assert excess.max() <= 0, f"{name}: {excess.max():g} above its tolerance"


@every_case("knob", ["bone_order", "input_order"])
@every_case("value", [1, 1.5, float("-inf"), True, None, {}, [[1]], [{}]])
def test_an_order_of_another_type_is_refused(knob, value):
    """`bone_order = 1` in a file of conventions is a slip of its author and no defect of the program."""
    with pytest.raises(UnusableInput, match=knob):
        Conventions(KNOBS, {knob: value})


# --- a crowd ---

ROTATION_KNOBS = (
    "output_mode", "rot6d_columns", "rot6d_packing", "derived_axis", "compose_order", "delta_direction", "reproject",
    "degenerate_axis", "denorm", "mirror", "quaternion_order", "math",
)  # fmt: skip
DRAWN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def choices(knobs):
    return st.fixed_dictionaries({name: st.sampled_from(KNOBS[name].values) for name in knobs})


SIX = st.sampled_from([0.0, 1.0, -1.0, 1e-4, -1e-4, 5e-5, 2e-4, 1e-9, 3e-39, 1e30, 0.3, -0.7, np.inf, np.nan])
"""Numbers at and around every threshold, and those that no pose holds."""
POSES = st.lists(st.lists(SIX, min_size=18, max_size=18), min_size=1, max_size=4).map(
    lambda rows: np.array(rows, np.float32)
)


def same_bits(a, b, note):
    np.testing.assert_array_equal(a, b, err_msg=note)  # NaN equals NaN here
    finite = ~np.isnan(a)
    assert a[finite].tobytes() == b[finite].tobytes(), note


@DRAWN
@given(conventions=choices(ROTATION_KNOBS), y_norm=POSES, previous=POSES, published=POSES)
@example(
    conventions={},
    y_norm=np.zeros((2, 18), np.float32),
    previous=np.zeros((1, 18), np.float32),
    published=np.zeros((1, 18), np.float32),
)
def test_a_crowd_is_its_members(character, conventions, y_norm, previous, published):
    """A bone that lost an axis must not change what its neighbours in the same rows are computed by."""
    stages = OutputStages(character[0].with_conventions(conventions))
    previous, published = (np.resize(poses, y_norm.shape) for poses in (previous, published))
    together, many = stages(y_norm, previous, published), 90  # rows enough for a vector unit
    tiled = stages(*(np.tile(rows, (many, 1)) for rows in (y_norm, previous, published)))
    assert len(y_norm)
    for row in range(len(y_norm)):
        alone = stages(y_norm[row], previous[row], published[row])
        for name, values in alone.items():
            same_bits(together[name][row], values, name)
            same_bits(tiled[name][-len(y_norm) + row], values, name)


@every_case(
    ("order", "moved"),
    [((0, 2, 1), "(1←2, 2←1)"), ((5, 0, 1, 2, 3, 4), "4←3, 5←4)"), ((6, 0, 1, 2, 3, 4, 5), "4←3, 5←4, …)")],
)  # fmt: skip
def test_the_hint_of_an_order_names_the_parts_that_it_moves(order, moved):
    """The parts that stay are those that nobody has to look at."""
    assert moved in KNOBS["bone_order"].hint(order)
