"""`--format markdown` and `--format html` of diff, explain and nan: one screen, the answer first."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, StageVerdict
from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.nonfinite.drift import Drift
from rigpact.reports.nonfinite.investigation import Investigation, answer_of_drift, answer_of_run
from rigpact.reports.nonfinite.network_node import NodeOrigin
from rigpact.reports.nonfinite.observers import Departure, Left
from rigpact.reports.nonfinite.origin import Origin
from rigpact.reports.renderers.for_people import comment
from rigpact.reports.terminal import Answer, Figures, Sentence, print_answer

from .gates import Page

SCREEN = 25
HOSTILE = "calf_l | <script>alert(1)</script> [x](y) @someone #7 `"


def test_a_long_answer_still_fits_a_screen():
    """A comment that must be scrolled is not read; what is left out is counted."""
    body = (
        *(Sentence(f"line {n}", rank=n) for n in range(40)),
        Figures("", ("a", "b"), [("1", "2")] * 40, is_short=True),
    )
    lines = comment(Answer("", "it differs", EXIT_FINDINGS, body), "markdown").splitlines()
    assert len(lines) <= SCREEN
    assert lines[0] == "### ❌ it differs"
    assert "63 more in --format json" in lines[-1]


def test_text_of_a_file_is_no_markup():
    """A bone's name must not mention people, open a link or run a script on the page of a pull request."""
    found = Answer(
        "", HOSTILE, EXIT_PASS, (Sentence(HOSTILE, rank=0), Figures("", ("bone",), ((HOSTILE,),), is_short=True))
    )
    markdown, page = comment(found, "markdown"), Page(comment(found, "html"))
    assert not re.search(r"<script|@someone|\]\(|#7", markdown)
    assert markdown.count("|") == len("| bone |".replace(" bone ", "")) * 3
    assert "script" not in page.tags
    assert page.text.count("<script>alert(1)</script>") == 4  # title, heading, line, cell


NODE = NodeOrigin("node_linear", "Gemm", (0, 12), {}, "weights", "hidden.weight", same_bits=True)
ORIGIN = Origin(7, "y_norm", 12, float("nan"), "Gemm", "BoneRotations6D", "spine_01", operands={"std": 0.0}, node=NODE)
LEFT = Left("grows", 90, "y_out", 3, 12.5, 4.0, "spine_01")


@pytest.mark.parametrize(
    ("found", "head", "said"),
    [
        (Investigation("finite", 30), "FINITE: 30 finite frames", ()),
        (
            Investigation("nonfinite", 0, Origin(0, "load", None, None, "norm.json#/StdX: found 421 numbers")),
            "NONFINITE: produced by loading: norm.json#/StdX: found 421 numbers", ("0 finite frames before it",),
        ),
        (
            Investigation("nonfinite", 7, ORIGIN, command="rigpact nan"),
            "NONFINITE: produced at frame 7, stage y_norm, spine_01, BoneRotations6D: nan by Gemm",
            (
                "with std = 0", "again: rigpact nan",
                "node node_linear (Gemm): the weights are to blame, weight hidden.weight; same bits as the failing run",
            ),
        ),
        (
            Investigation("diverging", 90, left=LEFT, precursors=(Departure("z", 40, "state", 2, 9.0, 5.5, "thigh_l"),)),
            f"DIVERGING: {LEFT}", ("precursor (z): frame 40, state, thigh_l: 9, limit 5.5",),
        ),
    ],
    ids=["finite", "loading", "node", "left"],
)  # fmt: skip
def test_a_run_is_told_in_its_first_line(found, head, said):
    """Who is woken by a build wants the frame, the bone and the weight, and not a log."""
    answer = answer_of_run(found)
    assert (f"{answer.word}: {answer.headline}", answer.exit_code) == (head, 0 if found.verdict == "finite" else 1)
    assert set(said) <= set(answer.lines)
    shown = io.StringIO()
    print_answer(answer, Console(file=shown, width=200))
    assert shown.getvalue().splitlines()[-1] == head, "the last line is the answer"
    assert (found.origin.operation if found.origin else "") in shown.getvalue()


@pytest.mark.parametrize(
    ("facts", "head", "verdict"),
    [
        ({}, "FINITE: 9 frames: differences change by a factor 1.010000 a frame (grows)", "finite"),
        ({"left": LEFT}, f"DIVERGING: {LEFT}", "diverging"),
        ({"finite": False}, "NONFINITE: 9 frames", "nonfinite"),
    ],
)
def test_a_drift_is_told_in_its_first_line(facts, head, verdict):
    """Growth alone is chaos; what counts is where a run left what its numbers mean."""
    row = np.array([1.0])
    known = {"frames": 9, "stage": "y_out", "unit": "deg", "sampled": row, "envelope": row, "allowed": row,
             "growth_per_frame": 1.01, "trend": "grows", "parted_frame": None, "benign_apart": None, "finite": True}  # fmt: skip
    found = Drift(**(known | facts))
    answer = answer_of_drift(found)
    assert (f"{answer.word}: {answer.headline}"[: len(head)], found.verdict) == (head, verdict)
    shown = io.StringIO()
    print_answer(answer, Console(file=shown, width=200))
    assert "another precision" not in shown.getvalue()  # this system has no such run


def test_what_else_explains_a_recording_is_told(tmp_path):
    """A person who mends the first convention of two that look alike may mend the wrong one."""
    cause = Cause("y_out", {"reproject": "after"}, ({"reproject": "both"},), 1.0, 0.0, "deg", (), 9, 9)
    stage = StageVerdict("y_out", 1.0, 0.0, 1.0, 0.1, 10.0, ok=False, unit="deg")
    relation = Relation("y_out", "hand_l", "scaled", "twice what it should be", 9, 9, 0.5)
    found = Diagnosis("explained", None, (stage,), (cause,), ())
    assert "The same on this data: reproject = both" in answer_of_diagnosis(found).lines
    related = Diagnosis("explained", None, (stage,), (), (), relations=(relation,))
    assert answer_of_diagnosis(related).headline.startswith(relation.sentence)
    nothing = Diagnosis("unexplained", None, (stage,), (), ())
    assert "no known convention or relation explains it" in answer_of_diagnosis(nothing).headline
    supposed = answer_of_diagnosis(nothing.supposing("the clip starts late")).headline
    assert supposed.startswith("supposing that the clip starts late, a part is explained")


def test_the_answer_is_the_first_line(command, demo_bundle):
    """Who reads one line of a pull request reads the cause."""
    robot = demo_bundle.parent / "robot"
    words = ("explain", robot / "run.csv", "--contract", robot / "contract.toml")
    text, markdown, page = command(*words), command(*words, "--format", "markdown"), command(*words, "--format", "html")
    assert (text.status, markdown.status, page.status) == (EXIT_FINDINGS,) * 3
    lines, found = markdown.out.splitlines(), Page(page.out)
    assert len(lines) <= SCREEN
    heading = next(each for each in found.text.splitlines() if each.startswith(("❌", "✅")))
    assert "motor_targets.order = as_given" in heading
    assert lines[0].startswith("### ❌ EXPLAINED")
    assert found.tags[: found.tags.index("h1")].count("p") == 0
    assert not {"script", "link", "img"} & set(found.tags)
