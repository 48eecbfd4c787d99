"""An animation as a file of a DCC or an engine holds it: joints with parents and rest, their local rotations and positions.

As columns: `rotation.JOINT` (three angles in degrees in the order of the file, or a quaternion x, y, z, w), `position.JOINT`, and
`rest.JOINT` where a joint is turned at rest; numbers as they stand in the file. What they mean in an engine, a contract says.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.number_rows import Table

AT_REST = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Joint:
    """A joint below its parent; the root's parent has no name.

    order: the letters of its angles as a product of matrices, empty for a quaternion. rest: its rotation at rest, x, y, z, w.
    """

    name: str
    parent: str
    offset: tuple[float, ...]
    order: str = ""
    rest: tuple[float, ...] = AT_REST


@dataclass(frozen=True, eq=False)
class Animation:
    """time_s (T,); rotations: (T, 3) or (T, 4) of each joint that has one; positions (T, 3)."""

    joints: Sequence[Joint]
    time_s: FloatArray
    rotations: Mapping[str, FloatArray]
    positions: Mapping[str, FloatArray]
    truncation: str | None = None

    @property
    def fps(self) -> float | None:
        """Frames a second; None where the steps differ, beyond what their digits hide."""
        steps = np.diff(self.time_s)
        if not len(steps) or steps.min() <= 0 or np.ptp(steps) > 1e-3 * steps.mean():
            return None
        rate = 1.0 / float(steps.mean())
        return float(round(rate)) if abs(rate - round(rate)) < 1e-3 * rate else rate


def refuse_repeated(names: Sequence[str], place: object) -> None:
    """UnusableInput for two joints of one name: no column could be told from the other."""
    twice, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise UnusableInput(place, f"two joints {twice!r}", "each name once", "rename one of them")


def animation_to_table(animation: Animation) -> Table:
    """The columns of an animation."""
    columns = {f"rotation.{name}": each for name, each in animation.rotations.items()}
    columns.update({f"position.{name}": each for name, each in animation.positions.items()})
    if any(joint.rest != AT_REST for joint in animation.joints):
        count = len(animation.time_s)
        columns.update({f"rest.{joint.name}": np.tile(joint.rest, (count, 1)) for joint in animation.joints})
    said = {} if animation.fps is None else {"fps": animation.fps}
    return Table({**columns, "time": animation.time_s}, said, truncation=animation.truncation)
