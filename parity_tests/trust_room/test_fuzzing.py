"""Thousands of damaged, slipped and forged files for every reader

docs/security.md has the numbers of the long runs. Here a few hundred files of each kind are drawn from another seed.
"""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput

from ..measuring.fuzz.counts import Count
from ..measuring.fuzz.execution import fuzzed
from ..measuring.fuzz.pieces import Journal, Piece, in_a_process, pieces, shares
from ..measuring.fuzz.readers import Reader, all_readers
from .tried import passes, refused

NAMES = (
    "bundle", "companion", "clip", "teacher batch", "prediction", "trace .jsonl", "trace .jsonl.gz", "trace .jsonl.zst",
    "trace .bin", "trace .safetensors", "table .csv", "table .npz", "table .json", "evidence", "pasted log",
    "explained log", "ONNX model", "model compared", "archive", "configuration", "conventions", "known findings", "numbers",
    "declared contract", "importers", "configurations", "folders", "other formats", "segments", "datagrams",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
EXECUTIONS, SEED = 60, 20
"""Together ten seconds; another seed than that of the page."""


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Reader, Path]]:
    """Every reader by its name, with the folder of its files."""
    folder = tmp_path_factory.mktemp("fuzz")
    return {reader.name: (reader, folder) for reader in all_readers(folder)}


def test_every_reader_is_fuzzed(readers: dict[str, tuple[Reader, Path]]) -> None:
    """A reader that nobody lists is one that nobody tries."""
    assert tuple(readers) == NAMES


@passes("the files from which the fuzzer starts, as they are", "read without an error")
@pytest.mark.parametrize("name", NAMES)
def test_every_seed_is_sound(name: str, readers: dict[str, tuple[Reader, Path]]) -> None:
    """From a file that is refused at its first line, a fuzzer never gets to the second."""
    reader, folder = readers[name]
    for seed in reader.seeds:
        path = folder / seed.name
        path.write_bytes(seed.content)
        try:
            reader.read(path)
        except UnusableInput as error:
            pytest.fail(f"{seed.name}: {error}")


@pytest.mark.sampled(2)
@refused(
    "bytes flipped, cut, repeated and swapped, hostile words and numbers, in every kind of file", "a value, or exit 2"
)
@pytest.mark.parametrize("name", NAMES)
def test_no_file_crashes_or_hangs_a_reader(name: str, readers: dict[str, tuple[Reader, Path]]) -> None:
    """A crash is called a defect of rigpact; a hang takes the build machine until its time is over."""
    executions = 2 if name == "explained log" else EXECUTIONS  # of those that search for causes, one takes a second
    count = fuzzed(*readers[name], SEED, range(executions))
    assert count.places == {}
    assert (count.executions, count.crashes, count.hangs) == (executions, 0, 0)


def test_two_million_files_leave_a_thousand_to_the_slowest_reader() -> None:
    """A reader that gets a handful of a large number is hardly tried, and the page shows the large number."""
    of_each = shares(NAMES, 2_000_000)
    assert sum(of_each.values()) >= 2_000_000
    assert min(of_each.values()) >= 1_000
    assert sum(count >= 20_000 for count in of_each.values()) == len(NAMES) - 1


def test_the_pieces_of_a_run_are_its_files() -> None:
    """A gap between two pieces is files that the page counts and nobody made."""
    drawn = [number for piece in pieces("bundle", 7, 45_000) for number in range(piece.first, piece.stop)]
    assert drawn == list(range(45_000))


def test_a_run_goes_on_where_it_was_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of an hour that starts anew each time is never finished. The last line is torn where the run was killed."""
    monkeypatch.chdir(ROOT)
    first, second = pieces("datagrams", 7, 20_003)
    journal = tmp_path / "journal.jsonl"
    done = {"piece": asdict(first), "count": asdict(Count("datagrams", executions=9))}
    whole = json.dumps(done) + "\n"
    journal.write_text(whole + whole[:70], encoding="utf-8")
    again = Journal(journal)
    assert again.counted(first, None) == Count("datagrams", executions=9)
    assert again.counted(second, None).executions == 3
    assert Journal(journal).counted(second, None).executions == 3


def test_a_reader_whose_process_dies_has_crashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes its process with it says nothing. Silence must not be counted as good."""
    monkeypatch.chdir(ROOT)
    count = in_a_process(Piece("nobody has this name", 7, 0, 1), None)
    assert count.crashes == 1
    assert "the process died" in next(iter(count.places))


def test_a_guided_run_reaches_code_that_the_sound_files_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fuzzer that is guided and finds nothing new is not guided."""
    pytest.importorskip("atheris", reason="coverage-guided fuzzing needs atheris, as in `tox -e fuzz`")
    monkeypatch.chdir(ROOT)
    count = in_a_process(Piece("datagrams", 7, 0, 200, guided=True), None)
    assert (count.executions, count.places) == (200, {})
    assert count.reached is not None
    assert count.reached[0] < count.reached[1]
