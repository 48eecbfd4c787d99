// An engine's own loop, written from the description of the engine alone: it shares no code with rigpact but the recorder.
//
// The numbers of the bundle and of a clip come in as named arrays, the network is a callback, and every stage is
// recorded. `defects` plants mistakes of those that real engine classes had: bit n plants number n.
#include "rigpact/trace.hpp"  // +

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

enum Defect : int {
    none, previous_pose_next_bone, writeback_six_late, angvel_three_early, state_by_output_statistics,
    history_statistics_of_oldest, angvel_by_state_statistics, mean_added_to_residual, identity_in_xy_columns, identity_forgotten,
    sigma_floor, history_never_seeded, history_seeded_twice, history_identity_after_seed, history_uninitialised, quats_turned,
    quats_change_of_basis, root_turned_by_heading, answer_one_frame_late, half_precision_inputs, yaw_in_degrees,
    left_right_swapped, thirty_hertz, stale_header, missing_tanh, squashed_twice, hysteresis_off_by_one, clamped_step,
    float_accumulation, published_late, wrong_bone_subset, previous_pose_transposed, quats_conjugated, component_space,
    doubled_scale, state_clamped, previous_pose_is_own, defect_count
};

using Row = std::vector<float>;
using Vec3 = std::array<double, 3>;
struct Axes { Vec3 x, y, z; };  // columns of a rotation
struct Quat { double x, y, z, w; };
using Network = int (*)(const float* const* inputs, const int* widths, float* answer, int width);

constexpr double pi = 3.14159265358979323846;

double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vec3 scaled(const Vec3& a, double k) { return {a[0] * k, a[1] * k, a[2] * k}; }
Vec3 minus(const Vec3& a, const Vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vec3 cross(const Vec3& a, const Vec3& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vec3 normal(const Vec3& a) { return scaled(a, 1.0 / std::sqrt(dot(a, a))); }

// GetSafeNormal gives nothing below a squared length of 1e-8; the decode paths ask IsNearlyZero, 1e-4 a component
bool is_lost(const Vec3& a, bool decodes) {
    if (!decodes) return dot(a, a) < 1e-8;
    return std::fabs(a[0]) <= 1e-4 && std::fabs(a[1]) <= 1e-4 && std::fabs(a[2]) <= 1e-4;
}

Axes gram_schmidt(const float* six, const Axes& otherwise, bool decodes) {
    Vec3 a{six[0], six[1], six[2]}, b{six[3], six[4], six[5]};
    const Vec3 x = is_lost(a, decodes) ? otherwise.x : normal(a);
    b = minus(b, scaled(x, dot(x, b)));
    const Vec3 z = is_lost(b, decodes) ? otherwise.z : normal(b);
    Vec3 y = normal(cross(z, x));  // an axis that stands in for a lost one is not at right angles to the other
    if (dot(x, cross(y, z)) < 0.0) y = scaled(y, -1.0);
    return {x, y, cross(x, y)};
}

Axes multiplied(const Axes& l, const Axes& r) {  // columns: l·r
    auto column = [&](const Vec3& c) {
        Vec3 sum{};
        for (int i = 0; i < 3; ++i) sum[i] = l.x[i] * c[0] + l.y[i] * c[1] + l.z[i] * c[2];
        return sum;
    };
    return {column(r.x), column(r.y), column(r.z)};
}

Axes transposed(const Axes& r) {
    return {{r.x[0], r.y[0], r.z[0]}, {r.x[1], r.y[1], r.z[1]}, {r.x[2], r.y[2], r.z[2]}};
}

Quat quaternion(const Axes& r) {
    const double xx = r.x[0], yy = r.y[1], zz = r.z[2], trace = xx + yy + zz;
    Quat q{};
    if (trace > 0.0) {
        const double s = 2.0 * std::sqrt(1.0 + trace);
        q = {(r.y[2] - r.z[1]) / s, (r.z[0] - r.x[2]) / s, (r.x[1] - r.y[0]) / s, 0.25 * s};
    } else if (xx > yy && xx > zz) {
        const double s = 2.0 * std::sqrt(1.0 + xx - yy - zz);
        q = {0.25 * s, (r.y[0] + r.x[1]) / s, (r.z[0] + r.x[2]) / s, (r.y[2] - r.z[1]) / s};
    } else if (yy > zz) {
        const double s = 2.0 * std::sqrt(1.0 + yy - xx - zz);
        q = {(r.y[0] + r.x[1]) / s, 0.25 * s, (r.z[1] + r.y[2]) / s, (r.z[0] - r.x[2]) / s};
    } else {
        const double s = 2.0 * std::sqrt(1.0 + zz - xx - yy);
        q = {(r.z[0] + r.x[2]) / s, (r.z[1] + r.y[2]) / s, 0.25 * s, (r.x[1] - r.y[0]) / s};
    }
    return q;
}

Quat product(const Quat& a, const Quat& b) {
    return {a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}
Quat about_z(double angle) { return {0.0, 0.0, std::sin(angle / 2), std::cos(angle / 2)}; }

float half_precision(float value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - 11, -24));
    return static_cast<float>(std::nearbyint(value / step) * step);
}

struct Slice { int start = 0, size = 0; };

// What the engine keeps of the schema bundle.
struct Schema {
    std::map<std::string, std::vector<double>> arrays;

    const std::vector<double>& of(const std::string& name) const {
        const auto found = arrays.find(name);
        if (found == arrays.end()) throw std::runtime_error("no " + name);
        return found->second;
    }
    int integer(const std::string& name) const { return static_cast<int>(of(name).at(0)); }
    Slice slice(const std::string& name) const {
        const auto& pair = of(name);
        return {static_cast<int>(pair.at(0)), static_cast<int>(pair.at(1))};
    }
};

class EnemyAnim {
  public:
    EnemyAnim(Schema schema, Network network, unsigned long long defects, bool teacher)
        : s(std::move(schema)), network_(network), defects_(defects), teacher_(teacher) {
        rotations_ = s.slice("state/BoneRotations6D");
        angvels_ = s.slice("state/BoneAngularVelocities");
        bones_ = rotations_.size / 6;
        frames_ = s.integer("clip/frames");
        previous_out_.assign(6 * bones_, 0.f);
        for (int bone = 0; bone < bones_; ++bone) previous_out_[6 * bone] = previous_out_[6 * bone + 5] = 1.f;
        if (has(stale_header)) age_statistics();
        if (has(doubled_scale))
            for (double& scale : s.arrays["tanh_scales_angvel"]) scale *= 2.0;
        x_raw_ = clip_state(0);
        seed_history();
    }

    // One frame. Every stage stands in `stage` afterwards, in the order of the loop.
    void step() {
        const int cursor = cursor_of(tick_);
        if (teacher_) x_raw_ = clip_state(cursor);
        stage["x_raw"] = x_raw_;
        if (has(yaw_in_degrees) && teacher_) {
            x_raw_[s.slice("state/RootYaw").start] *= static_cast<float>(180.0 / pi);
            stage["x_raw"] = x_raw_;
        }
        stage["state"] = normalised(x_raw_);
        const int driven = teacher_ ? cursor : tick_ % (frames_ - 1);
        stage["cond_raw"] = stage["cond"] = condition(driven);
        stage["contacts"] = contacts(driven);
        stage["angvel"] = angular_velocity();
        if (teacher_) push_history(pose_of(x_raw_));
        if (has(history_seeded_twice) && tick_ == 1) history_.assign(history_length(), pose_of(x_raw_));
        stage["pose_hist_raw"] = history_feature();
        stage["pose_hist"] = history_normalised(stage["pose_hist_raw"]);
        stage["y_norm"] = answer();
        outputs();
        advance();
        ++tick_;
    }

    std::map<std::string, Row> stage;

  private:
    int history_length() const { return s.integer("pose_hist_len"); }

    Row clip_state(int frame) const {
        const int width = s.integer("input_dim");
        const auto& rows = s.of("clip/x_raw");
        Row row(width);
        for (int i = 0; i < width; ++i) row[i] = static_cast<float>(rows.at(std::size_t(frame) * width + i));
        return row;
    }

    // which frame of the clip a tick plays
    int cursor_of(int tick) {
        if (has(thirty_hertz)) return 2 * tick;
        if (has(clamped_step)) return static_cast<int>(tick * (1.0 / 80.0) * 60.0 + 1e-9);  // dt clamped to 12.5 ms
        if (has(float_accumulation)) {
            const int cursor = static_cast<int>(seconds_ * 60.f);
            seconds_ += 1.f / 60.f;
            return cursor;
        }
        return tick;
    }

    // the statistics that an older export had
    void age_statistics() {
        auto &mean = s.arrays["MuX"], &std = s.arrays["StdX"];
        for (std::size_t i = rotations_.start; i < mean.size(); ++i) {
            mean[i] += 0.02 * std::sin(1.0 + double(i));
            std[i] *= 1.0 + 0.1 * std::cos(double(i));
        }
    }

    Row normalised(const Row& raw) const {
        const auto &mean = s.of("MuX"), &std = s.of("StdX");
        const auto &mean_y = s.of("MuY"), &std_y = s.of("StdY");
        std::vector<double> v(raw.begin(), raw.end());
        double& yaw = v[s.slice("state/RootYaw").start];
        while (yaw > pi) yaw -= 2 * pi;
        while (yaw < -pi) yaw += 2 * pi;
        yaw /= pi;
        squash(v, s.slice("state/RootVelocity"), s.of("tanh_scales_rootvel"), true);
        squash(v, angvels_, s.of("tanh_scales_angvel"), !has(missing_tanh));
        const double floor = has(sigma_floor) ? 0.05 : 1e-6;
        Row z(raw.size());
        for (std::size_t i = 0; i < z.size(); ++i) {
            const int turned = int(i) - rotations_.start;
            const bool of_output = has(state_by_output_statistics) && turned >= 0 && turned < rotations_.size;
            const double m = of_output ? mean_y[turned] : mean[i], d = of_output ? std_y[turned] : std[i];
            double value = (v[i] - m) / std::max(std::fabs(d), floor);
            if (has(state_clamped)) value = std::min(std::max(value, -1.5), 1.5);
            z[i] = static_cast<float>(value);
        }
        return z;
    }

    static void squash(std::vector<double>& v, Slice at, const std::vector<double>& scales, bool bends) {
        for (int i = 0; i < at.size; ++i) {
            const double ratio = v[at.start + i] / std::max(std::fabs(scales[i]), 1e-3);
            v[at.start + i] = bends ? std::tanh(ratio) : ratio;
        }
    }

    Row condition(int frame) const {
        Row row(7);
        for (int i = 0; i < 4; ++i) row[i] = static_cast<float>(std::min(1.0, std::max(0.0, s.of("clip/action")[4 * frame + i])));
        const double x = s.of("clip/trajectory")[2 * frame], y = s.of("clip/trajectory")[2 * frame + 1], size = std::hypot(x, y);
        row[4] = static_cast<float>(size < 1e-3 ? 0.0 : std::min(1.0, std::max(-1.0, x / size)));
        row[5] = static_cast<float>(size < 1e-3 ? 0.0 : std::min(1.0, std::max(-1.0, y / size)));
        row[6] = static_cast<float>(std::hypot(s.of("clip/velocity")[2 * frame], s.of("clip/velocity")[2 * frame + 1]));
        return row;
    }

    Row contacts(int frame) {
        Row row(2);
        for (int foot = 0; foot < 2; ++foot) {
            const double score = s.of("clip/contacts")[2 * frame + foot];
            row[foot] = static_cast<float>(score);
            if (!has(hysteresis_off_by_one)) continue;
            if (score < 0.4 && ++off_[foot] > 3) touching_[foot] = false;  // one frame more than it says
            if (score >= 0.4) off_[foot] = 0, touching_[foot] = true;
            row[foot] = touching_[foot] ? 1.f : 0.f;
        }
        return row;
    }

    Row angular_velocity() const {
        if (has(angvel_by_state_statistics)) {
            const Row& z = stage.at("state");
            return Row(z.begin() + angvels_.start, z.begin() + angvels_.start + angvels_.size);
        }
        const int start = angvels_.start - (has(angvel_three_early) ? 3 : 0);
        Row row(angvels_.size);
        for (int i = 0; i < angvels_.size; ++i) row[i] = auxiliary(x_raw_[start + i], "angvel", "AngVel", i, i);
        return row;
    }

    float auxiliary(double value, const std::string& scale, const std::string& name, int i, int k) const {
        const double s_i = std::max(std::fabs(s.of("aux/tanh_scales_" + scale)[i]), 1e-6);
        double squashed = std::tanh(value / s_i);
        if (has(squashed_twice) && scale == "pose_hist") squashed = std::tanh(squashed / s_i);
        return static_cast<float>((squashed - s.of("aux/Mu" + name)[k]) / std::max(std::fabs(s.of("aux/Std" + name)[k]), 1e-6));
    }

    Row pose_of(const Row& raw) const {
        return Row(raw.begin() + rotations_.start, raw.begin() + rotations_.start + rotations_.size);
    }

    Row identity_pose() const {
        Row row(rotations_.size, 0.f);
        for (int bone = 0; bone < bones_; ++bone) row[6 * bone] = row[6 * bone + 5] = 1.f;
        return row;
    }

    void seed_history() {
        Row seed = pose_of(x_raw_);
        if (has(history_never_seeded)) seed.assign(seed.size(), 0.f);
        const bool is_reset = !teacher_ && !has_history_statistics();  // the free run of an engine whose file has none
        if (is_reset || has(history_identity_after_seed)) seed = identity_pose();
        if (has(history_uninitialised)) {
            const unsigned char fill = 0xCD;
            std::memset(seed.data(), fill, seed.size() * sizeof(float));
        }
        history_.assign(history_length(), seed);
        head_ = 0;
    }

    void push_history(const Row& pose) {
        history_[head_] = pose;
        head_ = (head_ + 1) % history_.size();
    }

    Row history_feature() const {
        Row row;
        for (std::size_t i = 0; i < history_.size(); ++i) {
            const Row& entry = history_[(head_ + i) % history_.size()];
            row.insert(row.end(), entry.begin(), entry.end());
        }
        return row;
    }

    bool has_history_statistics() const { return s.arrays.count("aux/MuPoseHist") != 0; }

    Row history_normalised(const Row& raw) const {
        Row row(raw.size());
        if (!has_history_statistics()) {  // scale 1, mean 0, deviation 1
            std::transform(raw.begin(), raw.end(), row.begin(), [](float v) { return float(std::tanh(double(v))); });
            return row;
        }
        for (std::size_t i = 0; i < raw.size(); ++i) {
            const std::size_t k = has(history_statistics_of_oldest) ? i % rotations_.size : i;
            row[i] = auxiliary(raw[i], "pose_hist", "PoseHist", int(i), int(k));
        }
        return row;
    }

    Row answer() {
        const char* names[5] = {"state", "cond", "contacts", "angvel", "pose_hist"};
        std::vector<Row> given;
        for (const char* name : names) given.push_back(stage.at(name));
        if (has(half_precision_inputs))
            for (Row& row : given) std::transform(row.begin(), row.end(), row.begin(), half_precision);
        const float* inputs[5];
        int widths[5];
        for (int i = 0; i < 5; ++i) inputs[i] = given[i].data(), widths[i] = int(given[i].size());
        Row row(s.integer("output_dim"));
        if (!network_(inputs, widths, row.data(), int(row.size()))) throw std::runtime_error("the network failed");
        if (!has(answer_one_frame_late)) return row;
        std::swap(row, late_answer_);
        return row.empty() ? late_answer_ : row;
    }

    void outputs() {
        const Row& y = stage.at("y_norm");
        const auto &mean = s.of("MuY"), &std = s.of("StdY");
        Row raw(y.size()), delta(y.size()), next(y.size()), out(y.size());
        const Axes unit{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        for (std::size_t i = 0; i < y.size(); ++i)
            raw[i] = static_cast<float>(double(y[i]) * std[i] + (has(mean_added_to_residual) ? mean[i] : 0.0));
        for (int bone = 0; bone < bones_; ++bone) {
            const int at = 6 * bone;
            const int second = has(identity_in_xy_columns) ? 4 : 5;
            float six[6];
            for (int i = 0; i < 6; ++i)
                six[i] = raw[at + i] + ((i == 0 || i == second) && !has(identity_forgotten) ? 1.f : 0.f);
            store(gram_schmidt(six, unit, true), &delta[at]);
            const Axes turn = gram_schmidt(&delta[at], unit, true);
            Axes previous = gram_schmidt(previous_six(bone), unit, true);
            if (has(previous_pose_transposed)) previous = transposed(previous);
            store(multiplied(turn, previous), &next[at]);
            const Axes before = gram_schmidt(&previous_out_[at], unit, true);
            store(gram_schmidt(&next[at], before, false), &out[at]);
        }
        if (has(left_right_swapped)) out = reordered(out);
        stage["y_raw"] = raw, stage["delta6d"] = delta, stage["next6d"] = next, stage["y_out"] = out;
        publish(out);
        previous_out_ = out;
    }

    const float* previous_six(int bone) {
        if (has(previous_pose_is_own) && tick_ > 0) return &previous_out_[6 * bone];
        if (has(previous_pose_next_bone)) return &x_raw_[rotations_.start + 6 * bone + 6];
        return &x_raw_[rotations_.start + 6 * bone];
    }

    Row reordered(const Row& out) const {
        Row row(out.size());
        for (int bone = 0; bone < bones_; ++bone) {
            const int from = int(s.of("twin")[bone]);
            std::copy_n(out.begin() + 6 * from, 6, row.begin() + 6 * bone);
        }
        return row;
    }

    static void store(const Axes& r, float* six) {
        for (int i = 0; i < 3; ++i) six[i] = static_cast<float>(r.x[i]), six[3 + i] = static_cast<float>(r.z[i]);
    }

    void publish(const Row& out) {
        const Axes unit{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        std::vector<Quat> quats;
        for (int bone = 0; bone < bones_; ++bone) {
            const int from = has(wrong_bone_subset) ? std::min(bone + 1, bones_ - 1) : bone;
            Quat q = quaternion(gram_schmidt(&out[6 * from], unit, true));
            const Quat basis = product(about_z(pi / 2), Quat{std::sqrt(0.5), 0, 0, std::sqrt(0.5)});
            const Quat back{-basis.x, -basis.y, -basis.z, basis.w};
            if (has(quats_turned)) q = product(about_z(-pi / 2), q);
            if (has(quats_change_of_basis)) q = product(product(basis, q), back);
            if (has(root_turned_by_heading) && bone == 0)
                q = product(about_z(x_raw_[s.slice("state/RootYaw").start]), q);
            if (has(quats_conjugated)) q = {-q.x, -q.y, -q.z, q.w};
            const int parent = int(s.of("parents")[bone]);
            if (has(component_space) && parent >= 0) q = product(quats[parent], q);
            quats.push_back(q);
        }
        Row row;
        for (const Quat& q : quats)
            for (double part : {q.x, q.y, q.z, q.w}) row.push_back(static_cast<float>(part));
        if (has(published_late) && !late_quats_.empty()) std::swap(row, late_quats_);
        else late_quats_ = row;
        stage["quat"] = row;
    }

    void advance() {
        Row next = x_raw_;
        if (teacher_) {
            const int following = has(float_accumulation) ? static_cast<int>(seconds_ * 60.f) : cursor_of(tick_ + 1);
            next = clip_state(std::min(following, frames_ - 1));
            if (has(yaw_in_degrees)) next[s.slice("state/RootYaw").start] *= static_cast<float>(180.0 / pi);
        } else {
            const int start = rotations_.start + (has(writeback_six_late) ? 6 : 0);
            const Row& out = stage.at("y_out");
            std::copy(out.begin(), out.begin() + rotations_.size, next.begin() + start);
        }
        stage["x_raw_next"] = next;
        x_raw_ = next;
        if (!teacher_) push_history(pose_of(x_raw_));
    }

    bool has(Defect defect) const { return (defects_ >> defect & 1) != 0; }

    Schema s;
    Network network_;
    unsigned long long defects_;
    bool teacher_;
    Slice rotations_, angvels_;
    int bones_ = 0, frames_ = 0, tick_ = 0;
    std::size_t head_ = 0;
    float seconds_ = 0.f;
    int off_[2] = {0, 0};
    bool touching_[2] = {true, true};
    Row x_raw_, previous_out_, late_answer_, late_quats_;
    std::vector<Row> history_;
};

}  // namespace

extern "C" {

void* engine_new() { return new Schema; }

void engine_give(void* schema, const char* name, const double* values, int count) {
    static_cast<Schema*>(schema)->arrays[name].assign(values, values + count);
}

int engine_defects() { return defect_count - 1; }

// Run `frames` frames and record them; the schema is given back. Returns null, or what went wrong. Lines that only a recorded
// build has end with `// +`.
const char* engine_run(void* schema, Network network, int teacher, int frames, unsigned long long defects, double fps, const char* sha, const char* clip, const char* path) {
    static std::string wrong;
    try {
        EnemyAnim engine(std::move(*static_cast<Schema*>(schema)), network, defects, teacher != 0);
        delete static_cast<Schema*>(schema);
        rigpact::Recorder recorder;  // +
        const rigpact::TraceHeader header{"engine_room", "1", sha, fps, teacher ? "teacher" : "free", clip};  // +
        if (!recorder.open(path, header)) throw std::runtime_error(recorder.problem());  // +
        for (int tick = 0; tick < frames; ++tick) {
            engine.step();
            recorder.begin_frame(tick, tick / fps);  // +
            for (const auto& [name, row] : engine.stage) recorder.stage(name.c_str(), row.data(), int(row.size()));  // +
            if (!recorder.end_frame()) throw std::runtime_error("a frame was refused");  // +
        }
        return nullptr;
    } catch (const std::exception& error) {
        wrong = error.what();
        return wrong.c_str();
    }
}
}
