"""Files that are none: pipes, folders, more bytes than memory; and where nothing may be written."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.compatibility.values import same
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes, refuse_bomb, write_bytes
from rigpact.contract.files.reading import MAX_FILE_BYTES, refuse_too_large
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, NotKnown, Stage

GIGA = 1 << 30


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """A program that waits for a pipe that nobody fills stops the build."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes here")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(UnusableInput, match="expected a regular file"):
        read_bytes(tmp_path / "pipe.json")


@pytest.mark.parametrize(("packed", "unpacked"), [(1000, 3 * GIGA), (1000, GIGA)])
def test_a_small_file_may_not_fill_the_memory(packed: int, unpacked: int) -> None:
    """A bomb of a kilobyte in a pull request takes the build machine down."""
    with pytest.raises(UnusableInput, match="unpack"):
        refuse_bomb("a.zst", packed, unpacked)
    refuse_bomb("a.zst", packed, 1 << 20)
    refuse_bomb("a.zst", GIGA // 50, GIGA)
    with pytest.raises(UnusableInput, match="expected at most"):
        refuse_too_large("a.json", MAX_FILE_BYTES + 1)


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    """A report must not be written over the folder of all reports."""
    with pytest.raises(UnusableInput, match="found a directory"):
        write_bytes(tmp_path, b"x")


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        (60, 60.0, True),
        (True, 1, False),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        ([math.nan], [math.nan], True),
    ],
)
def test_values_of_two_files_are_compared_as_json_has_them(first: Any, second: Any, is_same: bool) -> None:
    """NaN is not itself in Python: a damaged number in both versions would be a change in every release."""
    assert same(first, second) is is_same


def test_what_a_layout_or_a_graph_does_not_have_is_said() -> None:
    """A misspelt stage must not be taken for an empty one; a channel in a gap has no field."""
    layout = FieldLayout((Field("yaw", 0, 1, FieldKind.SCALAR), Field("foot", 3, 3, FieldKind.POSITION)))
    assert [layout.address(channel) for channel in (0, 1, 4)] == ["yaw", "channel 1", "foot[1]"]
    given = Stage("tilt", layout)
    for holder in (layout, Graph((given,))):
        with pytest.raises(KeyError):
            holder["tilt_raw"]
    with pytest.raises(NotKnown, match="tilt"):
        given.computed(np.zeros(0))
