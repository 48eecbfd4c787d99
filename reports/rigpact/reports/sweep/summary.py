"""The summary of a sweep: the number of cells per verdict, the worst cells, the best checkpoint of each clip.

It reads the rows once, and keeps only a few of the worst cells and the best one for each clip and mode.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from rich.console import Console

from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_INTERNAL, EXIT_PASS
from rigpact.reports.answer import Answer, Figures, Sentence, print_answer
from rigpact.reports.sweep.measure import ALIGNED, COPY_LAST_IS_BETTER, DEFECT, ERROR, NOT_FINITE, PASS, VERDICTS

Row = Mapping[str, Any]
WORST_SHOWN, BEST_SHOWN = 5, 20
_SHOWN = (
    "clip", "model", "conventions", "mode", "verdict", "stage", "unit", "mean_error", "mean_deg", "mean_cm",
    "copy_last_mean_deg", "error",
)  # fmt: skip


@dataclass
class Summary:
    """Counts and extremes of the rows so far."""

    cells: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    defects: int = 0
    best: dict[tuple[str, str], Row] = field(default_factory=dict)
    _worst: list[tuple[tuple[int, float], int, Row]] = field(default_factory=list)

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows unchanged, and count each one."""
        for row in rows:
            self._add(row)
            yield row

    def _add(self, row: Row) -> None:
        self.cells += 1
        self.verdicts[row["verdict"]] += 1
        self.defects += row["error_kind"] == DEFECT
        # of equally bad cells, keep the first
        heapq.heappush(self._worst, ((VERDICTS.index(row["verdict"]), _error(row)), -self.cells, row))
        if len(self._worst) > WORST_SHOWN:
            heapq.heappop(self._worst)
        key = (row["clip"], row["mode"])
        is_better = key not in self.best or _error(row) < _error(self.best[key])
        if is_better and row["verdict"] in (PASS, COPY_LAST_IS_BETTER):
            self.best[key] = row

    @property
    def worst(self) -> list[Row]:
        """The worst cells, the worst first."""
        return [row for _, _, row in sorted(self._worst, key=lambda entry: entry[:2], reverse=True)]

    @property
    def verdict(self) -> str:
        """`undetermined` if no cell could be judged, `fail` if one is not finite, misbound or an error, else `pass`."""
        if self.cells == self.verdicts[ERROR]:
            return "undetermined"
        return "fail" if any(self.verdicts[name] for name in (ALIGNED, NOT_FINITE, ERROR)) else "pass"

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass, 1 findings (if strict, also worse than copying the last pose), 2 nothing judged, 3 our defect."""
        if self.defects:
            return EXIT_INTERNAL
        if self.verdict == "undetermined":
            return EXIT_CANNOT_JUDGE
        failed = self.verdict == "fail" or (strict and self.verdicts[COPY_LAST_IS_BETTER] > 0)
        return EXIT_FINDINGS if failed else EXIT_PASS

    def to_json(self, measured: int, results: str) -> dict[str, Any]:
        """The `rigpact-sweep` document, version 1."""
        return {
            "format": "rigpact-sweep", "version": 1, "verdict": self.verdict, "cells": self.cells, "measured": measured,
            "verdicts": {name: self.verdicts[name] for name in VERDICTS},
            "worst": [_shown(row) for row in self.worst], "best": [_shown(row) for row in self.best.values()],
            "results": results,
        }  # fmt: skip


def _error(row: Row) -> float:
    """The error for ranking cells; a cell that cannot be compared with its clip comes last."""
    found: float | None = row["mean_error"]
    return float("inf") if found is None else found


def _shown(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in _SHOWN}


def print_summary(summary: Summary, measured: int, results: str, console: Console) -> None:
    """Print the worst cells, the best checkpoint of each clip and the verdict."""
    counts = ", ".join(f"{summary.verdicts[name]} {name}" for name in VERDICTS if summary.verdicts[name])
    said = f"{counts}; {measured} of {summary.cells} measured now -> {results}"
    exit_code = {"pass": EXIT_PASS, "fail": EXIT_FINDINGS}.get(summary.verdict, EXIT_CANNOT_JUDGE)
    print_answer(Answer(summary.verdict.upper(), said, exit_code, tuple(_body(summary))), console)


def _body(summary: Summary) -> Iterator[Sentence | Figures]:
    columns = ("clip", "checkpoint", "mode", "mean error", "mean cm", "copy-last", "")
    yield Figures(f"Worst {len(summary.worst)} of {summary.cells} cells", columns, [*map(_line, summary.worst)])
    for row in summary.worst:
        if row["error"]:
            yield Sentence(f"  {row['clip']}, {row['model']}: {row['error']}", "dim")
    best = list(summary.best.values())[:BEST_SHOWN]
    if best:
        title = f"Best checkpoint of each clip, {len(best)} of {len(summary.best)}"
        yield Figures(title, columns, [*map(_line, best)])


def _line(row: Row) -> tuple[str, ...]:
    clip, model = (PurePosixPath(row[name]).name for name in ("clip", "model"))
    checkpoint = " ".join(word for word in (model, row["conventions"]) if word)
    numbers = (_number(row["mean_error"], row["unit"]), _number(row["mean_cm"]), _number(row["copy_last_mean_deg"]))
    return clip, checkpoint, row["mode"], *numbers, row["verdict"]


def _number(value: float | None, unit: str | None = None) -> str:
    return "" if value is None else f"{value:.3f}" + (f" {unit}" if unit else "")
