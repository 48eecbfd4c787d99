"""The document: template, style and script in one file, with a policy that allows nothing else."""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from rigpact.contract.files import write_bytes
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.viewer.packing import SCALE
from rigpact.reports.viewer.run_data import rows_drawn, run_data
from rigpact.reports.viewer.run_words import denials, without_false_poses, worst_first
from rigpact.reports.viewer.words import page_words

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
