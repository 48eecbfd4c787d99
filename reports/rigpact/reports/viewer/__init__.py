"""The gate's answer as one HTML file: the verdict in words, and both skeletons moving over each other.

run_data.py has the data for drawing a compared run; a long run is thinned. assets/ has template, style and script.

The page loads nothing and sends nothing; the same answer gives the same bytes. Text from files (bone names, paths) may
be hostile: the template escapes it, and the script writes it only as text. To add a view: a function here or in
run_data.py, its place in assets/page.html.j2, and its drawing in assets/.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from rigpact.contract.files import write_bytes
from rigpact.contract.findings import Finding, Severity
from rigpact.contract.rules.prediction import NOT_POSES, SAY_NOTHING
from rigpact.contract.statistics import FloatArray
from rigpact.reports.comparing.stage_comparison import Address
from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
from rigpact.reports.gate.measured import CLIP, REFERENCE, ComparedRun, Values
from rigpact.reports.gate.report import GateReport, Part
from rigpact.reports.renderers.for_people import found_text
from rigpact.reports.terminal import plain, severities_text, template
from rigpact.reports.viewer.run_data import SCALE, bone_index, bone_names, rows_drawn, run_data, sized

__all__ = ["render_html", "write_html"]


# A compared run in words and figures: title, answer, tables of stages, bones and the numbers of a stage.
_NO_POSES = frozenset(rule.code for rule in NOT_POSES)
_SAME = 1e-5
"""Of the span of a stage's numbers: channels this near are the same, whatever float32 rounds."""
Drawn = tuple[ComparedRun, Part]
"""A run as it is drawn, and the part that it belongs to."""


def runs_drawn(gate: GateReport) -> list[Drawn]:
    """The runs with their parts: those that fail come first, and of them the one with the largest error in tolerances."""

    def goodness(drawn: Drawn) -> tuple[bool, float]:
        run, owner = drawn
        return owner.verdict == "pass", -float(np.nan_to_num(run.ratios, nan=np.inf).max(initial=0.0))

    parts = ((part.run, part) for part in gate.parts)
    drawn = [(_without_false_poses(run, denials(gate, part)), part) for run, part in parts if run is not None]
    return sorted(drawn, key=goodness)


def denials(gate: GateReport, owner: Part) -> list[Finding]:
    """What the gate found in the run's file that takes the meaning from its poses, or from their distance."""
    said, file = {rule.code for rule in SAY_NOTHING}, owner.report.summary.get("b")
    return [each for each in gate.findings if each.file == file and each.rule.code in said]


def _without_false_poses(run: ComparedRun, denied: Sequence[Finding]) -> ComparedRun:
    if run.against != CLIP or not any(each.rule.code in _NO_POSES for each in denied):
        return run
    none = np.zeros((len(run.frames), 0, 3, 3))
    bare = replace(run, bone_names=(), against=REFERENCE, path=None, parents=None, offsets_m=None)
    return replace(bare, reference=none, engine=none, deg=none[..., 0, 0], cm=None)


def run_words(run: ComparedRun, owner: Part, denied: Sequence[Finding] = ()) -> dict[str, Any]:
    """The texts about one run. owner: the part of the run; denied: what says that its poses or their distance are none."""
    answer = None if run.diagnosis is None else answer_of_diagnosis(run.diagnosis)
    peaks = np.where(np.isfinite(run.deg), run.deg, np.inf).max(axis=0, initial=0.0)
    return {
        "name": owner.title,
        "side": "training" if owner.name.startswith("teacher/") else "engine",
        "against": run.against,
        "denied": " ".join(f"{each.message} ({each.rule.code})." for each in denied[:1]),
        "headline": "" if answer is None else f"{answer.word}: {answer.headline}",
        "agrees": owner.verdict == "pass",
        "lines": [] if answer is None else answer.lines,
        "notes": "; ".join(f"{name}: {note}" for name, note in run.stages if note),
        "stages": [_stage_row(run, name, ratios, note) for name, ratios, note in run.by_stage()],
        "bones": [_bone_row(run, int(bone)) for bone in np.argsort(-peaks, kind="stable")],
        "numbers": None if run.values is None else {
            "stage": run.values.stage, "rows": list(_value_rows(run.values, run)),
            "is_of_network": max(run.values.network) >= 0,
        },
    }  # fmt: skip


def _value_rows(values: Values, run: ComparedRun) -> Iterator[dict[str, str]]:
    """Each channel: its name, the index that the network has for it, whose numbers were recorded in its place, how far off."""
    expected, recorded = (side.astype(np.float64) for side in (values.expected, values.recorded))
    apart = sized(np.abs(recorded - expected))
    known = expected[np.isfinite(expected)]
    span = float(np.ptp(known)) if known.size else 0.0
    for place, name in enumerate(values.names):
        distance = sized(np.abs(expected - recorded[:, [place]])).max(axis=0)
        nearest = int(np.argmin(distance))
        is_other = distance[place] > _SAME * span and distance[nearest] <= _SAME * span
        row, own = int(np.argmax(apart[:, place])), values.network
        yield {
            "index": str(values.channels[place]), "name": name,
            "network": "" if own[place] < 0 else str(own[place]),
            "got": values.names[nearest] if is_other else "",
            "got_network": str(own[nearest]) if is_other and own[nearest] >= 0 else "",
            "apart": _figure(apart[row, place]), "frame": str(run.frames[row]),
        }  # fmt: skip


def _stage_row(run: ComparedRun, name: str, ratios: FloatArray, note: str) -> dict[str, str]:
    over = ~(ratios <= 1.0)
    first, answer = (str(run.frames[int(np.argmax(over))]), "✕ beyond") if over.any() else ("", "✓ within")
    largest = _figure(ratios.max())
    return {"name": name, "largest": largest, "first": first, "answer": answer, "note": note}


def _bone_row(run: ComparedRun, bone: int) -> dict[str, str]:
    deg = run.deg[:, bone]
    worst = int(np.argmax(np.where(np.isfinite(deg), deg, np.inf)))
    return {
        "name": bone_names(run)[bone],
        "max_deg": _figure(deg[worst]),
        "mean_deg": _figure(deg.mean()),
        "max_cm": "" if run.cm is None else _figure(np.max(run.cm[:, bone])),
        "frame": str(run.frames[worst]),
    }


def _figure(value: Any) -> str:
    number = float(value)
    if not np.isfinite(number):
        return "not finite"
    return f"{number:.0f}" if 1000.0 <= number < 1e5 else f"{number:.3g}"


SIGN = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.INFO: "i"}


def _place_in(drawn: Sequence[Drawn], finding: Finding, part: Part) -> dict[str, Any] | None:
    """Run, frame and bone that show a finding of a part; None where no recording does.

    A finding that names no frame is about a stage: it is shown where that stage is off, and a bone, or it, the most.
    """
    index = next((at for at, (_, owner) in enumerate(drawn) if owner is part), None)
    if index is None:
        return None
    run, address = drawn[index][0], finding.values.get("address")
    frame, bone = finding.values.get("worst_frame", finding.values.get("frame")), -1
    if isinstance(address, Address):
        bone = bone_index(run, address.bone)
    if not isinstance(frame, int):
        ratios = next((row for name, row, _ in run.by_stage() if name == finding.values.get("stage")), None)
        if ratios is None:
            return None
        ratios, deg = (np.nan_to_num(each, nan=np.inf) for each in (ratios, run.deg))
        row = int(np.argmax(np.where(ratios > 1.0, deg.max(axis=1) if deg.size else ratios, -1.0)))
        frame, bone = int(run.frames[row]), int(np.argmax(deg[row])) if deg.size else -1
    return {"run": index, "frame": frame, "bone": bone}


def _page_words(gate: GateReport, drawn: Sequence[Drawn]) -> dict[str, Any]:
    causes = list(_causes(gate, drawn))
    opening = next((cause for cause in causes if cause["show"] is not None), None)
    absent = [f"{name}: {reason}" for name, reason in gate.not_asked.items() if "trace" in name]
    counts = {severity: sum(part.report.count(severity) for part in gate.parts) for severity in Severity}
    return {
        "counts": severities_text(counts.__getitem__),
        "causes": causes,
        "opening": None if opening is None else opening["show"],
        "opening_number": None if opening is None else opening["number"],
        "runs": [run_words(run, owner, denials(gate, owner)) for run, owner in drawn],
        "absent": " ".join(absent),
        "severities": [{"name": each.value, "sign": SIGN[each]} for each, count in counts.items() if count],
    }


def _causes(gate: GateReport, drawn: Sequence[Drawn]) -> Iterator[dict[str, Any]]:
    """Every cause with its step and its findings: each text once, with the places that have it."""
    owner_of = {id(finding): part for part in gate.parts for finding in part.report.findings}
    for number, cause in enumerate(gate.causes, 1):
        groups: dict[tuple[str, str], dict[str, Any]] = {}
        for finding in cause.findings:
            place = _place_in(drawn, finding, owner_of[id(finding)])
            message = "" if finding is cause.lead or finding.message == cause.title else finding.message
            rule, key = finding.rule, (finding.rule.code, message)
            about = {"code": rule.code, "name": rule.name, "why": rule.why, "message": message}
            group = groups.setdefault(key, {**about, "places": []})
            group["places"].append({"place": plain(finding.place), "show": place})
        places = [each["show"] for group in groups.values() for each in group["places"] if each["show"] is not None]
        yield {
            "number": number, "severity": cause.severity.value, "sign": SIGN[cause.severity], "side": cause.side,
            "title": cause.title, "effect": cause.effect, "step": cause.advice, "found": found_text(cause),
            "groups": [*groups.values()],
            # the place to look at first: one with a skeleton, if there is one
            "show": next((each for each in places if drawn[each["run"]][0].deg.shape[1]), places[0] if places else None),
        }  # fmt: skip


def _grouped(count: int) -> str:
    """Thousands separated by a narrow space, which cannot be read as a decimal point."""
    return f"{count:,}".replace(",", "\u202f")


ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "drawing", "palette", "decode", "kinematics", "camera", "scene", "plot", "strips", "values", "heatmap", "player", "viewer",
    "controls", "page",
)  # fmt: skip
"""Scripts in the order of their dependencies."""
DARK_HERE = "/*dark*/"


def write_html(path: str | Path, gate: GateReport) -> None:
    """Write the page under a temporary name, then rename it."""
    write_bytes(path, render_html(gate).encode("utf-8"))


def render_html(gate: GateReport) -> str:
    """The complete page as text; the same answer gives the same text.

    Where no part has a run to draw, the page explains why there is no picture, and shows the rest.
    """
    drawn = runs_drawn(gate)
    words = _page_words(gate, drawn)
    runs = [run_data(run, rows_drawn(run, len(drawn))) for run, _ in drawn]
    data = {"scale": dict(SCALE), "runs": runs, "opening": words["opening"]}
    style = _asset("page.css").replace(DARK_HERE, _asset("dark.css"))
    # all scripts inside one function: the page's only global is the hook that page.js declares
    script = '(() => {\n"use strict";\n' + "".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"
    rules = (
        "default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'", "base-uri 'none'",
        "form-action 'none'",
    )  # fmt: skip
    return template(ASSETS / "page.html.j2", is_page=True, code=_code, grouped=_grouped).render(
        page=words,
        gate=gate,
        policy="; ".join(rules),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own files
        data=Markup(json_in_html(data)),  # noqa: S704 - escaped for this place
    )


def json_in_html(value: Any) -> str:
    """JSON that is safe inside a script element: ASCII, and it cannot end the element or open a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    """Text of an asset; Windows line ends become LF, because a browser hashes the text with LF."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _code(text: str) -> Markup:
    pieces = str(escape(plain(text))).split("`")
    if len(pieces) % 2 == 0:
        return escape(plain(text))
    shown = (f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
    return Markup("".join(shown))  # noqa: S704 - escaped above
