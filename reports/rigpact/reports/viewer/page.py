"""The document: template, style and script in one file, with a policy that allows nothing else."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from rigpact.contract.files import write_bytes
from rigpact.contract.findings import Finding, Ledger, Rule, Severity, Verdict
from rigpact.reports.comparing.address import Address
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers.wording import found_text, place_text
from rigpact.reports.terminal import plain, severities_text
from rigpact.reports.viewer.run_data import SCALE, bone_index, rows_drawn, run_data
from rigpact.reports.viewer.run_words import Drawn, denials, run_words, without_false_poses, worst_first

SIGN = {Severity.ERROR: "✕", Severity.WARNING: "!", Severity.INFO: "i"}


@dataclass(frozen=True)
class Pictures:
    """The runs of the page, as they are drawn, and the part that each belongs to."""

    runs: Sequence[ComparedRun]
    owners: Sequence[Part | None]

    def place(self, finding: Finding, part: Part | None) -> dict[str, Any] | None:
        """Run, frame and bone that show a finding of a part; None where no recording does.

        A finding that names no frame is about a stage: it is shown where that stage is off, and a bone, or it, the most.
        """
        index = next((at for at, owner in enumerate(self.owners) if owner is part and part is not None), None)
        if index is None:
            return None
        run, address = self.runs[index], finding.values.get("address")
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

    def best(self, places: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
        """The place to look at first: one with a skeleton, if there is one."""
        known = [place for place in places if place is not None]
        return next((each for each in known if self.runs[each["run"]].deg.shape[1]), known[0] if known else None)


_VERDICT: dict[Verdict, dict[str, str]] = {
    "pass": {"kind": "pass", "word": "Pass", "sign": "✓"},
    "fail": {"kind": "fail", "word": "Fail", "sign": "✕"},
    "undetermined": {"kind": "undetermined", "word": "Undetermined", "sign": "?"},
}
NOTHING_ASKED = "No engine recording was compared."


def page_words(gate: GateReport, drawn: Sequence[Drawn]) -> dict[str, Any]:
    """All values for the template, in the order of the page."""
    owners = [owner for _, owner in drawn]
    denied = [denials(gate, owner) for owner in owners]
    pictures = Pictures([run for run, _ in drawn], owners)
    causes = list(_causes(gate, pictures))
    opening = next((cause for cause in causes if cause["show"] is not None), None)
    absent = [f"{plain(name)}: {plain(reason)}" for name, reason in gate.not_asked.items() if "trace" in name]
    counts = {severity: sum(part.report.count(severity) for part in gate.parts) for severity in Severity}
    return {
        "title": "rigpact gate",
        "verdict": _VERDICT[gate.verdict],
        "lead": _lead(gate),
        "bar": _bar(gate),
        "counts": f"{severities_text(counts.__getitem__)}; {_ledger_words(gate.ledger)['words']}",
        "causes": causes,
        "opening": None if opening is None else opening["show"],
        "opening_number": None if opening is None else opening["number"],
        "next_steps": [] if causes else [plain(step) for step in gate.next_steps],
        "runs": [run_words(run, owner, said) for (run, owner), said in zip(drawn, denied, strict=True)],
        "absent": " ".join([NOTHING_ASKED, *absent]),
        "parts": [_part(part) for part in gate.parts],
        "not_asked": [(plain(name), plain(reason)) for name, reason in gate.not_asked.items()],
        "severities": [{"name": each.value, "sign": SIGN[each]} for each, count in counts.items() if count],
        "provenance": [(plain(name), plain(value)) for name, value in gate.provenance.items()],
    }


def _bar(gate: GateReport) -> list[dict[str, Any]]:
    """The parts that passed, failed, were not judged: how many, and where they begin and end on a bar of 100."""
    words: dict[Verdict, str] = {"pass": "passed", "fail": "failed", "undetermined": "not judged"}
    shares, start = [], 0.0
    for verdict, word in words.items():
        count = sum(part.verdict == verdict for part in gate.parts)
        share = 100.0 * count / max(len(gate.parts), 1)
        shares.append(
            _VERDICT[verdict] | {"count": count, "word": word, "start": f"{start:.2f}", "share": f"{share:.2f}"}
        )
        start += share
    return shares


def _causes(gate: GateReport, pictures: Pictures) -> Iterator[dict[str, Any]]:
    """Every cause with its step and its findings: each text once, with the places that have it."""
    owner_of = {id(finding): part for part in gate.parts for finding in part.report.findings}
    for number, cause in enumerate(gate.causes, 1):
        groups: dict[tuple[str, str], dict[str, Any]] = {}
        for finding in cause.findings:
            place = pictures.place(finding, owner_of.get(id(finding)))
            message = "" if finding is cause.lead or finding.message == cause.title else plain(finding.message)
            group = groups.setdefault((finding.rule.code, message), _group(finding.rule, message))
            group["places"].append({"place": place_text(finding), "show": place})
        yield {
            "number": number, "severity": cause.severity.value, "sign": SIGN[cause.severity], "side": cause.side,
            "title": plain(cause.title), "effect": plain(cause.effect), "step": plain(cause.advice), "found": found_text(cause),
            "groups": [*groups.values()],
            "show": pictures.best([each["show"] for group in groups.values() for each in group["places"]]),
        }  # fmt: skip


def _group(rule: Rule, message: str) -> dict[str, Any]:
    return {"code": rule.code, "name": rule.name, "why": rule.why, "message": message, "places": []}


def _lead(gate: GateReport) -> str:
    if not gate.parts:
        return "Nothing was asked, so nothing was judged."
    if gate.verdict == "pass":
        return "Everything that was asked could be judged, and nothing speaks against the change."
    open_parts = [part for part in gate.parts if part.verdict == gate.verdict]
    titles = ", ".join(plain(part.title) for part in open_parts)
    if gate.verdict == "undetermined":
        return f"Could not be judged: {titles}."
    if not open_parts:
        return "Warnings fail a strict gate."
    return f"{len(open_parts)} of {len(gate.parts)} parts: {titles}."


def _ledger_words(ledger: Ledger) -> dict[str, Any]:
    words = f"{_grouped(ledger.compared)} of {_grouped(ledger.declared)} values judged"
    words += f", {_grouped(ledger.waived)} not recorded or waived" if ledger.waived else ""
    words += f", {_grouped(ledger.missing)} missing" if ledger.missing else ""
    return {"words": words} | {name: _grouped(count) for name, count in ledger.to_json().items()}


def _grouped(count: int) -> str:
    """Thousands separated by a narrow space, which cannot be read as a decimal point."""
    return f"{count:,}".replace(",", "\u202f")


def _part(part: Part) -> dict[str, Any]:
    return {
        "name": plain(part.name),
        "title": plain(part.title),
        "verdict": _VERDICT[part.verdict],
        "errors": part.report.count(Severity.ERROR),
        "warnings": part.report.count(Severity.WARNING),
        "ledger": _ledger_words(part.report.ledger),
    }


ASSETS = Path(__file__).parent / "assets"
SCRIPTS = (
    "drawing", "palette", "decode", "kinematics", "camera", "scene", "plot", "strips", "values", "heatmap", "player", "viewer",
    "controls", "page",
)  # fmt: skip
"""Scripts in the order of their dependencies."""
DARK_HERE = "/*dark*/"


def write_html(path: str | Path, gate: GateReport, runs: Sequence[ComparedRun] = ()) -> None:
    """Write the page under a temporary name, then rename it."""
    write_bytes(path, render_html(gate, runs).encode("utf-8"))


def render_html(gate: GateReport, runs: Sequence[ComparedRun] = ()) -> str:
    """The complete page as text; the same answer gives the same text.

    runs: the runs to draw. Without runs, the page explains why there is no picture, and shows the rest.
    """
    drawn = [(without_false_poses(run, denials(gate, owner)), owner) for run, owner in worst_first(gate, runs)]
    words = page_words(gate, drawn)
    rows = [rows_drawn(run, len(runs)) for run, _ in drawn]
    data = {
        "scale": dict(SCALE), "runs": [run_data(run, shown) for (run, _), shown in zip(drawn, rows, strict=True)],
        "opening": words["opening"],
    }  # fmt: skip
    style = _asset("page.css").replace(DARK_HERE, _asset("dark.css"))
    # all scripts inside one function: the page's only global is the hook that page.js declares
    script = '(() => {\n"use strict";\n' + "".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"
    loader = FileSystemLoader(ASSETS)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters["code"] = _code
    text: str = environment.get_template("page.html.j2").render(
        page=words,
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own files
        data=Markup(json_in_html(data)),  # noqa: S704 - escaped for this place
    )
    return text


def json_in_html(value: Any) -> str:
    """JSON that is safe inside a script element: ASCII, and it cannot end the element or open a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(style: str, script: str) -> str:
    """The content security policy: only this script and this style run; the page loads, sends and frames nothing."""
    rules = (
        "default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'", "base-uri 'none'",
        "form-action 'none'",
    )  # fmt: skip
    return "; ".join(rules)


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    """Text of an asset; Windows line ends become LF, because a browser hashes the text with LF."""
    return (ASSETS / name).read_text(encoding="utf-8")


def _code(text: str) -> Markup:
    """HTML of a text with `code` between backticks; everything is escaped first."""
    pieces = str(escape(text)).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    shown = (f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
    return Markup("".join(shown))  # noqa: S704 - escaped above
