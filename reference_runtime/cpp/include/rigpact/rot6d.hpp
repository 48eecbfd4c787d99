// Six numbers for a rotation: which two axes they hold, and how they become a rotation again.
// Engine: `Reproject6D` (published poses) and `DecodeRot6DToMatrix` (previous pose, ΔR, seeds); they treat short axes differently.
#pragma once

#include "rigpact/conventions.hpp"
#include "rigpact/vector.hpp"

namespace rigpact {

template <class Real>
struct AxisPair {
    Vec3<Real> a;
    Vec3<Real> b;
};

template <class Real>
class Rot6d {
public:
    explicit Rot6d(const Conventions& conventions)
        : packing_(conventions.rot6d_packing), degenerate_(conventions.degenerate_axis) {
        choose_columns(packing_ == Rot6dPacking::rows ? Rot6dColumns::xy : conventions.rot6d_columns);
        derived_ = 3 - first_ - second_;
        // second × first, flipped when det < 0: that happens exactly when the two axes are in cyclic order
        const bool cyclic = (second_ - first_ + 3) % 3 == 1;
        derived_sign_ = cyclic || conventions.derived_axis == DerivedAxis::first_cross_second ? Real(1) : Real(-1);
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
        join(engine_pair(axes, keeps ? split(previous) : canonical(), is_short<Real>), out);
    }

    // Gram–Schmidt of ΔR. It is decoded, as previous poses and seeds are: a lost axis becomes a coordinate axis.
    void reproject_delta(const Real* six, const Real* previous, Real* out) const {
        if (degenerate_ == DegenerateAxis::previous_frame_for_delta) {
            reproject(six, previous, out);
            return;
        }
        const AxisPair<Real> axes = split(six);
        const bool is_training = degenerate_ == DegenerateAxis::zero;
        join(is_training ? training_pair(axes) : engine_pair(axes, canonical(), is_nearly_zero<Real>), out);
    }

    // Orthonormalised; near-zero axes become coordinate axes.
    Mat3<Real> decode(const Real* six) const {
        const AxisPair<Real> axes = split(six);
        if (degenerate_ == DegenerateAxis::zero) return assemble(training_pair(axes));
        return assemble(engine_pair(axes, canonical(), is_nearly_zero<Real>));
    }

    // No Gram–Schmidt: what an engine does that forgot to reproject.
    Mat3<Real> decode_as_is(const Real* six) const { return assemble(split(six)); }

    void encode(const Mat3<Real>& matrix, Real* six) const {
        const Mat3<Real> lines = packing_ == Rot6dPacking::rows ? matrix.transposed() : matrix;
        join({lines.axis[first_], lines.axis[second_]}, six);
    }

    void identity(Real* six) const { join(canonical(), six); }

private:
    using IsDegenerate = bool (*)(const Vec3<Real>&);

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

    static AxisPair<Real> engine_pair(const AxisPair<Real>& axes, const AxisPair<Real>& fallback, IsDegenerate degenerate) {
        const Vec3<Real> first = degenerate(axes.a) ? fallback.a : axes.a / length(axes.a);
        const Vec3<Real> rest = perpendicular(axes.b, first);
        return {first, degenerate(rest) ? substitute(fallback.b, first) : rest / length(rest)};
    }

    // A fallback axis is made orthogonal too; when even that is parallel, the most perpendicular coordinate axis serves.
    static Vec3<Real> substitute(const Vec3<Real>& axis, const Vec3<Real>& first) {
        Vec3<Real> rest = perpendicular(axis, first);
        if (is_short(rest)) {
            int least = 0;
            for (int i = 1; i < 3; ++i) {
                if (std::fabs(first[i]) < std::fabs(first[least])) least = i;
            }
            rest = perpendicular(coordinate_axis<Real>(least), first);
        }
        return rest / length(rest);
    }

    // Training's Gram–Schmidt divides by max(|v|, 1e-8): a zero vector stays zero.
    static AxisPair<Real> training_pair(const AxisPair<Real>& axes) {
        const Real floor = static_cast<Real>(1e-8);
        const Vec3<Real> first = axes.a / larger(length(axes.a), floor);
        const Vec3<Real> rest = perpendicular(axes.b, first);
        return {first, rest / larger(length(rest), floor)};
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
    Real derived_sign_ = 1;
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

}  // namespace rigpact
