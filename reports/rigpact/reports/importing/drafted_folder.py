"""A draft of a folder that its own recording bears out: a stage that differs there is left open instead."""

from __future__ import annotations

import os
from pathlib import Path

from rigpact.contract.files import write_bytes
from rigpact.reports.importing.drafting import draft_of_folder, look_into
from rigpact.reports.importing.formats import Imported, ImportRequest, finished
from rigpact.reports.importing.trial import stages_that_differ


def draft_folder(folder: Path, path: Path) -> Imported:
    """The contract of a folder, to be written to `path`."""
    found, refused = look_into(folder), set[str]()
    while True:
        draft = draft_of_folder(found, refused)
        made = finished(draft, ImportRequest(folder, path))
        tried = made if draft.fps else finished(draft, ImportRequest(folder, path, fps=1.0))  # any rate replays a frame
        differ = set() if found.recording is None else _differing(tried.content, path, found.recording)
        if differ <= refused:
            return made
        refused |= differ


def _differing(content: bytes, path: Path, recording: Path) -> set[str]:
    """What differs of a contract that lies beside the files that it names."""
    tried = path.with_name(f".{path.stem}.{os.getpid()}.toml")
    try:
        write_bytes(tried, content)
        return stages_that_differ(tried, recording)
    finally:
        tried.unlink(missing_ok=True)
