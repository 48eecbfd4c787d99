"""The README's commands, run as written; the output it shows is the output they print.

Set RIGPACT_REGENERATE=1 to write the outputs into README.md anew.
"""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ..engine_recordings import as_engine
from ..shown_output import FENCES, follow, masked


@pytest.fixture
def readers_files(command: Any, demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a reader has it: a bundle with the usual gaps, and an engine with the usual slip."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    for key in ("fps", "MuPoseHist", "StdPoseHist", "tanh_scales_pose_hist", "pose_hist_len", "MuAngVel", "StdAngVel"):
        bundle.pop(key, None)
    bundle["cond_norm_config"]["mode"] = "Adaptive"
    del bundle["meta"]["rot6d_spec"]["output_mode"]
    (tmp_path / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    for name, source in (
        ("pretrain_template.json", "pretrain_template.json"),
        ("model.onnx", "model.onnx"),
        ("walk.json", "clips/Sneak_Turn.json"),
    ):
        shutil.copy(demo_bundle / source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    words = "run walk.json --contract norm_template.json --companion pretrain_template.json --onnx model.onnx"
    engine = f"{words} --set output_mode=residual --set compose_order=prev_delta -o engine.trace.jsonl"
    assert command(*engine.split()).status == 0
    as_engine("engine.trace.jsonl")
    return tmp_path


def test_the_readme_shows_what_its_commands_print(
    command: Any, tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who sees another output than the README shows stops there."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    joints, gyro = (random.normal(size=(50, width)).astype(np.float32) for width in (12, 3))
    np.savez("python.npz", joint_pos=joints, gyro=gyro)
    np.savez("cpp.npz", joint_pos=joints[:, [0, 1, 2, 4, 3, *range(5, 12)]], gyro=gyro)

    ran = follow(checkout / "README.md", command, checkout / "README.zh-CN.md")

    assert [(each.words[1], each.status) for each in ran] == [("diff", 1)]


def test_the_readme_is_short(checkout: Path) -> None:
    """Its first screen is all that most people read."""
    assert len((checkout / "README.md").read_text(encoding="utf-8").splitlines()) <= 110


def test_both_doors_show_what_their_demonstration_says(command: Any, checkout: Path) -> None:
    """The first answer that a reader compares with the page."""
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    doors = re.findall(r"<!-- rigpact (demo.*?) -->\n```text\n(.*?)```", readme, re.DOTALL)
    assert [words for words, _ in doors] == ["demo", "demo robot"]
    for words, shown in doors:
        printed = masked(command(*words.split()).out)
        for line in shown.splitlines():
            assert masked(line) in printed, line


def test_the_readmes_gate_names_what_is_wrong(
    command: Any, readers_files: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two commands that a team copies into its CI: one writes the settings, the other fails for the right reason."""
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"<!-- gate -->\n```bash\n(.*?)```", readme, re.DOTALL)
    init, gate = (shlex.split(line) for line in block.splitlines())
    assert (init[0], gate[0]) == ("rigpact", "rigpact")
    assert command(*init[1:]).status == 0
    answer = command(*gate[1:])
    assert answer.status == 1, answer.err
    assert "next 1. " in answer.out
    assert "compose_order = prev_delta" in answer.out
    assert "compose_order = prev_delta" in (readers_files / "report.html").read_text(encoding="utf-8")


def test_the_python_page_runs(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first lines that an engineer copies."""
    page = (checkout / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "python.md", "exec"), {})  # noqa: S102 - our own page
    pelvis = [float(word) for word in capsys.readouterr().out.strip(" []\n").split()]
    assert sum(component**2 for component in pelvis) == pytest.approx(1.0, abs=1e-5)  # four digits are printed


def test_the_chinese_readme_shows_the_same_commands_and_outputs(checkout: Path) -> None:
    """A translation that falls behind sends half of the readers to commands that are gone."""
    english, chinese = ((checkout / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))
    assert FENCES.findall(chinese) == FENCES.findall(english)
    commands = (re.findall(r"\| (`rigpact .*?`) \|", text) for text in (english, chinese))
    assert next(commands) == next(commands) != []
    translated = chinese.replace(".zh-CN.md", ".md")
    links = (sorted(set(re.findall(r"\]\((docs/[^)]+)\)", text))) for text in (english, translated))
    assert next(links) == next(links)


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_every_link_of_the_readme_leads_somewhere(checkout: Path, name: str) -> None:
    """A dead link in the README misleads its readers."""
    readme = (checkout / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (checkout / target).is_file(), target


def test_every_path_of_the_readme_begins_with_a_command(command: Any, checkout: Path) -> None:
    """A first command that is gone is the last that a reader tries."""
    readme = (checkout / "README.md").read_text(encoding="utf-8")
    paths = re.findall(r"^\| .*? \| `rigpact (\w+)", readme, re.MULTILINE)
    assert len(paths) == 5
    for name in dict.fromkeys(paths):
        assert command(name, "--help").status == 0
