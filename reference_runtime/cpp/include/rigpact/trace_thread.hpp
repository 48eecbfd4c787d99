// The thread of a recording's queue. Where threads are POSIX's, one that cannot be started is an answer and no exception, also in
// an engine without exceptions.
#pragma once

#if !defined(_WIN32) && defined(__has_include)
#if __has_include(<pthread.h>)
#include <pthread.h>
#define RIGPACT_POSIX_THREADS 1
#endif
#endif
#if !defined(RIGPACT_POSIX_THREADS)
#include <thread>
#endif

namespace rigpact {

class TraceThread {
public:
    TraceThread() = default;
    TraceThread(const TraceThread&) = delete;
    TraceThread& operator=(const TraceThread&) = delete;

#if defined(RIGPACT_POSIX_THREADS)
    // Calls run(owner) in a thread of its own; false where there is none.
    bool start(void* (*run)(void*), void* owner) {
        is_running_ = ::pthread_create(&thread_, nullptr, run, owner) == 0;
        return is_running_;
    }
    void join() {
        if (is_running_) ::pthread_join(thread_, nullptr);
        is_running_ = false;
    }

private:
    pthread_t thread_{};
    bool is_running_ = false;
#else
    bool start(void* (*run)(void*), void* owner) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        try {
            thread_ = std::thread(run, owner);
        } catch (...) {
            return false;
        }
#else
        thread_ = std::thread(run, owner);
#endif
        return true;
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    std::thread thread_;
#endif
};

}  // namespace rigpact
