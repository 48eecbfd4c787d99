"""Every hosted system under `explain`: who is right agrees, each mistake is named, and none gets a made-up cause.

Mistakes are other conventions, alone and in pairs, and those of the published programs, written again without rigpact.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations, groupby
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from rigpact.contract.conventions import CodeHint
from rigpact.reference_runtime.graph.bounds import distance
from rigpact.reference_runtime.vocabulary.network import without_positions

from ..every_case import every_case
from ..measuring.scores.grading import grade
from ..measuring.scores.upstream import blender_ik_side, imu_pose_side, neurarig_loop, rig_inversion_side
from ..measuring.scores.upstream.mistakes import MISTAKES
from . import test_rig_inversion
from .declared_runs import BUNDLES, SYSTEMS, Rows, Spoil, alternatives, bound_of, recomputed, scene

SINGLES = {name: alternatives(scene(name).contract.system) for name in SYSTEMS}
FIRST = [(name, *next(values)) for name in SYSTEMS for _, values in groupby(SINGLES[name], key=lambda each: each[0])]
OTHERS = [(name, *single) for name in SYSTEMS for single in SINGLES[name] if (name, *single) not in FIRST]


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_engine_that_is_right_agrees_and_nothing_is_left_open(name: str) -> None:
    """A false alarm ends a tool; a clip that cannot separate two conventions lets a wrong one pass."""
    found = scene(name).explained(scene(name).recorded({}))
    assert (found.verdict, found.causes, found.indistinguishable) == ("agrees", (), ())


def _is_named(name: str, knob: str, value: str) -> None:
    found = scene(name).explained(scene(name).recorded({knob: value}))
    assert found.verdict == "explained"
    assert [(dict(cause.changes), cause.equivalents) for cause in found.causes] == [({knob: value}, ())]
    told = scene(name).contract.system.knobs[knob]
    assert found.causes[0].code_hints == (told.hint(value),)
    assert found.first_divergence is not None
    assert found.causes[0].stage == found.first_divergence.stage  # of several that it explains, the first
    hint = told.hints.get(value, "")
    assert told.meaning
    assert hint.words if isinstance(hint, CodeHint) else hint


@every_case(("name", "knob", "value"), FIRST, by="name")
def test_a_wrong_value_of_every_knob_is_named_with_its_hint(name: str, knob: str, value: str) -> None:
    """Without the name, an engineer must search eighteen places by hand."""
    _is_named(name, knob, value)


@pytest.mark.nightly
@every_case(("name", "knob", "value"), OTHERS, by="name")
def test_every_other_value_is_named_with_its_hint(name: str, knob: str, value: str) -> None:
    """A second wrong value of a knob must not be taken for the first."""
    _is_named(name, knob, value)


def _pairs(name: str, count: int = 12) -> list[dict[str, str]]:
    pairs = [dict(pair) for pair in combinations(SINGLES[name], 2) if pair[0][0] != pair[1][0]]
    return [pairs[place] for place in np.random.default_rng(17).choice(len(pairs), count, replace=False)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "pair"), [(name, pair) for name in SYSTEMS for pair in _pairs(name)])
def test_two_conventions_at_once_are_both_named(name: str, pair: dict[str, str]) -> None:
    """A new port often has more than one defect; only what gives the same recording may be named instead."""
    rows = scene(name).recorded(pair)
    found = scene(name).explained(rows, with_pairs=True)
    said = {knob: value for cause in found.causes for knob, value in cause.changes.items()}
    equals = [{**said, **changes} for cause in found.causes for changes in cause.equivalents]
    shown = scene(name).recorded(said)
    assert found.verdict == "explained"
    assert said == pair or pair in equals or all(np.allclose(shown[stage], rows[stage], atol=1e-4) for stage in rows)


def _column(place: int, change: Spoil) -> Spoil:
    return lambda rows: np.hstack([rows[:, :place], change(rows[:, place : place + 1]), rows[:, place + 1 :]])


def _smoothed(rows: np.ndarray) -> np.ndarray:
    result = rows.copy()
    for row in range(1, len(rows)):
        result[row] = 0.7 * result[row - 1] + 0.3 * rows[row]
    return result


SPOILT: dict[str, tuple[str, Spoil]] = {
    "the packet is a frame late": ("packet", lambda rows: np.concatenate([rows[:1], rows[:-1]])),
    "one target is in another unit": ("packet", _column(59, lambda values: values * np.float32(0.3937))),
    "one hit flag is stuck": ("model_input", _column(52, np.zeros_like)),
    "a half-float on the wire": ("reply", lambda rows: rows.astype(np.float16).astype(np.float32)),
    "a rotation of the leg before": ("rotations", lambda rows: np.hstack([rows[:, :12], rows[:, :4], rows[:, 16:]])),
    "joints are smoothed": ("joints", _smoothed),
    "a knee is a centimetre off": ("joints", _column(5, lambda values: values + np.float32(1.0))),
}
"""NeuraRig engines whose defect is no convention: the stage that it spoils, and how."""


@pytest.mark.parametrize("what", SPOILT)
def test_a_defect_that_is_no_convention_gets_no_cause(what: str) -> None:
    """A false cause sends an engineer to correct code."""
    stage, spoil = SPOILT[what]
    found = scene("neurarig").explained(scene("neurarig").recorded({}, spoil, stage), with_pairs=what.startswith("one"))
    assert (found.exit_code, found.causes) == (1, ())
    assert (found.verdict == "unexplained") == all(each.kind == "glitch" for each in found.relations)
    assert found.first_divergence is not None
    assert found.first_divergence.stage == stage
    assert [each.stage for each in found.stages if each.ok is False] == [stage]


def test_a_stage_is_judged_from_what_was_recorded_and_not_without_its_inputs() -> None:
    """A client at the end of a wire sees two datagrams: enough to judge the reply; one of them alone is no agreement."""
    rows = scene("neurarig").recorded({})
    alone = scene("neurarig").explained({"reply": rows["reply"]})
    assert (alone.verdict, alone.exit_code) == ("undetermined", 2)
    assert alone.stages[0].needs == "record rotations or --onnx with the model, and record packet"
    sent = {name: rows[name] for name in ("engine_pose", "packet", "reply")}
    wrong = scene("neurarig").recorded({"reply_legs": "left_first"})["reply"]
    right, named = scene("neurarig").explained(sent), scene("neurarig").explained({**sent, "reply": wrong})
    assert (right.verdict, [each.ok for each in right.stages if each.stage == "reply"]) == ("agrees", [True])
    assert [dict(cause.changes) for cause in named.causes] == [{"reply_legs": "left_first"}]


# ---- the published programs, written again

EACH_RUN = {
    "neurarig": (
        "target_not_moved", "hits_swapped", "normalised_together", "reply_smoothed", "knee_by_calf", "squared_distance",
        "leaky_relu",
    ),
    "blender_ik": ("euler_one_triple", "no_armature", "limits_y_z", "rodrigues_sign", "leaky_relu"),
    "rig_inversion": ("layer_norm", "scales_swapped", "no_negative_scale", "y_up"),
    "imu_pose": ("ios_sign", "gravity_added", "window_standardised", "no_positions", "clamp_ten"),
}  # fmt: skip
ONLY_LOCATED = {"wide_limits", "own_offset"}
"""Mistakes that have a name, and are not given it."""
PLANTED = [
    pytest.param(name, mistake, marks=[] if mistake in EACH_RUN[name] else [pytest.mark.nightly])
    for name, mistakes in MISTAKES.items() for mistake in mistakes
]  # fmt: skip


@cache
def program(name: str) -> Callable[..., Rows]:
    """A published program on its committed files: from a mistake, or none, to what it records."""
    of, model = scene(name), BUNDLES / name / "model.onnx"
    clip = {stage: np.asarray(rows) for stage, rows in of.given.items()}
    if name == "blender_ik":
        return blender_ik_side.Upstream(BUNDLES / name / f"{name}.json", model, clip).record
    if name == "rig_inversion":
        weights = rig_inversion_side.encoder_weights(model)
        return rig_inversion_side.Upstream(weights, clip["mesh"].reshape(-1, 8, 3)).record
    if name == "imu_pose":
        weights, temperature = imu_pose_side.weights_of(model), of.contract.constants["temperature"]
        return lambda mistake="", imu=clip["imu"]: imu_pose_side.recorded(weights, imu, temperature, mistake)
    network, poses = neurarig_loop.Network(model), clip["engine_pose"][:120]
    return lambda *mistakes: neurarig_loop.recorded(poses, network, mistakes)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_published_program_agrees_in_every_stage(name: str) -> None:
    """A tool that alarms on the upstream itself is not tried twice."""
    found, graph = scene(name).explained(program(name)(), with_pairs=True), scene(name).contract.system.graph
    assert found.verdict == "agrees"
    assert {each.stage for each in found.stages if each.ok} == set(graph.names) - {*graph.given} - {"engine_pose_next"}


BY_FORMULA = ("blender_ik", "rig_inversion")
NOT_PUBLISHED = {
    "blender_ik": {("root_axes", "x_forward_z_up"), ("rotation_scale", "degrees_over_180"), ("limit_set", "document"),
                   ("error_measure", "largest")},
    "rig_inversion": {*test_rig_inversion.NOT_PUBLISHED},
}  # fmt: skip
"""Readings that test_blender_ik.py and test_rig_inversion.py judge."""
PUBLISHED = [
    (name, mistake, *way.split("="))
    for name in BY_FORMULA for mistake, truth in MISTAKES[name].items() for way in truth.parts[0] if isinstance(way, str)
]  # fmt: skip


@every_case(("name", "mistake", "knob", "value"), PUBLISHED, by="name")
def test_a_reading_is_what_the_published_program_computes_with_the_mistake(
    name: str, mistake: str, knob: str, value: str
) -> None:
    """A formula on a page that has a slip would explain an engine with the same slip."""
    contract, rows = scene(name).contract.with_conventions({knob: value}), program(name)(mistake)
    stages = contract.system.graph.stages_of(knob)
    assert stages
    for stage in stages:
        ours = recomputed(contract, stage, rows)
        apart = distance(contract.system.graph[stage].measure, ours, rows[stage])
        bound = bound_of(contract, stage, rows, ours)
        assert np.all(apart <= bound), stage
        assert np.median(bound) <= 300.0 * max(apart[bound < 1.0].max(), 2.0**-24 * np.abs(ours).max()), stage


@pytest.mark.parametrize("name", BY_FORMULA)
def test_every_reading_of_a_formula_is_judged(name: str) -> None:
    """A reading that only agrees with itself explains an engine with a mistake of its own."""
    judged_there = {(knob, value) for program_, _, knob, value in PUBLISHED if program_ == name}
    assert judged_there | set(NOT_PUBLISHED[name]) == set(SINGLES[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "mistake"), PLANTED)
def test_a_mistake_of_a_published_program_is_named_or_where_its_own_code_alone_tells_it_located(
    name: str, mistake: str
) -> None:
    """ "It differs in context" sends a team searching for a day; "the feet are swapped" is a line of code."""
    truth, found = MISTAKES[name][mistake], scene(name).explained(program(name)(mistake), with_pairs=True)
    said = grade(found.to_json(), truth)
    can_be_named = truth.parts[0] and mistake not in ONLY_LOCATED
    assert (said.word, said.others) == ("precise" if can_be_named else "vague" if truth.also else "located", ())
    assert found.first_divergence is not None
    assert found.first_divergence.stage in truth.stages


AS_PUBLISHED = {
    "input_scale": "none", "normalisation": "none", "quaternion_sign": "as_it_comes", "leg_lengths": "rounded",
}  # fmt: skip


def test_the_public_server_of_neurarig_agrees_under_its_own_conventions_and_its_differences_are_named() -> None:
    """Four differences at three stages at once: an engineer needs each of them."""
    of, rows = scene("neurarig"), program("neurarig")(*neurarig_loop.AS_PUBLISHED)
    found = of.explained(rows, with_pairs=True)
    assert {name: value for cause in found.causes for name, value in cause.changes.items()} == AS_PUBLISHED
    assert of.under(AS_PUBLISHED).explained(rows).verdict == "agrees"


def test_a_sensor_that_lies_still_is_not_explained_by_the_statistics_of_its_window() -> None:
    """Its deviation is nothing, so a tolerance divided by it would accept any number."""
    of, lying = scene("imu_pose"), np.tile(np.float32([0, 0, 9.81, 0, 0, 0]), (100, 1))
    still = [of.explained(program("imu_pose")(mistake, lying), with_pairs=True) for mistake in ("", "gravity_added")]
    assert [[dict(each.changes) for each in found.causes] for found in still] == [[], [{"gravity": "added"}]]
    assert still[0].verdict == "agrees"


def test_a_model_without_a_table_of_positions_is_not_rewritten(tmp_path: Path) -> None:
    """A name for what is not there sends people to the wrong line; in one that has the table, only that becomes zeros."""
    committed = BUNDLES / "imu_pose" / "model.onnx"
    model, weights = onnx.load(str(committed)), lambda model: {each.name: each for each in model.graph.initializer}
    rewritten = weights(onnx.load_from_string(without_positions(committed)))
    assert {name for name, one in weights(model).items() if one != rewritten[name]} == {"positions"}
    assert not numpy_helper.to_array(rewritten["positions"]).any()
    table = weights(model)["positions"]
    learned = np.random.default_rng(1).normal(size=tuple(table.dims)).astype(np.float32)
    table.CopyFrom(numpy_helper.from_array(learned, "positions"))
    onnx.save(model, str(tmp_path / "learned.onnx"))
    assert without_positions(tmp_path / "learned.onnx") is None
