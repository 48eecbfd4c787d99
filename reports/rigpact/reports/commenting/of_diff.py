"""The comment on two recordings: which prediction is better, or where the two first differ."""

from collections.abc import Iterator
from typing import Any

from rigpact.contract.findings import FindingsReport, Severity
from rigpact.reports.commenting.comment import ROWS, Comment
from rigpact.reports.comparing.checkpoints.words import Row, group_table, sentences
from rigpact.reports.terminal import account_text


def comment_on_diff(report: FindingsReport, *, strict: bool) -> Comment:
    """The answer of `rigpact diff`."""
    summary = report.summary
    headline, *lines = (*sentences(summary), *_divergence(report))
    errors = [each for each in report.findings if each.rule.severity is not Severity.INFO]
    lines += [f"{each.rule.code}: {each.message}" for each in errors]
    columns, rows = _table(summary)
    return Comment(headline, report.exit_code(strict=strict), (*lines, account_text(report.ledger)), columns, rows)


def _divergence(report: FindingsReport) -> Iterator[str]:
    first = report.summary["first_divergence"]
    if first is not None:
        yield f"The recordings differ from frame {first['frame']}, stage {first['stage']} on"
    elif report.verdict == "pass":
        yield f"The recordings agree within rounding, over {report.summary['frames']} frames"
    else:
        yield "Not everything could be compared"


def _table(summary: Any) -> tuple[Row, list[Row]]:
    baseline = summary["baseline"]
    if baseline is not None and baseline["parting"]:
        return group_table(summary)
    if summary["first_divergence"] is None:
        return (), []
    rows: list[Row] = [
        (each["bone"], _number(each["max_deg"]), _number(each["mean_deg"]), _number(each["max_cm"]), str(each["frame"]))
        for each in summary["bones"]
    ]
    return ("worst bones", "max deg", "mean deg", "max cm", "frame"), rows[:ROWS]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
