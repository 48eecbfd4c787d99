"""What a comparison's measurements are called in findings and in the summary, on small comparisons put together by hand."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from rigpact.contract.character import Character
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, Stage
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.recordings.trace import Trace, TraceHeader
from rigpact.reports.comparing.compare import Comparison, SomeBones
from rigpact.reports.comparing.judgement import judge, summarise
from rigpact.reports.comparing.pose_meter import Baseline, PoseError
from rigpact.reports.comparing.stage_comparison import StageComparison

from ..every_case import every_case

BONES = ("root", "hips", "spine", "neck", "head", "jaw")
LAYOUT = FieldLayout(tuple(Field(name, place, 1, FieldKind.RAW) for place, name in enumerate("xyz")))
STAGES = (
    Stage("inputs", LAYOUT), Stage("ahead", LAYOUT, driven_ahead=1),
    Stage("answer", LAYOUT, is_answer=True), Stage("pose", LAYOUT),
)  # fmt: skip
CONTRACT = SimpleNamespace(
    system=SimpleNamespace(graph=Graph(STAGES), posed="pose"), fields=lambda _: LAYOUT, sha256="", fps=None,
    read_numbers=None,
)  # fmt: skip
CONTRACT.whole = CONTRACT.of_all_bones = SimpleNamespace(
    read_numbers=Character(BONES, *[None] * 10), fields=CONTRACT.fields
)
FINE = StageComparison(
    "pose", np.ones(3, bool), 4, over=0, first_frame_over=None, worst_frame=2, worst_channel=1, worst_error=0.25,
    worst_tolerance=0.5, unknown=0, first_unknown=None, left_out=0, frame_ratios=np.zeros(4),
)  # fmt: skip
OVER = replace(FINE, over=5, first_frame_over=0)


def recording(name, frames, *, title="trace", rows=None):
    frames = np.array(frames, np.int64)
    stages = {stage.name: np.zeros((len(frames), 3), np.float32) for stage in STAGES} | (rows or {})
    trace = Trace(TraceHeader(50.0, "teacher"), frame=frames, time_s=frames / 50.0, stages=stages)
    return Recording(Path(name), title, trace, frozenset(stages))


def comparison(a=None, b=None, **changes):
    a, b = a or recording("a.jsonl", range(4)), b or recording("b.jsonl", range(4))
    nothing = Comparison(
        a, b, CONTRACT, BONES, np.arange(4), stages={}, waived={}, missing={}, pose=None, baseline=None,
        inheriting=(), union=4, behind_a_gap=0,
    )  # fmt: skip
    return replace(nothing, **changes)


def stages(**results):
    return {name: replace(result, stage=name) for name, result in results.items()}


def found(compared):
    return [(finding.rule.code, finding.file, finding.pointer, finding.message) for finding in judge(compared).findings]


@every_case(
    ("of_a", "of_b", "holder", "last"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 6, 7, 8], "b", 5), ([0, 1, 2, 4, 7, 8], [0, 1, 2, 3, 4, 7, 8], "a", 3),
        ([0, 1, 2, 4, 7, 8], [0, 1, 2, 7, 8], "b", 3), ([0, 1, 2, 7, 8], [0, 1, 2, 4, 7, 8], "b", 3),
        ([0, 1, 2, 9], [0, 1, 2, 9], "b", 8),
    ],
)  # fmt: skip
def test_a_gap_of_a_free_run_is_named_with_its_first_and_last_frame(of_a, of_b, holder, last):
    """These are the frames to record; where both sides lack some, no frame that one of them has is asked for."""
    a, b = recording("a.jsonl", of_a), recording("b.jsonl", of_b)
    gap = [each for each in found(comparison(a, b, frames=np.arange(3), behind_a_gap=3)) if each[0] == "RP814"]
    words = f"{holder}.jsonl has no frames 3 to {last}: the 3 frames after them cannot be judged"
    assert gap == [("RP814", f"{holder}.jsonl", "/frames/3", words)]


@every_case(
    ("row", "frame", "left_out"),
    [(0, 0, 0), (3, 5, 0), (4, 6, 0), (0, 0, 2), (1, 1, 2), (2, None, 2), (3, 5, 2), (4, None, 2)],
)
def test_a_number_that_is_not_finite_is_reported_at_its_frame(row, frame, left_out):
    """The engine's own number, not the row of the file. Frames 3 and 7 are not recorded: what leads there may be anything."""
    frames, rows = (0, 1, 2, 5, 6), np.zeros((5, 3), np.float32)
    rows[row, 2] = math.nan
    sides = recording("a.jsonl", frames), recording("b.jsonl", frames, rows={"ahead": rows})
    words = f"ahead of b.jsonl holds nan at frame {frame}, z (channel 2); 1 values in all"
    expected = [] if frame is None else [("RP804", "b.jsonl", "/stages/ahead/2", words)]
    assert found(comparison(*sides, stages=stages(ahead=replace(FINE, left_out=left_out)))) == expected


def test_the_summary_holds_every_measurement():
    """Scripts and pages read these numbers."""
    some_judged = replace(OVER, judged=np.array([True, False, False]), worst_error=math.inf, first_frame_over=3)
    unknown = replace(FINE, unknown=2, first_unknown=(3, 1), left_out=2)
    compared = comparison(
        frames=np.arange(3, 6), stages=stages(inputs=some_judged, pose=unknown), waived={"answer": "not asked for"},
        inheriting={"pose"}, some_bones=SomeBones(("hips",), ("root", "jaw"), ("answer",), {}),
    )  # fmt: skip
    worst = {"tolerance": 0.5, "frame": 2, "time_s": 0.04, "channel": 1, "address": "y (channel 1)"}
    assert summarise(compared) == {
        "a": "a.jsonl", "b": "b.jsonl", "frames": 3, "first_divergence": {"frame": 3, "stage": "inputs"},
        "stages": [
            {
                "stage": "inputs", "worst": worst | {"error": None}, "channels_unjudged": 2, "first_frame_over": 3,
                "ok": False, "inherits": False, "undetermined": 0,
            },
            {
                "stage": "pose", "worst": worst | {"error": 0.25}, "channels_unjudged": 0, "first_frame_over": None,
                "ok": True, "inherits": True, "undetermined": 2,
            },
        ],
        "waived": {"answer": "not asked for"},
        "left_out": {"pose": {"frames": 2, "reason": "the clip gives them the frame after, which is not recorded"}},
        "posed": "pose", "bones": [], "measures_cm": False, "baseline": None,
        "some_bones": {"bones": ["hips"], "not_recorded": ["root", "jaw"], "whole_stages": ["answer"]},
    }  # fmt: skip
    summary = summarise(comparison(stages=stages(pose=FINE)))
    assert (summary["first_divergence"], "some_bones" in summary) == (None, False), "no place for what is not there"


def pose_errors(*, cm=None):
    """Three bones in frames 10 and 11; the last bone's error is not a number."""
    deg = np.array([[1.0, 5.0, math.nan], [3.0, 2.0, 0.0]], np.float32)
    return {"frames": np.array([10, 11]), "bones": ("root", "hips"), "pose": PoseError(deg, cm)}


def test_errors_of_bones_stand_worst_first():
    """A bone without a number is the worst, without a name its index; equal errors keep the contract's order."""
    assert summarise(comparison(**pose_errors()))["bones"] == [
        {"bone": "bone 2", "max_deg": None, "mean_deg": None, "max_cm": None, "frame": 10, "time_s": 0.2},
        {"bone": "hips", "max_deg": 5.0, "mean_deg": 3.5, "max_cm": None, "frame": 10, "time_s": 0.2},
        {"bone": "root", "max_deg": 3.0, "mean_deg": 2.0, "max_cm": None, "frame": 11, "time_s": 0.22},
    ]
    summary = summarise(comparison(**pose_errors(cm=np.array([[0.5, 1.0, 8.0], [0.25, 2.0, math.inf]]))))
    assert summary["measures_cm"] is True
    named = [(bone["bone"], bone["max_cm"]) for bone in summary["bones"]]
    assert named == [("bone 2", None), ("hips", 2.0), ("root", 0.5)]
    equal = PoseError(np.array([[2.0, 1.0, 2.0, 1.0, 2.0, 1.0]]), None)
    summary = summarise(comparison(frames=np.array([4]), pose=equal))
    assert [bone["bone"] for bone in summary["bones"]] == ["root", "spine", "head", "hips", "neck", "jaw"]


def baseline(holder):
    near, far = (PoseError(np.full((2, 3), deg), None) for deg in (1.0, 4.0))
    return Baseline(holder, np.array([10, 11]), near, far, far)


@every_case(
    ("differs", "judges", "titles", "better"),
    [
        (("answer",), "side", ("trace", "trace"), "a"), (("answer",), "teacher", ("trace", "trace"), "a"),
        (("inputs",), "side", ("trace", "trace"), None), (("inputs",), "teacher", ("trace", "trace"), "a"),
        (("inputs", "answer"), "side", ("trace", "trace"), None), (("pose",), "side", ("trace", "trace"), None),
        (("pose",), "teacher", ("trace", "trace"), "a"), ((), "side", ("trace", "trace"), None),
        ((), "teacher", ("trace", "trace"), None), (("answer",), "side", ("trace", "raw clip"), None),
        (("answer",), "side", ("raw clip", "trace"), None), (("inputs",), "teacher", ("raw clip", "trace"), None),
    ],
)  # fmt: skip
def test_a_prediction_is_better_only_than_a_rival(differs, judges, titles, better):
    """A side that computes a later stage wrongly is not a rival, and neither is the clip; against a teacher any may be better."""
    a, b = (recording(name, range(4), title=title) for name, title in zip(("a", "b"), titles, strict=True))
    results = stages(**{name: OVER if name in differs else FINE for name in ("inputs", "answer", "pose")})
    judged_by = baseline(a if judges == "side" else recording("clip.json", range(4)))
    summary = summarise(comparison(a, b, stages=results, **pose_errors(), baseline=judged_by))["baseline"]
    assert (summary["better"], summary["a_deg"], summary["b_deg"]) == (better, 1.0, 4.0)


@every_case(("differs", "better"), [("pose", "a"), ("inputs", None)])
def test_without_answers_the_poses_show_whether_networks_differ(differs, better):
    """Teacher files hold poses and no answer; one of poses and baseline alone says nothing about who is nearer."""
    results, a = (
        stages(**{name: OVER if name == differs else FINE for name in ("inputs", "pose")}),
        recording("a", range(4)),
    )
    summary = summarise(comparison(a, stages=results, **pose_errors(), baseline=baseline(a)))
    assert summary["baseline"]["better"] == better
    assert summarise(comparison(**pose_errors()))["baseline"] is None
    assert summarise(comparison(baseline=baseline(a)))["baseline"] is None
