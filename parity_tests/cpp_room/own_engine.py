"""The engine of own_engine.cpp: built with any flags, played, and what it said."""

import shutil
from dataclasses import dataclass

import pytest

from ..programs import missing
from .conftest import ENGINE_LIKE, ROOM, compiled, ran

ENDINGS = (".trace.jsonl", ".trace.bin")
SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SHIPPED = ("-O2", "-ffast-math", *ENGINE_LIKE)


@dataclass(frozen=True)
class Told:
    """What a program said of one recording."""

    is_ok: bool
    counts: dict[str, int]
    problem: str

    @property
    def elsewhere(self):
        """The counts that are not zero, without the written frames."""
        return {name: count for name, count in self.counts.items() if count and name != "written"}


def told(line):
    words, problem = line.split("|")
    first, *counts = words.split()
    return Told(first == "ok", {name: int(count) for name, count in (word.split("=") for word in counts)}, problem)


def play(program, scenario, path, queue_frames=0, *more):
    done = ran(program, scenario, path, queue_frames, *more)
    assert done.returncode == 0, done.stderr
    return [told(line) for line in done.stdout.splitlines() if "|" in line]


def build(compiler_name, folder, *flags):
    """The engine; skipped where this compiler has no library for the sanitizer."""
    if shutil.which(compiler_name) is None:
        missing(compiler_name)
    sanitizer = [flag for flag in flags if flag.startswith("-fsanitize")]
    (folder / "empty.cpp").write_text("int main() { return 0; }\n")
    if sanitizer and ran(compiler_name, *sanitizer, folder / "empty.cpp", "-o", folder / "empty").returncode != 0:
        pytest.skip(f"no library for {sanitizer[0]} of {compiler_name} on this machine")
    return compiled(compiler_name, ROOM / "own_engine.cpp", folder / "own_engine", "-pthread", *flags)
