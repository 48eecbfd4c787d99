"""docs/breaking.md: every kind of change between two contracts, and for whom it is breaking. Generated from the table."""

from rigpact.contract.compatibility.bundles import RETRAIN_RATIO, RETRAIN_SHIFT_SIGMA
from rigpact.contract.compatibility.change import MAJOR, MINOR, PATCH
from rigpact.contract.compatibility.kinds import ADVICE, KINDS, MEANING, ChangeKind, Consumer

_HEAD = """# Breaking changes

`rigpact diff OLD NEW` says what changed between two contracts of one system and for whom; `--base REV` takes the old
version from git, `--record FILE` adds the entry that section 6 of the contract document asks for. Exit status 0: nothing
breaking; 1: breaking; 2: a file that cannot be read, or contracts of two systems. Contracts that the engine would refuse are
compared as far as they can be read.

This page is generated; `python -m parity_tests.measuring.pages.generated_docs` writes it.

## Classes
| class | means | to do |
|---|---|---|
"""
_SENSE = f"""
## Schema bundles
- Channels are matched by what they are (slice, bone, component), so a slice that moved or bones that were reordered do not
  make every mean look changed.
- A mean is measured in deviations, a deviation or a scale as a ratio, after the floors that the engine applies. `-rounded`:
  less than one float32 step; `-drifted`: less than {RETRAIN_SHIFT_SIGMA} deviations or a factor of {RETRAIN_RATIO}, which
  measuring the same clips again gives; `-moved`: more.
- A bone with another name and the same statistics at the same place was renamed; with other statistics it was replaced. Names
  that moved while the numbers stayed were relabelled; names that moved with their numbers were reordered.
- MuY of a residual bundle is not added to any pose, so moving it concerns recordings only.
- A declaration that says what every reader assumes without it (metres, left-handed, 60 frames a second) may come and go. A
  declaration whose absence has no such meaning counts as changed.
- A key that rigpact does not know is `unjudged-change`, which breaks everybody: the engine or the training side may read it. An
  entry in the change record acknowledges it.

## Contract files of the other systems
- Stages and fields are matched by name. A stage that is gone and one that is new with the same fields, or two fields at the
  same place, are one that was renamed. The meaning of a field is its kind, its unit and its space; a range only judges
  recordings.
- A convention that a file leaves out is the system's own, so writing it down changes nothing. A vector that the next frame
  takes over may be left out too.
- A table of constants is measured at the number that changed by the largest share of its size. Less than one float32 step is
  rounding; of whole numbers (indices, counts) no difference is.
- What rigpact cannot judge is `unjudged-change`, which breaks everybody: another key, a hash that does not follow from the
  fields.
- Where the system's package is not installed, the files are compared by what stands in them.

## Version
`{MAJOR}` when the engine must be rebuilt or the network trained again, `{MINOR}` when code and network stay and every
reader needs the new file, `{PATCH}` when nobody computes anything else.

## Kinds of change
| kind | seen from the other side | classes | why |
|---|---|---|---|
"""


def breaking_page() -> str:
    """docs/breaking.md."""
    classes = "\n".join(f"| `{consumer.value}` | {MEANING[consumer]} | {ADVICE[consumer]} |" for consumer in Consumer)
    kinds = "\n".join(_row(kind) for kind in KINDS.values())
    return f"{_HEAD}{classes}\n{_SENSE}{kinds}\n"


def _row(kind: ChangeKind) -> str:
    mirror = f"`{kind.mirror}`" if kind.mirror else "the same"
    return f"| `{kind.name}` | {mirror} | {', '.join(consumer.value for consumer in kind.classes)} | {kind.why} |"
