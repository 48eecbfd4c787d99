// The start-up test against numbers that are not finite, in an engine built with -ffast-math. Prints what caught each of them.
#include <cstdint>
#include <cstdio>

#include "contract.hpp"
#include "rigpact/self_test.hpp"

static float number_of(std::uint32_t bits) {
    volatile std::uint32_t hidden = bits;  // read at run time, so no compiler knows the value
    const std::uint32_t seen = hidden;
    float number;
    std::memcpy(&number, &seen, sizeof(number));
    return number;
}

int main() {
    const float expected[4] = {0.5f, 0.5f, 0.5f, 0.5f}, tolerance[4] = {1e-3f, 1e-3f, 1e-3f, 1e-3f};
    const std::uint32_t strange[4] = {0x7fc00000u, 0x7f800001u, 0x7f800000u, 0xff800000u};
    for (const std::uint32_t bits : strange) {
        const float found[4] = {0.5f, 0.5f, number_of(bits), 0.5f};
        rigpact::SelfTestResult stage, quat, array;
        rigpact::check_stage({rigpact::Stage::y_raw, 4, expected, tolerance}, found, stage);
        rigpact::check_stage({rigpact::Stage::quat, 4, expected, tolerance}, found, quat);
        rigpact::detail::check_array("MuX", found, expected, 4, array);
        // a declared system's header has its own check: the same number in the last place of every stage
        int missed = 0;
        for (int which = 0; which < rigpact_contract::kStageCount; ++which) {
            const rigpact_contract::ExpectedStage& own = rigpact_contract::kExpected[which];
            const int size = rigpact_contract::kFrames * own.width;
            float* const rows = new float[static_cast<std::size_t>(size)];
            int compared = -1;
            for (int i = 0; i < size; ++i) {
                rows[i] = own.rows[i];
                if (own.tolerance[i] >= 0.0f) compared = i;
            }
            if (compared >= 0) rows[compared] = number_of(bits);
            const bool caught = !rigpact_contract::CheckStage(static_cast<rigpact_contract::Stage>(which), rows).ok();
            missed += compared >= 0 && !caught;
            delete[] rows;
        }
        std::printf("%u %u %u %d\n", stage.failed, quat.failed, array.failed, missed);
    }
    rigpact::SelfTestResult fine;
    rigpact::check_stage({rigpact::Stage::quat, 4, expected, tolerance}, expected, fine);
    std::printf("%u\n", fine.failed);
    return 0;
}
