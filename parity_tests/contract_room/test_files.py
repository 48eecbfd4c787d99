"""Files that are none: pipes, folders, more bytes than memory; and where nothing may be written."""

import math
import os

import numpy as np
import pytest

from rigpact.contract.compatibility.differences import same
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import is_file, opened, read_bytes, read_json, refuse_bomb, refuse_too_large, write_bytes
from rigpact.contract.files.reading import MAX_FILE_BYTES, inputs_remembered, is_input
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, NotKnown, Stage


def test_a_pipe_is_no_file(tmp_path, monkeypatch):
    """A program that waits for a pipe that nobody fills stops the build; Windows has no flag for opening without waiting."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(UnusableInput, match="expected a regular file"):
        read_bytes(tmp_path / "pipe.json")
    (tmp_path / "a.json").write_bytes(b"1")
    monkeypatch.delattr("os.O_NONBLOCK", raising=False)
    assert read_bytes(tmp_path / "a.json") == b"1"


def test_a_folder_in_place_of_a_file_says_what_is_in_it(tmp_path):
    """Four names are enough to see which folder it is."""
    for name in ("e.json", "b.json", "d.onnx", "c.json", "a.txt", "f.json"):
        (tmp_path / name).touch()
    with pytest.raises(UnusableInput) as refused:
        read_bytes(tmp_path)
    assert refused.value.hint == "it holds b.json, c.json, d.onnx, e.json"


def test_a_file_that_may_fill_the_memory_is_refused_before_it_is_read():
    """Two gibibytes are read; a packed file may hold a hundred times its bytes and half a gibibyte: a bomb is a kilobyte."""
    assert MAX_FILE_BYTES == 2_147_483_648
    refuse_too_large("a", MAX_FILE_BYTES)
    with pytest.raises(UnusableInput, match="at most 2147483648 bytes"):
        refuse_too_large("a", MAX_FILE_BYTES + 1)
    for packed in (0, 7, 10_000_000):
        most = 536_870_912 + 100 * packed
        refuse_bomb("a", packed, most)
        with pytest.raises(UnusableInput, match=f"that unpack to {most + 1} or more"):
            refuse_bomb("a", packed, most + 1)


def test_a_file_that_is_read_is_an_input_and_one_that_is_updated_is_none(tmp_path):
    """An output that takes an input's place destroys it; a list of known findings is read and written again."""
    read, updated = tmp_path / "read.json", tmp_path / "updated.json"
    for path in (read, updated):
        path.write_text("{}", encoding="utf-8")

    def look(path, **said):
        with opened(path, **said):
            pass

    for ask in (look, read_bytes, read_json):
        with inputs_remembered():
            ask(read)
            ask(updated, is_updated=True)
            assert (is_input(read.stat()), is_input(updated.stat())) == (True, False)


def test_a_file_that_takes_the_inode_of_a_removed_input_is_none(tmp_path):
    """A self-test that writes thousands of files for a moment stopped with "a file that this command reads"."""
    read, other = tmp_path / "read.json", tmp_path / "other name.json"
    read.write_text("{}", encoding="utf-8")
    other.hardlink_to(read)
    status = read.stat()
    with inputs_remembered():
        for name in (read, other):
            read_bytes(name)
        found = [is_input(status)]
        for name in (read, other):
            name.unlink()
            found.append(is_input(status))
    assert found == [True, True, False]


def test_a_file_that_is_written_meanwhile_is_refused(tmp_path):
    """Half of what was read is old and half is new."""
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def read():
        with opened(path) as stream:
            assert stream.read() == b"old"
            path.write_bytes(b"longer")

    with pytest.raises(UnusableInput, match="changed while it was read"):
        read()


def test_what_no_file_can_be_is_none(tmp_path):
    """A long text given in place of a path; a report must not be written over the folder of all reports."""
    assert [is_file(tmp_path / name) for name in ("a" * 5000, "a\0b")] == [False, False]
    with pytest.raises(UnusableInput, match="found a directory"):
        write_bytes(tmp_path, b"x")


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [(60, 60.0, True), (True, 1, False), (math.nan, math.nan, True), (math.nan, 1.0, False), ([math.nan], [math.nan], True)],
)  # fmt: skip
def test_values_of_two_files_are_compared_as_json_has_them(first, second, is_same):
    """NaN is not itself in Python: a damaged number in both versions would be a change in every release."""
    assert same(first, second) is is_same


def test_what_a_layout_or_a_graph_does_not_have_is_said():
    """A misspelt stage must not be taken for an empty one; a channel in a gap has no field."""
    layout = FieldLayout((Field("yaw", 0, 1, FieldKind.SCALAR), Field("foot", 3, 3, FieldKind.POSITION)))
    assert [layout.address(channel) for channel in (0, 1, 4)] == ["yaw", "channel 1", "foot[1]"]
    given = Stage("tilt", layout)
    for holder in (layout, Graph((given,))):
        with pytest.raises(KeyError):
            holder["tilt_raw"]
    with pytest.raises(NotKnown, match="tilt"):
        given.computed(np.zeros(0))
