"""Files of a commit, and files of other people among them

The pre-commit hook hands over whatever the commit holds.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..golden_findings import check_golden
from .tried import passes, refused

COMMENTED = '{\n  // a comment, as editors write them\n  "compilerOptions": {}\n}\n'
GOLDEN = Path(__file__).parent / "golden"
Command = Callable[..., Any]


@pytest.fixture
def commit(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with a bundle, a clip, and the settings of somebody's editor."""
    shutil.copy(demo_bundle / "norm_template.json", tmp_path)
    shutil.copy(demo_bundle / "clips" / "Run_F.json", tmp_path)
    (tmp_path / "tsconfig.json").write_text(COMMENTED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _spoil(bundle: Path) -> None:
    document = json.loads(bundle.read_text(encoding="utf-8"))
    document["StdX"][17] = 0
    bundle.write_text(json.dumps(document), encoding="utf-8")


@passes("a JSON file with comments that is none of ours, beside a sound bundle", "is named and passed over")
def test_other_peoples_unreadable_files_are_none_of_ours(command: Command, commit: Path) -> None:
    """A hook that fails on somebody's editor settings is taken out, and then judges nothing."""
    answer = command("check", "--each", "norm_template.json", "tsconfig.json")
    assert answer.status == 0
    assert answer.err == "tsconfig.json: no artefact of the contract, passed over\n"


@refused("a bundle with a defect, committed beside a JSON file that nobody can read", "RP104, exit 1")
def test_an_unreadable_file_hides_no_finding(command: Command, commit: Path) -> None:
    """A tsconfig with comments hid a deviation of zero: the limb collapses, and the commit went in."""
    _spoil(commit / "norm_template.json")
    for others in (("tsconfig.json",), ("Run_F.json",)):
        (commit / "Run_F.json").write_text('{"Frames": [', encoding="utf-8")
        answer = command("check", "--each", *others, "norm_template.json", "--format", "json")
        assert answer.status == 1
        assert "RP104" in {finding["code"] for finding in json.loads(answer.out)["findings"]}


@refused("a file of a commit whose name is an option that runs code", "no code runs; the hook hands it over as a file")
def test_a_name_of_a_commit_is_no_option(command: Command, commit: Path, checkout: Path) -> None:
    """A pull request with a file called `--module=theirs.json` ran theirs/json.py on every machine with the hook."""
    (commit / "theirs").mkdir()
    (commit / "theirs" / "json.py").write_text("open('ran', 'w')", encoding="utf-8")
    shutil.copy(commit / "norm_template.json", commit / "--module=theirs.json")
    assert command("check", "--each", "--module=theirs.json").status == 2
    hooks = yaml.safe_load((checkout / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    words = [word for hook in hooks[:1] for word in (*hook["entry"].split()[1:], *hook["args"])]
    answer = command(*words, "--module=theirs.json", "norm_template.json")
    assert (answer.status, (commit / "ran").exists()) == (0, False), answer.err


@refused("a clip that was cut off while it was copied, in UTF-8 or UTF-16", "RP004, counted as missing")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_damaged_artefact_is_missing(command: Command, commit: Path, encoding: str) -> None:
    """Half of a clip is ours: passing over it would let it in."""
    text = (commit / "Run_F.json").read_text(encoding="utf-8")
    (commit / "Run_F.json").write_text(text[: len(text) // 2], encoding=encoding)
    answer = command("check", "--each", "norm_template.json", "Run_F.json", "--format", "json")
    report = json.loads(answer.out)
    assert answer.status == 1
    assert [(each["code"], each["file"]) for each in report["findings"] if each["severity"] == "error"] == [
        ("RP004", "Run_F.json")
    ]
    assert report["ledger"]["missing"] == 1
    if encoding == "utf-8":
        check_golden(GOLDEN, "RP004", [each for each in report["findings"] if each["code"] == "RP004"], commit)


@refused(
    "a model of which only the pointer of a large-file store was committed", "RP004; its bundle is judged all the same"
)
def test_an_unreadable_model_does_not_hide_its_bundle(command: Command, commit: Path) -> None:
    """The pointer of a large-file store in place of the model: the bundle's own defect was not said."""
    (commit / "model.onnx").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    _spoil(commit / "norm_template.json")
    answer = command("check", "--each", "model.onnx", "norm_template.json", "--format", "json")
    assert answer.status == 1
    assert {"RP004", "RP104"} <= {finding["code"] for finding in json.loads(answer.out)["findings"]}
