"""Every contract with numbers that people write: round, equal, zero, one. A reading that they cannot show is no mistake."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.declared.declaration import read_declaration
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.pages.registry import find_system

ROOT = Path(__file__).parents[2]
SHIPPED = sorted([*(ROOT / "fixtures" / "contracts").glob("*.toml"), *(ROOT / "fixtures" / "bundles").glob("*/*.toml")])
NOT_ANY = {"fixed", "about", "tree", "axes", "ranges", "layers"}
"""What a page says of numbers that only a rig's own file may hold."""
PAGES = {
    name: tomllib.loads(find_system(name).own_page) for name in ("blender_ik", "imu_pose", "neurarig", "rig_inversion")
}


def _ways(numbers: Any) -> Iterator[tuple[str, Any]]:
    """The same numbers as people write them."""
    found = np.array(numbers, np.float64)
    if found.ndim or abs(found) > 0.1:
        yield "round", np.round(found, 2).tolist()
    yield "equal", np.full(found.shape, np.round(found.max(), 2) or 1.0).tolist()
    yield "zero", np.zeros(found.shape).tolist()
    yield "one", np.ones(found.shape).tolist()


def _is_meant(entry: dict[str, Any], numbers: Any) -> bool:
    """Whether what the page itself asks of a constant holds."""
    found = np.array(numbers, np.float64)
    low, high = entry.get("between", (-np.inf, np.inf))
    rows = found.reshape(-1, found.shape[-1]) if found.ndim > 1 else found[None]
    return bool(
        not NOT_ANY & entry.keys()
        and (found.min() > 0 or "positive" not in entry)
        and (found > low).all() and (found < high).all()
        and ("unit_rows" not in entry or (np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-6).all())
    )  # fmt: skip


def _filled(system: str, way: str) -> dict[str, Any]:
    """The constants of a page that any file may state, all of them written so."""
    published, page = find_system(system).template(), PAGES[system]["constants"]
    held = {each for entry in page.values() for each in entry.get("axes", ())}
    free = [name for name in page if name not in held and not _is_words(published[name])]
    written = {name: dict(_ways(published[name])).get(way) for name in free}
    return {name: each for name, each in written.items() if each is not None and _is_meant(page[name], each)}


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and isinstance(value[0], str)


def _declared(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The tables of a contract, each with the key of numbers in it."""
    root = tomllib.loads(path.read_text(encoding="utf-8"))
    found = [(entry, "value") for entry in root.get("numbers", {}).values() if "value" in entry]
    keys = ("scale", "offset", "subtract", "lowest", "highest", "value", "threshold")
    found += [
        (stage, key) for stage in root["stages"] for key in keys if isinstance(stage.get(key), float | int | list)
    ]
    yield root, ""
    yield from found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["round", "equal", "zero", "one"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_contract_takes_ordinary_numbers(path: Path, way: str) -> None:
    """Each of its numbers by itself: what a word of the file says stays a word that it may say."""
    count = len(list(_declared(path)))
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
