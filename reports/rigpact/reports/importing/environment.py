"""A live environment of Isaac Lab or mjlab: what its `params/env.yaml` would say with every expression resolved.

Managers are read by the names of their attributes, which both stacks share; neither is imported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import TO_XYZW, TURNS, rotated
from rigpact.reports.importing.draft import Draft, Entry, lower_word
from rigpact.reports.importing.isaaclab import fill_draft
from rigpact.reports.importing.robot import OF_MOTION, TRACKING
from rigpact.reports.importing.values import Model, PlacedValue

_SENSORS = {
    "root_ang_vel_b": ("root_ang_vel_b", "root_link_ang_vel_b"), "root_lin_vel_b": ("root_lin_vel_b", "root_link_lin_vel_b"),
    "root_quat_w": ("root_quat_w", "root_link_quat_w"), "joint_pos": ("joint_pos",), "joint_vel": ("joint_vel",),
}  # fmt: skip
"""A vector of the contract, and where the robot's data have it: Isaac Lab's name, mjlab's."""
_WORLD = {name: "" if "joint" in name else "_w" for name in OF_MOTION}
"""What stands behind a vector's name in the command that tracks a motion."""
_SAME_TURN = 1e-3
"""Both stacks compute gravity in float32, 1e-6 off; the other order of a quaternion gives another direction altogether."""


class Environment:
    """The managers of an environment and its robot. group: of the observation, policy or actor where it is not said."""

    def __init__(self, env: Any, group: str | None = None, robot: str = "robot") -> None:
        """UnusableInput where a manager, the robot or the group is not there."""
        self.env = getattr(env, "unwrapped", env)
        self.observations = _part(self.env, ("observation_manager",), "a manager-based environment")
        self.actions = _part(self.env, ("action_manager",), "a manager-based environment")
        try:
            self.robot = _part(self.env, ("scene",), "a scene with the robot")[robot]
        except (KeyError, TypeError, IndexError):
            raise UnusableInput("env.scene", f"no {robot!r}", "the robot's name in the scene", "robot=NAME") from None
        self.data = _part(self.robot, ("data",), "a robot with data")
        groups = list(self.observations.active_terms)
        wanted = [group] if group is not None else ["policy", "actor"]
        found = next((each for each in wanted if each in groups), None)
        if found is None:
            said = f"the groups {', '.join(groups)}"
            raise UnusableInput("env.observation_manager", said, " or ".join(wanted), "group=NAME")
        self.group = found
        joints = next((each for each in (self.data, self.robot) if getattr(each, "joint_names", None)), None)
        if joints is None:
            raise UnusableInput("env.scene robot", "no joint_names", "a robot with names of its joints")
        self.joints = tuple(map(str, joints.joint_names))

    @property
    def step_s(self) -> float:
        """Seconds of a step of the policy."""
        if hasattr(self.env, "step_dt"):
            return float(self.env.step_dt)
        return float(self.env.cfg.sim.dt) * int(self.env.cfg.decimation)

    @property
    def terms(self) -> dict[str, Any]:
        """The configuration of each term of the group, in order."""
        names = [str(each) for each in self.observations.active_terms[self.group]]
        if hasattr(self.observations, "_group_obs_term_cfgs"):
            return dict(zip(names, self.observations._group_obs_term_cfgs[self.group], strict=True))
        return {name: self.observations.get_term_cfg(self.group, name) for name in names}

    def draft(self, name: str, model: Model | None, file: Entry | None) -> Draft:
        """The contract, as `rigpact init --from` makes it of an env.yaml."""
        draft = Draft(lower_word(name, "robot"), f"captured from {type(self.env).__name__}")
        draft.header = [
            f"Captured from a live {type(self.env).__name__}. Search for LEFT OPEN: the gaps of its managers.",
            "Not in it: statistics of a normaliser outside the model, and noise, which is of training only.",
        ]
        draft.names_comments = ["The robot's own order."]
        draft = fill_draft(draft, PlacedValue(self._root(), Path("env")), self.joints, model, file)
        self._say_quaternion(draft)
        return draft

    def _root(self) -> dict[str, Any]:
        pose = _of_first(self.data.default_joint_pos, len(self.joints))
        robot = {"init_state": {"joint_pos": self._by_name(pose, self.joints)}, "actuators": self._actuators()}
        terms = {name: self._term(place, term) for place, (name, term) in enumerate(self.terms.items())}
        return {
            "sim": {"dt": self.step_s}, "decimation": 1, "scene": {"robot": robot},
            "observations": {"policy": {"terms": terms}},
            "actions": {str(name): self._action(self.actions.get_term(name)) for name in self.actions.active_terms},
        }  # fmt: skip

    def _term(self, place: int, term: Any) -> dict[str, Any]:
        function, length = term.func, int(getattr(term, "history_length", 0) or 0)
        named = function if hasattr(function, "__name__") else type(function)
        width = int(np.prod(self.observations.group_obs_term_dim[self.group][place])) // max(length, 1)
        params = getattr(term, "params", {})
        chosen, command = params.get("asset_cfg"), params.get("command_name")
        return {
            "func": f"{named.__module__}:{named.__name__}", "shape": width, "history_length": length,
            "scale": _plain(getattr(term, "scale", None)), "clip": _plain(getattr(term, "clip", None)),
            "modifiers": None if not getattr(term, "modifiers", None) else len(term.modifiers),
            "delay_max_lag": int(getattr(term, "delay_max_lag", 0) or 0),
            "params": {
                "asset_cfg": None if chosen is None else {"joint_names": self._chosen(chosen), "preserve_order": True},
                "command_name": command,
            },
        }  # fmt: skip

    def _chosen(self, asset: Any) -> list[str] | None:
        places = getattr(asset, "joint_ids", slice(None))
        chosen = self.joints[places] if isinstance(places, slice) else [self.joints[int(each)] for each in places]
        return [re.escape(each) for each in chosen]

    def _action(self, term: Any) -> dict[str, Any]:
        places = ("_joint_names", "joint_names", "_target_names", "target_names")
        names = [str(each) for each in _part(term, places, "joints")]
        scale, offset = (_of_first(_part(term, (f"_{key}", key), key), len(names)) for key in ("scale", "offset"))
        limits = getattr(term, "_clip", None) if getattr(getattr(term, "cfg", None), "clip", None) is not None else None
        return {
            "class_type": f"{type(term).__module__}:{type(term).__name__}", "preserve_order": True,
            "joint_names": [re.escape(each) for each in names],
            "scale": self._by_name(scale, names), "offset": self._by_name(offset, names),
            "clip": None if limits is None else _plain(_array(limits)[0]),
        }  # fmt: skip

    def _actuators(self) -> dict[str, Any] | None:
        groups = getattr(self.robot, "actuators", None)
        if not isinstance(groups, Mapping) or not all(hasattr(each, "joint_names") for each in groups.values()):
            return None
        return {name: self._gains(group) for name, group in groups.items()}

    def _gains(self, group: Any) -> dict[str, Any]:
        names = [str(each) for each in group.joint_names]
        gains = {key: _of_first(getattr(group, key), len(names)) for key in ("stiffness", "damping")}
        return {"joint_names_expr": [re.escape(each) for each in names]} | {
            key: self._by_name(values, names) for key, values in gains.items()
        }

    def _by_name(self, values: Sequence[float], names: Sequence[str]) -> dict[str, float]:
        return {re.escape(name): value for name, value in zip(names, values, strict=True)}

    def _say_quaternion(self, draft: Draft) -> None:
        """The order of the quaternion's components, where gravity in the robot's frame shows it."""
        if not hasattr(self.data, "projected_gravity_b"):
            return
        q, seen = _array(self.sensor("root_quat_w", whole=True)), _array(self.data.projected_gravity_b)
        down = np.array([0.0, 0.0, -1.0])
        turned = {order: rotated(TURNS["inverse"](q[:, places]), down) for order, places in TO_XYZW.items()}
        fits = [order for order, rows in turned.items() if np.abs(rows - seen).max() < _SAME_TURN]
        for place, entry in enumerate(draft.given):
            name = entry.table["name"]
            if len(fits) == 1 and (name == "root_quat_w" or (name in OF_MOTION and name.endswith("quat"))):
                note = f"{fits[0]}: so the environment's own gravity in the robot's frame has it"
                size = {"size": entry.table["size"]} if name in OF_MOTION and "size" in entry.table else {}
                draft.given[place] = Entry({"name": name, "kind": f"quaternion_{fits[0]}", **size}, (note,))

    def sensor(self, name: str, *, whole: bool = False) -> Any:
        """A vector of the robot's data: of environment 0, or of all of them."""
        value = _part(self.data, _SENSORS[name], "the robot's data")
        return value if whole else _array(value)[0]

    @property
    def _tracked(self) -> str:
        terms = (term for term in self.terms.values() if getattr(term.func, "__name__", "") in TRACKING)
        return str(next(terms).params["command_name"])

    def target(self) -> Any:
        """What the last step made of the action in environment 0; None where the action's term does not keep it."""
        [name] = self.actions.active_terms
        made = getattr(self.actions.get_term(name), "processed_actions", None)
        return None if made is None else made[0]

    def row(self, name: str, table: Mapping[str, Any]) -> FloatArray:
        """A given vector of the contract in environment 0: a sensor, the last action, a term before clip and scale."""
        if "carried" in table:
            return np.asarray(_array(self.actions.action)[0])
        if name in OF_MOTION:
            command = self.env.command_manager.get_term(self._tracked)
            return np.ravel(_array(getattr(command, name.removeprefix("motion_") + _WORLD[name]))[0])
        term = self.terms.get(name) or self.terms.get(name.removesuffix("_raw"))
        is_sensor = {"names", "unit", "kind"} & table.keys() or name not in self.terms
        if name.removesuffix("_raw") in _SENSORS and is_sensor:
            return np.asarray(self.sensor(name.removesuffix("_raw")))
        if term is None:
            raise UnusableInput(f"the vector {name}", "nothing in the environment", "a term or a sensor of its name")
        return np.asarray(_array(term.func(self.env, **getattr(term, "params", {})))[0])


def _part(owner: Any, names: Sequence[str], expected: str) -> Any:
    found = next((getattr(owner, name) for name in names if getattr(owner, name, None) is not None), None)
    if found is None:
        hint = "Isaac Lab's or mjlab's managers"
        raise UnusableInput(type(owner).__name__, f"no {' or '.join(names)}", expected, hint)
    return found


def _array(value: Any) -> FloatArray:
    for step in ("detach", "cpu", "numpy"):
        value = getattr(value, step)() if hasattr(value, step) else value
    return np.asarray(value)


def _plain(value: Any) -> Any:
    """Numbers as a file has them: float32 in its shortest digits, so that 0.05 stays 0.05."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    array = _array(value)
    return array.tolist() if array.dtype != np.float32 else array.astype(str).astype(float).tolist()


def _of_first(value: Any, count: int) -> list[float]:
    """A number for each of several: one for all, or the row of environment 0. UnusableInput where environments differ."""
    array = np.asarray(_plain(value), np.float64)
    if array.ndim > 1 and np.ptp(array, axis=0).max() > 0.0:
        hint = "capture before randomisation, or with one environment"
        raise UnusableInput("env", f"numbers that differ between {len(array)} environments", "one value", hint)
    row = array[0] if array.ndim > 1 else array
    return [float(each) for each in np.broadcast_to(row, (count,))]
