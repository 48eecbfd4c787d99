// An engine with a loop of its own, tested by SelfTestEngine: BUNDLE COMPANION MODEL DEFECT -> the failed checks and the words.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "contract.hpp"

namespace {

std::string content(const char* path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The loop keeps its state, and does not know that it is tested.
class Game {
public:
    explicit Game(const std::string& defect) : defect_(defect), loop_(rigpact_contract::kContract, conventions(), rigpact_contract::kFps) {}

    void step(const rigpact::EngineFrame& in, rigpact::EngineStages& out) {
        if (in.number == 0 || defect_ == "seeded in every frame") loop_.seed(in.seed_x_raw, in.seed_pose);
        const auto network = [&](const rigpact::NetworkInputs&, float* y_norm, int width) {
            const float* answer = defect_ == "answer of the frame before" && !last_.empty() ? last_.data() : in.y_norm;
            std::memcpy(y_norm, answer, sizeof(float) * static_cast<std::size_t>(width));
            last_.assign(in.y_norm, in.y_norm + in.y_norm_width);
            return true;
        };
        loop_.step_free({in.cond_raw, in.contact_scores, in.target_pose}, network);
        if (defect_ == "gives nothing") return;
        for (int i = 0; i < rigpact::kStages; ++i) {
            const rigpact::Stage stage = static_cast<rigpact::Stage>(i);
            const float* values = loop_.frame()[stage];
            if (values == nullptr) continue;
            const int width = loop_.frame().widths[i] - (defect_ == "a number short" && stage == rigpact::Stage::quat);
            const std::vector<double> wide(values, values + width);  // an engine may compute in double
            if (i % 2 == 0) out.give(stage, wide.data(), width);
            else out.give(stage, values, width);
        }
    }

private:
    rigpact::Conventions conventions() const {
        rigpact::Conventions own = rigpact_contract::kConventions;
        if (defect_ == "other compose order") own.compose_order = rigpact::ComposeOrder::prev_delta;
        if (defect_ == "history newest first") {
            own.pose_history_order = own.pose_history_order == rigpact::PoseHistoryOrder::newest_first
                                         ? rigpact::PoseHistoryOrder::oldest_first : rigpact::PoseHistoryOrder::newest_first;
        }
        return own;
    }

    std::string defect_;
    rigpact::Loop<float> loop_;
    std::vector<float> last_;
};

}  // namespace

int main(int, char** words) {
    const std::string bundle = content(words[1]), companion = content(words[2]), model = content(words[3]), defect = words[4];
    Game game(defect);
    rigpact::EngineFiles files = {bundle.data(), bundle.size(), companion.data(), companion.size(), model.data(), model.size()};
    if (defect == "companion not given") files.companion_bytes = nullptr;
    if (defect == "conventions of another review") files.conventions_sha256 = "0123";
    const rigpact::SelfTestResult result = rigpact_contract::SelfTestEngine(
        files, [&](const rigpact::EngineFrame& in, rigpact::EngineStages& out) { game.step(in, out); });
    char text[400];
    result.describe(text, sizeof(text));
    std::printf("%u %d\n%s\n", result.failed, result.compared, text);
    return 0;
}
