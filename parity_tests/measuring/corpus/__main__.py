"""The answers of many command lines, kept before a large change and compared after it.

`python -m parity_tests.measuring.corpus freeze FILE` asks every line and keeps what it says, a line of JSON each.
`python -m parity_tests.measuring.corpus compare FILE` asks the same lines again; what differs is printed, exit status 1.
RIGPACT_REAL_DATA names the folder of real exported files; without it they are left out, and so are their lines of FILE.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.progress import track

from rigpact.contract.files import write_bytes

from .answers import Said, asked
from .lines import Group, groups

Answers = Mapping[str, Said]


def answers_of(group: Group) -> Answers:
    """What every line of a group says, by the group and the line."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        group.prepare(Path(folder))
        with contextlib.chdir(folder):
            Path("aside").mkdir(exist_ok=True)
            for words in group.lines:
                found[f"{group.name}: {' '.join(words)}"] = asked(words)
                group.after(words)
    return found


def _numbered(real: Path | None, number: int) -> Answers:
    """A group by its number: its functions do not cross to another process."""
    return answers_of(list(groups(real))[number])


def every_answer(real: Path | None) -> Answers:
    """Every group, a process each on every processor."""
    found: dict[str, Said] = {}
    with ProcessPoolExecutor() as workers:
        waiting = [workers.submit(_numbered, real, number) for number in range(len(list(groups(real))))]
        for each in track(waiting, "groups", transient=True):
            found.update(each.result())
    return found


def differences(before: Answers, after: Answers) -> Iterator[str]:
    """Lines that say another thing, or are asked no more."""
    for line, said in before.items():
        if after.get(line) != said:
            yield f"{line}\n  before: {json.dumps(said)}\n  now:    {json.dumps(after.get(line))}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("freeze", "compare"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    real = Path(os.environ["RIGPACT_REAL_DATA"]) if "RIGPACT_REAL_DATA" in os.environ else None
    found = every_answer(real)
    if given.what == "freeze":
        rows = (json.dumps({"line": line, **said}, sort_keys=True) for line, said in found.items())
        write_bytes(given.file, ("\n".join(rows) + "\n").encode())
        sys.stdout.write(f"{len(found)} command lines\n")
        return 0
    kept = [json.loads(row) for row in given.file.read_text(encoding="utf-8").splitlines()]
    before = {row.pop("line"): row for row in kept}
    asked_again = {
        line: said for line, said in before.items() if real or not line.startswith(("real files", "mistakes"))
    }
    other = list(differences(asked_again, found))
    sys.stdout.write(
        "".join(f"{each}\n" for each in other) + f"{len(asked_again)} command lines, {len(other)} differ\n"
    )
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
