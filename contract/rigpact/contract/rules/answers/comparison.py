"""Rules about two recordings of the same run. rigpact.reports.comparing.compare compares them."""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

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

TEXTS = texts(globals())
