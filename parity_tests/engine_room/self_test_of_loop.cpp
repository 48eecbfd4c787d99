// The engine's own loop, started as a game starts it: SelfTestEngine of the generated header drives it before the first frame.
#include "engine_loop.cpp"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "contract.hpp"

namespace {

using rigpact_contract::kContract;
const float* given_answer = nullptr;

int answer(const float* const*, const int*, float* row, int width) {
    std::copy_n(given_answer, width, row);
    return 1;
}

// The bone of the other side: thigh_l and thigh_r.
int twin_of(int bone) {
    std::string name = rigpact_contract::kBoneNames[bone];
    const std::string side = name.size() > 2 ? name.substr(name.size() - 2) : "";
    if (side != "_l" && side != "_r") return bone;
    name.back() = side == "_l" ? 'r' : 'l';
    for (int other = 0; other < kContract.bones; ++other)
        if (name == rigpact_contract::kBoneNames[other]) return other;
    return bone;
}

// What the engine's loader would keep of the files.
Schema loaded(const std::vector<rigpact::EngineFrame>& played) {
    Schema schema;
    const auto keep = [&](const char* name, const float* values, int count) { schema.arrays[name].assign(values, values + count); };
    const int state = kContract.state.width, output = kContract.output.width, angular = 3 * kContract.bones;
    const int history = 6 * kContract.bones * kContract.history_length;
    keep("MuX", kContract.mu_x, state), keep("StdX", kContract.std_x, state);
    keep("MuY", kContract.mu_y, output), keep("StdY", kContract.std_y, output);
    keep("tanh_scales_rootvel", kContract.rootvel_scales, 2), keep("tanh_scales_angvel", kContract.angvel_scales, angular);
    keep("aux/tanh_scales_angvel", kContract.angvel.scale, angular), keep("aux/MuAngVel", kContract.angvel.mean, angular);
    keep("aux/StdAngVel", kContract.angvel.std, angular), keep("aux/tanh_scales_pose_hist", kContract.pose_hist.scale, history);
    keep("aux/MuPoseHist", kContract.pose_hist.mean, history), keep("aux/StdPoseHist", kContract.pose_hist.std, history);
    schema.arrays["input_dim"] = {double(state)}, schema.arrays["output_dim"] = {double(output)};
    schema.arrays["pose_hist_len"] = {double(kContract.history_length)};
    for (int i = 0; i < kContract.state.count; ++i) {
        const rigpact::Slice& slice = kContract.state.slices[i];
        schema.arrays[std::string("state/") + slice.name] = {double(slice.start), double(slice.size)};
    }
    for (int bone = 0; bone < kContract.bones; ++bone) {
        schema.arrays["parents"].push_back(rigpact_contract::kBoneParents[bone]);
        schema.arrays["twin"].push_back(twin_of(bone));
    }
    schema.arrays["clip/frames"] = {double(played.size() + 1)};
    keep("clip/x_raw", played[0].seed_x_raw, state);
    for (const rigpact::EngineFrame& frame : played) {
        const auto add = [&](const char* name, const float* values, int count) {
            schema.arrays[name].insert(schema.arrays[name].end(), values, values + count);
        };
        add("clip/action", frame.wish.action_bits, 4), add("clip/velocity", frame.wish.velocity_m_s, 2);
        add("clip/trajectory", frame.wish.trajectory, 2), add("clip/contacts", frame.contact_scores, 2);
    }
    return schema;
}

}  // namespace

int main(int, char** words) {
    std::ifstream stream(words[1], std::ios::binary), second(words[2], std::ios::binary);
    const std::string bundle{std::istreambuf_iterator<char>(stream), {}}, companion{std::istreambuf_iterator<char>(second), {}};
    const rigpact::EngineFiles files = {bundle.data(), bundle.size(), companion.data(), companion.size()};
    std::vector<rigpact::EngineFrame> played;  // the loop reads its inputs from a clip: listen once, then play
    rigpact_contract::SelfTestEngine(files, [&](const rigpact::EngineFrame& in, rigpact::EngineStages&) { played.push_back(in); });
    for (int defect = 0; defect < defect_count; ++defect) {
        EnemyAnim engine(loaded(played), answer, 1ull << defect, false);
        const auto result = rigpact_contract::SelfTestEngine(files, [&](const rigpact::EngineFrame& in, rigpact::EngineStages& out) {
            given_answer = in.y_norm;
            engine.step();
            for (int i = 0; i < rigpact::kStages; ++i) {
                const auto found = engine.stage.find(rigpact::kStageNames[i]);
                if (found != engine.stage.end()) out.give(rigpact::Stage(i), found->second.data(), int(found->second.size()));
            }
        });
        char text[300];
        result.describe(text, sizeof(text));
        std::printf("%d %u %d %s\n", defect, result.failed, result.compared, text);
    }
    return 0;
}
