"""Named slices of a flat vector.

A layout says where each feature of the state or the output stands. It is read from JSON as the engine reads it. The rules
of rules/bundle_layout.py judge whether it makes sense (overlaps, gaps, sizes).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

ROTATIONS = "BoneRotations6D"
ANGULAR_VELOCITIES = "BoneAngularVelocities"
ROOT_VELOCITY = "RootVelocity"
ROOT_POSITION = "RootPosition"
ROOT_YAW = "RootYaw"
CONTACTS = "Contacts"
PER_BONE = {ROTATIONS: 6, ANGULAR_VELOCITIES: 3}
"""How many numbers of a bone a slice holds."""
INPUTS = ("state", "cond", "contacts", "angvel", "pose_hist")
"""The five network inputs, in the order in which the engine binds them."""
CONDITION_WIDTH = 7
"""Four action bits, planar direction, speed."""
CONTACTS_WIDTH = 2
"""Left foot, right foot."""


class Span:
    """Half-open range [start, start + size) of a flat vector."""

    start: int
    size: int

    @property
    def stop(self) -> int:
        """First index after it."""
        return self.start + self.size

    @property
    def range(self) -> slice:
        """Python's own index object."""
        return slice(self.start, self.stop)


@dataclass(frozen=True, order=True)
class Slice(Span):
    """A named span. Slices sort by their place."""

    start: int
    size: int
    name: str


@dataclass(frozen=True)
class Layout:
    """Slices in order of their start, and the width of the vector they lie in."""

    slices: tuple[Slice, ...]
    width: int

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Slice:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Slice]:
        return {entry.name: entry for entry in reversed(self.slices)}  # the first one of a name counts

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.slices)

    def slice_at(self, index: int) -> Slice | None:
        """Return the slice that holds the channel `index`, None for a gap."""
        return next((entry for entry in self.slices if entry.start <= index < entry.stop), None)


def entry_to_slice(name: str, entry: Any) -> Slice | None:
    """Read one layout entry as the engine does; None when it is of neither form.

    An object is {start, size}. A two-element array is **[start, end)** to the engine, while the training side reads the
    same array as [start, size] in one place: an array is never safe (rule RP056).
    """
    if isinstance(entry, Mapping) and is_whole(entry.get("start")) and is_whole(entry.get("size")):
        return Slice(int(entry["start"]), int(entry["size"]), name)
    if isinstance(entry, list) and len(entry) == 2 and all(is_whole(value) for value in entry):
        return Slice(int(entry[0]), int(entry[1]) - int(entry[0]), name)
    return None


def json_to_slices(entries: Any) -> tuple[Slice, ...]:
    """Read `meta.state_layout` or `meta.output_layout` as the engine does, in order of start.

    One array entry makes the engine drop every object entry of the same layout.
    """
    if not isinstance(entries, Mapping):
        return ()
    arrays = {name: entry for name, entry in entries.items() if isinstance(entry, list)}
    read = [entry_to_slice(name, entry) for name, entry in (arrays or entries).items()]
    return tuple(sorted(entry for entry in read if entry is not None))


def json_to_layout(entries: Any, declared_width: Any = None) -> Layout:
    """Read a layout; the width is the declared one if numeric, else the end of the last slice."""
    slices = json_to_slices(entries)
    width = int(declared_width) if is_whole(declared_width) else max((entry.stop for entry in slices), default=0)
    return Layout(slices, width)


def is_whole(value: Any) -> bool:
    """Whether a JSON number is whole: 8 and 8.0 are the same number to an engine."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
