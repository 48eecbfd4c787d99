"""The features of a raw clip as the state holds them: squashed features, scaled speeds, condition rows.

This module holds no rules; across.py and rows_of_clip.py compare its results with statistics and rows. All numbers are
float64, and the formulas are the contract's, so that a difference is a defect of the file.
"""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.clips.feet import contact_scores
from rigpact.contract.rules.views.bundle import BundleView, NamedArray, is_finite_float32, one_slice
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray

_SLOWEST_M_S = 1e-3
"""Below this speed the condition's direction is zero."""
_SPEEDS = (
    (ROOT_VELOCITY, "RootVelocityXY", "tanh_scales_rootvel"),
    (ANGULAR_VELOCITIES, "BoneAngularVelocities", "tanh_scales_angvel"),
)


def clip_features(clip: ClipView, bundle: BundleView) -> FloatArray | None:
    """The state of every frame before its z-score, (T, Dx); NaN where the clip has no such channel.

    None where the bundle's layout or the clip's rotations cannot be read.
    """
    layout = bundle.state
    # the statistics limit the width: a width from a broken file could fill the memory
    if layout is None or bundle.statistic("MuX", layout) is None or clip.rotations is None:
        return None
    if any(entry.start < 0 or entry.stop > layout.width for entry in layout):
        return None
    position, yaw = clip.shaped("RootPosition", 3), clip.shaped("RootYaw")
    rotations, scores = clip.shaped("BoneRotations", -1, 6), contact_scores(clip)
    wrapped = None if yaw is None else np.angle(np.exp(1j * yaw))[:, None] / np.pi
    flat = None if rotations is None else rotations.reshape(len(rotations), -1)
    named = {ROOT_POSITION: position, ROOT_YAW: wrapped, ROTATIONS: flat, CONTACTS: scores}
    parts = {name: values for name, values in named.items() if values is not None}
    parts |= {array.layout.slices[0].name: np.tanh(scaled) for array, _, scaled in scaled_speeds(clip, bundle)}
    features = np.full((len(clip.frames), layout.width), np.nan)
    for entry in layout:
        values = parts.get(entry.name)
        if values is not None and values.shape == (len(features), entry.size):
            features[:, entry.range] = values
    return features


def scaled_speeds(clip: ClipView, bundle: BundleView) -> Iterator[tuple[NamedArray, str, FloatArray]]:
    """Yield each tanh scale with the clip's key and the speeds over it, (T, width), where both can be read."""
    for name, key, scale_key in _SPEEDS:
        if bundle.state is None or name not in bundle.state:
            continue
        array = bundle.statistic(scale_key, one_slice(name, bundle.state[name].size))
        values = clip.shaped(key, 2) if name == ROOT_VELOCITY else clip.shaped(key, -1, 3)
        if array is None or values is None or not is_finite_float32(array.values):
            continue
        flat = values.reshape(len(values), -1)
        if flat.shape[1] == len(array.values):
            yield array, key, flat / np.maximum(np.abs(array.values), TANH_SCALE_FLOOR)


def condition_of(clip: ClipView, direction: str = "velocity") -> FloatArray | None:
    """The condition of every frame, (T, 7): action bits, unit direction, speed in m/s.

    direction: `velocity` (RootVelocityXY, as training) or `trajectory` (the middle TrajectoryDir, as the engine).
    """
    bits, velocity = clip.shaped("ActionBits", 4), clip.shaped("RootVelocityXY", 2)
    if bits is None or velocity is None:
        return None
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    heading = np.where(speed < _SLOWEST_M_S, 0.0, velocity / np.maximum(speed, _SLOWEST_M_S))
    if direction == "trajectory":
        window = clip.shaped("TrajectoryDir", -1, 2)
        if window is None or not window.shape[1]:
            return None
        heading = window[:, window.shape[1] // 2]
    return np.concatenate([bits, heading, speed], axis=1)
