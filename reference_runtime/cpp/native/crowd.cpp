// The loop of the headers for many characters at once, behind a C interface: what `--engine native` of rigpact runs.
// The stages stand in matrices (characters × width), so that one call of a network answers all of them.
//
//     void* crowd = rigpact_crowd(&contract, &conventions, fps, 1, runs, &defect);
//     rigpact_crowd_seed(crowd, x_raw, drives, drive_count);
//     rigpact_crowd_begin(crowd);       // the inputs of the frame stand in their matrices
//     …                                 // the network's answer goes into the matrix of y_norm
//     rigpact_crowd_finish(crowd, 1);   // the stages after it; the next frame may begin
#include <memory>
#include <vector>

#include "rigpact/runtime.hpp"
#include "team.hpp"

#if defined(_WIN32)
#define RIGPACT_EXPORT extern "C" __declspec(dllexport)
#else
#define RIGPACT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace {

// What a clip gives a free run, row by row; the clip loops. poses: all of its frames, for a target one frame later.
struct Drive {
    const float* cond_raw;  // steps × 7
    const float* contacts;  // steps × 2, as the network takes them
    const float* poses;     // pose_count × 6·bones
    int steps;
    int pose_count;
};

class Crowd {
public:
    virtual ~Crowd() = default;
    virtual void seed(const float* x_raw, const Drive* drives, int drive_count) = 0;
    virtual void begin() = 0;
    virtual void finish(bool with_quaternions) = 0;
    virtual float* memory() = 0;
};

template <class Real>
class CrowdOf final : public Crowd {
public:
    CrowdOf(const rigpact::ContractView& contract, const rigpact::Conventions& conventions, double fps, int runs)
        : contract_(contract), team_(static_cast<std::size_t>(runs)) {
        std::size_t total = 0;
        for (int s = 0; s < rigpact::kStages; ++s) total += width(s);
        memory_.resize(static_cast<std::size_t>(runs) * total);
        for (int run = 0; run < runs; ++run) {
            loops_.emplace_back(new rigpact::Loop<Real>(contract, conventions, fps));
            float* rows[rigpact::kStages];
            float* matrix = memory_.data();
            for (int s = 0; s < rigpact::kStages; ++s) {
                rows[s] = matrix + static_cast<std::size_t>(run) * width(s);
                matrix += static_cast<std::size_t>(runs) * width(s);
            }
            loops_.back()->place(rows);
        }
    }

    float* memory() override { return memory_.data(); }

    void seed(const float* x_raw, const Drive* drives, int drive_count) override {
        drives_.assign(drives, drives + drive_count);
        frame_ = 0;
        const std::size_t state = static_cast<std::size_t>(contract_.state.width);
        for (std::size_t run = 0; run < loops_.size(); ++run) {
            const Drive& drive = drive_of(run);
            const float* first_target = drive.pose_count > 1 ? drive.poses + pose_width() : nullptr;
            loops_[run]->seed(x_raw + run * state, first_target);
        }
    }

    void begin() override {
        team_.each(loops_.size(), [this](std::size_t run) {
            const Drive& drive = drive_of(run);
            const std::size_t row = static_cast<std::size_t>(frame_ % drive.steps);
            const int target = drive.pose_count > 1 ? frame_ % (drive.pose_count - 1) + 1 : 0;
            loops_[run]->begin_free({drive.cond_raw + row * rigpact::kConditionWidth, nullptr,
                                     drive.poses + static_cast<std::size_t>(target) * pose_width(),
                                     drive.contacts + row * rigpact::kContactsWidth});
        });
    }

    void finish(bool with_quaternions) override {
        team_.each(loops_.size(), [this, with_quaternions](std::size_t run) {
            loops_[run]->give_quaternions(with_quaternions);
            loops_[run]->finish_free();
        });
        ++frame_;
    }

private:
    std::size_t width(int stage) const {
        return static_cast<std::size_t>(rigpact::stage_width(contract_, static_cast<rigpact::Stage>(stage)));
    }
    std::size_t pose_width() const { return 6 * static_cast<std::size_t>(contract_.bones); }
    const Drive& drive_of(std::size_t run) const { return drives_[drives_.size() > 1 ? run : 0]; }

    rigpact::ContractView contract_;
    std::vector<std::unique_ptr<rigpact::Loop<Real>>> loops_;
    std::vector<Drive> drives_;
    std::vector<float> memory_;
    int frame_ = 0;
    Team team_;
};

}  // namespace

// SHA-256 of the headers and this file when they were compiled: a library that is older than they are is not used.
RIGPACT_EXPORT const char* rigpact_native_sources() { return RIGPACT_SOURCES; }

// Whether this processor runs what was compiled for x86-64-v3.
RIGPACT_EXPORT int rigpact_native_wide() {
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

// Null, and `defect` says why, where contract or conventions cannot run. The contract's arrays stay the caller's.
RIGPACT_EXPORT void* rigpact_crowd(const rigpact::ContractView* contract, const rigpact::Conventions* conventions, double fps,
                                   int is_double, int runs, const char** defect) {
    *defect = rigpact::contract_defect(*contract);
    if (*defect == nullptr) *defect = rigpact::conventions_defect(*contract, *conventions);
    if (*defect != nullptr) return nullptr;
    if (is_double) return static_cast<Crowd*>(new CrowdOf<double>(*contract, *conventions, fps, runs));
    return static_cast<Crowd*>(new CrowdOf<float>(*contract, *conventions, fps, runs));
}
RIGPACT_EXPORT void rigpact_crowd_delete(void* crowd) { delete static_cast<Crowd*>(crowd); }

// x_raw: a seed for each run. drives: one for all runs, or one for each; their rows stay the caller's.
RIGPACT_EXPORT void rigpact_crowd_seed(void* crowd, const float* x_raw, const Drive* drives, int drive_count) {
    static_cast<Crowd*>(crowd)->seed(x_raw, drives, drive_count);
}
RIGPACT_EXPORT void rigpact_crowd_begin(void* crowd) { static_cast<Crowd*>(crowd)->begin(); }
RIGPACT_EXPORT void rigpact_crowd_finish(void* crowd, int with_quaternions) { static_cast<Crowd*>(crowd)->finish(with_quaternions != 0); }

// The matrices of the stages one after the other, each characters × width.
RIGPACT_EXPORT float* rigpact_crowd_memory(void* crowd) { return static_cast<Crowd*>(crowd)->memory(); }
