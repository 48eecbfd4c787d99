"""One place of two versions, side by side: whether it is the same, the name of the difference, how it is shown."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.json_pointer import Token

UNDECLARED = object()
"""What stands for a key that a version does not have."""
DECLARED = ("declaration-added", "declaration-removed")
"""A declaration that came or went and says what was meant before."""
Both = tuple[Any, Any]
"""The old and the new value."""
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


def differences(
    first: Any, second: Any, path: tuple[Token, ...] = (), depth: int | None = None
) -> Iterator[tuple[tuple[Token, ...], Both]]:
    """Yield every place where two JSON values differ: arrays as a whole, objects by member, down to a depth.

    The members of an object that appears or disappears are yielded one by one, so that each is judged by its own meaning.
    """
    if same(first, second):
        return
    sides = [{} if one is UNDECLARED and other else one for one, other in ((first, second), (second, first))]
    if depth == 0 or not all(isinstance(side, Mapping) for side in sides):
        yield path, (first, second)
        return
    for key in sorted(sides[0].keys() | sides[1].keys()):
        below = None if depth is None else depth - 1
        yield from differences(sides[0].get(key, UNDECLARED), sides[1].get(key, UNDECLARED), (*path, key), below)


def word_changes(
    kind: str,
    pointer: str,
    what: str,
    written: Both,
    meant: Both | None = None,
    *,
    shown: Both | None = None,
    tail: str = "",
    silent: tuple[str, str] = DECLARED,
) -> Iterator[Change]:
    """Yield what changed in one thing that contracts say: what it is called, what both sides wrote and what they mean by it.

    Without `meant`, the words mean themselves. Where the meaning is the same, a declaration came or went (`silent`), or is
    spelled otherwise. shown: what the sentence says, if it is not what was written.
    """
    meaning = written if meant is None else meant
    if same(*written) and same(*meaning):
        return
    if not any(value is UNDECLARED for value in meaning) and same(*meaning):
        is_silent = any(value is UNDECLARED for value in written)
        kind = silent[0 if written[0] is UNDECLARED else 1] if is_silent else "spelled-differently"
    message = f"{what}: {' → '.join(map(text_of, shown or written))}{tail}"
    yield change(kind, pointer, short_of(written[0]), short_of(written[1]), message)
