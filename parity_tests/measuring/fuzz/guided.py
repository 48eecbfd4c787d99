"""`python -m parity_tests.measuring.fuzz --guided`: files that reached new code are kept, and changed again. Needs atheris.

Here is the process of one reader. libFuzzer, inside atheris, chooses what is changed next; most changes are those of the other
fuzzer. A file under a checksum is guided by its parts: libFuzzer changes the part, and the file around it is made whole again.
"""

import json
import os
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["rigpact"]):
    from .execution import STUCK_S, Watch, execute
    from .readers import Reader, all_readers

from ...peak_memory import peak_bytes
from .counts import Count
from .limits import MEMORY_BYTES, drawn_files
from .mutations import changed
from .seeds import Seed

_LONGEST = 1 << 16
"""Bytes of a drawn file. A longer one costs time and reaches nothing new: every list of a seed has a few entries."""
_FLAGS = (f"-max_len={_LONGEST}", "-mutate_depth=1", "-reduce_inputs=0", f"-timeout={int(STUCK_S)}", "-rss_limit_mb=0")
"""One change at a time, and no file gives way to a shorter one: of a text cut down to a few bytes, a reader sees the first."""


@dataclass(frozen=True)
class Target:
    """What libFuzzer's bytes become: a whole file, or one part of a sealed one. start: the sound bytes."""

    name: str
    start: bytes
    whole: Callable[[bytes], bytes]


def targets(seeds: Sequence[Seed]) -> list[Target]:
    """The files of a reader, and the parts of those that are sealed."""
    return [target for seed in seeds for target in _targets(seed)]


def _targets(seed: Seed) -> Iterator[Target]:
    yield Target(seed.name, seed.content, bytes)
    if seed.parts is not None and seed.joined is not None:
        parts, joined = seed.parts, seed.joined
        for name in sorted(parts):
            yield Target(seed.name, parts[name], lambda content, name=name: joined({**parts, name: content}))  # type: ignore[misc]


def mutator(seeds: Sequence[Seed]) -> Callable[[bytes, int, int], bytes]:
    """Changes for libFuzzer: its own, those of the other fuzzer, and those that only one format knows."""
    own = [(place, target) for place, target in enumerate(_own(seeds)) if target is not None]

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)  # noqa: S311 - nothing is secret
        if own and rng.random() < 0.3:
            place, seed_of = rng.choice(own)
            assert seed_of.own is not None
            return (bytes([place]) + seed_of.own(seed_of.content, rng))[:most]
        if rng.random() < 0.3 or len(data) < 2:
            made: bytes = atheris.Mutate(data, most)
            return made
        return (data[:1] + changed(data[1:], rng))[:most]

    return mutated


def _own(seeds: Sequence[Seed]) -> Iterator[Seed | None]:
    """In the order of the targets: the seed where a target is a whole file with changes of its own."""
    for seed in seeds:
        for place, _ in enumerate(_targets(seed)):
            yield seed if place == 0 and seed.own is not None else None


def main(words: Sequence[str]) -> None:
    """Fuzz one reader, write its count to standard output, and end."""
    asked = json.loads(words[0])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with drawn_files() as folder, tempfile.TemporaryDirectory() as corpus:
        reader = next(each for each in all_readers(Path(folder)) if each.name == asked["reader"])
        kept = Path(words[1]) if words[1:] else None
        _guided(reader, Path(folder), Path(corpus), asked, kept)


def _guided(reader: Reader, folder: Path, corpus: Path, asked: dict[str, int], kept: Path | None) -> None:
    chosen = targets(reader.seeds)
    for place, target in enumerate(chosen):
        (corpus / str(place)).write_bytes(bytes([place]) + target.start)
    count, watch = Count(reader.name), Watch()

    def one(data: bytes) -> None:
        target = chosen[data[0] % len(chosen)] if data else chosen[0]
        content = target.whole(data[1:])
        if not execute(reader, folder / target.name, content, count, watch) and kept is not None:
            (kept / f"{reader.name}-guided-{count.executions}-{target.name}").write_bytes(content)
        if count.executions >= asked["stop"]:
            count.peak_mb = peak_bytes() >> 20
            sys.stdout.write(json.dumps(asdict(count)) + "\n")
            sys.stdout.flush()
            os._exit(0)  # libFuzzer never returns

    watch.__enter__()
    flags = [*_FLAGS, f"-seed={asked['seed'] + 1}", str(corpus)]
    atheris.Setup([sys.argv[0], *flags], one, custom_mutator=mutator(reader.seeds))
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
