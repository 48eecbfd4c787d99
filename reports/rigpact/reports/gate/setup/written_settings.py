"""Write a commented rigpact.toml for a folder: it uses the files found; comments explain what is missing."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from rigpact.contract.editor_schemas import SETTINGS, head_of
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER, Trace
from rigpact.reports.gate.setup.found_files import FoundFiles, clip_of, clip_of_trace

_HEAD = """# What `rigpact gate` asks in this project; docs/configuration.md says what every key means.
# Paths are relative to this file.

[gate]
"""
_TRACE_EXAMPLE = """
# Nothing here says what the engine computes: record a trace there (docs/trace-format.md) and name it.
# [[gate.trace]]
# file = "engine/walk.trace.jsonl"
# clip = "clips/walk.json"
# stages = ["x_raw", "y_norm", "y_out"]
# mode = "teacher"   # or "free"
# producer = "MyEngine"
"""
_TEACHER_EXAMPLE = """
# Nothing here says what training computes: export a teacher prediction and name it.
# [[gate.teacher]]
# file = "teacher_predictions/walk.json"
# clip = "clips/walk.json"
"""
_REST = """
# How much is too much. Without these a stage may differ by rounding only.
# [gate.thresholds]
# tolerance-factor = 1.0   # in derived tolerances
# pose-deg = 0.5           # of any bone, in degrees
# pose-cm = 0.2

{budget}
# What is known and may stay for now; never without an owner and a day.
# [[gate.waive]]
# part = "engine-trace/walk"
# stage = "quat"
# owner = "Ana"
# reason = "the recorder swaps w and x; next build"
# expires = "{last_day}"
"""


def settings_text(found: FoundFiles, *, base: str | None, last_day: date, budget: str) -> str:
    """The text of rigpact.toml. base: a git revision known here. budget: the table from `budget_text`."""
    lines = [head_of(SETTINGS), "\n", _HEAD, *_artefacts(found)]
    if base is not None:
        lines.append(f"base = {_quoted(base)}   # breaking changes since then fail\n")
    elif found.has_revisions:
        lines.append('# base = "origin/main"   # with it, breaking changes since then fail\n')
    lines += _recorded(found)
    lines.append(_REST.replace("{budget}", budget).replace("{last_day}", last_day.isoformat()))
    return "".join(lines)


def budget_text(parameters: int | None, model_bytes: int | None) -> str:
    """The budget as a comment, with today's figures where known."""
    lines = ["# What the model may cost; the figures are today's.", "# [gate.budget]"]
    if parameters is not None:
        lines.append(f"# parameters = {parameters}")
    if model_bytes is not None:
        lines.append(f"# model-bytes = {model_bytes}")
    return "\n".join((*lines, "# inference-us = 500       # measured, so judged with a margin of 3", ""))


def _artefacts(found: FoundFiles) -> Iterator[str]:
    if found.bundles:
        yield from _one("bundle", found.bundles)
    else:
        yield '# bundle = "norm_template.json"   # none was found here; nothing can be asked without it\n'
    yield from _one("companion", found.companions)
    yield from _one("model", found.models)
    if found.clips:
        folders: dict[Path, list[Path]] = {}
        for clip in found.clips:
            folders.setdefault(clip.parent, []).append(clip)
        others = [*found.bundles, *found.companions, *(path for path, _ in (*found.predictions, *found.batches))]
        mixed = {path.parent for path in others} | {Path()}
        patterns = []
        for folder, inside in folders.items():
            whole = folder not in mixed and len(inside) > 1 and all(clip.suffix == ".json" for clip in inside)
            patterns += [f"{folder.as_posix()}/*.json"] if whole else [path.as_posix() for path in inside]
        yield f"clips = [{', '.join(map(_quoted, patterns))}]\n"


def _one(key: str, paths: Sequence[Path]) -> Iterator[str]:
    """The setting for the nearest file, with the other files of its kind in a comment."""
    for path in paths[:1]:
        yield f"{key} = {_quoted(path.as_posix())}\n"
    if len(paths) > 1:
        yield f"# also found: {_in_comment(', '.join(path.as_posix() for path in paths[1:6]))}\n"


def _recorded(found: FoundFiles) -> Iterator[str]:
    teacher = [*found.predictions, *found.batches]
    names = [path.name.partition(".")[0] for path, _ in (*teacher, *found.traces)]
    for path, stages in teacher:
        if not found.models and "y_out" in stages:
            yield "\n# No model was found here: of the next file only what goes into the model is compared."
            stages = tuple(stage for stage in stages if stage != "y_out")  # noqa: PLW2901
        yield from _table("teacher", path, clip_of(path, found.clips), stages, names)
    if not teacher:
        yield _TEACHER_EXAMPLE
    for path, trace in found.traces:
        if trace.header.producer == OWN_PRODUCER:
            yield f"\n# {_in_comment(path.as_posix())}: rigpact recorded it, so it says nothing about the engine\n"
            continue
        clip = clip_of_trace(path, trace, found)
        frames = len(trace.frame) if trace.header.mode != "teacher" else None
        if clip is None:
            yield f"\n# {_in_comment(path.as_posix())}: no clip here that drove it; name it to compare the trace\n"
        else:
            yield from _table("trace", path, clip, tuple(trace.stages), names, frames)
            yield f"mode = {_quoted(trace.header.mode)}\nproducer = {_quoted(trace.header.producer)}\n"
            yield from _bones(trace)
    if not found.engine_traces:
        yield _TRACE_EXAMPLE


def _bones(trace: Trace) -> Iterator[str]:
    """The bones of a recording of some; indices have no name here, and the gate asks for it."""
    names = [bone for bone in trace.header.bones or () if isinstance(bone, str)]
    if names:
        yield f"bones = [{', '.join(map(_quoted, names))}]   # one that vanishes fails the gate\n"


def _table(
    key: str, path: Path, clip: Path | None, stages: Iterable[str], names: Sequence[str], frames: int | None = None
) -> Iterator[str]:
    yield f"\n[[gate.{key}]]\nfile = {_quoted(path.as_posix())}\n"
    if names.count(path.name.partition(".")[0]) > 1:
        yield f"name = {_quoted(path.as_posix())}\n"
    if clip is not None:
        yield f"clip = {_quoted(clip.as_posix())}\n"
    yield f"stages = [{', '.join(map(_quoted, stages))}]   # one that vanishes fails the gate\n"
    if frames is not None:
        yield f"frames = {frames}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
