"""Which files are drawn for which reader, in pieces: each piece is a process, and a finished one is kept in a journal."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .counts import Count

PIECE = 20_000
"""Executions of one process. A process takes a second to start; a run that was ended loses less than this."""
_RARE = ("explained log",)
_SLOW = (
    "bundle", "companion", "clip", "teacher batch", "prediction", "ONNX model", "declared contract", "evidence", "numbers",
    "other formats", "folders",
)  # fmt: skip
_MIDDLE = ("trace .jsonl.gz", "table .csv", "table .npz", "table .json", "archive", "importers", "configurations")
_PACES = {**dict.fromkeys(_RARE, 1), **dict.fromkeys(_SLOW, 20), **dict.fromkeys(_MIDDLE, 60)}
_QUICK = 120
_REACHED = re.compile(r"\bcov: (\d+)")
"""In what libFuzzer says of its progress: the places of the code that were reached so far."""


@dataclass(frozen=True)
class Piece:
    """The drawn files first to stop - 1 of one reader."""

    reader: str
    seed: int
    first: int
    stop: int
    guided: bool = False


def shares(readers: Sequence[str], total: int) -> dict[str, int]:
    """How many files each reader gets of a total: what takes six milliseconds gets a sixth of what takes one.

    Equal numbers would give nearly the whole time to a few readers.
    """
    paces = {name: _PACES.get(name, _QUICK) for name in readers}
    return {name: -(-total * pace // sum(paces.values())) for name, pace in paces.items()}


def pieces(reader: str, seed: int, executions: int) -> Iterator[Piece]:
    """The pieces of one reader's files."""
    for first in range(0, executions, PIECE):
        yield Piece(reader, seed, first, min(first + PIECE, executions))


class Journal:
    """Finished pieces, one line each. A run that was ended goes on after its last whole line."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._done: dict[Piece, Count] = {}
        if path is not None and path.exists():
            whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
            path.write_text("".join(whole), encoding="utf-8")  # a line may be torn where the run was killed
            for entry in map(json.loads, whole):
                self._done[Piece(**entry["piece"])] = Count(**entry["count"])

    def counted(self, piece: Piece, kept: Path | None) -> Count:
        """What the journal says of a piece, or what its process says now."""
        if piece not in self._done:
            self._done[piece] = in_a_process(piece, kept)
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"piece": asdict(piece), "count": asdict(self._done[piece])}) + "\n")
        return self._done[piece]


def in_a_process(piece: Piece, kept: Path | None) -> Count:
    """One piece in a process of its own. A process that dies is one crash more than it could tell."""
    own = ["parity_tests.measuring.fuzz.guided"] if piece.guided else ["parity_tests.measuring.fuzz", "--child"]
    command = [sys.executable, "-m", *own, json.dumps(asdict(piece)), *([str(kept)] if kept else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        place = f"the process died ({done.returncode}): {done.stderr[-600:]}"
        return Count(piece.reader, crashes=1, places={place: 1})
    reached = [int(found) for found in _REACHED.findall(done.stderr)]
    return replace(
        Count(**json.loads(done.stdout.splitlines()[-1])), reached=(reached[0], reached[-1]) if reached else None
    )
