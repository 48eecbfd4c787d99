"""An operation, and the facts of one use of it.

An operation is one thing that runtimes do to numbers: scale, select by name, keep a history, turn by a quaternion. It is found
through the entry points `rigpact.operations`, so a package can bring its own. A declared stage names an operation and its
parameters; `Operation.build` makes of it what a stage needs. To add one: see `rigpact.reference_runtime.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob, ModelKnob, that_differ
from rigpact.contract.declared.sources import to_numbers
from rigpact.contract.declared.values import Choice, NamedNumbers, Number, Profile, always, as_declared, reordered
from rigpact.contract.errors import Misdeclared, NotBuilt, Wrong, near, shown, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.plan import Cpp, Planned
from rigpact.contract.systems.stage import RAW, Bound, Compute, Judged, Measure
from rigpact.contract.systems.system import NetworkBinding

Reading = Callable[[FloatArray], FloatArray]
"""What a side that reads a number in its own way makes of it."""
Shows = Callable[[Any], FloatArray]
"""What an effect of a choice makes of sample numbers."""
_REQUIRED: Any = object()


@dataclass(frozen=True)
class Input:
    """A stage that an operation reads: its name and its fields."""

    name: str
    fields: FieldLayout


@dataclass(frozen=True, eq=False)
class Built:
    """What an operation makes of one use: the fields of its result, how it is computed, how far rounding moves it.

    fields may be a function of the contract, where a character makes them. The others are as a `Stage` has them.
    """

    fields: FieldLayout | Callable[[Any], FieldLayout]
    compute: Compute
    bound: Bound | None = None
    reach: tuple[int, int] | Callable[[Any], tuple[int, int]] = (0, 0)
    measure: Measure = RAW
    is_answer: bool = False
    is_propagated: bool = False
    planned: Planned | None = None
    may_use: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()
    carried: str | None = None
    driven_ahead: int = 0
    other_way: Compute | None = None
    source: str = ""
    undone: Compute | None = None
    judged: Judged | None = None
    details: Callable[[Any], Any] | None = None
    from_clip: bool = False
    in_place: Callable[[Any], Callable[[], None] | None] | None = None


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation of the vocabulary.

    parameters: each parameter with what it means. inputs: fewest and most stages that it reads. choices: the parameters that
    choose a convention; one that a declaration leaves out is left open. code: lines of code for the readings of parameters.
    readings: the words of the choice that C++ makes too, as `vocabulary/readings.hpp` numbers them. shared: conventions of the
    whole contract that it looks at, under one name at every stage. only_on_pages: it computes with what a reader brings, the
    layouts and statistics of a character; no file of numbers does. cpp: the C++ of an operation from outside; its steps name the
    operation itself.
    """

    name: str
    summary: str
    build: Callable[[Use], Built]
    parameters: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[int, int] = (1, 1)
    choices: tuple[str, ...] = ()
    code: Mapping[str, Mapping[str, CodeHint]] = field(default_factory=dict)
    readings: Collection[str] = ()
    shared: tuple[Knob, ...] = ()
    only_on_pages: bool = False
    cpp: Cpp | None = None

    def number_of(self, reading: str) -> int:
        """A reading as C++ takes it."""
        return {word: number for number, word in enumerate(self.readings)}[reading]


@dataclass(eq=False)
class Use:
    """One use of an operation: a stage of a declaration. Every parameter that is read is known; the others are mistakes.

    declared: the fields that the stage itself declares. network: the one that gives the stage. profile: whose conventions hold
    where the stage does not say them; operation: as profiles know it. not_read: names of [numbers] with a mistake of their own.
    code: the operation's lines of code. conventions: what [conventions] says of a STAGE.PARAMETER, or of a shared one by its
    name. slices: what a page says of a character's.
    only_named: nothing but what [conventions] names is read otherwise. knobs, constants: what was read so far. left_open:
    conventions, with keys.
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
    operation: str = ""
    not_read: Collection[str] = ()
    code: Mapping[str, Mapping[str, CodeHint]] = field(default_factory=dict)
    conventions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    only_named: bool = False
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
        names, found = list(known), self.table.get(key)
        if found is None:
            return self.missing(key, f"one of {', '.join(names)}")
        return Misdeclared(Wrong.CHOICE, self.at(key), shown(found), f"one of {', '.join(names)}", near(found, names))

    def value_of(self, number: Number) -> FloatArray:
        """The declared numbers of a parameter."""
        owner, key = number.path.split(".", 1)
        return self.numbers[key].value if owner == "numbers" else self.constants[number.path]

    def choice(
        self,
        key: str,
        effects: Mapping[str, Any],
        meaning: str,
        hints: Mapping[str, str] | None = None,
        *,
        default: str | None = None,
        shows: Shows | None = None,
        is_in_model: bool = False,
    ) -> Choice:
        """A convention: the declared value first, then the readings of other sides.

        One that the declaration leaves out is left open: the first value is taken, and a finding says so. With `default` it
        may be left out, and so it may where the declaration's profile says it. A stage may also name it in `left_open`: then
        the word of the declaration is only assumed. shows, is_in_model: as in `knob`.
        """
        declared = self.table.get(key, default)
        if declared is None and self.profile is not None:
            declared = self.profile.choice(self.operation, key)
        if declared is None and self.only_named:
            raise self.not_one_of(key, effects)
        is_open = declared is None or key in self.table.get("left_open", ())
        if declared is None:
            declared = next(iter(effects))
        if not isinstance(declared, str) or declared not in effects:
            raise self.not_one_of(key, effects)
        ordered = {declared: effects[declared], **effects}
        choice = self.knob(key, ordered, meaning, hints, shows=shows, is_in_model=is_in_model)
        if is_open and choice.knob is not None:
            self.left_open.append((choice.knob, key))
        return choice

    def knob(
        self,
        key: str,
        effects: Mapping[str, Any],
        meaning: str,
        hints: Mapping[str, str] | None = None,
        *,
        shows: Shows | None = None,
        is_in_model: bool = False,
    ) -> Choice:
        """A place where sides differ, under its name in this contract; `[conventions]` gives it another.

        is_in_model: the sides differ in the model itself; an effect makes other bytes of its file.
        shows: what an effect makes of sample numbers under this use's parameters. Effects that make the same of them are one
        reading: to keep a history of one frame newest first or oldest first is not a difference.
        """
        said = self.said(key)
        if "readings" in said:
            for word in filter(None, said["readings"].values()):
                if word not in effects:
                    raise unknown(self.at(key), word, effects, f"a reading of {key}")
            first = next(iter(effects))
            return self.named(key, first, effects[first], effects.__getitem__, meaning)
        if self.only_named and "name" not in said:
            effects = dict([next(iter(effects.items()))])
        readings, effects = effects, effects if shows is None else that_differ(effects, shows)
        if len(effects) == 1:
            [(word, only)] = effects.items()
            return Choice(only, word=word)
        words, code = hints or {}, self.code.get(key, {})
        both = {
            value: replace(row, words=words.get(value, row.words)) for value, row in code.items() if value in effects
        }
        called = self._called(key, effects, readings)
        every: dict[str, str | CodeHint] = {**words, **both}
        own = {said_as: every[value] for value, said_as in called.items() if value in every}
        knob = (ModelKnob if is_in_model else Knob)(
            said.get("name", f"{self.stage}.{key}"),
            {said_as: effects[value] for value, said_as in called.items()},
            said.get("meaning", meaning),
            {**own, **{value: _in_words(own.get(value), words) for value, words in said.get("hints", {}).items()}},
            advice=said.get("advice", ""),
            in_training=said.get("in_training"),
        )
        self.knobs.append(knob)
        return Choice(knob=knob, readings={said_as: value for value, said_as in called.items()})

    def named(self, key: str, declared: Any, own: Any, effect: Callable[[Any], Any], meaning: str) -> Choice:
        """What each reading is here, of a convention that says so of each of its places; own: what is `declared` does."""
        said = self.said(key)
        if "readings" not in said:
            return Choice(own)
        here = {name: declared if word is None else word for name, word in said["readings"].items()}
        effects = {name: own if word == declared else effect(word) for name, word in here.items()}
        means = said.get("meaning", meaning)
        knob = Knob(said["name"], effects, means, _hints(said), advice=said.get("advice", ""))
        self.knobs.append(knob)
        return Choice(knob=knob, readings=here)

    def share(self, knob: Knob) -> None:
        """Take a convention of the whole contract; the page says its value, and may say more of it."""
        said = dict(self.conventions.get(knob.name, {}))
        value = said.pop("value", next(iter(knob.effects)))
        if value not in knob.effects:
            raise unknown(("conventions", knob.name, "value"), value, knob.effects, f"a reading of {knob.name}")
        said |= {"effects": {value: knob.effects[value], **knob.effects}, "hints": _hints(said)}
        said.pop("code", None)
        self.knobs.append(replace(knob, **said))

    def word(self, key: str) -> str:
        """A parameter of one word."""
        value = self.table.get(key)
        if not isinstance(value, str):
            raise self.missing(key, "a word")
        return value

    def said(self, key: str) -> Mapping[str, Any]:
        """What the page says of the convention that a parameter is."""
        return self.conventions.get(f"{self.stage}.{key}", {})

    def _called(self, key: str, effects: Mapping[str, Any], readings: Mapping[str, Any]) -> dict[str, str]:
        """The effects that the page lets be, in its order, the declared first, by its own words; readings: all that there are."""
        said = self.said(key)
        words, only = said.get("words", {}), said.get("only", list(effects))
        for reading in (*words, *only):
            if reading not in readings:
                raise unknown(self.at(key), reading, readings, f"a reading of {key}")
        if next(iter(effects)) not in only:
            raise self.wrong(Wrong.CHOICE, key, next(iter(effects)), f"one of {', '.join(only)}")
        return {value: words.get(value, value) for value in (next(iter(effects)), *only) if value in effects}

    def number(
        self,
        key: str,
        width: int | None = None,
        *,
        default: Any = _REQUIRED,
        meaning: str = "",
        misread: Mapping[str, Reading] | None = None,
        hints: Mapping[str, str] | None = None,
        is_table: bool = False,
    ) -> Number:
        """A parameter of numbers: inline, or a name of `numbers`, or a row for each of several; one number, or `width`.

        is_table: never one for all. misread: other sides' readings; a table {value, wrong = {NAME = NUMBERS}} adds the author's.
        """
        given = self.table.get(key, default)
        if given is _REQUIRED:
            raise self.missing(key, f"{key}: numbers, or a name of [numbers]")
        wrong: Mapping[str, Any] = self.said(key).get("wrong", {})
        if isinstance(given, Mapping):
            given, wrong = given.get("value", _REQUIRED), given.get("wrong", {})
            if given is _REQUIRED:
                raise self.wrong(Wrong.MISSING, key, "a table without value", "value = NUMBERS")
        value = self._array((key,), given, width)
        if is_table and value.size != width:
            raise self.wrong(Wrong.WIDTH, key, f"{value.size} numbers", f"{width}, each of its own")
        path = self._kept(key, given, value)
        if "readings" in self.said(key):
            effect = partial(self._named_reading, key, width, misread or {})
            return Number(path, self.named(key, given, as_declared, effect, meaning))
        readings: dict[str, Reading] = {
            **(misread or {}),
            **self._by_position(given, width),
            **self._other_orders(width),
        }
        for name, other in wrong.items():
            readings[name] = always(self._array((key, "wrong", name), other, width))
        every = {"declared": as_declared, **readings}
        means = meaning or f"the {key} of {self.stage}"
        return Number(path, self.knob(key, every, means, hints, shows=lambda reading: np.ravel(reading(value))))

    def _named_reading(self, key: str, width: int | None, misread: Mapping[str, Reading], other: Any) -> Reading | str:
        """The operation's own reading, other numbers, or the path of others of the contract."""
        if isinstance(other, str) and other in misread:
            return misread[other]
        value = self._array((key,), other, width)
        return self.numbers[other].path if isinstance(other, str) else always(value)

    def _by_position(self, given: Any, width: int | None) -> dict[str, Reading]:
        """Numbers whose entries have names, taken in the order of their file by a side that does not look at the names."""
        if not isinstance(given, str) or given not in self.numbers or self.numbers[given].value.size != width:
            return {}
        return {"as_given": always(self.numbers[given].value)}

    def _other_orders(self, width: int | None) -> dict[str, Reading]:
        own = [each.name for each in self.inputs[0].fields] if self.inputs else []
        orders = {
            f"in_order_of_{name}": [names.index(each) for each in own]
            for name, names in self.names.items()
            if len(own) == width and sorted(own) == sorted(names) and list(names) != own
        }
        return {name: reordered(order) for name, order in orders.items()}

    def _kept(self, key: str, given: Any, value: FloatArray) -> str:
        if isinstance(given, str) and np.array_equal(value, self.numbers[given].value):
            return self.numbers[given].path
        self.constants[f"{self.stage}.{key}"] = value
        return f"{self.stage}.{key}"

    def _array(self, path: tuple[Token, ...], given: Any, width: int | None) -> FloatArray:
        if isinstance(given, str):
            if given in self.not_read:
                raise NotBuilt
            if given not in self.numbers:
                raise unknown(self.at(*path), given, self.numbers, "a name of [numbers]")
            value = self._in_own_order(self.numbers[given])
        elif isinstance(given, list) and any(isinstance(each, str) for each in given):
            rows = [self._array((*path, place), each, None).tolist() for place, each in enumerate(given)]
            value = to_numbers(rows, self.at(*path))
        else:
            value = to_numbers(given, self.at(*path))
        if width is not None and value.size not in (1, width):
            raise Misdeclared(
                Wrong.WIDTH, self.at(*path), f"{value.size} numbers", f"{width}, as the stage has, or one for all"
            )
        return value

    def _in_own_order(self, numbers: NamedNumbers) -> FloatArray:
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


def _hints(said: Mapping[str, Any]) -> dict[str, str | CodeHint]:
    words, code = said.get("hints", {}), said.get("code", {})
    return {**words, **{name: CodeHint(cpp, line, words.get(name, "")) for name, (cpp, line) in code.items()}}


def _in_words(hint: str | CodeHint | None, words: str) -> str | CodeHint:
    return replace(hint, words=words) if isinstance(hint, CodeHint) else words
