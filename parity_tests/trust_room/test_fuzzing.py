"""Thousands of damaged, slipped and forged files for every reader

docs/security.md has the numbers of the long runs. Here a few hundred files of each kind are drawn from another seed.
"""

from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput

from ..measuring.fuzz.__main__ import fuzzed
from ..measuring.fuzz.readers import Reader, all_readers
from .tried import passes, refused

NAMES = (
    "bundle", "companion", "clip", "teacher batch", "prediction", "trace .jsonl", "trace .jsonl.gz", "trace .jsonl.zst",
    "trace .bin", "trace .safetensors", "table .csv", "table .npz", "table .json", "evidence", "pasted log",
    "explained log", "ONNX model", "model compared", "archive", "configuration", "conventions", "known findings", "numbers",
    "declared contract", "importers", "configurations", "folders", "other formats", "segments", "datagrams",
)  # fmt: skip
EXECUTIONS, SEED = 12, 20
"""Together ten seconds; another seed than that of the page."""


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Reader, Path]]:
    """Every reader by its name, with the folder of its files."""
    folder = tmp_path_factory.mktemp("fuzz")
    return {reader.name: (reader, folder) for reader in all_readers(folder)}


def test_every_reader_is_fuzzed(readers):
    """A reader that nobody lists is one that nobody tries."""
    assert tuple(readers) == NAMES


@pytest.mark.sampled(3)
@passes("the files from which the fuzzer starts, as they are", "read without an error")
@pytest.mark.parametrize("name", NAMES)
def test_every_seed_is_sound(name, readers):
    """From a file that is refused at its first line, a fuzzer never gets to the second."""
    reader, folder = readers[name]
    assert reader.seeds
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
def test_no_file_crashes_or_hangs_a_reader(name, readers):
    """A crash is called a defect of rigpact; a hang takes the build machine until its time is over."""
    executions = 2 if name == "explained log" else EXECUTIONS  # of those that search for causes, one takes a second
    count = fuzzed(*readers[name], SEED, range(executions))
    assert count.places == {}
    assert (count.executions, count.crashes, count.hangs) == (executions, 0, 0)
