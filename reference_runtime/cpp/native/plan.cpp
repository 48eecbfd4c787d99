// Plans behind a C interface: what `--engine native` of rigpact runs, one character or a crowd.
#include <limits>
#include <memory>
#include <vector>

#include "rigpact/plan.hpp"
#include "team.hpp"

#if defined(_WIN32)
#define RIGPACT_EXPORT extern "C" __declspec(dllexport)
#else
#define RIGPACT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace {

class Crowd {
public:
    Crowd(rigpact::Plan plan, int characters) : plan_(std::move(plan)), characters_(static_cast<std::size_t>(characters)), team_(characters_) {
        for (std::size_t member = 0; member < team_.members(); ++member) rooms_.push_back(plan_.room());
    }

    void run(int frame, int frames, int first, int end) {
        team_.share(characters_, [=](std::size_t from, std::size_t to, std::size_t member) {
            for (std::size_t character = from; character < to; ++character) {
                for (int k = 0; k < frames; ++k) plan_.run(static_cast<int>(character), frame + k, first, end, rooms_[member]);
            }
        });
    }

private:
    rigpact::Plan plan_;
    std::size_t characters_;
    Team team_;
    std::vector<rigpact::Plan::Room> rooms_;
};

}  // namespace

// SHA-256 of the headers and sources when they were compiled: a library that is older than they are is not used.
RIGPACT_EXPORT const char* rigpact_native_sources() { return RIGPACT_SOURCES; }

// Whether this processor runs what was compiled for x86-64-v3.
RIGPACT_EXPORT int rigpact_native_wide() {
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

// The arrays stay the caller's. widest: of all tables; most_reads: of a step.
RIGPACT_EXPORT void* rigpact_plan(const rigpact::PlanTable* tables, const rigpact::PlanRead* reads, const rigpact::PlanStep* steps,
                                  const int* words, const double* numbers, int characters, int widest, int most_reads, int is_free) {
    return new Crowd({tables, reads, steps, words, numbers, widest, most_reads, is_free != 0}, characters);
}
RIGPACT_EXPORT void rigpact_plan_delete(void* plan) { delete static_cast<Crowd*>(plan); }

// Steps `first` … `end` - 1, for `frames` frames from `frame` on.
RIGPACT_EXPORT void rigpact_plan_run(void* plan, int frame, int frames, int first, int end) {
    static_cast<Crowd*>(plan)->run(frame, frames, first, end);
}
