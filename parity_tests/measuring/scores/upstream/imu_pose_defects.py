"""The mistakes of imu_pose_side.py, and what is true of each. Written by hand from that pipeline, not from any answer."""

from __future__ import annotations

from collections.abc import Iterator

from ..planted import Planted, knob, says

MODEL_INPUT, POSE, LOG_VARIANCE, SIGMA = ("model_input",), ("pose",), ("log_variance",), ("sigma",)
ANSWERS = ("head", "exercise_logits", "form_logits", "uncertainty")


_ROWS = (
    ("ios_sign", "iOS: accelerations have the other sign, angular rates have not", MODEL_INPUT,
     knob("acceleration_sign=negated")),
    ("in_g", "accelerations are in g", MODEL_INPUT, knob("acceleration_unit=g")),
    ("in_degrees", "angular rates are in degrees", MODEL_INPUT, knob("angular_rate_unit=deg_s")),
    ("sensor_y_up", "the sensor's axes are y up when gravity is taken off z", MODEL_INPUT, knob("sensor_axes=turned_to_y_up")),
    ("y_up_late", "the sensor's axes are y up, turned after gravity is taken off", MODEL_INPUT,
     knob("sensor_axes=turned_to_y_up gravity=taken_off_y")),
    ("spatial_vectors", "MuJoCo's (rotation, translation) is read as (translation, rotation)", MODEL_INPUT,
     knob("imu_order=angular_rate_first")),
    ("gravity_kept", "gravity is not taken off", MODEL_INPUT, knob("gravity=kept")),
    ("gravity_added", "gravity is added", MODEL_INPUT, knob("gravity=added")),
    ("standard_gravity", "9.80665 is taken off in place of 9.81", MODEL_INPUT, knob("gravity=standard")),
    ("as_it_comes", "the network is given the sensor's own numbers", MODEL_INPUT, knob("gravity=kept input_scale=none")),
    ("window_standardised", "each window is standardised by its own statistics", MODEL_INPUT,
     knob("input_scale=window_statistics")),
    ("noise_in_place", "noise is added in place, and stays for the next sample", MODEL_INPUT, ()),
    ("zero_padded", "the first 20 samples of the window are zeros", MODEL_INPUT,
     says("stuck at 0 ", "first 20 frames")),
    ("window_late", "the network is given the window of one sample ago", ANSWERS,
     says("is computed from the model_input of frame t-1")),
    ("no_positions", "no positional encoding is added", ANSWERS,
     knob("positional_encoding=missing")),
    ("training_mode", "dropout is left on", ANSWERS, ()),
    ("causal_mask", "attention has a causal mask", ANSWERS, ()),
    ("gelu_by_tanh", "GELU is its tanh approximation", ANSWERS, ()),
    ("swapped", "means and log-variances are swapped", POSE, knob("head_layout=log_variance_first")),
    ("halves", "the head is read as two halves", POSE, knob("head_layout=halves")),
    ("axes_first", "the head is viewed as (3, 17, 2)", POSE, knob("head_layout=axes_first")),
    ("constraint_order", "joints stand in the order of the constraint loss", POSE, knob("joint_order=constraint_loss")),
    ("sides_swapped", "left and right joints are swapped", POSE, knob("joint_order=left_right_swapped")),
    ("pelvis_relative", "positions are relative to the pelvis", POSE, knob("pose_origin=pelvis")),
    ("pose_y_up", "positions are given y up", POSE, knob("world_axes=y_up")),
    ("clamp_ten", "log-variances are clamped to ±10", LOG_VARIANCE, knob("log_variance_clamp=ten")),
    ("no_clamp", "log-variances are not clamped", LOG_VARIANCE, knob("log_variance_clamp=none")),
    ("variance_as_sigma", "the variance is shown as the standard deviation", SIGMA, knob("spread=log_is_of_sigma")),
    ("softplus", "softplus in place of exp", SIGMA, knob("spread=softplus")),
    ("epsilon", "1e-6 is added to the variance, as the likelihood does", SIGMA, knob("spread=with_floor")),
    ("no_temperature", "the calibration's temperature is left out", SIGMA, knob("temperature=none")),
)  # fmt: skip


def _numbered() -> Iterator[Planted]:
    for number, (name, what, stages, truths) in enumerate(_ROWS, start=1):
        yield Planted(name, what, stages, truths, number=number)


DEFECTS = tuple(_numbered())
