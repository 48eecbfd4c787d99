"""The README's commands, run as written; the output it shows is the output they print.

Set RIGPACT_REGENERATE=1 to write the outputs into README.md anew.
"""

import re

import numpy as np
import pytest

from ..shown_output import FENCES, follow


def test_the_readme_shows_what_its_commands_print(command, tmp_path, checkout, monkeypatch):
    """A reader who sees another output than the README shows stops there."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    joints, gyro = (random.normal(size=(50, width)).astype(np.float32) for width in (12, 3))
    np.savez("python.npz", joint_pos=joints, gyro=gyro)
    np.savez("cpp.npz", joint_pos=joints[:, [0, 1, 2, 4, 3, *range(5, 12)]], gyro=gyro)
    ran = follow(checkout / "README.md", command, checkout / "README.zh-CN.md")
    assert [(each.words[1], each.status) for each in ran] == [("diff", 1)]


def test_the_readme_is_short(checkout):
    """Its first screen is all that most people read."""
    assert len((checkout / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_the_python_page_runs(checkout, capsys):
    """The first lines that an engineer copies."""
    page = (checkout / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "python.md", "exec"), {})  # noqa: S102 - our own page
    pelvis = [float(word) for word in capsys.readouterr().out.strip(" []\n").split()]
    assert sum(component**2 for component in pelvis) == pytest.approx(1.0, abs=1e-5)  # four digits are printed


def test_the_chinese_readme_shows_the_same_commands_and_outputs(checkout):
    """A translation that falls behind sends half of the readers to commands that are gone."""
    english, chinese = ((checkout / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    assert FENCES.findall(chinese) == FENCES.findall(english)
    commands = (re.findall(r"\| (`rigpact .*?`) \|", text) for text in (english, chinese))
    assert next(commands) == next(commands) != []
    translated = chinese.replace(".zh-CN.md", ".md")
    links = (sorted(set(re.findall(r"\]\((docs/[^)]+)\)", text))) for text in (english, translated))
    assert next(links) == next(links)


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_link_of_the_readme_leads_somewhere(checkout, name):
    """A dead link in the README misleads its readers."""
    readme = (checkout / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", readme)
    assert len(targets) > 10
    assert [target for target in targets if not (checkout / target).is_file()] == []
