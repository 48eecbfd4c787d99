"""Render a gate's answer in formats for people and machines: `render_NAME(gate) -> str` of each format.

Renderers read only a `GateReport`, and the lines of the files that its findings name. The same report gives the same
bytes: no times, no machine names, and paths outside the repository only as given. Text from user files may be hostile;
each format escapes it. To add one: its function in one of the two modules, and a row in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from rigpact.contract.errors import UnusableInput

if TYPE_CHECKING:
    from rigpact.contract.findings import FindingsReport
    from rigpact.reports.gate.report import GateReport


FORMATS: Mapping[str, str] = {
    "text": "for_people",
    "json": "",
    "junit": "for_machines",
    "sarif": "for_machines",
    "github": "for_machines",
    "markdown": "for_people",
}
"""All formats, and the module of each but JSON, which is imported when it is used."""


def render(gate: GateReport, name: str) -> str:
    """The report in one of `FORMATS`; ends with a newline unless it is empty."""
    from rigpact.reports.terminal import json_text

    if name == "json":  # keys in the order of the format, numbers unrounded; a number that is not finite becomes null
        return json_text(gate.to_json())
    text: str = getattr(import_module(f"{__name__}.{FORMATS[name]}"), f"render_{name}")(gate)
    return text


def one_part(name: str, title: str, report: FindingsReport, *, strict: bool = False) -> GateReport:
    """A single command's report as a gate with one part, so that every renderer can show it."""
    from rigpact.contract.version import rigpact_version
    from rigpact.reports.gate.report import GateReport, Part

    return GateReport((Part(name, title, report),), {"rigpact": rigpact_version()}, strict=strict)


HTML = "html"
_BY_SUFFIX: Mapping[str, str] = {
    ".json": "json",
    ".xml": "junit",
    ".sarif": "sarif",
    ".md": "markdown",
    ".txt": "text",
    **dict.fromkeys((".html", ".htm"), HTML),
}


@dataclass(frozen=True)
class Output:
    """A file to write, and its format."""

    format: str
    path: Path


def parse_output(word: str) -> Output:
    """Read `FILE` or `FORMAT=FILE` and make the path absolute; UnusableInput for an unknown format or suffix."""
    name, equals, rest = word.partition("=")
    if equals and (name in FORMATS or name == HTML):
        return Output(name, Path(rest).absolute())
    path = Path(word)
    known = None if equals and name.isalpha() else _BY_SUFFIX.get(path.suffix.lower())
    if known is None:
        expected = f"a file ending in {', '.join(_BY_SUFFIX)}, or FORMAT=FILE with one of {', '.join((*FORMATS, HTML))}"
        raise UnusableInput(f"--report {word}", name if equals else path.suffix or "no suffix", expected)
    return Output(known, path.absolute())
