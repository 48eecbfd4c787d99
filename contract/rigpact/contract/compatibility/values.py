"""JSON values of two versions side by side: whether they are the same, and how they are shown."""

from __future__ import annotations

import math
from typing import Any

UNDECLARED = object()
"""What stands for a key that a version does not have."""
_SHOWN_CHARACTERS = 80


def same(first: Any, second: Any) -> bool:
    """Equal as JSON: 60 is 60.0, but true is not 1; NaN equals itself."""
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first) and math.isnan(second):
        return True
    return (
        (isinstance(first, bool) == isinstance(second, bool)) and bool(first == second) if first is not second else True
    )


def text_of(value: Any) -> str:
    """The value in a sentence, cut where it is long."""
    if value is UNDECLARED:
        return "undeclared"
    text = "null" if value is None else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def short_of(value: Any) -> Any:
    """The value itself where it is short, else the beginning of its text."""
    return None if value is UNDECLARED else value if len(str(value)) <= _SHOWN_CHARACTERS else text_of(value)
