"""What an operation is, and what it is told of one use of it.

An operation is one thing that runtimes do to numbers: scale, select by name, keep a history, turn by a quaternion. It is found
through the entry points `rigpact.operations`, so a package can bring its own. A declared stage names an operation and its
parameters; `Operation.build` makes of it what a stage needs. To add one: see `rigpact.reference_runtime.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.problems import Misdeclared, NotBuilt, Wrong, near, shown, unknown
from rigpact.contract.declared.profiles import Profile
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Planned
from rigpact.contract.systems.stage import RAW, Bound, Compute, Frames, Measure
from rigpact.contract.systems.system import NetworkBinding

Reading = Callable[[FloatArray], FloatArray]
"""What a side that reads a number in its own way makes of it."""
Shows = Callable[[Any], FloatArray]
"""What an effect of a choice makes of sample numbers."""
_REQUIRED: Any = object()
_SAME = 2.0**-22
"""Numbers this close, relative to their size, are the same float32 after two roundings."""


@dataclass(frozen=True)
class Input:
    """A stage that an operation reads: its name and its fields."""

    name: str
    fields: FieldLayout


@dataclass(frozen=True, eq=False)
class Built:
    """What an operation makes of one use: the fields of its result, how it is computed, how far rounding moves it.

    reach: how many frames back and ahead it looks. is_answer: a network gives it. is_propagated: its bound holds
    what the bounds of its inputs lead to. planned: the same as a step in C++, where there is one.
    """

    fields: FieldLayout
    compute: Compute
    bound: Bound | None = None
    reach: tuple[int, int] = (0, 0)
    measure: Measure = RAW
    is_answer: bool = False
    is_propagated: bool = False
    planned: Planned | None = None


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation of the vocabulary.

    parameters: each parameter with what it means. inputs: fewest and most stages that it reads. choices: the parameters that
    choose a convention; one that a declaration leaves out is left open. code: lines of code for the readings of parameters.
    """

    name: str
    summary: str
    build: Callable[[Use], Built]
    parameters: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[int, int] = (1, 1)
    choices: tuple[str, ...] = ()
    code: Mapping[str, Mapping[str, CodeHint]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Choice:
    """A place where sides differ; without a knob where only one reading is left: `word` is its name."""

    only: Any = None
    knob: Knob | None = None
    word: str = ""

    def of(self, frames: Frames) -> Any:
        """What the reading does that the conventions of an evaluation choose."""
        return self.only if self.knob is None else frames.pick(self.knob)

    def word_of(self, frames: Frames) -> str:
        """The name of that reading."""
        return self.word if self.knob is None else str(frames.contract.conventions[self.knob.name])


@dataclass(frozen=True, eq=False)
class Number:
    """A parameter of numbers: where it stands among the contract's numbers, and how sides misread it."""

    path: str
    reading: Choice

    def of(self, frames: Frames) -> FloatArray:
        """The numbers under the conventions of an evaluation, float64."""
        return np.asarray(self.reading.of(frames)(frames.numbers[self.path]))

    def row(self, frames: Frames, width: int) -> FloatArray:
        """The same, one for each of `width` channels."""
        return np.broadcast_to(self.of(frames).reshape(-1), (width,))


@dataclass(frozen=True)
class NamedNumbers:
    """Numbers that a declaration gives a name, with the names of their entries if it says them."""

    path: str
    value: FloatArray
    names: tuple[str, ...] = ()


@dataclass(eq=False)
class Use:
    """One use of an operation: a stage of a declaration. Every parameter that is read is known; the others are mistakes.

    declared: the fields that the stage itself declares. network: the one that gives the stage, if one does. profile: whose
    conventions hold where the stage does not say them. not_read: names of [numbers] with a mistake of their own. code: the
    operation's lines of code. knobs, constants: what the parameters that were read so far add to the stage and to the contract's
    numbers. left_open: conventions that the declaration does not say, with their keys.
    """

    stage: str
    place: tuple[Token, ...]
    table: Mapping[str, Any]
    inputs: Sequence[Input]
    names: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, NamedNumbers]
    fps: float | None
    declared: FieldLayout | None = None
    network: NetworkBinding | None = None
    profile: Profile | None = None
    not_read: Collection[str] = ()
    code: Mapping[str, Mapping[str, CodeHint]] = field(default_factory=dict)
    knobs: list[Knob] = field(default_factory=list)
    constants: dict[str, FloatArray] = field(default_factory=dict)
    left_open: list[tuple[Knob, str]] = field(default_factory=list)

    def at(self, *tokens: Token) -> tuple[Token, ...]:
        """The place of a key of this stage."""
        return (*self.place, *tokens)

    def wrong(self, kind: Wrong, key: str, found: object, expected: str, hint: str = "") -> Misdeclared:
        """A mistake in a parameter."""
        return Misdeclared(kind, self.at(key), str(found), expected, hint)

    def missing(self, key: str, expected: str, hint: str = "") -> Misdeclared:
        """A parameter that is needed and not there."""
        return self.wrong(Wrong.MISSING, key, "nothing", expected, hint)

    def not_one_of(self, key: str, known: Iterable[str]) -> Misdeclared:
        """A parameter that is none of the words that it may be."""
        names = list(known)
        found = self.table.get(key)
        if found is None:
            return self.missing(key, f"one of {', '.join(names)}")
        return Misdeclared(Wrong.CHOICE, self.at(key), shown(found), f"one of {', '.join(names)}", near(found, names))

    def value_of(self, number: Number) -> FloatArray:
        """The declared numbers of a parameter."""
        owner, key = number.path.split(".", 1)
        return self.numbers[key].value if owner == "numbers" else self.constants[number.path]

    def choice(
        self, key: str, effects: Mapping[str, Any], meaning: str, hints: Mapping[str, str] | None = None,
        *, default: str | None = None, shows: Shows | None = None,
    ) -> Choice:  # fmt: skip
        """A convention: the declared value first, then the readings of other sides.

        One that the declaration leaves out is left open: the first value is taken, and a finding says so. With `default` it
        may be left out, and so it may where the declaration's profile says it. A stage may also name it in `left_open`: then
        the word of the declaration is only assumed. shows: as in `knob`.
        """
        declared = self.table.get(key, default)
        if declared is None and self.profile is not None:
            declared = self.profile.choice(str(self.table["operation"]), key)
        is_open = declared is None or key in self.table.get("left_open", ())
        if declared is None:
            declared = next(iter(effects))
        if not isinstance(declared, str) or declared not in effects:
            raise self.not_one_of(key, effects)
        choice = self.knob(key, {declared: effects[declared], **effects}, meaning, hints, shows=shows)
        if is_open and choice.knob is not None:
            self.left_open.append((choice.knob, key))
        return choice

    def knob(
        self, key: str, effects: Mapping[str, Any], meaning: str, hints: Mapping[str, str] | None = None,
        *, shows: Shows | None = None,
    ) -> Choice:  # fmt: skip
        """A place where sides differ, under its name in this contract; `knobs.KEY = "NAME"` gives it another.

        shows: what an effect makes of sample numbers under this use's parameters. Effects that make the same of them are one
        reading: to keep a history of one frame newest first or oldest first is no difference.
        """
        if shows is not None:
            effects = _that_differ(effects, shows)
        if len(effects) == 1:
            [(word, only)] = effects.items()
            return Choice(only, word=word)
        renamed = self.table.get("knobs", {}).get(key)
        words, code = hints or {}, self.code.get(key, {})
        both = {value: replace(code[value], words=words.get(value, "")) for value in effects if value in code}
        knob = Knob(renamed or f"{self.stage}.{key}", effects, meaning, {**words, **both})
        self.knobs.append(knob)
        return Choice(knob=knob)

    def number(
        self, key: str, width: int | None = None, *, default: Any = _REQUIRED, meaning: str = "",
        misread: Mapping[str, Reading] | None = None,
    ) -> Number:  # fmt: skip
        """A parameter of numbers: inline, or the name of an entry of `numbers`; one number, or `width` of them.

        misread: readings of other sides, by name. A table {value, wrong = {NAME = NUMBERS}} adds the author's own.
        """
        given = self.table.get(key, default)
        if given is _REQUIRED:
            raise self.missing(key, f"{key}: numbers, or a name of [numbers]")
        wrong: Mapping[str, Any] = {}
        if isinstance(given, Mapping):
            given, wrong = given.get("value", _REQUIRED), given.get("wrong", {})
            if given is _REQUIRED:
                raise self.wrong(Wrong.MISSING, key, "a table without value", "value = NUMBERS")
        path = self._kept(key, given, width)
        readings: dict[str, Reading] = {
            **(misread or {}),
            **self._by_position(given, width),
            **self._other_orders(width),
        }
        for name, other in wrong.items():
            readings[name] = _always(self._array((key, "wrong", name), other, width))
        value = self._array((key,), given, width)
        effects = _that_differ({"declared": _as_declared, **readings}, lambda reading: np.ravel(reading(value)))
        return Number(path, self.knob(key, effects, meaning or f"the {key} of {self.stage}"))

    def _by_position(self, given: Any, width: int | None) -> dict[str, Reading]:
        """Numbers whose entries have names, taken in the order of their file by a side that does not look at the names."""
        if not isinstance(given, str) or given not in self.numbers or self.numbers[given].value.size != width:
            return {}
        return {"as_given": _always(self.numbers[given].value)}

    def _other_orders(self, width: int | None) -> dict[str, Reading]:
        """Numbers for each field, read as if they stood in the order of another declared list of the same names."""
        own = [each.name for each in self.inputs[0].fields] if self.inputs else []
        orders = {
            f"in_order_of_{name}": [names.index(each) for each in own]
            for name, names in self.names.items()
            if len(own) == width and sorted(own) == sorted(names) and list(names) != own
        }
        return {name: _reordered(order) for name, order in orders.items()}

    def _kept(self, key: str, given: Any, width: int | None) -> str:
        """The path of the numbers; inline numbers and numbers in another order get a path of their own."""
        value = self._array((key,), given, width)
        path = f"{self.stage}.{key}"
        if isinstance(given, str) and np.array_equal(value, self.numbers[given].value):
            return self.numbers[given].path
        self.constants[path] = value
        return path

    def _array(self, path: tuple[Token, ...], given: Any, width: int | None) -> FloatArray:
        if isinstance(given, str):
            if given in self.not_read:
                raise NotBuilt
            if given not in self.numbers:
                raise unknown(self.at(*path), given, self.numbers, "a name of [numbers]")
            value = self._in_own_order(self.numbers[given])
        else:
            value = to_numbers(given, self.at(*path))
        if width is not None and value.size not in (1, width):
            raise Misdeclared(
                Wrong.WIDTH, self.at(*path), f"{value.size} numbers", f"{width}, as the stage has, or one for all"
            )
        return value

    def _in_own_order(self, numbers: NamedNumbers) -> FloatArray:
        """Numbers whose entries have names, in the order of the stage's own fields."""
        own = [each.name for each in self.inputs[0].fields] if self.inputs else []
        if not numbers.names or sorted(own) != sorted(numbers.names):
            return numbers.value
        return numbers.value[[numbers.names.index(name) for name in own]]

    def whole(self, key: str, *, low: int, default: int | None = None) -> int:
        """A whole number of at least `low`."""
        value = self.table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise self.wrong(Wrong.NUMBERS, key, shown(value), f"a whole number of at least {low}")
        return value

    def word_list(self, key: str) -> tuple[str, ...]:
        """Names: a list of them, or the name of an entry of [names]."""
        value = self.table.get(key)
        if isinstance(value, str):
            if value not in self.names:
                raise unknown(self.at(key), value, self.names, "a name of [names], or a list of field names")
            return self.names[value]
        if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
            raise self.wrong(Wrong.MISSING, key, shown(value), "a list of names, or a name of [names]")
        return tuple(value)


def to_numbers(value: Any, place: tuple[Token, ...]) -> FloatArray:
    """Numbers of a file as float64; Misdeclared for words, truth values, rows of several lengths, NaN and infinity."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = np.array("")
    if array.dtype.kind not in "iuf" or not array.size:
        raise Misdeclared(Wrong.NUMBERS, place, shown(value), "a number or a list of numbers")
    if not np.isfinite(array).all():
        raise Misdeclared(Wrong.NUMBERS, place, shown(value), "finite numbers")
    return array.astype(np.float64)


def _reordered(order: list[int]) -> Reading:
    return lambda declared: declared[order] if declared.size == len(order) else declared


def _as_declared(declared: FloatArray) -> FloatArray:
    return declared


def _that_differ(effects: Mapping[str, Any], shows: Shows) -> dict[str, Any]:
    """The effects that make other numbers than each one before them: 1 / scale is no mistake where scale is 1."""
    kept: dict[str, Any] = {}
    seen: list[FloatArray] = []
    with np.errstate(all="ignore"):
        for name, effect in effects.items():
            made = np.asarray(shows(effect), np.float64)
            if not any(np.allclose(made, other, rtol=_SAME, atol=0.0, equal_nan=True) for other in seen):
                kept[name] = effect
                seen.append(made)
    return kept


def _always(value: FloatArray) -> Reading:
    return lambda _declared: value
