"""The table of docs/security.md: one row a reader, between two marks of the page."""

from __future__ import annotations

from collections.abc import Sequence

from .counts import Count, together

BEGIN, END = "<!-- fuzz: begin -->", "<!-- fuzz: end -->"


def with_table(page: str, counts: Sequence[Count], seed: int) -> str:
    """The page with the table between its marks; the table alone where the page has none."""
    table = _table(counts, seed)
    before, begin, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}{END}{rest.partition(END)[2]}" if begin else table


def _table(counts: Sequence[Count], seed: int) -> str:
    total = together("**all**", counts)
    head = "| reader | seed | executions | typed errors | read | crashes | hangs | slowest | peak memory |\n"
    rule = "|---|---|---|---|---|---|---|---|---|\n"
    return head + rule + "".join(_row(count, seed) for count in (*counts, total))


def _row(count: Count, seed: int) -> str:
    return (
        f"| {count.reader} | {seed} | {count.executions:,} | {count.typed:,} | {count.passed:,} | {count.crashes} | "
        f"{count.hangs} | {count.slowest_s:.2f} s | {count.peak_mb} MB |\n"
    )
