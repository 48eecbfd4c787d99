"""A robot's policy as several stacks describe it: terms of an observation, a network, an action that becomes a target.

The formats translate to a `Robot`; robot_draft.py makes the declaration of it. What a format does not say stays None, and its
key is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reports.importing.draft import Draft, Entry

Numbers = float | list[float]
Range = tuple[Any, Any]


@dataclass(frozen=True)
class Term:
    """One term of the observation: function(sensors), then clip, scale, history.

    width: numbers of one frame, where the file says it. joints: the joints that it takes, in order. offsets: what is taken off.
    period: seconds of a phase; first: of the steps that the first frame sees.
    """

    name: str
    function: str
    place: str
    width: int | None = None
    joints: tuple[str, ...] | None = None
    offsets: Numbers | None = None
    clip: Range | None = None
    scale: Numbers | None = None
    history: int = 1
    notes: tuple[str, ...] = ()
    period: float | None = None
    first: int = 1

    @property
    def is_scaled(self) -> bool:
        """Whether there is a scale that changes something."""
        return self.scale is not None and self.scale != 1.0

    @property
    def is_changed(self) -> bool:
        """Whether what the sensors give is clipped or scaled."""
        return self.clip is not None or self.is_scaled


@dataclass(frozen=True)
class TermGroup:
    """Terms that make one input of the network, and what is known of their history. clip: of a whole frame, before it is kept."""

    name: str
    terms: tuple[Term, ...]
    layout: str = "term_major"
    scale_first: bool = False
    order: str = "oldest_first"
    start: str = "first"
    clip: Range | None = None


@dataclass(frozen=True)
class Action:
    """What becomes of the network's answer.

    clip: of the target. answer_clip: of the answer itself, before it is kept for the next step. wheels: joints that are driven by
    velocity, and their factors.
    """

    names: tuple[str, ...]
    scale: Numbers | None
    offset: Numbers | None
    clip: Range | None
    notes: tuple[str, ...] = ()
    answer_clip: Range | None = None
    wheels: Mapping[str, float] = field(default_factory=dict)

    @property
    def kept(self) -> str:
        """The vector that the next observation sees."""
        return "action" if self.answer_clip is None else "action_clipped"


@dataclass(frozen=True)
class Gains:
    """Gains of the motors. names: whose they are, where the file says it."""

    stiffness: Sequence[float]
    damping: Sequence[float]
    names: tuple[str, ...] | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sensors:
    """Under which name the given vectors stand in a stack's own runtime."""

    gyro: str = "gyro"
    velocity: str = "base_lin_vel"
    quaternion: str = "imu_quat"
    position: str = "q"
    speed: str = "dq"
    turn_space: str | None = None
    turn_comment: str = ""


@dataclass(eq=False)
class Robot:
    """A policy. measured: the joints in the order in which their positions arrive; motors: in which targets leave, if it is said.

    sticks: the lowest and highest command, where the runtime makes it of a stick; stick_scale: the command of a whole stick.
    convention: whose word the history is. action_width: of an answer that is not a target. pose_names: else the measured ones.
    """

    draft: Draft
    sensors: Sensors
    measured: tuple[str, ...]
    groups: Sequence[TermGroup]
    action: Action | None
    measured_name: str = "joints"
    action_width: int | None = None
    convention: str = "IsaacLab keeps them (term by term, oldest first, filled with the first value)"
    motors: tuple[str, ...] | None = None
    default_pose: Sequence[float] | None = None
    pose_names: tuple[str, ...] = ()
    sticks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    stick_scale: Sequence[float] = ()
    gains: Gains | None = None
    model: Entry | None = None

    def __post_init__(self) -> None:
        self.pose_names = self.pose_names or self.measured

    def measured_list(self) -> str:
        """The name of the list of the measured joints."""
        return self.draft.list_of(self.measured, self.measured_name)

    def answer_fields(self) -> dict[str, Any]:
        """Names or the size of what the network gives."""
        if self.action is None:
            return {"size": self.action_width}
        return {"names": self.draft.list_of(self.action.names, "controlled")}

    def is_pose(self, numbers: object, names: tuple[str, ...]) -> bool:
        """Whether numbers of joints of these names are the default pose."""
        return list(self.default_pose or ()) == numbers and self.pose_names == names

    def quaternion(self) -> str:
        """The given quaternion of the robot."""
        said = "Find out which component the sensor gives first"
        comment = f'LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw". {said}'
        return self.draft.give(self.sensors.quaternion, comment, size=4)


COMMANDS = ("velocity_commands", "command", "commands", "generated_commands", "keyboard_velocity_commands")
Steps = list[tuple[str, dict[str, Any]]]
_INTO: Steps = [("relative", {"direction": "into_frame"})]
_SIX: Steps = [("compose", {"product": "inverse_of_first"}), ("convert", {"to": "rot6d", "writes": "interleaved"})]
TRACKING: Mapping[str, tuple[int | None, Sequence[str], Steps]] = {
    "motion_command": (None, ("motion_joint_pos", "motion_joint_vel"), [("concatenate", {})]),
    "motion_anchor_pos_b": (3, ("motion_anchor_pos", "robot_anchor_pos", "robot_anchor_quat"), _INTO),
    "motion_anchor_ori_b": (6, ("robot_anchor_quat", "motion_anchor_quat"), _SIX),
    "robot_body_pos_b": (None, ("robot_body_pos", "robot_anchor_pos", "robot_anchor_quat"), _INTO),
    "robot_body_ori_b": (None, ("robot_anchor_quat", "robot_body_quat"), _SIX),
}
"""Terms of a policy that tracks a motion (whole_body_tracking, mjlab, their runtimes): width, vectors, what is made of them."""
OF_MOTION = tuple(dict.fromkeys(name for _, vectors, _ in TRACKING.values() for name in vectors))


def as_wide(terms: Sequence[Term], width: int | None, place: str) -> tuple[Term, ...]:
    """The terms, together as wide as the network's input; if one has no width, it has what the others leave.

    UnusableInput where they are wider or narrower: two files of different runs.
    """
    terms = [replace(term, width=TRACKING.get(term.function, (None,))[0] or term.width) for term in terms]
    left = 0 if width is None else width - sum((term.width or 0) * term.history for term in terms)
    unknown = [term for term in terms if term.width is None]
    if left and not unknown:
        hint = "the file and the model are of different runs, or a term that raised while it was exported is left out"
        total = f"terms of {(width or 0) - left} numbers together"
        raise UnusableInput(place, total, f"{width}, as the model's input has", hint)
    if width is None or len(unknown) != 1:
        return tuple(terms)
    if left <= 0 or left % unknown[0].history:
        raise UnusableInput(place, f"{left} numbers left for {unknown[0].name}", "the rest of the input")
    return tuple(replace(term, width=left // term.history) if term is unknown[0] else term for term in terms)
