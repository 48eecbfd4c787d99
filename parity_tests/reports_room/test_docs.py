"""The pages under docs/: generated ones are fresh, examples are read as described."""

import re

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import read_trace

from ..measuring.pages.generated_docs import PAGES, install_page

KNOBS = find_system("enemy_animation").knobs
STAGE_NAMES = find_system("enemy_animation").graph.names


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_fresh(checkout, name):
    """Run `python -m parity_tests.measuring.pages.generated_docs` when this fails."""
    assert (checkout / "docs" / name).read_text(encoding="utf-8") == PAGES[name]()


def test_the_trace_format_page_shows_a_readable_trace(checkout, tmp_path):
    """An engine programmer copies the example."""
    page = (checkout / "docs" / "trace-format.md").read_text(encoding="utf-8")
    path = tmp_path / "example.trace.jsonl"
    path.write_text("".join(re.findall(r"```json\n(.*?)```", page, re.DOTALL)), encoding="utf-8")
    trace = read_trace(path)
    assert trace.frame.tolist() == [0, 1]
    assert np.isnan(trace.stages["y_out"][1, 4])
    assert trace.header.producer == "MyEngine"


def test_pages_install_from_where_rigpact_is(checkout):
    """`pip install rigpact` of a page fails until the index has it: one page says it, and follows `[project.urls]`."""
    bare = re.compile(r"pip install (?:-U )?rigpact(?![\w.-])")
    pages = [checkout / "README.md", checkout / "README.zh-CN.md", *(checkout / "docs").rglob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert page.name == "install.md" or not bare.search(text), page
        if "rigpact[" in text and "pip install" in text and page.name != "install.md":
            assert "install.md)" in text, page
    for owner, has_index in (("OWNER", False), ("studio", True)):
        made = install_page({"version": "7.8", "urls": {"Repository": f"https://github.com/{owner}/rigpact"}})
        assert bool(bare.search(made)) is has_index
        assert ("does not have rigpact yet" in made) is not has_index
        assert "rigpact-7.8-" in made
