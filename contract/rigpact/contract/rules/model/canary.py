"""RP415-RP418, RP427, RP451: which vector really reaches which input, and what the output means, as a canary probe finds by
running the model.

This module holds only the texts, because the contract cannot run models. rigpact.reports.engine.canary runs them and gives
the numbers.
"""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

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
TEXTS = texts(globals())
