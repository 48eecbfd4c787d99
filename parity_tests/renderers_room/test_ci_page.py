"""docs/ci.md: what it tells people to paste is valid, and names what is there."""

import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from rigpact.reports.renderers import FORMATS


@pytest.fixture(scope="module")
def page(checkout):
    """The page."""
    return (checkout / "docs" / "ci.md").read_text(encoding="utf-8")


def snippet(page, name):
    """The block under `<!-- name -->`."""
    found = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```\n", page, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("name", "schema"), [("github", "github-workflows"), ("gitlab", "gitlab-ci"), (None, "github-actions")]
)
def test_snippets_are_valid_where_they_are_pasted(page, checkout, tmp_path, name, schema):
    """A CI tells its user only after the push."""
    path = checkout / "action.yml"
    if name is not None:
        path = tmp_path / f"{name}.yml"
        path.write_text(snippet(page, name), encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_the_workflow_uses_inputs_and_outputs_that_the_action_has(page, checkout):
    """GitHub warns of an unknown input and goes on without it."""
    action: Any = yaml.safe_load((checkout / "action.yml").read_text(encoding="utf-8"))
    steps = yaml.safe_load(snippet(page, "github"))["jobs"]["gate"]["steps"]
    (step,) = [step for step in steps if step.get("id") == "rigpact"]
    assert set(step["with"]) <= set(action["inputs"])
    for output in re.findall(r"steps\.rigpact\.outputs\.(\w+)", snippet(page, "github")):
        assert output in action["outputs"]
    sentence = page.partition("Inputs: ")[2].partition(" GitHub shows")[0]
    for name in (*action["inputs"], *action["outputs"]):
        assert f"`{name}`" in sentence, name


def test_the_hooks_of_the_page_are_there(page, checkout):
    """pre-commit stops every commit over a hook that it does not find."""
    hooks = yaml.safe_load((checkout / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    (repository,) = yaml.safe_load(snippet(page, "pre-commit"))["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == [hook["id"] for hook in hooks]


def test_the_formats_of_the_page_are_those_that_there_are(page):
    """Users cannot find a format that is not on the page."""
    table = page.partition("## Formats")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(FORMATS)


def test_every_gate_command_of_the_page_is_understood(page, command):
    """A renamed option breaks the build of everyone who pasted it."""
    options = set(re.findall(r"--[a-z]+", command("gate", "--help").out))
    shown = [line for line in re.findall(r"rigpact gate[^`\n]*", page) if "--" in line]
    assert len(shown) >= 3
    for line in shown:
        assert set(re.findall(r"--[a-z]+", line)) <= options, line
