"""The mistakes of imu_pose_side.py, and what is true of each. Written by hand from that pipeline, not from any answer."""

from ..planted import mistake

# the first stage where the network itself is wrong is any of its answers
ANSWERS = "head exercise_logits form_logits uncertainty"
# fmt: off
DEFECTS = (
    mistake("ios_sign", "model_input", "acceleration_sign=negated"),
    mistake("in_g", "model_input", "acceleration_unit=g"),
    mistake("in_degrees", "model_input", "angular_rate_unit=deg_s"),
    mistake("sensor_y_up", "model_input", "sensor_axes=turned_to_y_up"),
    mistake("y_up_late", "model_input", "sensor_axes=turned_to_y_up gravity=taken_off_y"),
    mistake("spatial_vectors", "model_input", "imu_order=angular_rate_first"),
    mistake("gravity_kept", "model_input", "gravity=kept"),
    mistake("gravity_added", "model_input", "gravity=added"),
    mistake("standard_gravity", "model_input", "gravity=standard"),
    mistake("as_it_comes", "model_input", "gravity=kept input_scale=none"),
    mistake("window_standardised", "model_input", "input_scale=window_statistics"),
    mistake("noise_in_place", "model_input"),
    mistake("zero_padded", "model_input", ("stuck at 0 ", "first 20 frames")),
    mistake("window_late", ANSWERS, ("is computed from the model_input of frame t-1",)),
    mistake("no_positions", ANSWERS, "positional_encoding=missing"),
    mistake("training_mode", ANSWERS),
    mistake("causal_mask", ANSWERS),
    mistake("gelu_by_tanh", ANSWERS),
    mistake("swapped", "pose", "head_layout=log_variance_first"),
    mistake("halves", "pose", "head_layout=halves"),
    mistake("axes_first", "pose", "head_layout=axes_first"),
    mistake("constraint_order", "pose", "joint_order=constraint_loss"),
    mistake("sides_swapped", "pose", "joint_order=left_right_swapped"),
    mistake("pelvis_relative", "pose", "pose_origin=pelvis"),
    mistake("pose_y_up", "pose", "world_axes=y_up"),
    mistake("clamp_ten", "log_variance", "log_variance_clamp=ten"),
    mistake("no_clamp", "log_variance", "log_variance_clamp=none"),
    mistake("variance_as_sigma", "sigma", "spread=log_is_of_sigma"),
    mistake("softplus", "sigma", "spread=softplus"),
    mistake("epsilon", "sigma", "spread=with_floor"),
    mistake("no_temperature", "sigma", "temperature=none"),
)
# fmt: on
