// The work behind `rigpact::Recorder`: frames are collected, checked, queued and written. Include trace.hpp, not this file.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rigpact/trace_file.hpp"
#include "rigpact/trace_formats.hpp"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define RIGPACT_TRY try
#define RIGPACT_CATCH catch (...)
#else
#define RIGPACT_TRY if constexpr (true)
#define RIGPACT_CATCH else
#endif

namespace rigpact {
namespace detail {

template <class T>
using Array = std::unique_ptr<T[]>;
using Bytes = Array<unsigned char>;

// Not thread-safe by itself but for close() and the writer's side: TraceRecorder holds `mutex` around every call.
class TraceWriter {
public:
    TraceWriter() = default;
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    using Lock = std::unique_lock<std::mutex>;
    std::mutex mutex;

    bool open(const char* path, const TraceHeader& header, const TraceOptions& options) {
        counts_ = TraceCounts();
        problem_[0] = '\0';
        is_fixed_ = in_frame_ = closing_ = has_failed_ = has_last_ = false;
        forget_stages();
        taken_ = done_ = 0;
        capacity_ = options.queue_frames > 0 ? options.queue_frames : 0;
        when_full_ = options.when_full;
        kind_ = trace_kind(path);
        head_ = header_start(header);
        is_open_ = true;
        if (kind_ == TraceKind::unknown) return fail(path, "the name must end in .trace.bin or .trace.jsonl");
        const char* const why = file_.open(path);
        return why == nullptr || fail(path, why);
    }

    bool begin(Lock& lock, long long number, double time_s) {
        if (!is_open_) return false;
        if (in_frame_) refuse(nullptr, "begin_frame() while the frame before was not ended");
        if (capacity_ > 0 && when_full_ == WhenFull::wait) {
            room_.wait(lock, [this] { return taken_ - done_ < capacity_ || closing_ || !is_open_; });
            if (closing_ || !is_open_) return false;
        }
        in_frame_ = true;
        is_whole_ = true;
        number_ = number;
        time_s_ = time_s;
        found_ = 0;
        next_ = 0;
        ++serial_;
        return true;
    }

    // Where `width` numbers of a stage are to be put; null where they are not wanted.
    unsigned char* place(const char* name, int width, bool is_double) {
        if (!is_open_ || has_failed_) return nullptr;
        if (!in_frame_) return stray(name, "stage() outside begin_frame() and end_frame()");
        const std::size_t at = index_of(name);
        if (at == stages_.size()) return is_fixed_ ? stray(name, "the first frame did not have this stage") : added(name, width, is_double);
        RecordedStage& stage = stages_[at];
        if (stage.width != width || stage.is_double != is_double) {
            is_whole_ = false;
            describe(name, "another width or type than in the first frame");
            return nullptr;
        }
        next_ = at + 1;
        if (seen_[at] != serial_) ++found_;
        seen_[at] = serial_;
        return (is_fixed_ ? current_.get() : first_.data()) + stage.offset;
    }

    bool end() {
        if (!is_open_) return false;
        if (!in_frame_) return refuse(nullptr, "end_frame() without begin_frame()");
        in_frame_ = false;
        if (has_failed_) return lose();
        if (!is_sound()) return false;
        if (!is_fixed_ && !fix()) return lose();
        put_bytes(current_.get() + kFrameNumberAt, static_cast<std::int64_t>(number_));
        put_bytes(current_.get() + kFrameTimeAt, time_s_);
        if (capacity_ > 0) return enqueue();
        has_last_ = true;
        last_ = number_;
        return count(write(current_.get()));
    }

    // Writes what is queued. False when a frame is not in the file that should be.
    bool close() {
        {
            const Lock lock(mutex);
            if (!is_open_) return true;
            closing_ = true;
        }
        work_.notify_one();
        room_.notify_all();
        if (thread_.joinable()) thread_.join();
        const Lock lock(mutex);
        is_open_ = false;
        if (!file_.close()) fail(nullptr, "the file could not be closed");
        return !has_failed_ && counts_.dropped + counts_.refused + counts_.lost == 0;
    }

    bool is_open() const { return is_open_ && !has_failed_; }
    const TraceCounts& counts() const { return counts_; }
    const char* problem() const { return problem_[0] == '\0' ? nullptr : problem_; }

private:
    // --- what goes wrong: the first is described, all are counted ---
    void describe(const char* what, const char* why) {  // the reason first: a long path is cut, and not the reason
        if (problem_[0] == '\0') std::snprintf(problem_, sizeof(problem_), "%s%s%s", why, what == nullptr ? "" : ": ", what == nullptr ? "" : what);
    }
    bool fail(const char* what, const char* why) {
        describe(what, why);
        has_failed_ = true;
        return false;
    }
    bool refuse(const char* what, const char* why) {
        describe(what, why);
        ++counts_.refused;
        return false;
    }
    unsigned char* stray(const char* name, const char* why) {
        describe(name, why);
        ++counts_.stray;
        return nullptr;
    }
    bool lose() {
        ++counts_.lost;
        return false;
    }
    bool count(bool was_written) {
        ++(was_written ? counts_.written : counts_.lost);
        return was_written;
    }

    // --- stages ---
    std::size_t index_of(const char* name) const {
        for (std::size_t i = next_; i < stages_.size(); ++i) {  // as a rule the next one
            if (stages_[i].name == name) return i;
        }
        for (std::size_t i = 0; i < next_; ++i) {
            if (stages_[i].name == name) return i;
        }
        return stages_.size();
    }

    unsigned char* added(const char* name, int width, bool is_double) {
        if (width <= 0) {
            is_whole_ = false;
            describe(name, "a stage without numbers");
            return nullptr;
        }
        if (first_.empty()) first_.resize(kFrameValuesAt);
        stages_.push_back({name, width, is_double, first_.size()});
        first_.resize(first_.size() + stages_.back().size());
        seen_.push_back(serial_);
        next_ = stages_.size();
        ++found_;
        return first_.data() + stages_.back().offset;
    }

    bool is_sound() {
        const char *why = nullptr, *what = nullptr;
        if (!is_whole_) why = "a stage has another width or type";
        else if (stages_.empty()) why = "a frame without stages";
        else if (found_ != stages_.size()) what = missing_stage(), why = "missing in a frame, and the first frame had it";
        else if (has_last_ && number_ <= last_) why = "a frame number that does not increase";
        else if (!is_finite(time_s_)) why = "a time that is not finite";
        if (why == nullptr) return true;
        if (!is_fixed_) forget_stages();
        return refuse(what, why);
    }
    const char* missing_stage() const {
        std::size_t at = 0;
        while (seen_[at] == serial_) ++at;
        return stages_[at].name.c_str();
    }
    void forget_stages() {
        stages_.clear();
        seen_.clear();
        first_.clear();
    }

    // The first frame tells which stages there are. All memory is taken here.
    bool fix() {
        is_fixed_ = true;
        size_ = first_.size();
        for (RecordedStage& stage : stages_) {
            stage.json_key = &stage == &stages_.front() ? "" : ",";
            append_text(stage.json_key, stage.name.c_str());
            stage.json_key += ':';
        }
        const std::size_t buffers = static_cast<std::size_t>(capacity_);
        const std::size_t room = kind_ == TraceKind::json_lines ? line_room(stages_) : 1;
        current_.reset(new (std::nothrow) unsigned char[size_]);
        line_.reset(new (std::nothrow) char[room]);
        queue_.reset(new (std::nothrow) Bytes[buffers]);
        bool has_memory = current_ != nullptr && line_ != nullptr && queue_ != nullptr;
        for (std::size_t i = 0; has_memory && i < buffers; ++i) {
            queue_[i].reset(new (std::nothrow) unsigned char[size_]);
            has_memory = queue_[i] != nullptr;
        }
        if (!has_memory) return fail(nullptr, "no memory for a frame");
        std::memcpy(current_.get(), first_.data(), size_);
        first_ = {};
        const std::string start = file_start(kind_, head_, stages_);
        if (!file_.put(start.data(), start.size())) return fail(nullptr, "the file cannot be written");
        return capacity_ == 0 || start_thread();
    }

    bool start_thread() {
        RIGPACT_TRY { thread_ = std::thread([this] { write_queue(); }); }
        RIGPACT_CATCH { return fail(nullptr, "no thread for the queue"); }
        return true;
    }

    // --- queue ---
    bool enqueue() {
        if (taken_ - done_ >= capacity_) {
            describe(nullptr, "the queue was full: frames were dropped");
            ++counts_.dropped;
            return false;
        }
        has_last_ = true;
        last_ = number_;
        std::swap(current_, queue_[static_cast<std::size_t>(taken_ % capacity_)]);
        ++taken_;
        work_.notify_one();
        return true;
    }

    void write_queue() {
        Lock lock(mutex);
        for (;;) {
            work_.wait(lock, [this] { return done_ < taken_ || closing_; });
            if (done_ == taken_) return;
            unsigned char* const frame = queue_[static_cast<std::size_t>(done_ % capacity_)].get();
            const bool has_failed = has_failed_;
            lock.unlock();  // the frame stays this thread's until `done_` passes it
            const bool ok = !has_failed && put(frame);
            lock.lock();
            if (!ok) fail(nullptr, "the file cannot be written");
            count(ok);
            ++done_;
            room_.notify_all();
        }
    }

    bool write(unsigned char* frame) { return put(frame) || fail(nullptr, "the file cannot be written"); }

    bool put(unsigned char* frame) {
        if (kind_ == TraceKind::json_lines) return file_.put(line_.get(), put_line(line_.get(), frame, stages_));
        seal_frame(frame, size_);
        return file_.put(frame, size_);
    }

    std::condition_variable work_;
    std::condition_variable room_;
    std::thread thread_;
    TraceFile file_;
    TraceKind kind_ = TraceKind::unknown;
    std::string head_;
    std::vector<RecordedStage> stages_;
    std::vector<long long> seen_;       // serial of the frame that last had the stage
    std::vector<unsigned char> first_;  // the first frame while it grows
    Bytes current_;
    Array<Bytes> queue_;
    Array<char> line_;
    std::size_t size_ = 0;
    TraceCounts counts_;
    char problem_[320] = "";
    WhenFull when_full_ = WhenFull::drop;
    int capacity_ = 0;
    long long taken_ = 0;
    long long done_ = 0;
    long long serial_ = 0;
    long long number_ = 0;
    long long last_ = 0;
    double time_s_ = 0.0;
    std::size_t found_ = 0;
    std::size_t next_ = 0;
    bool is_open_ = false;
    bool is_fixed_ = false;
    bool in_frame_ = false;
    bool is_whole_ = false;
    bool has_last_ = false;
    bool has_failed_ = false;
    bool closing_ = false;
};

}  // namespace detail
}  // namespace rigpact
