"""Compare two archives: what got better and what got worse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import Finding, Severity
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.archive.archive import Archive
from rigpact.reports.terminal import plain, sum_up, table

_GRAVITY = ("pass", "undetermined", "fail")
RELATIVE = 1e-3
"""A change by less than a thousandth counts as the same: another machine's rounding can cause it."""
_SHOWN = 20


@dataclass(frozen=True)
class FigureChange:
    """A figure before and after, None where a side does not have it. A smaller figure is better."""

    name: str
    before: float | None
    after: float | None

    @property
    def word(self) -> str:
        """`better`, `worse`, `same`, `new` or `gone`."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        if (
            abs(self.after - self.before) <= RELATIVE * max(abs(self.before), abs(self.after))
            or self.after == self.before
        ):
            return "same"
        return "better" if self.after < self.before else "worse"


@dataclass(frozen=True)
class Progress:
    """The changes from an older archive to a newer one."""

    verdicts: Mapping[str, tuple[str | None, str | None]]
    appeared: tuple[tuple[str, Finding], ...]
    vanished: tuple[tuple[str, Finding], ...]
    figures: tuple[FigureChange, ...]
    inputs: Mapping[str, str]

    @property
    def is_worse(self) -> bool:
        """Whether a part's verdict got worse, a part is gone, or an error is new; a figure alone does not count."""
        fell = [_gravity(after) > _gravity(before) for before, after in self.verdicts.values() if before is not None]
        return any(fell) or any(finding.rule.severity is Severity.ERROR for _, finding in self.appeared)

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-progress` document, version 1."""
        return {
            "format": "rigpact-progress",
            "version": 1,
            "verdict": "worse" if self.is_worse else "no worse",
            "parts": {name: {"before": before, "after": after} for name, (before, after) in self.verdicts.items()},
            "appeared": [{"part": part} | finding.to_json() for part, finding in self.appeared],
            "vanished": [{"part": part} | finding.to_json() for part, finding in self.vanished],
            "figures": [vars(figure) | {"change": figure.word} for figure in self.figures],
            "inputs": dict(self.inputs),
        }


def _gravity(verdict: str | None) -> int:
    """The rank of a verdict. A missing part is as bad as a part that could not be judged."""
    return _GRAVITY.index(verdict or "undetermined")


def progress_between(older: Archive, newer: Archive) -> Progress:
    """Compare two archives of any projects."""
    before, after = (_findings(archive.report) for archive in (older, newer))
    return Progress(
        verdicts=_paired(_verdicts(older.report), _verdicts(newer.report)),
        appeared=tuple((key[0], finding) for key, finding in after.items() if key not in before),
        vanished=tuple((key[0], finding) for key, finding in before.items() if key not in after),
        figures=tuple(
            FigureChange(name, *pair) for name, pair in _paired(dict(_figures(older)), dict(_figures(newer))).items()
        ),
        inputs=dict(_inputs(older.report.provenance, newer.report.provenance)),
    )


def _verdicts(report: GateReport) -> dict[str, str]:
    return {part.name: part.verdict for part in report.parts}


def _findings(report: GateReport) -> dict[tuple[str, str], Finding]:
    return {(part.name, finding.fingerprint): finding for part in report.parts for finding in part.report.findings}


def _paired(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (before.get(name), after.get(name)) for name in dict.fromkeys((*before, *after))}


def _figures(archive: Archive) -> Iterator[tuple[str, float]]:
    for part in archive.measurement.parts:
        if part.run is not None:
            for unit, errors in (("deg", part.run.deg), ("cm", part.run.cm)):
                if errors is not None and errors.size and np.isfinite(errors).all():
                    yield f"{part.name} largest {unit}", float(errors.max())
                    yield f"{part.name} mean {unit}", float(errors.mean())
        for name in ("growth_per_frame", "spread"):
            if isinstance(part.summary.get(name), float):
                yield f"{part.name} {name.replace('_', ' ')}", part.summary[name]
        for name in ("parameters", "model_bytes"):
            if name in part.metrics:
                yield f"{part.name} {name.replace('_', ' ')}", float(part.metrics[name])


def _inputs(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, (old, new) in _paired(before, after).items():
        if old != new:
            yield name, "new" if old is None else "gone" if new is None else "changed"


def print_progress(progress: Progress, console: Console) -> None:
    """Print the changes, then the verdict."""
    for name, (before, after) in progress.verdicts.items():
        if before != after:
            console.print(Text(f"{plain(name)}: {before or 'not there'} -> {after or 'not there'}"))
    _print_findings("new", progress.appeared, console)
    _print_findings("gone", progress.vanished, console)
    changed = [figure for figure in progress.figures if figure.word != "same"]
    if changed:
        rows = [(figure.name, _number(figure.before), _number(figure.after), figure.word) for figure in changed]
        console.print(table("Figures, less is better", ("figure", "before", "after", ""), rows))
    if progress.inputs:
        words = ", ".join(f"{plain(name)} ({what})" for name, what in progress.inputs.items())
        console.print(Text(f"inputs that differ: {words}", style="dim"))
    style, word = ("bold red", "WORSE") if progress.is_worse else ("bold green", "NO WORSE")
    sum_up(Text(word, style=style), console)


def _print_findings(word: str, found: Sequence[tuple[str, Finding]], console: Console) -> None:
    for part, finding in found[:_SHOWN]:
        line = f"{word}: {part}: {finding.rule.code} {finding.rule.severity.value}: {finding.message}"
        console.print(Text(plain(line)))
    if len(found) > _SHOWN:
        console.print(f"… and {len(found) - _SHOWN} more {word}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
