"""docs/gate.md: mistakes that pass other comparators fail here, as its table says."""

import re
from pathlib import Path

import pytest

from .blind_spots import SPOTS, Seen, see_all


@pytest.fixture(scope="module")
def seen() -> list[Seen]:
    return list(see_all())


def test_no_spot_is_blind(seen: list[Seen]) -> None:
    """Renamed, dropped, reordered, cut, of another type, not finite on both sides: green would be a lie about each."""
    assert [row.spot for row in seen] == [spot.name for spot in SPOTS]
    assert [row.spot for row in seen if row.verdict == "pass"] == []
    assert all(row.codes for row in seen)


def test_nan_on_both_sides_is_reported_as_such(seen: list[Seen]) -> None:
    """A character that vanishes in both halves is not parity."""
    assert {row.spot for row in seen if "RP804" in row.codes} == {
        "NaN in the recording",
        "the same NaN on both sides",
        "all NaN on both sides",
    }


def test_the_page_says_what_is_seen(seen: list[Seen], checkout: Path) -> None:
    """A table that nobody made again promises what is no longer true."""
    page = (checkout / "docs" / "gate.md").read_text(encoding="utf-8")
    section = page.partition("## What must not pass\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.+): (.+) \|$", section, re.MULTILINE)
    assert rows == [(row.spot, row.verdict, ", ".join(row.codes)) for row in seen]
