// tanh without a branch, so that a compiler computes a row of them side by side: a frame of a character needs a thousand.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// A call in the middle of a row would keep the compiler from computing it side by side.
#if defined(__GNUC__)
#define RIGPACT_INLINED inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define RIGPACT_INLINED __forceinline
#else
#define RIGPACT_INLINED inline
#endif

namespace rigpact {

#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
// Such a compiler cancels the rounding below.
inline double tanh_of(double x) { return std::tanh(x); }
inline float tanh_of(float x) { return std::tanh(x); }
#else
namespace detail {

// tanh |x| = -t / (t + 2) with t = expm1(-2|x|), and expm1(z) = 2^k · expm1(r) + (2^k - 1), z = k · ln 2 + r, |r| <= ln 2 / 2.
// `series` are the coefficients of expm1 from r^2 on: the first that is left out is below an eighth of a unit in the last place.
// ln 2 is high + low, and k · high is exact. Adding `round` leaves the nearest integer in the low bits.
// Within 3 · 2^-53 of the value, a float within 3 · 2^-24; tanh of a NaN is a NaN; from |x| = `one` on it is ±1.
template <class Real, class Integer, int terms>
struct TanhOf {
    Real log2e, high, low, round, one;
    Integer bias, mantissa_bits;
    Real series[terms];

    RIGPACT_INLINED Real operator()(Real x) const {
        Real size = std::fabs(x);
        size = one < size ? one : size;
        const Real z = -2 * size, shifted = z * log2e + round, k = shifted - round;
        const Real r = (z - k * high) - k * low;
        Real sum = series[terms - 1];
        for (int i = terms - 2; i >= 0; --i) sum = sum * r + series[i];
        const Real near_zero = r + r * r * sum;
        Integer bits = 0;
        std::memcpy(&bits, &shifted, sizeof bits);
        bits = (bits + bias) << mantissa_bits;
        Real power = 0;
        std::memcpy(&power, &bits, sizeof power);
        const Real t = power * near_zero + (power - 1);
        return std::copysign(-t / (t + 2), x);
    }
};

inline constexpr TanhOf<double, std::uint64_t, 12> kTanhOfDouble{
    1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 6755399441055744.0, 20.0, 1023u, 52u,
    {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800,
     1.0 / 479001600, 1.0 / 6227020800.0}};
inline constexpr TanhOf<float, std::uint32_t, 6> kTanhOfFloat{
    1.44269504f, 0.693359375f, -2.12194440e-4f, 12582912.0f, 10.0f, 127u, 23u,
    {1.0f / 2, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040}};

}  // namespace detail

RIGPACT_INLINED double tanh_of(double x) { return detail::kTanhOfDouble(x); }
RIGPACT_INLINED float tanh_of(float x) { return detail::kTanhOfFloat(x); }
#endif

}  // namespace rigpact
