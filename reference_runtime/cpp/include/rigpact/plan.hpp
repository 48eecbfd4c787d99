// A plan: the stages of a declared contract as a list of operations on rows of memory. A frame runs them in order, for every
// character; a network's answer stands between two parts of the list, and its caller writes it. The memory is the caller's.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "rigpact/vocabulary/operations.hpp"

namespace rigpact {

// A vector of every character over time: row `frame` of a character begins at lanes[character] + frame · stride.
struct PlanTable {
    float* const* lanes;
    std::ptrdiff_t stride;  // 0: of frames no matter
    const int* rows;        // of each character: how many there are, from a clip; null: as many as the run has frames
    int width;
    int repeats;  // whether a clip starts again behind its last row; else nothing is known there
    int kept;     // how many frames the run's own memory holds: the next one takes the place of the oldest
};

struct PlanRead {
    int table;  // -1: nothing is known of it
    int lag;
    vocabulary::Start start;
};

struct PlanStep {
    int operation;  // its place in vocabulary::kOperations
    int out;  // a table
    int first_read;
    int first_word;
    int first_number;
    int reads;
    int from_frame;  // before it the caller wrote the row
};

class Plan {
public:
    // What a thread writes to beside the rows.
    struct Room {
        std::vector<double> numbers;
        std::vector<const float*> rows;
    };

    // The arrays are the caller's, for as long as the plan runs. is_free: whether the run feeds itself.
    Plan(const PlanTable* tables, const PlanRead* reads, const PlanStep* steps, const int* words, const double* numbers,
         int widest, int most_reads, bool is_free)
        : tables_(tables), reads_(reads), steps_(steps), words_(words), numbers_(numbers), widest_(static_cast<std::size_t>(widest)),
          most_reads_(static_cast<std::size_t>(most_reads)), is_free_(is_free),
          nothing_(widest_, std::numeric_limits<float>::quiet_NaN()), zeros_(widest_, 0.0f) {}

    Room room() const { return {std::vector<double>(widest_), std::vector<const float*>(most_reads_)}; }

    // Steps `first` … `end` - 1 of a frame of a character.
    void run(int character, int frame, int first, int end, Room& room) const {
        for (int s = first; s < end; ++s) {
            const PlanStep& step = steps_[s];
            if (frame < step.from_frame) continue;
            const PlanTable& out = tables_[step.out];
            for (int k = 0; k < step.reads; ++k) room.rows[static_cast<std::size_t>(k)] = row(reads_[step.first_read + k], character, frame);
            vocabulary::kOperations[step.operation]({room.rows.data(), words_ + step.first_word, numbers_ + step.first_number,
                                                     out.lanes[character] + frame % out.kept * out.stride, out.width,
                                                     room.numbers.data(), frame, is_free_});
        }
    }

private:
    const float* row(const PlanRead& read, int character, int frame) const {
        if (read.table < 0) return nothing_.data();
        const PlanTable& table = tables_[read.table];
        int wanted = frame + read.lag;
        if (wanted < 0) {
            if (read.start == vocabulary::Start::unknown) return nothing_.data();
            if (read.start == vocabulary::Start::zeros) return zeros_.data();
            wanted = 0;
        }
        if (table.rows == nullptr) return table.lanes[character] + wanted % table.kept * table.stride;
        const int count = table.rows[character];
        if (wanted >= count && !table.repeats) return nothing_.data();
        return table.lanes[character] + wanted % count * table.stride;
    }

    const PlanTable* tables_;
    const PlanRead* reads_;
    const PlanStep* steps_;
    const int* words_;
    const double* numbers_;
    std::size_t widest_;
    std::size_t most_reads_;
    bool is_free_;
    std::vector<float> nothing_;
    std::vector<float> zeros_;
};

}  // namespace rigpact
