"""Write a commented rigpact.toml for a folder: it uses the files found; comments explain what is missing."""

import json
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from rigpact.contract.editor_schemas import SETTINGS, head_of
from rigpact.reference_runtime.recordings.trace import OWN_PRODUCER
from rigpact.reports.gate.setup.found_files import FoundFiles, clip_of, clip_of_trace
from rigpact.reports.templates import template


def settings_text(
    found: FoundFiles, *, base: str | None, last_day: date, parameters: int | None, model_bytes: int | None
) -> str:
    """The text of rigpact.toml. base: a git revision known here. parameters, model_bytes: today's, where known."""
    recorded = [*found.predictions, *found.batches, *found.traces]
    stems = [path.name.partition(".")[0] for path, _ in recorded]

    def run(path: Path, clip: Path | None, stages: Iterable[str], **said: Any) -> dict[str, Any]:
        doubtful = stems.count(path.name.partition(".")[0]) > 1
        own = {"file": path.as_posix(), "clip": clip and clip.as_posix(), "stages": list(stages), "frames": None}
        return own | {"is_doubtful": doubtful} | said

    teacher = []
    for path, stages in (*found.predictions, *found.batches):
        cut = [stage for stage in stages if found.models or stage != "y_out"]
        teacher.append(run(path, clip_of(path, found.clips), cut, is_cut=len(cut) < len(stages)))
    traces = []
    for path, trace in found.traces:
        header, frames = trace.header, len(trace.frame) if trace.header.mode != "teacher" else None
        said = {"mode": header.mode, "producer": header.producer, "is_own": header.producer == OWN_PRODUCER}
        named = [
            bone for bone in header.bones or () if isinstance(bone, str)
        ]  # indices have no name here: the gate asks
        clip = clip_of_trace(path, trace, found)
        traces.append(run(path, clip, trace.stages, frames=frames, bones=named, **said))
    words = template(Path(__file__).with_name("rigpact.toml.j2"), quoted=_quoted, plain=_in_comment)
    kinds = ("bundles", "companions", "models")
    return words.render(
        {kind: [path.as_posix() for path in getattr(found, kind)] for kind in kinds},
        head=head_of(SETTINGS), clips=list(_patterns(found)), base=base, has_revisions=found.has_revisions, teacher=teacher,
        traces=traces, parameters=parameters, model_bytes=model_bytes, last_day=last_day.isoformat(),
    )  # fmt: skip


def _patterns(found: FoundFiles) -> Iterator[str]:
    """The clips; those that fill a folder as a pattern."""
    folders: dict[Path, list[Path]] = {}
    for clip in found.clips:
        folders.setdefault(clip.parent, []).append(clip)
    others = [*found.bundles, *found.companions, *(path for path, _ in (*found.predictions, *found.batches))]
    mixed = {path.parent for path in others} | {Path()}
    for folder, inside in folders.items():
        whole = folder not in mixed and len(inside) > 1 and all(clip.suffix == ".json" for clip in inside)
        yield from [f"{folder.as_posix()}/*.json"] if whole else [path.as_posix() for path in inside]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_comment(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)
