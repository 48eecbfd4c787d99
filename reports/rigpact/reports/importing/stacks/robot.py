"""A robot's policy as several stacks describe it: terms of an observation, a network, an action that becomes a target.

The formats translate to a `Robot`; robot_draft.py makes the declaration of it. What a format does not say stays None, and its
key is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rigpact.reports.importing.draft import Draft, Entry

Numbers = float | list[float]
Range = tuple[Any, Any]


@dataclass(frozen=True)
class Term:
    """One term of the observation: function(sensors), then clip, scale, history.

    width: numbers of one frame, where the file says it. joints: the joints that it takes, in order. offsets: what is taken off.
    period: seconds of a phase.
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


@dataclass(frozen=True)
class Group:
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
    groups: Sequence[Group]
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
