// Every place where two correct-looking implementations differ. Written by `python -m rigpact.reports.engine.codegen` from
// the knobs of the enemy animation; the first value of each is the default. `math` is the loop's template argument.
#pragma once

namespace rigpact {
// what the network's rotations mean: ΔR, ΔR minus identity, or the next pose itself
enum class OutputMode : int { delta, residual, absolute };
// which two columns of R the six numbers hold, in this order
enum class Rot6dColumns : int { xz, xy, zx, yx, yz, zy };
// two columns one after the other, the first two rows of R, or a0 b0 a1 b1 a2 b2
enum class Rot6dPacking : int { columns, rows, interleaved };
// the cross product of the third axis; the default also flips it when det < 0, the other value trusts it
enum class DerivedAxis : int { second_cross_first, first_cross_second };
// R_next = ΔR · R_prev or R_prev · ΔR (columns are axes)
enum class ComposeOrder : int { delta_prev, prev_delta };
// whether ΔR leads to the next pose or back from it
enum class DeltaDirection : int { forward, inverse };
// where Gram–Schmidt runs: on ΔR before composing, on the composed pose after it
enum class Reproject : int { both, before, after, none };
// what replaces an axis too short to normalise; in ΔR the default is a coordinate axis
enum class DegenerateAxis : int { previous_frame, canonical, previous_frame_for_delta, zero };
// how y_norm becomes y_raw
enum class Denorm : int { std_and_mean, std_only, mean_only, variance, state_stats };
// how root velocity is squashed by its scale
enum class RootvelSquash : int { tanh, linear, none, tanh_after_zscore };
// how bone angular velocity is squashed by its scale
enum class AngvelSquash : int { tanh, linear, none, tanh_after_zscore };
// how the root yaw becomes a feature
enum class YawEncoding : int { wrapped_over_pi, unwrapped_over_pi, radians, degrees_over_180, absolute };
// order of the frames
enum class PoseHistoryOrder : int { oldest_first, newest_first };
// whether the newest entry is the current pose or the one before it
enum class PoseHistoryPhase : int { includes_current, excludes_current };
// how the history is normalised; tanh_unit_scale is the engine's fallback without statistics
enum class PoseHistoryNorm : int { tanh_zscore, tanh, tanh_unit_scale, raw };
// what stands for the frames before the first
enum class PoseHistoryStart : int { seed_pose, identity, zeros, first_target, identity_after_seed };
// what the Contacts input holds
enum class ContactsSource : int { soft_scores, binary, whitened, zeros, swapped_feet };
// the planar direction of the condition, taken from a raw clip; the last three are of the velocity
enum class ConditionDirection : int { trajectory, velocity, negated, swapped_xy, mirrored_y };
// unit of the condition's speed
enum class ConditionSpeedUnit : int { m_s, cm_s };
// pass through, or z-score over a window
enum class ConditionNorm : int { raw, zscore };
// where the AngVel input comes from
enum class AngvelSource : int { aux_stats, rotations, state_slice, frozen, zeros };
// the rotation vector's angle: θ or θ/2
enum class AngvelAngle : int { full, half };
// the frame in which the rotation vector is expressed
enum class AngvelFrame : int { parent, local };
// frames by which the AngVel input runs ahead
enum class AngvelLag : int { same_frame, one_earlier, one_later };
// which frame ΔR is applied to; +1 is the target itself, a leak
enum class PreviousPoseLag : int { same_frame, one_earlier, one_later };
// change of handedness of the published pose: R becomes S·R·S with S = diag(±1)
enum class Mirror : int { none, x, y, z };
// component order of published quaternions
enum class QuaternionOrder : int { xyzw, wxyz };
// which state slices free-run renews from the output
enum class Writeback : int { output_slices, none, all };
struct Conventions {
    OutputMode output_mode = OutputMode::delta;
    Rot6dColumns rot6d_columns = Rot6dColumns::xz;
    Rot6dPacking rot6d_packing = Rot6dPacking::columns;
    DerivedAxis derived_axis = DerivedAxis::second_cross_first;
    ComposeOrder compose_order = ComposeOrder::delta_prev;
    DeltaDirection delta_direction = DeltaDirection::forward;
    Reproject reproject = Reproject::both;
    DegenerateAxis degenerate_axis = DegenerateAxis::previous_frame;
    Denorm denorm = Denorm::std_and_mean;
    RootvelSquash rootvel_squash = RootvelSquash::tanh;
    AngvelSquash angvel_squash = AngvelSquash::tanh;
    YawEncoding yaw_encoding = YawEncoding::wrapped_over_pi;
    PoseHistoryOrder pose_history_order = PoseHistoryOrder::oldest_first;
    PoseHistoryPhase pose_history_phase = PoseHistoryPhase::includes_current;
    PoseHistoryNorm pose_history_norm = PoseHistoryNorm::tanh_zscore;
    PoseHistoryStart pose_history_start = PoseHistoryStart::seed_pose;
    ContactsSource contacts_source = ContactsSource::soft_scores;
    ConditionDirection condition_direction = ConditionDirection::trajectory;
    ConditionSpeedUnit condition_speed_unit = ConditionSpeedUnit::m_s;
    ConditionNorm condition_norm = ConditionNorm::raw;
    AngvelSource angvel_source = AngvelSource::aux_stats;
    AngvelAngle angvel_angle = AngvelAngle::full;
    AngvelFrame angvel_frame = AngvelFrame::parent;
    AngvelLag angvel_lag = AngvelLag::same_frame;
    PreviousPoseLag previous_pose_lag = PreviousPoseLag::same_frame;
    Mirror mirror = Mirror::none;
    QuaternionOrder quaternion_order = QuaternionOrder::xyzw;
    Writeback writeback = Writeback::output_slices;
    int input_order[5] = {0, 1, 2, 3, 4};  // which of state, cond, contacts, angvel, pose_hist is bound at each position
    const int* bone_order = nullptr;       // slot i is published from bone bone_order[i]; null: as declared
};

inline bool same_conventions(const Conventions& a, const Conventions& b, int bones) {
    bool same = true;
    same = same && a.output_mode == b.output_mode;
    same = same && a.rot6d_columns == b.rot6d_columns;
    same = same && a.rot6d_packing == b.rot6d_packing;
    same = same && a.derived_axis == b.derived_axis;
    same = same && a.compose_order == b.compose_order;
    same = same && a.delta_direction == b.delta_direction;
    same = same && a.reproject == b.reproject;
    same = same && a.degenerate_axis == b.degenerate_axis;
    same = same && a.denorm == b.denorm;
    same = same && a.rootvel_squash == b.rootvel_squash;
    same = same && a.angvel_squash == b.angvel_squash;
    same = same && a.yaw_encoding == b.yaw_encoding;
    same = same && a.pose_history_order == b.pose_history_order;
    same = same && a.pose_history_phase == b.pose_history_phase;
    same = same && a.pose_history_norm == b.pose_history_norm;
    same = same && a.pose_history_start == b.pose_history_start;
    same = same && a.contacts_source == b.contacts_source;
    same = same && a.condition_direction == b.condition_direction;
    same = same && a.condition_speed_unit == b.condition_speed_unit;
    same = same && a.condition_norm == b.condition_norm;
    same = same && a.angvel_source == b.angvel_source;
    same = same && a.angvel_angle == b.angvel_angle;
    same = same && a.angvel_frame == b.angvel_frame;
    same = same && a.angvel_lag == b.angvel_lag;
    same = same && a.previous_pose_lag == b.previous_pose_lag;
    same = same && a.mirror == b.mirror;
    same = same && a.quaternion_order == b.quaternion_order;
    same = same && a.writeback == b.writeback;
    for (int i = 0; i < 5; ++i) same = same && a.input_order[i] == b.input_order[i];
    for (int i = 0; i < bones; ++i) {
        const int from_a = a.bone_order == nullptr ? i : a.bone_order[i];
        same = same && from_a == (b.bone_order == nullptr ? i : b.bone_order[i]);
    }
    return same;
}

}  // namespace rigpact
