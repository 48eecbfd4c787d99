// Threads that share the characters of a large crowd. They wait between two calls, and end with the team.
#ifndef RIGPACT_NATIVE_TEAM_HPP
#define RIGPACT_NATIVE_TEAM_HPP

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace {

class Team {
public:
    // A thread for every core, or as many as OMP_NUM_THREADS says, where each has enough to do; the caller's is one of them.
    explicit Team(std::size_t tasks) {
        const std::size_t members = std::min(allowed(), tasks / kTasksOfAThread);
        try {
            for (std::size_t member = 1; member < members; ++member) helpers_.emplace_back([this, member] { help(member); });
        } catch (const std::system_error&) {  // the machine gives no more threads: fewer share the same work
        }
    }

    ~Team() {
        {
            const std::lock_guard<std::mutex> held(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (auto& helper : helpers_) helper.join();
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // How many threads share the work.
    std::size_t members() const { return helpers_.size() + 1; }

    // Calls task(begin, end, member) for parts that together are 0 … count - 1, and returns when all are done. A part touches
    // nothing of another one.
    template <class Task>
    void share(std::size_t count, Task task) {
        if (helpers_.empty()) return task(std::size_t{0}, count, std::size_t{0});
        {
            const std::lock_guard<std::mutex> held(mutex_);
            part_ = [this, count, &task](std::size_t member) { task(count * member / members(), count * (member + 1) / members(), member); };
            busy_ = helpers_.size();
            ++round_;
        }
        changed_.notify_all();
        part_(0);
        std::unique_lock<std::mutex> held(mutex_);
        done_.wait(held, [this] { return busy_ == 0; });
    }

private:
    // Fewer characters take hardly longer than waking a thread: a hundred microseconds.
    static constexpr std::size_t kTasksOfAThread = 64;

    static std::size_t allowed() {
        const char* said = std::getenv("OMP_NUM_THREADS");
        const int number = said == nullptr ? 0 : std::atoi(said);
        return number > 0 ? static_cast<std::size_t>(number) : std::thread::hardware_concurrency();
    }

    void help(std::size_t member) {
        unsigned long seen = 0;
        std::unique_lock<std::mutex> held(mutex_);
        for (;;) {
            changed_.wait(held, [this, seen] { return is_over_ || round_ != seen; });
            if (is_over_) return;
            seen = round_;
            held.unlock();
            part_(member);
            held.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_, done_;
    std::function<void(std::size_t)> part_;
    std::size_t busy_ = 0;
    unsigned long round_ = 0;
    bool is_over_ = false;
    std::vector<std::thread> helpers_;
};

}  // namespace

#endif
