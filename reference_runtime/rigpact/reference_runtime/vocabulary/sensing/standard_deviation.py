"""Standard deviation: what a log-variance means, under a calibration's temperature."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

LIKELIHOOD_FLOOR = 1e-6
"""What a training's likelihood adds to a variance."""
_SPREADS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "variance": lambda log_variance: FUNCTIONS["exp"](0.5 * log_variance),
    "log_is_of_sigma": FUNCTIONS["exp"],
    "softplus": lambda log_variance: np.sqrt(FUNCTIONS["softplus"](log_variance)),
    "with_floor": lambda log_variance: np.sqrt(FUNCTIONS["exp"](log_variance) + LIKELIHOOD_FLOOR),
}
_TEMPERATURES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "applied": lambda temperature: temperature,
    "none": np.ones_like,
}


def build(use: Use) -> Built:
    """exp of half the log-variance, times the temperature."""
    source, factor = use.inputs[0], use.number("temperature", 1)
    spread = use.choice("spread", _SPREADS, "how a log-variance becomes a standard deviation", _SPREAD_HINTS)
    temperature = use.choice(
        "calibration", _TEMPERATURES, "whether the calibration's temperature scales the spread", _TEMPERATURE_HINTS
    )

    def compute(frames: Frames) -> FloatArray:
        scale = temperature.of(frames)(factor.of(frames).reshape(-1)[0])
        return stored(spread.of(frames)(wide(frames, source.name)) * scale)

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The exponential in float32: relative error |argument| · u from the halved argument, two ulp of expf, one product."""
        relative = UNIT_ROUNDOFF * (0.5 * np.abs(wide(frames, source.name)) + 5.0)
        return np.asarray(relative * np.abs(rows.astype(np.float64)))

    unit = use.table.get("unit", "")
    fields = (replace(each, kind=FieldKind.SCALAR, unit=unit, low=None, high=None) for each in source.fields)
    return Built(FieldLayout(tuple(fields)), compute, bound)


_SPREAD_HINTS = {
    "log_is_of_sigma": "sigma = exp(0.5 * log_variance); without the half the spread is squared",
    "softplus": "the head gives a log-variance: exp, not softplus",
    "with_floor": "1e-6 keeps the training's likelihood from dividing by nothing; it is not a part of sigma",
}
_TEMPERATURE_HINTS = {"none": "multiply sigma by the calibration's temperature"}
_CODE = {
    "spread": {
        "variance": CodeHint("expf(0.5f * v)", "(0.5 * log_var).exp()"),
        "log_is_of_sigma": CodeHint("expf(v)", "log_var.exp()"),
        "softplus": CodeHint("sqrtf(log1pf(expf(v)))", "F.softplus(log_var).sqrt()"),
        "with_floor": CodeHint("sqrtf(expf(v) + 1e-6f)", "torch.sqrt(log_var.exp() + 1e-6)"),
    },
    "calibration": {
        "applied": CodeHint("sigma * temperature", "sigma * temperature"),
        "none": CodeHint("sigma", "sigma"),
    },
}
OPERATION = Operation(
    "standard_deviation",
    "the standard deviation that a log-variance means",
    build,
    {
        "temperature": "the factor of a calibration for every spread",
        "spread": ", ".join(_SPREADS),
        "calibration": ", ".join(_TEMPERATURES),
    },
    choices=("spread", "calibration"),
    code=_CODE,
)
