"""The picture of README's robot: its legs as the contract has them, and as the recorded motors were told.

They are drawn from the side. What the contract says is worked out here, from the recorded action and the contract as plain TOML.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping
from math import cos, sin
from pathlib import Path

from rigpact.fixtures.demo import demo_robot

from .figures import GREEN, INK, PALE, RED, line, svg, text

WIDTH, HEIGHT, GROUND = 760.0, 362.0, 294.0
SCALE, TRUNK, LINK = 400.0, 0.19, 0.21
"""Pixels a metre; half of the trunk and each half of a leg, in metres, as a robot of this size has them."""
_FRAME = 0
_LEGS = ("front_left", "rear_left", "front_right", "rear_right")
"""From the far side to the near one."""


def robot() -> str:
    """Both poses beside each other, and what differs."""
    meant, told = _targets(demo_robot())
    apart = sum(abs(meant[name] - told[name]) > 0.01 for name in meant)
    worst = max(meant, key=lambda name: abs(meant[name] - told[name]))
    parts = [
        text(20, 26, "what the policy's answer means", GREEN), text(400, 26, "what the motors were told", RED),
        *_pose(190.0, meant, GREEN), *_pose(570.0, told, RED),
        text(20, 324, f"{apart} of {len(meant)} motors get the number of another joint. {worst}: {meant[worst]:.2f} rad, "
             f"told {told[worst]:.2f} rad.", INK),
        text(20, 347, "motor_targets.order = as_given: the numbers are copied by position, not by name.", INK),
    ]  # fmt: skip
    return svg(WIDTH, HEIGHT, "A quadruped whose runtime copies joints by position", parts)


def _targets(folder: Path) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Angles by joint, rad: as the contract computes them from the recorded action, and as recorded."""
    root = tomllib.loads((folder / "contract.toml").read_text(encoding="utf-8"))
    names, pose = root["names"], root["numbers"]["default_pose"]["value"]
    (scale,) = (each["scale"] for each in root["stages"] if each["name"] == "target")
    with (folder / "run.csv").open(encoding="utf-8", newline="") as file:
        row = list(csv.DictReader(file))[_FRAME]
    meant = {
        name: scale * float(row[f"action.{name}"]) + rest for name, rest in zip(names["policy"], pose, strict=True)
    }
    return meant, {name: float(row[f"motor_targets.{name}"]) for name in names["policy"]}


def _pose(middle: float, angles: Mapping[str, float], colour: str) -> Iterator[str]:
    """The trunk, level, and four legs, with the lowest foot on the ground."""
    legs = {leg: _leg(leg, angles) for leg in _LEGS}
    height = -min(point[1] for points in legs.values() for point in points)
    yield line(middle - 170, GROUND, middle + 170, GROUND, PALE)
    for leg, points in legs.items():
        placed = " ".join(f"{middle + SCALE * x:.1f},{GROUND - SCALE * (height + z):.1f}" for x, z in points)
        shade = 0.4 if leg.endswith("left") else 1.0
        yield (
            f'<polyline points="{placed}" fill="none" stroke="{colour}" stroke-width="9" stroke-linecap="round" '
            f'stroke-linejoin="round" stroke-opacity="{shade:g}"/>'
        )
    left, top = middle - SCALE * (TRUNK + 0.04), GROUND - SCALE * height - 16
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{2 * SCALE * (TRUNK + 0.04):.1f}" height="32" rx="12" fill="{INK}" '
        f'fill-opacity="0.85"/>'
    )


def _leg(leg: str, angles: Mapping[str, float]) -> list[tuple[float, float]]:
    """Hip, knee and foot, metres from the middle of the trunk, forward and up; a positive angle turns a link backward."""
    x, z = TRUNK if leg.startswith("front") else -TRUNK, 0.0
    points, turned = [(x, z)], 0.0
    for joint in ("thigh", "calf"):
        turned += angles[f"{leg}_{joint}"]
        x, z = x - LINK * sin(turned), z - LINK * cos(turned)
        points.append((x, z))
    return points
