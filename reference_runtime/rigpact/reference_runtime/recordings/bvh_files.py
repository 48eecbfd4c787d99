"""BVH: a hierarchy of joints with channels, then a row of numbers a frame.

As columns: `rotation.JOINT` (three angles in degrees) and `position.JOINT`, numbers as they stand in the file. The order of a
joint's rotation channels is the product of their matrices from left to right (columns are axes). Joints of one file may differ.
The text says no unit, no up axis, and not whether a position replaces the joint's offset.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.files.json_text import decoded
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.tables import Table

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
    numbered = enumerate(decoded(content, path).splitlines(), 1)
    lines = [_Line(f"{path}:{number}", line.strip()) for number, line in numbered if line.strip()]
    hierarchy, motion = _hierarchy(lines, path)
    twice, times = Counter(joint.name for joint, _ in hierarchy).most_common(1)[0]
    if times > 1:
        raise UnusableInput(path, f"two joints {twice!r}", "each name once", "rename one of them")
    count, step = _motion(motion, path)
    rows = _rows(motion[2:], sum(len(own) for _, own in hierarchy), count, path)
    rotations, positions, start = {}, {}, 0
    for joint, own in hierarchy:
        block = rows[:, start : start + len(own)]
        start += len(own)
        if joint.order:
            rotations[joint.name] = block[:, [place for place, each in enumerate(own) if each in _ROTATIONS]]
        places = {_POSITIONS[each]: place for place, each in enumerate(own) if each in _POSITIONS}
        if places:
            positions[joint.name] = block[:, [places[axis] for axis in range(3)]]
    truncation = None if len(rows) == count else f"after frame {len(rows)} of {count}"
    return Animation([joint for joint, _ in hierarchy], step, rotations, positions, truncation)


class _Line(NamedTuple):
    place: str
    text: str

    def refused(self, expected: str) -> UnusableInput:
        return UnusableInput(self.place, repr(self.text[:40]), expected)

    def numbers(self, words: Sequence[str]) -> list[float]:
        try:
            found = [float(word) for word in words]
        except ValueError as error:
            raise UnusableInput(self.place, str(error)[:60], "numbers") from None
        if not np.isfinite(found).all():
            raise UnusableInput(self.place, "a number that is not finite", "finite numbers")
        return found


_NEXT: Mapping[str, tuple[str, ...]] = {
    "": ("hierarchy",), "hierarchy": ("root",), "root": ("{",), "joint": ("{",), "end": ("{",), "{": ("offset",),
    "offset": ("channels",), "channels": ("joint", "end", "}"), "}": ("root", "joint", "end", "}", "motion"),
}  # fmt: skip
"""By the first word of a line: those of the lines that may follow."""
_FORMS = {
    "hierarchy": "HIERARCHY, the first line of a BVH file", "{": "{ behind a joint", "offset": "OFFSET x y z",
    "channels": "CHANNELS n NAME …",
}  # fmt: skip


def _hierarchy(lines: Sequence[_Line], path: Path) -> tuple[list[tuple[Joint, list[str]]], Sequence[_Line]]:
    """Joints with their channels in the order of the numbers, and the lines behind MOTION."""
    found: list[tuple[Joint, list[str]]] = []
    open_names: list[str] = []
    name, before = "", ""
    for index, line in enumerate(lines):
        first, _, rest = line.text.partition(" ")
        word, words = first.lower(), rest.split()
        known = ("}",) if before == "offset" and not name else _NEXT[before]
        if (
            word not in known
            or (word == "offset" and len(words) != 3)
            or (word in "{}" and words)
            or (word == "}" and not open_names)
        ):
            raise line.refused(" or ".join(_FORMS.get(each, each.upper()) for each in known))
        if word == "motion":
            if open_names or words:
                raise UnusableInput(line.place, f"{len(open_names)} joints without }}", "a hierarchy before MOTION")
            return found, lines[index + 1 :]
        if word in ("root", "joint", "end"):
            name = "" if word == "end" else rest.strip()
            if (word != "end" and not name) or len(found) >= MAX_JOINTS or (word == "root") == bool(open_names):
                raise line.refused("ROOT, JOINT, End Site or }")
            open_names.append(name)
        elif word == "offset":
            line.numbers(words)
        elif word == "channels":
            parent = next(reversed(open_names[:-1]), "")
            found.append(_joint(line, name, parent, words))
        elif word == "}":
            open_names.pop()
        before = word
    raise UnusableInput(path, "the end of the file", "a joint, or MOTION")


def _joint(line: _Line, name: str, parent: str, words: Sequence[str]) -> tuple[Joint, list[str]]:
    own = [each.lower() for each in words[1:]]
    order = "".join(_ROTATIONS[each] for each in own if each in _ROTATIONS)
    positions = [each for each in own if each in _POSITIONS]
    if words[:1] != [str(len(own))] or len(set(own)) != len(own) or len(order) + len(positions) != len(own):
        raise UnusableInput(line.place, f"channels {' '.join(words)[:60]}", "n, and n of Xposition … Zrotation")
    if len(order) not in (0, 3) or len(positions) not in (0, 3):
        expected = "three rotations, or three positions, or both"
        raise UnusableInput(line.place, f"channels {' '.join(words[1:])[:60]}", expected)
    return Joint(name, parent, order), own


def _motion(lines: Sequence[_Line], path: Path) -> tuple[int, float]:
    """How many frames, and the seconds of one."""
    said = []
    for key, line in zip(("frames", "frame time"), lines, strict=False):
        name, colon, text = line.text.partition(":")
        if name.strip().lower() != key or not colon:
            raise line.refused(f"{key}: a number")
        said.append(line.numbers(text.split() or ["nothing"])[0])
    if len(said) < 2:
        raise UnusableInput(path, "the end of the file", "frames: a number, and frame time: a number")
    count, step = said
    if count != int(count) or count < 1 or not 1e-5 <= step <= 10.0:
        expected = "a whole number of frames, and the seconds of one"
        raise UnusableInput(lines[1].place, f"{count:g} frames of {step:g} s", expected)
    return int(count), step


def _rows(lines: Sequence[_Line], width: int, count: int, path: Path) -> FloatArray:
    """Rows of numbers: as many as `count`, or fewer where the file was cut off."""
    rows = []
    for line in lines:
        words = line.text.split()
        if len(words) > width or (len(words) < width and line is not lines[-1]):
            raise UnusableInput(line.place, f"{len(words)} numbers", f"{width}, one for each channel")
        if len(words) == width:
            rows.append(line.numbers(words))
    if len(rows) > count or not rows:
        raise UnusableInput(path, f"{len(rows) or 'no'} rows of numbers", f"{count}, as Frames says")
    return np.array(rows, np.float64)
