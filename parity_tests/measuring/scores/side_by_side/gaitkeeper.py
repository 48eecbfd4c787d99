"""gaitkeeper: a harness log, checked with `verify` against the deploy.yaml, and read without one with `infer`.

`verify` sees the command before its clamp, which the contract that it reads has as the term's clip, and effort computed from the
recorded gains, since it judges gains by effort. It searches permutations in one frame only: where `verify` finds no name in a
stacked observation, it is asked again about the newest frame. `infer` needs no contract; it gets the clamped command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .environments import Environment
from .facts import Arrays, Facts, clamped, recorded
from .statements import JOINTS, Statement

REQUIREMENT = "gaitkeeper[sim]"
"""`verify` imports MuJoCo, which the extra brings."""
_FEW = 6
"""So many columns are listed with their numbers; more are not an answer that a person reads."""
_EQUAL = 1e-3


@dataclass(frozen=True)
class Gaitkeeper:
    """The tool, set up for one contract. whole, newest: its contracts of the stacked observation and of one frame; layout: what
    `infer` says of a right recording."""

    environment: Environment
    facts: Facts
    work: Path
    whole: Path
    newest: Path
    layout: Sequence[Mapping[str, Any]] = ()

    def ask(self, recording: Path) -> tuple[list[Statement], float, str]:
        """Statements, seconds, and why there is no answer."""
        arrays = recorded(recording)
        said, seconds, error = self._verify(self._log("whole", arrays, arrays["obs"], arrays["command"]), self.whole)
        if self.facts.history > 1 and any(not each.words for each in said):
            one = self._log("newest", arrays, arrays["obs"][:, self.facts.newest()], arrays["command"])
            again, more, _ = self._verify(one, self.newest)
            said, seconds = said + [each for each in again if each.words], seconds + more
        inferred, more = self.infer(recording)
        return said + list(self._differences(inferred)), seconds + more, error

    def infer(self, recording: Path) -> tuple[Mapping[str, Any], float]:
        """What `infer` says of the layout, and the seconds."""
        arrays = recorded(recording)
        log, out = self._log("infer", arrays, arrays["obs"], clamped(arrays, self.facts)), self.work / "infer.json"
        out.unlink(missing_ok=True)
        ran = self.environment.run("infer", log, "--json", out)
        return (json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}), ran.seconds

    def _verify(self, log: Path, contract: Path) -> tuple[list[Statement], float, str]:
        out = self.work / "verify.json"
        out.unlink(missing_ok=True)
        policy = ("--policy", self.facts.folder / "policy.onnx") if contract == self.whole else ()
        ran = self.environment.run("verify", log, "--contract", contract, *policy, "--json", out)
        if not out.exists():
            return [], ran.seconds, ran.said.strip()[-200:] or "no answer"
        answer = json.loads(out.read_text(encoding="utf-8"))
        terms = [term for boundary in answer["boundaries"].values() for term in boundary["terms"]]
        failing = [term for term in terms if term["status"] == "fail"]
        return [each for term in failing for each in _stated(term, self.facts)], ran.seconds, ""

    def _log(self, name: str, arrays: Arrays, obs: Any, command: Any) -> Path:
        path, frames = self.work / f"{name}.npz", len(arrays["q"])
        zeros = np.zeros((frames, 3), np.float32)
        kp, kd, target = (arrays[key].astype(np.float64) for key in ("motor_kp", "motor_kd", "motor_q"))
        joints = list(JOINTS)
        layout = {"joint_names": joints, "free_joint": True, "quat_order": "wxyz", "ang_vel_frame": "body",
                  "lin_vel_frame": "world"}  # fmt: skip
        meta = {"schema": "gaitkeeper/trace/v1", "kind": "harness", "state_layout": layout,
                "target_joint_names": joints, "effort_joint_names": joints}  # fmt: skip
        np.savez(
            path,
            meta=np.array(json.dumps(meta)),
            obs=obs,
            action=arrays["action"],
            command=command,
            qpos=np.concatenate([zeros, arrays["imu_quat"], arrays["q"]], axis=1),
            qvel=np.concatenate([zeros, arrays["ang_vel"], arrays["dq"]], axis=1),
            reset=np.arange(frames) == 0,
            episode_step=np.arange(frames),
            target=arrays["motor_q"],
            effort=kp * (target - arrays["q"]) - kd * arrays["dq"],
        )
        return path

    def _differences(self, inferred: Mapping[str, Any]) -> Iterator[Statement]:
        """Where the layout that `infer` found is not the contract's."""
        found = inferred.get("blocks") or ()
        known = {block["label"]: block for block in self.layout}
        labels = [block["label"] for block in found if block["label"] in known]
        if len(labels) == len(known) and labels != list(known):
            moved = [label for label, own in zip(labels, known, strict=True) if label != own]
            yield Statement("observation", f"terms exchanged: {', '.join(moved)}")
        for block in found:
            if block["width"] != self.facts.width(block["label"]):
                continue  # a part of a term
            own = known.get(block["label"], block)["detail"]
            for key in block["detail"].keys() | own.keys():
                value = block["detail"].get(key)
                if value != own.get(key):
                    yield Statement(block["label"], _read(key, value))


def set_up(environment: Environment, facts: Facts, deploy: Path, work: Path, right: Path) -> Gaitkeeper:
    """Read the deploy.yaml of a policy. right: a recording without a mistake, for the words of `infer`."""
    work.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"joint_ids: !!python\S+ \[[^]]*\]", "joint_ids: null", deploy.read_text(encoding="utf-8"))
    limits = json.dumps([facts.lowest, facts.highest])
    text = re.sub(r"(velocity_commands:\s+params:[^\n]*\s+clip: )null", rf"\g<1>{limits}", text)
    whole = _inspected(environment, text, work / "whole.yaml")
    newest = _inspected(environment, re.sub(r"history_length: \d+", "history_length: 1", text), work / "newest.yaml")
    tool = Gaitkeeper(environment, facts, work, whole, newest)
    layout, _ = tool.infer(right)
    return replace(tool, layout=layout["blocks"])


def _inspected(environment: Environment, deploy: str, source: Path) -> Path:
    """The contract that `inspect` makes of a deploy.yaml, which is written first."""
    contract = source.with_suffix(".contract.yaml")
    source.write_text(deploy, encoding="utf-8")
    ran = environment.run("inspect", "--deploy", source, "--out", contract)
    if not contract.exists():
        raise RuntimeError(f"gaitkeeper inspect: {ran.said[-400:]}")
    return contract


def _stated(term: Mapping[str, Any], facts: Facts) -> Iterator[Statement]:
    """Statements of a term that fails; `none fits` names its place only."""
    pattern = term["pattern"] or " or ".join(term["ambiguous"])
    fit = term["detail"].get("fit", term["detail"]) or {}
    if "none fits" in pattern or not pattern or term["boundary"] == "B":
        yield Statement(_place(term["term"]))
    elif term["term"] == "effort":
        named = [gain for gain in ("kp", "kd") if re.search(rf"\b{gain}\b", pattern)] or ["effort"]
        for gain in named:
            yield Statement(gain, f"{pattern} {_gains(fit.get(f'{gain}_hat', {}), gain, facts)}")
    elif re.match(r"observation built|simulator state|history ", pattern):
        yield Statement("observation", pattern)
    else:
        yield Statement(_place(term["term"]), f"{pattern} {_numbers(fit, term['term'], facts)}")


def _place(term: str) -> str:
    return {"action": "network"}.get(term, term)


def _gains(fitted: Mapping[str, float], gain: str, facts: Facts) -> str:
    """The fitted gain where all differing joints have the same."""
    own = dict(zip(JOINTS, facts.stiffness if gain == "kp" else facts.damping, strict=True))
    differing = {value for joint, value in fitted.items() if abs(value - own[joint]) > _EQUAL * max(own[joint], 1.0)}
    return f"({gain} {differing.pop():g})" if len(differing) == 1 else ""


def _numbers(fit: Mapping[str, Any], term: str, facts: Facts) -> str:
    """The numbers that were fitted, of one frame's columns."""
    width = facts.width(term)
    parts = []
    if isinstance(fit.get("scale"), list):
        parts += _listed(np.array(fit["scale"][:width]), 1.0, "{:g} times")
    if isinstance(fit.get("offset"), list):
        parts += _listed(np.array(fit["offset"][:width]), 0.0, "offset {:g}")
    if "clip" in fit and term in facts.scales:
        parts.append(f"clip {fit['clip'] / facts.scales[term]:.3g} before the scale")
    return f"({'; '.join(parts)})" if parts else ""


def _listed(values: Any, neutral: float, words: str) -> list[str]:
    values = np.where(np.abs(values) > _EQUAL, values, 0.0)
    differing = np.flatnonzero(np.abs(values - neutral) > _EQUAL)
    if len(differing) == len(values) and np.ptp(values) <= _EQUAL * abs(values[0]):
        return [words.format(float(f"{values[0]:.4g}"))]
    if not 0 < len(differing) <= _FEW:
        return []
    return [f"{words.format(float(f'{values[channel]:.4g}'))} at channel {channel}" for channel in differing]


def _read(key: str, value: Any) -> str:
    """A detail of `infer` that is not the contract's, in words."""
    if key == "scale" and isinstance(value, list):
        return f"scale of its own in each channel ({'; '.join(_listed(np.array(value), 1.0, '{:g} times'))})"
    if key == "axes":
        return f"axes {value}: {', '.join('xyz'[axis] for axis in value)} in place of x, y, z"
    if key == "offset":
        return f"default_pose not subtracted (offset {value})" if value == "none" else f"offset {value}"
    if key in ("joint_order", "action_index"):
        return f"permutation: {value}"
    return f"{key} {value}"
