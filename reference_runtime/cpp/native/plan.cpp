// Plans of declared contracts behind a C interface: what `--engine native` of rigpact runs for them.
#include <limits>

#include "rigpact/plan.hpp"

#if defined(_WIN32)
#define RIGPACT_EXPORT extern "C" __declspec(dllexport)
#else
#define RIGPACT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// The arrays stay the caller's. widest: of all tables; most_reads: of a step.
RIGPACT_EXPORT void* rigpact_plan(const rigpact::PlanTable* tables, const rigpact::PlanRead* reads, const rigpact::PlanStep* steps,
                                  const int* words, const double* numbers, int characters, int widest, int most_reads) {
    return new rigpact::Plan(tables, reads, steps, words, numbers, characters, widest, most_reads);
}
RIGPACT_EXPORT void rigpact_plan_delete(void* plan) { delete static_cast<rigpact::Plan*>(plan); }

// Steps `first` … `end` - 1, for `frames` frames from `frame` on.
RIGPACT_EXPORT void rigpact_plan_run(void* plan, int frame, int frames, int first, int end) {
    for (int k = 0; k < frames; ++k) static_cast<rigpact::Plan*>(plan)->run(frame + k, first, end);
}
