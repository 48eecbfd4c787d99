"""An answer as a comment on a change: one screen, the answer first; as Markdown for a pull request, or as a page.

The words are the answer's own (../answer.py), the forms comment.md.j2 and comment.html.j2. `--format json` has all of it.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.version import rigpact_version
from rigpact.reports.answer import Answer
from rigpact.reports.renderers.markdown import TEXT_LIMIT, escaped
from rigpact.reports.terminal import plain

LINES, ROWS = 8, 9
"""With the heading, the table's head, empty lines and the foot, these are 25 lines: what a screen shows."""
_SIGNS = {EXIT_PASS: "✅", EXIT_FINDINGS: "❌"}


def comment(answer: Answer, form: str) -> str:
    """The answer as `markdown`, at most 25 lines, or as `html`, a page without script that loads nothing."""
    loader, is_page = FileSystemLoader(Path(__file__).parent), form == "html"
    environment = Environment(loader=loader, autoescape=is_page, undefined=StrictUndefined)  # noqa: S701 - `escaped`
    environment.trim_blocks = True
    environment.filters["text"] = _cut if is_page else escaped
    rows = [] if answer.figures is None else answer.figures.rows
    hidden = max(len(answer.lines) - LINES, 0) + max(len(rows) - ROWS, 0)
    text: str = environment.get_template(f"comment.{'html' if is_page else 'md'}.j2").render(
        sign=_SIGNS.get(answer.exit_code, "⚠️"),
        headline=f"{answer.word}: {answer.headline}" if answer.word else answer.headline,
        lines=answer.lines[:LINES],
        columns=() if answer.figures is None else answer.figures.columns,
        rows=rows[:ROWS],
        foot=f"{hidden} more in --format json; rigpact {rigpact_version()}"
        if hidden
        else f"rigpact {rigpact_version()}",
    )
    return text + "\n"


def _cut(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + "…"
