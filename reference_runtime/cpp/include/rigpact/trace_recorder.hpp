// The recorder behind `rigpact::Recorder` when tracing is on. Include trace.hpp, not this file.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "rigpact/number_text.hpp"
#include "rigpact/safetensors.hpp"
#include "rigpact/trace.hpp"

namespace rigpact {

// What a file format has to do with a frame. `values` holds the recorded stages one after the other.
struct RecordedStages {
    int count = 0;
    const char* names[kStages] = {};
    int widths[kStages] = {};
    int total = 0;
};

// Frames may come from any thread; each is taken whole, and one whose number does not increase is refused: a trace's
// frames are in order. `refused()` counts them, with those that lack a stage that the first frame had.
class TraceRecorder {
public:
    TraceRecorder() = default;
    TraceRecorder(const TraceRecorder&) = delete;
    TraceRecorder& operator=(const TraceRecorder&) = delete;
    ~TraceRecorder() { close(); }

    // Strings are copied. False when a file cannot be opened.
    bool open(const TraceOptions& options, const TraceHeader& header) {
        close();
        const std::lock_guard<std::mutex> lock(mutex_);
        json_lines_ = options.json_lines == nullptr ? nullptr : std::fopen(options.json_lines, "wb");
        if (options.json_lines != nullptr && json_lines_ == nullptr) return false;
        safetensors_path_ = options.safetensors == nullptr ? "" : options.safetensors;
        mask_ = options.stages;
        capacity_ = options.queue_frames;
        head_ = make_head(header);
        stages_ = RecordedStages();
        tensors_ = SafetensorsFile();
        refused_ = taken_ = written_ = 0;
        failed_ = closing_ = false;
        last_frame_ = -1;
        is_open_ = true;
        return true;
    }

    // Copies what it needs before it returns. With a queue that is full it waits: a trace with holes explains less.
    bool record(const Frame& frame) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!is_open_ || failed_) return false;
        if (stages_.count == 0) start(frame);
        // Room first, order second: of two frames that wait, the later one may wake first, and the other is then refused.
        if (capacity_ > 0) room_.wait(lock, [this] { return taken_ - written_ < capacity_; });
        if (!is_open_ || closing_) return false;
        if (!fits(frame)) {
            ++refused_;
            return false;
        }
        last_frame_ = frame.number;
        Slot& slot = slots_[static_cast<std::size_t>(capacity_ > 0 ? taken_ % capacity_ : 0)];
        fill(slot, frame);
        ++taken_;
        if (capacity_ > 0) {
            work_.notify_one();
            return true;
        }
        write(slot);
        ++written_;
        return !failed_;
    }

    // Writes what is queued and the safetensors file. False when anything could not be written.
    bool close() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!is_open_) return true;
            closing_ = true;
        }
        work_.notify_one();
        if (writer_.joinable()) writer_.join();
        const std::lock_guard<std::mutex> lock(mutex_);
        is_open_ = false;
        if (json_lines_ != nullptr && std::fclose(json_lines_) != 0) failed_ = true;
        json_lines_ = nullptr;
        if (!safetensors_path_.empty() && written_ > 0 && !tensors_.write(safetensors_path_, head_line(), stages_.names)) failed_ = true;
        return !failed_;
    }

    long refused() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return refused_;
    }

private:
    struct Slot {
        int number = 0;
        double time_s = 0.0;
        std::unique_ptr<float[]> values;
    };

    static std::string make_head(const TraceHeader& header) {
        std::string text = "{\"format\":\"rigpact-trace\",\"version\":1,\"producer\":{\"name\":";
        append_text(text, header.producer);
        text += ",\"version\":";
        append_text(text, header.producer_version);
        text += "},\"contract\":{\"bundle_sha256\":";
        append_text(text, header.bundle_sha256);
        append_hash(text, "companion_sha256", header.companion_sha256);
        append_hash(text, "meaning_sha256", header.meaning_sha256);
        append_hash(text, "conventions_sha256", header.conventions_sha256);
        append_hash(text, "model_sha256", header.model_sha256);
        text += "},\"fps\":";
        append_seconds(text, header.fps);
        text += ",\"mode\":";
        append_text(text, header.mode);
        text += ",\"clip\":";
        append_text(text, header.clip);
        return text + ",\"stages\":{";
    }

    static void append_hash(std::string& text, const char* name, const char* hash) {
        if (hash == nullptr) return;
        text += ',';
        append_text(text, name);
        text += ':';
        append_text(text, hash);
    }

    std::string head_line() const {
        std::string text = head_;
        for (int i = 0; i < stages_.count; ++i) {
            if (i > 0) text += ',';
            append_text(text, stages_.names[i]);
            text += ':';
            append_integer(text, stages_.widths[i]);
        }
        return text + "}}";
    }

    // The first frame tells which stages there are; all memory is taken here.
    void start(const Frame& frame) {
        for (int s = 0; s < kStages; ++s) {
            if ((mask_ >> s & 1u) == 0 || frame.values[s] == nullptr) continue;
            places_[stages_.count] = s;
            stages_.names[stages_.count] = kStageNames[s];
            stages_.widths[stages_.count++] = frame.widths[s];
            stages_.total += frame.widths[s];
        }
        const int slots = capacity_ > 0 ? capacity_ : 1;
        slots_.reset(new Slot[static_cast<std::size_t>(slots)]);
        for (int i = 0; i < slots; ++i) slots_[static_cast<std::size_t>(i)].values.reset(new float[static_cast<std::size_t>(stages_.total)]);
        line_.reserve(static_cast<std::size_t>(stages_.total) * 17 + 512);
        line_ = head_line() + "\n";
        put(line_);
        if (!safetensors_path_.empty()) tensors_.start(stages_.count, stages_.widths);
        if (capacity_ > 0) writer_ = std::thread([this] { write_queue(); });
    }

    bool fits(const Frame& frame) const {
        if (frame.number <= last_frame_ || stages_.count == 0) return false;
        for (int i = 0; i < stages_.count; ++i) {
            if (frame.values[places_[i]] == nullptr || frame.widths[places_[i]] != stages_.widths[i]) return false;
        }
        return true;
    }

    void fill(Slot& slot, const Frame& frame) const {
        slot.number = frame.number;
        slot.time_s = frame.time_s;
        float* next = slot.values.get();
        for (int i = 0; i < stages_.count; ++i) {
            const float* values = frame.values[places_[i]];
            for (int k = 0; k < stages_.widths[i]; ++k) *next++ = values[k];
        }
    }

    void write_queue() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            work_.wait(lock, [this] { return written_ < taken_ || closing_; });
            if (written_ == taken_) return;
            Slot& slot = slots_[static_cast<std::size_t>(written_ % capacity_)];
            lock.unlock();  // the slot stays this thread's until `written_` passes it
            write(slot);
            lock.lock();
            ++written_;
            room_.notify_all();
        }
    }

    void write(const Slot& slot) {
        if (json_lines_ != nullptr) {
            line_ = "{\"frame\":";
            append_integer(line_, slot.number);
            line_ += ",\"time\":";
            append_seconds(line_, slot.time_s);
            line_ += ",\"stages\":{";
            const float* values = slot.values.get();
            for (int i = 0; i < stages_.count; ++i) {
                if (i > 0) line_ += ',';
                append_text(line_, stages_.names[i]);
                line_ += ':';
                append_numbers(line_, values, stages_.widths[i]);
                values += stages_.widths[i];
            }
            line_ += "}}\n";
            put(line_);
        }
        if (!safetensors_path_.empty()) tensors_.add(slot.number, slot.time_s, slot.values.get());
    }

    // The whole line at once, then flushed: what the operating system has taken survives the process.
    void put(const std::string& line) {
        if (json_lines_ == nullptr) return;
        if (std::fwrite(line.data(), 1, line.size(), json_lines_) != line.size() || std::fflush(json_lines_) != 0) failed_ = true;
    }

    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable room_;
    std::thread writer_;
    std::FILE* json_lines_ = nullptr;
    std::string safetensors_path_;
    std::string head_;
    std::string line_;
    SafetensorsFile tensors_;
    RecordedStages stages_;
    int places_[kStages] = {};
    std::unique_ptr<Slot[]> slots_;
    unsigned mask_ = 0;
    int capacity_ = 0;
    long taken_ = 0;
    long written_ = 0;
    long refused_ = 0;
    int last_frame_ = -1;
    bool is_open_ = false;
    bool closing_ = false;
    std::atomic<bool> failed_{false};
};

}  // namespace rigpact
