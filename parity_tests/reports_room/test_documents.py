"""README and pages under docs/: commands as written, in their order, with the output shown; generated pages are fresh.

Set RIGPACT_REGENERATE=1 to write the outputs into the pages and their translations anew.
"""

import re
import shutil
from datetime import date

import numpy as np
import pytest

from rigpact.contract.settings import table
from rigpact.reference_runtime import read_trace

from ..measuring.pages.generated_docs import PAGES, install_page
from ..shown_output import FENCES, follow

FOLLOWED = {
    "tutorial.md": "demo 0, check 0, run 0, convert 0, explain 1, init 0, gate 1, run 0, convert 0, gate 0",
    "howto/first-gate.md": "demo 0, last_year.py 0, init 0, gate 1, exporter.py 0, gate 1, gate 1",
    "howto/compare-checkpoints.md": "demo 0, candidate.py 0, run 0, run 0, diff 1, sweep 0",
    "howto/free-run-explodes.md": "demo 0, wrong_export.py 0, nan 1, check 1, mended_export.py 0, nan 0, nan 1, nan 0",
    "howto/recorder.md": "demo 0, codegen 0, c++ 0, ./hero 0, explain 1, c++ 0, ./hero 0, explain 0",
    "howto/capture.md": "capture_it.py 0, explain 0, robot.py 0, explain 1",
    "howto/triage.md": (
        "demo 0, run 0, convert 0, slips.py 0, explain 0, explain 1, explain 1, explain 1, explain 2, diff 2, check 2"
    ),
}
"""Each page under docs/ and the exit status of its commands: what the page says of them in words."""
TRANSLATED = ("../README.md", "tutorial.md", "howto/triage.md")
OFTEN = {"tutorial.md": (), "howto/capture.md": ()}
"""Pages that guard a merge; the others are followed each night."""
NEEDS = {"howto/recorder.md": "c++"}
THE_PAGES_DAY = date(2026, 12, 1)
"""The pages let something be until a day within a year of this one."""


def in_chinese(page):
    """The translation beside a page."""
    return page.with_suffix(".zh-CN.md")


@pytest.mark.parametrize("name", [pytest.param(each, marks=OFTEN.get(each, pytest.mark.nightly)) for each in FOLLOWED])
def test_a_page_shows_what_its_commands_print(command, checkout, tmp_path, monkeypatch, name):
    """A reader who sees another output than the page shows stops there, and thinks that the character is at fault."""
    if name in NEEDS and shutil.which(NEEDS[name]) is None:
        pytest.skip(f"no {NEEDS[name]} on this machine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table, "today", lambda: THE_PAGES_DAY)
    page = checkout / "docs" / name
    ran = follow(page, command, *([in_chinese(page)] if name in TRANSLATED else []))
    assert ", ".join(f"{each.name} {each.status}" for each in ran) == FOLLOWED[name]


def test_the_readme_is_short_and_shows_what_its_commands_print(command, tmp_path, checkout, monkeypatch):
    """Its first screen is all that most people read."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    joints, gyro = (random.normal(size=(50, width)).astype(np.float32) for width in (12, 3))
    np.savez("python.npz", joint_pos=joints, gyro=gyro)
    np.savez("cpp.npz", joint_pos=joints[:, [0, 1, 2, 4, 3, *range(5, 12)]], gyro=gyro)
    page = checkout / "README.md"
    assert [(each.words[1], each.status) for each in follow(page, command, in_chinese(page))] == [("diff", 1)]
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 110


def test_every_how_to_is_followed(checkout):
    """A page whose commands nothing runs is wrong after the next release."""
    pages = (checkout / "docs" / "howto").glob("*.md")
    names = {f"howto/{page.name}" for page in pages if not page.name.endswith(".zh-CN.md")}
    assert names == {name for name in FOLLOWED if name.startswith("howto/")}


@pytest.mark.parametrize("name", TRANSLATED)
def test_both_languages_show_the_same(checkout, name):
    """A translation that falls behind sends its readers to commands that are gone."""
    page = checkout / "docs" / name
    english, chinese = (each.read_text(encoding="utf-8") for each in (page, in_chinese(page)))
    assert FENCES.findall(english) == FENCES.findall(chinese)
    for marks in (r"^##+ ", r"^\| "):
        assert len(re.findall(marks, english, re.MULTILINE)) == len(re.findall(marks, chinese, re.MULTILINE))
    links, commands = (
        [re.findall(form, text.replace(".zh-CN.md", ".md")) for text in (english, chinese)]
        for form in (r"\]\(([^)]+\.md)[^)]*\)", r"\| (`rigpact .*?`) \|")
    )
    assert set(links[0]) == set(links[1])
    assert commands[0] == commands[1]


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_link_of_the_readme_leads_somewhere(checkout, name):
    """A dead link in the README misleads its readers."""
    readme = (checkout / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(targets) > 10
    assert [target for target in targets if not (checkout / target).is_file()] == []


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_fresh(checkout, name):
    """Run `python -m parity_tests.measuring.pages.generated_docs` when this fails."""
    assert (checkout / "docs" / name).read_text(encoding="utf-8") == PAGES[name]()


def test_the_python_page_runs(checkout, capsys):
    """The first lines that an engineer copies."""
    page = (checkout / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "python.md", "exec"), {})  # noqa: S102 - our own page
    pelvis = [float(word) for word in capsys.readouterr().out.strip(" []\n").split()]
    assert sum(component**2 for component in pelvis) == pytest.approx(1.0, abs=1e-5)  # four digits are printed


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
