"""The finished cells of a sweep: a killed sweep continues where it stopped.

`journal.jsonl` holds one line for each measured cell, in the order of completion. `timings.jsonl` holds the time and
the machine of each cell; it is a separate file because it differs between sweeps. Memory holds only positions in the
file.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import opened_to_append
from rigpact.reports.sweep.measure import Measured

JOURNAL, TIMINGS = "journal.jsonl", "timings.jsonl"


@dataclass(frozen=True)
class Outcome:
    """A measured cell, its time, and the process that measured it."""

    identity: str
    measured: Measured
    seconds: float
    worker: str


class Journal:
    """The journal of one folder, open for appending; an incomplete last line from a crash is removed."""

    def __init__(self, folder: Path, *, forget: Collection[str] = ()) -> None:
        """Read the existing journal. forget: kinds of errors whose cells must be measured again."""
        self.folder, self._forget = folder, forget
        self._places: dict[bytes, int] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open = ExitStack()
            self._lines: IO[bytes] = self._open.enter_context(opened_to_append(folder / JOURNAL))
            self._timings: IO[bytes] = self._open.enter_context(opened_to_append(folder / TIMINGS))
        except OSError as error:
            found = f"a folder that cannot be written ({error.strerror})"
            raise UnusableInput(folder, found, "a writable folder") from None
        self._read()

    def _read(self) -> None:
        self._lines.seek(0)
        end = 0
        for number, line in enumerate(self._lines, start=1):
            if not line.endswith(b"\n"):
                break
            entry = _entry(line, self.folder / JOURNAL, number)
            if entry.get("error_kind") not in self._forget or entry["error_kind"] is None:
                self._places[bytes.fromhex(entry["cell"])] = end
            end += len(line)
        self._lines.truncate(end)

    def __contains__(self, identity: str) -> bool:
        """Whether a cell is done."""
        return bytes.fromhex(identity) in self._places

    def add(self, outcome: Outcome) -> None:
        """Write a measured cell; the operating system has it when this returns."""
        place = self._lines.seek(0, 2)
        self._lines.write(orjson.dumps({"cell": outcome.identity, **vars(outcome.measured)}) + b"\n")
        self._lines.flush()
        cost = {"cell": outcome.identity, "seconds": round(outcome.seconds, 6), "worker": outcome.worker}
        self._timings.write(orjson.dumps(cost) + b"\n")
        self._timings.flush()
        self._places[bytes.fromhex(outcome.identity)] = place

    def measured(self, identity: str) -> dict[str, Any]:
        """The fields of `Measured` of a finished cell."""
        self._lines.seek(self._places[bytes.fromhex(identity)])
        fields = orjson.loads(self._lines.readline())
        del fields["cell"]
        return dict(fields)

    def __enter__(self) -> Journal:
        """The journal itself."""
        return self

    def __exit__(self, *_failure: object) -> None:
        """Close both files."""
        self._open.close()


def _entry(line: bytes, path: Path, number: int) -> dict[str, Any]:
    try:
        entry = orjson.loads(line)
        if isinstance(entry, dict) and len(bytes.fromhex(entry["cell"])) == 16 and "verdict" in entry:
            return entry
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        pass
    hint = "was it edited? a sweep into a new folder starts afresh"
    raise UnusableInput(f"{path}:{number}", repr(line[:40].decode("utf-8", "replace")), "a measured cell", hint)
