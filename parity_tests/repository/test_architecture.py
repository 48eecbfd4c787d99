"""ARCHITECTURE.md is the truth of the tree: what it names is there, and every package of a room is named."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository


def _tree(checkout: Path) -> Iterator[tuple[Path, str]]:
    """Each folder of the page's tree with one name that stands under it."""
    fence = (checkout / "ARCHITECTURE.md").read_text(encoding="utf-8").split("```")[1]
    folder = checkout
    for line in fence.strip().splitlines():
        if not line.startswith(" "):
            folder = checkout / line.split()[0]
            yield folder, ""
        else:
            yield from ((folder, name.strip()) for name in re.split(r"\s{2,}", line.strip())[0].split(","))


def test_what_the_page_names_is_there(checkout: Path) -> None:
    """A page that names missing folders misleads its readers."""
    missing = [
        f"{folder}/{name}"
        for folder, name in _tree(checkout)
        if not (folder / name).is_dir() and not (folder / f"{name}.py").is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("room", ["contract", "reference_runtime", "reports", "fixtures"])
def test_every_package_of_a_room_is_on_the_page(checkout: Path, room: str) -> None:
    """Readers cannot find a package that is not on the page."""
    root = checkout / room / "rigpact" / room
    named = {name.rstrip("/") for folder, name in _tree(checkout) if folder == root}
    assert {path.parent.name for path in root.glob("*/__init__.py")} - named == set()


def test_the_last_table_names_what_is_there(checkout: Path) -> None:
    """`…` stands for the rest of a room's path."""
    rows = (checkout / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where to change what")[2]
    words = [word for word in re.findall(r"`([^` ]+/[^` ]*)`", rows) if "NAME" not in word]
    paths = [
        str(path.relative_to(checkout)) + "/" * path.is_dir() for path in checkout.rglob("*") if "/." not in str(path)
    ]
    for word in words:
        start, _, end = word.rpartition("…/")
        assert any(path.startswith(start) and path.rstrip("/").endswith(end.rstrip("/")) for path in paths), word
