"""Integrate: state + dt · rate, for positions, features and whatever a network gives as a derivative."""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.declared.values import Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, sum_of, wide

_STEP_READINGS: Mapping[str, Reading] = {
    "left_out": np.ones_like,
    "squared": lambda step: step * step,
    "half_of_it": lambda step: 0.5 * step,
    "divided_by": lambda step: 1.0 / step,
}
_STEP_HINTS = {
    "left_out": "rates are added whole, as if a frame took a second",
    "squared": "the time of a frame is multiplied in twice: on the rate, and once more where it is added",
    "half_of_it": "half a frame's time: the loop runs twice as often as the step says, or the rate is halved",
    "divided_by": "frames per second instead of seconds per frame",
}
_MEANINGS = {
    "derivative": lambda state, rate, step: state + step * rate,
    "absolute": lambda _state, rate, _step: rate,
    "delta": lambda state, rate, _step: state + rate,
    "negated": lambda state, rate, step: state - step * rate,
    "skipped": lambda state, _rate, _step: state,
}


def time_step(use: Use) -> Number:
    """The seconds that a rate is multiplied by: the time of a frame where the stage does not say them."""
    frame = None if use.fps is None else 1.0 / use.fps
    meaning = f"the seconds of a frame in {use.stage}"
    return use.number("step", 1, default=frame, meaning=meaning, misread=_STEP_READINGS, hints=_STEP_HINTS)


def build(use: Use) -> Built:
    """of = [state, rate]; the step is a frame's duration if it is left out."""
    state, rate = use.inputs
    if state.fields.width != rate.fields.width:
        raise Misdeclared(
            Wrong.WIDTH,
            use.at("of"),
            f"{state.fields.width} and {rate.fields.width} numbers",
            "a state and a rate of one width",
        )
    step = time_step(use)
    probe = samples(1)
    means = use.choice("rate_means", _MEANINGS, f"the meaning of {rate.name}", {
        "delta": "the numbers are added without the step: they are a rate per second",
        "absolute": "the numbers are taken as the new state: they are a rate",
    }, default="derivative", shows=lambda combine: combine(probe, probe[::-1], use.value_of(step).reshape(-1)))  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        rows = (wide(frames, each.name) for each in (state, rate))
        return stored(means.of(frames)(*rows, step.of(frames).reshape(-1)))

    def terms(frames: Frames) -> FloatArray:
        """The sizes of the two terms: what is left of each without the other."""
        rows, rates = np.abs(wide(frames, state.name)), np.abs(wide(frames, rate.name))
        combine, size = means.of(frames), step.of(frames).reshape(-1)
        return np.asarray(np.abs(combine(rows, 0.0 * rates, size)) + np.abs(combine(0.0 * rows, rates, size)))

    def planned(frames: Frames) -> Step:
        words = (means.word_of(frames),)
        return Step("integrate", (Read(state.name), Read(rate.name)), words, step.row(frames, 1))

    return Built(state.fields, compute, sum_of(_OPERATIONS, terms), planned=planned)


_OPERATIONS = 4
"""The step is stored, a product, a sum, and the result is stored on the other side."""
OPERATION = Operation(
    "integrate", "state + step · rate", build,
    {"step": "seconds of a frame, 1/fps if left out", "rate_means": ", ".join(_MEANINGS)}, (2, 2),
    code=CODE_HINTS["integrate"], readings=_MEANINGS,
)  # fmt: skip
