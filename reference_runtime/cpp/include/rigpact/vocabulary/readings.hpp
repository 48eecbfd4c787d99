// Readings of operations, and of the conventions that operations on a character share, as a plan numbers them. Written by
// `python -m rigpact.reports.engine.cpp_text` from the vocabulary.
#pragma once

namespace rigpact {
// the rotation vector's angle: θ or θ/2
enum class AngvelAngle : int { full, half };
// the frame in which the rotation vector is expressed
enum class AngvelFrame : int { parent, local };
// frames by which the AngVel input runs ahead
enum class AngvelLag : int { same_frame, one_earlier, one_later };
// where the AngVel input comes from
enum class AngvelSource : int { aux_stats, rotations, state_slice, frozen, zeros };
// how bone angular velocity is squashed by its scale
enum class AngvelSquash : int { tanh, linear, none, tanh_after_zscore };
// R_next = ΔR · R_prev or R_prev · ΔR (columns are axes)
enum class ComposeOrder : int { delta_prev, prev_delta };
// the planar direction of the condition, taken from a raw clip; the last three are of the velocity
enum class ConditionDirection : int { trajectory, velocity, negated, swapped_xy, mirrored_y };
// pass through, or z-score over a window
enum class ConditionNorm : int { raw, zscore };
// unit of the condition's speed
enum class ConditionSpeedUnit : int { m_s, cm_s };
// the numbers of the Contacts input
enum class ContactsSource : int { soft_scores, binary, whitened, zeros, swapped_feet };
// the replacement of an axis too short to normalise; in ΔR the default is a coordinate axis
enum class DegenerateAxis : int { previous_frame, canonical, previous_frame_for_delta, zero };
// whether ΔR leads to the next pose or back from it
enum class DeltaDirection : int { forward, inverse };
// how y_norm becomes y_raw
enum class Denorm : int { std_and_mean, std_only, mean_only, variance, state_stats };
// the cross product of the third axis; the default also flips it when det < 0, the other value trusts it
enum class DerivedAxis : int { second_cross_first, first_cross_second };
// precision between float32 roundings; benign, never a defect
enum class Math : int { f64, f32 };
// change of handedness of the published pose: R becomes S·R·S with S = diag(±1)
enum class Mirror : int { none, x, y, z };
// the meaning of the network's rotations: ΔR, ΔR minus identity, or the next pose itself
enum class OutputMode : int { delta, residual, absolute };
// how the history is normalised; tanh_unit_scale is the engine's fallback without statistics
enum class PoseHistoryNorm : int { tanh_zscore, linear, tanh, tanh_unit_scale, raw };
// order of the frames
enum class PoseHistoryOrder : int { oldest_first, newest_first };
// whether the newest entry is the current pose or the one before it
enum class PoseHistoryPhase : int { includes_current, excludes_current };
// the poses before the first frame
enum class PoseHistoryStart : int { seed_pose, identity, zeros, first_target, identity_after_seed };
// which frame ΔR is applied to; +1 is the target itself, a leak
enum class PreviousPoseLag : int { same_frame, one_earlier, one_later };
// component order of published quaternions
enum class QuaternionOrder : int { xyzw, wxyz };
// where Gram–Schmidt runs: on ΔR before composing, on the composed pose after it
enum class Reproject : int { both, before, after, none };
// how root velocity is squashed by its scale
enum class RootvelSquash : int { tanh, linear, none, tanh_after_zscore };
// which two columns of R the six numbers hold, in this order
enum class Rot6dColumns : int { xz, xy, zx, yx, yz, zy };
// two columns one after the other, the first two rows of R, or a0 b0 a1 b1 a2 b2
enum class Rot6dPacking : int { columns, rows, interleaved };
// which state slices free-run renews from the output
enum class Writeback : int { output_slices, none, all };
// how the root yaw becomes a feature
enum class YawEncoding : int { wrapped_over_pi, unwrapped_over_pi, radians, degrees_over_180, absolute };

namespace vocabulary {
// the value before the first frame
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
// rotations of joints, and where the root is: where each joint is, along declared parents
enum class JointPositionsReading : int { quaternion, matrix, six_numbers, rotation_vector, euler };
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
