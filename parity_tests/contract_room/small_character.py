"""The small sound character from which the tests of the rules start, number by number.

Three bones, thirteen frames: every bone is tilted about x and swings about z, the root walks straight with a little sway.
Every number is derived here, independently of rigpact.
"""

import copy
import math
from pathlib import Path
from typing import Any

from rigpact.contract.model.graph import TensorSignature
from rigpact.contract.model.signature import ModelSignature

BONES = ("pelvis", "thigh_l", "thigh_r")
FPS, FRAMES, HISTORY = 60, 12, 2
"""FRAMES rows of a teacher file; the clip has one frame more."""
WIDTHS = {"state": 35, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 36}
OFFSETS_M = [[0.0, 0.0, 0.9], [0.0, -0.1, 0.0], [0.0, 0.1, 0.0]]
STD = 0.25
_TILT_RAD, _HEADING_RAD = 0.4, 0.5
_ROOTVEL_SCALE, _ANGVEL_SCALE, _ANGVEL_MEAN, _ANGVEL_STD, _HISTORY_STD = 1.5, 8.0, 0.01, 0.4, 0.3
_LEARNED = 0.9
"""What part of each step the sample's network predicts."""


def swing_rad(bone, frame):
    """How far a bone is turned about z."""
    return 0.3 * bone + 0.15 * math.sin(0.7 * frame + bone)


def rot6d(angle_rad):
    """Columns X and Z of Rz(angle) Rx(tilt)."""
    c, s, ct, st = math.cos(angle_rad), math.sin(angle_rad), math.cos(_TILT_RAD), math.sin(_TILT_RAD)
    return [c, s, 0.0, s * st, -c * st, ct]


def pose(frame):
    """Six numbers of each bone in a frame."""
    return [number for bone in range(3) for number in rot6d(swing_rad(bone, frame))]


def _central(track):
    """A rate per second: central differences, one-sided at the ends."""
    last = len(track) - 1
    places = [(max(frame - 1, 0), min(frame + 1, last)) for frame in range(len(track))]
    return [(track[after] - track[before]) * FPS / (after - before) for before, after in places]


_CLIP_FRAMES = range(FRAMES + 1)
_SPIN = [_central([swing_rad(bone, frame) for frame in _CLIP_FRAMES]) for bone in range(3)]
_WAY_M = [0.02 * frame + 0.004 * math.sin(0.7 * frame) for frame in _CLIP_FRAMES]
_SPEED = _central(_WAY_M)
_AHEAD = (math.cos(_HEADING_RAD), math.sin(_HEADING_RAD))
_UNIT = math.sqrt(1 - 3 * STD**2)
"""A mean column this long, with a deviation of 0.25 a component, is one of unit columns."""
_MEAN_POSE = [_UNIT * number for bone in range(3) for number in rot6d(0.3 * bone)]
_MEAN_STATE = [0.0] * 6 + _MEAN_POSE + [_ANGVEL_MEAN] * 9 + [0.5] * 2
_STD_STATE = [1.0] * 6 + [STD] * 18 + [0.5] * 11
_MEAN_HISTORY = [math.tanh(number) for number in _MEAN_POSE]
_META = {
    "units": "meters",
    "handedness": "left",
    "axes": {"x": "forward", "y": "right", "z": "up"},
    "spaces": {"bone_rotations": "local_6d", "bone_angular_velocities": "local_rad_per_sec"},
    "root_motion": {"root_yaw_units": "radians"},
    "trajectory": {"frame": "character_facing", "seconds": [-0.3, -0.15, 0.0, 0.15, 0.3]},
    "skeleton": {
        "root_bone": "root", "bone_names": list(BONES), "parents": [-1, 0, 0], "ref_local_offsets_m": OFFSETS_M,
    },
}  # fmt: skip
_SPEC = {"columns": ["X", "Z"], "order": "A_then_B", "matrix_layout": "columns_are_axes", "handedness": "left"}


def bundle_document():
    slices = {"RootPosition": 3, "RootVelocity": 2, "RootYaw": 1, "BoneRotations6D": 18}
    slices |= {"BoneAngularVelocities": 9, "Contacts": 2}
    starts = [sum(list(slices.values())[:place]) for place in range(len(slices))]
    layout = {name: {"start": start, "size": size} for start, (name, size) in zip(starts, slices.items(), strict=True)}
    return {
        "bundle_version": 2, "fps": FPS, "input_dim": 35, "output_dim": 18, "MuX": _MEAN_STATE, "StdX": _STD_STATE,
        "MuY": list(_MEAN_POSE), "StdY": [STD] * 18, "tanh_scales_rootvel": [_ROOTVEL_SCALE] * 2,
        "tanh_scales_angvel": [_ANGVEL_SCALE] * 9, "pose_hist_len": HISTORY, "pose_hist_dim": 36,
        "tanh_scales_pose_hist": [1.0] * 36, "MuPoseHist": _MEAN_HISTORY * HISTORY, "StdPoseHist": [_HISTORY_STD] * 36,
        "MuAngVel": [_ANGVEL_MEAN] * 9, "StdAngVel": [_ANGVEL_STD] * 9,
        "cond_norm_config": {"mode": "Raw", "start": 0, "size": 7},
        "group_priors_rot6d": {
            "groups": {f"bone_{bone}": [bone] for bone in range(3)}, "prior_per_dim": [STD] * 18,
        },
        "s_eff_X": [1.0] * 3 + [_ROOTVEL_SCALE] * 2 + [math.pi] + [STD] * 18 + [0.5 * _ANGVEL_SCALE] * 9 + [0.5] * 2,
        "s_eff_Y": [STD] * 18,
        "s_eff_meta": {"yaw_pi": True, "rv_scales": True, "ang_scales": True},
        "meta": {
            "state_layout": layout, "output_layout": {"BoneRotations6D": {"start": 0, "size": 18}},
            "alignment": {"x_to_y": {"mode": "next", "offset": 1}, "cond_to_y": {"mode": "match_x", "offset": 0}},
            "std_floor": 1e-3, "bone_names": list(BONES), "rot6d_spec": {**_SPEC, "output_mode": "residual"}, **_META,
        },
    }  # fmt: skip


def companion_document(bundle):
    keys = ("tanh_scales_angvel", "MuAngVel", "StdAngVel", "pose_hist_len", "tanh_scales_pose_hist", "MuPoseHist")
    shared = {key: bundle[key] for key in (*keys, "StdPoseHist", "pose_hist_dim")}
    target = {"pose_target_dim": 18, "tanh_scales_pose_target": [1.0] * 18}
    target |= {"MuPoseTarget": _MEAN_HISTORY, "StdPoseTarget": [_HISTORY_STD] * 18}
    return {"J": 3, "angvel_dim": 9, "angvel_span": [0, 9], **shared, **target, "meta": {"quantiles": [1.0, 99.0]}}


def _feet_m(frame):
    """World positions of both thighs, which are this character's feet."""
    turned = rot6d(swing_rad(0, frame))  # only its images of ±y are needed: y is Z × X
    x_axis, z_axis = turned[:3], turned[3:]
    y_axis = [z_axis[(n + 1) % 3] * x_axis[(n + 2) % 3] - z_axis[(n + 2) % 3] * x_axis[(n + 1) % 3] for n in range(3)]
    feet = []
    for offset in OFFSETS_M[1:]:
        x, y, z = (offset[1] * y_axis[axis] + OFFSETS_M[0][axis] for axis in range(3))
        c, s = _AHEAD
        feet.append([c * x - s * y + _WAY_M[frame] * c, s * x + c * y + _WAY_M[frame] * s, z])
    return feet


def _scores(frame):
    return [0.2 + 0.1 * math.sin(0.7 * frame), 0.3 + 0.1 * math.cos(0.7 * frame)]


def _evidence():
    sides: list[list[dict[str, Any]]] = []
    for foot in range(2):
        track = [_feet_m(frame)[foot] for frame in _CLIP_FRAMES]
        vx, vy, vz = (_central([place[axis] for place in track]) for axis in range(3))
        sides.append([
            {
                "hit_flag": 0, "dist_to_ground_m": track[frame][2], "vz_mps": abs(vz[frame]),
                "vxy_mps": math.hypot(vx[frame], vy[frame]), "foot_height_world_m": track[frame][2],
                "ground_z_world_m": 0.0, "ground_normal": [0.0, 0.0, 1.0],
                "impact_point_world_m": [*track[frame][:2], 0.0], "soft_contact_score": _scores(frame)[foot],
            }
            for frame in _CLIP_FRAMES
        ])  # fmt: skip
    return [{"L": left, "R": right} for left, right in zip(*sides, strict=True)]


def clip_document():
    evidence = _evidence()
    frames = [
        {
            "RootPosition": [_WAY_M[frame] * _AHEAD[0], _WAY_M[frame] * _AHEAD[1], 0.0],
            "RootVelocityXY": [_SPEED[frame] * _AHEAD[0], _SPEED[frame] * _AHEAD[1]],
            "RootYaw": _HEADING_RAD,
            "ActionBits": [0, 1, 0, 0],
            "TrajectoryDir": [[1.0, 0.0]] * 5,
            "FootEvidence": evidence[frame],
            "BoneRotations": [rot6d(swing_rad(bone, frame)) for bone in range(3)],
            "BoneAngularVelocities": [[0.0, 0.0, _SPIN[bone][frame]] for bone in range(3)],
        }
        for frame in _CLIP_FRAMES
    ]
    meta = {**_META, "rot6d_spec": _SPEC, "foot_evidence": {"markers": "thigh_l,thigh_r"}}
    return {"NumFrames": len(frames), "FPS": FPS, "ClipAction": "EAction::Walk", "meta": meta, "Frames": frames}


def _state(frame):
    ahead = [_SPEED[frame] * part for part in _AHEAD]
    features = [_WAY_M[frame] * _AHEAD[0], _WAY_M[frame] * _AHEAD[1], 0.0]
    features += [math.tanh(speed / _ROOTVEL_SCALE) for speed in ahead] + [_HEADING_RAD / math.pi] + pose(frame)
    for bone in range(3):
        features += [0.0, 0.0, math.tanh(_SPIN[bone][frame] / _ANGVEL_SCALE)]
    features += _scores(frame)
    return _z(features, _MEAN_STATE, _STD_STATE)


def _z(values, means, stds):
    return [(value - mean) / std for value, mean, std in zip(values, means, stds, strict=True)]


def whitened(values):
    """A pose as the output holds it."""
    return _z(values, _MEAN_POSE, [STD] * 18)


def history_row(*frames):
    """A row of the history input that holds these frames."""
    squashed = [math.tanh(number) for frame in frames for number in pose(frame)]
    return _z(squashed, _MEAN_HISTORY * len(frames), [_HISTORY_STD] * len(squashed))


def angvel_row(vectors):
    """A row of the AngVel input that holds these vectors, rad/s."""
    squashed = [math.tanh(number / _ANGVEL_SCALE) for vector in vectors for number in vector]
    return _z(squashed, [_ANGVEL_MEAN] * 9, [_ANGVEL_STD] * 9)


def batch_document(bundle):
    rows, meta = range(FRAMES), bundle["meta"]
    return {
        "clip": "clip",
        "fps": FPS,
        "num_pairs": FRAMES,
        "dims": {"Dx": 35, "Dy": 18, "Dc": 7, "contacts": 2, "angvel": 9, "pose_hist": 36},
        "layouts": {"state": meta["state_layout"], "output": meta["output_layout"]},
        "teacher": {
            "state_norm": [_state(frame) for frame in rows],
            "cond": [[0, 1, 0, 0, *_AHEAD, _SPEED[frame]] for frame in rows],
            "target_norm": [whitened(pose(frame + 1)) for frame in rows],
            "aux_inputs": {
                "contacts": [_scores(frame) for frame in rows],
                "angvel_norm": [angvel_row([[0.0, 0.0, _SPIN[bone][frame]] for bone in range(3)]) for frame in rows],
                "pose_hist_norm": [history_row(max(frame - 1, 0), frame) for frame in rows],
            },
        },
    }


def predicted_pose(frame, learned=_LEARNED, start=0):
    """The current pose (or that of `start` frames later), turned by a part of the step to the next."""
    steps = [swing_rad(bone, frame + 1) - swing_rad(bone, frame) for bone in range(3)]
    turned = [swing_rad(bone, frame + start) + learned * step for bone, step in enumerate(steps)]
    return [number for angle_rad in turned for number in rot6d(angle_rad)]


def prediction_document(batch):
    y_raw = [predicted_pose(frame) for frame in range(FRAMES)]
    missed = [
        abs((1 - _LEARNED) * (swing_rad(bone, f + 1) - swing_rad(bone, f))) for f in range(FRAMES) for bone in range(3)
    ]
    squares = [((a - b) / STD) ** 2 for f in range(FRAMES) for a, b in zip(y_raw[f], pose(f + 1), strict=True)]
    diagnostics = {"GeoDeg": math.degrees(sum(missed) / len(missed)), "MSEnormY": sum(squares) / len(squares)}
    answer = {"y_norm": [whitened(row) for row in y_raw], "y_raw": y_raw}
    return {**copy.deepcopy(batch), "model": "demo", "prediction": answer, "diagnostics": diagnostics}


def model_signature():
    inputs = tuple(TensorSignature(name, "float32", ("B", width)) for name, width in WIDTHS.items())
    return ModelSignature(Path("model.onnx"), "0" * 64, inputs, (TensorSignature("motion_pred", "float32", ("B", 18)),))
