"""The tables of docs/security.md: one row a reader, between two marks of the page."""

from collections.abc import Sequence

from ..sections import replaced
from .counts import Count, together


def with_table(page: str, counts: Sequence[Count], seed: int, kind: str) -> str:
    """The page with the table between the marks of its kind, "fuzz" or "guided"; the table alone for no page."""
    table = _table(counts, seed)
    return replaced(page, kind, table) if page else table


def _table(counts: Sequence[Count], seed: int) -> str:
    more = 2 if any(count.reached for count in counts) else 0
    head = "| reader | seed | executions | typed errors | read | crashes | hangs | slowest | peak memory |"
    head += " places reached by the sound files | in the end |\n" if more else "\n"
    rule = "|---" * (head.count("|") - 1) + "|\n"
    return head + rule + "".join(_row(count, seed, more) for count in (*counts, together("**all**", counts)))


def _row(count: Count, seed: int, more: int) -> str:
    reached = "".join(f" {places:,} |" for places in count.reached) if count.reached else " |" * more
    return (
        f"| {count.reader} | {seed} | {count.executions:,} | {count.typed:,} | {count.passed:,} | {count.crashes} | "
        f"{count.hangs} | {count.slowest_s:.2f} s | {count.peak_mb} MB |{reached}\n"
    )
