"""How far an agreement sees, as data and in one sentence. judged.py and widest.py find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rigpact.reports.comparing.address import Address
from rigpact.reports.terminal import plain

_NAMED = 6
"""Stages that nothing judged are named up to so many: what fits a line; the document has all."""


@dataclass(frozen=True, eq=False)
class Widest:
    """The widest tolerance of one unit, and its place: a smaller difference there would not show."""

    tolerance: float
    unit: str
    stage: str
    address: Address
    frame: int

    @property
    def words(self) -> str:
        """`0.05° at thigh_l (y_out, frame 12)`."""
        unit = {"deg": "°", "raw": ""}.get(self.unit, f" {self.unit}")
        place = self.address.bone if self.unit == "deg" and self.address.bone else str(self.address)
        return f"{self.tolerance:.2g}{unit} at {plain(place)} ({plain(self.stage)}, frame {self.frame})"

    def to_json(self) -> dict[str, Any]:
        """The tolerance as it stands in a `rigpact-diagnosis` document."""
        found = {name: value for name, value in vars(self).items() if name != "address"}
        return {**found, "bone": self.address.bone, "channel": self.address.channel, "place": str(self.address)}


@dataclass(frozen=True, eq=False)
class Seen:
    """What was judged. folded: unrecorded stages on the way to a judged one. unseen: the others that such a run computes.

    widest: one tolerance for each unit, degrees first; none where every value was judged to the bit.
    """

    judged: tuple[str, ...]
    folded: tuple[str, ...]
    unseen: tuple[str, ...]
    widest: tuple[Widest, ...]

    @property
    def stages(self) -> int:
        """How many stages such a run computes."""
        return len(self.judged) + len(self.folded) + len(self.unseen)

    @property
    def sentence(self) -> str:
        """How many stages were judged, and how large a difference would not show."""
        folded = f", {len(self.folded)} more folded into them" if self.folded else ""
        named = ", ".join(self.unseen[:_NAMED]) + f" and {len(self.unseen) - _NAMED} more" * (len(self.unseen) > _NAMED)
        unseen = f"; nothing judged {named}" if self.unseen else ""
        judged = f"{len(self.judged)} of {self.stages} stages judged{folded}{unseen}"
        if not self.widest:
            return f"{judged}; every value to the last bit"
        places = ", ".join(each.words for each in self.widest)
        return f"{judged}; the widest tolerance{'s' * (len(self.widest) > 1)}: {places}: a smaller difference would not show"

    def to_json(self) -> dict[str, Any]:
        """The same as it stands in a `rigpact-diagnosis` document."""
        return {
            "judged": list(self.judged),
            "folded": list(self.folded),
            "unseen": list(self.unseen),
            "stages": self.stages,
            "widest": [each.to_json() for each in self.widest],
            "sentence": self.sentence,
        }


def seen_together(parts: Sequence[Seen], names: Sequence[str]) -> Seen:
    """What parts of one recording show together; names: the stages in loop order."""
    judged = {name for part in parts for name in part.judged}
    folded = {name for part in parts for name in part.folded} - judged
    unseen = {name for part in parts for name in part.unseen}
    return Seen(
        tuple(name for name in names if name in judged),
        tuple(name for name in names if name in folded),
        tuple(name for name in names if name in unseen - judged - folded),
        one_of_each_unit([each for part in parts for each in part.widest]),
    )


def one_of_each_unit(found: Sequence[Widest]) -> tuple[Widest, ...]:
    """The widest of each unit: degrees first, then in the order in which they come."""
    widest: dict[str, Widest] = {}
    for each in found:
        if each.unit not in widest or each.tolerance > widest[each.unit].tolerance:
            widest[each.unit] = each
    return tuple(sorted(widest.values(), key=lambda each: each.unit != "deg"))
