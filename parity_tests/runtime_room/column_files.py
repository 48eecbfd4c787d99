"""Small files of named columns, and what a reader asks of a contract: for the tests of named columns."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.recordings.named_columns import read_named_columns

A, B, C = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
KNEE_HIP = FieldLayout((Field("knee", 0, 1, FieldKind.SCALAR), Field("hip", 1, 1, FieldKind.SCALAR)))
TWO_FEET = FieldLayout((Field("left", 0, 3, FieldKind.POSITION), Field("right", 3, 3, FieldKind.POSITION)))


class Graph(tuple):
    """The names of a system's vectors."""

    feeds_itself = False

    @property
    def names(self):
        """The names in their order."""
        return tuple(self)


def contract(fps=50.0, *, recordings=None, published=None, windowed=False, feeds_itself=False, **vectors):
    """What a reader asks of a contract. vectors: name -> layout, or width of one field; without any a `q` of two joints."""
    layouts = {
        name: each
        if isinstance(each, FieldLayout)
        else FieldLayout((Field("x", 0, each, FieldKind.RAW),) if each else ())
        for name, each in (vectors or {"q": KNEE_HIP}).items()
    }
    graph = Graph(layouts)
    graph.feeds_itself = feeds_itself
    system = SimpleNamespace(
        name="rig", graph=graph, recordings=recordings or {}, published=published or {}, windowed=windowed
    )
    return SimpleNamespace(fps=fps, system=system, fields=layouts.__getitem__)


def npz(folder, **columns):
    path = folder / "run.npz"
    np.savez(path, **{name: np.asarray(values) for name, values in columns.items()})
    return path


def table(folder, **columns):
    path = folder / "run.json"
    path.write_text(json.dumps(columns), encoding="utf-8")
    return path


def stages(path, of, **more):
    return {name: rows.tolist() for name, rows in read_named_columns(path, of, **more).stages.items()}


def refused(path, of, **more):
    with pytest.raises(UnusableInput) as raised:
        read_named_columns(path, of, **more)
    return raised.value.place.removeprefix(str(path)), raised.value.found, raised.value.expected


def side_by_side(*columns):
    return [list(row) for row in zip(*columns, strict=True)]
