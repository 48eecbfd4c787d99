"""action.yml: its steps, run as a runner runs them; docs/ci.md: what it tells people to paste is valid and names what exists."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from rigpact.reports.renderers import FORMATS

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")  # what `shell: bash` means
NO_NETWORK = ("Temporary failure in name resolution", "NewConnectionError", "Network is unreachable")
"""The error of pip where it reaches no package index."""


@dataclass
class Job:
    """A checkout on a runner. `github`: the contexts that an action can read."""

    checkout: Path
    temp: Path
    github: Mapping[str, str]
    path: str = field(default_factory=lambda: os.environ["PATH"])
    variables: Mapping[str, str] = field(default_factory=dict)
    log: str = ""

    @property
    def summary(self) -> str:
        """The text of the job's page."""
        return (self.temp / "summary").read_text(encoding="utf-8")

    @property
    def outputs(self) -> dict[str, str]:
        """The outputs of the steps."""
        return dict(line.split("=", 1) for line in (self.temp / "output").read_text(encoding="utf-8").splitlines())

    def run(self, action: Path, inputs: Mapping[str, str], *, skip: tuple[str, ...] = ()) -> int:
        """Run the action's shell steps in order until one fails; return its exit status, or 0."""
        described = yaml.safe_load(action.read_text(encoding="utf-8"))
        given = {name: str(about.get("default", "")) for name, about in described["inputs"].items()} | dict(inputs)
        for name in ("summary", "output"):
            (self.temp / name).write_text("", encoding="utf-8")
        for step in described["runs"]["steps"]:
            if "run" in step and step["name"] not in skip:
                status = self._run_step(step, given)
                if status:
                    return status
        return 0

    def _run_step(self, step: Mapping[str, Any], inputs: Mapping[str, str]) -> int:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "text that reaches a script as text is run as one"
        script = self.temp / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        own = {name: self._evaluated(value, inputs) for name, value in step.get("env", {}).items()}
        files = {"GITHUB_STEP_SUMMARY": self.temp / "summary", "GITHUB_OUTPUT": self.temp / "output"}
        runner = {"PATH": self.path, "HOME": str(self.temp), "RUNNER_TEMP": str(self.temp), "GITHUB_ACTIONS": "true"}
        environment = runner | dict(self.variables) | {name: str(path) for name, path in files.items()} | own
        folder = self.checkout / self._evaluated(step.get("working-directory", "."), inputs)
        done = subprocess.run(
            [*_BASH, str(script)], cwd=folder, env=environment, check=False, capture_output=True, timeout=900
        )
        self.log += (done.stdout + done.stderr).decode("utf-8")
        return done.returncode

    def _evaluated(self, text: str, inputs: Mapping[str, str]) -> str:
        def value(expression: re.Match[str]) -> str:
            for term in expression[1].split(" || "):
                context, name = term.split(".", 1)
                found = {"inputs": inputs, "github": self.github}[context][name]
                if found:
                    return found
            return ""

        return _EXPRESSION.sub(value, text)


CONFIGURATION = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
clips = ["clips/Run_F.json"]
"""
STUB = """#!/bin/bash
printf '%s\\n' "$@" > arguments.txt
echo "${RIGPACT_DOCS_URL:-none}" > docs.txt
echo "::error::from a clip's bone name"
if [ "$STUB_STATUS" != 3 ]; then
  for word in "$@"; do
    case $word in
      sarif=*|junit=*) echo report > "${word#*=}" ;;
      markdown=*) echo "## the summary" > "${word#*=}" ;;
      github=*) echo "::error file=a.json::the annotation" > "${word#*=}" ;;
    esac
  done
fi
exit "$STUB_STATUS"
"""


@pytest.fixture
def job(checkout, tmp_path):
    """A job in an empty repository, on a runner that has bash and the Python of the tests."""
    if shutil.which("bash") is None:
        pytest.skip("the action's steps need bash, as GitHub's runners have it")
    for name in ("repository/hero", "temp", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    github = {
        "action_path": str(checkout), "action_repository": "studio/rigpact", "action_ref": "v1", "server_url": "https://github.com",
        "event.pull_request.base.sha": "", "event.merge_group.base_sha": "", "event.before": "0" * 40,
    }  # fmt: skip
    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    return Job(tmp_path / "repository", tmp_path / "temp", github, path)


@pytest.fixture
def character(job, demo_bundle):
    """The demo character in a repository, in lines as people keep it; `rigpact` is the one under test."""
    program = job.temp.parent / "bin" / "rigpact"
    program.write_text(f'#!/bin/bash\nexec "{sys.executable}" -m rigpact.reports "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    job.variables = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    shutil.copytree(demo_bundle, job.checkout / "hero", dirs_exist_ok=True)
    (job.checkout / ".git").mkdir()
    (job.checkout / "hero" / "rigpact.toml").write_text(CONFIGURATION, encoding="utf-8")
    bundle = job.checkout / "hero" / "norm_template.json"
    bundle.write_text(json.dumps(json.loads(bundle.read_text(encoding="utf-8")), indent=1), encoding="utf-8")
    return bundle


@pytest.fixture
def stub(job):
    """A `rigpact` that notes its arguments, writes its reports and ends with STUB_STATUS; returns the folder it runs in."""
    program = job.temp.parent / "bin" / "rigpact"
    program.write_text(STUB, encoding="utf-8")
    program.chmod(0o755)
    return job.checkout / "hero"


def obeyed(log):
    """The workflow commands of a log that the runner acts on: it takes none between `stop-commands` and its token."""
    commands, token = [], None
    for line in log.splitlines():
        if token is not None:
            token = None if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif line.startswith("::"):
            commands.append(line)
    assert token is None, "the log ends while commands are stopped"
    return commands


@pytest.mark.parametrize(("status", "verdict"), [(0, "pass"), (1, "findings"), (2, "undetermined"), (3, "error")])
def test_the_action_ends_as_the_gate_ends(job, stub, checkout, status, verdict):
    """A step that swallows the status makes every pull request green."""
    job.variables = {"STUB_STATUS": str(status)}
    (stub / "rigpact.sarif").write_text("of the last run", encoding="utf-8")
    assert job.run(checkout / "action.yml", {"working-directory": "hero"}, skip=("Install rigpact",)) == status
    assert job.outputs["verdict"] == verdict
    if status == 3:
        assert set(job.outputs) == {"verdict"}, "a report of another run must not be uploaded"
        assert "wrote no report" in job.summary
        assert obeyed(job.log) == []
    else:
        assert (job.outputs["sarif"], job.outputs["junit"]) == ("hero/rigpact.sarif", "hero/rigpact.junit.xml")
        assert job.summary == "## the summary\n"
        assert obeyed(job.log) == ["::error file=a.json::the annotation"]
    assert (stub / "docs.txt").read_text(encoding="utf-8") == "https://github.com/studio/rigpact/blob/v1/docs\n"


def test_inputs_are_words_and_never_scripts(job, stub, checkout):
    """A configuration called `$(…)` would run as code in the reviewer's build."""
    job.variables = {"STUB_STATUS": "0"}
    hostile = '$(touch owned) `touch owned`; "touch owned".toml'
    inputs = {"working-directory": "hero", "config": hostile, "strict": "true", "sarif": "a b.sarif", "junit": "-j.xml"}
    assert job.run(checkout / "action.yml", inputs, skip=("Install rigpact",)) == 0
    words = (stub / "arguments.txt").read_text(encoding="utf-8").splitlines()
    assert words[:5] == ["gate", "--report", "sarif=a b.sarif", "--report", "junit=-j.xml"]
    assert words[-3:] == ["--config", hostile, "--strict"]
    assert not list(job.checkout.rglob("owned"))


@pytest.mark.parametrize("event", ["pull_request.base.sha", "merge_group.base_sha", "before"])
def test_the_base_of_a_change_guards_its_settings(job, stub, checkout, event):
    """Nobody else says against what the settings of the change are compared."""
    job.variables, job.github = {"STUB_STATUS": "0"}, {**job.github, f"event.{event}": "0a1b2c"}
    assert job.run(checkout / "action.yml", {"working-directory": "hero"}, skip=("Install rigpact",)) == 0
    assert (stub / "arguments.txt").read_text(encoding="utf-8").splitlines()[-2:] == ["--base", "0a1b2c"]


@pytest.mark.nightly
def test_a_good_character_passes_and_a_broken_one_is_shown_at_its_line(job, character, checkout):
    """A broken bundle must fail the pull request, with an annotation at its line."""
    action, inputs = checkout / "action.yml", {"working-directory": "hero", "html": "page.html"}
    assert job.run(action, inputs, skip=("Install rigpact",)) == 0, job.log
    assert job.outputs["verdict"] == "pass"
    assert "rigpact: pass" in job.summary
    assert not [command for command in obeyed(job.log) if command.startswith("::error")]
    assert (job.checkout / "hero" / "page.html").stat().st_size > 10_000
    bundle = json.loads(character.read_text(encoding="utf-8"))
    bundle["StdX"][17] = 0
    text = json.dumps(bundle, indent=1)
    character.write_text(text, encoding="utf-8")
    line = text[: text.index('"StdX"')].count("\n") + 1 + 18  # each number on a line of its own
    job.log = ""
    assert job.run(action, inputs, skip=("Install rigpact",)) == 1, job.log
    assert job.outputs["verdict"] == "findings"
    assert f"::error file=hero/norm_template.json,line={line}," in "\n".join(obeyed(job.log))
    assert "RP104 std-not-positive" in job.summary
    results = json.loads((job.checkout / job.outputs["sarif"]).read_text(encoding="utf-8"))["runs"][0]["results"]
    (place,) = [result["locations"][0]["physicalLocation"] for result in results if result["ruleId"] == "RP104"]
    assert place["artifactLocation"]["uri"] == "hero/norm_template.json"
    assert place["region"]["startLine"] == line
    root = ElementTree.parse(job.checkout / job.outputs["junit"]).getroot()  # noqa: S314 - our own
    assert int(root.attrib["failures"]) > 0


def test_other_peoples_actions_are_named_by_commit(checkout):
    """A tag can be moved: whoever takes over an action's account runs code in every build that names the tag."""
    texts = [(checkout / name).read_text(encoding="utf-8") for name in ("action.yml", "docs/ci.md")]
    used = [word for text in texts for word in re.findall(r"uses: (\S+)", text)]
    assert len(used) >= 4
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@([0-9a-f]{40}|REVISION)", each)] == []
    assert "40 digits of a commit" in texts[1]
    assert "Do not run it under `pull_request_target`" in texts[1]


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
