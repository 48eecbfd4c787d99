"""docs/side-by-side.md: rigpact and two public tools of its kind on the same recordings of a robot's runtime.

`python -m parity_tests.measuring.scores.side_by_side [PAGE] [--environments FOLDER] [--only GLOB] [--jobs N] [--json FILE]`
makes an environment for each tool in the folder (a temporary one, where none is given), asks every tool about every recording of
`mistakes/lab` and `mistakes/mjlab` in RIGPACT_REAL_DATA, and prints a line each; with PAGE it writes the page. All are judged by
the truths and the grading of `real_mistakes`. To add a tool: a module like `efferent`, and a line in `all_rows`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from rigpact.contract.files import write_bytes

from ..claims import claims_of
from ..real_mistakes.answers import LIMIT_S as OURS_S
from ..real_mistakes.grading import Grade, Right
from ..real_mistakes.truths import TRUTHS
from . import efferent, gaitkeeper, ours
from .environments import LIMIT_S, Environment, made
from .facts import facts_of
from .statements import Statement, classified, in_contract_words, kind

DEPLOYED = {"lab": "unitree_rl_lab_g1", "mjlab": "unitree_rl_mjlab_g1"}
"""The folders of recordings, and where their deploy.yaml lies in `others`."""
_REQUIREMENTS = {"gaitkeeper": gaitkeeper.REQUIREMENT, "efferent": efferent.REQUIREMENT}
_COLUMN = {"precise": "named", "vague": "located", "located": "located", "misleading": "wrong", "alarm": "wrong",
           "silent": "silent", "timeout": "no answer", "no answer": "no answer", "agrees": "right"}  # fmt: skip
"""The word of the page for each grade."""
WORDS = ("named", "located", "wrong", "silent", "no answer")
_TEXT = """# Side by side

Two public tools look for the same kind of mistake as `rigpact explain`, in the log of a robot's policy:
[gaitkeeper](https://pypi.org/project/gaitkeeper/) {gaitkeeper} and [efferent](https://pypi.org/project/efferent/) {efferent}.
This page asks all three about {count} recordings of C++ runtimes of the G1 robot ({systems}), made by the runtimes' own code:
{wrong} with one mistake planted, {right} without one or with a harmless change.

- Each tool is used as its own pages say, in an environment of its own, and gets what a robot logs: sensors, observation, action,
  targets and gains. rigpact is asked twice: with the same columns (`raw`), and with the runtime's own terms as well, which the
  others rebuild and do not read.
- gaitkeeper: `verify` on a harness log, against the contract that it reads from the policy's deploy.yaml, then `infer`. Two
  lines of deploy.yaml are changed for it: a Python tag that it refuses, and the command's clamp, which the file does not have.
  Effort is computed from the recorded gains. `infer` gets the clamped command; what it finds is held against what it finds in a
  right recording, as a reader would hold it against the contract.
- efferent: `audit` on the log, against a manifest with the contract's numbers, then `doctor --reference`. Its history is newest
  first and its command has no clamp: the log is put in that form.
- Both search permutations and axes better in one frame than in five: where the stacked observation has no name, they are asked
  again about the newest frame, and the better answer counts. Numbers that they fit count as said, also where only their JSON has
  them.
- One table of truths and one grading judge all: those of [real mistakes](real-mistakes.md), with each tool's words put in the
  contract's (joint names, steps, factors).

| word | when |
|---|---|
| named | the mistake as a person would say it, with its number and place; what else is said is true of the numbers |
| located | the right place; or something true of the numbers that is not the mistake's name |
| wrong | something untrue, another place, or an alarm on a right recording |
| silent | nothing differs, it says, though something does |
| no answer | an error, or longer than the limit: {ours:g} s for rigpact, {theirs:g} s for a command of the others |

Seconds are those of the processors, or of the clock where that is shorter, for all commands of one answer.
"""
_BETTER = """## Where the others are better

- gaitkeeper's `infer` needs no contract: from the log alone it finds the history's length, layout, order and start, each term,
  its scale and the joint order. It did so in full for {inferred} of {right} right recordings, in {infer_s:.1f} s; where it is not
  certain it abstains and says why. rigpact always needs a contract.
- gaitkeeper knows the joint orders of the SDK and of Isaac Lab by name. It judges gains from effort, so a log without a column of
  gains is enough. It says of a pass which other readings the log cannot tell apart, and what a recording would have to contain.
  With a MuJoCo model it goes on to the physics and the task, which rigpact does not judge.
- gaitkeeper ships recorders for mjlab and Isaac Lab, and an audit of 30 public ports.
- efferent's `doctor` examines a policy without any recording, down to a bare ONNX file: joint order by finite differences, dead
  inputs, extreme inputs. It is a runtime too: what it audits it can also run.
"""
_NOT = """
## What they do not ask

Both read policies with joint targets only; neither judges an animation or writes a contract as C++. efferent's audit ends at the
observation: mistakes after the network are silent. Of the right recordings gaitkeeper says UNDETERMINED, not PASS, for want of a
reset within them; that is not an alarm and is not counted as one.

The recordings are not neutral: rigpact was developed on them, and the other two tools never saw them.

## Again

This page is generated: `RIGPACT_REAL_DATA=FOLDER python -m parity_tests.measuring.scores.side_by_side docs/side-by-side.md`. It
needs the recordings, which are not in the project, and a package index. The tools go into a temporary folder, or into the one
that `--environments` names; they are not dependencies of the project.
"""


@dataclass(frozen=True)
class Row:
    """What one tool says of one recording."""

    tool: str
    name: str
    grade: Grade
    seconds: float
    said: tuple[str, ...]

    @property
    def word(self) -> str:
        """The word of the page."""
        return _COLUMN[self.grade.word]


Answer = Callable[[str, Right | None], Row]


def _rigpact(folder: Path, raw: Path | None) -> Answer:
    tool = "rigpact, raw" if raw else "rigpact"

    def answered(name: str, truth: Right | None) -> Row:
        asked = ours.asked(folder, name, raw)
        if asked.answer is None or asked.is_late:
            return Row(tool, name, Grade("timeout" if asked.is_late else "no answer"), asked.seconds, (asked.error,))
        answer = ours.in_terms(asked.answer, facts_of(folder / _system(name)), truth) if raw else asked.answer
        first, claims = answer["first_divergence"], tuple(each.shown for each in claims_of(answer))
        said = claims or ((f"first: {first['stage']}",) if first else ())
        return Row(tool, name, kind(answer, truth), asked.seconds, said)

    return answered


def _system(name: str) -> str:
    return name.split("/", maxsplit=1)[0]


def _other(tool: str, systems: Mapping[str, gaitkeeper.Gaitkeeper | efferent.Efferent], folder: Path) -> Answer:
    def answered(name: str, truth: Right | None) -> Row:
        said, seconds, error = systems[_system(name)].ask(folder / f"{name}.npz")
        if error and not said:
            return Row(tool, name, Grade("timeout" if seconds > LIMIT_S else "no answer"), seconds, (error,))
        return Row(tool, name, classified(said, truth), seconds, _shown(said))

    return answered


def _shown(said: Sequence[Statement]) -> tuple[str, ...]:
    return tuple(f"{each.place}: {in_contract_words(each.words) or '(place only)'}" for each in dict.fromkeys(said))


def all_rows(
    folder: Path, work: Path, environments: Mapping[str, Environment], labels: Mapping[str, bool], jobs: int
) -> Iterator[Row]:
    """Every tool about every recording. labels: whether a recording is wrong; jobs: so many tools at a time."""
    keepers, efferents = {}, {}
    for system in sorted({_system(name) for name in labels}):
        facts, deploy = facts_of(folder / system), folder.parent / "others" / DEPLOYED[system] / "deploy.yaml"
        right, own = min((folder / system).glob("right_*.npz")), work / "gaitkeeper" / system
        keepers[system] = gaitkeeper.set_up(environments["gaitkeeper"], facts, deploy, own, right)
        efferents[system] = efferent.set_up(environments["efferent"], facts, work / "efferent" / system)
    answers = (
        _rigpact(folder, None),
        _rigpact(folder, work / "raw.npz"),
        _other("gaitkeeper", keepers, folder),
        _other("efferent", efferents, folder),
    )
    with ThreadPoolExecutor(jobs) as workers:
        for rows in workers.map(lambda answered: list(_asked(answered, labels)), answers):
            yield from rows


def _asked(answered: Answer, labels: Mapping[str, bool]) -> Iterator[Row]:
    for name, is_wrong in labels.items():
        row = answered(name, TRUTHS[name] if is_wrong else None)
        said = " / ".join(row.said)[:200]
        sys.stdout.write(f"{row.word:<10}{row.seconds:6.1f}s {row.tool:<13}{name:<40}{said}\n")
        sys.stdout.flush()
        yield row


def inferred(
    folder: Path, work: Path, environment: Environment, labels: Mapping[str, bool]
) -> Sequence[tuple[bool, float]]:
    """Whether gaitkeeper's `infer` finds all of a right recording's layout, and its seconds."""
    found = []
    for name in (name for name, is_wrong in labels.items() if not is_wrong):
        facts = facts_of(folder / _system(name))
        tool = gaitkeeper.Gaitkeeper(environment, facts, work, work, work)
        answer, seconds = tool.infer(folder / f"{name}.npz")
        found.append((answer.get("status") == "inferred", seconds))
    return found


def summary(rows: Sequence[Row], labels: Mapping[str, bool]) -> Iterator[str]:
    """A line for each tool."""
    yield f"| tool | {' | '.join(WORDS)} | right, alarms | median s | worst s |"
    yield "|---|" + "---:|" * (len(WORDS) + 3)
    for tool in dict.fromkeys(row.tool for row in rows):
        own = [row for row in rows if row.tool == tool]
        counts = Counter(row.word for row in own if labels[row.name])
        right = [row for row in own if not labels[row.name]]
        seconds = [row.seconds for row in own]
        cells = [tool, *(counts[word] for word in WORDS), f"{len(right)}, {sum(row.word != 'right' for row in right)}",
                 f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"


def page(
    rows: Sequence[Row],
    labels: Mapping[str, bool],
    what: Mapping[str, str],
    versions: Mapping[str, str],
    found: Sequence[tuple[bool, float]],
) -> str:
    """docs/side-by-side.md."""
    tools = tuple(dict.fromkeys(row.tool for row in rows))
    words = {(row.tool, row.name): row.word for row in rows}
    wrong = sum(labels.values())
    right = len(labels) - wrong
    better = _better(words, labels)
    systems = ", ".join(dict.fromkeys(DEPLOYED[_system(name)] for name in labels))
    head = _TEXT.format(
        systems=systems, count=len(labels), wrong=wrong, right=right, ours=OURS_S, theirs=LIMIT_S, **versions
    )
    parts = [head, *summary(rows, labels), ""]
    infer_s = statistics.median(seconds for _, seconds in found)
    parts.append(_BETTER.format(inferred=sum(whole for whole, _ in found), right=right, infer_s=infer_s).rstrip())
    listed = ", ".join(f"`{name}` ({what[name]})" for name in better)
    parts += [f"- Named by one of them, and not by rigpact from the same columns: {listed or 'none today'}.", _NOT]
    parts += ["## Each recording", "", f"| recording | what was done | {' | '.join(tools)} |"]
    parts.append("|---|---|" + "---|" * len(tools))
    for name in labels:
        parts.append(f"| `{name}` | {what[name]} | {' | '.join(words[tool, name] for tool in tools)} |")
    return "\n".join((*parts, ""))


def _better(words: Mapping[tuple[str, str], str], labels: Mapping[str, bool]) -> list[str]:
    named = [name for name in labels if "named" in (words["gaitkeeper", name], words["efferent", name])]
    return [name for name in named if words["rigpact, raw", name] != "named"]


def main() -> int:
    """Ask, print a line each, write what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument(
        "--environments", type=Path, metavar="FOLDER", help="where the tools are, or are to be, installed"
    )
    parser.add_argument("--only", default="*", metavar="GLOB", help="recordings whose name matches")
    parser.add_argument("--jobs", type=int, default=2, help="so many tools at once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every answer's short form for programs")
    given = parser.parse_args()
    if "RIGPACT_REAL_DATA" not in os.environ:
        parser.error("RIGPACT_REAL_DATA is to name the folder of real files; the recordings are in its folder mistakes")
    folder = Path(os.environ["RIGPACT_REAL_DATA"]) / "mistakes"
    read = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    chosen = {name.removesuffix(".npz"): label for name, label in read.items() if _system(name) in DEPLOYED}
    chosen = {name: label for name, label in sorted(chosen.items()) if fnmatch(name, given.only)}
    labels = {name: bool(label["wrong"]) for name, label in chosen.items()}
    what = {name: str(label["what"]) for name, label in chosen.items()}
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        place = given.environments or work / "environments"
        environments = {name: made(place, name, requirement) for name, requirement in _REQUIREMENTS.items()}
        rows = list(all_rows(folder, work, environments, labels, given.jobs))
        sys.stdout.write("\n".join(summary(rows, labels)) + "\n")
        if given.json:
            kept = [{"tool": row.tool, "name": row.name, "word": row.word, "seconds": round(row.seconds, 2),
                     "said": [text[:200] for text in row.said], "untrue": row.grade.others} for row in rows]  # fmt: skip
            write_bytes(given.json, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
        if given.page:
            versions = {name: environment.version for name, environment in environments.items()}
            found = inferred(folder, work, environments["gaitkeeper"], labels)
            write_bytes(given.page, page(rows, labels, what, versions, found).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
