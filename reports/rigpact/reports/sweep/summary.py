"""The summary of a sweep: the number of cells per verdict, the worst cells, the best checkpoint of each clip."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True, eq=False)
class Summary:
    """Counts and extremes of the rows of all cells."""

    rows: Sequence[Row]

    @cached_property
    def verdicts(self) -> Counter[str]:
        """How many cells have each verdict."""
        return Counter(row["verdict"] for row in self.rows)

    @property
    def worst(self) -> list[Row]:
        """The worst cells, the worst first; of equally bad ones the first."""
        return sorted(self.rows, key=lambda row: (VERDICTS.index(row["verdict"]), _error(row)), reverse=True)[
            :WORST_SHOWN
        ]

    @cached_property
    def best(self) -> list[Row]:
        """The best checkpoint of each clip and mode."""
        found: dict[tuple[str, str], Row] = {}
        for row in self.rows:
            best = found.get((row["clip"], row["mode"]))
            if row["verdict"] in (PASS, COPY_LAST_IS_BETTER) and (best is None or _error(row) < _error(best)):
                found[row["clip"], row["mode"]] = row
        return list(found.values())

    @property
    def verdict(self) -> str:
        """`undetermined` if no cell could be judged, `fail` if one is not finite, misbound or an error, else `pass`."""
        if len(self.rows) == self.verdicts[ERROR]:
            return "undetermined"
        return "fail" if any(self.verdicts[name] for name in (ALIGNED, NOT_FINITE, ERROR)) else "pass"

    def exit_code(self, *, strict: bool = False) -> int:
        """0 pass, 1 findings (if strict, also worse than copying the last pose), 2 nothing judged, 3 our defect."""
        if any(row["error_kind"] == DEFECT for row in self.rows):
            return EXIT_INTERNAL
        if self.verdict == "undetermined":
            return EXIT_CANNOT_JUDGE
        failed = self.verdict == "fail" or (strict and self.verdicts[COPY_LAST_IS_BETTER] > 0)
        return EXIT_FINDINGS if failed else EXIT_PASS

    def to_json(self, measured: int, results: str) -> dict[str, Any]:
        """The `rigpact-sweep` document, version 1."""
        return {
            "format": "rigpact-sweep", "version": 1, "verdict": self.verdict, "cells": len(self.rows), "measured": measured,
            "verdicts": {name: self.verdicts[name] for name in VERDICTS},
            "worst": [_shown(row) for row in self.worst], "best": [_shown(row) for row in self.best],
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
    said = f"{counts}; {measured} of {len(summary.rows)} measured now -> {results}"
    exit_code = {"pass": EXIT_PASS, "fail": EXIT_FINDINGS}.get(summary.verdict, EXIT_CANNOT_JUDGE)
    print_answer(Answer(summary.verdict.upper(), said, exit_code, tuple(_body(summary))), console)


def _body(summary: Summary) -> Iterator[Sentence | Figures]:
    columns = ("clip", "checkpoint", "mode", "mean error", "mean cm", "copy-last", "")
    yield Figures(f"Worst {len(summary.worst)} of {len(summary.rows)} cells", columns, [*map(_line, summary.worst)])
    for row in summary.worst:
        if row["error"]:
            yield Sentence(f"  {row['clip']}, {row['model']}: {row['error']}", "dim")
    best = summary.best[:BEST_SHOWN]
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
