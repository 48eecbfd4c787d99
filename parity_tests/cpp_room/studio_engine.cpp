#include <cstdio>
#include <vector>
#include "contract.hpp"
using namespace rigpact_contract;

// An engine whose stages are right but for one number. Prints what the self-test says of each.
int main(int, char** words) {
    std::FILE* file = std::fopen(words[1], "rb");
    std::vector<unsigned char> bytes(1 << 22);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    std::vector<std::vector<float>> kept;
    const float* rows[kStageCount];
    for (int i = 0; i < kStageCount; ++i) {
        const int size = kFrames * kExpected[i].width;
        kept.emplace_back(kExpected[i].rows, kExpected[i].rows + size);
        rows[i] = kept.back().data();
    }
    const SelfTestResult right = SelfTest(bytes.data(), bytes.size(), rows);
    std::printf("right:%s:%d\n", right.what, right.compared);
    for (int i = 0; i < kStageCount; ++i) {
        const std::size_t last = kept[static_cast<std::size_t>(i)].size() - 1;
        float& number = kept[static_cast<std::size_t>(i)][last];
        const float was = number;
        number += 2.0f * kExpected[i].tolerance[last] + 1e-3f;
        const SelfTestResult wrong = SelfTest(bytes.data(), bytes.size(), rows);
        std::printf("%s:%s:%d:%d\n", kExpected[i].name, wrong.what, wrong.frame, wrong.channel);
        number = was;
    }
    const auto own_loop = [&](int wrong_frame, int count_of_last, bool gives) {
        return SelfTestEngine(bytes.data(), bytes.size(), nullptr, 0, [&](const EngineFrame& in, EngineStages& out) {
            if (in.given[0] != kGiven[0].rows + in.number * kGiven[0].width) std::printf("another row\n");
            for (int i = 0; gives && i < kStageCount; ++i) {
                const int width = kExpected[i].width, last = i == kStageCount - 1 ? count_of_last : 0;
                std::vector<float> row(rows[i] + in.number * width, rows[i] + (in.number + 1) * width);
                if (in.number == wrong_frame && i == kStageCount - 1) row.back() += 1e3f;
                out.give(static_cast<Stage>(i), row.data(), width + last);
            }
        });
    };
    const SelfTestResult driven = own_loop(-1, 0, true), wrong = own_loop(2, 0, true), narrow = own_loop(-1, -1, true);
    std::printf("driven:%s:%d\n", driven.what, driven.compared == right.compared);
    std::printf("driven wrong:%s:%d\n", wrong.what, wrong.frame);
    std::printf("driven narrow:%s:%s:%d\n", narrow.what, narrow.field, narrow.frame);
    std::printf("driven silent:%s\n", own_loop(-1, 0, false).what);
    const float* nothing[kStageCount] = {};
    std::printf("nothing:%s\n", SelfTest(bytes.data(), bytes.size(), nothing).what);
    bytes[0] ^= 1;
    std::printf("stale:%s\n", SelfTest(bytes.data(), bytes.size(), rows).what);
    return 0;
}
