"""A recording by the reference runtime, as an engine would have written it: under its own name."""

import json
from dataclasses import replace
from pathlib import Path

from rigpact.reference_runtime.recordings.opened import read_trace, write_trace

ENGINE = "MyEngine"


def as_engine(path: Path | str) -> None:
    """Write the header anew: an engine has its own name, and does not know which conventions it has."""
    place = Path(path)
    if place.suffix == ".jsonl":  # as text: the system may be known to another installation only
        head, _, rows = place.read_text(encoding="utf-8").partition("\n")
        header = json.loads(head)
        header["producer"] = {"name": ENGINE, "version": "1"}
        header["contract"].pop("conventions_sha256", None)
        place.write_text(f"{json.dumps(header)}\n{rows}", encoding="utf-8", newline="\n")
        return
    trace = read_trace(place)
    own = replace(trace.header, producer=ENGINE, producer_version="1", conventions_sha256=None)
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    write_trace(replace(trace, header=own, stages=stages, mapping=None), place)
