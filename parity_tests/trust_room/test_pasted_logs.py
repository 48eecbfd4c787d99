"""Pasted engine logs

The deployed engine prints some numbers of its first steps. Every printed line is evidence, alone or together with others.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.statistics import FloatArray
from rigpact.fixtures import demo_bundle

from ..every_case import every_case
from .tried import tries

STEPS = 4
CONDITION = (0.0, 1.0, 0.0, 0.0, 0.6, -0.8, 1.25)
FALLBACK = "[PoseHist] Fallback enabled: Frames=3 Dim=276 (runtime required 828)."


def turn(axis: int, degrees: float) -> FloatArray:
    """A rotation about a coordinate axis; columns are axes."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix


POSES = [turn(2, 40.0 + 5 * step) @ turn(0, 70.0 - 9 * step) for step in range(STEPS + 1)]
DELTAS = [turn(1, 12.0 + step) @ turn(2, 7.0) for step in range(STEPS)]
NEXT = [delta @ pose for delta, pose in zip(DELTAS, POSES, strict=False)]


def numbers(values: Any, form: str = ".3f") -> str:
    return ",".join(format(value, form) for value in np.ravel(values))


def composition(
    step: int, following: FloatArray, previous: FloatArray | None = None, delta: FloatArray | None = None
) -> str:
    """A line of one step; previous, delta: other ones than the run's own."""
    previous, delta = POSES[step] if previous is None else previous, DELTAS[step] if delta is None else delta
    named = (("prev", previous), ("delta", delta), ("next", following))
    axes = (f"{name}{letter}=({numbers(m[:, axis])})" for name, m in named for letter, axis in (("X", 0), ("Z", 2)))
    return f"[DeltaCompose] frame={step} {' '.join(axes)}"


def published(pose: FloatArray, second: FloatArray | None = None, form: str = ".4f") -> str:
    """The published numbers of two bones: the axes X and Z of each."""
    six = [matrix[:, axis] for matrix in (pose, np.eye(3) if second is None else second) for axis in (0, 2)]
    return f"[TDbg][StepModel] y_reproj[0..11]={numbers(six, form)} (len=276)"


def condition(raw: Sequence[float] = CONDITION, out: Sequence[float] | None = None, form: str = ".2f") -> str:
    shown = numbers(raw, form), numbers(raw if out is None else out, form)
    return f"[TDbg][BuildCondVector] useTeacher=0 Dim=7 Raw={shown[0]} Out={shown[1]}"


def honest(form: str = ".3f") -> list[str]:
    """Everything that four steps of a correct engine print."""
    return [
        line
        for step, pose in enumerate(NEXT)
        for line in (condition(), published(pose, form=form), composition(step, pose))
    ]


PREFIX = "[2025.11.16-10.20.30:123][ 42]LogTemp: Warning: "


def log(lines: Sequence[str]) -> str:
    return "".join(f"{PREFIX}{line}\n" for line in lines)


CLIP = "clips/Walk_Spin.json"
DEMO = {"--contract": "norm_template.json", "--companion": "pretrain_template.json", "--clip": CLIP}
OF_DEMO = tuple(DEMO)


def of_demo(options: Sequence[str] = OF_DEMO) -> tuple[object, ...]:
    return tuple(word for option in options for word in (option, demo_bundle() / DEMO[option]))


def conditions_of(steps: Sequence[int], turned: float = 1.0, of: str = "TrajectoryDir") -> list[str]:
    """What the engine prints of some frames of the demo's clip; the direction times `turned`."""
    frames = json.loads((demo_bundle() / CLIP).read_text(encoding="utf-8"))["Frames"]
    lines = []
    for step in steps:
        frame = frames[step]
        held = frame[of][len(frame[of]) // 2] if of == "TrajectoryDir" else frame[of]
        direction = turned * np.array(held) / np.hypot(*held)
        lines.append(condition([*frame["ActionBits"], *direction, np.hypot(*frame["RootVelocityXY"])]))
    return lines


def with_(place: int, value: float) -> list[float]:
    return [value if at == place else each for at, each in enumerate(CONDITION)]


def instead(place: int, line: str) -> list[str]:
    """The log of a correct engine with another line in one place."""
    lines = honest()
    lines[place] = line
    return lines


def with_token(token: str) -> list[str]:
    head, tail = honest()[-1].split("nextX=(")
    return instead(-1, f"{head}nextX=({token},{tail.partition(',')[2]}")


ODD = published(turn(0, 4.0) @ NEXT[2])
"""A pose that was not composed."""
SHEARED = np.eye(3) + np.array([[0.0, 0.0, 0.1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
HEAD = "[Schema OK] X=420 Y=276 C=7 fps=60.0  (tanh_scales: rv=2, ang=138, pose_hist=828 | len=3)"
SEEN: Mapping[str, tuple[str, int, str, Sequence[str], Sequence[Sequence[str]]]] = {
    # what is tried -> the answer, exit code, words of it, files beside the log, logs
    "A log with correct compositions in which the condition that the network gets is another": (
        "exit 1, stage `cond`", 1, "stage cond", (),
        [[*honest(), condition(CONDITION, with_(place, CONDITION[place] + 0.5))] for place in range(7)],
    ),
    "A log with nothing but a condition line, whose output is normalised": (
        "names `condition_norm = zscore`; exit 1", 1, "condition_norm = zscore", (), [[condition(CONDITION, [0.0] * 7)]],
    ),
    "A condition whose direction has length 2, or whose action bit is 3": (
        "`Against the contract`, exit 1", 1, "Against the contract: [BuildCondVector] line 5", (),
        [[*honest(), condition(with_(place, value))] for place, value in ((4, 2.0), (1, 3.0), (6, -1.0))],
    ),
    "A published pose that is not the composed one, in the third of four steps": (
        "exit 1, stage `y_out`", 1, "stage y_out", (), [instead(7, ODD)],
    ),
    "The same, where one line of another step was cut off": (
        "exit 1, stage `y_out`", 1, "stage y_out", (), [[instead(7, ODD)[0], instead(7, ODD)[1][:60], *instead(7, ODD)[2:]]],
    ),
    "A condition of five numbers, beside correct compositions and without a bundle": (
        "UNDETERMINED, exit 2", 2, "UNDETERMINED", (), [[*honest(), condition(CONDITION[:5]).replace("Dim=7", "Dim=5")]],
    ),
    "Nothing but published numbers that are not a rotation, of the first bone": (
        "`Against the contract`, exit 1", 1, "bone 0: no rotation", (), [[published(SHEARED, np.eye(3))]],
    ),
    "The same of the second bone": (
        "`Against the contract`, exit 1", 1, "bone 1: no rotation", (), [[published(np.eye(3), SHEARED)]],
    ),
    "The engine says that it made up its own pose-history statistics, under a bundle that has them": (
        "exit 1", 1, "fell back", ("--contract", "--companion"), [[FALLBACK], [*honest(), FALLBACK]],
    ),
    "The same warning without a bundle, beside correct compositions": (
        "UNDETERMINED, exit 2", 2, "UNDETERMINED", (), [[*honest(), FALLBACK]],
    ),
    "A composition with `nan` or `-nan(ind)` in it": (
        "exit 1: a value that is not finite", 1, "not finite", (),
        [with_token(token) for token in ("nan", "-nan(ind)", "-1.#IND")],
    ),
    "A second run in the same log composes in the other order": (
        "names `compose_order = prev_delta`; exit 1", 1, "compose_order = prev_delta", (),
        [[*honest(), *(composition(step, POSES[step] @ DELTAS[step]) for step in range(STEPS))]],
    ),
    "The log reports another state width than the bundle has, beside correct compositions": (
        "exit 1", 1, "the engine reports state = 420, the bundle gives 422", ("--contract",), [[HEAD, *honest()]],
    ),
    "Conditions that point the other way than the clip's, beside correct compositions, with --clip": (
        "exit 1, cond_raw", 1, "stage cond_raw", OF_DEMO,
        [[*beside, *conditions_of(range(7, 11), -1.0)] for beside in ([], honest())],
    ),
    "The same where the engine negates the velocity": (
        "names `condition_direction = negated`", 1, "condition_direction = negated", OF_DEMO,
        [conditions_of(range(7, 11), -1.0, "RootVelocityXY")],
    ),
    "Nothing but published poses, each a rotation": (
        "read; UNDETERMINED, exit 2: `y_out` is named as not judged", 2, "y_out: not judged", (),
        [[published(pose) for pose in NEXT]],
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@tries(("refused", tried, answer) for tried, (answer, *_) in SEEN.items())
@pytest.mark.parametrize("tried", SEEN)
def test_what_a_log_shows_is_seen(command, tmp_path, tried, request):
    """Each was once passed over: the lines beside it were right, or nobody had looked at this one."""
    _, status, said, options, logs = SEEN[tried]
    if " = " not in said:
        request.getfixturevalue("no_search")
    assert logs
    for lines in logs:
        (tmp_path / "Game.log").write_text(log(lines), encoding="utf-8")
        answer = command("explain", tmp_path / "Game.log", *of_demo(options))
        assert (answer.status, said in " ".join(answer.out.split()), answer.err) == (status, True, ""), answer.out


NOISE = (
    "[2025.11.16-10.20.30:124][ 42]LogAnimation: Display: Montage ended",
    PREFIX + "[Probe-CS] pelvis P=(0.1,0.2,95.3) R=(P=1.00 Y=-90.00 R=2.00)",
)
REVERSED = [composition(step, POSES[step] @ DELTAS[step]) for step in range(STEPS)]
BOUND = "[StepModel] lens X=422 C=7 Contacts=2 Ang=138 Pose=828 | bound 422/{}/2/138/828"
ABOUT_Z = [turn(2, 20.0 * step) for step in range(STEPS)]
COMMUTING = [composition(step, turn(2, 9.0) @ ABOUT_Z[step], ABOUT_Z[step], turn(2, 9.0)) for step in range(STEPS)]
Rows = list[tuple[str | bytes, Sequence[str], int, tuple[str, ...]]]
SAID: list[tuple[str, str, str, Rows]] = [
    # row of docs/trust.md, then cases: the text of the log, options, exit status, words of the answer
    ("passes", "The whole log of a correct engine, with 3, 4 or 6 decimals and with shortest numbers, among other lines",
     "passes",
     [*((log(honest(form)), (), 0, ("AGREES",)) for form in (".3f", ".4f", ".6f", ".5g")),
      ("\r\n".join(f"{line}\r\n{NOISE[1]}" for line in honest()), (), 0, ("AGREES",)),
      ("\n".join([BOUND.format(7), *honest()]), (), 0, ("AGREES",)),
      ("\n".join([HEAD, *honest()]), (), 0, ("the widths in the log were not judged: give --contract",)),
      ("\n".join(COMMUTING), (), 0, ("AGREES", "compose_order=prev_delta"))]),
    ("passes", "A log in UTF-16, with a byte order mark or without, and in UTF-8 with one", "passes",
     [(log(honest()).encode(each), (), 0, ("AGREES",)) for each in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")]),
    ("passes", "Conditions of the clip's own frames, in any order and with steps left out", "passes",
     [(log(conditions_of(steps)), OF_DEMO, 0, ("AGREES", "2 of 15 stages judged"))
      for steps in (range(7, 11), [3], [40, 2, 2, 17])]),
    ("passes", "Lines without the tags before them, as in a ticket", "read",
     [(log([line.removeprefix(tags)]), (), status, (said,)) for tags in ("[TDbg][StepModel] ", "[TDbg]")
      for line, status, said in ((published(NEXT[0]), 2, "1 y_reproj lines"), (condition(), 0, "AGREES"))]),
    ("refused", "Another order of composition among other lines, with lines that are cut off, or without their prefix",
     "names `compose_order = prev_delta`; exit 1",
     [*(("\r\n".join(f"{NOISE[0]}\r\n{prefix}{line}\r\n{NOISE[1]}" for line in REVERSED), (), 1,
         ("compose_order = prev_delta",)) for prefix in ("", PREFIX)),
      *(("\n".join(REVERSED)[:-cut], (), 1, ("1 [DeltaCompose] lines are cut off", "compose_order = prev_delta"))
        for cut in (1, 25, 90)),
      (PREFIX + REVERSED[0][:80], (), 2, ("1 cut off [DeltaCompose] lines",))]),
    ("refused", "Widths, a rate or a number of conditions that contradict the bundle or each other", "exit 1",
     [("\n".join([HEAD.replace("60.0", "30.0"), FALLBACK, *honest()]), ("--contract",), 1,
       ("reports state = 420, the bundle gives 422", "reports fps = 30, the bundle gives 60", "fell back")),
      ("\n".join([BOUND.format(6), *honest()]), (), 1, ("gives cond 7 numbers and binds 6: it is silently cut or padded",)),
      ("\n".join([condition().replace(",1.25", ""), *honest()]), (), 1, ("line 1 says Dim=7 and prints 6 numbers",))]),
    ("refused", "--clip without a bundle, beside a log", "one line, exit 2", [(log(honest()), ("--clip",), 2, ("--contract",))]),
]  # fmt: skip


@tries(row[:3] for row in SAID)
@every_case(
    ("text", "options", "status", "words"), [case for row in SAID for case in row[3]], ids=lambda each: str(each)[-30:]
)
def test_what_a_log_says(command, tmp_path, text, options, status, words):
    """An alarm on printed rounding would teach people not to paste logs; 0.98 read as 0.9 at a torn line is a defect."""
    (tmp_path / "Game.log").write_bytes(text.encode() if isinstance(text, str) else text)
    answer = command("explain", tmp_path / "Game.log", *of_demo(options))
    said = " ".join((answer.out + answer.err).split())
    assert (answer.status, [word for word in words if word not in said]) == (status, []), said


SETTINGS = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
free-run = false
[[gate.trace]]
file = "Game.log"
"""
WITH_CLIP = 'clip = "Walk_Spin.json"\n'
GATED: tuple[tuple[str, str, str, tuple[tuple[Sequence[str], str, int, str], ...]], ...] = (
    ("passes", "The log of a correct engine in `[[gate.trace]]`, without a clip", "passes",
     ((honest(), "", 0, "Engine recording Game"), (conditions_of(range(7, 11)), WITH_CLIP, 0, "Engine recording Game"))),
    ("refused", "The same with the other order of composition, other widths, or nothing that can be judged",
     "the gate does not pass",
     ((REVERSED, "", 1, "compose_order"), ([HEAD, *honest()], "", 1, "state = 420"),
      ([REVERSED[0][:40]], "", 2, "UNDETERMINED"))),
    ("refused", "Conditions of a log that point the other way than those of the `clip` of [[gate.trace]]",
     "the gate does not pass",
     ((conditions_of(range(7, 11), -1.0), WITH_CLIP, 1, "cond_raw"),)),
)  # fmt: skip


@tries(row[:3] for row in GATED)
@every_case(
    ("lines", "more", "status", "said"), [case for row in GATED for case in row[3]], ids=lambda each: str(each)[-20:]
)
def test_a_log_is_a_recording_of_the_gate(command, tmp_path, monkeypatch, lines, more, status, said):
    """A team without a recorder has nothing else to show the gate; one that passes over a log passes everything."""
    for name in ("norm_template.json", "pretrain_template.json", CLIP):
        (tmp_path / Path(name).name).write_bytes((demo_bundle() / name).read_bytes())
    (tmp_path / "Game.log").write_text(log(lines), encoding="utf-8")
    (tmp_path / "rigpact.toml").write_text(SETTINGS + more, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    answer = command("gate", "--html", "page.html")
    assert (answer.status, said in answer.out) == (status, True), answer.out + answer.err
    assert status or command("init", "--status").status == 0
