// Teams of one to four threads call every task once a round. Prints the tasks that were called another number of times.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "team.hpp"

int main() {
    int wrong = 0;
    std::atomic<int> wrong_members{0};
    for (int threads = 1; threads <= 4; ++threads) {
        setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
        for (std::size_t tasks : {0, 1, 63, 64, 127, 128, 130, 1000}) {
            Team team(tasks);
            std::vector<int> calls(tasks);
            for (int round = 1; round <= 50; ++round) {
                team.share(tasks, [&](std::size_t begin, std::size_t end, std::size_t member) {
                    wrong_members += member >= team.members();
                    for (std::size_t task = begin; task < end; ++task) ++calls[task];
                });
                for (int count : calls) wrong += count != round;  // all are done when `share` returns
            }
        }
    }
    std::printf("%d\n", wrong + wrong_members);
}
