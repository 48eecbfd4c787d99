"""Conventions: every place where two correct-looking implementations differ, as data.

A `Knob` is one such place: its values, what each value does, what to look for in code. A stage names the knobs that it looks at,
and a system's knobs are those of its stages: nothing else has to know them. `Conventions` is one choice for each knob. To add
a value: a row in the knob's table of effects, beside the operation that it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rigpact.contract.errors import UnusableInput, near
from rigpact.contract.files import read_toml
from rigpact.contract.statistics import FloatArray

_SAME = 2.0**-22
"""Numbers this close, relative to their size, are the same float32 after two roundings."""


@dataclass(frozen=True, eq=False)
class CodeHint:
    """Signs in code where a side has a value: the line of the engine, the line of the training side, words."""

    cpp: str
    python: str
    words: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.words, f"C++: {self.cpp.removesuffix(';')}; Python: {self.python}")))


@dataclass(frozen=True, eq=False)
class Knob:
    """One convention.

    effects: what each value does, the contract's own value first; whatever the stage that picks it wants (a function, a factor).
    hints: value -> what to look for in code where a side has that value, in words or as lines of both sides. is_benign: no value
    of it is a defect. advice: which clip to add where none shows the difference. in_training: the value that the training
    side's own files have by design where the engine's is another; None where both sides have the same.
    """

    name: str
    effects: Mapping[str, Any]
    meaning: str = ""
    hints: Mapping[str, str | CodeHint] = field(default_factory=dict)
    is_benign: bool = False
    advice: str = ""
    in_training: str | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The named values, the contract's own first."""
        return tuple(self.effects)

    @property
    def default(self) -> Any:
        """The contract's own value."""
        return next(iter(self.effects))

    def parsed(self, value: Any) -> Any:
        """Read a value as text, TOML or JSON give it; UnusableInput where it is none of this knob's."""
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        for word in (str(value), *(() if number is None else (f"{number:+d}",)), f"+{value}"):
            if word in self.effects:
                return word
        raise UnusableInput(self.name, repr(value), f"one of {', '.join(self.values)}", near(value, self.values))

    def alternatives(self, current: Any) -> Iterator[Any]:
        """Every other value that a diagnosis can try without looking at a recording."""
        return (value for value in self.values if value != current)

    def hint(self, value: Any) -> str:
        """Signs in code where a side has this value."""
        return str(self.hints.get(str(value), f"look for where {self.name} is decided: it is {value} there"))

    def code(self, value: Any, side: Literal["cpp", "python"]) -> str:
        """The line of one side where it has this value; '' where nobody wrote one."""
        hint = self.hints.get(str(value))
        return getattr(hint, side) if isinstance(hint, CodeHint) else ""


@dataclass(frozen=True, eq=False)
class ModelKnob(Knob):
    """A convention inside a network. effects: the model's file -> its bytes as that side has it, None where it has no such part.

    The contract's own value has no function: the model is right as it is.
    """


@dataclass(frozen=True, eq=False)
class InputOrder(Knob):
    """An order of a few named vectors: which one is bound at each position. Every permutation is a value."""

    items: tuple[str, ...] = ()

    @property
    def default(self) -> tuple[str, ...]:
        """The order in which the items are declared."""
        return self.items

    def parsed(self, value: Any) -> tuple[str, ...]:
        """Read names separated by commas, or a list of them."""
        order = tuple(_words(self.name, value))
        if sorted(order) != sorted(self.items):
            raise UnusableInput(self.name, ",".join(order), f"a permutation of {','.join(self.items)}")
        return order

    def alternatives(self, current: Any) -> Iterator[Any]:
        """Every other order of the items."""
        return (order for order in permutations(self.items) if order != current)

    def hint(self, value: Any) -> str:
        """Signs in code where the items are bound in this order."""
        return f"C++: inputs are bound in the order {', '.join(value)}; Python: input_names of the exporter"


@dataclass(frozen=True, eq=False)
class ChannelOrder(Knob):
    """An order of many parts (bones, joints): one of the named values, or for each slot the part that it takes.

    A diagnosis does not try the orders one by one: it matches the recorded parts with the replayed ones.
    """

    def parsed(self, value: Any) -> str | tuple[int, ...]:
        """Read a named value, or indices separated by commas."""
        if isinstance(value, str) and value in self.effects:
            return value
        try:
            order = tuple(int(word) for word in _words(self.name, value))
        except ValueError:
            expected = f"{' or '.join(self.values)}, or bone indices separated by commas"
            raise UnusableInput(self.name, repr(value), expected) from None
        if sorted(order) != list(range(len(order))):
            raise UnusableInput(self.name, ",".join(map(str, order)), "a permutation of the bone indices from 0")
        return order

    def alternatives(self, current: Any) -> Iterator[Any]:
        """None: see `rigpact.reports.diagnosing.matching`."""
        return iter(())

    def hint(self, value: Any) -> str:
        """Signs in code where the parts stand in this order."""
        if isinstance(value, str):
            shown = value.replace("_", " ")
        else:
            moved = [f"{slot}←{part}" for slot, part in enumerate(value) if slot != part]
            shown = ", ".join(moved[:6]) + (", …" if len(moved) > 6 else "")
        return f"C++: the bone table is in another order than meta.bone_names ({shown}); Python: bone_names.index"


def _words(name: str, value: Any) -> list[str]:
    """The words of a list, or of a text with commas; UnusableInput for anything else."""
    if isinstance(value, str):
        return [word.strip() for word in value.split(",")]
    if isinstance(value, list | tuple):
        return [str(word) for word in value]
    raise UnusableInput(name, repr(value)[:60], "a list, or words separated by commas")


class Conventions(Mapping[str, Any]):
    """One choice for each knob of a system, immutable: `conventions["reproject"]`, or `conventions.reproject`."""

    __slots__ = ("_choices", "_declared", "_knobs")

    def __init__(self, knobs: Mapping[str, Knob], changes: Mapping[str, Any] | None = None) -> None:
        """Take every knob's own value, then the changes; UnusableInput for an unknown knob or value."""
        self._knobs, self._declared = knobs, frozenset[str]()
        self._choices = {name: knob.default for name, knob in knobs.items()}
        self._choose(changes or {})

    def _choose(self, changes: Mapping[str, Any]) -> None:
        self._declared |= changes.keys()
        self._choices = self._choices | {name: self.knob(name).parsed(value) for name, value in changes.items()}

    def knob(self, name: str) -> Knob:
        """The knob of that name; UnusableInput where the system has none."""
        if name not in self._knobs:
            raise UnusableInput(name, "an unknown knob", f"one of {', '.join(self._knobs)}", near(name, self._knobs))
        return self._knobs[name]

    def __getitem__(self, name: str) -> Any:
        return self._choices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._choices)

    def __len__(self) -> int:
        return len(self._choices)

    def __getattr__(self, name: str) -> Any:
        """The choice for a knob, as an attribute."""
        if not name.startswith("_") and name in self._choices:
            return self._choices[name]
        raise AttributeError(name)

    def __hash__(self) -> int:
        return hash(frozenset(self._choices.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __repr__(self) -> str:
        """The choices that are not the contract's own."""
        changed = {name: value for name, value in self._choices.items() if value != self._knobs[name].default}
        return f"Conventions({changed})"

    def replaced(self, changes: Mapping[str, Any]) -> Conventions:
        """Return a copy with some knobs changed; values may be text as on the command line."""
        other = copy(self)
        other._choose(changes)
        return other

    @property
    def of_training(self) -> dict[str, str]:
        """The knobs that the training side's files have otherwise than the engine, with their values there.

        What was declared for a knob is meant for both sides.
        """
        knobs = (knob for name, knob in self._knobs.items() if name not in self._declared)
        return {knob.name: knob.in_training for knob in knobs if knob.in_training is not None}

    def changes_from(self, base: Conventions) -> dict[str, Any]:
        """The knobs on which this value differs from `base`."""
        return {name: value for name, value in self.items() if value != base[name]}


def that_differ(effects: Mapping[str, Any], shows: Callable[[Any], FloatArray]) -> dict[str, Any]:
    """The effects that make other numbers than each one before them: 1 / scale is not a mistake where scale is 1."""
    kept: dict[str, Any] = {}
    seen: list[FloatArray] = []
    with np.errstate(all="ignore"):
        for name, effect in effects.items():
            made = np.asarray(shows(effect), np.float64)
            if not any(np.allclose(made, other, rtol=_SAME, atol=0.0, equal_nan=True) for other in seen):
                kept[name] = effect
                seen.append(made)
    return kept


def split_settings(settings: Iterable[str]) -> dict[str, str]:
    """Take `KNOB=VALUE` words apart, as `--set` takes them; the system that they are for reads the values."""
    changes: dict[str, str] = {}
    for word in settings:
        name, separator, value = word.partition("=")
        if not separator:
            raise UnusableInput(f"--set {word}", "no '='", "KNOB=VALUE", "for example --set output_mode=residual")
        name, value = name.strip(), value.strip()
        if changes.setdefault(name, value) != value:
            raise UnusableInput(f"--set {name}", f"{changes[name]} and {value}", "one of them")
    return changes


def conventions_table(path: str | Path) -> dict[str, Any]:
    """The names and values of a TOML file of conventions, at its root or under `[conventions]`."""
    declared = read_toml(path).data
    table = declared.get("conventions", declared)
    if not isinstance(table, dict):
        raise UnusableInput(f"{path}#conventions", type(table).__name__, "a table")
    return table


def declared_changes(settings: Sequence[str] = (), conventions: Path | None = None) -> dict[str, Any]:
    """The conventions that options declare: a TOML file, then `KNOB=VALUE` words, which win."""
    return (conventions_table(conventions) if conventions else {}) | split_settings(settings)
