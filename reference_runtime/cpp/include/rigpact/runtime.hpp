// The engine's loop over plain arrays: input stages, network, output stages, next state.
//
//     rigpact::Loop<double> loop(contract, conventions, 60.0);   // double: UE 5; float: UE 4
//     loop.seed(x_raw);
//     loop.step_free({cond_raw, contact_scores, nullptr}, network);
//     loop.frame()[rigpact::Stage::quat];
//
// All memory is taken when the loop is built; a step allocates nothing. Values are float32 between stages and `Real`
// inside one. Every stage stays readable until the next step.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "rigpact/angular_velocity.hpp"
#include "rigpact/clip.hpp"
#include "rigpact/condition.hpp"
#include "rigpact/contacts.hpp"
#include "rigpact/contract_view.hpp"
#include "rigpact/conventions.hpp"
#include "rigpact/frame.hpp"
#include "rigpact/normalisation.hpp"
#include "rigpact/output.hpp"
#include "rigpact/pose_history.hpp"
#include "rigpact/writeback.hpp"

namespace rigpact {

// The five vectors in binding order, as the network wants them.
struct NetworkInputs {
    const float* data[5];
    int widths[5];
};

// What free-run takes from outside each frame. target6d is only looked at under `previous_pose_lag` one_later.
struct Intent {
    const float* cond_raw;
    const float* contact_scores;
    const float* target6d;
    const float* contacts = nullptr;  // the input as the network takes it; null: built from the scores
};

// Conventions that a contract cannot serve; null when it can.
inline const char* conventions_defect(const ContractView& contract, const Conventions& conventions) {
    const Slice* contacts = find_slice(contract.state, "Contacts");
    if (conventions.contacts_source == ContactsSource::whitened && (!contacts || contacts->size != kContactsWidth)) {
        return "whitened contacts need a Contacts slice in the state";
    }
    const bool needs = conventions.angvel_source == AngvelSource::aux_stats || conventions.angvel_source == AngvelSource::rotations;
    if (needs && contract.angvel.scale == nullptr) return "this angvel_source needs the companion's statistics";
    for (int bone = 0; conventions.bone_order != nullptr && bone < contract.bones; ++bone) {
        if (conventions.bone_order[bone] < 0 || conventions.bone_order[bone] >= contract.bones) return "bone_order leaves the bone table";
    }
    for (int position = 0; position < 5; ++position) {
        if (conventions.input_order[position] < 0 || conventions.input_order[position] > 4) return "input_order is no permutation";
    }
    return nullptr;
}

template <class Real>
class Loop {
public:
    // A contract or conventions that cannot run leave the loop inert: `defect()` says why and every step returns false.
    Loop(const ContractView& contract, const Conventions& conventions, double fps)
        : contract_(contract),
          conventions_(conventions),
          fps_(fps),
          defect_(contract_defect(contract)),
          normaliser_(contract, conventions),
          window_(conventions),
          angvel_(contract, conventions),
          history_(contract, conventions),
          writeback_(contract, conventions, fps) {
        if (defect_ == nullptr) defect_ = conventions_defect(contract, conventions);
        if (defect_ == nullptr) take_memory();
    }

    const char* defect() const { return defect_; }
    const Frame& frame() const { return frame_; }
    const OutputStages<Real>& outputs() const { return *outputs_; }
    const StateNormaliser<Real>& normaliser() const { return normaliser_; }

    // Widths that the network is bound at, 0 for any. A vector of another width is cut or zero-padded without a word by
    // `AlignInputVec`; here too, and `aligned_inputs` remembers it, one bit a position.
    void bind(const int (&widths)[5]) {
        for (int position = 0; position < 5; ++position) {
            bound_[position] = widths[position];
            if (widths[position] > 0) aligned_[position].reset(new float[static_cast<std::size_t>(widths[position])]());
        }
    }
    unsigned aligned_inputs() const { return alignments_; }

    // `ResetARState`: x_raw is the first frame. first_target6d only matters under pose_history_start first_target.
    void seed(const float* x_raw, const float* first_target6d = nullptr) {
        if (defect_ != nullptr) return;
        const std::size_t width = static_cast<std::size_t>(contract_.state.width);
        std::memcpy(current_, x_raw, width * sizeof(float));
        std::memcpy(before_, x_raw, width * sizeof(float));
        std::memcpy(seed_, x_raw, width * sizeof(float));
        normaliser_.normalise(seed_, seed_state_);
        choose_padding(x_raw + rotations_->start, first_target6d);
        newest_ = 0;
        remember_pose(x_raw + rotations_->start);
        window_.clear();
        outputs_->identity_pose(published_);
        next_frame_ = 0;
        inputs_stand_ = false;
    }

    // Free-run: the state is the loop's own output. Network: bool(const NetworkInputs&, float* y_norm, int width).
    template <class Network>
    bool step_free(const Intent& intent, Network&& network) {
        if (!begin_free(intent)) return false;
        if (!network(bound_inputs(), at(Stage::y_norm), contract_.output.width)) return false;
        finish_free();
        return true;
    }

    // The two halves of such a step, for a network that answers many characters at once: the inputs; then, with the answer
    // in the buffer of y_norm, the rest.
    bool begin_free(const Intent& intent) {
        if (defect_ != nullptr) return false;
        start_frame();
        copy(Stage::x_raw, current_);
        normaliser_.normalise(current_, at(Stage::state), inputs_stand_ ? before_ : nullptr);
        set_intent(intent);
        if (!inputs_stand_ || !angvel_.stands(before_, current_)) free_angvel();
        inputs_stand_ = true;
        if (next_frame_ == 0 && history_.is_reset_in_free_run()) outputs_->identity_pose(padding_);
        history_.build(next_frame_, padding_, [this](int age) { return pose_at_age(age); }, at(Stage::pose_hist_raw), true);
        history_.normalise(at(Stage::pose_hist_raw), at(Stage::pose_hist));
        previous6d_ = current_ + rotations_->start;
        if (conventions_.previous_pose_lag == PreviousPoseLag::one_earlier) previous6d_ = before_ + rotations_->start;
        if (conventions_.previous_pose_lag == PreviousPoseLag::one_later && intent.target6d) previous6d_ = intent.target6d;
        return true;
    }
    void finish_free() {
        publish(previous6d_);
        writeback_.write(current_, at(Stage::y_out), at(Stage::x_raw_next));
        std::swap(before_, current_);
        std::memcpy(current_, at(Stage::x_raw_next), sizeof(float) * static_cast<std::size_t>(contract_.state.width));
        remember_pose(current_ + rotations_->start);
        ++next_frame_;
    }

    // Where the stages stand from now on: the rows of a crowd's matrices. Call it before `seed`.
    void place(float* const (&buffers)[kStages]) {
        for (int s = 0; s < kStages; ++s) buffers_[s] = buffers[s];
    }
    // Whether a step computes quaternions; an engine that takes y_out does not need them.
    void give_quaternions(bool wanted) { gives_quaternions_ = wanted; }

    // How many steps a clip allows a teacher-driven run.
    int teacher_steps(const ClipView& clip) const {
        const int available = clip.frames - (conventions_.previous_pose_lag == PreviousPoseLag::one_later ? 1 : 0);
        return clip.steps < available ? clip.steps : available;
    }

    // Teacher-driven: every row comes from the clip. Call `seed` with the clip's first frame before frame 0.
    template <class Network>
    bool step_teacher(const ClipView& clip, Network&& network) {
        const int frame = next_frame_;
        if (defect_ != nullptr || frame >= teacher_steps(clip)) return false;
        start_frame();
        const float* x_raw = row(clip, frame);
        copy(Stage::x_raw, x_raw);
        if (clip.state != nullptr) copy(Stage::state, clip.state + offset(contract_.state.width, frame));
        else normaliser_.normalise(x_raw, at(Stage::state));
        set_clip_intent(clip, frame);
        teacher_angvel(clip, frame);
        teacher_history(clip, frame);
        const int lag = lag_of(conventions_.previous_pose_lag);
        inputs_stand_ = false;
        if (!network(bound_inputs(), at(Stage::y_norm), contract_.output.width)) return false;
        publish(row(clip, frame + lag < 0 ? 0 : frame + lag) + rotations_->start);
        if (frame + 1 < clip.frames) copy(Stage::x_raw_next, row(clip, frame + 1));
        else frame_.values[static_cast<int>(Stage::x_raw_next)] = nullptr;
        ++next_frame_;
        return true;
    }

private:
    static std::size_t offset(int width, int row) { return static_cast<std::size_t>(width) * static_cast<std::size_t>(row); }

    template <class Lag>
    static int lag_of(Lag lag) {
        return lag == Lag::one_later ? 1 : (lag == Lag::one_earlier ? -1 : 0);
    }

    void take_memory() {
        outputs_.reset(new OutputStages<Real>(contract_, conventions_));
        rotations_ = find_slice(contract_.state, "BoneRotations6D");
        const int state = contract_.state.width, pose = history_.pose_width();
        int total = 4 * state + 2 * pose + history_.reach() * pose;
        for (int s = 0; s < kStages; ++s) total += stage_width(contract_, static_cast<Stage>(s));
        memory_.reset(new float[static_cast<std::size_t>(total)]());
        float* next = memory_.get();
        for (int s = 0; s < kStages; ++s) {
            frame_.widths[s] = stage_width(contract_, static_cast<Stage>(s));
            buffers_[s] = next;
            next += frame_.widths[s];
        }
        for (float** own : {&current_, &before_, &seed_, &seed_state_}) {
            *own = next;
            next += state;
        }
        published_ = next;
        padding_ = next + pose;
        ring_ = next + 2 * pose;
    }

    float* at(Stage stage) { return buffers_[static_cast<int>(stage)]; }
    void copy(Stage stage, const float* from) {
        std::memcpy(at(stage), from, sizeof(float) * static_cast<std::size_t>(frame_.widths[static_cast<int>(stage)]));
    }

    void start_frame() {
        frame_.number = next_frame_;
        frame_.time_s = next_frame_ / fps_;
        for (int s = 0; s < kStages; ++s) frame_.values[s] = buffers_[s];
    }

    // --- pose history: a ring, newest at `newest_` ---
    void choose_padding(const float* seed_pose, const float* first_target6d) {
        const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(history_.pose_width());
        switch (conventions_.pose_history_start) {
            case PoseHistoryStart::identity_after_seed:  // a teacher-driven run starts from the seed
            case PoseHistoryStart::seed_pose: std::memcpy(padding_, seed_pose, bytes); break;
            case PoseHistoryStart::identity: outputs_->identity_pose(padding_); break;
            case PoseHistoryStart::zeros: std::memset(padding_, 0, bytes); break;
            case PoseHistoryStart::first_target: std::memcpy(padding_, first_target6d ? first_target6d : seed_pose, bytes); break;
        }
    }
    void remember_pose(const float* pose) {
        newest_ = (newest_ + 1) % history_.reach();
        std::memcpy(ring_ + newest_ * history_.pose_width(), pose, sizeof(float) * static_cast<std::size_t>(history_.pose_width()));
    }
    const float* pose_at_age(int age) const {
        const int reach = history_.reach();
        return ring_ + ((newest_ - age % reach + reach) % reach) * history_.pose_width();
    }

    // --- inputs ---
    void set_intent(const Intent& intent) {
        copy(Stage::cond_raw, intent.cond_raw);
        window_.push(at(Stage::cond_raw), at(Stage::cond));
        if (intent.contacts != nullptr) copy(Stage::contacts, intent.contacts);
        else build_contacts<Real>(contract_, conventions_, intent.contact_scores, at(Stage::contacts));
    }
    void set_clip_intent(const ClipView& clip, int frame) {
        float built[kConditionWidth];
        const float* cond_raw = clip.cond_raw == nullptr ? built : clip.cond_raw + offset(kConditionWidth, frame);
        if (clip.cond_raw == nullptr) build_condition<Real>(conventions_, clip.wishes[frame], built);
        const float* scores = clip.contact_scores == nullptr ? nullptr : clip.contact_scores + offset(kContactsWidth, frame);
        set_intent({cond_raw, scores, nullptr});
    }

    const float* row(const ClipView& clip, int frame) const { return clip.x_raw + offset(contract_.state.width, frame); }

    // There is no future in free-run: the newest pair of poses stands for every lag.
    void free_angvel() {
        float* out = at(Stage::angvel);
        switch (conventions_.angvel_source) {
            case AngvelSource::aux_stats: angvel_.from_state(current_, out); break;
            case AngvelSource::rotations: angvel_.from_rotations(before_, current_, fps_, out); break;
            case AngvelSource::state_slice: angvel_.from_state_slice(at(Stage::state), out); break;
            case AngvelSource::frozen: frozen_angvel(seed_, seed_state_, out); break;
            case AngvelSource::zeros: angvel_.zeros(out); break;
        }
    }
    // The deployed engine's free-run never recomputes this input.
    void frozen_angvel(const float* x_raw, const float* state, float* out) const {
        if (angvel_.has_statistics()) angvel_.from_state(x_raw, out);
        else angvel_.from_state_slice(state, out);
    }
    void teacher_angvel(const ClipView& clip, int frame) {
        if (clip.angvel != nullptr) {
            copy(Stage::angvel, clip.angvel + offset(frame_.widths[static_cast<int>(Stage::angvel)], frame));
            return;
        }
        float* out = at(Stage::angvel);
        const int lag = lag_of(conventions_.angvel_lag), last = clip.frames - 1;
        switch (conventions_.angvel_source) {
            case AngvelSource::aux_stats: angvel_.from_state(row(clip, clamped(frame + lag, 0, last)), out); break;
            case AngvelSource::rotations:
                if (last < 1) {  // a single frame has no pair
                    angvel_.from_state(row(clip, 0), out);
                } else {
                    const int pair = clamped(frame + lag, 0, last - 1);
                    angvel_.from_rotations(row(clip, pair), row(clip, pair + 1), clip.fps, out);
                }
                break;
            case AngvelSource::state_slice: angvel_.from_state_slice(at(Stage::state), out); break;
            case AngvelSource::frozen: frozen_angvel(row(clip, clamped(lag, 0, last)), clip.state ? clip.state : seed_state_, out); break;
            case AngvelSource::zeros: angvel_.zeros(out); break;
        }
    }
    void teacher_history(const ClipView& clip, int frame) {
        if (clip.pose_hist != nullptr) {
            frame_.values[static_cast<int>(Stage::pose_hist_raw)] = nullptr;
            copy(Stage::pose_hist, clip.pose_hist + offset(history_.width(), frame));
            return;
        }
        const auto pose_of = [&](int age) { return row(clip, frame - age) + rotations_->start; };
        history_.build(frame, padding_, pose_of, at(Stage::pose_hist_raw));
        history_.normalise(at(Stage::pose_hist_raw), at(Stage::pose_hist));
    }

    // --- network and output ---
    void publish(const float* previous6d) {
        outputs_->y_raw(at(Stage::y_norm), at(Stage::y_raw));
        if (outputs_->is_delta()) outputs_->delta6d(at(Stage::y_raw), published_, at(Stage::delta6d));
        else frame_.values[static_cast<int>(Stage::delta6d)] = nullptr;
        outputs_->next6d(at(Stage::y_raw), at(Stage::delta6d), previous6d, at(Stage::next6d));
        outputs_->y_out(at(Stage::y_raw), at(Stage::next6d), published_, at(Stage::y_out));
        if (gives_quaternions_) outputs_->quat(at(Stage::y_out), at(Stage::quat));
        else frame_.values[static_cast<int>(Stage::quat)] = nullptr;
        const float* pose = at(Stage::y_out) + outputs_->rotations().start;
        std::memcpy(published_, pose, sizeof(float) * static_cast<std::size_t>(history_.pose_width()));
    }

    NetworkInputs bound_inputs() {
        NetworkInputs inputs;
        for (int position = 0; position < 5; ++position) {
            const Stage stage = kInputStages[conventions_.input_order[position]];
            const int own = frame_.widths[static_cast<int>(stage)], bound = bound_[position] > 0 ? bound_[position] : own;
            inputs.data[position] = at(stage);
            inputs.widths[position] = bound;
            if (own == bound) continue;
            alignments_ |= 1u << position;
            for (int i = 0; i < bound; ++i) aligned_[position][static_cast<std::size_t>(i)] = i < own ? at(stage)[i] : 0.0f;
            inputs.data[position] = aligned_[position].get();
        }
        return inputs;
    }

    ContractView contract_;
    Conventions conventions_;
    double fps_;
    const char* defect_;
    StateNormaliser<Real> normaliser_;
    ConditionWindow<Real> window_;
    AngularVelocityInput<Real> angvel_;
    PoseHistory<Real> history_;
    WriteBack<Real> writeback_;
    std::unique_ptr<OutputStages<Real>> outputs_;
    std::unique_ptr<float[]> memory_;
    std::unique_ptr<float[]> aligned_[5];
    int bound_[5] = {};
    unsigned alignments_ = 0;
    const Slice* rotations_ = nullptr;
    Frame frame_;
    float* buffers_[kStages] = {};
    float* current_ = nullptr;
    float* before_ = nullptr;
    float* seed_ = nullptr;
    float* seed_state_ = nullptr;
    float* published_ = nullptr;
    float* padding_ = nullptr;
    float* ring_ = nullptr;
    const float* previous6d_ = nullptr;
    int newest_ = 0;
    int next_frame_ = 0;
    bool inputs_stand_ = false;  // `state` and `angvel` hold the frame before, of the raw state `before_`
    bool gives_quaternions_ = true;
};

}  // namespace rigpact
