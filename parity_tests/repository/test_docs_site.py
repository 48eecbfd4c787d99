"""The pages under docs/ as a site: each in the navigation, each link right, nothing loaded from elsewhere."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..measuring.pages.generated_docs import Navigation

pytestmark = pytest.mark.repository
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"?(?P<address>[^\"\s>]+)")
"""What a browser fetches by itself; a reader's click on a link in the text is the reader's own."""


def pages_of(navigation: Any) -> Iterator[str]:
    """Every page that a navigation names, whatever the depth."""
    if isinstance(navigation, str):
        yield navigation
        return
    for entry in navigation.values() if isinstance(navigation, dict) else navigation:
        yield from pages_of(entry)


def test_the_navigation_leads_to_every_page_once(checkout: Path) -> None:
    """A page that no menu names is found by nobody."""
    settings = yaml.load((checkout / "mkdocs.yml").read_text(encoding="utf-8"), Loader=Navigation)  # noqa: S506
    docs = checkout / settings["docs_dir"]
    assert Counter(pages_of(settings["nav"])) == Counter(
        path.relative_to(docs).as_posix() for path in docs.rglob("*.md")
    )


def test_the_first_page_lists_every_page(checkout: Path) -> None:
    """Who reads the pages in a clone has no menu."""
    docs = checkout / "docs"
    listed = (docs / "index.md").read_text(encoding="utf-8").partition("## Every page\n")[2]
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"index.md"}
    assert Counter(re.findall(r"\]\(([^)]+)\)", listed)) == Counter(pages)


def test_every_link_of_every_page_leads_to_a_file(checkout: Path) -> None:
    """A dead link is where a reader gives up."""
    dead = [
        f"{path.relative_to(checkout)}: {target}"
        for path in sorted((checkout / "docs").rglob("*.md"))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", _prose(path.read_text(encoding="utf-8")))
        if not target.startswith(("http://", "https://")) and not (path.parent / target).is_file()
    ]
    assert dead == []


def _prose(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.nightly
def test_the_built_site_needs_no_network(checkout: Path, tmp_path: Path) -> None:
    """A studio's build machine has no network; a page that waits for a font from elsewhere stays blank there."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True, timeout=300)
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list((checkout / "docs").rglob("*.md")))  # and one for what is not found
    for page in pages:
        for found in LOADED.finditer(page.read_text(encoding="utf-8")):
            address = found["address"]
            assert not re.match(r"(?:https?:)?//", address), f"{page.name} loads {address}"
            if not address.startswith(("data:", "/")):
                assert (page.parent / address.partition("#")[0].partition("?")[0]).exists(), f"{page.name}: {address}"
