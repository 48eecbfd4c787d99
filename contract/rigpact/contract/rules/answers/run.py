"""RP820-RP829: what a run of the runtime has measured about itself. rigpact.reports.running runs and measures."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

COPYING_IS_BETTER = Rule.of("""RP820 error copying-is-better-by-far
    the run misses the clip's next {what} by {error:.3g} {unit} on average; copying the last one misses it by {copied:.3g} {unit},
    and even one that is {old} frames old by at most {limit:.3g} {unit}
    hint: look at the output's convention first (`--set output_mode=…`), then at the model: does it belong to this bundle?
    why: the answer holds less than the network was told: the character is torn from its motion in every frame""")
INPUT_BEYOND_RANGE = Rule.of("""RP821 warning network-input-beyond-range
    {input} is outside [{low:g}, {high:g}] in {frames} of {total} frames: {value:.3g} at frame {frame}, {address}; {what}
    hint: of a clip: is it of this character, in these units? of a free run: the network leads itself out of its range
    why: training never saw such an input: the network's answer is chance""")
RUN_LEAVES = Rule.of("""RP822 error run-beyond-ordinary
    the {mode} run leaves what its numbers can mean: {words}
    hint: `rigpact nan` names its early signs, and the guard with which the run stays finite
    why: the network sees numbers that training never saw: the character bends in ways that nobody made""")
VALUE_UNREAD = Rule.of("""RP823 info value-not-finite-unread
    {stage} of the run holds {value} at frame {frame}, {address}, {count} values in all: nothing of this contract reads them
    hint: fix the clip where another contract reads it; this run does not depend on it
    why: the same numbers come out whatever stands there; a contract that reads the field one day fails on this clip""")
TEXTS = texts(globals())
