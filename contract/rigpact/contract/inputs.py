"""The files that the running command has read: an output must not take their place, and they must stay as they were."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rigpact.contract.errors import UnusableInput

T = TypeVar("T")
_Identity = tuple[int, int]
"""Device and inode: a file by whatever name."""
State = tuple[int, int, int, int]
"""Device, inode, size and time of the last change: what differs after somebody writes."""


@dataclass
class _Inputs:
    names: dict[_Identity, set[Path]] = field(default_factory=dict)
    """Of each file: a file system gives the inode of a removed file to the next one that is written."""
    states: dict[str, State] = field(default_factory=dict)
    made: dict[tuple[str, Any], tuple[State, Any]] = field(default_factory=dict)
    """What was made of the small files that were looked at last."""


_INPUTS: ContextVar[_Inputs | None] = ContextVar("inputs", default=None)


@contextmanager
def inputs_remembered() -> Iterator[None]:
    """Within this, every file that is read is an input: no output takes its place, and it must stay as it is."""
    token = _INPUTS.set(_Inputs())
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


def remember_input(path: Path, status: os.stat_result) -> None:
    """Say that the running command reads this file; UnusableInput where it read something else by this name before."""
    inputs = _INPUTS.get()
    if inputs is None:
        return
    inputs.names.setdefault((status.st_dev, status.st_ino), set()).add(path.absolute())
    if inputs.states.setdefault(str(path.absolute()), state_of(status)) != state_of(status):
        raise changed_meanwhile(path)


_MADE, _SMALL_BYTES = 8, 1 << 25


def remembered(path: Path, make: Callable[[Path], T]) -> T:
    """What a function makes of a file: the same for the running command, which looks twice, as long as nobody writes the file."""
    inputs = _INPUTS.get()
    try:
        status = None if inputs is None else path.stat()
    except (OSError, ValueError):  # not there, or not to be read: what is made of it says so
        status = None
    if inputs is None or status is None or status.st_size > _SMALL_BYTES:
        return make(path)
    key = (str(path.absolute()), make)
    held = inputs.made.pop(key, None)
    found: T = held[1] if held is not None and held[0] == state_of(status) else make(path)
    inputs.made[key] = state_of(status), found
    if len(inputs.made) > _MADE:
        del inputs.made[next(iter(inputs.made))]
    return found


def is_input(status: os.stat_result) -> bool:
    """Whether the running command has read this file, and it still stands where it was read."""
    inputs, identity = _INPUTS.get(), (status.st_dev, status.st_ino)
    return inputs is not None and any(_identity(name) == identity for name in inputs.names.get(identity, ()))


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def state_of(status: os.stat_result) -> State:
    """What of a file differs after somebody writes it."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def changed_meanwhile(path: Path) -> UnusableInput:
    """The error for a file that somebody else writes."""
    found, hint = "a file that changed while it was read", "wait until it is written, and run again"
    return UnusableInput(path, found, "a file that nobody writes meanwhile", hint)
