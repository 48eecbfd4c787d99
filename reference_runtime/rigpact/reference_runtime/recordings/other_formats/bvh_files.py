"""BVH: a hierarchy of joints with channels, then a row of numbers a frame.

As columns: `rotation.JOINT` (three angles in degrees) and `position.JOINT`, numbers as they stand in the file. The order of a
joint's rotation channels is the product of their matrices from left to right (columns are axes). Joints of one file may differ.
The text says no unit, no up axis, and not whether a position replaces the joint's offset.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.files.text import decoded
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.number_rows import Table

MAX_BVH_BYTES, MAX_JOINTS = 256 << 20, 4096
_POSITIONS = {f"{axis}position".lower(): place for place, axis in enumerate("XYZ")}
_ROTATIONS = {f"{axis}rotation".lower(): axis for axis in "XYZ"}


@dataclass(frozen=True)
class Joint:
    """A joint below its parent; the root's parent has no name. order: the letters of its angles as a product of matrices."""

    name: str
    parent: str
    order: str


@dataclass(frozen=True, eq=False)
class Animation:
    """rotations (T, 3) degrees of each joint that has some; positions (T, 3); step_s: seconds of a frame."""

    joints: Sequence[Joint]
    step_s: float
    rotations: Mapping[str, FloatArray]
    positions: Mapping[str, FloatArray]
    truncation: str | None = None

    @property
    def fps(self) -> float:
        """Frames a second; a whole number where the digits of the step hide that."""
        rate = 1.0 / self.step_s
        return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate


def read_bvh(path: Path) -> Table:
    """The columns of a BVH file."""
    animation = read_bvh_animation(path)
    columns = {f"rotation.{name}": each for name, each in animation.rotations.items()}
    columns.update({f"position.{name}": each for name, each in animation.positions.items()})
    count = len(next(iter(columns.values()), ()))
    time_s = np.arange(count) * animation.step_s
    return Table({**columns, "time": time_s}, {"fps": animation.fps}, truncation=animation.truncation)


def read_bvh_animation(path: Path) -> Animation:
    """Joints and frames of a BVH file; UnusableInput names the line."""
    content = read_bytes(path)
    if len(content) > MAX_BVH_BYTES:
        raise UnusableInput(path, f"{len(content)} bytes", f"at most {MAX_BVH_BYTES}", "a part of it")
    lines = _Lines(path, decoded(content, path).splitlines())
    joints, channels = _hierarchy(lines)
    twice, times = Counter(joint.name for joint in joints).most_common(1)[0]
    if times > 1:
        raise UnusableInput(path, f"two joints {twice!r}", "each name once", "rename one of them")
    count, step = _motion(lines)
    rows = lines.numbers(sum(map(len, channels)), count)
    rotations, positions, start = {}, {}, 0
    for joint, own in zip(joints, channels, strict=True):
        block = rows[:, start : start + len(own)]
        start += len(own)
        if joint.order:
            rotations[joint.name] = block[:, [place for place, each in enumerate(own) if each in _ROTATIONS]]
        places = {_POSITIONS[each]: place for place, each in enumerate(own) if each in _POSITIONS}
        if places:
            positions[joint.name] = block[:, [places[axis] for axis in range(3)]]
    truncation = None if len(rows) == count else f"after frame {len(rows)} of {count}"
    return Animation(joints, step, rotations, positions, truncation)


class _Lines:
    """The lines of the text with their numbers; empty ones are passed over."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self._lines = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        self._next = 0

    @property
    def place(self) -> str:
        """Where the last line stands."""
        return f"{self.path}:{self._lines[max(0, min(self._next, len(self._lines)) - 1)][0] if self._lines else 1}"

    def take(self, expected: str) -> str:
        """The next line."""
        if self._next >= len(self._lines):
            raise UnusableInput(self.path, "the end of the file", expected)
        self._next += 1
        return self._lines[self._next - 1][1]

    def words(self, first: str, count: int | None, expected: str) -> list[str]:
        """The words behind the first one of the next line, which must be that one."""
        line = self.take(expected)
        words = line.split()
        if words[0].lower() != first.lower() or (count is not None and len(words) != count + 1):
            raise UnusableInput(self.place, repr(line[:40]), expected)
        return words[1:]

    def peek(self) -> str:
        """The first word of the next line, in small letters."""
        return self._lines[self._next][1].split()[0].lower() if self._next < len(self._lines) else ""

    def numbers(self, width: int, count: int) -> np.ndarray:
        """Rows of numbers: as many as `count`, or fewer where the file was cut off."""
        rows = []
        for number, line in self._lines[self._next :]:
            words = line.split()
            if len(words) != width and not (len(words) < width and number == self._lines[-1][0]):
                raise UnusableInput(f"{self.path}:{number}", f"{len(words)} numbers", f"{width}, one for each channel")
            if len(words) == width:
                rows.append(_floats(words, f"{self.path}:{number}"))
        if len(rows) > count:
            raise UnusableInput(f"{self.path}", f"{len(rows)} rows", f"{count}, as Frames says")
        if not rows:
            raise UnusableInput(self.path, "no row of numbers", f"{count}, as Frames says")
        return np.array(rows, np.float64)


def _floats(words: list[str], place: str) -> list[float]:
    try:
        found = [float(word) for word in words]
    except ValueError as error:
        raise UnusableInput(place, str(error)[:60], "numbers") from None
    if not np.isfinite(found).all():
        raise UnusableInput(place, "a number that is not finite", "finite numbers")
    return found


def _hierarchy(lines: _Lines) -> tuple[list[Joint], list[list[str]]]:
    """Joints in the order of their channels, and the channels of each."""
    lines.words("HIERARCHY", 0, "HIERARCHY, the first line of a BVH file")
    joints: list[Joint] = []
    channels: list[list[str]] = []
    open_joints: list[str] = []
    while lines.peek() != "motion":
        line = lines.take("a joint, or MOTION")
        kind, _, name = line.partition(" ")
        if kind == "}" and open_joints:
            open_joints.pop()
        elif line.lower().startswith("end"):
            lines.words("{", 0, "{")
            lines.words("OFFSET", 3, "OFFSET x y z")
            lines.words("}", 0, "} behind the end site's offset")
        elif kind.lower() in ("root", "joint") and name.strip() and len(joints) < MAX_JOINTS:
            joint, own = _joint(lines, name.strip(), open_joints[-1] if open_joints else "")
            joints.append(joint)
            channels.append(own)
            open_joints.append(joint.name)
        else:
            raise UnusableInput(lines.place, repr(line[:40]), "ROOT, JOINT, End Site or }")
    if open_joints or not joints:
        raise UnusableInput(lines.place, f"{len(open_joints)} joints without }}", "a hierarchy before MOTION")
    return joints, channels


def _joint(lines: _Lines, name: str, parent: str) -> tuple[Joint, list[str]]:
    lines.words("{", 0, f"{{ behind {name}")
    _floats(lines.words("OFFSET", 3, "OFFSET x y z"), lines.place)
    count, *names = lines.words("CHANNELS", None, "CHANNELS n NAME …") or [""]
    own = [each.lower() for each in names]
    known = {*_POSITIONS, *_ROTATIONS}
    if count != str(len(own)) or len(set(own)) != len(own) or not known.issuperset(own):
        raise UnusableInput(
            lines.place, f"channels {' '.join([count, *names])[:60]}", "n, and n of Xposition … Zrotation"
        )
    order = "".join(_ROTATIONS[each] for each in own if each in _ROTATIONS)
    positions = [each for each in own if each in _POSITIONS]
    if len(order) not in (0, 3) or len(positions) not in (0, 3):
        raise UnusableInput(
            lines.place, f"channels {' '.join(names)[:60]}", "three rotations, or three positions, or both"
        )
    return Joint(name, parent, order), own


def _motion(lines: _Lines) -> tuple[int, float]:
    """How many frames, and the seconds of one."""
    lines.words("MOTION", 0, "MOTION")
    said = {}
    for key in ("frames", "frame time"):
        line = lines.take(f"{key}: a number")
        name, colon, text = line.partition(":")
        if name.strip().lower() != key or not colon:
            raise UnusableInput(lines.place, repr(line[:40]), f"{key}: a number")
        said[key] = _floats(text.split() or ["nothing"], lines.place)[0]
    count, step = said["frames"], said["frame time"]
    if count != int(count) or count < 1 or not 1e-5 <= step <= 10.0:
        raise UnusableInput(
            lines.place, f"{count:g} frames of {step:g} s", "a whole number of frames, and the seconds of one"
        )
    return int(count), step
