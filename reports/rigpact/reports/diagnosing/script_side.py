"""A function of a script as one side of a comparison: `reference.py:step` is called on the inputs that a recording holds.

The function runs because the command line names it, and in a process of its own. Its parameters are names of recorded arrays. It
is called row by row where it takes one row, else once with all rows.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput, error_text, line_of
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reports.beside import imported, module_of_file, process_pool

Rows = Mapping[str, FloatArray]
Step = Callable[..., Any]


@dataclass(frozen=True)
class Script:
    """A function of a Python file. state: parameter -> the result that it takes over from the row before."""

    path: Path
    function: str
    state: Mapping[str, str]

    @property
    def place(self) -> str:
        """The function as the command line names it."""
        return f"{self.path}:{self.function}"


def named_script(words: Path, state: Sequence[str] = ()) -> Script | None:
    """The function that FILE.py:FUNCTION names; None for another file. state: PARAMETER=RESULT each."""
    match = re.fullmatch(r"(.+\.py):([A-Za-z_]\w*)", str(words))
    if match is None:
        return None
    pairs = {}
    for each in state:
        parameter, is_pair, result = each.partition("=")
        if not (is_pair and parameter and result):
            raise UnusableInput("--state", repr(each), "PARAMETER=RESULT: the result that a parameter takes over")
        pairs[parameter] = result
    return Script(Path(match[1]), match[2], pairs)


@dataclass(frozen=True)
class Made:
    """What a function made, (T, width) each, and the recorded arrays that it was given."""

    results: Mapping[str, FloatArray]
    inputs: tuple[str, ...]


def results_of(script: Script, recorded: Rows) -> Made:
    """What the function makes of the recorded rows, in a process of its own; UnusableInput with its error."""
    code = read_bytes(script.path)
    with process_pool(1) as pool:
        try:
            found = pool.submit(_called, script, code, dict(recorded)).result()
        except BrokenProcessPool:
            raise UnusableInput(script.place, "a function that ended its process", "a function that returns") from None
    if isinstance(found, UnusableInput):
        raise found
    return found


def _called(script: Script, code: bytes, recorded: Rows) -> Made | UnusableInput:
    """The results, or the error to be said: an error of the user's own class might not come through to the other process."""
    try:
        missing = "its imports must be installed, or in a folder of PYTHONPATH"
        module = imported(str(script.path), partial(module_of_file, script.path, code), missing)
        return results_of_step(_function(module, script), recorded, script.state, script.place)
    except UnusableInput as error:
        return error


def _function(module: ModuleType, script: Script) -> Step:
    step: Step | None = getattr(module, script.function, None)
    if not callable(step):
        known = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise UnusableInput(script.place, "no such function", f"one of {', '.join(known) or 'its functions'}")
    return step


def results_of_step(step: Step, recorded: Rows, state: Mapping[str, str], place: str) -> Made:
    """What a function makes of recorded rows. state: parameter -> result of the row before; place: what errors call it."""
    names = _inputs(step, recorded, state, place)
    inputs = {name: recorded[name] for name in names if name not in state}
    count = min(map(len, inputs.values()), default=0)
    if not count:
        raise UnusableInput(place, "no recorded input", "parameters that are names of recorded arrays")
    carried = _first_state(step, recorded, state, place)
    first = _one_row(step, {name: each[0] for name, each in inputs.items()} | carried)
    if isinstance(first, Exception):
        if state:
            raise _failed(place, 0, first)
        return Made(_at_once(step, inputs, count, first, place), tuple(inputs))
    for name, result in state.items():
        if result not in first:
            raise UnusableInput("--state", f"{name}={result}", f"a result of {place}: {', '.join(first)}")
    rows = {name: [each] for name, each in first.items()}
    for row in range(1, count):
        before = {
            name: recorded[name][row - 1] for name in first if name in recorded
        }  # so no mistake spreads to later rows
        carried = {name: before.get(result, rows[result][-1]) for name, result in state.items()}
        found = _one_row(step, {name: each[row] for name, each in inputs.items()} | carried)
        if isinstance(found, Exception):
            raise _failed(place, row, found)
        if {name: each.shape for name, each in found.items()} != {name: each.shape for name, each in first.items()}:
            raise UnusableInput(f"{place}, row {row}", "results of another size", "as in the first row")
        for name, each in found.items():
            rows[name].append(each)
    return Made({name: np.stack(each) for name, each in rows.items()}, tuple(inputs))


def _first_state(step: Step, recorded: Rows, state: Mapping[str, str], place: str) -> dict[str, FloatArray]:
    """What is carried into the first row: the recorded one, zeros as wide as its recorded result, or the parameter's default."""
    found = {}
    for name, result in state.items():
        if name in recorded:
            found[name] = recorded[name][0]
        elif result in recorded:
            found[name] = np.zeros(recorded[result].shape[1])
        elif inspect.signature(step).parameters[name].default is inspect.Parameter.empty:
            expected = f"a default of {name}, or a recording of {result}"
            raise UnusableInput(place, f"nothing that says what {name} is in the first row", expected)
    return found


def _inputs(step: Step, recorded: Rows, state: Mapping[str, str], place: str) -> list[str]:
    """The parameters that are given: every one that is recorded or carried; UnusableInput for another without a default."""
    parameters = inspect.signature(step).parameters
    for name in state:
        if name not in parameters:
            raise UnusableInput("--state", name, f"a parameter of {place}: {', '.join(parameters)}")
    for name, parameter in parameters.items():
        is_needed = parameter.default is parameter.empty and parameter.kind not in (2, 4)
        if is_needed and name not in recorded and name not in state:
            near = get_close_matches(name, recorded, 1)
            hint = f"did you mean {near[0]}?" if near else f"--state {name}=RESULT for what the function carries"
            raise UnusableInput(place, f"the parameter {name}", f"a recorded array: {', '.join(recorded)}", hint)
    return [name for name in parameters if name in recorded or name in state]


def _one_row(step: Step, arguments: Rows) -> dict[str, FloatArray] | Exception:
    """The results of one row; the error where the function takes no single row."""
    try:
        found = _named(step(**arguments), step)
    except Exception as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
        return error
    return found if all(each.ndim == 1 for each in found.values()) else ValueError("more than one row")


def _at_once(step: Step, inputs: Rows, count: int, first: Exception, place: str) -> dict[str, FloatArray]:
    """The results of a function that takes all rows. first: its error where it was given one."""
    try:
        found = _named(step(**inputs), step)
    except Exception as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
        raise UnusableInput(
            place, f"{error_text(error)}{line_of(error, place.rpartition(':')[0])}", "a function of one row, or of all rows",
            f"with one row: {error_text(first)}",
        ) from None  # fmt: skip
    for name, each in found.items():
        if not each.ndim or len(each) != count:
            raise UnusableInput(place, f"{name} of the shape {each.shape}", f"{count} rows, as the recording has")
    return {name: each.reshape(count, -1) for name, each in found.items()}


def _named(result: Any, step: Step) -> dict[str, FloatArray]:
    """Results by name: a mapping, or one array under the name of the function; a number is an array of one."""
    named = dict(result) if isinstance(result, Mapping) else {step.__name__: result}
    return {str(name): np.atleast_1d(np.asarray(each, np.float64)) for name, each in named.items()}


def _failed(place: str, row: int, error: Exception) -> UnusableInput:
    found = f"{error_text(error)}{line_of(error, place.rpartition(':')[0])}"
    return UnusableInput(f"{place}, row {row}", found, "a result for every recorded row")
