"""Lines of code for the readings of a declared contract: both sides have one, so the answer says what to look for."""

from ..every_case import every_case
from ..measuring.pages.operations_page import SAMPLES, sample_contract

OF_NAMES = ("_exchanged", "_last", "_first")
"""Readings that are made of the contract's own names say themselves what is where."""


@every_case("operation", [name for name in SAMPLES if name != "network"])
def test_every_reading_has_a_line_of_both_sides(operation):
    """Who reads `bent.order = scale_first` wants to know what to search for in the engine and in the training."""
    for knob in sample_contract(operation).system.knobs.values():
        for value in knob.values:
            if not str(value).endswith(OF_NAMES):
                assert knob.code(value, "cpp"), (knob.name, value)
                assert knob.code(value, "python"), (knob.name, value)
                assert knob.code(value, "cpp") in knob.hint(value)
