"""Euler angles: in which order a function turns, about which axis each angle, in which unit.

A function's order is declared by the user, by its own `order` argument, or by its name (`euler_xyz_from_quat`). A name says
neither whether the axes move along nor in which place an angle stands. So a name accepts every reading with these axes in
this order or in the reverse one. A declared order is exact: "ZYX" about the moving axes, "zyx" about the fixed ones.
Without any of the three, the order is measured and said, and nothing is judged.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.precision import MATCH
from rigpact.reports.geometry_parity.readings.forms import Form, Named, Reading, forms
from rigpact.reports.geometry_parity.readings.scaled import DEGREES
from rigpact.reports.geometry_parity.roles import Kind, Role

ORDERS = tuple("".join(each) for each in permutations("xyz"))
_LETTERS = "abc"


@dataclass(frozen=True)
class EulerOrder:
    """What is known of a function's order. exact: declared, so the case of the letters counts; source: who says so."""

    letters: str | None = None
    exact: bool = False
    source: str = ""
    in_degrees: bool = False


@dataclass(frozen=True)
class Turns:
    """R = R_i · R_j · R_k: the axes in this order, and the place of each one's angle among the three given ones."""

    axes: str
    places: tuple[int, ...]
    inverse: bool = False

    @property
    def words(self) -> str:
        """The formula."""
        named = " · ".join(f"R{axis}({_LETTERS[place]})" for axis, place in zip(self.axes, self.places, strict=True))
        return f"R = ({named})ᵀ" if self.inverse else f"R = {named}"

    def matrix(self, angles: FloatArray) -> FloatArray:
        """The rotation (..., 3, 3) of three angles (..., 3) in radians."""
        first, second, third = (
            oracle.axis_turn(axis, angles[..., place]) for axis, place in zip(self.axes, self.places, strict=True)
        )
        result: FloatArray = first @ second @ third
        return oracle.transpose(result) if self.inverse else result

    def angles(self, matrix: FloatArray) -> FloatArray:
        """The three angles of a rotation, the middle one in [-π/2, π/2]."""
        turned = oracle.transpose(matrix) if self.inverse else matrix
        i, j, k = ("xyz".index(axis) for axis in self.axes)
        sign = 1.0 if (i, j, k) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
        found = (
            np.arctan2(-sign * turned[..., j, k], turned[..., k, k]),
            np.arcsin(np.clip(sign * turned[..., i, k], -1.0, 1.0)),
            np.arctan2(-sign * turned[..., i, j], turned[..., i, i]),
        )
        angles = np.empty((*matrix.shape[:-2], 3))
        for place, angle in zip(self.places, found, strict=True):
            angles[..., place] = angle
        return angles

    def is_said_by(self, order: EulerOrder) -> bool:
        """Whether an order says these turns."""
        letters = order.letters or ""
        if order.exact:
            own = exact_turns(letters)
            return (self.axes, self.places, self.inverse) == (own.axes, own.places, False)
        same_axes = self.axes in (letters.lower(), letters.lower()[::-1])
        by_axis = tuple("xyz".index(axis) for axis in self.axes)
        return same_axes and not self.inverse and self.places in ((0, 1, 2), (2, 1, 0), by_axis)


def exact_turns(letters: str) -> Turns:
    """What a declared order means: capitals turn about the moving axes, small letters about the fixed ones."""
    if letters.isupper():
        return Turns(letters.lower(), (0, 1, 2))
    return Turns(letters[::-1], (2, 1, 0))


def order_in_name(name: str) -> str | None:
    """The order in a function's name, for example xyz in `quat_from_euler_xyz`."""
    return next((word for word in re.split(r"[^a-z]+", name.lower()) if word in ORDERS), None)


def read_euler(
    role: Role, value: FloatArray, given: FloatArray, declared: Conventions, said: EulerOrder
) -> Reading | None:
    """The reading of a conversion from or to Euler angles; the readings that the order says come first."""
    for form in forms(_other(role), declared):
        for turns, scale in _candidates(said):
            if not _agrees(role, value, given, form, turns, scale):
                continue
            unit = " in degrees" if scale != 1.0 else ""
            named = [*form.findings, *_findings(role, turns, scale, said, len(value))]
            words = ", ".join(filter(None, (f"{turns.words} of (a, b, c){unit}", form.words)))
            return Reading(words, _formula(role, form, turns, scale), named)
    return None


def _other(role: Role) -> Kind:
    """What the angles are converted from or to."""
    return role.takes[0] if role.gives == "euler" else role.gives


def _candidates(said: EulerOrder) -> Iterator[tuple[Turns, float]]:
    every = [Turns(axes, places) for axes in ORDERS for places in permutations(range(3))]
    every += [Turns(turns.axes, turns.places, inverse=True) for turns in every]
    every.sort(key=lambda turns: (not turns.is_said_by(said), turns.inverse))
    return product(every, (1.0, DEGREES))


def _agrees(role: Role, value: FloatArray, given: FloatArray, form: Form, turns: Turns, scale: float) -> bool:
    """Whether the function's rotations are those of a formula; `scale` times radians is its unit."""
    if not np.isfinite(value).all():
        return False
    angles, rotation = (value, given) if role.gives == "euler" else (given, value)
    return bool(np.abs(turns.matrix(angles / scale) - form.decode(rotation)).max() <= MATCH)


def _formula(role: Role, form: Form, turns: Turns, scale: float) -> Callable[[FloatArray], FloatArray]:
    if role.gives == "euler":
        return lambda given: scale * turns.angles(form.decode(given))
    return lambda given: form.encode(turns.matrix(given / scale))


def _findings(role: Role, turns: Turns, scale: float, said: EulerOrder, rows: int) -> Iterator[Named]:
    verb = "returns" if role.gives == "euler" else "takes"
    if scale != 1.0 and not said.in_degrees:
        yield rules.SCALED, {"verb": verb, "words": "degrees", "ratio": scale, "rows": rows}
    if said.letters is None:
        yield rules.ORDER_NOT_DECLARED, {"found": turns.words}
    elif not turns.is_said_by(said):
        upright = Turns(turns.axes, turns.places)
        if turns.inverse and upright.is_said_by(said):
            yield rules.INVERSE, {"verb": verb, "evidence": f"it computes {turns.words}"}
        else:
            yield rules.EULER_ORDER, {"found": turns.words, "declared": said.letters, "source": said.source}


def own_euler(role: Role, declared: Conventions, said: EulerOrder) -> Reading:
    """The reading that the order says; for an order that is only named, about the moving axes."""
    letters = said.letters or "XYZ"
    turns = exact_turns(letters if said.exact else letters.upper())
    form = next(forms(_other(role), declared))
    return Reading(turns.words, _formula(role, form, turns, DEGREES if said.in_degrees else 1.0))
