"""Wrap: an angle into one turn."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.contract.units import UNITS
from rigpact.reference_runtime.operations.geometry import wrapped
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, wide

_TURNS = {unit: 2.0 * np.pi / UNITS[unit].si for unit in ("rad", "deg")}
_RANGES: Mapping[str, Callable[..., FloatArray]] = {
    "symmetric": wrapped,
    "positive": lambda rows, turn: rows - turn * np.floor(rows / turn),
    "none": lambda rows, _turn: rows,
}
"""(-half turn, half turn], [0, turn), or as it is."""


def build(use: Use) -> Built:
    """Angles of the declared unit into the declared range."""
    source = use.inputs[0]
    own: Callable[..., FloatArray] = _RANGES.get(str(use.table.get("range")), _RANGES["symmetric"])
    probe = 100.0 * samples(1)
    unit = use.choice(
        "unit_of_angle", _TURNS, "the unit of the angle that is wrapped", shows=lambda turn: own(probe, turn)
    )
    into = use.choice("range", _RANGES, "the range that angles are wrapped into")

    def compute(frames: Frames) -> FloatArray:
        return stored(into.of(frames)(wide(frames, source.name), unit.of(frames)))

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A sum's; a whole turn where the angle is so near the end of the range that rounding decides on which side it is."""
        angles, turn = wide(frames, source.name), unit.of(frames)
        rounding = gamma(3) * (np.abs(angles) + turn)
        end = 0.5 * turn if into.of(frames) is _RANGES["symmetric"] else 0.0
        to_the_end = np.abs((angles - end) - turn * np.round((angles - end) / turn))
        is_near = (to_the_end <= rounding) & (into.of(frames) is not _RANGES["none"])
        return np.asarray(np.where(is_near, turn + rounding, rounding))

    def planned(frames: Frames) -> Step:
        return Step("wrap", (Read(source.name),), (into.word_of(frames),), [unit.of(frames)])

    return Built(source.fields, compute, bound, planned=planned)


OPERATION = Operation(
    "wrap", "angles into one turn", build,
    {"unit_of_angle": "rad or deg", "range": "symmetric (-half turn, half turn], positive [0, turn), or none"},
    choices=("unit_of_angle", "range"),
    code=CODE_HINTS["wrap"], readings=_RANGES,
)  # fmt: skip
