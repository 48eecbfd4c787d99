"""Lines of code for the readings of a declared contract: both sides have one, so the answer says what to look for."""

from pathlib import Path

from rigpact.contract.contract_files import open_contract

from ..every_case import every_case
from ..measuring.pages.operations_page import SAMPLES, sample_contract

OF_NAMES = ("_exchanged", "_last", "_first")
"""Readings that are made of the contract's own names say themselves what is where."""


@every_case("operation", [name for name in SAMPLES if name != "network"])
def test_every_reading_has_a_line_of_both_sides(operation: str) -> None:
    """Who reads `bent.order = scale_first` wants to know what to search for in the engine and in the training."""
    for knob in sample_contract(operation).system.knobs.values():
        for value in knob.values:
            if not str(value).endswith(OF_NAMES):
                assert knob.code(value, "cpp"), (knob.name, value)
                assert knob.code(value, "python"), (knob.name, value)
                assert knob.code(value, "cpp") in knob.hint(value)


def test_the_answer_says_them(checkout: Path) -> None:
    """A hint that no command prints helps nobody."""
    contract = open_contract(checkout / "fixtures" / "contracts" / "unitree_rl_lab_g1.toml")
    assert "quat_apply(q, v)" in contract.system.knobs["projected_gravity.direction"].hint("forward")
    assert "last_action = target" in contract.system.knobs["last_action.carried"].hint("target")
