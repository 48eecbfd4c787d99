// The recorder behind `rigpact::Recorder` when tracing is on. Include trace.hpp, not this file.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "rigpact/stages.hpp"
#include "rigpact/trace_writer.hpp"

namespace rigpact {

// Nothing here throws, waits for a disk (but as TraceOptions say) or allocates after the first frame. Every call may come from
// any thread; the calls of a frame are one after the other. All but open() and close() are const: recording changes no character.
class TraceRecorder {
public:
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

    bool begin_frame(long long number, double time_s) const {
        Lock lock(writer_->mutex);
        return writer_->begin(lock, number, time_s);
    }

    // `count` elements: float, double, or anything with a StageElement. The values are copied before it returns; of a stage
    // that is recorded twice in a frame the last one stays. The first frame says which stages there are. Calls can be chained.
    template <class Element = void, class T>
    const TraceRecorder& stage(const char* name, const T* values, int count) const {
        const Lock lock(writer_->mutex);
        put<Element>(name, values, count);
        return *this;
    }
    template <class Element = void, class T>
    const TraceRecorder& stage(Stage which, const T* values, int count) const {
        return this->template stage<Element>(kStageNames[static_cast<int>(which)], values, count);
    }
    // A list, or anything with data() and size(), or with GetData() and Num().
    template <class Element = void, class Name, class T>
    const TraceRecorder& stage(const Name& name, std::initializer_list<T> values) const {
        return this->template stage<Element>(name, values.begin(), static_cast<int>(values.size()));
    }
    template <class Element = void, class Name, class Array>
    auto stage(const Name& name, const Array& values) const -> decltype(values.data(), *this) {
        return this->template stage<Element>(name, values.data(), static_cast<int>(values.size()));
    }
    template <class Element = void, class Name, class Array>
    auto stage(const Name& name, const Array& values) const -> decltype(values.GetData(), *this) {
        return this->template stage<Element>(name, values.GetData(), static_cast<int>(values.Num()));
    }

    // True when the frame was written, or queued.
    bool end_frame() const {
        const Lock lock(writer_->mutex);
        return writer_->end();
    }

    // A whole frame of rigpact's own loop (frame.hpp). Bit s of `stages`: record kStageNames[s] where the frame has it.
    template <class AnyFrame>
    bool record(const AnyFrame& frame, unsigned stages = ~0u) const {
        Lock lock(writer_->mutex);
        if (!writer_->begin(lock, frame.number, frame.time_s)) return false;
        for (int s = 0; s < kStages; ++s) {
            if ((stages >> s & 1u) != 0 && frame.values[s] != nullptr) put<void>(kStageNames[s], frame.values[s], frame.widths[s]);
        }
        return writer_->end();
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

private:
    using Lock = detail::TraceWriter::Lock;

    template <class Element, class T>
    void put(const char* name, const T* values, int count) const {
        constexpr bool is_number = std::is_same_v<T, float> || std::is_same_v<T, double>;
        if constexpr (is_number && std::is_void_v<Element>) {
            unsigned char* const at = writer_->place(name, values == nullptr ? 0 : count, std::is_same_v<T, double>);
            if (at != nullptr) std::memcpy(at, values, static_cast<std::size_t>(count) * sizeof(T));
        } else {
            using Form = std::conditional_t<std::is_void_v<Element>, StageElement<T>, Element>;
            put_elements<Form>(name, values, count);
        }
    }

    template <class Form, class T>
    void put_elements(const char* name, const T* values, int count) const {
        using Number = typename Form::Number;
        static_assert(std::is_same_v<Number, float> || std::is_same_v<Number, double>, "a StageElement gives float or double");
        const int width = values == nullptr ? 0 : count * Form::kNumbers;
        unsigned char* at = writer_->place(name, width, std::is_same_v<Number, double>);
        for (int i = 0; at != nullptr && i < count; ++i, at += sizeof(Number) * Form::kNumbers) {
            Number numbers[Form::kNumbers];
            Form::put(values[i], numbers);
            std::memcpy(at, numbers, sizeof(numbers));
        }
    }

    std::unique_ptr<detail::TraceWriter> writer_;
};

}  // namespace rigpact
