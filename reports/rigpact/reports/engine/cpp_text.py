"""C++ names and literals from the names and numbers of a contract; the templates of headers."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Template

from rigpact.contract.conventions import ChannelOrder, InputOrder, Knob
from rigpact.contract.declared.vocabulary import operations_of_rigpact
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_folder, write_bytes
from rigpact.contract.pages.registry import meaning_of
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.plan import CPP_OPERATIONS, STARTS, Chosen, Read, Step
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.contract.systems.system import NetworkBinding
from rigpact.reference_runtime.graph.native_plan import fed_back, planned_step, stage_without_cpp
from rigpact.reference_runtime.native.library import headers_folder
from rigpact.reports.terminal import template

ENUMERATOR: Mapping[str, str] = {"0": "same_frame", "-1": "one_earlier", "+1": "one_later"}
"""Values that are not C++ identifiers."""
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_NUMBERS_PER_LINE = 12
_NOT_A_NAMESPACE = {"std", "rigpact"}
_KEYWORDS = frozenset(
    (
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
        "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
        "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do",
        "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
        "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
        "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
        "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
        "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
        "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    )
)  # fmt: skip


def checked_namespace(name: str) -> str:
    """The name of a C++ namespace; UnusableInput for a name that C++ does not allow."""
    if not IDENTIFIER.fullmatch(name) or name in _KEYWORDS | _NOT_A_NAMESPACE:
        raise UnusableInput("--namespace", repr(name), "a C++ identifier")
    return name


def identifier(text: str) -> str:
    """A contract's text as a C++ identifier: `97_bytes` gives `n97_bytes`, `x y` `x_y`, `default` `default_`."""
    name = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", text)).strip("_")
    if not name or name[0].isdigit():
        name = f"n{name}"
    return f"{name}_" if name in _KEYWORDS else name


def identifiers(texts: Iterable[str]) -> list[str]:
    """Identifiers for several texts; a repeated one gets a number at its end."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for text in texts:
        name = identifier(text)
        while name in found:
            seen[identifier(text)] += 1
            name = f"{identifier(text)}_{seen[identifier(text)] + 1}"
        found.append(name)
    return found


def type_name(name: str) -> str:
    """`compose_order` -> `ComposeOrder`."""
    return "".join(word.capitalize() for word in name.split("_"))


def enumerator(value: str) -> str:
    """The C++ name of a knob's value."""
    return ENUMERATOR.get(value) or identifier(value)


def template_of(name: str) -> Template:
    """A template of this folder."""
    return template(Path(__file__).parent / "templates" / name)


def lines(texts: list[str]) -> list[str]:
    """The words of an array, with a fixed number in each line."""
    starts = range(0, len(texts), _NUMBERS_PER_LINE)
    return [", ".join(texts[start : start + _NUMBERS_PER_LINE]) for start in starts]


def float_literal(value: Any) -> str:
    """The shortest literal that gives exactly this float32."""
    return f"{np.float32(value)!s}f"


def _double_literal(value: float) -> str:
    if np.isfinite(value):
        return repr(float(value))
    word = "quiet_NaN" if np.isnan(value) else "infinity"
    return f"{'-' * (value < 0)}std::numeric_limits<double>::{word}()"


def float_lines(values: FloatArray) -> list[str]:
    """An array of float32 as lines of literals."""
    return lines([float_literal(value) for value in values.ravel()])


def rounded_up(tolerance: FloatArray) -> FloatArray:
    """Tolerances with three digits, rounded up: more digits have no use, and the header stays small."""
    with np.errstate(divide="ignore"):
        step = 10.0 ** (np.floor(np.log10(np.maximum(tolerance, 1e-30))) - 2)
    return np.asarray(np.where(tolerance > 0, np.ceil(tolerance / step) * step, 0.0)).astype(np.float32)


def string_literal(text: str) -> str:
    """A C++ string literal of UTF-8 bytes; special bytes are octal escapes, which cannot absorb later characters."""
    plain, content = set(range(0x20, 0x7F)) - set(b'"\\?'), text.encode("utf-8", "replace")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in content) + '"'


def comment(text: str) -> str:
    """Text that is safe in a one-line comment."""
    return "".join(character if character.isprintable() and character != "\\" else "_" for character in text)


# The runtime's own headers: copied beside a contract's header, and those whose enumerations both sides name numbers by.
def shared_knobs() -> dict[str, Knob]:
    """The conventions that operations on a character share, by name; without those that are lists."""
    shared = (knob for each in operations_of_rigpact().values() for knob in each.shared)
    knobs = {knob.name: replace(knob, meaning=meaning_of(knob)) for knob in shared}
    return {name: knob for name, knob in sorted(knobs.items()) if not isinstance(knob, InputOrder | ChannelOrder)}


def _readings_header() -> str:
    enumerations: list[tuple[str, str, Collection[str]]] = [("Start", "the value before the first frame", STARTS)]
    for name, each in sorted(operations_of_rigpact().items()):
        if each.readings:
            enumerations.append((f"{type_name(name)}Reading", each.summary, each.readings))
    knobs = [(type_name(name), knob.meaning, knob.values) for name, knob in shared_knobs().items()]
    return template_of("readings.hpp.j2").render(knobs=_rows(knobs), enumerations=_rows(enumerations))


def _rows(enumerations: Iterable[tuple[str, str, Collection[str]]]) -> list[dict[str, Any]]:
    return [
        {"type": name, "meaning": meaning, "words": map(enumerator, words)} for name, meaning, words in enumerations
    ]


def _operations_header() -> str:
    headers = sorted(set(CPP_OPERATIONS.values()))
    return template_of("operations.hpp.j2").render(headers=headers, lines=lines(list(CPP_OPERATIONS)))


OWN_HEADERS: Mapping[str, Callable[[], str]] = {
    "vocabulary/operations.hpp": _operations_header,
    "vocabulary/readings.hpp": _readings_header,
}
"""The generated headers of the runtime itself."""


def copy_headers(folder: str | Path) -> Path:
    """Copy the runtime's headers into `folder`/rigpact and return that folder."""
    return copy_folder(headers_folder() / "rigpact", Path(folder) / "rigpact")


def copy_plugin(folder: str | Path) -> Path:
    """Copy the Unreal plug-in, with the runtime's headers in it, into `folder`/RigpactTrace and return that folder."""
    target = copy_folder(headers_folder().parent / "unreal" / "RigpactTrace", Path(folder) / "RigpactTrace")
    public = copy_headers(target / "Source" / "RigpactTrace" / "Public")
    (public / "c" / "recorder.cpp").unlink()  # Unreal compiles every source file that lies below a module
    return target


# The loop of a contract as C++: its stages as calls of the operations' own functions, from the steps of the plan.
_HOW = "an operation of your own brings its C++ with Operation(cpp=Cpp(FUNCTION, CODE)): docs/own-contract.md"
Rendered = dict[str, Any]


def stage_loop(contract: Contract, layouts: Mapping[str, str]) -> Rendered:
    """What the template of a loop is filled with. layouts: stage -> its namespace under `layout`.

    UnusableInput where C++ has no form of a stage, where a row is of a frame that no engine knows yet, and for windows.
    """
    return _Loop(contract, layouts).rendered()


@dataclass(frozen=True, eq=False)
class _Loop:
    contract: Contract
    layouts: Mapping[str, str]

    def rendered(self) -> Rendered:
        self._refuse()
        graph, every = self.contract.system.graph, [*self._fed_back.items(), *self._steps.items()]
        return {
            "headers": sorted({CPP_OPERATIONS[step.operation] for _, step in every if step.cpp is None}),
            "code": list(self._code()),
            "members": {self.layouts[name]: cpp for name, cpp in self._members.items()},
            "networks": [self._network(cpp, each) for cpp, each in self._networks.items()],
            "given": [self._given(graph[name]) for name in self._outside],
            "computed": [self._row(name) for name in graph.names if name not in self._outside],
            "past": [self._row(name, frames) for name, frames in self._furthest(-1)],
            "ahead": [self._row(name, frames) for name, frames in self._furthest(1)],
            "widest": max(self.contract.fields(name).width for name in graph.names),
            "arrays": [*self._starts(), *(array for name, step in every for array in self._arrays(name, step))],
            "fed_back": [self._call(name, step, "the frame before left it") for name, step in self._fed_back.items()],
            "steps": list(self._calls()),
        }

    def _refuse(self) -> None:
        place, system = self.contract.path, self.contract.system
        if system.windowed:
            raise UnusableInput(place, "a system of windows", "frames, one after the other", "leave --loop out")
        stage = stage_without_cpp(self.contract, takes_own=True)
        if stage is not None:
            found, expected = "an operation without a form in C++", "operations that have one"
            raise UnusableInput(f"{place}, stage {stage.name}", found, expected, _HOW)
        for name, step in self._steps.items():
            late = next((read for read in step.reads if read.lag > 0 and read.stage not in self._outside), None)
            if late is not None:
                found = f"{late.stage}, {late.lag} frames later"
                raise UnusableInput(f"{place}, stage {name}", found, "what is known in its frame", "read a given stage")

    def _code(self) -> Iterator[Rendered]:
        own = {each.operation: each.cpp for each in self._steps.values() if each.cpp is not None}
        for name, cpp in own.items():
            hashed = hashlib.sha256(cpp.code.encode()).hexdigest()[:16].upper()
            yield {"name": comment(name), "guard": f"RIGPACT_OPERATION_{hashed}", "code": cpp.code.strip("\n")}

    @cached_property
    def _steps(self) -> Mapping[str, Step]:
        found: dict[str, Step] = {}
        for stage in self.contract.system.graph:
            try:
                step = planned_step(stage, self.contract)
            except NotKnown:
                continue  # these conventions have no such stage
            if step is not None:
                found[stage.name] = step
        return found

    @cached_property
    def _outside(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self.contract.system.graph if stage.comes_from_outside)

    @cached_property
    def _fed_back(self) -> Mapping[str, Step]:
        carried = (stage for stage in self.contract.system.graph if stage.carried is not None)
        return {stage.name: fed_back(stage, self.contract) for stage in carried}

    @cached_property
    def _members(self) -> Mapping[str, str]:
        names = self.contract.system.graph.names
        return dict(zip(names, identifiers(("State", *names))[1:], strict=True))

    @cached_property
    def _networks(self) -> Mapping[str, NetworkBinding]:
        system = self.contract.system
        known = [each for each in system.networks.values() if each.outputs]
        if not known and system.graph.answers:
            known = [NetworkBinding("network", system.inputs, system.outputs)]
        return dict(zip(identifiers(each.name for each in known), known, strict=True))

    def _network(self, cpp: str, network: NetworkBinding) -> Rendered:
        knobs, inputs = self.contract.system.knobs.values(), network.inputs
        for order in (self.contract.conventions[knob.name] for knob in knobs if isinstance(knob, InputOrder)):
            inputs = order if sorted(order) == sorted(inputs) else inputs
        words = {"inputs": comment(", ".join(inputs)), "outputs": comment(", ".join(network.outputs))}
        return {"cpp": cpp, **words}

    def _row(self, name: str, frames: int = 1) -> Rendered:
        return {"cpp": self._members[name], "layout": self.layouts[name], "frames": frames}

    def _given(self, stage: Stage) -> Rendered:
        carried = comment(stage.carried or "")
        note = f"  // before the first step; then it is {carried} of the frame before" if carried else ""
        return self._row(stage.name) | {"note": note, "start": stage.start is not None}

    def _furthest(self, sign: int) -> Iterator[tuple[str, int]]:
        found: dict[str, int] = {}
        for step in (*self._fed_back.values(), *self._steps.values()):
            for read in step.reads:
                found[read.stage] = max(found.get(read.stage, 0), sign * read.lag)
        return ((name, frames) for name, frames in found.items() if frames > 0)

    def _starts(self) -> Iterator[Rendered]:
        for stage in self.contract.system.graph:
            if stage.start is not None:
                row = float_lines(np.asarray(stage.start(self.contract)))
                yield {"type": "float", "name": f"kStart_{self.layouts[stage.name]}", "lines": row}

    def _arrays(self, name: str, step: Step) -> Iterator[Rendered]:
        words = [_word(step, word) for word in step.words]
        numbers = [_double_literal(float(number)) for number in np.ravel(step.numbers)]
        for kind, type_, values in (("Words", "int", words), ("Numbers", "double", numbers)):
            if values:
                yield {"type": type_, "name": f"k{kind}_{self.layouts[name]}", "lines": lines(values)}

    def _calls(self) -> Iterator[Rendered]:
        for stage in self.contract.system.graph:
            if stage.name in self._steps:
                step = self._steps[stage.name]
                yield self._call(stage.name, step, step.operation)
            for cpp, network in self._networks.items():
                answers = [name for name in self.contract.system.graph.answers if name in network.outputs]
                if answers[:1] == [stage.name]:
                    yield {"network": cpp, "says": comment(", ".join(answers))}

    def _call(self, name: str, step: Step, how: str) -> Rendered:
        pointers = {
            kind: f"detail::k{kind.title()}_{self.layouts[name]}" if len(values) else "nullptr"
            for kind, values in (("words", step.words), ("numbers", np.ravel(step.numbers)))
        }
        function = f"rigpact::vocabulary::{step.operation}" if step.cpp is None else step.cpp.function
        reads = [self._read(read) for read in step.reads]
        row = self._row(name) | {"network": "", "says": f"{comment(name)}: {comment(how)}"}
        return row | pointers | {"function": function, "reads": reads}

    def _read(self, read: Read) -> str:
        cpp = self._members[read.stage]
        if read.lag > 0:
            return f"s.ahead_.{cpp}[{read.lag - 1}]"
        if read.lag < 0:
            return f"s.past_.{cpp}.at(s.frame_, {-read.lag}, Start::{enumerator(read.start)}, s.{cpp})"
        return f"s.{cpp}"


def _word(step: Step, word: int | str | Chosen) -> str:
    if isinstance(word, Chosen):
        return f"static_cast<int>(rigpact::{type_name(word.knob)}::{enumerator(word.reading)})"
    if not isinstance(word, str):
        return str(int(word))
    return f"static_cast<int>(rigpact::vocabulary::{type_name(step.operation)}Reading::{enumerator(word)})"


if __name__ == "__main__":
    for own_name, header in OWN_HEADERS.items():
        write_bytes(headers_folder() / "rigpact" / own_name, header().encode())
