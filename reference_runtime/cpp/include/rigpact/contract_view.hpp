// What the loop needs to know of a bundle, as plain pointers: nothing here owns memory.
// `rigpact codegen` writes one as constants; an engine that parses the bundle itself fills one from its own arrays.
#pragma once

#include <cstring>
#include <initializer_list>

namespace rigpact {

inline constexpr int kConditionWidth = 7;  // four action bits, planar direction, speed
inline constexpr int kContactsWidth = 2;   // left foot, right foot

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

// Whether state and output hold the same slice: then write-back copies it and the statistics can be mistaken for one another.
inline const Slice* state_twin(const ContractView& contract, const Slice& output) {
    const Slice* twin = find_slice(contract.state, output.name);
    return twin != nullptr && twin->size == output.size ? twin : nullptr;
}

// What `LoadSchemaAndStats` insists on, and what the loop would otherwise read past the end of: null when sound.
inline const char* contract_defect(const ContractView& contract) {
    for (const Layout* layout : {&contract.state, &contract.output}) {
        for (int i = 0; i < layout->count; ++i) {
            const Slice& slice = layout->slices[i];
            if (slice.start < 0 || slice.size < 0 || slice.start > layout->width - slice.size) return "a slice leaves its vector";
        }
    }
    const Slice* rotations = find_slice(contract.state, "BoneRotations6D");
    const Slice* published = find_slice(contract.output, "BoneRotations6D");
    const Slice* angular = find_slice(contract.state, "BoneAngularVelocities");
    const Slice* velocity = find_slice(contract.state, "RootVelocity");
    const Slice* yaw = find_slice(contract.state, "RootYaw");
    if (!rotations || !published || !angular || !velocity || !yaw) return "a slice that the engine needs is missing";
    if (contract.bones < 1 || published->size != 6 * contract.bones) return "the output does not hold six numbers a bone";
    if (rotations->size != published->size) return "state and output hold different bones";
    if (angular->size != 3 * contract.bones) return "angular velocities are not three numbers a bone";
    if (yaw->size != 1 || velocity->size != 2) return "root yaw or root velocity has another size";
    if (contract.history_length < 1) return "the length of the pose history is unknown";
    if (!contract.mu_x || !contract.std_x || !contract.mu_y || !contract.std_y) return "statistics are missing";
    if (!contract.rootvel_scales || !contract.angvel_scales) return "tanh scales are missing";
    return nullptr;
}

}  // namespace rigpact
