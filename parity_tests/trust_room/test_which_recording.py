"""Which recording is judged, and against what

The file that is judged does not choose its own reference, its tolerance, its clock or the files that it was made with.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from rigpact.contract.bundle import load_contract
from rigpact.contract.rules.structure import check_against_schema
from rigpact.contract.systems.contract import canonical_json
from rigpact.fixtures import demo_bundle
from rigpact.reference_runtime import Trace, write_trace
from rigpact.reports.engine.header import contract_header

from ..every_case import every_case
from .recorded_demo import CLIP, CONTRACT, SETTINGS, TRACE, codes, edited, errors, lines_of, recorded, said
from .tried import passes, refused, tries

Command = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_search")


def at(times_s: Any, trace: Trace | None = None) -> Trace:
    return replace(trace or recorded(), time_s=np.asarray(times_s, np.float64))


def some(rows: list[int], trace: Trace, by: float = 0.0, numbers: list[int] | None = None) -> Trace:
    """Some frames, numbered anew; every value of the last one moved."""
    stages = {name: values[rows].copy() for name, values in trace.stages.items()}
    for values in stages.values():
        values[-1] += np.float32(by)
    frame = np.array(numbers or rows)
    return replace(trace, frame=frame, time_s=frame / 60.0, stages=stages)


def with_rows(rows: Any, value: float, *names: str) -> Trace:
    """The recording with a value in some rows of some stages."""
    trace = recorded()
    changed = {name: trace.stages[name].copy() for name in names}
    for values in changed.values():
        values[rows] = value
    return replace(trace, stages={**trace.stages, **changed})


def of_files(change: Callable[[Any], object] = lambda companion: None, **conventions: str) -> Trace:
    """The recording of an engine that was made with another companion or other conventions."""
    companion = json.loads((demo_bundle() / "pretrain_template.json").read_text(encoding="utf-8"))
    change(companion)
    Path("stale.json").write_text(json.dumps(companion), encoding="utf-8")
    other = load_contract(demo_bundle() / "norm_template.json", Path("stale.json")).with_conventions(conventions)
    Path("stale.json").unlink()
    return said(recorded(), **other.hashes)


@dataclass(frozen=True)
class Case:
    """What the engine recorded, what `diff` finds beside `right`, and what the gate finds of it with more settings."""

    engine: Callable[[], Trace]
    answer: str
    diff: tuple[str, ...] | None = None
    gate: str | None = None
    right: Callable[[], Trace] = recorded
    settings: str = ""
    kind: Literal["refused", "passes"] = "refused"


FAR = [0, 10**7]
EXPLODED = ("state", "angvel", "pose_hist", "cond")
CASES: Mapping[str, Case] = {
    "a recording with state, angvel, pose_hist and cond at 1e9": Case(
        lambda: with_rows(slice(None), 1e9, *EXPLODED), "`diff`: error RP801", ("RP801",) * 4
    ),
    "the same as the reference": Case(
        recorded, "`diff`: error RP801", ("RP801",) * 4, right=lambda: with_rows(slice(None), 1e9, *EXPLODED)
    ),
    "a free run whose second frame is numbered 10 000 000 and is off by 0.3": Case(
        lambda: some([0, 1], recorded("free"), 0.3, FAR), "`diff`: error RP814, the frames after it count as missing",
        ("RP814",), right=lambda: some([0, 1], recorded("free"), 0.0, FAR),
    ),
    "a teacher-driven recording with a frame numbered 10 000 000 that is off by 0.3": Case(
        lambda: some([0, 1], recorded(), 0.3, FAR), "`diff`: error RP801", ("RP801",),
        right=lambda: some([0, 1], recorded(), 0.0, FAR),
    ),
    "frames left out on both sides": Case(
        lambda: some([0, 1, 2, 9, 10, 20], recorded()), "passes", (), kind="passes",
        right=lambda: some([0, 1, 2, 9, 10, 20], recorded()),
    ),
    "a last next state that is NaN, because no frame follows": Case(
        lambda: with_rows(-1, np.nan, "x_raw_next"), "passes", (), kind="passes"
    ),
    "a last next state that is zero": Case(lambda: with_rows(-1, 0.0, "x_raw_next"), "passes", (), kind="passes"),
    "another next state in the frame before the last": Case(
        lambda: with_rows(-2, 0.25, "x_raw_next"), "RP801 in x_raw_next", ("RP801",)
    ),
    "a recording at 30 Hz of a 60 Hz model, the header left at 60": Case(
        lambda: at(recorded().frame / 30.0), "`diff` and `gate`: error RP812", ("RP812",), "RP812"
    ),
    "times that run backwards": Case(lambda: at(np.arange(24)[::-1] / 60.0), "`diff`: error RP812", ("RP812",)),
    "sound stages beside times that slow down to half the rate after a while": Case(
        lambda: at(recorded().frame / 60.0 + np.maximum(recorded().frame - 15, 0) / 60.0), "error RP812", None, "RP812"
    ),
    "an engine that runs with a stale companion, on a clip that does not show it": Case(
        lambda: of_files(lambda companion: companion["MuPoseHist"].__setitem__(5, 0.25)),
        "`diff` and `gate`: error RP810", ("RP810",), "RP810",
    ),
    "a recording whose engine was generated for other conventions": Case(
        lambda: of_files(compose_order="prev_delta"), "`diff`: error RP810", ("RP810",)
    ),
    "a free run where the project expects a teacher-driven one": Case(
        lambda: recorded("free"), "`gate`: error RP981", None, "RP981"
    ),
    "a recorder that is not the one that the project names in `producer`": Case(
        recorded, "`gate`: error RP980", None, "RP980", settings='producer = "TheGame"\n'
    ),
    "the recorder that the project names in `producer`": Case(
        recorded, "passes", None, "", settings='producer = "MyEngine"\n', kind="passes"
    ),
    "one frame of a free run": Case(
        lambda: some([0], recorded("free")), "`gate`: error RP803, the other frames count as missing", None, "RP803",
        settings='mode = "free"\n',
    ),
    "a free run that the project declares, of as many frames as the clip gives": Case(
        lambda: recorded("free"), "passes", None, "", settings='mode = "free"\nframes = 24\n', kind="passes"
    ),
}  # fmt: skip


def gated(command: Command, settings: str = "") -> Any:
    """The gate's answer; settings are lines of [[gate.trace]]."""
    text = SETTINGS.replace("frames = 24\n", "") if "free" in settings else SETTINGS
    Path("rigpact.toml").write_text(text + settings, encoding="utf-8")
    return command("gate", "--format", "json")


@pytest.mark.sampled(3)
@tries((case.kind, tried, case.answer) for tried, case in CASES.items())
@pytest.mark.parametrize("tried", CASES)
def test_a_recording_is_judged_by_what_the_project_says(folder, command, tried):
    """A file that chooses its reference passes, and says nothing about the game."""
    case = CASES[tried]
    write_trace(case.right(), "right.trace.jsonl")
    write_trace(case.engine(), TRACE)
    assert (case.diff, case.gate) != (None, None)
    if case.diff is not None:
        answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--format", "json")
        found = errors(answer)
        assert (answer.status, set(found)) == (int(bool(case.diff)), {*case.diff})
        assert len(case.diff) < 2 or len(found) == len(case.diff)
    if case.gate is not None:
        answer = gated(command, case.settings)
        assert (answer.status, {*errors(answer)} & {case.gate} or {*errors(answer)}) == (
            (1, {case.gate}) if case.gate else (0, set())
        )


@refused("a teacher prediction named as the engine's trace", "`gate`: error RP980")
def test_a_teacher_prediction_is_not_the_engine(folder, command):
    """It says what training computes; the engine has not been asked at all."""
    prediction = demo_bundle() / "teacher_predictions/Sneak_Turn_prediction.json"
    Path("prediction.json").write_bytes(prediction.read_bytes())
    text = SETTINGS.replace(TRACE, "prediction.json").replace("frames = 24\n", "")
    text += 'stages = ["state", "cond", "contacts", "angvel", "pose_hist", "y_out"]\n'
    Path("rigpact.toml").write_text(text, encoding="utf-8")
    answer = command("gate", "--format", "json")
    assert (answer.status, "RP980" in codes(answer)) == (1, True)


EXPECT_NOTHING = {
    'producer = "rigpact"\n': "producer",
    'mode = "palyback"\n': "mode",
    'mode = "free"\nframes = 1\n': "frames",
}


@refused('`producer = "rigpact"`, an unknown mode, or `frames = 1` for a free run', "`gate`: exit 2, with the key")
@every_case("settings", EXPECT_NOTHING)
def test_settings_that_expect_nothing_are_refused(folder, command, settings):
    """One line of configuration must not make the question trivial."""
    answer = gated(command, settings)
    assert (answer.status, answer.out, f"gate.trace[0].{EXPECT_NOTHING[settings]}" in answer.err) == (2, "", True)


@passes("the settings that `rigpact init` writes for an engine's trace; it passes over rigpact's own")
def test_init_writes_what_it_expects(folder, command):
    """A new project gets the strict question without reading a manual."""
    Path("right.trace.jsonl").unlink()
    write_trace(said(recorded(), producer="rigpact"), "own.trace.jsonl")
    Path("rigpact.toml").unlink()
    assert command("init").status == 0
    text = Path("rigpact.toml").read_text(encoding="utf-8")
    assert 'mode = "teacher"\nproducer = "MyEngine"' in text
    assert "own.trace.jsonl: rigpact recorded it" in text
    assert text.count("\n[[gate.trace]]") == 1
    assert list(check_against_schema(lines_of(folder / TRACE)[0], "trace_header")) == []  # other programs check it


@passes("a recording whose header names no contract and no model", "passes; RP811 lists what cannot be verified")
def test_a_header_that_says_nothing_is_no_error(folder, command):
    """Most engines write their own recorder."""
    edited(folder / "right.trace.jsonl", lambda lines: lines[0].update(contract={"bundle_sha256": None}))
    answer, gate = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--format", "json"), gated(command)
    assert (answer.status, set(codes(answer)), gate.status) == (0, {"RP811"}, 0)


@passes(
    "a bundle that was only written again: other spaces, keys in another order, 1 for 1.0", "`diff --strict` passes"
)
def test_formatting_is_no_other_contract(folder, command):
    """A pre-commit hook that formats JSON must not make every recording stale."""
    for name, how in (
        ("norm_template.json", {"indent": 1, "sort_keys": True}),
        ("pretrain_template.json", {"indent": 4}),
    ):
        root = json.loads(Path(name).read_text(encoding="utf-8"))
        Path(name).write_text(json.dumps(root, **how), encoding="utf-8")
    answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--strict", "--format", "json")
    assert (answer.status, codes(answer), gated(command).status) == (0, [], 0)


def test_the_generated_header_carries_every_hash(folder):
    """The C++ recorder writes these constants: a stale companion is then seen in the recording."""
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    found = dict(re.findall(r'k(\w+)Sha256\[\] = "([0-9a-f]{64})"', contract_header(contract)))
    files = {"Bundle": "norm_template.json", "Companion": "pretrain_template.json"}
    assert {key: found[key] for key in files} == {
        key: hashlib.sha256((folder / name).read_bytes()).hexdigest() for key, name in files.items()
    }
    assert {found["Meaning"], found["Conventions"]} <= set(contract.hashes.values())


@every_case(
    "value, text",
    [  # the first is the example of RFC 8785
        (
            {
                "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
                "string": '€$\x0f\nA\'B"\\\\"/',
                "literals": [None, True, False],
            },
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
        ),
        ([10**400, -(10**400)], '["Infinity","-Infinity"]'),
        ({"ö": 1, "\U0001f600": 2, "1": 3.0, "\r": -0.0}, '{"\\r":0,"1":3,"ö":1,"😀":2}'),
        ([1e21, 1e20, 1e-6, 1.5e-7, -1.25e-6], "[1e+21,100000000000000000000,0.000001,1.5e-7,-0.00000125]"),
    ],
)
def test_the_meaning_is_the_hash_of_canonical_json(value, text):
    """Another program must come to the same hash."""
    assert canonical_json(value) == text


@passes("every text file of a project has the line endings of Windows, or the byte order mark that Notepad writes")
@every_case("mark", [b"", b"\xef\xbb\xbf"])
def test_files_saved_on_windows_change_no_answer(folder, command, mark):
    """A checkout with autocrlf, or one number changed in Notepad, must not turn a green build red."""
    before = gated(command)
    for name in ("norm_template.json", "pretrain_template.json", CLIP, TRACE, "rigpact.toml"):
        content = Path(name).read_bytes().replace(b"\r\n", b"\n").removeprefix(mark)
        Path(name).write_bytes(mark + content.replace(b"\n", b"\r\n"))
    after = gated(command)
    assert (before.status, after.status, codes(after)) == (0, 0, codes(before)), after.err


def printed(trace: Trace, number: str, path: Path) -> None:
    """The trace as printf would write it."""
    lines = [json.dumps(trace.header.to_json(trace.widths))]
    for row, frame in enumerate(trace.frame.tolist()):
        stages = ", ".join(
            f'"{name}": [{", ".join(number % value for value in values[row].tolist())}]'
            for name, values in trace.stages.items()
        )
        lines.append(f'{{"frame": {frame}, "time": {frame / 60.0:.6f}, "stages": {{{stages}}}}}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def coarse(precision: str, out: Path) -> Path:
    """The demo's recording as a recorder stores it that keeps less than a float32."""
    decimals = int(precision[0]) if precision.endswith("decimals") else None
    trace = recorded()
    stages = {
        name: rows.astype(np.float16).astype(np.float32)
        if decimals is None
        else np.array([float(f"{value:.{decimals}f}") for value in rows.ravel()], np.float32).reshape(rows.shape)
        for name, rows in trace.stages.items()
    }
    write_trace(replace(trace, stages=stages), out)
    return out


def test_a_declared_resolution_wins(folder, command):
    """`exact` shows what the digits lost; what is declared is not a warning; a word that means nothing is refused."""
    path = coarse("4 decimals", folder / "coarse.trace.safetensors")
    words = "diff", "right.trace.jsonl", path, *CONTRACT, "--format", "json"
    declared, exact = command(*words, "--resolution", "4 decimals"), command(*words, "--resolution", "exact")
    wrong = command(*words, "--resolution", "4 digits after the point")
    assert (declared.status, codes(declared)) == (0, [])
    assert exact.status == 1
    assert "RP801" in codes(exact)
    assert wrong.status == 2
    assert "--resolution: found '4 digits after the point', expected 2 decimals … 9 decimals" in " ".join(
        wrong.err.split()
    )


@refused("a defect of 1e-4 in a recording with seven digits", "`diff`: error RP801")
def test_a_defect_is_seen_through_the_digits(folder, command):
    """The digits that were printed still judge."""
    trace = recorded()
    pose = trace.stages["y_out"].copy()
    pose[7, 20] += 1e-4
    printed(Trace(trace.header, trace.frame, trace.time_s, {**trace.stages, "y_out": pose}), "%.7g", folder / TRACE)
    answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--format", "json")
    assert answer.status == 1
    assert math.isclose(json.loads(answer.out)["summary"]["stages"][-3]["worst"]["error"], 1e-4, rel_tol=0.1)
    assert "RP801" in codes(answer)
