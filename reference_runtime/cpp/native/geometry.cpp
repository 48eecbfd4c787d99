// Rotations of many bones behind a C interface: the arithmetic of lanes.py in the same order, so the bits are numpy's.
// A group of bones of which an axis is short, or not a number, is named and left: what replaces it is numpy's to say.
#include <cstdint>

#include "rigpact/six_lanes.hpp"
#include "rigpact/vector.hpp"

#if defined(_WIN32)
#define RIGPACT_EXPORT extern "C" __declspec(dllexport)
#else
#define RIGPACT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define RIGPACT_FLAT __attribute__((flatten))  // a call in a group would send its lanes through memory
#else
#define RIGPACT_FLAT
#endif

namespace {

using rigpact::Lanes;
using rigpact::Vec3;

// What the six numbers hold: `first` and `second` of the axes, one after the other or in turns; axes are rows or columns.
// The third axis is first × second, or second × first.
struct SixForm {
    int first, second, in_turns, are_rows, is_second_first;
};

constexpr double kClearlyLong = 2e-4;

template <class Real, bool are_rows, bool in_turns>
class Bones {
public:
    using Some = Lanes<Real>;
    using Axis = Vec3<Some>;

    explicit Bones(const SixForm& form) : first_(form.first), second_(form.second), is_second_first_(form.is_second_first != 0) {}

    // Three axes; false if one of them is short or NaN.
    bool decode(const Real* from, Axis* axes) const {
        constexpr int step = in_turns ? 2 : 1, start = in_turns ? 1 : 3;
        Some six[6];
        rigpact::load_six(from, six);
        Axis a{{six[0], six[step], six[2 * step]}}, b{{six[start], six[start + step], six[start + 2 * step]}};
        const Some size = unit(a);
        b = b - a * dot(a, b);
        const Some other = unit(b);
        axes[first_] = a;
        axes[second_] = b;
        axes[3 - first_ - second_] = is_second_first_ ? cross(b, a) : cross(a, b);
        return all_long(size, other);
    }

    void encode(const Axis* axes, Real* to) const {
        constexpr int step = in_turns ? 2 : 1, start = in_turns ? 1 : 3;
        Some six[6];
        for (int i = 0; i < 3; ++i) {
            six[i * step] = axes[first_][i];
            six[start + i * step] = axes[second_][i];
        }
        rigpact::store_six(six, to);
    }

    // Row by row.
    static void write(const Axis* axes, Real* matrices) {
        for (int lane = 0; lane < Some::count; ++lane) {
            Real* matrix = matrices + 9 * rigpact::bone_of_lane<Real>(lane);
            for (int row = 0; row < 3; ++row) {
                for (int i = 0; i < 3; ++i) *matrix++ = (are_rows ? axes[row][i] : axes[i][row]).at[lane];
            }
        }
    }

    // The held lines of left · right; terms are added in the order of the contract's indices.
    void multiply(const Axis* left, const Axis* right, Axis* product) const {
        for (int k = 0; k < 2; ++k) {
            const int line = k == 0 ? first_ : second_;
            for (int i = 0; i < 3; ++i) {
                product[line][i] = are_rows ? left[line][0] * right[0][i] + left[line][1] * right[1][i] + left[line][2] * right[2][i]
                                            : left[0][i] * right[line][0] + left[1][i] * right[line][1] + left[2][i] * right[line][2];
            }
        }
    }

private:
    // v · (1/|v|), and |v|.
    static Some unit(Axis& v) {
        const Some size = length(v);
        v = v * (Some(Real(1)) / size);
        return size;
    }
    static bool all_long(const Some& a, const Some& b) {
        const Some limit = rigpact::constant<Some>(kClearlyLong);
        const auto are_long = both(limit <= a, limit <= b);
        bool found = true;
        for (int lane = 0; lane < Some::count; ++lane) found = found & (are_long.at[lane] != 0);
        return found;
    }

    int first_, second_;
    bool is_second_first_;
};

// Group by group; the last one is filled up with its last bone. a, b: six numbers a bone; out: `width` numbers a bone.
// `work(from a, from b, to)` is false where an axis is lost.
template <class Real, int width, class Work>
RIGPACT_FLAT std::int64_t each_group(const Real* a, const Real* b, Real* out, std::int64_t bones, std::int64_t* lost, Work work) {
    constexpr std::int64_t count = Lanes<Real>::count;
    std::int64_t found = 0, bone = 0;
    for (; bone + count <= bones; bone += count) {
        if (!work(a + 6 * bone, b + 6 * bone, out + width * bone)) lost[found++] = bone;
    }
    if (bone == bones) return found;
    Real rest[2][6 * count], made[width * count];
    for (std::int64_t k = 0; k < 6 * count; ++k) {
        const std::int64_t own = 6 * bone + k, place = own < 6 * bones ? own : 6 * (bones - 1) + k % 6;
        rest[0][k] = a[place];
        rest[1][k] = b[place];
    }
    if (!work(rest[0], rest[1], made)) lost[found++] = bone;
    for (std::int64_t k = 0; k < width * (bones - bone); ++k) out[width * bone + k] = made[k];
    return found;
}

struct Compose {
    template <class Own, class Real>
    static std::int64_t run(const Own& own, const Real* delta, const Real* previous, Real* out, std::int64_t bones, std::int64_t* lost) {
        return each_group<Real, 6>(delta, previous, out, bones, lost, [&](const Real* one, const Real* other, Real* to) {
            typename Own::Axis left[3], right[3], product[3];
            const bool are_whole = own.decode(one, left), are_others = own.decode(other, right);
            own.multiply(left, right, product);
            own.encode(product, to);
            return are_whole && are_others;
        });
    }
};

struct Decode {
    template <class Own, class Real>
    static std::int64_t run(const Own& own, const Real* six, Real* out, std::int64_t bones, std::int64_t* lost) {
        return each_group<Real, 9>(six, six, out, bones, lost, [&](const Real* from, const Real*, Real* to) {
            typename Own::Axis axes[3];
            const bool are_whole = own.decode(from, axes);
            Own::write(axes, to);
            return are_whole;
        });
    }
};

template <class Task, class Real, class... Arguments>
std::int64_t by_form(const SixForm& form, Arguments... arguments) {
    if (form.are_rows) return Task::run(Bones<Real, true, false>(form), arguments...);
    if (form.in_turns) return Task::run(Bones<Real, false, true>(form), arguments...);
    return Task::run(Bones<Real, false, false>(form), arguments...);
}

}  // namespace

// How many bones a group has; is_double: of doubles.
RIGPACT_EXPORT int rigpact_group(int is_double) { return is_double ? Lanes<double>::count : Lanes<float>::count; }

// Bones stand one after the other, six numbers each. lost: room for a number a group; it receives the first bone of each group
// that is left to the caller. Each returns how many.
#define RIGPACT_GEOMETRY(Real, ending)                                                                                        \
    /* ΔR · R_prev */                                                                                                        \
    RIGPACT_EXPORT std::int64_t rigpact_compose_##ending(const SixForm* form, const Real* delta, const Real* previous, Real* out, \
                                                         std::int64_t bones, std::int64_t* lost) {                           \
        return by_form<Compose, Real>(*form, delta, previous, out, bones, lost);                                             \
    }                                                                                                                        \
    /* matrices by rows, nine numbers each */                                                                                \
    RIGPACT_EXPORT std::int64_t rigpact_decode_##ending(const SixForm* form, const Real* six, Real* out, std::int64_t bones,      \
                                                        std::int64_t* lost) {                                                \
        return by_form<Decode, Real>(*form, six, out, bones, lost);                                                          \
    }
RIGPACT_GEOMETRY(float, f32)
RIGPACT_GEOMETRY(double, f64)
