// The words of an operation, read one after the other.
#pragma once

#include "rigpact/rot6d.hpp"
#include "rigpact/vocabulary/call.hpp"

namespace rigpact {
namespace vocabulary {

// Neighbouring channels of a vector.
struct Span {
    int start;
    int size;
};

class Words {
public:
    explicit Words(const int* words) : next_(words) {}

    int number() { return *next_++; }
    template <class Reading>
    Reading reading() {
        return static_cast<Reading>(number());
    }
    Span span() {
        const int start = number();
        return {start, number()};
    }
    SixForm six_form() {
        const auto columns = reading<Rot6dColumns>();
        const auto packing = reading<Rot6dPacking>();
        const auto derived = reading<DerivedAxis>();
        return {columns, packing, derived, reading<DegenerateAxis>()};
    }
    const int* rest() const { return next_; }

private:
    const int* next_;
};

// Whether an operation whose first word is the precision computes in float32, as engines with vectors of float do.
inline bool is_single(const Call& c) { return reading_of<Math>(c) == Math::f32; }

}  // namespace vocabulary
}  // namespace rigpact
