// Six numbers for a rotation: which two axes they hold, and how they become a rotation again.
// Engine: `Reproject6D` (published poses) and `DecodeRot6DToMatrix` (previous pose, ΔR, seeds); they treat short axes differently.
#pragma once

#include "rigpact/vector.hpp"
#include "rigpact/vocabulary/readings.hpp"

namespace rigpact {

template <class Real>
struct AxisPair {
    Vec3<Real> a;
    Vec3<Real> b;
};

// The conventions of six numbers.
struct SixForm {
    Rot6dColumns columns;
    Rot6dPacking packing;
    DerivedAxis derived;
    DegenerateAxis degenerate;
};

template <class Real>
class Rot6d {
public:
    explicit Rot6d(const SixForm& form) : packing_(form.packing), degenerate_(form.degenerate) {
        choose_columns(packing_ == Rot6dPacking::rows ? Rot6dColumns::xy : form.columns);
        derived_ = 3 - first_ - second_;
        // second × first, flipped when det < 0: that happens exactly when the two axes are in cyclic order
        const bool cyclic = (second_ - first_ + 3) % 3 == 1;
        derived_sign_ = constant<Real>(cyclic || form.derived == DerivedAxis::first_cross_second ? 1 : -1);
    }

    AxisPair<Real> split(const Real* six) const {
        if (packing_ == Rot6dPacking::interleaved) return {{{six[0], six[2], six[4]}}, {{six[1], six[3], six[5]}}};
        return {{{six[0], six[1], six[2]}}, {{six[3], six[4], six[5]}}};
    }

    void join(const AxisPair<Real>& axes, Real* six) const {
        const bool zipped = packing_ == Rot6dPacking::interleaved;
        for (int i = 0; i < 3; ++i) {
            six[zipped ? 2 * i : i] = axes.a[i];
            six[zipped ? 2 * i + 1 : i + 3] = axes.b[i];
        }
    }

    // Gram–Schmidt of a published pose; `previous` is the bone's pose published one frame before.
    void reproject(const Real* six, const Real* previous, Real* out) const {
        const AxisPair<Real> axes = split(six);
        if (degenerate_ == DegenerateAxis::zero) {
            join(training_pair(axes), out);
            return;
        }
        const bool keeps = degenerate_ != DegenerateAxis::canonical;
        join(published_pair(axes, keeps ? split(previous) : canonical()), out);
    }

    // Gram–Schmidt of ΔR. It is decoded, as previous poses and seeds are: a lost axis becomes a coordinate axis.
    void reproject_delta(const Real* six, const Real* previous, Real* out) const {
        if (degenerate_ == DegenerateAxis::previous_frame_for_delta) {
            reproject(six, previous, out);
            return;
        }
        join(decoded_pair(split(six)), out);
    }

    // Orthonormalised; near-zero axes become coordinate axes.
    Mat3<Real> decode(const Real* six) const { return assemble(decoded_pair(split(six))); }

    // No Gram–Schmidt: what an engine does that forgot to reproject.
    Mat3<Real> decode_as_is(const Real* six) const { return assemble(split(six)); }

    void encode(const Mat3<Real>& matrix, Real* six) const {
        const Mat3<Real> lines = packing_ == Rot6dPacking::rows ? matrix.transposed() : matrix;
        join({lines.axis[first_], lines.axis[second_]}, six);
    }

    void identity(Real* six) const { join(canonical(), six); }

private:
    void choose_columns(Rot6dColumns columns) {
        switch (columns) {
            case Rot6dColumns::xz: first_ = 0, second_ = 2; break;
            case Rot6dColumns::xy: first_ = 0, second_ = 1; break;
            case Rot6dColumns::zx: first_ = 2, second_ = 0; break;
            case Rot6dColumns::yx: first_ = 1, second_ = 0; break;
            case Rot6dColumns::yz: first_ = 1, second_ = 2; break;
            case Rot6dColumns::zy: first_ = 2, second_ = 1; break;
        }
    }

    AxisPair<Real> canonical() const { return {coordinate_axis<Real>(first_), coordinate_axis<Real>(second_)}; }

    AxisPair<Real> decoded_pair(const AxisPair<Real>& axes) const {
        if (degenerate_ == DegenerateAxis::zero) return training_pair(axes);
        return engine_pair(axes, canonical(), [](const Vec3<Real>& v) { return is_nearly_zero(v); });
    }
    static AxisPair<Real> published_pair(const AxisPair<Real>& axes, const AxisPair<Real>& fallback) {
        return engine_pair(axes, fallback, [](const Vec3<Real>& v) { return is_short(v); });
    }

    template <class IsLost>
    static AxisPair<Real> engine_pair(const AxisPair<Real>& axes, const AxisPair<Real>& fallback, IsLost is_lost) {
        const auto first_lost = is_lost(axes.a);
        const Vec3<Real> first = select(first_lost, fallback.a, unit(axes.a, first_lost));
        const Vec3<Real> rest = perpendicular(axes.b, first);
        const auto second_lost = is_lost(rest);
        const Vec3<Real> second = unit(rest, second_lost);
        return {first, any(second_lost) ? select(second_lost, substitute(fallback.b, first), second) : second};
    }

    // A fallback axis is made orthogonal too; when even that is parallel, the most perpendicular coordinate axis serves.
    static Vec3<Real> substitute(const Vec3<Real>& axis, const Vec3<Real>& first) {
        const Vec3<Real> rest = perpendicular(axis, first);
        Vec3<Real> least = coordinate_axis<Real>(0);
        Real size = absolute(first[0]);
        for (int i = 1; i < 3; ++i) {
            const auto smaller = absolute(first[i]) < size;
            least = select(smaller, coordinate_axis<Real>(i), least);
            size = select(smaller, absolute(first[i]), size);
        }
        const Vec3<Real> kept = select(is_short(rest), perpendicular(least, first), rest);
        return kept / length(kept);
    }

    // v / |v|, and v where it is lost: nothing is divided by zero.
    template <class Which>
    static Vec3<Real> unit(const Vec3<Real>& v, const Which& lost) {
        return v / select(lost, constant<Real>(1), length(v));
    }

    // Training's Gram–Schmidt divides by max(|v|, 1e-8): a zero vector stays zero.
    static AxisPair<Real> training_pair(const AxisPair<Real>& axes) {
        const Vec3<Real> first = axes.a / floored_length(axes.a);
        const Vec3<Real> rest = perpendicular(axes.b, first);
        return {first, rest / floored_length(rest)};
    }
    static Real floored_length(const Vec3<Real>& v) {
        const Real floor = constant<Real>(1e-8), size = length(v);
        return select(size < floor, floor, size);
    }

    Mat3<Real> assemble(const AxisPair<Real>& axes) const {
        Mat3<Real> lines;
        lines.axis[first_] = axes.a;
        lines.axis[second_] = axes.b;
        lines.axis[derived_] = cross(axes.a, axes.b) * derived_sign_;
        return packing_ == Rot6dPacking::rows ? lines.transposed() : lines;
    }

    Rot6dPacking packing_;
    DegenerateAxis degenerate_;
    int first_ = 0;
    int second_ = 2;
    int derived_ = 1;
    Real derived_sign_ = constant<Real>(1);
};

// float32 storage to the type of the maths, six numbers.
template <class Real>
struct Six {
    Real v[6];
    explicit Six(const float* stored) {
        for (int i = 0; i < 6; ++i) v[i] = static_cast<Real>(stored[i]);
    }
    Six() = default;
    void store(float* out) const {
        for (int i = 0; i < 6; ++i) out[i] = static_cast<float>(v[i]);
    }
};

// A few bones at once: lane i holds bone `bones[i]`.
template <class Real>
struct Six<Lanes<Real>> {
    Lanes<Real> v[6];
    Six(const float* stored, const int* bones) {
        for (int i = 0; i < 6; ++i) {
            for (int lane = 0; lane < Lanes<Real>::count; ++lane) v[i].at[lane] = static_cast<Real>(stored[6 * bones[lane] + i]);
        }
    }
    Six() = default;
    void store(float* out, const int* bones) const {
        for (int lane = 0; lane < Lanes<Real>::count; ++lane) {
            for (int i = 0; i < 6; ++i) out[6 * bones[lane] + i] = static_cast<float>(v[i].at[lane]);
        }
    }
};

}  // namespace rigpact
