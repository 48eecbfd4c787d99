"""The catalogue of mutants, and the page that says who catches them."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.fixtures.mutants.engine import Stages

from ..measuring.scores.benign import benign_variants
from ..measuring.scores.catalogue import SURVIVORS, all_mutants, demo_scene
from ..measuring.scores.free_run import FREE_RUN_SLIPS, record_free_run
from ..measuring.scores.incumbents import INCUMBENTS, installed
from ..measuring.scores.mutation_score import EVERYTHING, POSE, run_benign, run_mutant

KNOBS = find_system("enemy_animation").knobs

MUTANTS = {mutant.name: mutant for mutant in all_mutants()}
SAMPLE = [*list(MUTANTS)[5::22], *SURVIVORS]
"""Every twenty-second mutant, and all that live."""


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    """The generated page."""
    return (checkout / "docs" / "mutation.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(page: str) -> dict[str, list[str]]:
    """Its rows, one a mutant: kind, gate, the comparators."""
    table = page.split("## Every mutant")[1].splitlines()[4:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {name: rest for name, *rest in cells}


@pytest.fixture(scope="module")
def honest() -> Stages:
    """A free run of the demo without a mistake."""
    return record_free_run(demo_scene("free"))


@pytest.mark.parametrize("name", FREE_RUN_SLIPS)
def test_every_slip_of_a_free_run_shows_in_its_numbers(name: str, honest: Stages) -> None:
    """A slip that cannot be planted, or that changes nothing, tries nothing."""
    slipped = record_free_run(demo_scene("free"), FREE_RUN_SLIPS[name])
    assert slipped.keys() == honest.keys()
    assert any(not np.array_equal(slipped[stage], rows) for stage, rows in honest.items())
    if name == "predicted pose never pushed":
        history = slipped["pose_hist_raw"]
        np.testing.assert_array_equal(history, np.broadcast_to(honest["pose_hist_raw"][0], history.shape))


def test_the_catalogue_is_large_and_covers_every_knob() -> None:
    """A gate is as good as the mistakes that were tried on it."""
    assert len(MUTANTS) >= 150
    assert len(MUTANTS) == len(list(all_mutants()))  # no name twice
    kinds = Counter(mutant.kind for mutant in MUTANTS.values())
    assert min(kinds[kind] for kind in ("convention", "artefact", "engine slip", "model", "recording")) >= 20
    missing = [
        f"{knob.name}={value}"
        for knob in KNOBS.values()
        for value in knob.values[1:]
        if knob.name != "math" and f"{knob.name}={value}" not in MUTANTS and value != "residual"
    ]
    assert missing == []


def test_the_page_lists_every_mutant_and_its_totals_add_up(page: str, rows: dict[str, list[str]]) -> None:
    """A page that was edited by hand, or made before the last mutants were added."""
    assert list(rows) == list(MUTANTS)
    killed = [name for name, (_, gate, *_) in rows.items() if gate != "survives"]
    share = len(killed) / len(rows)
    assert f"**Killed {len(killed)} of {len(rows)} mutants ({share:.1%}); 0 alarms on" in page
    assert share >= 0.98
    by_kind = Counter(rows[name][0] for name in killed)
    kinds = list(dict.fromkeys(kind for kind, *_ in rows.values()))
    assert f"| {len(killed)} ({share:.0%}) | {' | '.join(str(by_kind[kind]) for kind in kinds)} |" in page
    for place, name in enumerate(INCUMBENTS):
        for given in (POSE, EVERYTHING):
            caught = sum(row[2 + place] in ("killed", f"{given} only") for row in rows.values())
            assert f"| {name}, given {given} | {caught} (" in page


def test_every_survivor_is_argued(page: str, rows: dict[str, list[str]]) -> None:
    """A mutant that lives without a reason is a hole in the gate."""
    assert {name for name, (_, gate, *_) in rows.items() if gate == "survives"} == set(SURVIVORS)
    assert "NOT ARGUED" not in page
    assert all(f"- `{name}`: {why}" in page for name, why in SURVIVORS.items())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_the_page_is_what_the_command_finds(name: str, rows: dict[str, list[str]]) -> None:
    """The totals are only worth what each row is worth."""
    outcome = run_mutant(MUTANTS[name])
    assert [outcome.kind, ", ".join(outcome.gate) or "survives"] == rows[name][:2]
    for place, comparator in enumerate(INCUMBENTS):
        if comparator in installed():
            given = [given for given in (POSE, EVERYTHING) if (comparator, given) in outcome.others]
            words = {0: "survives", 1: f"{', '.join(given)} only", 2: "killed"}[len(given)]
            assert words == rows[name][2 + place]


def test_benign_variants_raise_no_alarm() -> None:
    """Another BLAS, another thread count, q for -q: a gate that alarms on these is switched off."""
    variants = list(benign_variants())
    assert len(variants) >= 100
    assert run_benign(variants[::6]).gate == ()


def test_the_comparators_stay_what_they_are_said_to_be() -> None:
    """The table compares with them: a comparator that refuses everything would look like the best of all."""
    import numpy as np

    same = {"y_out": np.linspace(-1.0, 1.0, 60, dtype=np.float32).reshape(10, 6)}
    other = {"y_out": same["y_out"] + np.float32(0.01)}
    for passes in installed().values():
        assert passes(same, dict(same))
        assert not passes(same, other)
        assert not passes(same, {})


def test_a_reading_of_the_page_is_not_fooled(rows: dict[str, Any]) -> None:
    """The parser of this test: a row has a kind, a gate and three comparators."""
    assert {len(row) for row in rows.values()} == {5}
