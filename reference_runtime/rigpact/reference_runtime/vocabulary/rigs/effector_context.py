"""Effector context: what a network for inverse kinematics is told of the effectors, the root's axes, the feet and the motion."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.page import Known
from rigpact.contract.declared.values import Choice, Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.problem import DataCheck, Problem
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.euler import EULER, TRIPLES
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES, TO_XYZW, TURNS, to_matrix, unit
from rigpact.reference_runtime.operations.geometry import cross, matrix_to_quat
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rigs.context_hints import CODE, HINTS
from rigpact.reference_runtime.vocabulary.rigs.labels import input_problems, is_varied, motion_problems, place_problems
from rigpact.reference_runtime.vocabulary.rigs.turns import (
    ROOT_FRAMES,
    ROOT_WIDTH,
    places_of,
    refuse_width,
    root_frame,
    root_number,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_TOLD, _FOOT = 6, 6
"""Numbers that are told of an effector (position, angles) and of a foot (height, normal, two flags)."""
_COPY, _RELATIVE, _EULER = 2, 16, 64
"""Operations of the longest chains: a copy; a quaternion to a matrix and three products; for angles, a matrix that an engine
multiplies up in float32, six for each of nine bones and the armature, and an arc tangent."""
_AT_REST = np.array([0.0] * 6 + [1.0] + [0.0] * 3 + [1.0])
"""A root at the origin that is not turned."""
_SENSES = {sense: TURNS[sense] for sense in ("forward", "inverse")}
_POINTS = {"head": 0.0, "tail": 1.0}
_RELATIVES: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "into_axes": FRAMES["into_frame"],
    "out_of_axes": FRAMES["into_frame_turned_forward"],
    "translation_only": FRAMES["into_frame_not_turned"],
}
_AXES = {"y_forward_z_up": (1, 2), "z_forward_y_up": (2, 1), "x_forward_z_up": (0, 2)}
_EULER_ORDERS = {"xyz": EULER["xyz_rad"], "zyx": EULER["XYZ_rad"]}
_SPACES: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "world": lambda _axes, orientations: orientations,
    "root": lambda axes, orientations: np.swapaxes(axes, 1, 2)[:, None] @ orientations,
}
_HEIGHTS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "above_ground": lambda foot, ground: foot - ground,
    "ground_height": lambda _foot, ground: ground,
    "above_zero": lambda foot, _ground: foot,
}
_ORDERED = ("effector_order", "feet_order")
_FLAGS = {"grounded_desired": [4, 5], "desired_grounded": [5, 4]}


@dataclass(frozen=True, eq=False)
class _Context:
    """One use: names, places of the effectors' bones and of the feet among the effectors; knobs by parameter."""

    use: Use
    effectors: tuple[str, ...]
    feet: list[int]
    bones: list[int]
    tasks: Number
    lengths: Number
    rest: Number
    knobs: Mapping[str, Choice]
    axes_of: Callable[[Frames, FloatArray], FloatArray]

    def rows(self, frames: Frames, place: int) -> FloatArray:
        """An input: 0 the effectors, 1 the root, 2 the ground, 3 the motion."""
        return wide(frames, self.use.inputs[place].name)

    def picked(self, frames: Frames, key: str) -> Any:
        """The effect of a parameter's reading."""
        return self.knobs[key].of(frames)

    def computed(self, frames: Frames) -> FloatArray:
        root, motion = self.rows(frames, 1), self.rows(frames, 3).copy()
        turn = self.axes_of(frames, root)
        axes = to_matrix(turn)
        forward, up = self.picked(frames, "root_axes")
        motion[:, 1] = self._numbered(frames, motion[:, 1])
        told = self._told(frames, root, turn, axes)
        return stored(np.hstack([told, axes[:, :, forward], axes[:, :, up], self._feet(frames), motion]))

    def _numbered(self, frames: Frames, tasks: FloatArray) -> FloatArray:
        """The number that a side has for each task; what is not a task stays as it is."""
        table = self.tasks.of(frames).reshape(-1)
        known = (tasks == np.round(tasks)) & (tasks >= 0) & (tasks < len(table))
        return np.where(known, table[np.where(known, tasks, 0).astype(int)], tasks)

    def _told(self, frames: Frames, root: FloatArray, turn: FloatArray, axes: FloatArray) -> FloatArray:
        """Positions and angles of the effectors, (N, 6 E)."""
        effectors = self.rows(frames, 0).reshape(-1, len(self.effectors), 7)
        quaternions = unit(effectors[..., 3:][..., self.picked(frames, "effector_quaternion")])
        world, told = to_matrix(quaternions), to_matrix(self.picked(frames, "rotation_sense")(quaternions))
        points = effectors[..., :3] + self._past_head(frames, world[..., 1])
        positions = self.picked(frames, "relative")(points, root[:, None, :3], turn[:, None])
        _, to_angles = self.picked(frames, "euler_order")
        angles = self.picked(frames, "euler_triple")(to_angles(self.picked(frames, "rotation_space")(axes, told)))
        ordered = np.concatenate([positions, angles], axis=2)[:, self.picked(frames, "effector_order")]
        return np.asarray(ordered.reshape(len(root), -1))

    def _past_head(self, frames: Frames, along: FloatArray) -> FloatArray:
        """From the head of each effector's bone to what is told of it, (N, E, 3); along: the bones' y axes."""
        lengths = self.lengths.of(frames).reshape(-1)[self.bones]
        return np.asarray(self.picked(frames, "point") * lengths[:, None] * along)

    def _feet(self, frames: Frames) -> FloatArray:
        """The ground's block, (N, 6 F)."""
        effectors, ground = self.rows(frames, 0), self.rows(frames, 2)
        feet = ground.reshape(-1, len(self.feet), _FOOT)
        raised = effectors.reshape(-1, len(self.effectors), 7)[:, self.feet, 2]
        heights = self.picked(frames, "height")(raised, feet[..., 0])
        flags = feet[..., self.picked(frames, "contact_flags")]
        told = np.concatenate([heights[..., None], feet[..., 1:4], flags], axis=2)
        return np.asarray(told[:, self.picked(frames, "feet_order")].reshape(len(ground), -1))

    def bound(self, frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Positions are differences of world positions, turned; angles are arc tangents, ill-conditioned near gimbal lock.

        Near a quarter turn of the middle angle, the error of the outer two angles is u divided by its cosine. An angle that
        close to ±π can have either sign, so the bound there is a whole turn.
        """
        count = len(self.effectors)
        world = np.abs(self.rows(frames, 0)).reshape(-1, count, 7)[..., :3]
        root = np.abs(self.rows(frames, 1))[:, None, :3]
        bound = np.broadcast_to(gamma(_RELATIVE) * np.maximum(1.0, np.abs(rows)), rows.shape).astype(np.float64)
        told = bound[:, : _TOLD * count].reshape(-1, count, _TOLD)
        told[..., :3] = gamma(_RELATIVE) * (world.sum(axis=2, keepdims=True) + root.sum(axis=2, keepdims=True))
        told[..., 3:] = _euler_bound(rows[:, : _TOLD * count].reshape(-1, count, _TOLD)[..., 3:].astype(np.float64))
        bound[:, : _TOLD * count] = told.reshape(len(bound), -1)
        first = _TOLD * count + 6
        heights = first + _FOOT * np.arange(len(self.feet))
        grounds = np.abs(frames[self.use.inputs[2].name][:, ::_FOOT])
        bound[:, heights] = gamma(_COPY) * (world[:, self.feet, 2] + grounds + 1e-3)
        bound[:, heights[-1] + 1 :] = gamma(_COPY) * np.abs(rows[:, heights[-1] + 1 :])
        return bound

    def fields(self) -> FieldLayout:
        """The fields in the order of the numbers."""
        given, motion = self.use.inputs[0].fields.fields[0].space, self.use.inputs[3].fields
        space = self.use.table.get("space", "root's axes, from the root")
        told = [
            entry
            for name in self.effectors
            for entry in (
                Field(f"{name}_position", 0, 3, FieldKind.POSITION, "m", space),
                Field(f"{name}_rotation", 0, 3, FieldKind.EULER_XYZ, "rad", given),
            )
        ]
        axes = [Field(f"root_{axis}", 0, 3, FieldKind.DIRECTION, "", given) for axis in ("forward", "up")]
        feet = [
            entry
            for place in self.feet
            for entry in (
                Field(f"{self.effectors[place]}_height", 0, 1, FieldKind.SCALAR, "m", "above the ground below it"),
                Field(f"{self.effectors[place]}_ground_normal", 0, 3, FieldKind.DIRECTION, "", given),
                Field(f"{self.effectors[place]}_grounded", 0, 1, FieldKind.FLAG, "", "", 0.0, 1.0),
                Field(f"{self.effectors[place]}_desired_contact", 0, 1, FieldKind.FLAG, "", "", 0.0, 1.0),
            )
        ]
        every, start = [], 0
        for field in (*told, *axes, *feet, *motion):
            every.append(replace(field, start=start))
            start += field.size
        return FieldLayout(tuple(every))

    def judged(self, contract: Contract, rows: Mapping[str, FloatArray], check: DataCheck) -> Iterator[Problem]:
        """The inputs change, say where the labels put the effectors, and tell a phase and a task.

        The armature's own rotation follows from the root's axes, which the context tells in the world.
        """
        context, labels = (rows[name].astype(np.float64) for name in (check.of, check.labels))
        fields, count = self.fields(), len(self.effectors)
        frames: Any = Known(contract, dict(rows))
        constant = ["_ground_normal", "_desired_contact"]
        if self.knobs["root_frame"].of(frames) is not ROOT_FRAMES["posed"]:
            constant += ["root_forward", "root_up"]  # of an upright armature
        if is_varied(labels):
            yield from input_problems(check.of, context, fields, constant)
        told = context[:, : _TOLD * count].reshape(len(context), count, _TOLD)[..., :3]
        reached = self._told_of_labels(frames, context, labels, check)
        yield from place_problems(check.of, told, reached, self.effectors, check.within)
        phase, task = context[:, -2], context[:, -1]
        yield from motion_problems(check.of, phase, task, len(self.tasks.of(frames).reshape(-1)))

    def _told_of_labels(self, frames: Any, context: FloatArray, labels: FloatArray, check: DataCheck) -> FloatArray:
        """What a context must say of the effectors' positions (N, E, 3), in whatever way the contract says it."""
        kinematics = frames.contract.system.graph[check.moved_by]
        rows = (labels, labels, np.broadcast_to(_AT_REST, (len(labels), ROOT_WIDTH)))
        heads, world = kinematics.details(Known(frames.contract, dict(zip(kinematics.needs, rows, strict=True))))
        points = heads[:, self.bones] - heads[:, :1] + self._past_head(frames, world[:, self.bones][..., 1])
        frame = self._root_axes(frames, context)
        chosen = self.knobs["root_frame"].of(frames)
        own = {
            ROOT_FRAMES["at_rest"]: self.rest.of(frames).reshape(-1, 3, 3)[0],
            ROOT_FRAMES["posed"]: world[:, 0],
            ROOT_FRAMES["armature"]: np.eye(3),
        }[chosen]
        turned = np.einsum("tab,tcb,tkc->tka", frame, np.broadcast_to(own, frame.shape), points)
        told = self.picked(frames, "relative")(turned, np.zeros(3), matrix_to_quat(frame)[:, None])
        return np.asarray(told[:, self.picked(frames, "effector_order")])

    def _root_axes(self, frames: Frames, context: FloatArray) -> FloatArray:
        """The root's axes as columns, (N, 3, 3): two are told, the third stands across."""
        forward, up = self.picked(frames, "root_axes")
        axes, first = np.empty((len(context), 3, 3)), _TOLD * len(self.effectors)
        axes[..., forward], axes[..., up] = context[:, first : first + 3], context[:, first + 3 : first + 6]
        across = 3 - forward - up
        axes[..., across] = cross(axes[..., (across + 1) % 3], axes[..., (across + 2) % 3])
        return axes


def _euler_bound(angles: FloatArray) -> FloatArray:
    """Of angles (N, E, 3). Where both triples have the same sum, which is 270 degrees, a side may tell either."""
    steady = np.maximum(np.abs(np.cos(angles[..., 1:2])), gamma(_EULER))
    bound = np.broadcast_to(gamma(_EULER) * (1.0 + np.pi) / steady, angles.shape).copy()
    is_tie = np.abs(np.abs(angles).sum(axis=2) - 1.5 * np.pi) < 4.0 * bound.sum(axis=2)
    is_seam = (np.pi - np.abs(angles) < 4.0 * bound) | is_tie[..., None]
    bound[is_seam] = 2.0 * np.pi + 1e-5
    return bound


def _effector_orders(names: tuple[str, ...]) -> dict[str, list[int]]:
    """Orders of effectors: pairs stand side by side, what is single stands behind them."""
    pairs = [[place, place + 1] for place in range(0, len(names) - len(names) % 2, 2)]
    single = list(range(2 * len(pairs), len(names)))
    orders = {
        "as_declared": pairs,
        "pairs_reversed": pairs[::-1],
        "second_of_each_pair_first": [pair[::-1] for pair in pairs],
    }
    return {word: [*(place for pair in order for place in pair), *single] for word, order in orders.items()}


def build(use: Use) -> Built:
    """of: effectors (position, quaternion each), root, ground (height, normal, two flags a foot), motion (phase, task)."""
    effectors, tasks = use.word_list("effectors"), use.word_list("tasks")
    feet = places_of(use, "feet", among="effectors")
    refuse_width(use, 0, 7 * len(effectors), f"position and quaternion of {len(effectors)} effectors")
    refuse_width(use, 1, ROOT_WIDTH, "position, orientation, the armature's orientation")
    refuse_width(use, 2, _FOOT * len(feet), f"height, normal and two flags of {len(feet)} feet")
    refuse_width(use, 3, 2, "phase and task")
    sorted_tasks = [float(sorted(tasks).index(task)) for task in tasks]
    frame, axes_of = root_frame(use)
    knobs = {"root_frame": frame}
    for key, readings, meaning in _choices(effectors, len(feet)):
        shows = np.array if key in _ORDERED else None
        knobs[key] = use.choice(key, readings, meaning, HINTS[key], shows=shows)
    numbers = use.number(
        "numbers",
        len(tasks),
        default=list(range(len(tasks))),
        meaning="the numbers of the tasks",
        misread={"sorted_by_name": lambda _own: np.array(sorted_tasks)},
        hints=HINTS["numbers"],
        is_table=True,
    )
    context = _Context(
        use,
        effectors,
        feet,
        places_of(use, "effectors"),
        numbers,
        use.number("lengths", len(use.word_list("bones")), is_table=True),
        root_number(use),
        knobs,
        axes_of,
    )
    return Built(context.fields(), context.computed, context.bound, judged=context.judged)


def _choices(effectors: tuple[str, ...], feet: int) -> tuple[tuple[str, Mapping[str, Any], str], ...]:
    """Where sides differ: the parameter, its readings, its meaning."""
    orders = {"as_declared": list(range(feet)), "reversed": list(range(feet))[::-1]}
    return (
        ("relative", _RELATIVES, "how an effector's way from the hips is turned"),
        ("root_axes", _AXES, "which of the hips' axes are forward and up"),
        ("euler_order", _EULER_ORDERS, "the order of an effector's Euler angles"),
        ("euler_triple", TRIPLES, "which of the two triples of Euler angles that mean one rotation is told"),
        ("effector_quaternion", TO_XYZW, "the order in which an effector's quaternion is read"),
        ("rotation_sense", _SENSES, "which way an effector's rotation is told"),
        ("rotation_space", _SPACES, "the space of an effector's rotation"),
        ("point", _POINTS, "which end of an effector's bone is told"),
        ("effector_order", _effector_orders(effectors), "the order of the five effectors"),
        ("height", _HEIGHTS, "the origin of a foot's height"),
        ("feet_order", orders, "the order of the feet in the ground's block"),
        ("contact_flags", _FLAGS, "the order of a foot's two flags"),
    )


OPERATION = Operation(
    "effector_context",
    "effectors among a root's axes, these axes, feet above the ground, phase and task",
    build,
    {
        "bones": "the names of the bones, or a name of [names]; the root first",
        "effectors": "the bones that have targets, in pairs, single ones last",
        "feet": "the effectors that stand on the ground",
        "tasks": "the names of the tasks, in the order of their numbers",
        "numbers": "the numbers of the tasks, 0, 1, 2, … if they are left out",
        "rest": "each bone's orientation at rest, (J, 3, 3), columns are axes",
        "lengths": "how long each bone is",
        "root_frame": ", ".join(ROOT_FRAMES),
        **{key: ", ".join(readings) for key, readings, *_ in _choices(("a", "b", "c", "d"), 2)},
    },
    (4, 4),
    ("root_frame", *(key for key, *_ in _choices(("a", "b", "c", "d"), 2))),
    code=CODE,
)
