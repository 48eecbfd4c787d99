"""The files that the running command has read: an output must not take the place of one of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_Identity = tuple[int, int]
"""Device and inode: a file by whatever name."""
_INPUTS: ContextVar[set[_Identity] | None] = ContextVar("inputs", default=None)


@contextmanager
def inputs_remembered() -> Iterator[None]:
    """Within this, every file that is read is an input, and no output may take its place."""
    token = _INPUTS.set(set())
    try:
        yield
    finally:
        _INPUTS.reset(token)


@contextmanager
def inputs_may_be_replaced() -> Iterator[None]:
    """Within this, files that were read may be written: copies that a command damages on purpose."""
    token = _INPUTS.set(None)
    try:
        yield
    finally:
        _INPUTS.reset(token)


def remember_input(status: os.stat_result) -> None:
    """Say that the running command reads this file."""
    inputs = _INPUTS.get()
    if inputs is not None:
        inputs.add((status.st_dev, status.st_ino))


def is_input(status: os.stat_result) -> bool:
    """Whether the running command has read this file."""
    inputs = _INPUTS.get()
    return inputs is not None and (status.st_dev, status.st_ino) in inputs
