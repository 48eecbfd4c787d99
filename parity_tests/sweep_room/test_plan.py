"""The plan of a sweep: its cells, their order and their names."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
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
def test_a_cell_is_another_one_when_anything_that_its_result_depends_on_changes(field: str) -> None:
    """A retrained checkpoint of the same name would keep the old one's numbers."""
    assert replace(CELL, **{field: CHANGES[field]}).identity != CELL.identity


def test_swapped_files_are_another_cell_and_a_moved_one_is_the_same() -> None:
    """A hash over unordered parts would take a model for a clip; clips moved to another disk would be measured again."""
    swapped = replace(CELL, model=OTHER), replace(CELL, clip=OTHER), replace(CELL, companion=OTHER)
    assert len({cell.identity for cell in swapped}) == 3
    assert replace(CELL, clip=SweptFile("/b/y", "y", FILE.sha256)).identity == CELL.identity


def test_a_plan_holds_every_combination_once_in_a_fixed_order(
    demo_plan: Callable[..., list[Cell]], demo_bundle: Path
) -> None:
    """A combination left out is a checkpoint that ships untested."""
    plan = demo_plan(knobs=["mirror=none,x", "math=f64,f32", "mirror=none"])
    found = [(Path(cell.clip.name).stem, cell.conventions, cell.mode) for cell in plan]
    clips = sorted(path.stem for path in (demo_bundle / "clips").glob("*.json"))
    settings = [f"math={math} mirror={mirror}" for mirror, math in itertools.product(("none", "x"), ("f64", "f32"))]
    assert found == list(itertools.product(clips, settings, ("teacher", "free")))


def test_a_copy_of_a_clip_is_the_same_cell(
    demo_plan: Callable[..., list[Cell]], clip_copy: Callable[..., Path]
) -> None:
    """Folders of clips hold duplicates; each costs machine time for nothing."""
    plan = demo_plan(clips=[clip_copy("a.json"), clip_copy("b.json")], modes=["teacher"])
    assert (len(plan), len({cell.identity for cell in plan})) == (2, 1)


def test_weights_beside_a_model_are_part_of_it(
    demo_plan: Callable[..., list[Cell]], checkpoint: Callable[..., Path]
) -> None:
    """Large checkpoints keep their weights in MODEL.onnx.data: retrained weights would go unseen."""
    model = checkpoint("large", 1.0)
    weights = model.with_name("large.onnx.data")
    names = set()
    for content in (b"old", b"new"):
        weights.write_bytes(content)
        names |= {cell.identity for cell in demo_plan(models=[model], modes=["teacher"])}
    assert len(names) == 6


def test_orders_of_inputs_stand_between_semicolons() -> None:
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
def test_what_cannot_be_planned_is_refused_before_anything_runs(
    options: dict[str, list[str]], place: str, demo_plan: Callable[..., list[Cell]]
) -> None:
    """A typo in a nightly job must not cost the night."""
    with pytest.raises(UnusableInput) as refusal:
        demo_plan(**options)
    assert refusal.value.place == place
