// A crowd on the stub of Unreal: characters in three worlds whose loop is that of enemy.hpp, the large class of large_class.py.
// unreal_crowd SCHEMA crowd CHARACTERS TICKS: every tick the game thread respawns some, then two workers step all of them.
// unreal_crowd SCHEMA self_test BUNDLE COMPANION: of every defect the failed checks, the compared stages, the words.
#include "enemy.hpp"

#include <fstream>
#include <iterator>
#include <list>
#include <thread>

static int answered(const float* const* inputs, const int* widths, float* answer, int width) {
    for (int i = 0; i < width; ++i) answer[i] = 0.3f * std::tanh(inputs[0][i % widths[0]] + inputs[4][i % widths[4]]);
    return 1;
}

static Schema loaded(const char* path) {  // lines of: name, count, numbers
    Schema schema;
    std::ifstream stream(path);
    std::string name;
    for (std::size_t count = 0; stream >> name >> count;) {
        std::vector<double>& numbers = schema.arrays[name];
        numbers.resize(count);
        for (double& number : numbers) stream >> number;
    }
    return schema;
}

// An actor of a level, its mesh and its anim instance. A life begins when it is made, and when it comes back from a pool.
struct Enemy {
    Enemy(UWorld* world, int id, const Schema& schema)
        : id_(id), schema_(&schema), actor_((L"BP_Enemy_C_" + std::to_wstring(id)).c_str(), world, L"BP_Enemy_C"), mesh_(L"Mesh", &actor_) {
        respawn();
    }
    void respawn() {
        Schema own = *schema_;
        own.arrays["clip/x_raw"][0] = id_;  // the root stays where it is: whose frame it is stands in the frame
        own.arrays["clip/x_raw"][1] = ++life_;
        anim_.reset();
        anim_ = std::make_unique<EnemyAnim>(L"ABP_Enemy_C_0", &mesh_, std::move(own), answered, 0, false);
    }
    void back_from_pool() { anim_->restart(++life_); }
    void step() { anim_->step(); }

private:
    int id_, life_ = 0;
    const Schema* schema_;
    AActor actor_;
    USkeletalMeshComponent mesh_;
    std::unique_ptr<EnemyAnim> anim_;
};

static void crowd(const Schema& schema, int characters, int ticks) {
    const auto console = [](const TCHAR* name, int32 value) { IConsoleManager::Get().FindConsoleVariable(name)->Set(value, ECVF_SetByCode); };
    console(L"rigpact.Trace.Max", characters), console(L"rigpact.Trace", 1);
    IConsoleManager::Get().CallAllConsoleVariableSinks();
    UWorld worlds[] = {{L"Arena", EWorldType::PIE, 0, NM_ListenServer}, {L"Arena", EWorldType::PIE, 1, NM_Client}, {L"Menu", EWorldType::Game, -1, NM_Standalone}};
    std::list<Enemy> enemies;
    for (int id = 0; id < characters; ++id) enemies.emplace_back(&worlds[id % 3], id, schema);
    for (int tick = 0; tick < ticks; ++tick) {
        int id = 0;
        for (Enemy& enemy : enemies) {
            if (++id % 7 == 0 && tick % 11 == 5) enemy.respawn();
            if (id % 5 == 0 && tick % 13 == 8) enemy.back_from_pool();
        }
        std::thread workers[2];
        for (int half = 0; half < 2; ++half) {
            workers[half] = std::thread([&enemies, half] {
                int turn = half;
                for (Enemy& enemy : enemies) {
                    if (turn++ % 2 == 0) enemy.step();
                }
            });
        }
        for (std::thread& worker : workers) worker.join();
    }
}

static void self_test(const Schema& schema, const char* bundle_path, const char* companion_path) {
    std::ifstream first(bundle_path, std::ios::binary), second(companion_path, std::ios::binary);
    const std::string bundle{std::istreambuf_iterator<char>(first), {}}, companion{std::istreambuf_iterator<char>(second), {}};
    for (int defect = 0; defect < defect_count; ++defect) {
        EnemyAnim anim(L"ABP_Enemy_C_0", nullptr, schema, answered, 1ull << defect, false);
        const rigpact::SelfTestResult result = anim.SelfTest({bundle.data(), bundle.size(), companion.data(), companion.size()});
        char text[300];
        result.describe(text, sizeof(text));
        std::printf("%d %u %d %s\n", defect, result.failed, result.compared, text);
    }
}

int main(int, char** words) {
    const Schema schema = loaded(words[1]);
    if (std::string(words[2]) == "crowd") crowd(schema, std::atoi(words[3]), std::atoi(words[4]));
    else self_test(schema, words[3], words[4]);
    return 0;
}
