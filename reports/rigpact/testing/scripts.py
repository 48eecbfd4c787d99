"""`agrees`: a function against a recording; `capture`: a live environment as its contract and a recording."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader
from rigpact.reference_runtime.recordings.trace_bytes import SEGMENT_ENDINGS
from rigpact.reports.diagnosing.script_side import results_of_step
from rigpact.reports.diagnosing.two_files import Arrays, compare_arrays, compared_sides
from rigpact.reports.importing.draft import Draft
from rigpact.reports.importing.environment import Environment
from rigpact.reports.importing.formats import finished
from rigpact.reports.importing.values import ImportRequest, named_file, read_model_beside


def agrees(
    step: Callable[..., Any],
    recording: str | Path,
    *,
    state: Mapping[str, str] | None = None,
    tolerance: float | None = None,
) -> None:
    """AssertionError with the cause where a function makes other numbers than a recording holds.

    step: takes recorded arrays by the names of its parameters, one row each (or all rows), and returns {name: numbers}.
    state: parameter -> the result of the row before that it takes over. tolerance: in the unit of the numbers; None for what
    rounding does. UnusableInput where nothing can be compared.
    """
    recorded = Arrays.of(Path(recording), ())
    made = results_of_step(step, recorded.rows, state or {}, step.__name__)
    found = compare_arrays(*compared_sides(made, recorded, Path(step.__name__)), tolerance=tolerance)
    if found.exit_code:
        raise AssertionError("\n".join((f"{found.word}: {found.headline}", *found.notes)))


def capture(
    env: Any, out: str | Path, *, model: str | Path | None = None, group: str | None = None, robot: str = "robot"
) -> Captured:
    """Write the contract of a manager-based environment of Isaac Lab or mjlab to `out`, a .toml.

    env: with `observation_manager`, `action_manager`, `scene[robot]` and `step_dt`; a wrapper of it too. model: the policy's
    ONNX file beside `out`. group: of the observation; policy or actor where it is not said. Numbers are those of environment 0;
    UnusableInput where environments differ, or a manager is not there. What managers do not say is left open in the file.
    """
    place, onnx = Path(out), None if model is None else Path(model)
    live = Environment(env, group, robot)
    beside = None if onnx is None else read_model_beside(onnx)
    draft = live.draft(place.stem, beside, named_file(onnx, place))
    made = finished(draft, ImportRequest(Path("env"), place))
    write_bytes(place, made.content)
    return Captured(live, draft, place, made.left_open)


class Captured:
    """What was captured. path: the contract's file. left_open: the conventions that it does not say."""

    def __init__(self, live: Environment, draft: Draft, path: Path, left_open: tuple[str, ...]) -> None:
        self.path, self.left_open = path, left_open
        self._live, self._draft = live, draft

    def record(self, path: str | Path) -> EnvironmentRecorder:
        """A recorder of this environment; a trace in the format given by the name, written when it is closed.

        UnusableInput, before the first step, for a name of a format in which no segment can follow another.
        """
        if not Path(path).name.endswith(SEGMENT_ENDINGS):
            raise UnusableInput(path, f"the name {Path(path).name}", f"a name ending in {', '.join(SEGMENT_ENDINGS)}")
        return EnvironmentRecorder(self._live, self._draft, Path(path))


class EnvironmentRecorder:
    """Steps an environment and keeps environment 0 of every step. A reset begins another segment, as the C++ recorder has it."""

    def __init__(self, live: Environment, draft: Draft, path: Path) -> None:
        self._live, self._draft, self._path = live, draft, path
        self._segments: list[list[dict[str, FloatArray]]] = [[]]

    def __enter__(self) -> EnvironmentRecorder:
        """Itself."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Write what was recorded, also where the run failed; a failure before the first step is told by itself."""
        if error is None or any(self._segments):
            self.close()

    def step(self, observations: Any, actions: Any) -> Any:
        """`env.step(actions)`, with what went into it. observations: of all groups by name, or the policy's; (envs, width)."""
        live, stages = self._live, dict[str, Any]()
        for entry in self._draft.given:
            stages[entry.table["name"]] = live.row(entry.table["name"], entry.table)
        grouped = isinstance(observations, Mapping) or hasattr(observations, "keys")
        stages["obs"] = observations[live.group][0] if grouped else observations[0]
        stages["action"] = actions[0]
        self._segments[-1].append({name: _copied(row) for name, row in stages.items()})
        answer = live.env.step(actions)
        target = live.target()
        if target is not None:
            self._segments[-1][-1]["target"] = _copied(target)
        lengths = getattr(live.env, "episode_length_buf", None)
        if lengths is not None and int(lengths[0]) == 0:
            self._segments.append([])
        return answer

    def close(self) -> None:
        """Write the trace; UnusableInput where no step was recorded."""
        kept = [frames for frames in self._segments if frames]
        if not kept:
            raise UnusableInput(self._path, "no step", "at least one: recorder.step(observations, actions)")
        with TemporaryDirectory(prefix="rigpact-") as folder:
            paths = [Path(folder) / f"{place}{self._path.name}" for place in range(len(kept))]
            for path, frames in zip(paths, kept, strict=True):
                write_trace(self._trace(frames), path)
            write_bytes(self._path, b"".join(path.read_bytes() for path in paths))

    def _trace(self, frames: list[dict[str, FloatArray]]) -> Trace:
        module = type(self._live.env).__module__.partition(".")[0]
        version = str(getattr(sys.modules.get(module), "__version__", "unknown"))
        step = self._live.step_s
        header = TraceHeader(
            round(1.0 / step, 6), "free", producer=module, producer_version=version, system=self._draft.name
        )
        number = np.arange(len(frames))
        rows = {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
        return Trace(header, number, np.asarray(number * step, np.float64), rows)


def _copied(row: Any) -> FloatArray:
    """A row in memory of its own: an environment writes over its buffers."""
    for step in ("detach", "cpu", "numpy"):
        row = getattr(row, step)() if hasattr(row, step) else row
    return np.array(row, np.float32)
