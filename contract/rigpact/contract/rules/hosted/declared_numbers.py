"""RP759 and RP762: rounded statistics, and numbers that no stage takes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Family, Need, on_declaration, rules_in
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.statistics import FloatArray

ROUNDED = Rule.titled(
    "RP759 warning declared-statistic-rounded",
    message="the {count} numbers of {what} have at most {digits} significant digits: rounded, they are off by up to {error:.2%}",
    hint="take them from the file that training wrote, with all digits; keep the rounded ones for people",
    why="the network was trained with the exact numbers: every input of the engine is off by that share",
)
UNUSED = Rule.titled(
    "RP762 warning declared-numbers-unused",
    message="no stage takes {numbers} ({count} numbers)",
    hint="name it where it is applied, or leave it out",
    why="a statistic that is declared and not applied is one that the engine forgot as well",
)
FEWEST = 4
"""Measured numbers that happen to end after three digits: one in a hundred. Four of them: one in 10^8."""
MOST_DIGITS = 3
_NO_NUMBERS = frozenset(
    {"name", "operation", "of", "fields", "names", "take", "kind", "unit", "space", "carried", "why"}
)


def check_numbers(view: DeclaredView) -> Iterator[Finding]:
    """Yield statistics that an exporter rounded, and numbers that are declared and never used."""
    for stage, table in view.stages_of("normalise", "denormalise"):
        for key in ("mean", "std"):
            value = view.numbers(stage, key)
            if key in table and value is not None and _is_rounded(value):
                yield ROUNDED.at(
                    view.path,
                    view.at(stage, key),
                    count=value.size,
                    what=f"the {key} of {stage}",
                    digits=MOST_DIGITS,
                    error=largest_share(value),
                )
    for name in unused_numbers(view):
        count = np.size(view.declaration.constants["numbers"][name])
        yield UNUSED.at(view.path, ("numbers", name), numbers=name, count=count)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION,), on_declaration(check_numbers))


def unused_numbers(view: DeclaredView) -> list[str]:
    """Entries of [numbers] that no stage and no start names."""
    tables = ({key: table[key] for key in table.keys() - _NO_NUMBERS} for table in view.tables.values())
    taken = {word for table in tables for word in _words(table)}
    return [name for name in view.root.get("numbers", {}) if name not in taken]


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)


def _is_rounded(value: FloatArray) -> bool:
    """Whether measured numbers were cut to few digits; 0 and 1 stand for channels that are left as they are."""
    measured = value[(value != 0.0) & (value != 1.0)]
    return measured.size >= FEWEST and all(significant_digits(each) <= MOST_DIGITS for each in measured)


def significant_digits(value: float) -> int:
    """How many significant digits the shortest decimal of a number has: 0.25 has two, 1200 has two. float32 counts as such."""
    texts = (np.format_float_scientific(number, trim="-") for number in (np.float64(value), np.float32(value)))
    return min(len(text.partition("e")[0].replace(".", "").lstrip("-").rstrip("0")) for text in texts)


def largest_share(value: FloatArray) -> float:
    """How far rounding to `MOST_DIGITS` digits moves a number at most, as a share: half a step of its last digit."""
    measured = np.abs(value[(value != 0.0) & (value != 1.0)])
    steps = 10.0 ** (np.floor(np.log10(measured)) - MOST_DIGITS + 1)
    return float(np.max(0.5 * steps / measured))
