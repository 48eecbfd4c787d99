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
#else
// tanh |x| = -t / (t + 2) with t = expm1(-2|x|), and expm1(z) = 2^k · expm1(r) + (2^k - 1), z = k · ln 2 + r, |r| <= ln 2 / 2.
// The Taylor polynomial of expm1(r) ends at r^13: the next term is below 2^-57 of r. Within three units in the last place
// of a double; tanh of a NaN is a NaN; from |x| = 20 on it is ±1.
RIGPACT_INLINED double tanh_of(double x) {
    constexpr double kLog2e = 1.4426950408889634, kHigh = 6.93147180369123816490e-01, kLow = 1.90821492927058770002e-10;
    constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it leaves the nearest integer in the low bits
    constexpr double kInverseFactorials[] = {
        1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800,
        1.0 / 479001600, 1.0 / 6227020800.0};
    double size = std::fabs(x);
    size = 20.0 < size ? 20.0 : size;
    const double z = -2.0 * size, shifted = z * kLog2e + kRound, k = shifted - kRound;
    const double r = (z - k * kHigh) - k * kLow;
    double series = kInverseFactorials[11];
    for (int i = 10; i >= 0; --i) series = series * r + kInverseFactorials[i];
    const double small = r + r * r * series;
    std::int64_t bits = 0;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = static_cast<std::int64_t>(static_cast<std::uint64_t>(bits + 1023) << 52);
    double power = 0;
    std::memcpy(&power, &bits, sizeof power);
    const double t = power * small + (power - 1.0);
    return std::copysign(-t / (t + 2.0), x);
}
#endif
RIGPACT_INLINED float tanh_of(float x) { return static_cast<float>(tanh_of(static_cast<double>(x))); }

}  // namespace rigpact
