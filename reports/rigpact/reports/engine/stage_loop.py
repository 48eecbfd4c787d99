"""The loop of a contract as C++: its stages as calls of the operations' own functions, from the steps of the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rigpact.contract.conventions import InputOrder
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.plan import CPP_OPERATIONS, Chosen, Cpp, Read, Step
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.contract.systems.system import NetworkBinding
from rigpact.reference_runtime.graph.native_plan import fed_back, planned_step, stage_without_cpp
from rigpact.reports.engine import cpp_text
from rigpact.reports.engine.cpp_text import comment

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
        """Everything; refuses first."""
        self._refuse()
        graph, every = self.contract.system.graph, [*self._fed_back.items(), *self._steps.items()]
        return {
            "headers": sorted({CPP_OPERATIONS[step.operation] for _, step in every if step.cpp is None}),
            "code": [_guarded(name, each) for name, each in self._own.items()],
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

    @cached_property
    def _own(self) -> Mapping[str, Cpp]:
        """The C++ of operations from outside, by the operation."""
        return {each.operation: each.cpp for each in self._steps.values() if each.cpp is not None}

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
        """The stages that the engine writes before each step."""
        return tuple(stage.name for stage in self.contract.system.graph if stage.comes_from_outside)

    @cached_property
    def _fed_back(self) -> Mapping[str, Step]:
        carried = (stage for stage in self.contract.system.graph if stage.carried is not None)
        return {stage.name: fed_back(stage, self.contract) for stage in carried}

    @cached_property
    def _members(self) -> Mapping[str, str]:
        """Stage -> its member of State, which cannot have that name itself."""
        names = self.contract.system.graph.names
        return dict(zip(names, cpp_text.identifiers(("State", *names))[1:], strict=True))

    @cached_property
    def _networks(self) -> Mapping[str, NetworkBinding]:
        """The networks by their C++ names."""
        system = self.contract.system
        known = [each for each in system.networks.values() if each.outputs]
        if not known and system.graph.answers:
            known = [NetworkBinding("network", system.inputs, system.outputs)]
        return dict(zip(cpp_text.identifiers(each.name for each in known), known, strict=True))

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
        """The stages that are read at other frames, each with how far away at most; sign: of the lag."""
        found: dict[str, int] = {}
        for step in (*self._fed_back.values(), *self._steps.values()):
            for read in step.reads:
                found[read.stage] = max(found.get(read.stage, 0), sign * read.lag)
        return ((name, frames) for name, frames in found.items() if frames > 0)

    def _starts(self) -> Iterator[Rendered]:
        for stage in self.contract.system.graph:
            if stage.start is not None:
                row = cpp_text.float_lines(np.asarray(stage.start(self.contract)))
                yield {"type": "float", "name": f"kStart_{self.layouts[stage.name]}", "lines": row}

    def _arrays(self, name: str, step: Step) -> Iterator[Rendered]:
        words = [_word(step, word) for word in step.words]
        numbers = [cpp_text.double_literal(float(number)) for number in np.ravel(step.numbers)]
        for kind, type_, values in (("Words", "int", words), ("Numbers", "double", numbers)):
            if values:
                yield {"type": type_, "name": f"k{kind}_{self.layouts[name]}", "lines": cpp_text.lines(values)}

    def _calls(self) -> Iterator[Rendered]:
        """The stages in the order of the loop; a network is called where its first answer stands."""
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
            return f"s.past_.{cpp}.at(s.frame_, {-read.lag}, Start::{cpp_text.enumerator(read.start)}, s.{cpp})"
        return f"s.{cpp}"


def _word(step: Step, word: int | str | Chosen) -> str:
    if isinstance(word, Chosen):
        return f"static_cast<int>(rigpact::{cpp_text.type_name(word.knob)}::{cpp_text.enumerator(word.reading)})"
    if not isinstance(word, str):
        return str(int(word))
    return f"static_cast<int>(rigpact::vocabulary::{cpp_text.type_name(step.operation)}Reading::{cpp_text.enumerator(word)})"


def _guarded(name: str, cpp: Cpp) -> Rendered:
    """The C++ of an operation, once in a program that has several contracts."""
    hashed = hashlib.sha256(cpp.code.encode()).hexdigest()[:16].upper()
    return {"name": comment(name), "guard": f"RIGPACT_OPERATION_{hashed}", "code": cpp.code.strip("\n")}
