// The recorder behind `rigpact::Recorder` when tracing is on. Include trace.hpp, not this file.
#pragma once

#include <memory>
#include <type_traits>

#include "rigpact/stage_calls.hpp"
#include "rigpact/trace_writer.hpp"

namespace rigpact {

// Nothing here throws, waits for a disk (but as TraceOptions say) or allocates after the first frame of a segment. Who may call
// what: everything but the constructor, the destructor and a move may be called from any thread at any time, so a file may end in
// the middle of a frame; that frame is then not written. begin_frame(), stage() and end_frame() of one frame come one after the
// other, on whichever threads. All but open() and close() are const: recording changes no character.
class TraceRecorder : public StageCalls<TraceRecorder> {
public:
    static constexpr bool kRecords = true;
    TraceRecorder() : writer_(new detail::TraceWriter) {}
    TraceRecorder(TraceRecorder&&) = default;
    TraceRecorder& operator=(TraceRecorder&&) = delete;
    ~TraceRecorder() { close(); }

    // Empties the file and starts a recording; the ending gives the format, .trace.bin or .trace.jsonl. Strings are copied.
    // False when nothing can be recorded: problem() says why, frames are counted as lost, and the game goes on.
    bool open(const char* path, const TraceHeader& header, const TraceOptions& options = {}) {
        close();
        const Lock lock(writer_->mutex);
        return writer_->open(path, header, options);
    }

    // A frame with the number 0 after others begins a new segment of the file (a respawn, a pool), and so does another mode than
    // the frame before had ("teacher", "free", "playback"; null: unchanged). The first frame of a segment says which stages it has.
    bool begin_frame(long long number, double time_s, const char* mode = nullptr) const {
        if (!writer_->is_active) return false;
        Lock lock(writer_->mutex);
        return writer_->begin(lock, number, time_s, mode);
    }

    // True when the frame was written, or queued.
    bool end_frame() const {
        if (!writer_->is_active) return false;
        Lock lock(writer_->mutex);
        return writer_->end(lock);
    }

    // A whole frame of rigpact's own loop (frame.hpp). Bit s of `stages`: record kStageNames[s] where the frame has it.
    template <class AnyFrame>
    bool record(const AnyFrame& frame, unsigned stages = ~0u) const {
        if (!writer_->is_active) return false;
        Lock lock(writer_->mutex);
        if (!writer_->begin(lock, frame.number, frame.time_s, nullptr)) return false;
        for (int s = 0; s < kStages; ++s) {
            if ((stages >> s & 1u) != 0 && frame.values[s] != nullptr) put_elements<StageElement<float>>(kStageNames[s], frame.values[s], frame.widths[s]);
        }
        return writer_->end(lock);
    }

    // Writes what is queued. False when counts() has anything but written frames.
    bool close() { return writer_ == nullptr || writer_->close(); }

    bool is_open() const {
        const Lock lock(writer_->mutex);
        return writer_->is_open();
    }
    TraceCounts counts() const {
        const Lock lock(writer_->mutex);
        return writer_->counts();
    }
    // The first thing that went wrong since open(), in words; null when nothing did.
    const char* problem() const {
        const Lock lock(writer_->mutex);
        return writer_->problem();
    }

    // While a listener is there, stages go to it and nothing is recorded. Null ends it.
    void listen(StageListener* listener) const {
        const Lock lock(writer_->mutex);
        writer_->listen(listener);
    }

private:
    friend class StageCalls<TraceRecorder>;
    using Lock = detail::TraceWriter::Lock;

    template <class Form, class T>
    void put(const char* name, const T* values, int count) const {
        if (!writer_->is_active) return;
        const Lock lock(writer_->mutex);
        put_elements<Form>(name, values, count);
    }

    template <class Form, class T>
    void put_elements(const char* name, const T* values, int count) const {
        using Number = typename Form::Number;
        constexpr bool is_double = std::is_same_v<Number, double>;
        const int width = values == nullptr ? 0 : count * Form::kNumbers;
        unsigned char* const begin = writer_->place(name, width, is_double);
        if (begin == nullptr) return;
        if constexpr (std::is_same_v<Form, StageElement<Number>> && std::is_same_v<T, Number>) {
            std::memcpy(begin, values, static_cast<std::size_t>(count) * sizeof(T));
        } else {
            unsigned char* at = begin;
            for (int i = 0; i < count; ++i, at += sizeof(Number) * Form::kNumbers) {
                Number numbers[Form::kNumbers];
                Form::put(values[i], numbers);
                std::memcpy(at, numbers, sizeof(numbers));
            }
        }
        writer_->placed(name, begin, width, is_double);
    }

    bool fill(const char* name, void* values, int count, bool is_double) const {
        if (!writer_->is_active) return false;
        const Lock lock(writer_->mutex);
        return writer_->given(name, values, count, is_double);
    }

    std::unique_ptr<detail::TraceWriter> writer_;
};

}  // namespace rigpact
