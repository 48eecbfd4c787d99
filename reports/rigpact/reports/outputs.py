"""Write the gate's answer: in a renderer's format or as the HTML page, chosen by name or by the file's suffix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.reports.gate.answer.compared_run import ComparedRun
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers import FORMATS, render

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


def write_output(output: Output, gate: GateReport, runs: Sequence[ComparedRun]) -> None:
    """Write one complete file."""
    if output.format == HTML:
        from rigpact.reports.viewer import write_html

        write_html(output.path, gate, runs)
    else:
        write_bytes(output.path, render(gate, output.format).encode("utf-8"))
