// Refusing a stale bundle at start-up, without Python: `contract.hpp`, which `rigpact codegen` writes, holds what both
// sides agreed on; here it is compared with what the engine has. All checks are made, and the first failure is described.
#pragma once

#include <cstddef>

#include "rigpact/bits.hpp"
#include "rigpact/runtime.hpp"
#include "rigpact/sha256.hpp"

namespace rigpact {

enum class Check : unsigned {
    none = 0,
    bundle_bytes = 1u,   // the file on disk is another than the code was generated from
    widths = 2u,         // the engine parsed other sizes
    layout = 4u,         // a slice stands elsewhere or is missing
    bones = 8u,          // other bones, or another order
    statistics = 16u,    // other means, deviations or scales
    conventions = 32u,   // the engine runs under another convention
    vectors = 64u,       // a stage computes something else
};

struct SelfTestResult {
    unsigned failed = 0;  // bits of Check
    Check first = Check::none;
    const char* what = "";  // slice, array or stage of the first failure
    int index = 0;
    double found = 0.0;
    double expected = 0.0;

    bool ok() const { return failed == 0; }
    bool caught_by(Check check) const { return (failed & static_cast<unsigned>(check)) != 0; }
    void fail(Check check, const char* place, int at, double was, double should_be) {
        if (failed == 0) first = check, what = place, index = at, found = was, expected = should_be;
        failed |= static_cast<unsigned>(check);
    }
};

struct StageVector {
    Stage stage;
    const float* expected;
    const float* tolerance;
};

// Inputs and expected outputs. Teacher-driven frames 0 … `frame` of `clip`, the network answering with rows of y_norm;
// `vectors` are the stages of the last of them. `x_raw_next` is what free-run's first frame leads to.
struct Conformance {
    ClipView clip;
    int frame;
    const float* y_norm;
    const StageVector* vectors;
    int count;
    StageVector x_raw_next;
};

// What the generated header says.
struct Agreement {
    const char* bundle_sha256;
    ContractView contract;
    const char* const* bone_names;
    Conventions conventions;
    const Conformance* conformance;
    const char* companion_sha256 = nullptr;  // null: no companion
};

// What the engine has: the files' bytes, and what its own loader made of them. bone_names may be null. companion_bytes is
// null where the engine does not have the file itself; its statistics are then checked only as `contract` holds them.
struct EngineSide {
    const void* bundle_bytes;
    std::size_t bundle_size;
    ContractView contract;
    const char* const* bone_names;
    Conventions conventions;
    const void* companion_bytes = nullptr;
    std::size_t companion_size = 0;
};

namespace detail {

inline void check_layout(const Layout& found, const Layout& expected, SelfTestResult& result) {
    if (found.width != expected.width) result.fail(Check::widths, "layout", 0, found.width, expected.width);
    if (found.count != expected.count) result.fail(Check::layout, "number of slices", 0, found.count, expected.count);
    for (int i = 0; i < expected.count; ++i) {
        const Slice& own = expected.slices[i];
        const Slice* slice = find_slice(found, own.name);
        if (slice == nullptr) result.fail(Check::layout, own.name, i, -1, own.start);
        else if (slice->start != own.start) result.fail(Check::layout, own.name, i, slice->start, own.start);
        else if (slice->size != own.size) result.fail(Check::layout, own.name, i, slice->size, own.size);
    }
}

inline void check_array(const char* name, const float* found, const float* expected, int width, SelfTestResult& result) {
    if (found == nullptr || expected == nullptr) {
        if (found != expected) result.fail(Check::statistics, name, -1, found != nullptr, expected != nullptr);
        return;
    }
    for (int i = 0; i < width; ++i) {
        if (!is_finite(found[i]) || !(found[i] == expected[i])) {
            result.fail(Check::statistics, name, i, static_cast<double>(found[i]), static_cast<double>(expected[i]));
            return;
        }
    }
}

inline void check_statistics(const ContractView& found, const ContractView& expected, SelfTestResult& result) {
    check_array("MuX", found.mu_x, expected.mu_x, expected.state.width, result);
    check_array("StdX", found.std_x, expected.std_x, expected.state.width, result);
    check_array("MuY", found.mu_y, expected.mu_y, expected.output.width, result);
    check_array("StdY", found.std_y, expected.std_y, expected.output.width, result);
    check_array("tanh_scales_rootvel", found.rootvel_scales, expected.rootvel_scales, 2, result);
    check_array("tanh_scales_angvel", found.angvel_scales, expected.angvel_scales, 3 * expected.bones, result);
    const int angular = 3 * expected.bones, history = 6 * expected.bones * expected.history_length;
    check_array("tanh_scales_angvel (auxiliary)", found.angvel.scale, expected.angvel.scale, angular, result);
    check_array("MuAngVel", found.angvel.mean, expected.angvel.mean, angular, result);
    check_array("StdAngVel", found.angvel.std, expected.angvel.std, angular, result);
    check_array("tanh_scales_pose_hist", found.pose_hist.scale, expected.pose_hist.scale, history, result);
    check_array("MuPoseHist", found.pose_hist.mean, expected.pose_hist.mean, history, result);
    check_array("StdPoseHist", found.pose_hist.std, expected.pose_hist.std, history, result);
}

inline void check_bones(const EngineSide& engine, const Agreement& agreed, SelfTestResult& result) {
    if (engine.contract.bones != agreed.contract.bones) {
        result.fail(Check::widths, "bones", 0, engine.contract.bones, agreed.contract.bones);
        return;
    }
    for (int i = 0; engine.bone_names != nullptr && i < agreed.contract.bones; ++i) {
        if (!same_text(engine.bone_names[i], agreed.bone_names[i])) result.fail(Check::bones, agreed.bone_names[i], i, -1, i);
    }
}

// q and -q are one rotation: the quaternion is taken with the sign of the expected one.
inline float quat_sign(const float* found, const float* expected) {
    float inner = 0;
    for (int i = 0; i < 4; ++i) inner += found[i] * expected[i];
    return inner < 0 ? -1.0f : 1.0f;
}

}  // namespace detail

// For an engine that keeps its own loop: compare one of its stages with the agreed vector.
inline void check_stage(const StageVector& vector, const float* found, int width, SelfTestResult& result) {
    const char* name = kStageNames[static_cast<int>(vector.stage)];
    if (found == nullptr) {
        result.fail(Check::vectors, name, -1, 0, width);
        return;
    }
    for (int i = 0; i < width; ++i) {
        const int bone = i - i % 4;
        const float sign = vector.stage == Stage::quat ? detail::quat_sign(found + bone, vector.expected + bone) : 1.0f;
        const double error = static_cast<double>(sign * found[i]) - static_cast<double>(vector.expected[i]);
        // a NaN is no pass; its bits say so where -ffast-math takes every comparison with it for true
        if (!is_finite(found[i]) || !(std::fabs(error) <= static_cast<double>(vector.tolerance[i]))) {
            result.fail(Check::vectors, name, i, static_cast<double>(found[i]), static_cast<double>(vector.expected[i]));
            return;
        }
    }
}

// The engine's contract and conventions, run through the agreed inputs.
template <class Real>
void check_vectors(const EngineSide& engine, const Conformance& agreed, SelfTestResult& result) {
    Loop<Real> loop(engine.contract, engine.conventions, agreed.clip.fps);
    if (loop.defect() != nullptr) {
        result.fail(Check::vectors, loop.defect(), 0, 0, 0);
        return;
    }
    int row = 0;
    const auto network = [&](const NetworkInputs&, float* y_norm, int width) {
        std::memcpy(y_norm, agreed.y_norm + row * width, sizeof(float) * static_cast<std::size_t>(width));
        ++row;
        return true;
    };
    const float* target = agreed.clip.x_raw + engine.contract.state.width + find_slice(engine.contract.state, "BoneRotations6D")->start;
    loop.seed(agreed.clip.x_raw, target);
    while (row <= agreed.frame) {
        if (!loop.step_teacher(agreed.clip, network)) break;
    }
    for (int i = 0; i < agreed.count; ++i) {
        const StageVector& vector = agreed.vectors[i];
        check_stage(vector, loop.frame()[vector.stage], stage_width(engine.contract, vector.stage), result);
    }
    row = 0;
    float cond_raw[kConditionWidth];
    build_condition<Real>(engine.conventions, agreed.clip.wishes[0], cond_raw);
    loop.seed(agreed.clip.x_raw, target);
    loop.step_free({cond_raw, agreed.clip.contact_scores, target}, network);
    check_stage(agreed.x_raw_next, loop.frame()[Stage::x_raw_next], engine.contract.state.width, result);
}

template <class Real>
SelfTestResult self_test(const EngineSide& engine, const Agreement& agreed) {
    SelfTestResult result;
    const Sha256Text digest = sha256(engine.bundle_bytes, engine.bundle_size);
    if (!same_text(digest.hex, agreed.bundle_sha256)) result.fail(Check::bundle_bytes, "SHA-256 of the bundle", 0, 0, 0);
    if (engine.companion_bytes != nullptr) {
        const Sha256Text companion = sha256(engine.companion_bytes, engine.companion_size);
        const char* expected = agreed.companion_sha256 == nullptr ? "" : agreed.companion_sha256;
        if (!same_text(companion.hex, expected)) result.fail(Check::bundle_bytes, "SHA-256 of the companion", 0, 0, 0);
    }
    detail::check_bones(engine, agreed, result);
    detail::check_layout(engine.contract.state, agreed.contract.state, result);
    detail::check_layout(engine.contract.output, agreed.contract.output, result);
    if (engine.contract.history_length != agreed.contract.history_length) {
        result.fail(Check::widths, "pose_hist_len", 0, engine.contract.history_length, agreed.contract.history_length);
    }
    if (!same_conventions(engine.conventions, agreed.conventions, agreed.contract.bones)) {
        result.fail(Check::conventions, "conventions", 0, 0, 0);
    }
    if (result.caught_by(Check::widths) || result.caught_by(Check::layout)) return result;  // arrays of another size
    detail::check_statistics(engine.contract, agreed.contract, result);
    check_vectors<Real>(engine, *agreed.conformance, result);
    return result;
}

}  // namespace rigpact
