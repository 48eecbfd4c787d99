// A bundle as plain pointers: nothing here owns memory.
// `rigpact codegen` writes one as constants; an engine that parses the bundle itself fills one from its own arrays.
#pragma once

#include <cstring>

namespace rigpact {

struct Slice {
    const char* name;
    int start;
    int size;
};

struct Layout {
    const Slice* slices;
    int count;
    int width;
};

// Mean and std of an auxiliary input and the scale of the tanh before them; all null when no file has them.
struct SquashedStatistics {
    const float* scale;
    const float* mean;
    const float* std;
};

struct ContractView {
    Layout state;
    Layout output;
    int bones;
    int history_length;
    const float* mu_x;
    const float* std_x;
    const float* mu_y;
    const float* std_y;
    const float* rootvel_scales;
    const float* angvel_scales;
    SquashedStatistics angvel;
    SquashedStatistics pose_hist;
};

inline bool same_text(const char* a, const char* b) { return std::strcmp(a, b) == 0; }

inline const Slice* find_slice(const Layout& layout, const char* name) {
    for (int i = 0; i < layout.count; ++i) {
        if (same_text(layout.slices[i].name, name)) return &layout.slices[i];
    }
    return nullptr;
}

}  // namespace rigpact
