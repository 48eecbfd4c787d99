"""Every operation that a contract can name has an oracle, and what C++ lacks is said."""

import importlib
import re
from pathlib import Path

from rigpact.contract.declared.vocabulary import RIGPACT, known_operations, origin_of

ELSEWHERE = {"constant", "convert", "network"}
"""Judged without a `Subject`: numbers that stand in the contract, forms of rotations against scipy, a model's answer."""


def test_every_operation_has_an_oracle():
    """An operation that only agrees with itself explains an engine with a mistake of its own."""
    judged = set(ELSEWHERE)
    for path in Path(__file__).parent.glob("test_operations_*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for subject in getattr(module, "SUBJECTS", ()):
            judged |= set(re.findall(r'operation = "(\w+)"', subject.stage))
    own = {name for name, each in known_operations().items() if origin_of(name) == RIGPACT and not each.only_on_pages}
    assert own - judged == set()
