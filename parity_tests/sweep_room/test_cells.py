"""A sweep's cells, their order and names; one of them against the training side's own numbers."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reports.sweep import measure
from rigpact.reports.sweep.measure import measure_cell, pose_errors, stage_errors
from rigpact.reports.sweep.plan import Cell, SweptFile, parse_knob_values

from ..every_case import every_case

FILE = SweptFile("/a/x", "x", "0" * 64)
OTHER = replace(FILE, sha256="1" * 64)
CELL = Cell(FILE, None, FILE, FILE, (("mirror", "x"),), "free", 10, "1.0")
CHANGES = {
    "bundle": OTHER, "companion": OTHER, "model": OTHER, "clip": OTHER, "changes": (("mirror", "y"),), "mode": "teacher",
    "frames": 11, "version": "1.1", "operations": (OTHER,), "sources": (OTHER,),
}  # fmt: skip


@every_case("field", CHANGES)
def test_a_cell_is_another_one_when_anything_that_its_result_depends_on_changes(field):
    """A retrained checkpoint of the same name would keep the old one's numbers."""
    assert replace(CELL, **{field: CHANGES[field]}).identity != CELL.identity


def test_swapped_files_are_another_cell_and_a_moved_one_is_the_same():
    """A hash over unordered parts would take a model for a clip; clips moved to another disk would be measured again."""
    swapped = replace(CELL, model=OTHER), replace(CELL, clip=OTHER), replace(CELL, companion=OTHER)
    assert len({cell.identity for cell in swapped}) == 3
    assert replace(CELL, clip=SweptFile("/b/y", "y", FILE.sha256)).identity == CELL.identity


def test_a_plan_holds_every_combination_once_in_a_fixed_order(demo_plan, demo_bundle):
    """A combination left out is a checkpoint that ships untested."""
    plan = demo_plan(knobs=["mirror=none,x", "math=f64,f32", "mirror=none"])
    found = [(Path(cell.clip.name).stem, cell.conventions, cell.mode) for cell in plan]
    clips = sorted(path.stem for path in (demo_bundle / "clips").glob("*.json"))
    settings = [f"math={math} mirror={mirror}" for mirror, math in itertools.product(("none", "x"), ("f64", "f32"))]
    assert found == list(itertools.product(clips, settings, ("teacher", "free")))


def test_a_copy_of_a_clip_is_the_same_cell(demo_plan, clip_copy):
    """Folders of clips hold duplicates; each costs machine time for nothing."""
    plan = demo_plan(clips=[clip_copy("a.json"), clip_copy("b.json")], modes=["teacher"])
    assert (len(plan), len({cell.identity for cell in plan})) == (2, 1)


def test_weights_beside_a_model_are_part_of_it(demo_plan, checkpoint):
    """Large checkpoints keep their weights in MODEL.onnx.data: retrained weights would go unseen."""
    model = checkpoint("large", 1.0)
    weights = model.with_name("large.onnx.data")
    names = set()
    for content in (b"old", b"new"):
        weights.write_bytes(content)
        names |= {cell.identity for cell in demo_plan(models=[model], modes=["teacher"])}
    assert len(names) == 6


def test_orders_of_inputs_stand_between_semicolons():
    """A value that holds commas itself must not be torn apart; one order reads as `--set` of every other command."""
    orders = "state,cond,contacts,angvel,pose_hist", "cond,state,contacts,angvel,pose_hist"
    for given in (orders, orders[1:]):
        found = parse_knob_values(f"input_order={';'.join(given)}", find_system("enemy_animation").conventions())
        assert (found[0], list(found[1])) == ("input_order", [tuple(order.split(",")) for order in given])


@pytest.mark.parametrize(
    ("options", "place"),
    [({"clips": ["nowhere/*.json"]}, "CLIP nowhere/*.json"), ({"models": ["gone.onnx"]}, "--onnx gone.onnx"),
     ({"knobs": ["colour=red"]}, "colour"), ({"knobs": ["mirror=w"]}, "mirror"), ({"knobs": ["mirror"]}, "--set mirror")],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused_before_anything_runs(options, place, demo_plan):
    """A typo in a nightly job must not cost the night."""
    with pytest.raises(UnusableInput) as refusal:
        demo_plan(**options)
    assert refusal.value.place == place


Plan = Callable[..., list[Cell]]
RUNTIMES_DEG = 2e-3
"""torch and onnxruntime sum in other orders: some 1e-6 of z, times a spread of the pose below one radian, over 46 bones."""


def only_cell(plan):
    (cell,) = plan
    return measure_cell(cell)


def rotations(six):
    """Columns x and z, as the demo bundle packs them; y = z × x."""
    axes = np.asarray(six, np.float64).reshape(-1, 2, 3)
    x, z = axes[:, 0], axes[:, 1]
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    z = z - np.sum(z * x, axis=1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    return Rotation.from_matrix(np.stack((x, np.cross(z, x), z), axis=-1))


def degrees(a, b):
    return np.degrees((rotations(a).inv() * rotations(b)).magnitude())


@pytest.fixture
def clip_poses(demo_bundle):
    """(N, 46, 6) poses of the clip that the training side predicted."""
    frames = json.loads((demo_bundle / "clips" / "Sneak_Turn.json").read_text(encoding="utf-8"))["Frames"]
    return np.array([frame["BoneRotations"] for frame in frames])


def test_teacher_driven_error_is_the_training_sides(demo_plan, demo_bundle, clip_poses):
    """The sweep must measure degrees as the training side does, or it ranks checkpoints wrongly."""
    prediction = json.loads((demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json").read_text("utf-8"))
    published = np.array(prediction["prediction"]["y_raw"])
    expected = degrees(published, clip_poses[1:]).reshape(len(published), -1)
    clips, knobs = [demo_bundle / "clips" / "Sneak_Turn.json"], ["condition_direction=velocity"]
    found = only_cell(demo_plan(clips=clips, knobs=knobs, modes=["teacher"]))
    assert found.verdict == "pass"
    assert found.judged_frames == found.frames == len(published)
    assert found.mean_deg == pytest.approx(expected.mean(), abs=RUNTIMES_DEG)
    assert found.max_deg == pytest.approx(expected.max(), abs=RUNTIMES_DEG)
    assert found.copy_last_mean_deg == pytest.approx(degrees(clip_poses[:-1], clip_poses[1:]).mean(), abs=1e-6)


def test_copying_the_last_pose_in_free_run_holds_the_first(demo_plan, demo_bundle, clip_poses):
    """Free-run is given one pose; a baseline that peeks at the clip would make every checkpoint look bad."""
    found = only_cell(demo_plan(clips=[demo_bundle / "clips" / "Sneak_Turn.json"], modes=["free"]))
    held = np.repeat(clip_poses[:1], len(clip_poses) - 1, axis=0)
    assert found.copy_last_mean_deg == pytest.approx(degrees(held, clip_poses[1:]).mean(), abs=1e-6)
    assert found.growth_per_frame is not None
    assert found.growth_per_frame > 0.0


def test_centimetres_are_those_of_a_rigid_skeleton(demo_plan, demo_bundle, clip_poses):
    """Degrees at the pelvis are metres at the hand: copying the last pose, followed down the bones by hand."""
    meta = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))["meta"]["skeleton"]

    def shells(six):
        local = rotations(six).as_matrix()
        world, place = np.empty_like(local), np.empty((len(local), 3))
        for bone, parent in enumerate(meta["parents"]):
            offset = np.array(meta["ref_local_offsets_m"][bone])
            world[bone] = local[bone] if parent < 0 else world[parent] @ local[bone]
            place[bone] = offset if parent < 0 else place[parent] + world[parent] @ offset
        return place[:, None, :] + 0.03 * np.swapaxes(world, -1, -2)

    moved = [
        100.0 * np.linalg.norm(shells(a) - shells(b), axis=-1).max(axis=-1) for a, b in itertools.pairwise(clip_poses)
    ]
    found = only_cell(demo_plan(clips=[demo_bundle / "clips" / "Sneak_Turn.json"], modes=["teacher"]))
    assert found.copy_last_mean_cm == pytest.approx(np.mean(moved), rel=1e-5)


def test_the_first_bad_frame_of_a_run_that_blows_up_is_told(demo_plan, checkpoint):
    """A character that vanishes after seconds looks fine in a mean over the frames before."""
    plan = demo_plan(models=[checkpoint("broken", float("nan"))], modes=["free"], frames=5)
    found = measure_cell(next(iter(plan)))
    assert (found.verdict, found.first_bad_frame, found.first_bad_stage, found.frames) == ("nonfinite", 0, "y_norm", 0)
    assert found.mean_deg is None


def test_what_cannot_be_measured_is_a_row_with_its_reason(demo_plan, clip_copy, monkeypatch):
    """An interrupted export, another file than planned, a bug of ours: one row each."""
    broken, changing = clip_copy("broken.json", size=5000), clip_copy("changing.json")
    found = only_cell(demo_plan(clips=[broken], modes=["teacher"]))
    assert (found.verdict, found.error_kind) == ("error", "unusable")
    assert (found.error or "").startswith(f"{broken.as_posix()}:")
    plan = demo_plan(clips=[changing], modes=["teacher"])
    changing.write_bytes(changing.read_bytes() + b"\n")
    found = only_cell(plan)
    assert (found.error_kind, "as planned" in (found.error or "")) == ("unusable", True)
    cell = next(iter(demo_plan(modes=["teacher"])))
    monkeypatch.setattr(measure, "watch_run", lambda *_: 1 // 0)
    found = measure_cell(cell)
    assert (found.verdict, found.error_kind) == ("error", "internal")
    assert (found.error or "").startswith("ZeroDivisionError: ")


def test_a_cell_without_a_frame_has_no_errors():
    """A mean over no frames is NaN, and the best cell of a table by any order of numbers."""
    nothing = np.zeros((0, 4), np.float32)
    assert pose_errors(None, nothing, np.zeros((5, 4), np.float32), "teacher", 60.0) == {}
    assert pose_errors(None, np.zeros((5, 4), np.float32), np.zeros((1, 4), np.float32), "teacher", 60.0) == {}
    assert stage_errors(None, find_system("rig_inversion").graph["mesh"], nothing, nothing) == {}
