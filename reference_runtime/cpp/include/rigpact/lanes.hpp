// Several numbers side by side, so that one formula serves a few bones at once: two doubles or four floats, twice as many
// with AVX. g++ and clang++ keep them in vector registers; another compiler loops, to the same bits.
// `constant`, `select`, `any`, `both`, `absolute` and `root` take plain numbers too: a formula that is written with them
// serves both.
#pragma once

#include <cmath>

namespace rigpact {

#if defined(__GNUC__) && !defined(RIGPACT_PLAIN_LANES)
#define RIGPACT_VECTOR_LANES 1
#endif
#if defined(__AVX__)
#define RIGPACT_LANE_BYTES 32  // wider than the target's registers would change how arguments are passed
#else
#define RIGPACT_LANE_BYTES 16
#endif

namespace detail {

// What holds the lanes, and what a comparison of them gives.
template <class Real>
struct LaneTypes {
    static constexpr int count = RIGPACT_LANE_BYTES / static_cast<int>(sizeof(Real));
    struct Values {
        Real at[count];
        Real& operator[](int lane) { return at[lane]; }
        Real operator[](int lane) const { return at[lane]; }
    };
    struct Mask {
        bool at[count];
        bool& operator[](int lane) { return at[lane]; }
        bool operator[](int lane) const { return at[lane]; }
    };
};
#if defined(RIGPACT_VECTOR_LANES)
template <>
struct LaneTypes<double> {
    static constexpr int count = RIGPACT_LANE_BYTES / 8;
    typedef double Values __attribute__((vector_size(RIGPACT_LANE_BYTES)));
    typedef decltype(Values{} < Values{}) Mask;
};
template <>
struct LaneTypes<float> {
    static constexpr int count = RIGPACT_LANE_BYTES / 4;
    typedef float Values __attribute__((vector_size(RIGPACT_LANE_BYTES)));
    typedef decltype(Values{} < Values{}) Mask;
};
#endif

}  // namespace detail

template <class Real>
struct Lanes {
    static constexpr int count = detail::LaneTypes<Real>::count;
    typename detail::LaneTypes<Real>::Values at;

    Lanes() = default;
    Lanes(Real all) {
        for (int lane = 0; lane < count; ++lane) at[lane] = all;
    }
};

// True or false for each lane.
template <class Real>
struct LaneMask {
    typename detail::LaneTypes<Real>::Mask at;
};

#if defined(RIGPACT_VECTOR_LANES)
#define RIGPACT_LANEWISE(operation)                                              \
    template <class Real>                                                       \
    Lanes<Real> operator operation(const Lanes<Real>& a, const Lanes<Real>& b) { \
        Lanes<Real> result;                                                     \
        result.at = a.at operation b.at;                                        \
        return result;                                                          \
    }
#define RIGPACT_LANE_ORDER(relation)                                               \
    template <class Real>                                                         \
    LaneMask<Real> operator relation(const Lanes<Real>& a, const Lanes<Real>& b) { \
        return {a.at relation b.at};                                              \
    }
#else
#define RIGPACT_LANEWISE(operation)                                                                        \
    template <class Real>                                                                                 \
    Lanes<Real> operator operation(const Lanes<Real>& a, const Lanes<Real>& b) {                           \
        Lanes<Real> result;                                                                               \
        for (int lane = 0; lane < Lanes<Real>::count; ++lane) result.at[lane] = a.at[lane] operation b.at[lane]; \
        return result;                                                                                    \
    }
#define RIGPACT_LANE_ORDER(relation)                                                                       \
    template <class Real>                                                                                 \
    LaneMask<Real> operator relation(const Lanes<Real>& a, const Lanes<Real>& b) {                         \
        LaneMask<Real> result;                                                                            \
        for (int lane = 0; lane < Lanes<Real>::count; ++lane) result.at[lane] = a.at[lane] relation b.at[lane]; \
        return result;                                                                                    \
    }
#endif
RIGPACT_LANEWISE(+)
RIGPACT_LANEWISE(-)
RIGPACT_LANEWISE(*)
RIGPACT_LANEWISE(/)
RIGPACT_LANE_ORDER(<)
RIGPACT_LANE_ORDER(<=)
RIGPACT_LANE_ORDER(>)
#undef RIGPACT_LANEWISE
#undef RIGPACT_LANE_ORDER

// --- the same words for a plain number and for lanes ---
namespace detail {
template <class Real>
struct Plain {
    typedef Real type;
};
template <class Real>
struct Plain<Lanes<Real>> {
    typedef Real type;
};
}  // namespace detail

template <class Real>
Real constant(double value) {
    return Real(static_cast<typename detail::Plain<Real>::type>(value));
}

template <class Value>
Value select(bool which, const Value& yes, const Value& no) {
    return which ? yes : no;
}
template <class Real>
Lanes<Real> select(const LaneMask<Real>& which, const Lanes<Real>& yes, const Lanes<Real>& no) {
    Lanes<Real> result;
#if defined(RIGPACT_VECTOR_LANES)
    result.at = which.at ? yes.at : no.at;
#else
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) result.at[lane] = which.at[lane] ? yes.at[lane] : no.at[lane];
#endif
    return result;
}

inline bool any(bool which) { return which; }
template <class Real>
bool any(const LaneMask<Real>& which) {
    bool found = false;
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) found = found | (which.at[lane] != 0);
    return found;
}

inline bool both(bool a, bool b) { return a && b; }
template <class Real>
LaneMask<Real> both(const LaneMask<Real>& a, const LaneMask<Real>& b) {
    LaneMask<Real> result;
#if defined(RIGPACT_VECTOR_LANES)
    result.at = a.at & b.at;
#else
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) result.at[lane] = a.at[lane] && b.at[lane];
#endif
    return result;
}

inline double absolute(double value) { return std::fabs(value); }
inline float absolute(float value) { return std::fabs(value); }
inline double root(double value) { return std::sqrt(value); }
inline float root(float value) { return std::sqrt(value); }
template <class Real>
Lanes<Real> absolute(Lanes<Real> value) {
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) value.at[lane] = std::fabs(value.at[lane]);
    return value;
}
template <class Real>
Lanes<Real> root(Lanes<Real> value) {
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) value.at[lane] = std::sqrt(value.at[lane]);
    return value;
}

}  // namespace rigpact
