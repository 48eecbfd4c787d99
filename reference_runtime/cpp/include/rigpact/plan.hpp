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
};

class Plan {
public:
    // The arrays are the caller's, for as long as the plan runs.
    Plan(const PlanTable* tables, const PlanRead* reads, const PlanStep* steps, const int* words, const double* numbers,
         int characters, int widest, int most_reads)
        : tables_(tables), reads_(reads), steps_(steps), words_(words), numbers_(numbers), characters_(characters),
          room_(static_cast<std::size_t>(widest)), rows_(static_cast<std::size_t>(most_reads)),
          nothing_(static_cast<std::size_t>(widest), std::numeric_limits<float>::quiet_NaN()),
          zeros_(static_cast<std::size_t>(widest), 0.0f) {}

    // Steps `first` … `end` - 1 of a frame.
    void run(int frame, int first, int end) {
        for (int s = first; s < end; ++s) {
            const PlanStep& step = steps_[s];
            const PlanTable& out = tables_[step.out];
            const vocabulary::Operation operation = vocabulary::kOperations[step.operation];
            for (int character = 0; character < characters_; ++character) {
                for (int k = 0; k < step.reads; ++k) rows_[static_cast<std::size_t>(k)] = row(reads_[step.first_read + k], character, frame);
                operation({rows_.data(), words_ + step.first_word, numbers_ + step.first_number,
                           out.lanes[character] + frame * out.stride, out.width, room_.data()});
            }
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
        if (table.rows != nullptr) {
            const int count = table.rows[character];
            if (wanted >= count && !table.repeats) return nothing_.data();
            wanted %= count;
        }
        return table.lanes[character] + wanted * table.stride;
    }

    const PlanTable* tables_;
    const PlanRead* reads_;
    const PlanStep* steps_;
    const int* words_;
    const double* numbers_;
    int characters_;
    std::vector<double> room_;
    std::vector<const float*> rows_;
    std::vector<float> nothing_;
    std::vector<float> zeros_;
};

}  // namespace rigpact
