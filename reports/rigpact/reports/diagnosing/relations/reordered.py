"""Components of vectors and rotations in another order, or some of them with the other sign."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place, Subject

_NAMES = {3: "xyz", 4: "xyzw"}
"""Numbers of a vector and of a quaternion, and what they are called."""


def reordered(subject: Subject, place: Place) -> Iterator[Reading]:
    """Every order of the components, every choice of signs; of vectors also both, as between axes of two engines."""
    size = _size(subject, place)
    if size is None:
        return
    orders, signs = list(permutations(range(size))), list(product((1.0, -1.0), repeat=size))
    own, bound = (rows[:, place.channels].reshape(-1, size) for rows in (subject.replayed, subject.bound))
    width = (len(subject.replayed), len(place.channels))
    for order, sign in product(orders, signs):
        moved, negated = order != orders[0], sign != signs[0]
        if moved == negated and (size == 4 or not moved):
            continue
        rows = (own * sign)[:, order].reshape(width)
        yield subject.reading(place, "reordered", _words(order, sign), rows, bound[:, order].reshape(width))


def _size(subject: Subject, place: Place) -> int | None:
    """The numbers of each vector of a place; None if they are not all three, or all four."""
    layout = subject.stage.fields(subject.contract)
    fields = [layout.field_at(int(channel)) for channel in place.channels]
    sizes = {0 if field is None else field.size for field in fields}
    size = sizes.pop() if len(sizes) == 1 else 0
    return size if size in _NAMES and len(place.channels) % size == 0 else None


def _words(order: tuple[int, ...], sign: tuple[float, ...]) -> str:
    names = _NAMES[len(order)]
    components = ", ".join(f"{'-' if sign[index] < 0.0 else ''}{names[index]}" for index in order)
    return f"what it should be with {components} in place of {', '.join(names)}"
