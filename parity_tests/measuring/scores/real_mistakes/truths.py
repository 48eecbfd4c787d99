"""What is true of each mistake: facts about the recordings, and the ways to say it.

Channels are those of the recording: `joint_7` is the policy's channel 4 in `lab`. A way that names a convention stands beside
ways that name what it does, since another search may find the number before the word. To add a mistake: a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from ..grading import Right, of_parts, right

LATE = (
    r"\bt ?[-−] ?1\b|(one|1|a) frame (late|old|before|behind|ago|earlier)|frame before|previous frame"
    r"|delay\w*( of| by)?( one| 1)"
)
DEGREES = r"degrees?\b|deg/s|180/π|57\.29?|57\.3"
WITHOUT = (
    r"missing|dropped|skipped|left out|without|omitted|\bnone\b|linear"
    r"|not (added|applied|subtracted|taken|clamped|clipped|squashed)"
)
CLIP = r"clip|clamp|limited|held between"
EXCHANGED = r"exchang|swap|in place of|holds?\b|reorder|permut|other channels|other parts"
ORDER = r"order|permut|other channels|index|\bmap\b|holds?\b"
SIGN = r"sign|negat|flip|(^|[^\d.])[-−]1 times|times [-−]1\b"
ZERO = r"\bzeros?\b|(number|constant|always|stuck at|is|holds?) 0\b|held at the value of frame 0"
HALF = r"float16|half.precision|binary16"

# fmt: off
_LAB = {
    "action_clip_added": right("processed_action action", (CLIP, r"(?<![_\w])action\b", 1.0)),
    "action_degrees": right("processed_action", ("processed_action", DEGREES)),
    "action_offset_missing": right("processed_action", "processed_action.offset=none", ("offset|default_pose", WITHOUT)),
    "action_one_frame_late": right("processed_action", (LATE,)),
    "action_scale_missing": right("processed_action", "processed_action.scale=none", ("scale", WITHOUT), ("scale", 1.0),
        ("action", 4.0)),
    "action_sdk_order_from_policy": right("last_action processed_action action", ("sdk", ORDER),
        ("permut|reorder|other channels",)),
    "action_tanh": right("processed_action action", ("tanh", r"(?<![_\w])action\b")),
    "ang_vel_degrees": right("base_ang_vel", ("base_ang_vel", DEGREES)),
    "ang_vel_scale_0_25": right("obs base_ang_vel_scaled base_ang_vel", ("ang_vel", 0.25), ("ang_vel", 1.25),
        (r"\b0\b.*\b1[45]\b", 1.25)),
    "ang_vel_xy_swapped": right("base_ang_vel", ("y, x, z",), ("exchang|swap", r"\bx\b", r"\by\b"), ("exchang|swap", 0.0, 1.0)),
    "command_clip_missing": right("velocity_commands", "velocity_commands.applied=none", (CLIP, WITHOUT)),
    "command_deadband": right("velocity_commands", ("dead.?(band|zone)|near zero|below|smaller|nearer|within", 0.1)),
    "command_one_frame_late": right("velocity_commands", (LATE,)),
    "command_scaled_to_range": right("velocity_commands", "velocity_commands.applied=scaled_to_range", ("range", "scale|times"),
        ("scale|times", 0.3, 0.2)),
    "command_zero": right("velocity_commands", (ZERO,)),
    "default_pose_indexed_by_sdk": right("joint_pos_rel", "joint_pos_rel.subtract=in_order_of_sdk", ("default_pose", "sdk")),
    "default_pose_one_joint_wrong": right("joint_pos_rel", (r"joint_18\b|\b21\b", 0.1), (r"joint_18\b|\b21\b", 0.87)),
    "dq_degrees": right("joint_vel_rel", (r"joint_vel_rel|\bdq\b", DEGREES)),
    "dq_one_frame_late": right("joint_vel_rel", (LATE,)),
    "dq_order_sdk": right("joint_vel_rel", "joint_vel_rel.order=as_given", (r"joint_vel_rel|\bdq\b", "sdk", ORDER)),
    "dq_scale_missing": right("obs joint_vel_scaled", "joint_vel_scaled.scale=none", ("joint_vel_scaled", "scale", 1.0),
        ("joint_vel", 20.0)),
    "gravity_euler_small_angle": right("projected_gravity", ("small.angle",), ("pitch|euler", "roll|euler")),
    "gravity_in_world": right("projected_gravity", "projected_gravity.direction=none", ("world",), ("not (turned|rotated)",)),
    "gravity_not_unit": right("projected_gravity", "projected_gravity.vector=times_9.81", (9.81,)),
    "gravity_quat_read_as_xyzw": right("projected_gravity", "projected_gravity.quaternion_order=xyzw",
        ("quat", "x, y, z, w|xyzw")),
    "gravity_quat_yz_swapped": right("projected_gravity", ("quat", "w, x, z, y"), ("quat", EXCHANGED, r"\by\b", r"\bz\b"),
        ("quat", EXCHANGED, 2.0, 3.0)),
    "gravity_x_sign": right("projected_gravity", ("-x, y, z",), (SIGN, r"\bx\b|\[0\]|channel 0")),
    "history_frame_major": right("obs", "obs.layout=frame_major", ("frame by frame|frame.major",)),
    "history_oldest_repeated": right("obs", ("oldest", "second|repeat|twice|again"), (r"t ?[-−] ?3\b", r"t ?[-−] ?4\b"),
        (r"_3\b", r"_4\b"), (r"_3\b", LATE), (r"\b3:6\b", r"\b0:3\b"), ("entry 1|step 1", "entry 0|step 0")),
    "history_ring_unrolled": right("obs", (r"\bring\b|unroll|circular|wrap",), ("roll|rotat", "histor|buffer|entr|slot")),
    "kd_arms_low": right("motor_kd", (r"\b15\b|joint_15\b", 0.1), (r"\b15\b|joint_15\b", 1.0)),
    "kp_halved": right("motor_kp", (0.5,)),
    "kp_order_permuted": right("motor_kp", "motor_kp.order=policy", ("stiffness|kp", "policy", ORDER)),
    "last_action_one_frame_late": right("last_action", (LATE,), (r"t ?[-−] ?2\b",)),
    "last_action_scaled": right("last_action", (0.25,)),
    "last_action_zero": right("last_action", (ZERO,)),
    "motor_one_joint_sign": right("motor_q", (r"joint_4\b|\b4\b|\b13\b", SIGN)),
    "motor_order_policy": right("motor_q", "motor_q.order=as_given", ("policy", ORDER)),
    # of terms that are scaled, the same clamp at 0.2 and 0.05
    "obs_clip_added": right("obs base_ang_vel_scaled joint_vel_scaled", (CLIP, 1.0), (CLIP, 0.2), (CLIP, 0.05)),
    "obs_one_frame_late": right("obs", "obs.delay=one_frame", (LATE,)),
    "policy_every_second_step": right(
        "base_ang_vel projected_gravity velocity_commands joint_pos_rel joint_vel_rel last_action obs action",
        ("every (second|other|2nd)|odd frames|every 2 frames|(one|1) (frame )?(in|of) (two|2)",)),
    "policy_input_half_precision": right("action obs", (HALF,)),
    "q_degrees": right("q_policy joint_pos_rel", ("q", DEGREES)),
    # the label says motor 7; the recording has motor 9, the policy's channel 10
    "q_one_joint_sign": right("joint_pos_rel q_policy", (r"joint_9\b|\b10\b", SIGN)),
    "q_order_sdk": right("joint_pos_rel q_policy", "q_policy.order=as_given", (r"\bq\b|q_policy", "sdk", ORDER)),
    "q_wrists_swapped": right("joint_pos_rel q_policy", (EXCHANGED, r"joint_21\b|\b27\b", r"joint_28\b|\b28\b")),
    "sensor_dropout": right("base_ang_vel projected_gravity joint_pos_rel joint_vel_rel q_policy obs",
        (f"{LATE}|held|stuck|old", 17.0, 57.0, 97.0)),
    "terms_action_before_dq": right("obs", "obs.terms=joint_vel_scaled_and_last_action_exchanged",
        (EXCHANGED, "joint_vel", "last_action")),
    "terms_dq_before_q": right("obs", "obs.terms=joint_pos_rel_and_joint_vel_scaled_exchanged",
        (EXCHANGED, "joint_pos", "joint_vel")),
    "update_after_compute": right("base_ang_vel projected_gravity joint_pos_rel joint_vel_rel q_policy obs", (LATE,)),
}
_MJLAB = {
    "action_clip_added": right("processed_action action", (CLIP, r"(?<![_\w])action\b", 1.0)),
    "action_one_frame_late": right("processed_action", (LATE,)),
    "action_scale_right_leg_shifted": right("processed_action",
        ("scale", r"joint_6\b|\b6\b|right", "shift|one (channel|place|joint)|next|before|rolled|t ?[-+]"),
        ("scale", r"joint_6\b|\b6\b", r"joint_11\b|\b11\b"), ("action_scale", 0.35, 0.55, 0.44)),
    "ang_vel_in_world": right("base_ang_vel", "base_ang_vel.direction=forward", ("world", "ang_vel")),
    "command_clip_missing": right("velocity_commands", "velocity_commands.applied=none", (CLIP, WITHOUT)),
    "default_pose_not_subtracted": right("joint_pos_rel", "joint_pos_rel.subtract=none", ("default_pose|subtract", WITHOUT)),
    "gains_not_set": of_parts("motor_kp motor_kd", (("motor_kp|stiffness", 60.0),),
        (("motor_kd|damping", 1.0), ("motor_kd|damping", r"\bones\b"))),
    "gravity_in_world": right("projected_gravity", "projected_gravity.direction=none", ("world",), ("not (turned|rotated)",)),
    "gravity_quat_read_as_xyzw": right("projected_gravity", "projected_gravity.quaternion_order=xyzw",
        ("quat", "x, y, z, w|xyzw")),
    "kp_kd_swapped": of_parts("motor_kp motor_kd", (("motor_kp", "damping|motor_kd"),), (("motor_kd", "stiffness|motor_kp"),)),
    "motor_arms_swapped": right("motor_q", (EXCHANGED, r"\b15:22\b", r"\b22:29\b"),
        (EXCHANGED, r"joint_15\b|\b15\b", r"joint_22\b|\b22\b"), (EXCHANGED, "left", "right")),
    "policy_input_half_precision": right("action obs", (HALF,)),
    "q_isaac_order": right("joint_pos_rel", ("permut|other channels|reorder|order of",),
        (r"holds?\b", r"joint_\d+.*joint_\d+")),
    "q_one_joint_sign": right("joint_pos_rel", (r"joint_7\b|\b7\b", SIGN)),
    "terms_gravity_before_ang_vel": right("obs", "obs.order=base_ang_vel_and_projected_gravity_exchanged",
        (EXCHANGED, "ang_vel", "gravity")),
}
_NETWORKS = "projector_output stepper_input_normalised stepper_output decompressor_output projector_input stepper_input"
"""The networks' vectors; the projector's answer was not recorded, and stands in stepper_input where it was asked."""
_LMM = {
    "contacts_threshold": right("contacts", "contacts.limit=zero", ("threshold|limit", 0.0)),
    "decompressor_last_latent_lost": right("decompressor_input", (r"\bl31\b|\b58\b", ZERO)),
    "decompressor_latent_zero": right("decompressor_input", ("latent", ZERO), (ZERO, r"\b27\b.*\b5[89]\b"), (ZERO, r"\bl0\b")),
    "net_denormalise_mean_first": right(_NETWORKS, ("mean", r"before|first|times|\* ?std")),
    "net_leaky_relu": right(_NETWORKS, ("leaky",)),
    "net_normalise_multiplies": right(_NETWORKS, ("std|scale", "invert|inverse|multipl|times")),
    "net_square_weights_transposed": right(_NETWORKS, ("transpos", "weight|matri|network")),
    "positions_one_bone_left": right("bone_positions", (r"\b0:63\b", r"\b3:66\b"),
        (r"shift|next|one bone|one part|\+1|places? on|3 channels",)),
    "projector_query_not_normalised": right("projector_input projector_output", "projector_input.applied=skipped",
        ("projector_input|normalis|query", WITHOUT)),
    "query_direction_from_x_axis": right("query_trajectory facing local_facing flat_facing",
        (r"facing\.vector|facing|direction", r"channel before|1, ?0, ?0|\bx axis|from x|shift|exchang|swap")),
    "query_trajectory_forward_rotation": right("query_trajectory local_points local_facing",
        "local_points.direction=into_frame_turned_forward", "local_facing.direction=forward",
        "local_points.direction=into_frame_turned_forward local_facing.direction=forward",
        ("inverse|conjugat|forward|not inverted",)),
    "query_trajectory_one_sample_early": right("query_trajectory points turns flat_points", (r"\bnow\b", r"\bt20\b"),
        ("sample", "early|before|shift|first"),
        (r"trajectory_positions read|trajectory_positions\[0:3\]|points\b.*(before|shift)",)),
    "root_position_after_rotation": right("root_position root_velocity_world",
        (r"root_rotation\b(?!_in)", "in place of|already|updated|new|after|of root_rotation")),
    "root_rotation_half_angle_missing": right("root_rotation", "root_rotation.angle=full", (2.0, "rate|angle|twice"),
        ("half|twice",)),
    "root_velocity_inverse_rotation": right("root_position root_velocity_world", "root_velocity_world.direction=inverse",
        ("inverse|conjugat", "root_velocity|root_rotation")),
    "rotation_columns_not_interleaved": right("bone_rotations", "bone_rotations.reads=columns_first_kept",
        ("interleav|columns",)),
    "rotation_inverted": right("bone_rotations", "bone_rotations.sense=transposed", ("inverse|transpos|conjugat",)),
    "stepper_dt_30_hz": right("features latent", (2.0, "rate"), (1 / 30,), (30.0,)),
    "stepper_output_is_next_state": right("features latent", "features.rate_means=absolute", "latent.rate_means=absolute",
        "features.rate_means=absolute latent.rate_means=absolute", ("stepper_output|rate", "absolute|not a rate|next")),
}
_ENGINE = {
    "angvel_no_tanh": right("angvel state", "angvel_squash=linear", ("tanh", WITHOUT)),
    "bones_lr_swapped": right("", ("left", "right")),
    "compose_order": right("next6d", "compose_order=prev_delta", ("other side|right side|prev.*delta|order",)),
    "cond_first_trajectory": right("cond_raw cond", ("first", "trajectory")),
    "dt_30hz": right("", ("30",)),
    # the oldest entry is the one that should be second, and one slot in turn was never written
    "history_head_off_by_one": of_parts("pose_hist_raw", (("hist", r"t ?\+ ?1\b|newer|early|wrap|ring"),),
        (("hist", "wrap|ring|slot|never|not written|unset|stuck"),)),
    "history_no_tanh": right("pose_hist", ("tanh", f"{WITHOUT}|before"), "pose_history_norm=linear",
        "pose_history_norm=zscore"),
    "history_pushed_late": right("pose_hist_raw", "pose_history_phase=excludes_current", ("hist", LATE)),
    "identity_not_added": right("delta6d", "output_mode=delta denorm=std_only", "output_mode=delta",
        ("identity", f"{WITHOUT}|not")),
    # delta6d of the last bone is zero and next6d of it is y_raw
    "last_bone_not_composed": right("delta6d next6d", ("next6d", r"from y_raw\[270:276\]"),
        (r"\b270\b|last (bone|part)|\bball_r\b", f"not composed|skipped|left out|{ZERO}")),
    "mu_added_to_residual": right("y_raw", "output_mode=delta", "denorm=std_and_mean", ("mean|MuY", "added|more")),
    "n11_history_every_second": right("pose_hist_raw", ("hist", "every (second|other|2nd)|every 2|odd frames|hold")),
    "n1_right_arm_prev_of_left": right("next6d", (r"\bleft|_l\b|L_", r"right|_r\b|R_", "previous|x_raw|prev"),
        (r"\b102\b", "x_raw|previous|prev")),
    "n3_rootvel_clamped": right("state", (CLIP, 0.5)),
    "n5_history_stride_last_bones": right("pose_hist_raw",
        ("hist", r"\b240\b|last (6|six|bones)", "other channels|from|place|read|stride|offset")),
    "n7_state_rotations_half": right("state", (HALF, r"rotation|\b6:282\b|x_raw|\b6\b")),
    "n9_stdy_shifted_by_one_tail": right("y_raw", ("std|σ", r"\b9[56]\b", "shift|late|before|next|one (index|channel)")),
    "publish_lr_swapped": right("quat", ("32 holds 39|bone_order=left_right",), (EXCHANGED, "left", "right"),
        (EXCHANGED, r"_l\b|L_", r"_r\b|R_")),
    "race_torn_pose": right("quat", (LATE, 6.0, 13.0, 20.0), (LATE, "every (7|seventh)|one frame in (7|seven)")),
    "seed_off_by_one": right("x_raw state cond_raw",
        ("from its frame 1 on|starts? (at|with|from) (its )?frame 1|one frame later",)),
    "state_std_for_output": right("y_raw", ("StdX|state.{0,12}(std|statistic)|input.{0,9}std",), "denorm=state_stats"),
    "uninitialised_history": right("pose_hist_raw",
        ("hist", "never (set|written)|memory|not (seeded|set|initialised)|uninitialised|start"),
        ("hist", "first (2|two) frames|frames 0(, 1)? and [12]|frames 0 to 1")),
    "yaw_degrees": right("state", "yaw_encoding=degrees_over_180", ("yaw", DEGREES)),
    # the history holds the right pose, which x_raw has lost
    "writeback_offset": right("x_raw_next x_raw pose_hist_raw state", ("x_raw_next", r"\b0:276\b"),
        ("x_raw_next", "offset|shift|6 (channels|places)|read at"),
        also=(("pose_hist_raw", r"next6d|x_raw\[0:276\]", r"t ?[-−] ?1\b"), ("x_raw_next", r"\bball_r\b", "stuck"))),
}
_SENSED = "obs obs_clipped history"
"""What the quadruped's terms stand in, where they were not recorded."""
_SENT = "target motor_target position_error torque_p torque_free torque"
_QUADRUPED = {
    "action_clip_1": right("action", (CLIP, 1.0)),
    "action_clip_missing": right("action", "action.applied=none", (CLIP, WITHOUT)),
    "action_hip_scale_missing": right(_SENT, ("action_scale", "hip", "doubled|0.25"), ("action_scale", 0.25)),
    "action_low_pass": right("action action_raw", ("smooth|filter|low pass", 0.2, 0.8)),
    "action_offset_missing": right(_SENT, "target.offset=none", ("offset|default_pose", WITHOUT)),
    "action_scale_twice": right(_SENT, "target.scale=twice", ("scale", "twice|squared")),
    "action_tanh": right("action action_raw", ("tanh",), also=(("applied = none", "together"),)),
    # in the recording's own unit, or as the scaled term: no number lies between 0.1475 and 0.15
    "angvel_deadzone": right(f"base_ang_vel ang_vel_obs {_SENSED}", ("below", 0.15), ("below", 0.037), ("below", 0.0375)),
    "angvel_rotated_forward": right(f"base_ang_vel ang_vel_obs {_SENSED}", "base_ang_vel.direction=forward"),
    "command_deadzone": right(f"command_obs command_t {_SENSED}", ("below", 0.1), ("below", 0.2)),
    "command_yaw_scale_2": right(f"command_obs {_SENSED}", ("yaw", 8.0), ("yaw", "scale", 2.0)),
    "dq_by_differences": right(f"dq_t dq_policy dq_obs {_SENSED}", (r"how fast q|difference", "backward", "4 frames")),
    "dq_scale_missing": right(f"dq_obs {_SENSED}", "dq_obs.scale=none", ("dq", 20.0)),
    "gravity_forward": right(f"gravity {_SENSED}", "gravity.direction=forward"),
    "heights_clip_after_scale": of_parts(f"height_clipped heights_obs {_SENSED}",
        ("height_clipped.applied=none", ("heights", "limited|clip", 1.0)), (("heights", "limited|clip", 1.0),)),
    "heights_not_clipped": right("height_clipped heights_obs", "height_clipped.applied=none", (CLIP, WITHOUT)),
    "history_get_before_add": right("history", "history.delay=one_frame", ("hist", LATE)),
    "last_action_two_old": right(f"last_t last_action {_SENSED}", (r"t ?[-−] ?4\b",), (LATE,)),
    "last_action_unclipped": right(f"last_t last_action {_SENSED}", "last_action.carried=action_raw"),
    "limit_of_hip_for_all": right("torque", (CLIP, 4.5)),
    "nan_guard": right(f"dq_t dq_policy dq_obs {_SENSED}", (r"\b0\b", "above", 3.0), (r"\b0\b", "above", 0.15)),
    "net_bias1_missing": right("action_raw action", ("bias", "first", WITHOUT)),
    "net_float16_weights": right("action_raw action", (HALF, "weight")),
    "net_relu": right("action_raw action", ("relu", "elu")),
    "net_tanh": right("action_raw action", ("tanh", "elu")),
    "obs_clip_1": right(f"{_SENSED}", (CLIP, 1.0)),
    "obs_dq_before_q": right(_SENSED, "obs.order=q_obs_and_dq_obs_exchanged", (EXCHANGED, "dq_obs", "q_obs")),
    "pair_cos_sin_and_heights_stale": of_parts(f"phase heights_obs {_SENSED}",
        ("clock.form=cos_sin", ("sin from cos", "cos from sin")),
        (("every 40th|every (10|tenth)",), (r"47:59|heights", r"165:177|47:59", LATE))),
    "pair_degrees_and_unclipped_feedback": of_parts(f"base_ang_vel ang_vel_obs last_t last_action {_SENSED}",
        (("ang_vel", DEGREES),), ("last_action.carried=action_raw",)),
    "pair_hip_scale_and_damping_sign": of_parts(_SENT,
        (("action_scale", "hip", "doubled|0.25"), ("action_scale", 0.25)), ("torque_free.weights=all_added",
        "torque_d.scale=negated", ("torque_d|kd", SIGN))),
    "phase_int_tenths": right(f"phase clock {_SENSED}", ("turn", "cut|truncat", "10ths|0.1")),
    "phase_period_0_5": right(f"phase clock {_SENSED}", ("period", 0.5)),
    "phase_reset_when_standing": right(f"phase clock {_SENSED}", (r"\b0\b", "command", "while")),
    "q_calf_sign": right(f"q_t q_policy q_obs {_SENSED}", ("calf", SIGN)),
    "q_fl_rl_swapped": right(f"q_t q_policy q_obs {_SENSED}", (EXCHANGED, "FL_hip", "RL_hip")),
    "q_not_reordered": right(f"q_policy q_obs {_SENSED}", "q_policy.order=as_given"),
    "quat_float16": right(f"gravity {_SENSED}", (HALF,)),
    "target_rate_limited": right(_SENT, ("at most", 0.05)),
    "target_relative_to_q": right(_SENT, ("plus q_obs|plus q_policy",)),
    "torque_damping_sign": right("torque torque_free torque_d", "torque_free.weights=all_added", "torque_d.scale=negated"),
    "torque_int": right("torque torque_free", ("cut|truncat", "steps", 0.1)),
}
# fmt: on

TRUTHS: Mapping[str, Right] = dict(
    chain.from_iterable(
        ((f"{folder}/{name}", truth) for name, truth in rows.items())
        for folder, rows in (
            ("lab", _LAB),
            ("mjlab", _MJLAB),
            ("lmm", _LMM),
            ("enemy_engine", _ENGINE),
            ("quadruped", _QUADRUPED),
        )
    )
)
