"""The steps of action.yml, run as GitHub's runner runs them: the same shell, the same environment files, nothing else."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

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
