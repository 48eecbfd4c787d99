"""RP960-RP979, RP985-RP989: what the gate says about a whole project. rigpact.reports.gate measures it."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

PART_NOT_JUDGED = Rule.of("""RP960 error part-not-judged
    {part} could not be judged: {reason}
    hint: repair what it names, or take the question out of [gate] on purpose
    why: a question that was asked and has no answer is not a pass""")
CONVENTION_DIFFERS = Rule.of("""RP961 error convention-differs
    {recording}: {stage} was computed with {changes}: with it {effect}{code}
    hint: change that on the side that recorded it, or declare it for both with [gate.conventions]
    why: one convention read in two ways turns every pose by a little or by all; the stages after it only inherit that""")
NOT_EXPLAINED = Rule.of("""RP962 error difference-not-explained
    {recording} differs first at frame {frame} in {stage}, {address}: {size}; no known convention explains it{relation}
    hint: look at that stage in the engine at that frame; `rigpact explain` shows every stage's own error
    why: a defect without a convention: a wrong index, a stale buffer, another weight""")
RELATION_DIFFERS = Rule.of("""RP963 error difference-explained
    {recording}: {relation}
    hint: look at the line that computes that stage on the side that recorded it: the relation says what that line computes
    why: a defect that no convention names, and that one simple relation explains in every value that differs""")
LOG_CONTRADICTS = Rule.of("""RP987 error log-contradicts-contract
    {recording}: {words}
    hint: look at the files that the engine loaded: another bundle, no companion, another model
    why: the engine's own log contradicts the contract""")
POSE_BEYOND_LIMIT = Rule.of("""RP964 error pose-beyond-limit
    {bone} is off by {error:.3g} {unit} at frame {frame}; [gate.thresholds] allows {limit:g}
    hint: find out why, or declare another limit on purpose
    why: the project said what still looks right; this does not
    follows: RP961 RP962 RP963""")
BEYOND_DECLARED_TOLERANCE = Rule.of("""RP965 error stage-beyond-declared-tolerance
    {stage} differs by more than {factor:g} derived tolerances from frame {frame} on; largest {ratio:.3g} at frame {worst_frame}
    hint: `rigpact diff` names bone and channel; `tolerance-factor` in [gate.thresholds] is the limit
    why: the factor covers the differences of platforms; beyond it the two sides compute different things
    follows: RP961 RP962 RP963""")
FREE_RUN_NOT_FINITE = Rule.of("""RP966 error free-run-not-finite
    the free run on {clip} is not finite from frame {frame} on: born in {stage}, {where}
    hint: `rigpact nan` names the operation, its early signs, and a guard with which the run stays finite
    why: the character vanishes or collapses and does not come back""")
FREE_RUN_DIVERGES = Rule.of("""RP967 error free-run-diverges
    the free run on {clip} grows without end over {frames} frames
    hint: `rigpact nan` names the guard with which the run stays finite
    why: a value that grows each frame reaches infinity a few seconds later, in a session longer than the test""")
FREE_RUN_LEAVES = Rule.of("""RP985 error free-run-beyond-ordinary
    the free run on {clip} leaves what its numbers can mean: {words}
    hint: `rigpact nan` names its early signs, and the guard with which the run stays finite
    why: the network sees numbers that training never saw: the character bends in ways that nobody made""")
VALUE_SWALLOWED = Rule.of("""RP986 info model-value-swallowed
    on {clip}, {words}
    hint: nothing to do for an attention mask; else guard the division or logarithm itself
    why: an optimisation or an edit is enough to let the value through""")
OUTSIDE_ENVELOPE = Rule.of("""RP968 error free-run-outside-envelope
    {recording} differs by more than rounding from frame {frame} on, {bone}: {error:.3g} {unit}, tolerance {allowed:.3g}
    hint: compare the same run teacher-driven: there the first wrong stage is named
    why: free runs drift apart by rounding, but no faster than their own envelope; this is a defect, not chaos
    follows: RP961 RP962 RP963""")
BREAKING_CHANGE = Rule.of("""RP969 error breaking-change
    since {base}: {message} ({kind}; {classes})
    hint: if it is meant, `rigpact diff CONTRACT --base REV --record FILE` writes the entry that acknowledges it
    why: somebody's code, network or recordings stop fitting the day this is merged""")
CHANGE_ACKNOWLEDGED = Rule.of("""RP970 info breaking-change-acknowledged
    {record} lists all breaking changes since {base} ({count}); the contract's version rises by a {step} step
    hint: nothing to do here; the entry lists the work and its owners
    why: a change that everybody was told of is a release, not a defect""")
CLIPS_CANNOT_SHOW = Rule.of("""RP971 warning clips-cannot-show
    no clip tells {knob} = {values} from the contract's {declared}: {advice}
    hint: `rigpact run --probe probe.json` writes a clip that shows all that can be shown
    why: an engine with that convention passes every comparison on these clips""")
OVER_BUDGET = Rule.of("""RP972 error over-budget
    {what}: {found:,}; the budget is {limit:,}
    hint: make the model smaller, or declare another budget on purpose
    why: the frame has so many milliseconds for all characters together""")
OVER_TIME_BUDGET = Rule.of("""RP973 error over-time-budget
    the median inference takes longer than {margin:g} times its budget of {limit:g} µs
    hint: the measured time is printed beside the verdict; run it again on an idle machine before believing it
    why: the frame has so many milliseconds for all characters together""")
PART_WAIVED = Rule.of("""RP974 info part-waived
    {what} is waived until {expires} ({owner}: {reason}); {count:finding} not counted
    hint: repair it before that day; then remove the entry from [[gate.waive]]
    why: a waiver is a debt with an owner and a day""")
PART_WAIVER_EXPIRED = Rule.of("""RP975 error part-waiver-expired
    the waiver of {what} expired on {expires} ({owner}: {reason})
    hint: repair it, or ask its owner for a new day
    why: a defect that was to be repaired by then is still there; a waiver without an end lasts for ever""")
PART_WAIVER_UNUSED = Rule.of("""RP976 info part-waiver-unused
    the waiver of {what} meets nothing that fails ({owner}: {reason})
    hint: remove it from [[gate.waive]]
    why: left in place it silences the next defect there""")
NOT_OF_THE_ENGINE = Rule.of("""RP980 error recording-not-of-the-engine
    {recording} is {found}; expected {expected}
    hint: name a trace that the engine recorded; `producer` in [[gate.trace]] is the name in its header
    why: rigpact agrees with itself, and training with training: such a pass says nothing about the engine
    about: {found}""")
BONES_MISSING = Rule.of("""RP982 error recording-lacks-bones
    {recording} lacks {count} of the {total} bones that it is to hold: {bones}
    hint: record them; or name the bones of this level of detail with `bones` in [[gate.trace]]
    why: the bones that vanish from a recording are not judged, and the rest of it passes without them""")
IN_ANOTHER_MODE = Rule.of("""RP981 error recording-in-another-mode
    {recording} says that it is a {found} run; [[gate.trace]] expects {expected}
    hint: record that mode, or declare the other one on purpose with `mode`
    why: the mode chooses what the recording is compared with: in a playback no model runs at all
    about: a {found} run""")
THRESHOLD_BEYOND_REASON = Rule.of("""RP977 error threshold-beyond-reason
    {key} = {value:g}, and {limit:g} is the {side} that means something: {reason}
    hint: declare a number within it; a part that has to pass beyond it needs [[gate.waive]] with an owner and a day
    why: a limit that nothing can reach judges nothing, and the answer still says pass""")
LET_BE = Rule.of("""RP978 info difference-let-be
    {stage} differs by up to {ratio:.3g} derived tolerances at frame {worst_frame}; tolerance-factor = {factor:g} lets it be
    hint: `rigpact diff` names bone and channel; without `tolerance-factor` the stage fails
    why: a reader of a pass has to see that the two sides do not agree within rounding
    follows: RP961 RP962 RP963""")
OTHER_FILES = Rule.of("""RP979 error archive-of-other-files
    the file here is not the one that the archive measured{more}
    hint: run the gate again, or judge it where its files lie; outside of a project `rigpact gate --from` shows what it said
    why: the answer is about the files of the day on which the archive was made; those here were never judged""")
SETTINGS_NARROWED = Rule.of("""RP988 error settings-narrowed
    the change judges less than {base}: {key} was {was}, and is {now}
    hint: merge the settings alone, by an owner; or `settings = "may-change"` in [gate] of the base revision
    why: a change that chooses its own judge passes whatever it breaks""")
SETTINGS_UNGUARDED = Rule.of("""RP989 warning settings-unguarded
    nobody guards the settings: {reason}
    hint: give `--base REV`, the revision that the change is merged into; the GitHub action does
    why: the change may judge less than before, and the answer could not show it""")
TEXTS = texts(globals())
