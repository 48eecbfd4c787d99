"""A comment: the answer, a few lines, one small table; as Markdown for a pull request, or as a page.

It fits a screen whatever was found. All of it stands in `--format json`. To comment another answer: a function that makes a
`Comment` of it, in this folder.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS
from rigpact.contract.version import rigpact_version
from rigpact.reports.renderers.markdown import TEXT_LIMIT, escaped
from rigpact.reports.terminal import plain

LINES, ROWS = 8, 9
"""With the heading, the table's head, empty lines and the foot, these are 25 lines: what a screen shows."""
_CSS = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}
h1{font-size:1.25rem}table{border-collapse:collapse;display:block;overflow-x:auto}th,td{padding:.2rem .6rem;text-align:right}
th:first-child,td:first-child{text-align:left}tr{border-bottom:1px solid #8888}footer{opacity:.7}"""


@dataclass(frozen=True)
class Comment:
    """headline: the cause or the answer. exit_code: of the command. lines: what else matters, the worst first."""

    headline: str
    exit_code: int
    lines: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def sign(self) -> str:
        """A sign for the verdict."""
        return {EXIT_PASS: "✅", EXIT_FINDINGS: "❌"}.get(self.exit_code, "⚠️")

    @property
    def foot(self) -> str:
        """What does not fit, and who says it."""
        hidden = max(len(self.lines) - LINES, 0) + max(len(self.rows) - ROWS, 0)
        more = f"{hidden} more in --format json; " if hidden else ""
        return f"{more}rigpact {rigpact_version()}"


def to_markdown(comment: Comment) -> str:
    """At most 25 lines."""
    return "\n".join(_markdown(comment)) + "\n"


def _markdown(comment: Comment) -> Iterator[str]:
    yield f"### {comment.sign} {escaped(comment.headline)}"
    if comment.lines:
        yield ""
        yield from (f"- {escaped(line)}" for line in comment.lines[:LINES])
    if comment.rows:
        yield ""
        yield _row(comment.columns)
        yield "|---" + "|---:" * (len(comment.columns) - 1) + "|"
        yield from map(_row, comment.rows[:ROWS])
    yield ""
    yield f"<sub>{escaped(comment.foot)}</sub>"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def to_html(comment: Comment) -> str:
    """A page of its own: no script, nothing from elsewhere."""
    title = _text(comment.headline)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>rigpact: {title}</title>\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n<style>{_CSS}</style></head>\n'
        f"<body><main><h1>{comment.sign} {title}</h1>\n{''.join(_page(comment))}</main>\n"
        f"<footer><small>{_text(comment.foot)}</small></footer></body></html>\n"
    )


def _page(comment: Comment) -> Iterator[str]:
    if comment.lines:
        yield f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in comment.lines[:LINES])}</ul>\n"
    if comment.rows:
        head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in comment.columns)
        rows = ("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in comment.rows[:ROWS])
        yield f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>\n"


def _text(text: str) -> str:
    shown = plain(text)
    return html.escape(shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + "…")
