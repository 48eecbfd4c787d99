"""The readings of an operation in code: a line of C++ (the engine, the robot) and one of Python (the training side).

A row shows the code of the reading that was found. Names: x what comes in, y what goes out, q and p quaternions, v a vector, dt
the step in seconds. To add one: a row under its operation and parameter; a test requires one for every reading.
"""

from collections.abc import Mapping

from rigpact.contract.conventions import CodeHint

Readings = Mapping[str, CodeHint]
_QUATERNION: Readings = {
    "xyzw": CodeHint("Quat(q[0], q[1], q[2], q[3]); // x y z w", "x, y, z, w = q.unbind(-1)"),
    "wxyz": CodeHint("Quat(q[1], q[2], q[3], q[0]); // w x y z", "w, x, y, z = q.unbind(-1)"),
}
_FACTOR: Readings = {
    "declared": CodeHint("y = x * scale;", "y = x * scale"),
    "none": CodeHint("y = x; // no factor", "y = x"),
    "inverse": CodeHint("y = x / scale;", "y = x / scale"),
    "twice": CodeHint("y = x * scale * scale;", "y = x * scale * scale"),
    "negated": CodeHint("y = -x * scale;", "y = -x * scale"),
}
_CONSTANT: Readings = {
    "declared": CodeHint("y = x + constant;", "y = x + constant"),
    "none": CodeHint("y = x; // the constant is missing", "y = x"),
    "negated": CodeHint("y = x - constant; // the sign", "y = x - constant"),
    "twice": CodeHint("y = x + 2 * constant; // added in two places", "y = x + constant + constant"),
    "in_order": CodeHint("constant[i] of another list of names", "constant[other_order]"),
}
_MEAN: Readings = {
    "declared": CodeHint("x - mean[i]", "x - mean"),
    "none": CodeHint("x // the mean is not taken off", "x"),
    "added": CodeHint("x + mean[i]", "x + mean"),
}
_STD: Readings = {
    "declared": CodeHint("/ std[i]", "/ std"),
    "none": CodeHint("// not divided by std", "x - mean"),
    "variance": CodeHint("/ (std[i] * std[i])", "/ var"),
    "root": CodeHint("/ sqrt(std[i])", "/ std.sqrt()"),
}
_APPLIED: Readings = {
    "once": CodeHint("z = (x - mean) / std;", "z = (x - mean) / std"),
    "twice": CodeHint(
        "z = (z - mean) / std; // the network does it again",
        "nn.Sequential(normaliser, policy)  # and outside",
    ),
    "skipped": CodeHint("z = x; // nobody normalises", "z = x"),
}
_STEP: Readings = {
    "declared": CodeHint("x += v * dt;", "x + v * dt"),
    "left_out": CodeHint("x += v; // a frame counts as a second", "x + v"),
    "squared": CodeHint("x += v * dt * dt;", "x + v * dt * dt"),
    "half_of_it": CodeHint("x += v * dt / 2;", "x + v * dt / 2"),
    "divided_by": CodeHint("x += v / dt;", "x + v / dt"),
}
_ROTATION_FORMS: Readings = {
    "columns": CodeHint("x axis (6), then y axis: m[0][0] m[1][0] m[2][0] m[0][1] …", "R[..., :2].mT.reshape(-1, 6)"),
    "rows": CodeHint("m[0][0] m[0][1] m[0][2] m[1][0] …", "R[..., :2, :].reshape(-1, 6)  # PyTorch3D"),
    "interleaved": CodeHint(
        "m[0][0] m[0][1] m[1][0] m[1][1] m[2][0] m[2][1]", "R[..., :2].reshape(-1, 6)  # row by row"
    ),
    "columns_exchanged": CodeHint("y axis first, then x axis", "R[..., [1, 0]].mT.reshape(-1, 6)"),
    "columns_first_kept": CodeHint("x is kept, y is made orthogonal to it", "b2 = normalize(a2 - dot(b1, a2) * b1)"),
    "interleaved_first_kept": CodeHint(
        "pairs; x is kept, y is made orthogonal to it", "a1, a2 = r6[..., 0::2], r6[..., 1::2]"
    ),
    "row_major": CodeHint("m[3 * row + column]", "R.reshape(-1, 9)"),
    "column_major": CodeHint("m[3 * column + row]; // OpenGL, Eigen", "R.mT.reshape(-1, 9)"),
    **_QUATERNION,
    "radians": CodeHint("axis * angle; // radians", "axis * angle"),
    "degrees": CodeHint("axis * angle * 180 / pi;", "np.rad2deg(axis * angle)"),
}

CODE_HINTS: Mapping[str, Mapping[str, Readings]] = {
    "affine": {
        "scale": _FACTOR, "offset": _CONSTANT, "subtract": _CONSTANT,
        "order": {
            "scale_first": CodeHint("y = x * scale + constant;", "y = x * scale + constant"),
            "constant_first": CodeHint("y = (x + constant) * scale;", "y = (x + constant) * scale"),
        },
    },
    "blend": {
        "weights": {
            "declared": CodeHint("y = w[0] * a + w[1] * b;", "y = w[0] * a + w[1] * b"),
            "equal": CodeHint("y = (a + b) / 2;", "torch.stack((a, b)).mean(0)"),
            "reversed": CodeHint("y = w[1] * a + w[0] * b; // lerp(b, a, w)", "torch.lerp(b, a, w)"),
            "first_only": CodeHint("y = a; // the other is never blended in", "y = a"),
            "last_only": CodeHint("y = b; // a filter that is not applied", "y = b"),
            "all_added": CodeHint("y = a + b; // no weights", "y = a + b"),
        },
    },
    "clip": {
        "applied": {
            "clamped": CodeHint("y = clamp(x, lowest, highest);", "x.clamp(lowest, highest)"),
            "none": CodeHint("y = x;", "y = x"),
            "scaled_to_range": CodeHint("y = lowest + (x + 1) / 2 * (highest - lowest);", "scale_transform(x, lowest, highest)"),
            "low_only": CodeHint("y = max(x, lowest);", "x.clamp(min=lowest)"),
            "high_only": CodeHint("y = min(x, highest);", "x.clamp(max=highest)"),
        },
    },
    "compose": {
        "quaternion_order": _QUATERNION, "second_quaternion_order": _QUATERNION,
        "product": {
            "first_second": CodeHint("y = p * q;", "quat_mul(p, q)"),
            "second_first": CodeHint("y = q * p;", "quat_mul(q, p)"),
            "inverse_of_first": CodeHint("y = p.Inverse() * q;", "quat_mul(quat_conjugate(p), q)"),
            "inverse_of_second": CodeHint("y = p * q.Inverse();", "quat_mul(p, quat_conjugate(q))"),
            "first_only": CodeHint("y = p;", "y = p"),
            "second_only": CodeHint("y = q;", "y = q"),
        },
    },
    "concatenate": {"order": {"as_declared": CodeHint("push a, then b", "torch.cat((a, b), -1)")}},
    "constant": {
        "order": {
            "by_name": CodeHint("kp[i] = gains.at(names[i]);", "[gains[name] for name in names]"),
        },
    },
    "convert": {
        "reads": _ROTATION_FORMS, "writes": _ROTATION_FORMS,
        "sense": {
            "as_given": CodeHint("R", "R"),
            "transposed": CodeHint("R.GetTransposed(); // rows taken for columns", "R.mT"),
        },
    },
    "denormalise": {
        "mean": {
            "declared": CodeHint("z * std + mean[i]", "z * std + mean"),
            "none": CodeHint("z * std // the mean is not added", "z * std"),
            "added": CodeHint("z * std - mean[i]", "z * std - mean"),
        },
        "std": {
            "declared": CodeHint("z * std[i]", "z * std"),
            "none": CodeHint("z + mean", "z + mean"),
            "variance": CodeHint("z * std[i] * std[i]", "z * var"),
            "root": CodeHint("z * sqrt(std[i])", "z * std.sqrt()"),
        },
        "applied": {
            "once": CodeHint("x = z * std + mean;", "x = z * std + mean"),
            "twice": CodeHint("x = x * std + mean; // the network does it too", "nn.Sequential(policy, denormaliser)"),
            "skipped": CodeHint("x = z;", "x = z"),
        },
    },
    "difference": {
        "span": {
            "backward": CodeHint("v[t] = x[t] - x[t - 1];", "v[1:] = x[1:] - x[:-1]"),
            "forward": CodeHint("v[t] = x[t + 1] - x[t];", "v[:-1] = x[1:] - x[:-1]"),
            "central": CodeHint("v[t] = (x[t + 1] - x[t - 1]) / 2;", "np.gradient(x, axis=0)"),
            "reversed": CodeHint("v[t] = x[t - 1] - x[t];", "x[:-1] - x[1:]"),
        },
        "rate": {
            "per_second": CodeHint("v = difference / dt;", "difference * fps"),
            "per_frame": CodeHint("v = difference;", "difference"),
            "inverse": CodeHint("v = difference * dt;", "difference / fps"),
        },
    },
    "history": {
        "layout": {
            "term_major": CodeHint("for term: for frame: push", "torch.cat([buffer.flatten(1) for buffer in terms], -1)"),
            "frame_major": CodeHint("for frame: for term: push", "torch.cat(terms, -1) into one buffer, then flatten"),
            "channel_major": CodeHint("for term: for channel: for frame: push", "buffer.mT.flatten(1)"),
        },
        "order": {
            "oldest_first": CodeHint("history.push_back(x); read from the front", "torch.cat((buffer[:, 1:], x[:, None]), 1)"),
            "newest_first": CodeHint("history.push_front(x); read from the front", "torch.cat((x[:, None], buffer[:, :-1]), 1)"),
        },
        "start": {
            "first": CodeHint("fill(history, x); // at the reset", "buffer[:] = x[:, None]"),
            "zeros": CodeHint("history = {}; // zeros", "torch.zeros_like(buffer)"),
        },
        "every": {
            "declared": CodeHint("if (frame % every == 0) push(x);", "if step % every == 0: buffer.append(x)"),
            "each_frame": CodeHint("push(x); // in each frame", "buffer.append(x)"),
        },
        "delay": {
            "none": CodeHint("push(x), then read", "buffer.append(x); obs = buffer.buffer"),
            "one_frame": CodeHint("read, then push(x)", "obs = buffer.buffer; buffer.append(x)"),
        },
        "terms": {"as_declared": CodeHint("the terms in the declared order", "observations in the order of the config")},
    },
    "integrate": {
        "step": _STEP,
        "rate_means": {
            "derivative": CodeHint("x += v * dt;", "x + v * dt"),
            "absolute": CodeHint("x = v; // the rate is taken for the state", "x = v"),
            "delta": CodeHint("x += v; // without dt", "x + v"),
            "negated": CodeHint("x -= v * dt;", "x - v * dt"),
            "skipped": CodeHint("// x stays as it is", "x"),
        },
    },
    "integrate_rotation": {
        "quaternion_order": _QUATERNION, "step": _STEP,
        "side": {
            "left": CodeHint("q = exp(w * dt / 2) * q; // w in the world", "quat_mul(exp(w * dt / 2), q)"),
            "right": CodeHint("q = q * exp(w * dt / 2); // w in the body", "quat_mul(q, exp(w * dt / 2))"),
        },
        "angle": {
            "half": CodeHint("exp(w * dt / 2)", "quat_from_angle_axis(|w| * dt, axis)"),
            "full": CodeHint("exp(w * dt) // the angle twice", "exp(w * dt)"),
            "quarter": CodeHint("exp(w * dt / 4)", "exp(w * dt / 4)"),
            "negated": CodeHint("exp(-w * dt / 2)", "exp(-w * dt / 2)"),
        },
    },
    "norm": {
        "measure": {
            "euclidean": CodeHint("sqrt(x*x + y*y + z*z)", "x.norm(dim=-1)"),
            "squared": CodeHint("x*x + y*y + z*z", "x.square().sum(-1)"),
            "absolute_sum": CodeHint("abs(x) + abs(y) + abs(z)", "x.abs().sum(-1)"),
            "largest": CodeHint("max(abs(x), abs(y), abs(z))", "x.abs().amax(-1)"),
        },
    },
    "normalise": {
        "mean": _MEAN, "std": _STD, "applied": _APPLIED,
        "epsilon": {
            "declared": CodeHint("/ (std + epsilon)", "/ (std + eps)"),
            "none": CodeHint("/ std", "/ std"),
        },
    },
    "relative": {
        "quaternion_order": _QUATERNION,
        "direction": {
            "into_frame": CodeHint("q.UnrotateVector(x - origin)", "quat_rotate_inverse(q, x - origin)"),
            "out_of_frame": CodeHint("q.RotateVector(x) + origin", "quat_rotate(q, x) + origin"),
            "into_frame_origin_kept": CodeHint("q.UnrotateVector(x)", "quat_rotate_inverse(q, x)"),
            "into_frame_turned_forward": CodeHint("q.RotateVector(x - origin)", "quat_rotate(q, x - origin)"),
            "into_frame_not_turned": CodeHint("x - origin", "x - origin"),
            "out_of_frame_not_turned": CodeHint("x + origin", "x + origin"),
        },
    },
    "rotate": {
        "quaternion_order": _QUATERNION,
        "direction": {
            "inverse": CodeHint("q.UnrotateVector(v) // world to body", "quat_rotate_inverse(q, v)"),
            "forward": CodeHint("q.RotateVector(v) // body to world", "quat_apply(q, v)"),
            "none": CodeHint("v", "v"),
        },
        "vector": {
            "declared": CodeHint("v", "v"),
            "negated": CodeHint("-v // up in place of down", "-v"),
            "times_9.81": CodeHint("v * 9.81 // an acceleration in place of a direction", "v * 9.81"),
        },
    },
    "select": {
        "order": {
            "by_name": CodeHint("y[i] = x[index_of(names[i])];", "x[:, [source.index(name) for name in names]]"),
            "as_given": CodeHint("y[i] = x[i];", "y = x"),
            "inverse_map": CodeHint("y[map[i]] = x[i]; // scattered", "y[:, joint_ids] = x"),
            "reversed": CodeHint("y[i] = x[n - 1 - i];", "x.flip(-1)"),
            "swapped_sides": CodeHint("left and right joints exchanged", "x[:, mirror_ids]"),
        },
    },
    "shift": {
        "frames": {
            "+0": CodeHint("x[t]", "x[t]"), "-1": CodeHint("x[t - 1]", "x[t - 1]"), "-2": CodeHint("x[t - 2]", "x[t - 2]"),
            "+1": CodeHint("x[t + 1]", "x[t + 1]"), "+2": CodeHint("x[t + 2]", "x[t + 2]"),
        },
        "start": {
            "first": CodeHint("before = x; // at the reset", "before = x.clone()"),
            "zeros": CodeHint("before = {}; // zeros", "before = torch.zeros_like(x)"),
        },
    },
    "squash": {
        "function": {
            "tanh": CodeHint("y = tanh(x / scale);", "torch.tanh(x / scale)"),
            "none": CodeHint("y = x;", "y = x"),
            "twice": CodeHint("y = tanh(tanh(x)); // in the network too", "torch.tanh(policy_with_tanh(obs))"),
            "sigmoid": CodeHint("y = 1 / (1 + exp(-x));", "torch.sigmoid(x)"),
            "softmax": CodeHint("y = exp(x) / sum(exp(x));", "torch.softmax(x, -1)"),
            "exp": CodeHint("y = exp(x);", "torch.exp(x)"),
            "arcsin": CodeHint("y = asin(x);", "torch.asin(x)"), "doubled": CodeHint("y = 2 * asin(x);", "2 * torch.asin(x)"),
            "elu": CodeHint("y = x > 0 ? x : exp(x) - 1;", "F.elu(x)"),
        },
    },
    "threshold": {
        "limit": {
            "declared": CodeHint("x > limit", "x > limit"),
            "zero": CodeHint("x > 0", "x > 0"),
            "half": CodeHint("x > limit / 2", "x > limit / 2"),
            "squared": CodeHint("x > limit * limit", "x > limit ** 2"),
            "root": CodeHint("x > sqrt(limit)", "x > limit ** 0.5"),
        },
        "side": {
            "above": CodeHint("x > limit ? 1 : 0", "(x > limit).float()"),
            "below": CodeHint("x < limit ? 1 : 0", "(x < limit).float()"),
            "not_applied": CodeHint("x", "x"),
        },
    },
    "wrap": {
        "unit_of_angle": {
            "rad": CodeHint("UnwindRadians(x)", "torch.remainder(x, 2 * pi)"),
            "deg": CodeHint("UnwindDegrees(x)", "torch.remainder(x, 360)"),
        },
        "range": {
            "symmetric": CodeHint("(-pi, pi]", "(x + pi) % (2 * pi) - pi"),
            "positive": CodeHint("[0, 2 pi)", "x % (2 * pi)"),
            "none": CodeHint("x // never wrapped", "x"),
        },
    },
}  # fmt: skip
"""Operation -> parameter -> reading -> its lines."""
