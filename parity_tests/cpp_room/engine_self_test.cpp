// An engine with a loop of its own, tested by SelfTestEngine: BUNDLE COMPANION MODEL DEFECT -> the failed checks and the words.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "contract.hpp"
#include "newest_first.hpp"
#include "prev_delta.hpp"

namespace {

std::string content(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The loop keeps its state, and does not know that it is tested.
template <class State>
class Game {
public:
    explicit Game(const std::string& defect) : defect_(defect) {}

    void operator()(const rigpact::EngineFrame& in, rigpact::EngineStages& out) {
        if (in.number == 0 || defect_ == "seeded in every frame") {
            state_ = State();
            rigpact::copy(in.seed_x_raw, state_.x_raw);
        }
        rigpact::copy(in.cond_raw, state_.cond_raw);
        rigpact::copy(in.contacts, state_.contacts);
        step(state_, [&](auto, State& asked) {
            rigpact::copy(defect_ == "answer of the frame before" && !last_.empty() ? last_.data() : in.y_norm, asked.y_norm);
            last_.assign(in.y_norm, in.y_norm + in.y_norm_width);
        });
        if (defect_ == "gives nothing") return;
        const rigpact::Frame frame = FrameOf(state_);
        for (int i = 0; i < rigpact::kStages; ++i) {
            const rigpact::Stage stage = static_cast<rigpact::Stage>(i);
            const float* values = frame[stage];
            if (values == nullptr) continue;
            const int width = frame.widths[i] - (defect_ == "a number short" && stage == rigpact::Stage::quat);
            const std::vector<double> wide(values, values + width);  // an engine may compute in double
            if (i % 2 == 0) out.give(stage, wide.data(), width);
            else out.give(stage, values, width);
        }
    }

private:
    std::string defect_;
    State state_;
    std::vector<float> last_;
};

template <class State>
rigpact::SelfTestResult tested(const rigpact::EngineFiles& files, const std::string& defect) {
    return rigpact_contract::SelfTestEngine(files, Game<State>(defect));
}

}  // namespace

int main(int, char** words) {
    const std::string bundle = content(words[1]), companion = content(words[2]), model = content(words[3]), defect = words[4];
    rigpact::EngineFiles files = {bundle.data(), bundle.size(), companion.data(), companion.size(), model.data(), model.size()};
    if (defect == "companion not given") files.companion_bytes = nullptr;
    if (defect == "conventions of another review") files.conventions_sha256 = "0123";
    const rigpact::SelfTestResult result = defect == "other compose order"    ? tested<prev_delta::State>(files, defect)
                                           : defect == "history newest first" ? tested<newest_first::State>(files, defect)
                                                                              : tested<rigpact_contract::State>(files, defect);
    char text[400];
    result.describe(text, sizeof(text));
    std::printf("%u %d\n%s\n", result.failed, result.compared, text);
    return 0;
}
