"""Every contract with numbers that people write: round, equal, zero, one. A reading that they cannot show is no mistake."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.declared.declaration import read_declaration
from rigpact.contract.declared.problems import Wrong

ROOT = Path(__file__).parents[2]


def _ways(numbers):
    """The same numbers as people write them."""
    found = np.array(numbers, np.float64)
    if found.ndim or abs(found) > 0.1:
        yield "round", np.round(found, 2).tolist()
    yield "equal", np.full(found.shape, np.round(found.max(), 2) or 1.0).tolist()
    yield "zero", np.zeros(found.shape).tolist()
    yield "one", np.ones(found.shape).tolist()


def _declared(path):
    """The tables of a contract, each with the key of numbers in it."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    found = [(entry, "value") for entry in root.get("numbers", {}).values() if "value" in entry]
    keys = ("scale", "offset", "subtract", "lowest", "highest", "value", "threshold")
    found += [
        (stage, key) for stage in root["stages"] for key in keys if isinstance(stage.get(key), float | int | list)
    ]
    yield root, ""
    yield from found


FOLDERS = (ROOT / "fixtures" / "contracts", ROOT / "fixtures" / "bundles")
SHIPPED = [path for folder in FOLDERS for path in sorted(folder.rglob("*.toml")) if len(list(_declared(path))) > 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["round", "equal", "zero", "one"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_contract_takes_ordinary_numbers(path, way):
    """Each of its numbers by itself: what a word of the file says stays a word that it may say."""
    count = len(list(_declared(path)))
    assert count > 1
    for place in range(1, count):
        (root, _), *entries = _declared(path)
        table, key = entries[place - 1]
        table[key] = dict(_ways(table[key])).get(way, table[key])
        words = [
            each
            for each in read_declaration(root, path.parent).problems
            if each.kind in (Wrong.CHOICE, Wrong.UNKNOWN_WORD)
        ]
        assert not words, f"{key} of {table.get('name', path.stem)}"
