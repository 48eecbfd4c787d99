"""Rules whose findings come with a measurement: two recordings, a run, a canary, waivers, the gate. They judge no file here.

rigpact.reports runs and measures, and gives the numbers.
"""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

FILE_NOT_READ = Rule.of("""RP004 error file-not-read
    not judged: {reason}
    hint: export the file again; was the writing interrupted, or is it a pointer of a large-file store?
    why: a file that cannot be read cannot be judged: the engine refuses it, or loads half of it""")
READING = texts(globals(), "files of many that cannot be read")


STAGE_DIFFERS = Rule.of("""RP801 error stage-differs
    {stage} differs from frame {frame} on: {channels} of {total} values beyond their tolerance; worst {error:.3g} (tolerance
    {tolerance:.3g}) at frame {worst_frame}, {address}
    hint: `first_divergence` names the stage to look at; later stages inherit its error
    why: two correct implementations stay within rounding of each other; beyond it they compute different things
    follows: RP961 RP962 RP963""")
STAGE_NOT_COMPARED = Rule.of("""RP802 error stage-not-compared
    {stage} was recorded by {holder} only, so it was not compared
    hint: record it on both sides, or name the stages to compare with --stage
    why: a stage that disappears from one side is how a defect gets past a comparison""")
FRAMES_NOT_COMPARED = Rule.of("""RP803 error frames-not-compared
    {holder} alone recorded {count:frame}, the first is frame {frame}
    hint: record the same frames on both sides
    why: a run that ends early or drops frames agrees on all that is left""")
NOT_FINITE = Rule.of("""RP804 error recorded-value-not-finite
    {stage} of {holder} holds {value} at frame {frame}, {address}; {count} values in all
    hint: `rigpact nan` finds where it was born
    why: NaN on both sides compares as equal in many tools; a character that vanishes is not parity
    follows: RP961 RP962 RP963""")
WIDTH_DIFFERS = Rule.of("""RP805 error stage-width-differs
    {stage} is {width_a} wide in {name_a} and {width_b} in {name_b}
    hint: were both recorded under the same bundle?
    why: vectors of different layout cannot be compared channel by channel""")
RATE_DIFFERS = Rule.of("""RP806 error frame-rate-differs
    {name_a} runs at {fps_a:g} frames per second, {name_b} at {fps_b:g}
    hint: record both at the rate of the bundle
    why: frame k is then another moment, and every velocity has another scale
    about: {fps_a:g} and {fps_b:g} frames a second""")
OTHER_BUNDLE = Rule.of("""RP807 warning recorded-under-another-bundle
    {holder} was recorded under the bundle {found}, not under {expected}
    hint: give the bundle that it was recorded under, or record again
    why: statistics or conventions may have changed since; tolerances and degrees then mean little
    about: recorded under {found}""")
CUT_OFF = Rule.of("""RP808 warning recording-cut-off
    {holder} is incomplete: {truncation}
    hint: the recorder was stopped in the middle of a line; the whole frames before it were read
    why: the end of the run, often the interesting part, is not in the file""")
INPUT_ALIGNED = Rule.of("""RP809 error input-silently-aligned
    input {position} ({input}) has {given} numbers and is bound at {bound}: the engine {what} silently
    hint: export the model for this bundle; layout and model are from different trainings
    why: the network then sees shifted or missing features and the character moves almost right""")
VALUE_UNDETERMINED = Rule.of("""RP830 error value-undetermined
    {count} of {total} values of {stage} differ, and rounding alone may change each of them by its whole range; the first at frame
    {frame}, {address}
    hint: record every stage from the network's output on, on both sides; then only a value at the threshold itself stays open
    why: an axis within rounding of 1e-4 is kept by one engine and replaced by another; no tolerance tells that from a defect
    follows: RP961 RP962 RP963""")
RECORDED_WITH_OTHER = Rule.of("""RP810 error recorded-with-another-contract
    {holder} was recorded with {what}: {found} instead of {expected}
    hint: load the same files on both sides and record again; or give the files that it was recorded with
    why: an engine that loads other numbers can agree on the frames of one clip and differ on the next: a verdict about these two
    is about neither
    about: recorded with {what} {found}""")
NOT_VERIFIABLE = Rule.of("""RP811 info contract-not-verifiable
    {holder} does not say with which {what} it was recorded
    hint: write the hashes of `contract.hpp` into the header: see docs/trace-format.md
    why: a stale companion or another model goes unseen where the clip does not show it""")
CLOCK_CONTRADICTS = Rule.of("""RP812 error clock-contradicts-frames
    {holder} says {fps:g} frames a second; its times say {found}
    hint: step the network at the rate of the bundle, and record the time of each step
    why: frame k is then another moment: a 30 Hz recording of a 60 Hz character agrees frame by frame and plays at half speed
    about: times of {found} for {fps:g}""")
RATE_NOT_OF_BUNDLE = Rule.of("""RP813 error recorded-at-another-rate
    {holder} was recorded at {found:g} frames a second; the contract says {expected:g}
    hint: step the network at the contract's rate and record again
    why: each step moves the pose by a change that was learned for 1 / fps: the character is too fast or too slow
    about: recorded at {found:g} frames a second""")
FRAMES_NOT_FROM_START = Rule.of("""RP814 error free-run-with-a-gap
    {holder} has no frames {first} to {last}: the {count} frames after them cannot be judged
    hint: record every frame of a free run, or record teacher-driven
    why: a free run feeds itself: without the frames before, the next ones cannot be computed""")
WRITTEN_COARSELY = Rule.of("""RP816 warning recording-written-coarsely
    {holder} is written with {precision}: a difference that the lost digits can lead to is not seen
    hint: record nine significant digits, or a binary trace; where that cannot be, declare it with --resolution
    why: the tolerances must allow for the digits that the recorder lost, so a small defect passes""")
BONES_NOT_RECORDED = Rule.of("""RP815 warning bones-not-recorded
    {holder} holds {count} of {total} bones: nothing is known of the others ({others})
    hint: record all bones too, at full level of detail; in the gate, `bones` of [[gate.trace]] says which are expected
    why: an engine at a lower level of detail computes only some bones; a mistake in the others shows up close""")

NATIVE_LOOP_DIFFERS = Rule.of("""RP817 warning native-loop-differs
    the C++ loop was not used, numpy computed the run: {found}
    hint: install rigpact again where a C++ compiler is; if it still differs, the compiler's options are the first suspect
    why: an engine includes the same headers: compiled like this, they compute something else""")

COMPARISON = texts(globals(), "two recordings of the same run")


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
RUN = texts(globals(), "what a run of the runtime has measured about itself")


INPUTS_WIRED_OTHERWISE = Rule.of("""RP415 error model-inputs-wired-otherwise
    in the contract's order the model misses {reference} by {declared}; bound as {found} it is within {best}
    hint: export the inputs in the order state, cond, contacts, angvel, pose_hist
    why: the engine feeds each vector to the wrong part of the network: the pose is noise""")
ENGINE_BOUND_OTHERWISE = Rule.of("""RP416 error engine-bound-inputs-otherwise
    the recorded output is the model's for the order {found} (within {best}), not the contract's (off by {declared})
    hint: bind State, Cond, Contacts, AngVel, PoseHist at positions 0 to 4 on the side that recorded this
    why: the recording side feeds each vector to the wrong input: the pose is noise""")
NO_ORDER_MATCHES = Rule.of("""RP417 warning canary-matches-no-order
    no order of the inputs makes the model meet {reference}: the nearest, {found}, misses by {best}
    hint: use a recording of this very model; the nearest order is not a proof
    why: model and recording are not of one export, so neither the order nor the model is confirmed""")
ORDERS_ALIKE = Rule.of("""RP418 info canary-orders-alike
    {count} orders fit {reference} about as well, besides the contract's for example {found}
    hint: probe with a teacher prediction or a trace of this very model in which every input moves; a clip proves little
    why: these rows do not show the order: an input that fits here may still be bound in another order""")
INPUT_WITHOUT_EFFECT = Rule.of("""RP427 warning model-input-without-effect
    input {index} ({name}) changes nothing: canary values in its place leave the output as it was, to the bit
    hint: look whether training dropped this input, or whether its weights were exported as zeros
    why: the character ignores these inputs: the player's command, its feet or its past""")
OUTPUT_MODE_CONTRADICTED = Rule.of("""RP451 error output-mode-contradicts-model
    output_mode is {declared!r}, and read so the model misses {reference} by {error}; read as {found!r} it is within {best}
    hint: declare the meaning that fits, or export the model that the bundle is about
    why: the engine reads every pose of the network in another sense than training wrote it: the character is crumpled or
    spins""")
CANARY = texts(globals(), "which vector really reaches which input of a model, and what its output means")


WAIVER_EXPIRED = Rule.of("""RP950 error waiver-expired
    the waiver of {code} at {place} expired on {expires} ({owner}: {reason})
    hint: repair the finding, or ask its owner for a new date
    why: a defect that was to be repaired by then is still there; a waiver without an end lasts for ever""")
WAIVER_UNUSED = Rule.of("""RP951 info waiver-unused
    the waiver of {code} at {place} meets no finding ({owner}: {reason})
    hint: remove it, if the file was checked in this run
    why: left in place it silences the same defect when it comes back""")
LOWERING_EXPIRED = Rule.of("""RP952 error lowering-expired
    {code} was lowered to {to} in {scope} until {expires} ({owner}: {reason}); it counts in full again
    hint: repair what it finds and remove the entry from [[lower]], or ask its owner for a new day
    why: a rule that nobody reads any more is not a rule; an exception without an end lasts for ever""")
LOWERING_UNUSED = Rule.of("""RP953 info lowering-unused
    {code} is lowered to {to} in {scope}, and finds nothing there ({owner}: {reason})
    hint: remove the entry from [[lower]], if the files were checked in this run
    why: left in place it silences the next defect there""")
RULE_LOWERED = Rule.of("""RP954 info rule-lowered
    {code} is lowered to {to} in {scope} until {expires} ({owner}: {reason}); findings: {count}
    hint: repair what it finds before that day; then remove the entry from [[lower]]
    why: a reader of a pass has to see the findings that it does not count, and their owner""")
FINDINGS_WAIVED = Rule.of("""RP955 info known-findings-waived
    known findings that do not count until {expires}: {count} ({owner}: {reason})
    hint: repair them before that day; then remove their entries
    why: a reader of a pass has to see the findings that it does not count, and their owner""")
BASELINE = texts(globals(), "what a project's settings let be, for whom and how long")


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
GATE = texts(globals(), "what the gate says about a whole project")
