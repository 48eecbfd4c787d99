"""efferent: `audit` of the log against a manifest, and `doctor --reference` for the network.

Its history has the newest entry first: the columns of the log are put in that order. It has no clamp of the command: the log
has the clamped one. Its search for the frame of the angular velocity fails on a stacked term, so that term is a custom one there
(its documented way), and the newest frame is audited by itself where the first audit finds no name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .environments import Environment
from .facts import Arrays, Facts, clamped, recorded
from .statements import JOINTS, Statement

REQUIREMENT = "efferent"
_TERMS = {
    "base_ang_vel": "base_ang_vel",
    "projected_gravity": "projected_gravity",
    "velocity_commands": "command",
    "joint_pos_rel": "joint_pos_rel",
    "joint_vel_rel": "joint_vel",
    "last_action": "last_action",
}
_HOOK = """import efferent
efferent.register_custom_term("custom.base_ang_vel", lambda binding, state, context: state.gyro)
"""
_UNNAMED = "no standard hypothesis"


@dataclass(frozen=True)
class Efferent:
    """The tool, set up for one contract."""

    environment: Environment
    facts: Facts
    work: Path

    def ask(self, recording: Path) -> tuple[list[Statement], float, str]:
        """Statements, seconds, and why there is no answer."""
        arrays = recorded(recording)
        stacked = self._log("whole", arrays, arrays["obs"][:, self.facts.newest_first()])
        said, seconds, error = self._audit("whole", stacked, "--hook", self.work / "hook.py")
        if self.facts.history > 1 and any(not each.words for each in said):
            one = self._log("newest", arrays, arrays["obs"][:, self.facts.newest()])
            again, more, _ = self._audit("newest", one)
            said, seconds = said + [each for each in again if each.words], seconds + more
        replayed, more = self._doctor(arrays)
        return said + replayed, seconds + more, error

    def _audit(self, name: str, log: Path, *more: str | Path) -> tuple[list[Statement], float, str]:
        ran = self.environment.run(
            "audit", self.work / f"{name}.yaml", "--log", log, "--robot", self.work / "robot.yaml", *more
        )
        printed = ran.printed.decode()
        if "verdict:" not in printed:
            return [], ran.seconds, ran.said.strip()[-200:] or "no answer"
        return list(_failing(printed, self.facts)), ran.seconds, ""

    def _doctor(self, arrays: Arrays) -> tuple[list[Statement], float]:
        pairs = self.work / "pairs.npz"
        np.savez(pairs, obs=arrays["obs"], actions=arrays["action"])
        policy = self.facts.folder / "policy.onnx"
        ran = self.environment.run("doctor", policy, "--manifest", self.work / "whole.yaml", "--reference", pairs)
        return [Statement("network")] if "diverges from the recording" in ran.printed.decode() else [], ran.seconds

    def _log(self, name: str, arrays: Arrays, obs: np.ndarray) -> Path:
        path = self.work / f"{name}.npz"
        np.savez(
            path,
            obs=obs,
            q=arrays["q"],
            dq=arrays["dq"],
            quat=arrays["imu_quat"],
            gyro=arrays["ang_vel"],
            command=clamped(arrays, self.facts),
            action=arrays["action"],
            t=arrays["time"],
        )
        return path


def set_up(environment: Environment, facts: Facts, work: Path) -> Efferent:
    """Write manifests and descriptor. JSON is YAML."""
    work.mkdir(parents=True, exist_ok=True)
    policy = facts.folder / "policy.onnx"
    names = environment.python(
        f"import json, onnxruntime as o; s = o.InferenceSession({str(policy)!r});"
        "print(json.dumps([s.get_inputs()[0].name, s.get_outputs()[0].name]))"
    )
    for name, history in (("whole", facts.history), ("newest", 1)):
        manifest = json.dumps(_manifest(facts, history, *json.loads(names)))
        (work / f"{name}.yaml").write_text(manifest, encoding="utf-8")
    robot = {"robot": "g1", "backend": {"id": "mock"}, "joints": [{"name": joint} for joint in JOINTS]}
    (work / "robot.yaml").write_text(json.dumps(robot), encoding="utf-8")
    (work / "hook.py").write_text(_HOOK, encoding="utf-8")
    return Efferent(environment, facts, work)


def _manifest(facts: Facts, history: int, given: str, answer: str) -> dict[str, object]:
    joints = [JOINTS[motor] for motor in facts.joint_map]
    own = {"base_ang_vel": "custom.base_ang_vel"} if history > 1 else {}
    return {
        "efferent": 1,
        "policy": {"file": str(facts.folder / "policy.onnx"), "input": given, "output": answer},
        "control": {
            "rate_hz": 50.0,
            "action_type": "joint_position_delta",
            "action_scale": list(facts.action_scale),
            "gains": {key: [values[motor] for motor in facts.joint_map]
                      for key, values in (("kp", facts.stiffness), ("kd", facts.damping))},
        },
        "joints": [{"name": name, "default": value} for name, value in zip(joints, facts.default_pose, strict=True)],
        "observation": [
            {"term": own.get(term, _TERMS[term]), "scale": scale, "history": history,
             **({"dim": 3} if term in own else {})}
            for term, scale in facts.scales.items()
        ],
    }  # fmt: skip


def _failing(printed: str, facts: Facts) -> Iterator[Statement]:
    """Statements of a printed audit."""
    places = {theirs: ours for ours, theirs in _TERMS.items()} | {"custom.base_ang_vel": "base_ang_vel"}
    for term, hints in re.findall(r"^\[FAIL\] (\S+) .*\n((?:        .*\n)*)", printed, re.MULTILINE):
        lines = [line.strip() for line in hints.splitlines() if line.strip()]
        named = [_with_moves(line, places[term], facts) for line in lines if _UNNAMED not in line]
        yield from (Statement(places[term], line) for line in named or [""])


def _with_moves(line: str, term: str, facts: Facts) -> str:
    """A printed permutation with what it moves: channels, axes, or the order of the motors."""
    found = re.search(r"(.*expected column\)): \[(.*)\]", line)
    if not found:
        return line
    width = facts.width(term)
    mapping = [int(part) for part in found.group(2).split(",")][:width]
    if width == len("xyz"):
        return f"{found.group(1)}: {', '.join('xyz'[axis] for axis in mapping)} in place of x, y, z"
    moves = "; ".join(f"{channel} holds {held}" for channel, held in enumerate(mapping) if channel != held)
    return f"{found.group(1)}: {moves}{_order(mapping, facts.joint_map)}"


def _order(mapping: Sequence[int], joint_map: Sequence[int]) -> str:
    inverse = [joint_map.index(motor) for motor in range(len(joint_map))]
    return " (the order of sdk)" if list(mapping) in (list(joint_map), inverse) else ""
