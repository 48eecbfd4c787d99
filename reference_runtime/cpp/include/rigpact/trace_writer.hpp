// The work behind `rigpact::Recorder`: frames are collected, checked, queued and written. Include trace.hpp, not this file.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "rigpact/stage_calls.hpp"
#include "rigpact/trace_file.hpp"
#include "rigpact/trace_formats.hpp"
#include "rigpact/trace_thread.hpp"

namespace rigpact {
namespace detail {

template <class T>
using Array = std::unique_ptr<T[]>;

// What the frames of a segment share. `line`: room of whoever writes.
struct Segment {
    std::vector<RecordedStage> stages;
    std::string start;
    std::size_t size = 0;
    Array<char> line;
};

// A frame in memory, and whether its segment begins with it.
struct FrameSlot {
    Array<unsigned char> bytes;
    std::size_t room = 0;
    std::shared_ptr<Segment> segment;
    bool begins = false;

    bool has_room(std::size_t size) {
        if (room >= size) return true;
        bytes.reset(new (std::nothrow) unsigned char[size]);
        room = bytes == nullptr ? 0 : size;
        return room != 0;
    }
};

// Not thread-safe by itself but for close() and the writer's side: TraceRecorder holds `mutex` around every call.
class TraceWriter {
public:
    TraceWriter() = default;
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    using Lock = std::unique_lock<std::mutex>;
    static constexpr std::chrono::milliseconds kLook{20};  // how often the writer looks whether a frame came
    std::mutex mutex;
    std::atomic<bool> is_active{false};  // open, or heard: whoever sees false need not take the mutex

    bool open(const char* path, const TraceHeader& header, const TraceOptions& options) {
        counts_ = TraceCounts();
        problem_[0] = '\0';
        in_frame_ = closing_ = has_failed_ = false;
        forget_segment();
        taken_ = done_ = 0;
        capacity_ = options.queue_frames > 0 ? options.queue_frames : 0;
        when_full_ = options.when_full;
        kind_ = trace_kind(path);
        head_ = header_start(header);
        is_active = is_open_ = true;
        output_ = nullptr;
        if (kind_ == TraceKind::unknown) return fail(path, "the name must end in .trace.bin or .trace.jsonl");
        if (!is_mode(header.mode)) return fail(header.mode, "the mode must be teacher, free or playback");
        mode_ = header.mode;
        output_ = options.output == nullptr ? &file_ : options.output;
        const char* const why = output_->open(path);
        if (why != nullptr) return fail(path, why);
        queue_.reset(new (std::nothrow) FrameSlot[static_cast<std::size_t>(capacity_)]);
        if (queue_ == nullptr) return fail(nullptr, "no memory for the queue");
        return capacity_ == 0 || start_thread();
    }

    bool begin(Lock& lock, long long number, double time_s, const char* mode) {
        if (!is_open_ || listener_ != nullptr) return false;
        if (in_frame_) refuse(nullptr, "begin_frame() while the frame before was not ended");
        if (capacity_ > 0 && when_full_ == WhenFull::wait) {
            room_.wait(lock, [this] { return taken_ - done_ < capacity_ || closing_ || !is_open_; });
            if (closing_ || !is_open_) return false;
        }
        in_frame_ = true;
        is_whole_ = mode == nullptr || is_mode(mode);
        if (!is_whole_) describe(mode, "the mode must be teacher, free or playback");
        const bool is_other = is_whole_ && mode != nullptr && mode_ != mode;
        if (is_other || (has_last_ && number == 0)) forget_segment();
        if (is_other) mode_ = mode;
        if (segment_ != nullptr && !has_failed_ && !current_.has_room(segment_->size)) fail(nullptr, "no memory for a frame");
        number_ = number;
        time_s_ = time_s;
        found_ = 0;
        next_ = 0;
        ++serial_;
        return true;
    }

    // Where `width` numbers of a stage are to be put; null where they are not wanted.
    unsigned char* place(const char* name, int width, bool is_double) {
        if (listener_ != nullptr) {
            heard_.resize(static_cast<std::size_t>(width) * (is_double ? sizeof(double) : sizeof(float)) + 1);
            return heard_.data();
        }
        if (!is_open_ || has_failed_) return nullptr;
        if (!in_frame_) return stray(name, "stage() outside begin_frame() and end_frame()");
        const std::size_t at = index_of(name);
        if (at == stages_.size()) return segment_ != nullptr ? stray(name, "the first frame did not have this stage") : added(name, width, is_double);
        const RecordedStage& stage = stages_[at];
        if (stage.width != width || stage.is_double != is_double) {
            is_whole_ = false;
            describe(name, "another width or type than in the first frame");
            return nullptr;
        }
        next_ = at + 1;
        if (seen_[at] != serial_) ++found_;
        seen_[at] = serial_;
        return (segment_ != nullptr ? current_.bytes.get() : first_.data()) + stage.offset;
    }
    // After the numbers stand where place() said.
    void placed(const char* name, const unsigned char* at, int width, bool is_double) {
        if (listener_ != nullptr) listener_->hear(name, at, width, is_double);
    }
    bool given(const char* name, void* values, int count, bool is_double) {
        return listener_ != nullptr && listener_->give(name, values, count, is_double);
    }
    void listen(StageListener* listener) {
        listener_ = listener;
        is_active = is_open_ || listener_ != nullptr;
    }

    bool end(Lock& lock) {
        if (!is_open_ || listener_ != nullptr) return false;
        if (!in_frame_) return refuse(nullptr, "end_frame() without begin_frame()");
        in_frame_ = false;
        if (has_failed_) return lose();
        if (!is_sound()) return false;
        if (segment_ == nullptr && !fix()) return lose();
        put_bytes(current_.bytes.get() + kFrameNumberAt, static_cast<std::int64_t>(number_));
        put_bytes(current_.bytes.get() + kFrameTimeAt, time_s_);
        current_.segment = segment_;
        current_.begins = is_pending_;
        if (capacity_ > 0) return enqueue(lock);
        has_last_ = true;
        last_ = number_;
        is_pending_ = false;
        return count(write(current_), current_.begins);
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
        thread_.join();
        const Lock lock(mutex);
        is_open_ = false;
        is_active = listener_ != nullptr;
        if (output_ != nullptr && !output_->close()) fail(nullptr, "the file could not be closed");
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
    bool count(bool was_written, bool has_begun) {
        ++(was_written ? counts_.written : counts_.lost);
        if (was_written && has_begun) ++counts_.segments;
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
        if (segment_ == nullptr) forget_segment();
        return refuse(what, why);
    }
    const char* missing_stage() const {
        std::size_t at = 0;
        while (seen_[at] == serial_) ++at;
        return stages_[at].name.c_str();
    }
    void forget_segment() {
        segment_.reset();
        stages_.clear();
        seen_.clear();
        first_.clear();
        has_last_ = false;
    }

    // The first frame of a segment tells which stages there are. All memory is taken here.
    bool fix() {
        for (RecordedStage& stage : stages_) {
            stage.json_key = &stage == &stages_.front() ? "" : ",";
            append_text(stage.json_key, stage.name.c_str());
            stage.json_key += ':';
        }
        const std::size_t size = first_.size(), room = kind_ == TraceKind::json_lines ? line_room(stages_) : 1;
        std::shared_ptr<Segment> segment(new (std::nothrow) Segment);
        bool has_memory = segment != nullptr && current_.has_room(size);
        for (long long i = taken_; has_memory && i < done_ + capacity_; ++i) {  // those that wait for the writer are not touched
            has_memory = queue_[static_cast<std::size_t>(i % capacity_)].has_room(size);
        }
        if (has_memory) segment->line.reset(new (std::nothrow) char[room]);
        if (!has_memory || segment->line == nullptr) return fail(nullptr, "no memory for a frame");
        std::memcpy(current_.bytes.get(), first_.data(), size);
        first_ = {};
        segment->size = size;
        segment->stages = stages_;
        segment->start = segment_start(kind_, head_, mode_.c_str(), stages_);
        segment_ = std::move(segment);
        is_pending_ = true;
        return true;
    }

    bool start_thread() {
        const auto run = [](void* own) -> void* {
            static_cast<TraceWriter*>(own)->write_queue();
            return nullptr;
        };
        return thread_.start(run, this) || fail(nullptr, "no thread for the queue");
    }

    // --- queue ---
    bool enqueue(Lock& lock) {
        if (taken_ - done_ >= capacity_) {
            describe(nullptr, "the queue was full: frames were dropped");
            ++counts_.dropped;
            return false;
        }
        has_last_ = true;
        last_ = number_;
        is_pending_ = false;
        std::swap(current_, queue_[static_cast<std::size_t>(taken_ % capacity_)]);
        ++taken_;
        const bool is_filling = taken_ - done_ >= (capacity_ + 3) / 4;
        lock.unlock();
        if (is_filling) work_.notify_one();  // a wake-up costs this thread more than the rest: as a rule the writer looks by itself
        return true;
    }

    void write_queue() {
        Lock lock(mutex);
        for (;;) {
            while (done_ == taken_ && !closing_) work_.wait_for(lock, kLook);
            if (done_ == taken_) return;
            FrameSlot& frame = queue_[static_cast<std::size_t>(done_ % capacity_)];
            const bool has_failed = has_failed_;
            lock.unlock();  // the frame stays this thread's until `done_` passes it
            const bool ok = !has_failed && put(frame);
            lock.lock();
            if (!ok) fail(nullptr, "the file cannot be written");
            count(ok, frame.begins);
            ++done_;
            room_.notify_all();
        }
    }

    bool write(const FrameSlot& frame) { return put(frame) || fail(nullptr, "the file cannot be written"); }

    bool put(const FrameSlot& frame) {
        Segment& own = *frame.segment;
        if (frame.begins && !output_->put(own.start.data(), own.start.size())) return false;
        if (kind_ == TraceKind::json_lines) return output_->put(own.line.get(), put_line(own.line.get(), frame.bytes.get(), own.stages));
        seal_frame(frame.bytes.get(), own.size);
        return output_->put(frame.bytes.get(), own.size);
    }

    std::condition_variable work_;
    std::condition_variable room_;
    TraceThread thread_;
    TraceFile file_;
    TraceOutput* output_ = nullptr;
    StageListener* listener_ = nullptr;
    std::vector<unsigned char> heard_;
    TraceKind kind_ = TraceKind::unknown;
    std::string head_;
    std::string mode_;
    std::shared_ptr<Segment> segment_;  // null until its first frame is whole
    bool is_pending_ = false;           // the segment's header is not on its way yet
    std::vector<RecordedStage> stages_;
    std::vector<long long> seen_;       // serial of the frame that last had the stage
    std::vector<unsigned char> first_;  // the first frame while it grows
    FrameSlot current_;
    Array<FrameSlot> queue_;
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
    bool in_frame_ = false;
    bool is_whole_ = false;
    bool has_last_ = false;
    bool has_failed_ = false;
    bool closing_ = false;
};

}  // namespace detail
}  // namespace rigpact
