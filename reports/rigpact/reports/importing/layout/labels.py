"""What a recording calls the numbers of its vectors: by names of joints and axes, or by their places."""

import re
from collections.abc import Sequence


def own_names(column: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The names of a vector's numbers, `knee` of `q.knee`; empty where the file counts them."""
    tails = tuple(label.removeprefix(column)[1:] for label in labels)
    is_named = all(tails) and not any(re.fullmatch(r"\d+\]?", tail) for tail in tails)
    return tails if is_named and len(set(tails)) == len(tails) else ()


def is_read_by(column: str, labels: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a contract finds the numbers under the vector's own name: counted, or by the names of its numbers."""
    tails = [label.removeprefix(column) for label in labels]
    counted = ([f"{before}{place}{behind}" for place in range(len(tails))] for before, behind in _COUNTED)
    named = ([f"{mark}{name}" for name in names] for mark in "./")
    return any(tails == each for each in ([""], *counted, *named))


_COUNTED = (("[", "]"), (".", ""), ("/", ""), ("_", ""))
