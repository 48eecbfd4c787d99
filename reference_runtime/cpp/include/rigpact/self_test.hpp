// Refusing a stale bundle at start-up, without Python: `contract.hpp`, which `rigpact codegen` writes, holds what both
// sides agreed on; here it is compared with what the engine has. All checks are made, and the first failure is described.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>

#include "rigpact/bits.hpp"
#include "rigpact/condition.hpp"
#include "rigpact/contract_view.hpp"
#include "rigpact/sha256.hpp"
#include "rigpact/stages.hpp"

namespace rigpact {

enum class Check : unsigned {
    none = 0,
    bundle_bytes = 1u,   // a file on disk is another than the code was generated from
    widths = 2u,         // the engine parsed other sizes
    layout = 4u,         // a slice stands elsewhere or is missing
    bones = 8u,          // other bones, or another order
    statistics = 16u,    // other means, deviations or scales
    conventions = 32u,   // the engine runs under another convention
    vectors = 64u,       // a stage computes something else
    model_bytes = 128u,  // the model's file is another
};

struct SelfTestResult {
    unsigned failed = 0;  // bits of Check
    Check first = Check::none;
    const char* what = "";  // slice, array or stage of the first failure
    int index = 0;
    double found = 0.0;
    double expected = 0.0;
    int frame = 0;     // of the first failure, where stages are compared
    int compared = 0;  // stages that an engine's own loop gave, over all frames
    char found_hash[65] = "";
    const char* expected_hash = "";

    bool ok() const { return failed == 0; }
    bool caught_by(Check check) const { return (failed & static_cast<unsigned>(check)) != 0; }
    void fail(Check check, const char* place, int at, double was, double should_be) {
        if (failed == 0) first = check, what = place, index = at, found = was, expected = should_be;
        failed |= static_cast<unsigned>(check);
    }
    // found: a hash, or what stands in its place.
    void fail_hash(Check check, const char* place, const char* was, const char* should_be) {
        if (failed == 0) {
            for (int i = 0; i < 64 && was[i] != '\0'; ++i) found_hash[i] = was[i];
            expected_hash = should_be;
        }
        fail(check, place, 0, 0, 0);
    }
    void at_frame(int number) {
        if (failed == 0) frame = number;
    }
    // The first failure as a line of text; returns its length, as snprintf does.
    int describe(char* text, std::size_t size) const {
        if (ok()) return std::snprintf(text, size, "agrees with the contract");
        if (expected_hash[0] != '\0') return std::snprintf(text, size, "%s: found %s, expected %s", what, found_hash, expected_hash);
        return std::snprintf(text, size, "frame %d, %s[%d]: found %.9g, expected %.9g", frame, what, index, found, expected);
    }
};

struct StageVector {
    Stage stage;
    int width;
    const float* expected;
    const float* tolerance;
};

// A free run that begins with the state of row 0: what it is given in frames 0 … `frame`, and its stages at some of them, a row each.
struct Conformance {
    double fps;
    int frame;
    const float* x_raw;     // and in the row behind each frame's the clip's next state
    const Wish* wishes;
    const float* cond_raw;  // what the conventions make of the wishes
    const float* contact_scores;
    const float* contacts;  // what they make of the scores
    const float* y_norm;
    const int* compared;
    int compared_count;
    const StageVector* vectors;
    int count;
};

// What the generated header says.
struct Agreement {
    const char* bundle_sha256;
    ContractView contract;
    const char* const* bone_names;
    const Conformance* conformance;
    const char* companion_sha256 = nullptr;  // null: no companion
    const char* conventions_sha256 = "";
    const char* model_sha256 = nullptr;  // null: the header was generated without the model
};

// What the engine has: the files' bytes, and what its own loader made of them. bone_names may be null. companion_bytes is
// null where the engine does not have the file itself; its statistics are then checked only as `contract` holds them.
struct EngineSide {
    const void* bundle_bytes;
    std::size_t bundle_size;
    ContractView contract;
    const char* const* bone_names;
    const char* conventions_sha256 = nullptr;  // of the conventions that the engine's code was reviewed with; null: it does not say
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

// expected: null where no such file was agreed on.
inline void check_hash(
    Check check, const char* what, const void* bytes, std::size_t size, const char* expected, SelfTestResult& result) {
    if (expected == nullptr && bytes == nullptr) return;
    const Sha256Text found = bytes == nullptr ? Sha256Text{"no file"} : sha256(bytes, size);
    if (expected == nullptr || !same_text(found.hex, expected)) result.fail_hash(check, what, found.hex, expected == nullptr ? "no such file" : expected);
}

inline void check_conventions(const char* found, const char* expected, SelfTestResult& result) {
    if (found != nullptr && !same_text(found, expected)) result.fail_hash(Check::conventions, "SHA-256 of the conventions", found, expected);
}

// q and -q are one rotation: the quaternion is taken with the sign of the expected one.
template <class Number>
float quat_sign(const Number* found, const float* expected) {
    float inner = 0;
    for (int i = 0; i < 4; ++i) inner += static_cast<float>(found[i]) * expected[i];
    return inner < 0 ? -1.0f : 1.0f;
}

}  // namespace detail

// Compare one stage with the agreed vector. Number: float or double.
template <class Number>
void check_stage(const StageVector& vector, const Number* found, SelfTestResult& result) {
    const int width = vector.width;
    const char* name = kStageNames[static_cast<int>(vector.stage)];
    if (found == nullptr) {
        result.fail(Check::vectors, name, -1, 0, width);
        return;
    }
    for (int i = 0; i < width; ++i) {
        const int bone = i - i % 4;
        const float sign = vector.stage == Stage::quat ? detail::quat_sign(found + bone, vector.expected + bone) : 1.0f;
        const double error = static_cast<double>(sign) * static_cast<double>(found[i]) - static_cast<double>(vector.expected[i]);
        // a NaN is not a pass; its bits say so where -ffast-math takes every comparison with it for true
        if (!is_finite(found[i]) || !(std::fabs(error) <= static_cast<double>(vector.tolerance[i]))) {
            result.fail(Check::vectors, name, i, static_cast<double>(found[i]), static_cast<double>(vector.expected[i]));
            return;
        }
    }
}

inline SelfTestResult self_test(const EngineSide& engine, const Agreement& agreed) {
    SelfTestResult result;
    const char* bundle = "SHA-256 of the bundle";
    const char* companion = "SHA-256 of the companion";
    detail::check_hash(Check::bundle_bytes, bundle, engine.bundle_bytes, engine.bundle_size, agreed.bundle_sha256, result);
    if (engine.companion_bytes != nullptr) {
        detail::check_hash(
            Check::bundle_bytes, companion, engine.companion_bytes, engine.companion_size, agreed.companion_sha256, result);
    }
    detail::check_bones(engine, agreed, result);
    detail::check_layout(engine.contract.state, agreed.contract.state, result);
    detail::check_layout(engine.contract.output, agreed.contract.output, result);
    if (engine.contract.history_length != agreed.contract.history_length) {
        result.fail(Check::widths, "pose_hist_len", 0, engine.contract.history_length, agreed.contract.history_length);
    }
    detail::check_conventions(engine.conventions_sha256, agreed.conventions_sha256, result);
    if (result.caught_by(Check::widths) || result.caught_by(Check::layout)) return result;  // arrays of another size
    detail::check_statistics(engine.contract, agreed.contract, result);
    return result;
}

}  // namespace rigpact
