"""docs/gate.md: what the gate asks, how it answers, what it keeps, and which mistakes it notices that others let pass.

`python -m parity_tests.measuring.pages.gate_page docs/gate.md` writes it (extra `bench`, for the other comparators); without an
argument it prints it.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from rigpact.contract.files import write_bytes

from .blind_spots import Seen, see_all, table_lines

_TEXT = """# The gate

`rigpact gate` asks everything that a change can break and answers with one verdict.

```console
$ rigpact init      # once: writes a commented rigpact.toml for the bundle, model, clips, recordings that lie here
$ rigpact gate
```

This page is generated: `python -m parity_tests.measuring.pages.gate_page docs/gate.md` (extra `bench`).

## What it asks

| part | question | needs in `[gate]` |
|---|---|---|
| `files` | do bundle, companion, clips and teacher files keep the rules? (`rigpact check`) | `bundle` |
| `model` | does the model? In which order are its inputs really bound? (canary) | `model` |
| `teacher/NAME` | does training compute what the runtime computes? (`rigpact diff`) | `[[gate.teacher]]` |
| `engine-trace/NAME` | does the engine? If not, which convention differs? (`rigpact diff`, `explain`) | `[[gate.trace]]` |
| `free-run` | is a free run finite, and how fast do differences grow? (`rigpact nan`) | `model`, a clip |
| `breaking` | whom does the change break? (`rigpact breaking`) | `base`, or `--base REV` |
| `adequacy` | which conventions can the clips not show? Warnings (`rigpact adequacy`) | `clips` |
| `budget` | is the model within its budget? | `[gate.budget]` |
| `waivers` | which exceptions do the settings make? Is a threshold beyond reason? | `baseline`, `[[lower]]`, `[[gate.waive]]` |
| `archive` | are the files here those that the archive measured? | `--from`, and only where they differ |

The keys are in configuration.md. The gate works in the folder of its configuration: it gives the same answer wherever it is
started from. A question that the project does not ask stands in the answer as not asked, with the reason;
it is neither a pass nor a failure.

## How it answers

- **Exit status** 0: everything that was asked for was judged and is well. 1: findings. 2: a part that was asked for could not
  be judged.
- **The account**: every value that either side declares is compared, waived or missing. A part in which
  one is missing, for want of a package, a file or time, is undetermined, which is never a pass.
- **Causes**: findings share one only if one edit explains them: the same convention, or the same words of the same place, in
  one recording or in many. A difference that nothing explains is its recording's own. An archive has the causes of its gate.
- **Next steps**: at most three, the causes that the diagnosis names first. A stage that inherits a named error is
  not a step of its own.
- **`--format`** text, json, junit, sarif, github, markdown; **`--report FILE`** writes further answers, by suffix or as
  `FORMAT=FILE`, as often as wanted; **`--html FILE`** the page with the two skeletons.
- The JSON holds no time and no machine: the same files give the same bytes, in whatever folder. It is bound to the SHA-256 of
  every file that was read. Waivers have a last day, so the answer changes the day after it.
- A search for the cause of a recording's differences has no time limit in the gate, unlike in `rigpact explain`: it finds the
  same on every machine.
- A time budget is measured, and measurements differ: the median is printed on stderr, the answer holds only whether it is
  beyond the budget times its margin.

## Waivers
`[[gate.waive]]` takes a part, or one stage of a recording, out of the verdict until a day; `baseline` does so for single findings
(configuration.md), `[[lower]]` for one rule. Each has an owner and a reason, shows in every answer, and fails the gate the day
after it expires, which is at most a year ahead. A difference that a `tolerance-factor` allows shows too (RP978).
A convention that explains a difference to within rounding is not a matter of tolerance, and fails whatever the factor. The
factor applies to a relation that does so (RP963), as to a difference without a cause: half precision is one.

```toml
[[gate.waive]]
part = "engine-trace/walk"
stage = "quat"
owner = "Ana"
reason = "the recorder swaps w and x; next build"
expires = "2027-03-31"
```

## Breaking changes that are meant
A change with an entry in `change-record` is acknowledged: `rigpact breaking norm_template.json --base origin/main --record
CHANGES.md` writes it. The entry is bound to both versions' hashes, numbers beside them included; the next change needs its own.
The old version, its numbers and the settings that govern are those of the base revision, whatever the change writes or links.

## The archive
`--archive NAME.rigpact.zip` keeps the measurements, apart from the judgement.

```console
$ rigpact gate --archive today.rigpact.zip
$ rigpact gate --from today.rigpact.zip  # judged by the settings here: other thresholds, waivers, severities
$ cd /tmp; rigpact gate --from ~/today.rigpact.zip --html today.html  # no settings here: the answer as it was given
```

Inside are JSON and .npy arrays, stored without compression, times or pickles: for each recording the poses of both sides, the
error of every bone and frame in degrees and centimetres, every stage's error in tolerances, the skeleton, the findings with their
values, the diagnosis. The same results give the same bytes. A reader checks hashes, names and sizes before it allocates, and
writes nothing to disk. An archive that was edited is refused: its manifest holds a hash of every member and of itself. An
attacker who writes all hashes anew can forge one: sign the file where that matters. `--from` refuses a configuration that asks
for other parts than the measured ones. A measured file that is missing or changed here is an error, RP979: a pass of yesterday
says nothing of it. The base revision guards the settings as it does without `--from`. Where no settings govern, the answer is
shown as it was given, and stderr says so.

## Would it notice?
`rigpact gate --selftest` plants known defects, one at a time, in copies of the project's own files: in bundle, companion, clip,
model, training's predictions, the engine's conventions and the recordings themselves. It prints who noticed each and fails if a
defect that these files can have went unnoticed. Defects that they cannot have are listed apart, with the
reason: without an engine trace, no mistake of the engine can be planted.

## What must not pass
Each of these is put into a recording of the demo character. The gate gets the file, and is strict: a recorder that loses digits
is a warning (RP816). The others get the arrays and their own default tolerances.

{table}

RP960 is a recording that cannot be judged at all; that is exit status 2, which is not a pass. `undetermined` and `fail` both stop
a build.
"""


def gate_page(rows: Sequence[Seen]) -> str:
    """docs/gate.md."""
    return _TEXT.replace("{table}", "\n".join(table_lines(rows)))


def main(arguments: Sequence[str]) -> None:
    """Run everything; write the page, or print it."""
    page = gate_page(list(see_all()))
    if arguments:
        write_bytes(Path(arguments[0]), page.encode("utf-8"))
    else:
        sys.stdout.write(page)


if __name__ == "__main__":
    main(sys.argv[1:])
