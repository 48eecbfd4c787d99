"""Edges of small functions of `reports`: a limit, a case beside the usual one. Each stands where a slip was once not noticed."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from rigpact.contract.errors import UnusableInput
from rigpact.reports.terminal import FINDINGS_SHOWN

from ..every_case import every_case


def _mapping(word: str) -> Any:
    from rigpact.reports.geometry_parity.examination import parse_mapping

    return parse_mapping([word])


def _completed(*typed: str, incomplete: str) -> list[str]:
    from rigpact.reports.command_line.options import known_words

    context = typer.Context(typer.main.get_command(typer.Typer(callback=print)))
    context.params["name"] = typed
    return [name for name, _ in known_words(context, incomplete)]


def _elements(count: int) -> int:
    from rigpact.reports.importing.values import PlacedValue

    return len(PlacedValue([0] * count, Path("deploy.yaml"), ()).elements())


def _wrapped(words: str, angle: float) -> float:
    from rigpact.contract.conventions import Conventions
    from rigpact.reports.geometry_parity.readings import readings_of
    from rigpact.reports.geometry_parity.roles import ROLES

    (reading,) = (each for each in readings_of(ROLES["wrap_to_pi"], Conventions({})) if words in each.words)
    return float(reading.compute(np.array(angle)))


def _run(name: str, largest: float, deg_shape: tuple[int, ...] = (1, 1)) -> Any:
    from rigpact.reports.gate.compared_run import ComparedRun

    turns = np.eye(3, dtype=np.float32)[None, None]
    return ComparedRun(
        name, 30.0, np.arange(1), ["root"], None, None, turns, turns, np.zeros(deg_shape, np.float32), None, [("quat", "")],
        np.array([[largest]], np.float32), None,
    )  # fmt: skip


def _worst_first(*largest: float) -> list[float]:
    from types import SimpleNamespace

    from rigpact.reports.viewer import worst_first

    gate: Any = SimpleNamespace(parts=[], findings=[])
    return [float(run.ratios.max()) for run, _ in worst_first(gate, [_run(str(each), each) for each in largest])]


def _unpacked(quaternion: list[float]) -> list[float]:
    """As the page unpacks it: three of 15 bits between -1 and 1 times the root of a half, the largest one left out."""
    from rigpact.reports.viewer.run_data import quaternions_to_text

    words = np.frombuffer(base64.b64decode(quaternions_to_text(np.array([quaternion]))), "<u2").tolist()
    small = [((word & 0x7FFF) / 0x7FFF * 2.0 - 1.0) * np.sqrt(0.5) for word in words]
    small.insert((words[0] >> 15) | (words[1] >> 15 << 1), np.sqrt(max(1.0 - sum(each * each for each in small), 0.0)))
    return [round(float(each), 3) for each in small]


def _frames(*frames: int) -> str:
    from rigpact.reports.diagnosing.relations.relation import frames_words

    return frames_words(frames)


def _stretch(*by_frame: float) -> tuple[int, int]:
    from rigpact.reports.comparing.pose_meter import _stretch as stretch

    gap = np.array(by_frame)
    return stretch(np.abs(gap), int(np.abs(gap).argmax()), gap)


def _junit(count: int) -> list[str]:
    from rigpact.contract.findings import Finding, Rule, Severity
    from rigpact.reports.renderers.for_machines import _told

    rule = Rule("RP001", "a-rule", Severity.ERROR, "it is wrong", "mend it", "it breaks")
    return [line for line in _told((Finding(rule, "a.json", "", {}),) * count).splitlines() if line.startswith("and ")]


def _refused(call: Callable[..., Any], *values: Any) -> str:
    with pytest.raises(UnusableInput) as refused:
        call(*values)
    return str(refused.value.place)


EDGES: dict[str, tuple[Callable[[], Any], Any]] = {
    "a role without a name": (lambda: _refused(_mapping, "rot6d_to_matrix="), "--map rot6d_to_matrix="),
    "a role without a sign": (lambda: _refused(_mapping, "rot6d_to_matrix"), "--map rot6d_to_matrix"),
    "a name of two words, the second typed": (lambda: _completed("page", incomplete="imu"), ["imu_pose"]),
    "the longest list that is read": (lambda: _elements(65536), 65536),
    "a list that is one longer": (lambda: _refused(_elements, 65537), "deploy.yaml#"),
    "an angle that is divided by pi as well": (lambda: _wrapped("divided", 0.5 * np.pi), 0.5),
    "the worst run comes first": (lambda: _worst_first(1.0, 7.0, 3.0), [7.0, 3.0, 1.0]),
    "two components that are as large": (lambda: _unpacked([0.6, 0.0, -0.48, 0.64]), [0.6, 0.0, -0.48, 0.64]),
    "two that are nearly the largest": (lambda: _unpacked([0.706, 0.02, 0.0, 0.708]), [0.706, 0.02, 0.0, 0.708]),
    "a quaternion whose largest is negative": (lambda: _unpacked([0.0, -0.8, 0.6, 0.0]), [0.0, 0.8, -0.6, 0.0]),
    "one frame": (lambda: _frames(3), "frame 3"),
    "three frames": (lambda: _frames(3, 4, 8), "frames 3, 4 and 8"),
    "more frames than are listed": (lambda: _frames(*range(5, 12)), "7 frames, the first of them 5"),
    "a stretch with both ends": (lambda: _stretch(0.1, 1.0, 2.0, 1.5, 0.1), (1, 3)),
    "a stretch from the first frame to the last": (lambda: _stretch(1.0, 2.0, 1.0), (0, 2)),
    "a stretch that the other side ends": (lambda: _stretch(-2.0, 3.0, -2.0), (1, 1)),
    "as many findings as are shown": (lambda: _junit(FINDINGS_SHOWN), []),
    "one more than are shown": (lambda: _junit(FINDINGS_SHOWN + 1), ["and 1 more"]),
    "a run whose parts do not fit": (lambda: _run("a", 1.0, (1,)).is_sound, False),
}


@every_case("name", EDGES)
def test_the_edge_is_where_it_is_said(name: str) -> None:
    """A limit that is off by one refuses a file that is allowed, or shows the wrong one."""
    call, expected = EDGES[name]
    assert call() == expected
