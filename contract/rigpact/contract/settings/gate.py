"""The questions of `rigpact gate`: the table `[gate]` of rigpact.toml, or `[tool.rigpact.gate]` of pyproject.toml.

Paths are relative to the configuration file. docs/configuration.md is generated from the words of the fields. This module knows
neither how a question is answered nor any system: stages and conventions that are named here are checked where the project is
opened. To add a setting: a field with its words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.table import (
    COUNT,
    FILE,
    FILE_OR_FALSE,
    FILES,
    TABLES,
    TEXT,
    TEXTS,
    Expires,
    Key,
    LetBe,
    Owner,
    Reason,
    keys_of,
    place_of,
)

FREE_RUN_FRAMES = 600
"""Ten seconds at 60 frames per second, for a free run without a number of frames."""
ADEQUACY_MARGIN = 10.0
INFERENCE_MARGIN = 3.0
MAY_CHANGE = "may-change"
MODES = ("teacher", "free", "playback")
LOG_SUFFIXES = (".log", ".txt")
"""Names of files that may be a pasted log of the engine, which no clip has to explain."""
OURSELVES = "rigpact"
_ENDINGS = ("".join(f"[{each}{each.upper()}]" for each in suffix[1:]) for suffix in LOG_SUFFIXES)
_NO_LOG = {"properties": {"file": {"not": {"pattern": rf"\.({'|'.join(_ENDINGS)})$"}}}}
_NAME = Key("its name in reports; from the file name if absent")
_TEACHER = {
    "file": Key("a teacher prediction or batch", FILE, is_required=True),
    "clip": Key("the raw clip that it was made from; without it the file's own rows drive the run", FILE),
    "stages": Key("the stages that the file must hold; if absent, every stage that such a file can hold", TEXTS),
    "name": _NAME,
}
_TRACE = {
    "file": Key(
        "a recording of the engine: a trace, a table or arrays with names, or a pasted log (`.log`, `.txt`)",
        FILE,
        is_required=True,
    ),
    "clip": Key(
        "the clip that drove it; required but for a pasted log; the recording itself if a player drove it", FILE
    ),
    "stages": Key("the stages that the engine must record; all if absent. A stage that vanishes fails the gate", TEXTS),
    "bones": Key("the bones that it is to hold, by name; all if absent. One that vanishes fails the gate", TEXTS),
    "frames": Key("how many frames it is to hold; as many as the clip gives if absent", COUNT),
    "mode": Key(
        "how the engine ran: `teacher`, `free` or `playback`; `teacher` if absent. A table need not say it itself",
        {"enum": list(MODES)},
    ),
    "producer": Key(
        "its producer, as its header says; anybody but rigpact if absent", {**TEXT, "not": {"const": OURSELVES}}
    ),
    "resolution": Key(
        "how finely its numbers are written: `4 decimals`, `6 digits`, `float16`, `bfloat16`, `exact`; from the numbers if absent"
    ),
    "name": _NAME,
}
_TRACES = {**TABLES, "items": {"if": _NO_LOG, "then": {"required": ["clip"]}}}


@dataclass(frozen=True)
class RecordedRun:
    """A file that either side recorded, and what belongs to it. `stages` empty means all, `frames` None the clip's own.

    mode: what an engine's trace is to be; None for a file of training. producer: None for anybody but rigpact.
    resolution: how finely its numbers are written, in words; None where the numbers show it.
    bones: those that it is to hold; empty means all. place: where it stands in the settings, for error messages.
    """

    file: str
    name: str
    clip: str | None = None
    stages: tuple[str, ...] = ()
    frames: int | None = None
    mode: str | None = None
    producer: str | None = None
    resolution: str | None = None
    bones: tuple[str, ...] = ()
    place: str = field(default="[gate]", compare=False)


@dataclass(frozen=True)
class PartWaiver(LetBe):
    """A part of the gate, or one of its stages, that does not count until a certain day."""

    part: Annotated[str, "the part of the gate, for example `engine-trace/walk`"]
    owner: Owner
    reason: Reason
    expires: Expires
    index: int
    stage: Annotated[str | None, "only this stage of it"] = None


@dataclass(frozen=True)
class Thresholds:
    """The limits of a project. None means no limit."""

    tolerance_factor: Annotated[
        float, "how many derived tolerances a stage may differ by; 1 if absent, and at most 8192 (RP977)"
    ] = 1.0
    pose_deg: Annotated[float | None, "limit of a bone's error in the published pose, in degrees; none if absent"] = (
        None
    )
    pose_cm: Annotated[float | None, "the same in centimetres"] = None
    adequacy_margin: Annotated[
        float, "from how many tolerances on a clip shows a convention clearly; 10 if absent, from 1 to 1000 (RP977)"
    ] = ADEQUACY_MARGIN


@dataclass(frozen=True)
class ModelBudget:
    """What the model may cost."""

    parameters: Annotated[int | None, "how many numbers the model's weights may hold"] = None
    model_bytes: Annotated[int | None, "size of the model's file"] = None
    inference_us: Annotated[
        float | None, "microseconds of one inference on one thread; measured, so judged with a margin"
    ] = None
    inference_margin: Annotated[
        float, "how many times the budget the measured median may be; 3 if absent, and at most 10 (RP977)"
    ] = INFERENCE_MARGIN

    @property
    def is_declared(self) -> bool:
        """Whether anything is limited."""
        return any(limit is not None for limit in (self.parameters, self.model_bytes, self.inference_us))


@dataclass(frozen=True)
class GateSettings:
    """The questions of one project. place: where they stand, for error messages."""

    bundle: Annotated[str | None, FILE, "the schema bundle, or the contract file of another system"] = None
    companion: Annotated[str | None, FILE, "the file with the auxiliary-input statistics"] = None
    model: Annotated[str | None, FILE, "the ONNX model"] = None
    clips: Annotated[tuple[str, ...], FILES, "raw clips; `*` and `**` match"] = ()
    teacher: Annotated[
        tuple[RecordedRun, ...], Key("tables, see below: teacher files that training recorded", TABLES, inner=_TEACHER)
    ] = ()
    traces: Annotated[
        tuple[RecordedRun, ...], Key("tables, see below: traces that the engine recorded", _TRACES, inner=_TRACE)
    ] = ()
    free_run: Annotated[
        str | None,
        FILE_OR_FALSE,
        "the clip that seeds and drives the free run; the first of `clips` if absent, `false` for none",
    ] = None
    no_free_run: bool = False
    frames: Annotated[int, "length of the free run, 600 if absent"] = FREE_RUN_FRAMES
    base: Annotated[
        str | None,
        "git revision that the bundle must not break, for example `origin/main`, where no `--base` names it from outside",
    ] = None
    settings: Annotated[
        str | None,
        {"const": MAY_CHANGE},
        "`may-change`: a change that narrows these settings is reported and does not fail; it counts from the base revision on",
    ] = None
    change_record: Annotated[
        str | None, FILE, "Markdown file; a breaking change with an entry there is acknowledged"
    ] = None
    strict: Annotated[bool, "`true` lets warnings fail the gate too"] = False
    conventions: Annotated[Mapping[str, Any], "table of conventions that the bundle does not declare, KNOB = VALUE"] = (
        field(default_factory=dict)
    )
    thresholds: Annotated[Thresholds, "table, see below"] = field(default_factory=Thresholds)
    budget: Annotated[ModelBudget, "table, see below"] = field(default_factory=ModelBudget)
    waivers: Annotated[tuple[PartWaiver, ...], "tables, see below"] = ()
    place: str = field(default="[gate]", compare=False)


KEY = Key("the questions of `rigpact gate`", {}, inner=keys_of(GateSettings, {"traces": "trace", "waivers": "waive"}))


def gate_settings(said: Mapping[str, Any], path: Path) -> GateSettings:
    """The settings of the values of a table; UnusableInput for runs of one name, and for a free run of one frame."""
    teacher, traces = (
        tuple(_run(each, kind, place_of(path, "gate", kind, number)) for number, each in enumerate(said.get(kind, ())))
        for kind in ("teacher", "trace")
    )
    place = place_of(path, "gate")
    _refuse_repeated_names((*teacher, *traces), place)
    _refuse_one_frame(said.get("frames"), "free", place)
    conventions = said.get("conventions", {}).items()
    made = {
        "teacher": teacher,
        "traces": traces,
        "waivers": tuple(PartWaiver(index=index, **each) for index, each in enumerate(said.get("waive", ()))),
        "free_run": said.get("free_run") or None,
        "no_free_run": said.get("free_run") is False,
        "conventions": {knob: tuple(value) if isinstance(value, list) else value for knob, value in conventions},
        "thresholds": Thresholds(**said.get("thresholds", {})),
        "budget": ModelBudget(**said.get("budget", {})),
    }
    return GateSettings(
        **{key: value for key, value in said.items() if key not in ("trace", "waive")} | made, place=place
    )


def _refuse_repeated_names(runs: Sequence[RecordedRun], place: str) -> None:
    names = [run.name for run in runs]
    for index, run in enumerate(runs):
        if run.name in names[:index]:
            found, hint = f"{run.name!r} again", "give it a `name`"
            raise UnusableInput(f"{place}.name of {run.file}", found, "a name of its own", hint)


def _refuse_one_frame(frames: int | None, mode: str, place: str) -> None:
    """In a free run at least two frames, because only the second one is fed back."""
    if frames == 1 and mode == "free":
        raise UnusableInput(f"{place}.frames", "1", "at least 2 in a free run", "one frame is fed by the clip only")


def _run(said: Mapping[str, Any], kind: str, place: str) -> RecordedRun:
    named = {"name": PurePath(said["file"]).name.partition(".")[0], **said, "place": place}
    run = RecordedRun(**({"mode": MODES[0]} if kind == "trace" else {}) | named)
    _refuse_one_frame(run.frames, run.mode or "", place)
    return run
