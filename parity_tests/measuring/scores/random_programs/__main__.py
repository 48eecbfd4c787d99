"""A section of docs/evidence.md: contracts that are drawn, with one or two mistakes each, and what `rigpact explain` answers.

`python -m parity_tests.measuring.scores.random_programs [PAGE] [--count N] [--each N] [--benign N] [--seed S] [--jobs N]
[--json FILE]` draws, asks, grades, and prints a table; with PAGE it writes it there. `--show SEED` prints one program, its
mistakes, the answer and the grade (`--kind KIND`: with one edit of that kind). It exits with 1 if a bar is missed.
"""

from __future__ import annotations

import statistics
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from ...frame import Score, table
from .planting import OF_TIME_AND_TURNS
from .program import as_toml
from .trial import Result, benign_trial, drawn_case, trial

NAMED = 0.9
"""The bar: so many are named; no answer is false, no benign variant alarms."""
GRADES = ("named", "located", "vague", "silent", "false", "timeout")


def results(given: Namespace) -> Iterator[Result]:
    """Every trial, those with mistakes first. each: how many of each kind of `OF_TIME_AND_TURNS`."""
    if given.show is not None:
        _show(given.show, given.kind)
        given.count = given.each = given.benign = 0
    seeds = [given.seed * 1_000_000 + place for place in range(max(given.count, given.each, given.benign))]
    with ProcessPoolExecutor(given.jobs) as workers:
        yield from workers.map(trial, seeds[: given.count], chunksize=4)
        for kind in OF_TIME_AND_TURNS:
            yield from workers.map(trial, seeds[: given.each], [kind] * given.each)
        yield from workers.map(benign_trial, seeds[: given.benign], chunksize=4)


def tables(found: Sequence[Result]) -> Iterator[str]:
    """How many of each grade: by what is recorded, by the kind of the mistake; then the benign variants."""
    planted, benign = ([each for each in found if bool(each.kinds) == is_it] for is_it in (True, False))
    groups = {"**all**": planted}
    for word in ("dense", "most", "sparse"):
        groups[f"recorded: {word}"] = [each for each in planted if each.density == word]
    for count in (1, 2):
        groups[f"{count} mistake{'s' * (count > 1)}"] = [each for each in planted if len(each.kinds) == count]
    for kind in sorted({each.kinds[0] for each in planted if len(each.kinds) == 1}):
        groups[f"one: {kind.replace('_', ' ')}"] = [each for each in planted if each.kinds == (kind,)]
    columns = ("programs", "count", *GRADES, "median s", "90 % s", "worst s")
    yield from table(columns, (_row(name, rows) for name, rows in groups.items() if rows))
    yield f"\nBenign variants: {len(benign)}, alarms: {sum(each.graded.word != 'agrees' for each in benign)}."


def _row(name: str, rows: Sequence[Result]) -> Sequence[object]:
    counts, seconds = Counter(each.graded.word for each in rows), sorted(each.seconds for each in rows)
    times = statistics.median(seconds), seconds[int(0.9 * (len(seconds) - 1))], seconds[-1]
    return [name, len(rows), *(counts[word] for word in GRADES), *(f"{each:.2f}" for each in times)]


def shortcomings(found: Sequence[Result]) -> list[str]:
    """The bars that are missed, in words."""
    counts = Counter(each.graded.word for each in found if each.kinds)
    missed = [f"{counts[word]} {word}" for word in ("false", "timeout") if counts[word]]
    if counts["named"] < NAMED * counts.total():
        missed.append(f"named {counts['named']} of {counts.total()}, required {NAMED:.0%}")
    alarms = [each for each in found if not each.kinds and each.graded.word != "agrees"]
    return missed + [f"alarm: seed {each.seed}, {each.what}: {each.graded.claims}" for each in alarms]


def _line(each: Result) -> str:
    said = " / ".join(each.graded.false or each.graded.claims)
    return f"{each.graded.word:<8} {each.seconds:5.1f}s {each.seed:>9} {each.what} -> {said[:200]}"


def _show(seed: int, kind: str) -> None:
    """One program, what was planted, the answer and the grade."""
    case, found = drawn_case(seed, kind), trial(seed, kind)
    lines = [as_toml(case.program), f"recorded: {', '.join(case.recorded)}", _line(found)]
    lines += [f"planted: {each.shown}" for each in case.edits]
    lines += [f"said: {each}" for each in found.graded.claims] + [f"false: {each}" for each in found.graded.false]
    sys.stdout.write("\n".join(lines) + "\n")


def main() -> int:
    """Draw, ask, grade; 1 if a bar is missed."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    for name, default in (("count", 1000), ("each", 25), ("benign", 200), ("seed", 0), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--show", type=int, metavar="SEED", help="one program of the list that is printed")
    parser.add_argument("--kind", default="", choices=("", *OF_TIME_AND_TURNS))
    return Score("random programs", results, _line, tables, shortcomings).main(parser)


if __name__ == "__main__":
    sys.exit(main())
