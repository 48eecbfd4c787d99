"""How large a declaration may be: limits that hold before anything is built of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.json_pointer import Token

MOST_VECTORS, MOST_READINGS, MOST_ORDERS = 1024, 64, 1 << 16
"""Vectors and stages; other readings of one value; other orders of the vectors that stages read, n x n of n vectors."""
MOST_OF_VECTOR, MOST_OF_ALL = 1 << 16, 1 << 18
"""Numbers of one vector in a frame, and of all vectors together."""
MOST_FRAMES = 1 << 16
"""How far from its own frame a stage may look: eighteen minutes at 60 frames a second, which a loop would have to keep."""


def beyond_limits(root: Mapping[str, Any]) -> Iterator[Misdeclared]:
    """Yield the limits that the words of a declaration exceed; none of them needs a stage to be built."""
    vectors = len(root["given"]) + len(root["stages"])
    if vectors > MOST_VECTORS:
        yield _too_many(("stages",), f"{vectors} vectors and stages", f"at most {MOST_VECTORS}")
    orders = sum(len(table["of"]) ** 2 for table in root["stages"] if isinstance(table.get("of"), list))
    if orders > MOST_ORDERS:
        yield _too_many(("stages",), f"stages that read many vectors each, {orders} orders", f"at most {MOST_ORDERS}")
    for kind in ("given", "stages"):
        for index, table in enumerate(root[kind]):
            place = (kind, index)
            for owner, entry in (((), table), *(((key,), value) for key, value in table.items())):
                wrong = entry.get("wrong") if isinstance(entry, Mapping) else None
                if isinstance(wrong, list | Mapping) and len(wrong) > MOST_READINGS:
                    yield _too_many((*place, *owner, "wrong"), f"{len(wrong)} readings", f"at most {MOST_READINGS}")


def refuse_wide(width: int, place: tuple[Token, ...], most: int = MOST_OF_VECTOR) -> None:
    """Misdeclared for a vector, or all of them together, of more numbers than fit."""
    if width > most:
        raise _too_many(place, f"{width} numbers in a frame", f"at most {most}")


def _too_many(place: tuple[Token, ...], found: str, expected: str) -> Misdeclared:
    return Misdeclared(Wrong.WIDTH, place, found, expected, "a motion network has hundreds; split the contract")
