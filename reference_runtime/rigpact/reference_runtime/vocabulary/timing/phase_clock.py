"""Phase clock: sine and cosine of a gait's phase, which counts steps from the start of the run."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma

_FORMS = {
    "sin_cos": lambda phase: np.stack([np.sin(2.0 * np.pi * phase), np.cos(2.0 * np.pi * phase)], axis=1),
    "cos_sin": lambda phase: np.stack([np.cos(2.0 * np.pi * phase), np.sin(2.0 * np.pi * phase)], axis=1),
    "phase": lambda phase: phase[:, None] % 1.0,
}


def build(use: Use) -> Built:
    """period in seconds. first: the step that frame 0 counts as. form: the pair, or the phase itself from 0 to 1."""
    if use.fps is None:
        raise use.missing("period", "fps of the contract, which counts the steps")
    step = 1.0 / use.fps
    period = use.number("period", 1, meaning="seconds of a whole phase", misread={
        "half": lambda value: 0.5 * value, "twice": lambda value: 2.0 * value,
    })  # fmt: skip
    declared = use.whole("first", low=0, default=0)
    readings = {f"{each}": each for each in dict.fromkeys((declared, 0, 1, 2))}
    first = use.knob("first", readings, "which step the first frame counts as", {
        "0": "the phase starts at 0", "1": "the counter is raised before it is used",
        "2": "the phase is advanced at the reset too",
    })  # fmt: skip
    if (word := use.table.get("form", "sin_cos")) not in _FORMS:
        raise use.not_one_of("form", _FORMS)
    alike = {name: each for name, each in _FORMS.items() if (name == "phase") == (word == "phase")}
    form = use.choice("form", alike, "the form of the clock's answer", default="sin_cos")

    def phase(frames: Frames) -> FloatArray:
        return np.asarray((frames.frame + first.of(frames)) * step / period.of(frames).reshape(-1)[0])

    def compute(frames: Frames) -> FloatArray:
        return stored(form.of(frames)(phase(frames)))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Step, product and quotient are rounded relative to the whole time that has passed; 2 pi times that moves the sine.

        A phase that is that near to a whole turn may be 0 or 1.
        """
        turns = np.abs(phase(frames))[:, None]
        moved = gamma(8) * (2.0 * np.pi * turns + 1.0)
        jumps = (form.word_of(frames) == "phase") & (np.abs(turns - np.round(turns)) <= moved)
        return np.asarray((moved + jumps) * np.ones_like(rows, np.float64))

    names = ("phase",) if word == "phase" else ("sin", "cos")
    fields = FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))
    return Built(fields, compute, bound)


_CODE = {
    "period": {
        "declared": CodeHint("phase = fmod(k * dt, period) / period;", "phase = (k * dt) % period / period"),
        "half": CodeHint("phase = fmod(k * dt, period / 2) / (period / 2);", "(k * dt) % (period / 2) / (period / 2)"),
        "twice": CodeHint("phase = fmod(k * dt, 2 * period) / (2 * period);", "(k * dt) % (2 * period) / (2 * period)"),
    },
    "first": {
        "0": CodeHint("k = 0;", "episode_length_buf"),
        "1": CodeHint("++k; phase(k);", "episode_length_buf + 1"),
        "2": CodeHint("reset(): ++k; step(): ++k;", "episode_length_buf + 2"),
    },
    "form": {
        "sin_cos": CodeHint("{sin(2 * pi * phase), cos(2 * pi * phase)}", "torch.cat((sin_phase, cos_phase), -1)"),
        "cos_sin": CodeHint("{cos(2 * pi * phase), sin(2 * pi * phase)}", "torch.cat((cos_phase, sin_phase), -1)"),
    },
}
OPERATION = Operation(
    "phase_clock", "sine and cosine of a phase that counts the frames of the run", build,
    {
        "period": "seconds of a whole phase", "first": "the step that the first frame counts as, 0 if left out",
        "form": "sin_cos, as if left out, cos_sin, or phase",
    }, (0, 0), choices=("form",), code=_CODE,
)  # fmt: skip
