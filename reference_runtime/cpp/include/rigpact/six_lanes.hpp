// Six numbers of several bones that stand one after the other, to lanes and back: lane by lane, or by shuffles with AVX.
// With shuffles of floats bones stand in other lanes than their own; the way back puts them where they were.
#pragma once

#include "rigpact/lanes.hpp"

#if defined(RIGPACT_VECTOR_LANES) && defined(__AVX__)
#include <immintrin.h>
#endif

namespace rigpact {

// Which of the bones stands in a lane.
template <class Real>
constexpr int bone_of_lane(int lane) {
#if defined(RIGPACT_VECTOR_LANES) && defined(__AVX__)
    return sizeof(Real) == 8 || (lane % 4) % 3 == 0 ? lane : (lane % 4 == 1 ? lane + 1 : lane - 1);
#else
    return lane;
#endif
}

template <class Real>
void load_six(const Real* from, Lanes<Real>* six) {
    for (int i = 0; i < 6; ++i) {
        six[i] = Lanes<Real>(from[i]);
        for (int lane = 1; lane < Lanes<Real>::count; ++lane) six[i].at[lane] = from[6 * lane + i];
    }
}
template <class Real>
void store_six(const Lanes<Real>* six, Real* to) {
    for (int lane = 0; lane < Lanes<Real>::count; ++lane) {
        for (int i = 0; i < 6; ++i) to[6 * lane + i] = six[i].at[lane];
    }
}

#if defined(RIGPACT_VECTOR_LANES) && defined(__AVX__)
// Rows 0 … 2 hold the first half of the bones, rows 3 … 5 the other half: halves of rows i and i + 3 go together.
inline void load_six(const double* from, Lanes<double>* six) {
    __m256d low[3], high[3];
    for (int i = 0; i < 3; ++i) {
        const __m256d one = _mm256_loadu_pd(from + 4 * i), other = _mm256_loadu_pd(from + 4 * i + 12);
        low[i] = _mm256_permute2f128_pd(one, other, 0x20);
        high[i] = _mm256_permute2f128_pd(one, other, 0x31);
    }
    // bones 0 and 2 stand in low[0], high[0], low[1]; 1 and 3 in the rest
    six[0].at = _mm256_unpacklo_pd(low[0], high[1]);
    six[1].at = _mm256_unpackhi_pd(low[0], high[1]);
    six[2].at = _mm256_unpacklo_pd(high[0], low[2]);
    six[3].at = _mm256_unpackhi_pd(high[0], low[2]);
    six[4].at = _mm256_unpacklo_pd(low[1], high[2]);
    six[5].at = _mm256_unpackhi_pd(low[1], high[2]);
}
inline void store_six(const Lanes<double>* six, double* to) {
    const __m256d low[3] = {_mm256_unpacklo_pd(six[0].at, six[1].at), _mm256_unpacklo_pd(six[4].at, six[5].at),
                            _mm256_unpackhi_pd(six[2].at, six[3].at)};
    const __m256d high[3] = {_mm256_unpacklo_pd(six[2].at, six[3].at), _mm256_unpackhi_pd(six[0].at, six[1].at),
                             _mm256_unpackhi_pd(six[4].at, six[5].at)};
    for (int i = 0; i < 3; ++i) {
        _mm256_storeu_pd(to + 4 * i, _mm256_permute2f128_pd(low[i], high[i], 0x20));
        _mm256_storeu_pd(to + 4 * i + 12, _mm256_permute2f128_pd(low[i], high[i], 0x31));
    }
}

namespace detail {
// Pairs of floats, as doubles: `first` takes the lower pair of both, `last` the upper one.
inline __m256 first_pairs(__m256 a, __m256 b) { return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b))); }
inline __m256 last_pairs(__m256 a, __m256 b) { return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b))); }
}  // namespace detail

inline void load_six(const float* from, Lanes<float>* six) {
    __m256 low[3], high[3];
    for (int i = 0; i < 3; ++i) {
        const __m256 one = _mm256_loadu_ps(from + 8 * i), other = _mm256_loadu_ps(from + 8 * i + 24);
        low[i] = _mm256_permute2f128_ps(one, other, 0x20);
        high[i] = _mm256_permute2f128_ps(one, other, 0x31);
    }
    // pairs of numbers of bones 0 and 2 (even), and of 1 and 3 (odd)
    const __m256 even[3] = {detail::first_pairs(low[0], high[1]), detail::last_pairs(low[0], high[1]), detail::first_pairs(high[0], low[2])};
    const __m256 odd[3] = {detail::last_pairs(high[0], low[2]), detail::first_pairs(low[1], high[2]), detail::last_pairs(low[1], high[2])};
    for (int i = 0; i < 3; ++i) {
        six[2 * i].at = _mm256_shuffle_ps(even[i], odd[i], 0x88);
        six[2 * i + 1].at = _mm256_shuffle_ps(even[i], odd[i], 0xdd);
    }
}
inline void store_six(const Lanes<float>* six, float* to) {
    __m256 even[3], odd[3];
    for (int i = 0; i < 3; ++i) {
        even[i] = _mm256_unpacklo_ps(six[2 * i].at, six[2 * i + 1].at);
        odd[i] = _mm256_unpackhi_ps(six[2 * i].at, six[2 * i + 1].at);
    }
    const __m256 low[3] = {detail::first_pairs(even[0], even[1]), detail::first_pairs(odd[1], odd[2]), detail::last_pairs(even[2], odd[0])};
    const __m256 high[3] = {detail::first_pairs(even[2], odd[0]), detail::last_pairs(even[0], even[1]), detail::last_pairs(odd[1], odd[2])};
    for (int i = 0; i < 3; ++i) {
        _mm256_storeu_ps(to + 8 * i, _mm256_permute2f128_ps(low[i], high[i], 0x20));
        _mm256_storeu_ps(to + 8 * i + 24, _mm256_permute2f128_ps(low[i], high[i], 0x31));
    }
}
#endif

}  // namespace rigpact
