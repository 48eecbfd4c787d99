// From a motion network's answer to a character's pose: denormalise, turn, compose, publish, write back.
// The first word of each operation is the precision. Engine: `DenormY_Z_To_Raw`, `Reproject6D`, the delta composition, `FPoseMailbox`.
#pragma once

#include "rigpact/vocabulary/character.hpp"

namespace rigpact {
namespace vocabulary {

// numbers: factors, summands, scales.
template <class Real>
RIGPACT_INLINED Real unscored(const Call& c, int i, Real value) {
    return value * static_cast<Real>(c.numbers[i]) + static_cast<Real>(c.numbers[c.width + i]);
}
template <class Real, class Knob>
void unsquash_span(Knob knob, const Call& c, const Span& span, const double* scales) {
    for (int k = 0; k < span.size; ++k) {
        const int i = span.start + k;
        const Real scale = static_cast<Real>(scales[k]);
        const Real feature = unscored(c, i, undo_squash_after(knob, static_cast<Real>(c.in[0][i]), scale));
        c.out[i] = static_cast<float>(undo_squash_before(knob, feature, scale));
    }
}
template <class Real>
void denormalised_output_in(const Call& c) {
    Words words(c.words + 1);
    const auto yaw_encoding = words.reading<YawEncoding>();
    const auto rootvel_squash = words.reading<RootvelSquash>();
    const auto angvel_squash = words.reading<AngvelSquash>();
    const Span yaw = words.span(), velocity = words.span(), angular = words.span();
    for (int i = 0; i < c.width; ++i) c.out[i] = static_cast<float>(unscored(c, i, static_cast<Real>(c.in[0][i])));
    for (int i = yaw.start; i < yaw.start + yaw.size; ++i) {
        c.out[i] = static_cast<float>(decode_yaw(yaw_encoding, unscored(c, i, static_cast<Real>(c.in[0][i]))));
    }
    unsquash_span<Real>(rootvel_squash, c, velocity, c.numbers + 2 * c.width);
    unsquash_span<Real>(angvel_squash, c, angular, c.numbers + 2 * c.width + velocity.size);
}
// words: precision; how yaw is encoded, root velocity and angular velocity are squashed; the spans of the three, empty where the
// output has none. numbers: factors, summands; scales of the velocities.
inline void denormalised_output(const Call& c) { is_single(c) ? denormalised_output_in<float>(c) : denormalised_output_in<double>(c); }

// A few bones after the other: `visit(slots, bones)`; slot i takes bone i of `order`. The last group repeats a bone.
template <class Some, class Visit>
void each_group(int count, const int* order, Visit&& visit) {
    for (int first = 0; first < count; first += Some::count) {
        int slots[Some::count], bones[Some::count];
        for (int lane = 0; lane < Some::count; ++lane) {
            slots[lane] = first + lane < count ? first + lane : count - 1;
            bones[lane] = order == nullptr ? slots[lane] : order[slots[lane]];
        }
        visit(slots, bones);
    }
}
// The six numbers of a pose published one frame before; before the first frame no rotation.
template <class Some>
Six<Some> published_before(const Call& c, const Rot6d<Some>& codec, const float* published, const int* bones) {
    if (c.frame > 0) return Six<Some>(published, bones);
    Six<Some> identity;
    codec.identity(identity.v);
    return identity;
}

template <class Real>
void turn_in(const Call& c) {
    using Some = Lanes<Real>;
    Words words(c.words + 1);
    const Rot6d<Some> codec(words.six_form());
    const bool is_reprojected = words.number() != 0, adds_identity = words.number() != 0;
    const int start = words.number();
    Six<Some> identity;
    codec.identity(identity.v);
    each_group<Some>(c.width / 6, nullptr, [&](const int* bones, const int*) {
        Six<Some> delta(c.in[0] + start, bones), result;
        for (int i = 0; i < 6 && adds_identity; ++i) delta.v[i] = delta.v[i] + identity.v[i];
        if (is_reprojected) codec.reproject_delta(delta.v, published_before(c, codec, c.in[1] + start, bones).v, result.v);
        (is_reprojected ? result : delta).store(c.out, bones);
    });
}
// words: precision; the form of six numbers; whether they are made a rotation, whether the identity is added; where rotations begin in
// the output. Reads the denormalised answer and what was published the frame before.
inline void turn(const Call& c) { is_single(c) ? turn_in<float>(c) : turn_in<double>(c); }

template <class Real>
void composed_pose_in(const Call& c) {
    using Some = Lanes<Real>;
    Words words(c.words + 1);
    const Rot6d<Some> codec(words.six_form());
    const bool is_reprojected = words.number() != 0;
    // Axes are rows here: the contract's ΔR · R_prev turns round, and a literal `delta * previous` is the defect.
    const bool is_delta_left = words.reading<ComposeOrder>() == ComposeOrder::delta_prev;
    const bool is_inverse = words.reading<DeltaDirection>() == DeltaDirection::inverse;
    const float* pose = c.in[1] + words.number();
    each_group<Some>(c.width / 6, nullptr, [&](const int* bones, const int*) {
        const Six<Some> six(c.in[0], bones);
        Mat3<Some> delta = is_reprojected ? codec.decode(six.v) : codec.decode_as_is(six.v);
        if (is_inverse) delta = delta.transposed();
        const Mat3<Some> previous = codec.decode(Six<Some>(pose, bones).v);
        Six<Some> next;
        codec.encode(is_delta_left ? previous * delta : delta * previous, next.v);
        next.store(c.out, bones);
    });
}
// words: precision; the form of six numbers; whether a turn is made a rotation; order and direction; where rotations begin in the
// state. Reads the turns, and the raw state that they are applied to.
inline void composed_pose(const Call& c) { is_single(c) ? composed_pose_in<float>(c) : composed_pose_in<double>(c); }

// R becomes S·R·S, S = diag(±1): entry (r, c) changes sign when exactly one of r and c is the mirrored axis.
template <class Some>
void mirror_pose(const Rot6d<Some>& codec, Mirror axis, Six<Some>& pose) {
    const int flipped = static_cast<int>(axis) - static_cast<int>(Mirror::x);
    Mat3<Some> matrix = codec.decode_as_is(pose.v);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            if ((i == flipped) != (j == flipped)) matrix.axis[i][j] = rigpact::constant<Some>(-1) * matrix.axis[i][j];
        }
    }
    codec.encode(matrix, pose.v);
}
template <class Real>
void published_pose_in(const Call& c) {
    using Some = Lanes<Real>;
    Words words(c.words + 1);
    const Rot6d<Some> codec(words.six_form());
    const bool is_reprojected = words.number() != 0;
    const auto mirror = words.reading<Mirror>();
    const Span rotations = words.span();
    const int* order = words.number() != 0 ? words.rest() : nullptr;
    copy_floats(c.in[1], c.out, c.width);
    each_group<Some>(rotations.size / 6, order, [&](const int* slots, const int* bones) {
        const Six<Some> composed(c.in[0], bones);
        Six<Some> pose = composed;
        if (is_reprojected) codec.reproject(composed.v, published_before(c, codec, c.in[2] + rotations.start, bones).v, pose.v);
        if (mirror != Mirror::none) mirror_pose(codec, mirror, pose);
        pose.store(c.out + rotations.start, slots);
    });
}
// words: precision; the form of six numbers; whether the pose is made a rotation; the mirrored axis; the span of rotations in the
// output; whether there is an order of bones, then it. Reads the composed pose, the denormalised answer, what was published before.
inline void published_pose(const Call& c) { is_single(c) ? published_pose_in<float>(c) : published_pose_in<double>(c); }

template <class Real>
void pose_quaternions_in(const Call& c) {
    using Some = Lanes<Real>;
    Words words(c.words + 1);
    const Rot6d<Some> codec(words.six_form());
    const int shift = words.reading<QuaternionOrder>() == QuaternionOrder::wxyz ? 3 : 0;
    const float* pose = c.in[0] + words.number();
    each_group<Some>(c.width / 4, nullptr, [&](const int* bones, const int*) {
        const Quat<Some> q = matrix_to_quat(codec.decode(Six<Some>(pose, bones).v));
        for (int lane = 0; lane < Some::count; ++lane) {
            for (int i = 0; i < 4; ++i) c.out[4 * bones[lane] + i] = static_cast<float>(q.xyzw[(i + shift) % 4].at[lane]);
        }
    });
}
// words: precision; the form of six numbers, of which no reflection comes; order; where rotations begin in the output.
inline void pose_quaternions(const Call& c) { is_single(c) ? pose_quaternions_in<float>(c) : pose_quaternions_in<double>(c); }

template <class Real>
void write_back_in(const Call& c) {
    Words words(c.words + 1);
    const Rot6d<Real> codec(words.six_form());
    const auto way = words.reading<Writeback>();
    const int rotations = words.number(), angular = words.number(), velocity = words.number(), position = words.number();
    const int count = words.number();
    const float* x_raw = c.in[0];
    copy_floats(c.is_free ? x_raw : c.in[2], c.out, c.width);
    if (way == Writeback::none || !c.is_free) return;
    for (int i = 0; i < count; ++i) {
        const int from = words.number(), to = words.number();
        copy_floats(c.in[1] + from, c.out + to, words.number());
    }
    if (way != Writeback::all) return;
    const Real fps = static_cast<Real>(c.numbers[0]);
    for (int bone = 0; 6 * bone < words.rest()[0]; ++bone) {
        const int at = rotations + 6 * bone;
        const Vec3<Real> omega = step_between(codec, x_raw + at, c.out + at) * fps;
        for (int i = 0; i < 3; ++i) c.out[angular + 3 * bone + i] = static_cast<float>(omega[i]);
    }
    for (int i = 0; position >= 0 && i < 2; ++i) c.out[position + i] += c.out[velocity + i] / static_cast<float>(c.numbers[0]);
}
// words: precision; the form of six numbers; way; where rotations, angular velocity, root velocity and root position begin in the
// state, -1 without one; how many slices both vectors have; of each where it begins in the output and in the state, and its size; how
// many numbers the rotations have. numbers: frames a second. Reads the raw state, what is published, and the clip's next raw state.
inline void write_back(const Call& c) { is_single(c) ? write_back_in<float>(c) : write_back_in<double>(c); }

}  // namespace vocabulary
}  // namespace rigpact
