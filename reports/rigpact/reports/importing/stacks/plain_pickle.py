"""A pickle read as data. Nothing that a file names is imported or called, and the module `pickle` is not used.

`pickletools` takes the bytes apart; here is what each opcode of a table of tensors means. Any other opcode is refused. A name of
the file is text. Where the file calls one, a table of the caller says which function of ours answers; any other is refused.
To read more: an opcode in `_OPCODES`, or a name in the caller's table.
"""

import io
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_OPCODES = 1 << 20
"""A tensor takes about 25. This is a network of forty thousand tensors."""


class Unreadable(ValueError):
    """Bytes that are not a table of tensors, with the fault in words."""


@dataclass(frozen=True)
class Name:
    """What a file names, `module.attribute`, as text."""

    words: str


class ScriptObject(dict[Any, Any]):
    """An object of a class that the file itself defines: its attributes by name."""


Call = Callable[[tuple[Any, ...]], Any]


def read_pickle(stream: io.BytesIO, calls: Mapping[str, Call], stored: Call) -> Any:
    """The value of the pickle that begins here, the stream behind it. Unreadable for anything but a table of tensors.

    calls: the functions that answer for a name; `module.*` for every name of a module. stored: answers for a storage.
    """
    machine = _Machine(calls, stored)
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
            if count > MAX_OPCODES:
                raise Unreadable(f"more than {MAX_OPCODES} steps")
            step = _OPCODES.get(opcode.name)
            if step is None:
                raise Unreadable(f"a pickle that asks for {opcode.name}")
            step(machine, argument)
        return machine.pop()
    except (LookupError, OverflowError):
        raise Unreadable("a damaged pickle") from None
    except ValueError as error:
        raise error if isinstance(error, Unreadable) else Unreadable("a damaged pickle") from None


class _Machine:
    """The stack of a pickle, the stacks under its marks, and what it keeps by number."""

    def __init__(self, calls: Mapping[str, Call], stored: Call) -> None:
        self.calls, self.stored = calls, stored
        self.stack: list[Any] = []
        self.under: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop()

    def popped(self, kind: type[Any]) -> Any:
        """What is on top, of a kind that it has to be."""
        value = self.pop()
        if not isinstance(value, kind):
            raise Unreadable(f"a pickle with a {type(value).__name__} where a {kind.__name__} belongs")
        return value

    def mark(self) -> None:
        self.under.append(self.stack)
        self.stack = []

    def above_mark(self) -> list[Any]:
        found, self.stack = self.stack, self.under.pop()
        return found

    def call(self) -> None:
        given, name = self.popped(tuple), self.popped(Name).words
        answer = self.calls.get(name) or self.calls.get(name.partition(".")[0] + ".*")
        if answer is None:
            raise Unreadable(f"a pickle that calls {name[:60]}")
        self.push(answer(given))

    def set_items(self, pairs: list[Any]) -> None:
        table = self.popped(dict)
        if len(pairs) % 2:
            raise Unreadable("a key without a value")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str | int | float | None):
                raise Unreadable(f"a {type(key).__name__} as a key")
            table[key] = value
        self.push(table)

    def build(self) -> None:
        """Give an object its attributes. Those of an ordered dictionary say nothing of its tensors."""
        state, table = self.popped(dict), self.popped(dict)
        if isinstance(table, ScriptObject):
            table.update(state)
        self.push(table)

    def appended(self, values: list[Any]) -> None:
        rows = self.popped(list)
        rows.extend(values)
        self.push(rows)

    def name(self, module: str, attribute: str) -> None:
        self.push(Name(f"{module}.{attribute}"))

    def last(self, count: int) -> list[Any]:
        """So many values from the top, in the order in which they were pushed."""
        return [self.pop() for _ in range(count)][::-1]


_Step = Callable[[_Machine, Any], None]


def _constant(make: Callable[[], Any]) -> _Step:
    return lambda machine, _: machine.push(make())


def _tuple(count: int) -> _Step:
    return lambda machine, _: machine.push(tuple(machine.last(count)))


_OPCODES: Mapping[str, _Step] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda *_: None),  # they say something of the bytes only
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"), lambda machine, value: machine.push(value)),
    **dict.fromkeys(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"), lambda machine, value: machine.push(value)),
    "NONE": _constant(lambda: None), "NEWTRUE": _constant(lambda: True), "NEWFALSE": _constant(lambda: False),
    "EMPTY_LIST": _constant(list), "EMPTY_DICT": _constant(dict), "EMPTY_TUPLE": _constant(tuple),
    "TUPLE1": _tuple(1), "TUPLE2": _tuple(2), "TUPLE3": _tuple(3),
    "MARK": lambda machine, _: machine.mark(),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.above_mark())),
    "APPEND": lambda machine, _: machine.appended(machine.last(1)),
    "APPENDS": lambda machine, _: machine.appended(machine.above_mark()),
    "SETITEM": lambda machine, _: machine.set_items(machine.last(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.above_mark()),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), lambda machine, number: machine.memo.update({number: machine.stack[-1]})),
    "MEMOIZE": lambda machine, _: machine.memo.update({len(machine.memo): machine.stack[-1]}),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda machine, number: machine.push(machine.memo[number])),
    "GLOBAL": lambda machine, words: machine.name(*words.split(" ", 1)) if " " in words else machine.name("", words),
    "STACK_GLOBAL": lambda machine, _: machine.name(*map(str, machine.last(2))),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), lambda machine, _: machine.call()),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.push(machine.stored((machine.pop(),))),
}  # fmt: skip
