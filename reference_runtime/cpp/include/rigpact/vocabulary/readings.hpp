// Readings of the operations of declared contracts, as a plan numbers them. Written by `python -m rigpact.reports.engine.codegen`
// from the `readings` of each operation of the vocabulary.
#pragma once

namespace rigpact {
namespace vocabulary {
// what stands before the first frame
enum class Start : int { unknown, first, zeros };
// x · scale + offset, or (x - subtract) · scale
enum class AffineReading : int { scale_first, constant_first };
// every number within its range
enum class ClipReading : int { clamped, none, scaled_to_range, low_only, high_only };
// the product of two rotations
enum class ComposeReading : int { first_second, second_first, inverse_of_first, inverse_of_second, first_only, second_only };
// rotations from one form to another
enum class ConvertReading : int { quaternion, matrix, six_numbers, rotation_vector, euler };
// state + step · rate
enum class IntegrateReading : int { derivative, absolute, delta, negated, skipped };
// a quaternion turned by an angular velocity
enum class IntegrateRotationReading : int { left, right };
// how long vectors are
enum class NormReading : int { euclidean, squared, absolute_sum, largest };
// points from a frame's point of view
enum class RelativeReading : int { into_frame, out_of_frame, into_frame_origin_kept, into_frame_turned_forward, into_frame_not_turned, out_of_frame_not_turned };
// a vector by a quaternion
enum class RotateReading : int { forward, inverse, none };
// tanh, sigmoid and their like
enum class SquashReading : int { tanh, sigmoid, softmax, softplus, exp, log, arctanh, arcsin, elu, relu };
// 1 beyond a limit, else 0
enum class ThresholdReading : int { above, below, not_applied };
// angles into one turn
enum class WrapReading : int { symmetric, positive, none };

}  // namespace vocabulary
}  // namespace rigpact
