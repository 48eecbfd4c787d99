"""What to look for in the code if a convention differs: one line of C++ and one of Python for each value.

A line shows the code of the value that was *found*.
To add a knob's hint: a row in `HINTS`; a test requires one for every value.
"""

from __future__ import annotations

from collections.abc import Mapping

from rigpact.contract.conventions import CodeHint as Hint

HINTS: Mapping[str, Mapping[str, Hint]] = {
    "output_mode": {
        "delta": Hint("Delta6D = Y * StdY + MuY; // MuY added", "delta = reproject(y * std + mu)"),
        "residual": Hint(
            "Delta6D = Y * StdY + Identity6D; // MuY not added", "delta = reproject(y * std + identity6d)"
        ),
        "absolute": Hint("Next6D = Y * StdY + MuY; // no composition", "r_next = reproject(y * std + mu)"),
    },
    "rot6d_columns": {
        columns: Hint(
            f"GetScaledAxis(EAxis::{columns[0].upper()}), GetScaledAxis(EAxis::{columns[1].upper()})",
            f'columns=("{columns[0].upper()}", "{columns[1].upper()}")',
        )
        for columns in ("xz", "xy", "zx", "yx", "yz", "zy")
    },
    "rot6d_packing": {
        "columns": Hint("A = (v[0],v[1],v[2]); B = (v[3],v[4],v[5]); // axes", "torch.cat((R[..., 0], R[..., 2]), -1)"),
        "rows": Hint(
            "rows of the matrix are written, not its axes", "R[..., :2, :].reshape(-1, 6)  # PyTorch3D's order"
        ),
        "interleaved": Hint(
            "A = (v[0],v[2],v[4]); B = (v[1],v[3],v[5]);", "R[..., :2].reshape(-1, 6)  # a0 b0 a1 b1 a2 b2"
        ),
    },
    "derived_axis": {
        "second_cross_first": Hint("Y = Z ^ X; // flipped if det < 0", "y = cross(z, x)"),
        "first_cross_second": Hint("Y = X ^ Z; // and no determinant check", "y = cross(x, z)"),
    },
    "compose_order": {
        "delta_prev": Hint("PrevM * DeltaM with row vectors is ΔR·R_prev", "r_next = delta @ r_prev"),
        "prev_delta": Hint("DeltaM * PrevM with row vectors is R_prev·ΔR: swap the factors", "r_next = r_prev @ delta"),
    },
    "delta_direction": {
        "forward": Hint("DeltaM as decoded", "delta"),
        "inverse": Hint("DeltaM.GetTransposed(): rows taken for columns somewhere?", "delta.transpose(-1, -2)"),
    },
    "reproject": {
        "both": Hint("Reproject6D before and after composing", "reproject(delta); reproject(r_next)"),
        "before": Hint("the second Reproject6D, after composing, is missing", "reproject(delta) only"),
        "after": Hint("the first Reproject6D, on ΔR, is missing", "reproject(r_next) only"),
        "none": Hint("no Reproject6D at all", "no reproject at all"),
    },
    "degenerate_axis": {
        "previous_frame": Hint(
            "Axis.SizeSquared() < 1e-8 ? PrevAxis", "where(norm < 1e-4, previous_axis, axis / norm)"
        ),
        "canonical": Hint("Axis.IsNearlyZero() ? FVector::ForwardVector", "where(norm < 1e-4, unit_axis, axis / norm)"),
        "previous_frame_for_delta": Hint(
            "Reproject6D(Delta6D, PrevPose): a turn takes an axis of the previous pose",
            "delta = where(norm < 1e-4, previous_axis, axis / norm)",
        ),
        "zero": Hint("Axis / FMath::Max(Axis.Size(), 1e-8)", "axis / norm.clamp_min(1e-8)"),
    },
    "denorm": {
        "std_and_mean": Hint("Y * StdY + MuY", "y * std + mu"),
        "std_only": Hint("Y * StdY; // MuY is missing", "y * std"),
        "mean_only": Hint("Y + MuY; // StdY is missing", "y + mu"),
        "variance": Hint("Y * StdY * StdY + MuY; // variance taken for std", "y * var + mu"),
        "state_stats": Hint("Y * StdX[RotStart + i] + MuX[RotStart + i]", "y * std_x[rot] + mu_x[rot]"),
    },
    "rootvel_squash": {
        "tanh": Hint("FMath::Tanh(V / Scale)", "torch.tanh(v / scale)"),
        "linear": Hint("V / Scale; // the tanh is missing", "v / scale"),
        "none": Hint("V; // neither scale nor tanh", "v"),
        "tanh_after_zscore": Hint("Tanh(((V - Mu) / Std) / Scale); // order", "torch.tanh(((v - mu) / std) / scale)"),
    },
    "yaw_encoding": {
        "wrapped_over_pi": Hint("FMath::UnwindRadians(Yaw) / PI", "wrap_to_pi(yaw) / pi"),
        "unwrapped_over_pi": Hint("Yaw / PI; // not unwound", "yaw / pi"),
        "radians": Hint("FMath::UnwindRadians(Yaw); // not divided by PI", "wrap_to_pi(yaw)"),
        "degrees_over_180": Hint("Yaw / 180.f; // radians taken for degrees", "yaw / 180"),
        "absolute": Hint("FMath::Abs(FMath::UnwindRadians(Yaw)) / PI; // sign lost", "wrap_to_pi(yaw).abs() / pi"),
    },
    "pose_history_order": {
        "oldest_first": Hint("for (i = 0; i < H; ++i) Ring[(Head + i) % H]", "torch.cat(history)"),
        "newest_first": Hint("for (i = H; i-- > 0;) Ring[(Head + i) % H]; // reversed", "torch.cat(history[::-1])"),
    },
    "pose_history_phase": {
        "includes_current": Hint("PushPoseHistoryFrame before inference", "history[t - H + 1 : t + 1]"),
        "excludes_current": Hint("PushPoseHistoryFrame after inference: one frame late", "history[t - H : t]"),
    },
    "pose_history_norm": {
        "tanh_zscore": Hint("(Tanh(V / Scale) - Mu) / Std", "(tanh(v / scale) - mu) / std"),
        "tanh": Hint("Tanh(V / Scale); // Mu and Std absent", "tanh(v / scale)"),
        "tanh_unit_scale": Hint("Tanh(V); // no statistics in the bundle: the engine's fallback", "tanh(v)"),
        "raw": Hint("V; // not normalised", "v"),
    },
    "pose_history_start": {
        "seed_pose": Hint("ResetPoseHistoryFromPose(Seed)", "history = [pose[0]] * H"),
        "identity": Hint("ResetPoseHistoryFromPose(Identity); // no seed given", "history = [identity] * H"),
        "zeros": Hint("Ring.Init(0.f, ...); // never reset", "history = torch.zeros(H, ...)"),
        "first_target": Hint("seeded with the frame after the first", "history = [pose[1]] * H  # its own target"),
        "identity_after_seed": Hint(
            "the free run resets the ring to identity after the seed: no pose-history statistics in its file",
            "history = [identity] * H  # in free-run; [pose[0]] * H where a clip drives",
        ),
    },
    "contacts_source": {
        "soft_scores": Hint("Contacts = SoftContactScore", "evidence.soft_contact_score"),
        "binary": Hint("Contacts = Score >= 0.5f ? 1.f : 0.f", "(score >= 0.5).float()"),
        "whitened": Hint("(Score - MuX[Contacts]) / StdX[Contacts]", "(score - mu) / std"),
        "zeros": Hint("no Contacts slice in the schema: zeros are bound", "torch.zeros(2)"),
        "swapped_feet": Hint("right foot first", "score[[1, 0]]"),
    },
    "condition_direction": {
        "trajectory": Hint("TrajectoryDir[Num / 2]", "trajectory_dir[len // 2]"),
        "velocity": Hint("RootVelocityXY.GetSafeNormal()", "velocity / speed"),
        "negated": Hint("-RootVelocityXY.GetSafeNormal()", "-velocity / speed"),
        "swapped_xy": Hint("FVector2D(V.Y, V.X)", "velocity[[1, 0]] / speed"),
        "mirrored_y": Hint("FVector2D(V.X, -V.Y)", "velocity * [1, -1] / speed"),
    },
    "condition_speed_unit": {
        "m_s": Hint("Speed * 0.01f; // cm/s to m/s", "speed"),
        "cm_s": Hint("Speed; // still in cm/s", "speed * 100"),
    },
    "condition_norm": {
        "raw": Hint("CondNormMode = Raw", "cond"),
        "zscore": Hint("CondNormMode = ZScore", "(cond - mean) / std"),
    },
    "angvel_source": {
        "aux_stats": Hint(
            "raw angular velocity with MuAngVel, StdAngVel", "(tanh(w / scale) - mu_angvel) / std_angvel"
        ),
        "rotations": Hint("log of consecutive rotations × fps, then MuAngVel", "angvel_vec_from_R_seq(R) * fps"),
        "state_slice": Hint("CopySlice(XNorm, BoneAngularVelocities)", "state_norm[angvel_slice]"),
        "frozen": Hint("AngVel set at reset and never again", "angvel[0] for every t"),
        "zeros": Hint("AngVel buffer never filled", "torch.zeros(3 * bones)"),
    },
    "angvel_angle": {
        "full": Hint("Axis * Angle", "so3_log_map(R)"),
        "half": Hint("Axis * (Angle / 2); // acos(W) without the 2", "so3_log_map(R) / 2  # legacy"),
    },
    "angvel_frame": {
        "parent": Hint("log(Next * Prev⁻¹)", "log(R[1:] @ R[:-1].mT)"),
        "local": Hint("log(Prev⁻¹ * Next); // in the bone's own frame", "log(R[:-1].mT @ R[1:])"),
    },
    "angvel_lag": {
        "0": Hint("AngVel of this frame", "angvel[t]"),
        "-1": Hint("AngVel of the frame before", "angvel[t - 1]"),
        "+1": Hint("AngVel of the frame after", "angvel[t + 1]"),
    },
    "previous_pose_lag": {
        "0": Hint("PrevM from the raw state of this frame", "r_prev = pose[t]"),
        "-1": Hint("PrevM one frame stale: cached before the state was replaced", "r_prev = pose[t - 1]"),
        "+1": Hint("PrevM is the target frame: a leak", "r_prev = pose[t + 1]  # the target"),
    },
    "mirror": {
        "none": Hint("no change of handedness", "R"),
        "x": Hint("x negated: S·R·S, S = diag(-1,1,1)", "S @ R @ S"),
        "y": Hint("y negated: S·R·S, S = diag(1,-1,1)", "S @ R @ S"),
        "z": Hint("z negated: S·R·S, S = diag(1,1,-1)", "S @ R @ S"),
    },
    "quaternion_order": {
        "xyzw": Hint("FQuat(X, Y, Z, W)", "quat[..., [0, 1, 2, 3]]"),
        "wxyz": Hint("W first", "quat[..., [3, 0, 1, 2]]"),
    },
    "writeback": {
        "output_slices": Hint("copy slices that both layouts have", "x[rot] = y_out"),
        "none": Hint("nothing is written back: the state never moves", "x"),
        "all": Hint("angular velocity and root position are renewed too", "x[rot], x[angvel], x[root] = ..."),
    },
    "math": {
        "f64": Hint("FVector of double (UE 5)", "torch.float64"),
        "f32": Hint("FVector of float (UE 4)", "torch.float32"),
    },
}
_SAME_SQUASH = {"angvel_squash": "rootvel_squash"}


def knob_hints(knob: str) -> Mapping[str, Hint]:
    """For each value of a knob the line that shows its code on each side."""
    return HINTS.get(_SAME_SQUASH.get(knob, knob), {})
