"""Which frames a history holds, by their age: 0 is the current frame."""

from collections.abc import Mapping

ORDERS: Mapping[str, slice] = {"oldest_first": slice(None, None, -1), "newest_first": slice(None)}
"""What is taken of the ages 0, 1, 2, …"""


def ages(length: int, order: slice, delay: int) -> list[int]:
    """The ages of `length` frames in the order of the history; the newest is `delay` frames old."""
    return list(range(delay, length + delay))[order]
