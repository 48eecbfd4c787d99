"""The questions of `rigpact gate`: the table `[gate]` of rigpact.toml, or `[tool.rigpact.gate]` of pyproject.toml.

Paths are relative to the configuration file. `KEYS` says what each key means; docs/configuration.md is generated from it.
This module does not know how a question is answered, nor any system: the stages and conventions that are named here are checked
where the project is opened. To add a setting: a row in `KEYS`, a field, a reader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.days import parse_day
from rigpact.contract.settings.table import SettingsTable, did_you_mean

KEYS: Mapping[str, Mapping[str, str]] = {
    "gate": {
        "bundle": "the schema bundle, or the contract file of another system",
        "companion": "the file with the auxiliary-input statistics",
        "model": "the ONNX model",
        "clips": "raw clips; `*` and `**` match",
        "teacher": "tables, see below: teacher files that training recorded",
        "trace": "tables, see below: traces that the engine recorded",
        "free-run": "the clip that seeds and drives the free run; the first of `clips` if absent, `false` for none",
        "frames": "length of the free run, 600 if absent",
        "base": "git revision that the bundle must not break, for example `origin/main`, where no `--base` names it from outside",
        "settings": "`may-change`: a change that narrows these settings is reported and does not fail; it counts from the base "
        "revision on",
        "change-record": "Markdown file; a breaking change with an entry there is acknowledged",
        "strict": "`true` lets warnings fail the gate too",
        "conventions": "table of conventions that the bundle does not declare, KNOB = VALUE",
        "thresholds": "table, see below",
        "budget": "table, see below",
        "waive": "tables, see below",
    },
    "gate.teacher": {
        "file": "a teacher prediction or batch",
        "clip": "the raw clip that it was made from; without it the file's own rows drive the run",
        "stages": "the stages that the file must hold; if absent, every stage that such a file can hold",
        "name": "its name in reports; from the file name if absent",
    },
    "gate.trace": {
        "file": "a recording of the engine: a trace, a table or arrays with names, or a pasted log (`.log`, `.txt`)",
        "clip": "the clip that drove it; required but for a pasted log; the recording itself if a player drove it",
        "stages": "the stages that the engine must record; all if absent. A stage that vanishes fails the gate",
        "bones": "the bones that it is to hold, by name; all if absent. One that vanishes fails the gate",
        "frames": "how many frames it is to hold; as many as the clip gives if absent",
        "mode": "how the engine ran: `teacher`, `free` or `playback`; `teacher` if absent. A table need not say it itself",
        "producer": "its producer, as its header says; anybody but rigpact if absent",
        "resolution": "how finely its numbers are written: `4 decimals`, `6 digits`, `float16`, `bfloat16`, `exact`; found in "
        "the numbers if absent",
        "name": "its name in reports; from the file name if absent",
    },
    "gate.thresholds": {
        "tolerance-factor": "how many derived tolerances a stage may differ by; 1 if absent, and at most 8192 (RP977)",
        "pose-deg": "limit of a bone's error in the published pose, in degrees; none if absent",
        "pose-cm": "the same in centimetres",
        "adequacy-margin": "from how many tolerances on a clip shows a convention clearly; 10 if absent, from 1 to 1000 (RP977)",
    },
    "gate.budget": {
        "parameters": "how many numbers the model's weights may hold",
        "model-bytes": "size of the model's file",
        "inference-us": "microseconds of one inference on one thread; measured, so judged with a margin",
        "inference-margin": "how many times the budget the measured median may be; 3 if absent, and at most 10 (RP977)",
    },
    "gate.waive": {
        "part": "the part of the gate, for example `engine-trace/walk`",
        "stage": "only this stage of it",
        "owner": "the owner",
        "reason": "why it may stay for now",
        "expires": "the last day on which it holds, YYYY-MM-DD, at most a year ahead",
    },
}
"""Every key by table, in words."""
FREE_RUN_FRAMES = 600
"""Ten seconds at 60 frames per second, for a free run without a number of frames."""
ADEQUACY_MARGIN = 10.0
INFERENCE_MARGIN = 3.0
MAY_CHANGE = "may-change"
MODES = ("teacher", "free", "playback")
LOG_SUFFIXES = (".log", ".txt")
"""Names of files that may be a pasted log of the engine, which no clip has to explain."""
OURSELVES = "rigpact"


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
class PartWaiver:
    """A part of the gate, or one of its stages, that does not count until a certain day."""

    part: str
    stage: str | None
    owner: str
    reason: str
    expires: str
    index: int

    def holds(self, today: date) -> bool:
        """Whether its day has not passed."""
        return today <= date.fromisoformat(self.expires)


@dataclass(frozen=True)
class Thresholds:
    """The limits of a project. None means no limit."""

    tolerance_factor: float = 1.0
    pose_deg: float | None = None
    pose_cm: float | None = None
    adequacy_margin: float = ADEQUACY_MARGIN


@dataclass(frozen=True)
class Budget:
    """What the model may cost."""

    parameters: int | None = None
    model_bytes: int | None = None
    inference_us: float | None = None
    inference_margin: float = INFERENCE_MARGIN

    @property
    def is_declared(self) -> bool:
        """Whether anything is limited."""
        return any(limit is not None for limit in (self.parameters, self.model_bytes, self.inference_us))


@dataclass(frozen=True)
class GateSettings:
    """The questions of one project. place: where they stand, for error messages."""

    bundle: str | None = None
    companion: str | None = None
    model: str | None = None
    clips: tuple[str, ...] = ()
    teacher: tuple[RecordedRun, ...] = ()
    traces: tuple[RecordedRun, ...] = ()
    free_run: str | None = None
    no_free_run: bool = False
    frames: int = FREE_RUN_FRAMES
    base: str | None = None
    change_record: str | None = None
    settings: str | None = None
    strict: bool = False
    conventions: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)
    budget: Budget = field(default_factory=Budget)
    waivers: tuple[PartWaiver, ...] = ()
    place: str = field(default="[gate]", compare=False)


def read_gate_settings(table: SettingsTable) -> GateSettings:
    """Read the table; UnusableInput names the key, its value and the allowed values."""
    table.refuse_unknown(KEYS["gate"])
    no_free_run = table.content.get("free-run") is False
    teacher, traces = (
        tuple(_run(entry.refuse_unknown(KEYS[f"gate.{key}"]), key) for entry in table.tables(key))
        for key in ("teacher", "trace")
    )
    _refuse_repeated_names(table, (*teacher, *traces))
    return GateSettings(
        **{key: table.file(key) for key in ("bundle", "companion", "model")},
        clips=table.files("clips", 'file names, for example ["clips/*.json"]'),
        teacher=teacher,
        traces=traces,
        free_run=None if no_free_run else table.file("free-run", "a clip, or false"),
        no_free_run=no_free_run,
        frames=_frames(table) or FREE_RUN_FRAMES,
        base=table.text("base", "a git revision"),
        change_record=table.file("change-record"),
        settings=_settings(table),
        strict=table.flag("strict"),
        conventions=_conventions(table.table("conventions")),
        thresholds=_thresholds(table.table("thresholds").refuse_unknown(KEYS["gate.thresholds"])),
        budget=_budget(table.table("budget").refuse_unknown(KEYS["gate.budget"])),
        waivers=tuple(_waiver(entry, index) for index, entry in enumerate(table.tables("waive"))),
        place=table.place(),
    )


def _settings(table: SettingsTable) -> str | None:
    value = table.text("settings", repr(MAY_CHANGE))
    if value not in (None, MAY_CHANGE):
        raise UnusableInput(
            table.place("settings"), repr(value), repr(MAY_CHANGE), did_you_mean(str(value), [MAY_CHANGE])
        )
    return value


def _refuse_repeated_names(table: SettingsTable, runs: Sequence[RecordedRun]) -> None:
    names = [run.name for run in runs]
    for index, run in enumerate(runs):
        if run.name in names[:index]:
            place = table.place(f"name of {run.file}")
            raise UnusableInput(place, f"{run.name!r} again", "a name of its own", "give it a `name`")


def _run(entry: SettingsTable, kind: str) -> RecordedRun:
    file = entry.required_file("file", KEYS[f"gate.{kind}"]["file"])
    needs_clip = kind == "trace" and PurePath(file).suffix.lower() not in LOG_SUFFIXES
    clip = entry.required_file("clip", "the clip that drove it") if needs_clip else entry.file("clip")
    stages = entry.texts("stages", "stages of the project's system")
    name = entry.text("name", "a name") or PurePath(file).name.partition(".")[0]
    if kind != "trace":
        return RecordedRun(file, name, clip, stages, entry.count("frames"), place=entry.place())
    mode, producer = _mode(entry), _producer(entry)
    resolution = entry.text("resolution", "how finely its numbers are written")
    bones = entry.texts("bones", "names of the contract's bones")
    frames = _frames(entry, mode)
    return RecordedRun(file, name, clip, stages, frames, mode, producer, resolution, bones, entry.place())


def _mode(entry: SettingsTable) -> str:
    mode = entry.text("mode", f"one of {', '.join(MODES)}") or MODES[0]
    if mode not in MODES:
        raise UnusableInput(entry.place("mode"), repr(mode), f"one of {', '.join(MODES)}", did_you_mean(mode, MODES))
    return mode


def _producer(entry: SettingsTable) -> str | None:
    producer = entry.text("producer", "the producer")
    if producer == OURSELVES:
        hint = "a recording by rigpact says nothing about the engine"
        raise UnusableInput(entry.place("producer"), repr(producer), "the name of the engine's recorder", hint)
    return producer


def _frames(entry: SettingsTable, mode: str = "free") -> int | None:
    """A number of frames; in a free run at least two, because only the second frame is fed back."""
    frames = entry.count("frames")
    if frames == 1 and mode == "free":
        raise UnusableInput(entry.place("frames"), "1", "at least 2 in a free run", "one frame is fed by the clip only")
    return frames


def _conventions(table: SettingsTable) -> Mapping[str, Any]:
    return {knob: tuple(value) if isinstance(value, list) else value for knob, value in table.content.items()}


def _thresholds(table: SettingsTable) -> Thresholds:
    factor, margin = table.number("tolerance-factor") or 1.0, table.number("adequacy-margin") or ADEQUACY_MARGIN
    return Thresholds(factor, table.number("pose-deg"), table.number("pose-cm"), margin)


def _budget(table: SettingsTable) -> Budget:
    margin = table.number("inference-margin") or INFERENCE_MARGIN
    return Budget(table.count("parameters"), table.count("model-bytes"), table.number("inference-us"), margin)


def _waiver(entry: SettingsTable, index: int) -> PartWaiver:
    entry.refuse_unknown(KEYS["gate.waive"])
    part, owner, reason, expires = (
        entry.required_text(key, KEYS["gate.waive"][key]) for key in ("part", "owner", "reason", "expires")
    )
    parse_day(expires, entry.place("expires"))
    return PartWaiver(part, entry.text("stage", "a stage"), owner, reason, expires, index)
