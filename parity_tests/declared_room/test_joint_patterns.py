"""Regular expressions of joints: the names that Python's own matcher takes, and none of its time."""

import re

import numpy as np
import pytest

from rigpact.reports.importing.configurations.env_yaml import is_whole

from ..every_case import every_case

NAMES = ("FL_hip_joint", "left_knee", "ab", "aab", "aaaa", "", "b", "aba", "[", "hip.1")
SPOKEN = (
    ".*_hip_joint", "F[L,R]_.*", "(left|right)_knee", "^(?!.*hip).*$", "(?=a)[ab]+", "a*?b?", ".+", "[^a]*", r"hip\.\d",
    "a|ab|aab", "(a|b)*", "(?:ab)+", r"\[", "$", "^", "[]a]", "a+b", "(a|aa)?(a|aa)?", "",
)  # fmt: skip


@every_case("pattern", SPOKEN)
def test_an_expression_takes_the_names_that_python_takes(pattern):
    """A joint with another's gain is a robot that falls."""
    assert [is_whole(pattern, name) for name in NAMES] == [re.fullmatch(pattern, name) is not None for name in NAMES]


def test_drawn_expressions_take_the_names_that_python_takes():
    """What nobody thought of: parts in any order, one behind or inside the other."""
    rng = np.random.default_rng(5)
    pieces = ("a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab|a)", "(?:b|)", "(?!b)", "(?=a)", "^", "$")
    signs, fitting = ("", "", "*", "+", "?", "*?"), 0
    for _ in range(400):
        pattern = "".join(
            piece + ("" if piece[:2] in ("(?", "^", "$") else str(rng.choice(signs)))
            for piece in rng.choice(pieces, rng.integers(1, 6))
        )
        for name in ("", "a", "b", "ab", "ba", "aab", "abab", "bbaa"):
            expected = re.fullmatch(pattern, name) is not None
            assert is_whole(pattern, name) == expected, (pattern, name)
            fitting += expected
    assert fitting > 500


@pytest.mark.parametrize("pattern", ["a?" * 34 + "a" * 34, "a*" * 60 + "c", "(a|a)*b", "(a|aa)*c", "(a|a)" * 30 + "c"])
def test_no_expression_takes_long(pattern):
    """A file of a kilobyte held an import for hours."""
    assert is_whole(pattern, "a" * 200) == (pattern == "never")
    assert is_whole(pattern, "a" * 34) == (pattern.endswith("a"))
