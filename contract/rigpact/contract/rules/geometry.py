"""RP850-RP886: a training side's own rotation functions, measured against the definitions.

This module holds only the texts, because the contract cannot run functions. rigpact.reports.geometry_parity runs them and
gives the numbers. `{function}` is the user's name for it; `pointer` is the role it plays (/so3_log_map).
"""

from rigpact.contract.findings import Rule
from rigpact.contract.rules.family import texts

RAISES = Rule.of("""RP850 error geometry-function-raises
    {function} raises {error} for {case}
    hint: correct the call that [[geometry.function]] declares, or the function; see docs/geometry.md
    why: nothing can be said about its mathematics, and training would stop here too""")
OTHER_SHAPE = Rule.of("""RP851 error geometry-result-of-other-shape
    {function} returns {found} for {case}, expected {expected}
    hint: keep the leading axes and return one result for each rotation
    why: broadcasting hides a wrong axis and every bone gets another bone's number""")
DIFFERS = Rule.of("""RP852 error geometry-differs-unexplained
    {function} is off by {error:.3g} {unit} at row {row}: no known convention explains it (expected: {declared})
    hint: compare that row by hand with the definition; the row is the same for the same --seed
    why: training learns another motion than the engine plays""")
HALF_ANGLE = Rule.of("""RP853 error geometry-half-angle
    {function} {verb} half the angle: measured ratio {ratio:.4f} over {rows} rotations
    hint: multiply by 2, or take 2·atan2(|v|, w) of the quaternion; statistics and tanh scales double with it
    why: the angular-velocity input is half of the engine's: limbs lag and sway""")
SCALED = Rule.of("""RP854 error geometry-angle-scaled
    {function} {verb} {words}: measured ratio {ratio:.4f} over {rows} rotations
    hint: return radians, axis times angle
    why: the network is trained on another unit than the engine feeds it""")
INVERSE = Rule.of("""RP855 error geometry-inverse-rotation
    {function} {verb} the inverse rotation (its transpose): {evidence}
    hint: columns are axes and vectors are columns; a row-vector formula is the transpose
    why: every bone turns the other way""")
OTHER_COLUMNS = Rule.of("""RP856 error geometry-other-columns
    {function} uses {found}, not {declared}
    hint: pass the contract's columns, or declare them: --set rot6d_columns=…, --set rot6d_packing=…
    why: six numbers read as other axes are another pose, of unit length and without a warning""")
TRANSPOSED = Rule.of("""RP857 error geometry-axes-transposed
    {function} uses {found}: axes are rows there, columns in the contract ({declared})
    hint: transpose the matrix, or stack the axes along the last dimension
    why: a transposed rotation is the inverse one: every bone turns the other way""")
MIRRORED = Rule.of("""RP858 error geometry-mirrored
    {function} gives matrices of determinant -1: its third axis is {found}
    hint: take second × first, and flip it where the determinant is negative
    why: a mirrored bone turns its mesh inside out, and no quaternion exists for it""")
COMPOSE_ORDER = Rule.of("""RP859 error geometry-compose-order
    {function} computes {found}, not {declared}
    hint: apply the delta on the left: ΔR · R_prev, columns are axes
    why: every limb turns about its own axis instead of its parent's""")
DELTA_OTHERWISE = Rule.of("""RP860 error geometry-delta-taken-otherwise
    {function} takes the delta as {found}, the contract as {declared}
    hint: add the identity's six numbers to the residual once; or declare --set output_mode=delta (or residual)
    why: with the identity missing or added twice, a network that says nothing turns every bone""")
NOT_RENORMALISED = Rule.of("""RP861 error geometry-not-renormalised
    {function} does not renormalise: {found}
    hint: Gram–Schmidt: a/|a|, then b without its part along a, normalised
    why: network outputs are never orthonormal; bones stretch and shear, more with every free-run frame""")
QUATERNION_ORDER = Rule.of("""RP862 error geometry-quaternion-order
    {function} orders quaternions {found}, the contract {declared}
    hint: move w to the end, or declare --set quaternion_order=wxyz
    why: a quaternion read in the other order is another rotation of unit length""")
VELOCITY_FRAME = Rule.of("""RP863 error geometry-velocity-frame
    {function} gives angular velocity in the {found} frame, the contract in the {declared} frame
    hint: parent: log(R[t+1] · R[t]ᵀ); bone's own: log(R[t]ᵀ · R[t+1])
    why: the axis is turned by the bone's whole rotation: right in the rest pose, wrong in motion""")
VELOCITY_RATE = Rule.of("""RP864 error geometry-velocity-rate
    {function} gives angular velocity {found} (measured {measured:.4g} for fps {fps:g})
    hint: multiply by the clip's own frames per second
    why: a character recorded at another rate seems to move faster or slower than it does""")
VELOCITY_ROWS = Rule.of("""RP865 error geometry-velocity-rows
    {function} puts velocities at {found}, the contract at {declared}
    hint: row t is the step from t to t + 1; the last row is repeated
    why: a velocity one frame late is a leak or a lag, and the network learns it""")
NOT_SHORTEST = Rule.of("""RP866 error geometry-vector-not-shortest
    {function} gives {count} of {rows} rotations an angle beyond half a turn, up to {worst_deg:.1f}°
    hint: flip the quaternion where w < 0 before taking its logarithm
    why: the same small turn is sometimes 1° one way and sometimes 359° the other: velocities explode""")
ANGLE_FLOOR = Rule.of("""RP867 warning geometry-angle-floor
    {function} reports {floor_deg:.4f}° between identical rotations in {dtype}
    hint: take atan2 of the sine and the cosine; acos of a (clamped) cosine cannot measure small angles
    why: errors below the floor cannot be seen: a perfect model and one that is off look alike""")
SMALL_ANGLES_LOST = Rule.of("""RP868 warning geometry-small-angles-lost
    {function} is off by {percent:.2g} % at a turn of {angle_deg:.4g}° in {dtype}
    hint: take 2·atan2(|v|, w) of the quaternion instead of acos of the trace
    why: one frame turns a bone by a fraction of a degree: that is where velocities come from""")
HALF_TURN_LOST = Rule.of("""RP869 warning geometry-half-turn-lost
    {function} misses a half turn by {error_deg:.3g}° ({case})
    hint: divide by the largest of the four quaternion components, not by sin θ or w
    why: a root that turns about, or a wrist that flips, becomes no turn at all or noise""")
NOT_FINITE = Rule.of("""RP870 error geometry-not-finite
    {function} returns {value} for finite input: {cases}
    hint: guard the division (or acos, or sqrt) at that point
    why: one such frame in a batch and every weight is NaN after the next step""")
NO_ROTATION = Rule.of("""RP871 warning geometry-degenerate-no-rotation
    {function} returns no rotation for {cases}: off orthonormal by {defect:.3g}
    hint: replace an axis that is too short, as the engine does; or declare --set degenerate_axis=zero
    why: the engine publishes a rotation there and training a collapsed bone; a network in trouble produces such axes""")
NAN_HIDDEN = Rule.of("""RP872 warning geometry-nan-hidden
    {function} turns a NaN in its input into {value}
    hint: let NaN go on: compare with `not (length < limit)` only where NaN is meant to pass
    why: a NaN that becomes a rotation is found hours later, somewhere else""")
ROWS_MIXED = Rule.of("""RP873 error geometry-rows-mixed
    {function} gives a rotation another result {case}: off by {error:.3g}
    hint: reduce over the last axis only, and index from the end (x[..., 0])
    why: the pose of one bone or frame depends on the rest of the batch""")
AXES_REFUSED = Rule.of("""RP874 warning geometry-leading-axes-refused
    {function} cannot take {case}: {error}
    hint: work on the last axis with `...`; reshape instead of view
    why: clips are frames × bones: a function for one rotation is looped over, or reshaped wrongly, by its callers""")
TYPE_REFUSED = Rule.of("""RP875 error geometry-type-refused
    {function} raises {error} for {dtype} input
    hint: make constants in the input's own dtype (x.new_tensor, np.eye(3, dtype=x.dtype))
    why: training runs in float32, references in float64: the function must be the same in both""")
TYPE_CHANGED = Rule.of("""RP876 warning geometry-type-changed
    {function} returns {found} for {given} input
    hint: make constants in the input's own dtype; do not cast inside
    why: a reference in float64 that is rounded to float32 inside cannot judge anything, and an upcast doubles memory""")
INTEGERS_CUT = Rule.of("""RP877 error geometry-integers-cut
    {function} returns whole numbers for whole-number input: off by {error:.3g}
    hint: turn the input into floating point first, or refuse it
    why: identity poses and test data are often written as integers""")
PRECISION_LOST = Rule.of("""RP878 warning geometry-precision-lost
    {function} is off by {error:.3g} {unit} in {dtype}, {tolerance:.3g} at most is rounding
    hint: look for a cast, a large epsilon or a subtraction of nearly equal numbers
    why: parity within rounding cannot be reached with it""")
INPUT_CHANGED = Rule.of("""RP879 error geometry-input-changed
    {function} changes its {argument} in place, by up to {error:.3g}
    hint: work on a copy: no `out=`, no `x[...] =`, no trailing-underscore method on an argument
    why: the caller's pose is another one afterwards: the next stage and the loss see the changed one""")
NOT_REPEATABLE = Rule.of("""RP880 error geometry-not-repeatable
    {function} gives another result when called again: off by {error:.3g}
    hint: no randomness, no cache and no state between calls
    why: nothing that depends on it can be reproduced""")
GRADIENT_NOT_FINITE = Rule.of("""RP881 error geometry-gradient-not-finite
    the gradient of {function} is {value} at {cases}
    hint: guard the argument, not the result: torch.where(small, 1, x) inside sqrt, acos and the divisor
    why: the loss is finite and the weights are NaN after the first step on a pose that stands still""")
NOT_WRAPPED = Rule.of("""RP882 error geometry-angle-not-wrapped
    {function} does not wrap to [-π, π]: {found}
    hint: subtract 2π·round(x / 2π)
    why: a heading that went round twice is a feature far outside of the training's range""")
NOT_JUDGED = Rule.of("""RP883 warning geometry-function-not-judged
    {function} is not judged: {why}
    hint: declare it in rigpact.toml: [[geometry.function]] with its name, role, shape and takes; role = "none" leaves it out
    why: a function that is never compared can differ from the engine for years""")
EULER_ORDER = Rule.of("""RP884 error geometry-euler-order
    {function} computes {found}; its order is {declared} ({source})
    hint: multiply the three turns in the order that is said, each angle about its own axis; or correct the order
    why: angles in another order are another pose: small near the rest pose, and wrong in every large turn""")
PRODUCT_ORDER = Rule.of("""RP885 error geometry-product-order
    {function} computes {found}, not {declared}
    hint: swap the factors: the quaternion of A·B is a · b
    why: a parent's turn and its child's are applied in the wrong order: right for one joint, wrong for a chain""")
ORDER_NOT_DECLARED = Rule.of("""RP886 info geometry-order-not-declared
    {function} computes {found} of the angles (a, b, c); no order is declared, so it is not judged
    hint: declare it: [[geometry.function]] with order = "ZYX" (about the moving axes) or "zyx" (about the fixed ones)
    why: six orders look alike near the rest pose; only a declaration tells the right one""")
TEXTS = texts(globals())
